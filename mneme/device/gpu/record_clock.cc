#include "mneme/device/gpu/record_clock.h"

#include <algorithm>
#include <chrono>
#include <thread>

namespace mneme::gpu {
namespace {

constexpr int kPatience = 20;    // milliseconds for records that are late
constexpr int kGentleTries = 2;  // before records are asked for by force

}  // namespace

LaunchTag RecordClock::begin() {
  LaunchTag tag = 0;
  {
    std::lock_guard lock(mutex_);
    tag = ++last_tag_;
    times_[tag];
  }
  begun(tag);
  return tag;
}

void RecordClock::end(LaunchTag tag, bool launched) {
  ended(tag);
  if (!launched) forget(tag);
}

std::optional<Nanoseconds> RecordClock::take(LaunchTag tag) {
  std::lock_guard lock(mutex_);
  const auto awaited = times_.find(tag);
  if (awaited == times_.end() || !awaited->second) return std::nullopt;
  const Nanoseconds time = *awaited->second;
  times_.erase(awaited);
  dropped(tag);
  return time;
}

void RecordClock::forget(LaunchTag tag) {
  std::lock_guard lock(mutex_);
  if (times_.erase(tag) != 0) dropped(tag);
}

void RecordClock::note_time(LaunchTag tag, Nanoseconds time, OfSeveral several) {
  const auto awaited = times_.find(tag);
  if (awaited == times_.end()) return;
  if (!awaited->second || several == OfSeveral::last || *awaited->second < time) awaited->second = time;
}

bool RecordClock::all_there(std::span<const LaunchTag> tags) {
  std::lock_guard lock(mutex_);
  return std::all_of(tags.begin(), tags.end(), [&](LaunchTag tag) {
    const auto awaited = times_.find(tag);
    return awaited != times_.end() && awaited->second;
  });
}

Result<std::vector<Nanoseconds>> RecordClock::take_all(std::span<const LaunchTag> tags) {
  if (tags.empty()) return std::vector<Nanoseconds>();
  Status flushed = all_there(tags) ? Status() : flush();
  // A buffer that also has a kernel of another stream that still runs comes only by force, and that kernel's time is then lost.
  for (int tries = 0; flushed.ok() && tries < kPatience && !all_there(tags); ++tries) {
    if (tries > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    flushed = tries < kGentleTries ? flush() : flush_by_force();
  }
  std::vector<Nanoseconds> times;
  for (LaunchTag tag : tags) {
    if (auto time = take(tag))
      times.push_back(*time);
    else
      forget(tag);
  }
  MNEME_TRY(flushed);
  if (times.size() != tags.size())
    return error(Code::internal,
                 "timing {} launches: {} has records of {} of them only; MNEME_CLOCK=event times them by events instead",
                 tags.size(), library_, times.size());
  return times;
}

}  // namespace mneme::gpu
