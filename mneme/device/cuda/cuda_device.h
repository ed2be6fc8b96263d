// NVIDIA GPUs, reached by the CUDA driver API. The driver's library is opened at run time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mneme/base/launch_limits.h"
#include "mneme/device/cuda/driver.h"
#include "mneme/device/device.h"

namespace mneme::cuda {

// Opens GPU `ordinal` in its primary context, so that the CUDA runtime's memory in this process is this device's. unavailable:
// no driver, no such device.
Result<std::unique_ptr<Device>> open_device(int ordinal);
// How many GPUs the driver shows. unavailable: no driver.
Result<int> count_devices(const std::string& library = kDriverLibrary);

// Does the work of raise_limits() (mneme/device/launch_limits.h) for a device that open_device() has opened.
Status raise_limits(Device& device, const LaunchLimits& limits);

// The libraries by which a GPU is reached.
struct Libraries {
  std::string driver = kDriverLibrary;
  std::vector<std::string> cupti;  // the first that opens is used
  std::string management;          // NVML
};
// Opens it by other libraries, for tests.
Result<std::unique_ptr<Device>> open_device(int ordinal, const Libraries& libraries);

}  // namespace mneme::cuda
