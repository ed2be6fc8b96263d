// Gate: while one thread captures memory, calls of other threads that change device memory wait.
//
// The gate is no lock. Nobody waits for longer than `patience`, so that an application whose threads wait for each other goes on.
// A call that goes on in spite of a capture marks that capture as disturbed, and the recorder then gives the capture up. One that
// takes memory away waits for as long as the capture is reading memory, which nothing of the application holds up.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace mneme {

class Gate {
 public:
  explicit Gate(std::chrono::milliseconds patience = std::chrono::seconds(10)) : patience_(patience) {}

  enum class Effect { changes_memory, removes_memory };

  // One use of the gate: a call that changes device memory, from its beginning to its end. Calls of the capturing thread itself
  // do not wait.
  class Use {
   public:
    explicit Use(Gate& gate, Effect effect = Effect::changes_memory) : gate_(gate), counted_(gate.enter(effect)) {}
    ~Use() { end(); }
    void end() {
      if (std::exchange(counted_, false)) gate_.leave();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Gate& gate_;
    bool counted_;
  };

  // Begins a use without waiting, to be ended with leave(). False, and no use, when any thread is capturing.
  bool try_enter();
  void leave() {
    if (uses_.fetch_sub(1) == 1 && capturing_) tell();
  }

  // Waits until no other thread captures and no use is going on, and begins a capture. False, and no capture, when that takes
  // longer than the patience.
  bool begin_capture();
  // Whether a call of another thread went on in spite of this capture.
  bool disturbed() const { return disturbed_; }
  void end_capture();

  // To be held by the capturing thread while it reads memory. Not ok, and no reading, where a call of another thread went on in
  // spite of this capture: the memory may be gone.
  class Reading {
   public:
    explicit Reading(Gate& gate) : gate_(gate), ok_(gate.begin_reading()) {}
    ~Reading() { gate_.end_reading(); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;
    bool ok() const { return ok_; }

   private:
    Gate& gate_;
    bool ok_;
  };

 private:
  // Both sides write their own word and then read the other's (sequentially consistent), so that one of them sees the other.
  // True when leave() must follow.
  bool enter(Effect effect) {
    uses_.fetch_add(1);
    return !capturing_ || enter_captured(effect);
  }
  bool enter_captured(Effect effect);
  void tell();
  bool begin_reading();
  void end_reading();

  const std::chrono::milliseconds patience_;
  std::atomic<uint64_t> uses_ = 0;
  std::atomic<bool> capturing_ = false;
  std::atomic<bool> disturbed_ = false;
  std::atomic<std::thread::id> owner_{};
  bool reading_ = false;  // under mutex_
  std::mutex mutex_;      // for waiting only
  std::condition_variable changed_;
};

}  // namespace mneme
