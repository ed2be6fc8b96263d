// Chooses the order in which the blocks of a launch run, on devices that let Mneme choose it.
#pragma once

#include <cstdint>
#include <optional>

#include "mneme/device/device.h"

namespace mneme {

// From now on launches on `device` run their blocks one after another, in an order that `seed` decides: launches with one seed
// run them in the same order. Without a seed, launches run them as usual again. Returns false, and changes nothing, where Mneme
// cannot choose the order, as on a GPU.
bool order_blocks(Device& device, std::optional<uint64_t> seed);

}  // namespace mneme
