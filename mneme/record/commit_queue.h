// CommitQueue: stores captured launches in their order while the program goes on.
//
// A thread that blocks all signals does it. Who waits helps, so that no thread is needed where the program waits anyway.
// Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "mneme/base/types.h"

namespace mneme {

class CommitQueue {
 public:
  // `memory` is the most that wait_for_room() leaves in the queue; 0: nothing.
  explicit CommitQueue(Bytes memory) : memory_(memory) {}
  ~CommitQueue();  // waits for all
  CommitQueue(const CommitQueue&) = delete;
  CommitQueue& operator=(const CommitQueue&) = delete;

  // Adds work that holds memory of this size, and does not wait.
  void add(Bytes size, std::function<void()> work);
  // Waits until what is in the queue, but for the last of it, fits its memory.
  void wait_for_room();
  // Waits until all that was added is done.
  void wait();
  // Waits, and leaves nothing in the queue from then on when wait_for_room() returns.
  void finish();
  // Around fork: nothing is being stored, and nothing begins. Both parent and child resume.
  void pause();
  void resume() { mutex_.unlock(); }

 private:
  struct Work {
    Bytes size;
    std::function<void()> run;
  };
  using Lock = std::unique_lock<std::mutex>;

  void run_all();
  void run_next(Lock& lock);
  void wait_until(Lock& lock, const std::function<bool()>& done);
  void start();

  Bytes memory_;
  std::mutex mutex_;  // over everything
  std::condition_variable changed_;
  std::deque<Work> queue_;
  Bytes size_;            // of the queue and of what is run
  bool running_ = false;  // one piece of work, by some thread
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace mneme
