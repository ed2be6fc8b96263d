#include "mneme/record/commit_queue.h"

#include <sys/resource.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "mneme/base/idle_threads.h"

namespace mneme {

CommitQueue::Most CommitQueue::Most::of(uint64_t open_files) {
  const size_t waiting = std::clamp<uint64_t>(open_files / 8, 4, Most().waiting);
  return {waiting, waiting / 4};
}

CommitQueue::Most CommitQueue::Most::of_process() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? of(limit.rlim_cur) : Most();
}

CommitQueue::~CommitQueue() {
  Lock lock(mutex_);
  wait_until(lock, [&] { return queue_.empty() && !running_; });
  stopping_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return thread_ != Thread::runs; });
}

void CommitQueue::start() {
  if (thread_ == Thread::runs || memory_.count == 0) return;
  try {
    start_idle_thread([this] { run_all(); });
    thread_ = Thread::runs;
  } catch (const std::system_error&) {
    thread_ = Thread::refused;  // who adds waits, and does the work, until the system starts one
  }
}

void CommitQueue::add(Bytes size, std::function<void()> work, std::function<bool()> ready) {
  {
    Lock lock(mutex_);
    queue_.push_back({size, std::move(work), std::move(ready)});
    size_ += size;
    ++not_done_;
    start();
  }
  changed_.notify_all();
}

// To be called when nothing is run and the queue is not empty.
void CommitQueue::run_group(Lock& lock) {
  running_ = true;
  Bytes size;
  size_t count = 0;
  do {
    Work work = std::move(queue_.front());
    queue_.pop_front();
    size += work.size;
    lock.unlock();
    work.run();
    work = {};  // lets go of what it holds
    lock.lock();
    --not_done_;
    changed_.notify_all();
  } while (++count < most_.in_group && !queue_.empty() && queue_.front().ready());
  lock.unlock();
  end_group_();
  lock.lock();
  running_ = false;
  size_ = size_ - size;
  changed_.notify_all();
}

void CommitQueue::run_all() {
  Lock lock(mutex_);
  while (!stopping_) {
    if (changed_.wait_for(lock, kIdleThreadsEnd, [&] { return stopping_ || (!running_ && !queue_.empty()); })) {
      if (!stopping_) run_group(lock);
    } else if (queue_.empty()) {
      break;
    }  // else who waits runs a group, and may leave what comes after it to this thread
  }
  thread_ = Thread::none;
  changed_.notify_all();
}

void CommitQueue::wait_until(Lock& lock, const std::function<bool()>& done) {
  while (!done()) {
    if (!running_ && !queue_.empty())
      run_group(lock);
    else
      changed_.wait(lock);
  }
}

bool CommitQueue::has_room_now() const {
  if (memory_.count == 0 || thread_ == Thread::refused) return queue_.empty() && !running_;
  if (not_done_ > most_.not_done) return false;
  return queue_.empty() || (size_ <= memory_ && queue_.size() <= most_.waiting);
}

bool CommitQueue::has_room() const {
  const std::lock_guard lock(mutex_);
  return has_room_now();
}

void CommitQueue::wait_for_room() {
  Lock lock(mutex_);
  wait_until(lock, [&] { return has_room_now(); });
}

void CommitQueue::wait() {
  Lock lock(mutex_);
  wait_until(lock, [&] { return queue_.empty() && !running_; });
}

void CommitQueue::finish() {
  Lock lock(mutex_);
  memory_ = {};
  wait_until(lock, [&] { return queue_.empty() && !running_; });
}

void CommitQueue::pause() {
  Lock lock(mutex_);
  wait_until(lock, [&] { return queue_.empty() && !running_; });
  lock.release();
}

}  // namespace mneme
