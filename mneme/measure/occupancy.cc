#include "mneme/measure/occupancy.h"

namespace mneme {

Result<std::optional<Occupancy>> occupancy_of(const Kernel& kernel, const LaunchShape& shape, const DeviceProperties& device) {
  MNEME_ASSIGN(std::optional<uint32_t> blocks, kernel.active_blocks(shape));
  const uint32_t warps = device.max_threads_per_multiprocessor / device.warp_size;
  if (!blocks || warps == 0) return std::optional<Occupancy>();
  const uint64_t of_block = (shape.block.volume() + device.warp_size - 1) / device.warp_size;
  return std::optional(Occupancy{*blocks, static_cast<double>(*blocks * of_block) / warps});
}

}  // namespace mneme
