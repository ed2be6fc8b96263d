// The CUDA device, through the driver's library opened at run time.
#pragma once

#include <memory>

#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme::cuda {

// Opens CUDA device `ordinal`. unavailable, with the reason and advice, when there is no driver or no such device.
Result<std::unique_ptr<Device>> open_device(int ordinal);

}  // namespace mneme::cuda
