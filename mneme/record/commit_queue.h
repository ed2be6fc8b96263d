// CommitQueue: stores captured launches in their order while the program goes on.
//
// A thread that blocks all signals does it, and ends when it is idle (idle_threads.h). Who waits helps, so that no thread is
// needed where the program waits anyway. Work that is ready when its turn comes is done in one group with the work before it, and
// is done when the group has ended: the disk takes several launches in hardly more time than one. Thread-safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <utility>

#include "mneme/base/types.h"

namespace mneme {

class CommitQueue {
 public:
  // How much work wait_for_room() leaves in the queue, how much a group has, and how much work wait_for_room() leaves that is not
  // done, what is just being done included, at most.
  struct Most {
    size_t waiting = 128, in_group = 32, not_done = ~size_t{0};
    // Each launch that waits has two files open, those in a group have some more, and all share WriterThreads::take_file(): fewer
    // where the process may open few.
    static Most of(uint64_t open_files);
    static Most of_process();
  };

  // `memory` is the most that wait_for_room() leaves in the queue; 0: nothing. `end_group` ends a group, on the thread that has
  // done its work.
  explicit CommitQueue(
      Bytes memory, std::function<void()> end_group = [] {}, Most most = Most::of_process())
      : memory_(memory), end_group_(std::move(end_group)), most_(most) {}
  ~CommitQueue();  // waits for all
  CommitQueue(const CommitQueue&) = delete;
  CommitQueue& operator=(const CommitQueue&) = delete;

  // Adds work that holds memory of this size, and does not wait. `ready` says whether the work would begin at once, and not wait
  // for something itself; work that is not ready begins a group.
  void add(Bytes size, std::function<void()> work, std::function<bool()> ready = [] { return false; });
  // Waits until what is in the queue, but for the last of it, fits its memory, and is not more than may wait, nor may be left not
  // done; or is nothing, if the system started no thread when work was last added.
  void wait_for_room();
  bool has_room() const;  // whether wait_for_room() would not wait
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
    std::function<bool()> ready;
  };
  using Lock = std::unique_lock<std::mutex>;

  void run_all();  // until the thread ends
  void run_group(Lock& lock);
  void wait_until(Lock& lock, const std::function<bool()>& done);
  bool has_room_now() const;  // under the mutex
  void start();

  Bytes memory_;
  const std::function<void()> end_group_;
  const Most most_;
  mutable std::mutex mutex_;  // over everything below, and memory_
  std::condition_variable changed_;
  std::deque<Work> queue_;
  Bytes size_;            // of the queue and of the group that is run
  size_t not_done_ = 0;   // of the queue, and the work that is run
  bool running_ = false;  // one group, by some thread
  bool stopping_ = false;
  enum class Thread { none, runs, refused } thread_ = Thread::none;
};

}  // namespace mneme
