// ActivityClock: times kernels on the device by CUPTI's activity records. A record is matched with its launch by the
// correlation id.
//
// A process has at most one, since CUPTI has one subscriber and one pair of buffer callbacks. Once it is open CUPTI records
// every kernel of the process, which costs some microseconds a launch; records that nobody asked for are dropped as they
// arrive. Thread-safe.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "mneme/device/cuda/cupti.h"
#include "mneme/device/gpu/launch_clock.h"

namespace mneme::cuda {

class ActivityClock final : public gpu::LaunchTimer {
 public:
  // The process's clock. The first call that succeeds opens CUPTI by the first of `paths` that opens; the clock then lives as
  // long as the process. unavailable: none of `paths` opens, another profiler is attached, there is no permission, or CUPTI is
  // open already by a path that is not among `paths`.
  static Result<ActivityClock*> open(const std::vector<std::string>& paths);

  LaunchTag begin() override;
  void end(LaunchTag tag, bool launched) override;
  Status flush() override;
  std::optional<Nanoseconds> take(LaunchTag tag) override;

  // The times of launches that are done, in the order of the tags, all of which are then forgotten. Waits up to some 20 ms for
  // late records, at last by force, which loses the time of a kernel that still runs in another stream. internal: CUPTI has no
  // record of one of the launches.
  Result<std::vector<Nanoseconds>> take_all(std::span<const LaunchTag> tags) override;
  void forget(LaunchTag tag) override;

 private:
  struct Pending {
    std::vector<uint32_t> correlations;  // of the runtime's call and of the driver's call in it: CUPTI may use either
    std::optional<Nanoseconds> time;
  };

  explicit ActivityClock(Cupti cupti) : cupti_(std::move(cupti)) {}
  Status start();
  static void on_launch(void* self, uint32_t domain, uint32_t function, const void* data);
  static void on_buffer_requested(uint8_t** buffer, size_t* size, size_t* records);
  static void on_buffer_completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);
  void note(uint32_t correlation, LaunchTag tag);
  void read(const CuptiKernelRecord& record);
  void erase(std::unordered_map<LaunchTag, Pending>::iterator pending);
  bool all_there(std::span<const LaunchTag> tags);

  const Cupti cupti_;
  CuptiSubscriber subscriber_ = nullptr;
  std::mutex mutex_;
  LaunchTag last_tag_ = 0;
  std::unordered_map<LaunchTag, Pending> pending_;
  std::unordered_map<uint32_t, LaunchTag> tags_;  // by correlation id, until the record is there
};

}  // namespace mneme::cuda
