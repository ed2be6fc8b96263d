// ActivityClock: times kernels on the device by CUPTI's activity records. A record is matched with its launch by the
// correlation id.
//
// A process has at most one, since CUPTI has one subscriber and one pair of buffer callbacks. Once it is open CUPTI records
// every kernel of the process, which costs some microseconds a launch; records that nobody asked for are dropped as they
// arrive. Thread-safe.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/device/cuda/cupti.h"
#include "mneme/device/gpu/record_clock.h"

namespace mneme::cuda {

class ActivityClock final : public gpu::RecordClock {
 public:
  // The process's clock. The first call that succeeds opens CUPTI by the first of `paths` that opens; the clock then lives as
  // long as the process. unavailable: none of `paths` opens, another profiler is attached, there is no permission, or CUPTI is
  // open already by a path that is not among `paths`.
  static Result<ActivityClock*> open(const std::vector<std::string>& paths);

  Status flush() override;

 private:
  explicit ActivityClock(Cupti cupti) : RecordClock("CUPTI"), cupti_(std::move(cupti)) {}
  Status start();
  static void on_launch(void* self, uint32_t domain, uint32_t function, const void* data);
  static void on_buffer_requested(uint8_t** buffer, size_t* size, size_t* records);
  static void on_buffer_completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid);
  void note(uint32_t correlation, LaunchTag tag);
  void read(const CuptiKernelRecord& record);
  void begun(LaunchTag tag) override;
  void ended(LaunchTag tag) override;
  Status flush_by_force() override;
  void dropped(LaunchTag tag) override;

  const Cupti cupti_;
  CuptiSubscriber subscriber_ = nullptr;
  // Of the runtime's call and of the driver's call in it: CUPTI may use either. mutex() is over both.
  std::unordered_map<LaunchTag, std::vector<uint32_t>> correlations_;
  std::unordered_map<uint32_t, LaunchTag> tags_;  // by correlation id, until the launch is dropped
};

}  // namespace mneme::cuda
