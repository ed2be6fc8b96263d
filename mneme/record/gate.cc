#include "mneme/record/gate.h"

#include "mneme/record/uncanceled.h"

namespace mneme {

bool Gate::enter_captured(Effect effect) {
  if (owner_.load() == std::this_thread::get_id()) {
    uses_.fetch_sub(1);
    return false;
  }
  leave();
  const Uncanceled here;
  std::unique_lock lock(mutex_);
  bool free = changed_.wait_for(lock, patience_, [&] { return !capturing_; });
  if (!free) disturbed_ = true;
  if (effect == Effect::removes_memory) changed_.wait(lock, [&] { return !reading_; });
  if (capturing_) disturbed_ = true;  // which may be another capture by now
  uses_.fetch_add(1);                 // a capture cannot begin here: begin_capture needs the mutex
  return true;
}

bool Gate::try_enter() {
  uses_.fetch_add(1);
  if (!capturing_) return true;
  leave();
  return false;
}

void Gate::tell() {
  std::lock_guard lock(mutex_);
  changed_.notify_all();
}

bool Gate::begin_capture() {
  auto deadline = std::chrono::steady_clock::now() + patience_;
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline, [&] { return !capturing_; })) return false;
  capturing_ = true;
  owner_ = std::this_thread::get_id();
  disturbed_ = false;
  if (changed_.wait_until(lock, deadline, [&] { return uses_ == 0; })) return true;
  capturing_ = false;
  owner_ = std::thread::id();
  changed_.notify_all();
  return false;
}

bool Gate::begin_reading() {
  std::lock_guard lock(mutex_);
  return reading_ = !disturbed_;
}

void Gate::end_reading() {
  std::lock_guard lock(mutex_);
  reading_ = false;
  changed_.notify_all();
}

void Gate::end_capture() {
  std::lock_guard lock(mutex_);
  owner_ = std::thread::id();
  capturing_ = false;
  changed_.notify_all();
}

}  // namespace mneme
