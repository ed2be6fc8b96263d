// Turns SIGSEGV, SIGBUS, SIGFPE and SIGILL raised by kernel code into a jump out of it.
//
// The handlers are in place only while a launch runs (SignalHandlers), and act only on a thread that is inside kernel code
// (FaultTrap, armed); every other signal goes on to the handler that was there before.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>

namespace mneme::cpu {

struct SignalReport {
  int signal = 0;  // 0: not a fault, but the end of a TimeLimit
  int code = 0;
  uint64_t address = 0;
  uint64_t instruction = 0;
  bool write = false;  // SIGSEGV, SIGBUS: what the access was
};

// Holds the handlers in place. Several at once are counted.
class SignalHandlers {
 public:
  SignalHandlers();
  ~SignalHandlers();
  SignalHandlers(const SignalHandlers&) = delete;
  SignalHandlers& operator=(const SignalHandlers&) = delete;
};

// Where a thread goes when its kernel code faults: `escape(context, report)` is called on a stack of the trap's own, outside of
// the signal handler, and must not return. One a worker; used by one thread at a time.
class FaultTrap {
 public:
  using Escape = void (*)(void* context, const SignalReport& report);
  FaultTrap(Escape escape, void* context);
  ~FaultTrap();
  FaultTrap(const FaultTrap&) = delete;
  FaultTrap& operator=(const FaultTrap&) = delete;

  // Makes this trap the calling thread's, with a signal stack, until leave() on the same thread. Then arm() and disarm()
  // enclose kernel code; a caught fault disarms.
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

// Ends the kernel code that the calling thread runs under `trap` when it goes on beyond `limit`, once it is at an instruction
// from `begin` to before `end`: what it calls may hold a lock. One at a time a trap, while SignalHandlers are in place.
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
