// The clock of launches on an NVIDIA GPU: CUPTI's activity records where CUPTI opens, else CUDA events.
#pragma once

#include <string>
#include <vector>

#include "mneme/device/cuda/activity_clock.h"
#include "mneme/device/gpu/launch_clock.h"

namespace mneme::cuda {

// MNEME_CLOCK may be cupti or event.
class CudaLaunchClock final : public gpu::LazyLaunchClock {
 public:
  explicit CudaLaunchClock(std::vector<std::string> cupti_paths) : cupti_paths_(std::move(cupti_paths)) {}

 private:
  Result<gpu::LaunchClock> choose() override;
  std::vector<std::string> cupti_paths_;
};

}  // namespace mneme::cuda
