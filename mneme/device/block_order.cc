#include "mneme/device/block_order.h"

#include "mneme/device/cpu/cpu_device.h"

namespace mneme {

bool order_blocks(Device& device, std::optional<uint64_t> seed) {
  auto* cpu = dynamic_cast<cpu::CpuDevice*>(&device);
  if (cpu) cpu->executor().order_blocks(seed);
  return cpu != nullptr;
}

}  // namespace mneme
