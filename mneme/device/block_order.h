// In which order a launch's blocks run, where that can be chosen.
#pragma once

#include <cstdint>
#include <optional>

#include "mneme/device/device.h"

namespace mneme {

// From now on launches take their blocks in the order of a seed, one after another, so that the same seed does the same; nothing:
// in the usual order. False, and nothing has changed: the order is not Mneme's to choose, as on a GPU.
bool order_blocks(Device& device, std::optional<uint64_t> seed);

}  // namespace mneme
