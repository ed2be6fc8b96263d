// NVIDIA GPUs by the CUDA driver API, opened at run time.
#pragma once

#include <memory>
#include <string>

#include "mneme/device/cuda/driver.h"
#include "mneme/device/device.h"

namespace mneme::cuda {

// Opens GPU `ordinal` in its primary context, so that the CUDA runtime's memory in this process is this device's. unavailable:
// no driver, no such device.
Result<std::unique_ptr<Device>> open_device(int ordinal);
// The same by another driver library, for tests.
Result<std::unique_ptr<Device>> open_device(int ordinal, const std::string& library);

}  // namespace mneme::cuda
