// RecordClock: times kernels on the device by the records of the vendor's profiling library, which come some time after the
// kernels have ended. What vendors have in common: a tag for each timed launch, times that are kept until somebody takes them,
// and waiting for records that are late. How a record is matched with its launch is the vendor's.
//
// Thread-safe.
#pragma once

#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "mneme/device/gpu/launch_clock.h"

namespace mneme::gpu {

// Which of several records of one launch counts.
enum class OfSeveral { last, longest };

class RecordClock : public LaunchTimer {
 public:
  LaunchTag begin() final;
  void end(LaunchTag tag, bool launched) final;
  std::optional<Nanoseconds> take(LaunchTag tag) final;

  // The times of launches that are done, in the order of the tags, all of which are then forgotten. Waits up to some 20 ms for
  // late records, at last by force, which may lose the time of a kernel that still runs in another stream. internal: there is no
  // record of one of the launches.
  Result<std::vector<Nanoseconds>> take_all(std::span<const LaunchTag> tags) final;
  void forget(LaunchTag tag) final;

 protected:
  // `library`, for messages: "CUPTI".
  explicit RecordClock(const char* library) : library_(library) {}

  // The launches that the thread makes from now on are timed with the tag, until ended(). Called without a lock.
  virtual void begun(LaunchTag tag) = 0;
  virtual void ended(LaunchTag tag) = 0;
  // flush(), also for records that the library would keep longer.
  virtual Status flush_by_force() = 0;
  // Nobody waits for the launch any more. Called with mutex() held.
  virtual void dropped(LaunchTag) {}

  // The next two are called with mutex() held. Whether somebody waits for the launch.
  bool is_awaited(LaunchTag tag) const { return times_.contains(tag); }
  // Notes a launch's time, if somebody waits for it.
  void note_time(LaunchTag tag, Nanoseconds time, OfSeveral several);

  std::mutex& mutex() { return mutex_; }

 private:
  bool all_there(std::span<const LaunchTag> tags);

  const char* const library_;
  std::mutex mutex_;
  LaunchTag last_tag_ = 0;
  std::unordered_map<LaunchTag, std::optional<Nanoseconds>> times_;
};

}  // namespace mneme::gpu
