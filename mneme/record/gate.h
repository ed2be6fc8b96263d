// Gate: while one thread captures, the others' calls that change device memory wait for it.
//
// It is no lock: nobody waits for longer than `patience`, so an application whose threads need each other goes on; what was
// being captured is then told to be disturbed, and is given up.
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

  // A call that changes device memory, from its begin to its end. The capturing thread's own calls pass.
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

  // False when a capture is going on, by whichever thread; else a use has begun, to be ended with leave().
  bool try_enter();
  void leave();

  // Waits until no other thread captures and no use is going on; false when that takes too long.
  bool begin_capture();
  // Whether another thread's call went on in spite of the capture.
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
