// What is known of DeviceProperties::reservation_granularity before a device is open.
#pragma once

#include "mneme/base/types.h"

namespace mneme {

// No device of any kind has a larger one; each device's is a divisor of it.
inline constexpr Bytes kLargestReservationGranularity = 32_MiB;

}  // namespace mneme
