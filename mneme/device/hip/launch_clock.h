// The clock of launches on an AMD GPU: rocprofiler-sdk's records of dispatches where it could be had in time, else HIP's events.
#pragma once

#include "mneme/device/gpu/launch_clock.h"

namespace mneme::hip {

// MNEME_CLOCK may be rocprofiler or event.
class HipLaunchClock final : public gpu::LazyLaunchClock {
 private:
  Result<gpu::LaunchClock> choose() override;
};

}  // namespace mneme::hip
