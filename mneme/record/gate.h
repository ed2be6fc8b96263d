// Gate: while one thread captures memory, calls of other threads that change device memory wait.
//
// The gate is no lock. Nobody waits for longer than `patience`, so that an application whose threads wait for each other goes on.
// A call that goes on in spite of a capture marks that capture as disturbed, and the recorder then gives the capture up.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace mneme {

class Gate {
 public:
  explicit Gate(std::chrono::milliseconds patience = std::chrono::seconds(10)) : patience_(patience) {}

  // One use of the gate: a call that changes device memory, from its beginning to its end. Calls of the capturing thread itself
  // do not wait.
  class Use {
   public:
    explicit Use(Gate& gate) : gate_(gate), counted_(gate.enter()) {}
    ~Use() {
      if (counted_) gate_.leave();
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Gate& gate_;
    bool counted_;
  };

  // Begins a use without waiting, to be ended with leave(). False, and no use, when any thread is capturing.
  bool try_enter();
  void leave();

  // Waits until no other thread captures and no use is going on, and begins a capture. False, and no capture, when that takes
  // longer than the patience.
  bool begin_capture();
  // Whether a call of another thread went on in spite of this capture.
  bool disturbed() const { return disturbed_; }
  void end_capture();

 private:
  bool enter();  // true when leave() must follow

  const std::chrono::milliseconds patience_;
  std::atomic<uint64_t> uses_ = 0;
  std::atomic<bool> capturing_ = false;
  std::atomic<bool> disturbed_ = false;
  std::atomic<std::thread::id> owner_{};
  std::mutex mutex_;  // for waiting only
  std::condition_variable changed_;
};

}  // namespace mneme
