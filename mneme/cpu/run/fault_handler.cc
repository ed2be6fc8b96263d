#include "mneme/cpu/run/fault_handler.h"

#include <sys/ucontext.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <mutex>

namespace mneme::cpu {
namespace {

constexpr std::array kSignals = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
constexpr int kLimitSignal = SIGBUS;            // one of those that have a handler while kernels run
constexpr size_t kSignalStackBytes = 64 << 10;  // a frame with all vector registers takes about 12 KiB
constexpr size_t kEscapeStackBytes = 64 << 10;

std::mutex handlers_mutex;
int handlers_users = 0;
std::array<struct sigaction, kSignals.size()> previous_actions;

thread_local FaultTrap* this_thread_trap = nullptr;

// Does what would have happened without our handler.
void chain(int signal, siginfo_t* info, void* context) {
  const struct sigaction* previous = nullptr;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal) previous = &previous_actions[i];
  }
  if (previous == nullptr) return;
  if ((previous->sa_flags & SA_SIGINFO) != 0) return previous->sa_sigaction(signal, info, context);
  if (previous->sa_handler == SIG_IGN && info->si_code <= 0) return;
  if (previous->sa_handler != SIG_DFL && previous->sa_handler != SIG_IGN) return previous->sa_handler(signal);
  // Back to the default: a fault happens again when the instruction does; a signal that was sent is sent again.
  ::signal(signal, SIG_DFL);
  if (info->si_code <= 0) ::raise(signal);
}

void on_signal(int signal, siginfo_t* info, void* context);

}  // namespace

bool catch_fault(int signal, siginfo_t* info, void* context) {
  FaultTrap* trap = this_thread_trap;
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto instruction = static_cast<uint64_t>(registers[REG_RIP]);
  if (trap != nullptr && signal == kLimitSignal && info->si_code == SI_TIMER && info->si_value.sival_ptr == trap) {
    const bool inside = instruction >= trap->limited_begin_ && instruction < trap->limited_end_;
    if (trap->armed_ != 0 && inside) trap->redirect(context, {0, info->si_code, 0, instruction, false});
    return true;
  }
  if (trap == nullptr || trap->armed_ == 0 || info->si_code <= 0) return false;
  constexpr greg_t kWriteAccess = 2;  // of the page fault's error code
  trap->redirect(context, {signal, info->si_code, reinterpret_cast<uint64_t>(info->si_addr), instruction,
                           (registers[REG_ERR] & kWriteAccess) != 0});
  return true;
}

void FaultTrap::redirect(void* context, const SignalReport& report) {
  armed_ = 0;
  report_ = report;
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  // The handler returns into landing() on another stack: that also gives back the signal mask and the signal stack.
  const auto top = reinterpret_cast<uint64_t>(escape_stack_.get() + kEscapeStackBytes) & ~uint64_t{15};
  registers[REG_RSP] = static_cast<greg_t>(top - 8);
  registers[REG_RDI] = reinterpret_cast<greg_t>(this);
  registers[REG_RIP] = reinterpret_cast<greg_t>(&FaultTrap::landing);
}

namespace {
void on_signal(int signal, siginfo_t* info, void* context) {
  if (!catch_fault(signal, info, context)) chain(signal, info, context);
}
}  // namespace

SignalHandlers::SignalHandlers() {
  std::lock_guard lock(handlers_mutex);
  if (handlers_users++ != 0) return;
  struct sigaction action{};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &action, &previous_actions[i]);
}

SignalHandlers::~SignalHandlers() {
  std::lock_guard lock(handlers_mutex);
  if (--handlers_users != 0) return;
  for (size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction current{};
    ::sigaction(kSignals[i], &previous_actions[i], &current);
    // Somebody put a handler of their own in during the launch: theirs stays.
    if (current.sa_sigaction != on_signal) ::sigaction(kSignals[i], &current, nullptr);
  }
}

FaultTrap::FaultTrap(Escape escape, void* context)
    : escape_(escape),
      context_(context),
      escape_stack_(new std::byte[kEscapeStackBytes]),
      signal_stack_(new std::byte[kSignalStackBytes]) {}

FaultTrap::~FaultTrap() = default;

void FaultTrap::enter() {
  stack_t stack{};
  stack.ss_sp = signal_stack_.get();
  stack.ss_size = kSignalStackBytes;
  ::sigaltstack(&stack, &previous_stack_);
  this_thread_trap = this;
}

void FaultTrap::leave() {
  this_thread_trap = nullptr;
  ::sigaltstack(&previous_stack_, nullptr);
}

TimeLimit::TimeLimit(FaultTrap& trap, std::chrono::milliseconds limit, uint64_t begin, uint64_t end) : trap_(trap) {
  trap_.limited_begin_ = begin;
  trap_.limited_end_ = end;
  sigevent event{};
  event.sigev_notify = SIGEV_THREAD_ID;
  event.sigev_signo = kLimitSignal;
  event.sigev_value.sival_ptr = &trap_;
  event._sigev_un._tid = ::gettid();
  if (::timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) return;
  running_ = true;
  constexpr long kMilli = 1'000'000;
  const itimerspec times{{0, 10 * kMilli}, {limit.count() / 1000, limit.count() % 1000 * kMilli}};
  ::timer_settime(timer_, 0, &times, nullptr);
}

TimeLimit::~TimeLimit() {
  if (running_) ::timer_delete(timer_);
}

void FaultTrap::landing(FaultTrap* trap) {
  trap->escape_(trap->context_, trap->report_);
  std::abort();
}

}  // namespace mneme::cpu
