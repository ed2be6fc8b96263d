// AMD GPUs, reached by the HIP runtime's module API. The runtime's library is opened at run time.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "mneme/device/device.h"
#include "mneme/device/hip/driver.h"

namespace mneme::hip {

// Opens GPU `ordinal` in the context that the HIP runtime has for it in this process. unavailable: no runtime, no such device.
Result<std::unique_ptr<Device>> open_device(int ordinal);
// How many GPUs the runtime shows. unavailable: no driver, no runtime.
Result<int> count_devices();

// The same by other libraries, for tests.
Result<std::unique_ptr<Device>> open_device(int ordinal, std::span<const std::string> libraries);
Result<int> count_devices(std::span<const std::string> libraries);

}  // namespace mneme::hip
