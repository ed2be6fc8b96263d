#include "mneme/device/block_order.h"

#include "mneme/device/backend.h"

namespace mneme {

bool order_blocks(Device& device, std::optional<uint64_t> seed) {
  const auto order = backend_of(device.properties().kind).order_blocks;
  return order && order(device, seed);
}

}  // namespace mneme
