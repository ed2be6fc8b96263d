// Catches faults of kernel code: turns SIGSEGV, SIGBUS, SIGFPE and SIGILL that it raises into a jump out of it.
//
// The signal handlers are in place only while a launch runs (SignalHandlers). They act only on a thread that is inside kernel
// code (an armed FaultTrap); every other signal goes on to the handler that was there before.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>

namespace mneme::cpu {

struct SignalReport {
  int signal = 0;  // 0: no fault; a TimeLimit has ended the code
  int code = 0;
  uint64_t address = 0;
  uint64_t instruction = 0;
  bool write = false;  // of SIGSEGV and SIGBUS: the access was a write
};

// Keeps the handlers in place while it lives. There may be several at a time. Thread-safe.
class SignalHandlers {
 public:
  SignalHandlers();
  ~SignalHandlers();
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;
};

// Where a thread goes when its kernel code faults: `escape(context, report)` is called, on a stack of the trap's own and
// outside of the signal handler. It must not return. Each worker has one; it is used by one thread at a time.
class FaultTrap {
 public:
  using Escape = void (*)(void* context, const SignalReport& report);
  FaultTrap(Escape escape, void* context);
  ~FaultTrap();
  FaultTrap(const FaultTrap&) = delete;
  FaultTrap& operator=(const FaultTrap&) = delete;

  // enter() makes this trap the calling thread's, with a signal stack, until leave() is called on the same thread. In between,
  // arm() and disarm() enclose kernel code. A fault that is caught disarms the trap.
  void enter();
  void leave();
  void arm() { armed_ = 1; }
  void disarm() { armed_ = 0; }

 private:
  friend class TimeLimit;
  friend bool catch_fault(int signal, siginfo_t* info, void* context);
  void redirect(void* context, const SignalReport& report);
  [[noreturn]] static void landing(FaultTrap* trap);

  Escape escape_;
  void* context_;
  volatile sig_atomic_t armed_ = 0;
  SignalReport report_;
  std::unique_ptr<std::byte[]> escape_stack_;
  std::unique_ptr<std::byte[]> signal_stack_;
  stack_t previous_stack_{};
  uint64_t limited_begin_ = 0, limited_end_ = 0;
};

// Ends the kernel code that the calling thread runs under `trap` if that takes longer than `limit`. It waits until the code is
// at an instruction in [begin, end), since a library function that the code calls may hold a lock. Where the system gives no
// timer there is no limit. A trap has one at a time, while SignalHandlers are in place.
class TimeLimit {
 public:
  TimeLimit(FaultTrap& trap, std::chrono::milliseconds limit, uint64_t begin, uint64_t end);
  ~TimeLimit();
  TimeLimit(const TimeLimit&) = delete;
  TimeLimit& operator=(const TimeLimit&) = delete;

 private:
  FaultTrap& trap_;
  timer_t timer_{};
  bool running_ = false;
};

}  // namespace mneme::cpu
