#include "mneme/replay/configuration.h"

namespace mneme {
namespace {

// The grid's extent in one direction under which there are as many threads as were recorded.
Result<uint32_t> blocks_for(char axis, uint32_t recorded_grid, uint32_t recorded_block, uint32_t block) {
  const uint64_t threads = uint64_t{recorded_grid} * recorded_block;
  if (block == 0 || threads % block != 0)
    return error(Code::invalid_argument,
                 "keep_threads: the launch has {} threads in {} ({} blocks of {}), which blocks of {} do not divide; choose a "
                 "block.{} that does, or give grid.{}",
                 threads, axis, recorded_grid, recorded_block, block, axis, axis);
  if (threads / block > UINT32_MAX)
    return error(Code::invalid_argument, "keep_threads: {} threads in {} are {} blocks of {}, more than any grid has", threads,
                 axis, threads / block, block);
  return static_cast<uint32_t>(threads / block);
}

}  // namespace

LaunchShape recorded_shape(const InstanceRecord& instance) {
  return {instance.grid, instance.block, instance.dynamic_shared_memory, instance.cooperative, instance.cluster};
}

Result<LaunchShape> Configuration::launch_shape(const InstanceRecord& instance) const {
  LaunchShape shape = recorded_shape(instance);
  shape.grid = grid.apply(shape.grid);
  shape.block = block.apply(shape.block);
  shape.dynamic_shared_memory = shared_memory.value_or(shape.dynamic_shared_memory);
  if (!keep_threads) return shape;
  const struct {
    char axis;
    std::optional<uint32_t> given;
    uint32_t recorded_grid, recorded_block, block;
    uint32_t& grid;
  } axes[] = {{'x', grid.x, instance.grid.x, instance.block.x, shape.block.x, shape.grid.x},
              {'y', grid.y, instance.grid.y, instance.block.y, shape.block.y, shape.grid.y},
              {'z', grid.z, instance.grid.z, instance.block.z, shape.block.z, shape.grid.z}};
  for (const auto& a : axes) {
    if (a.given)
      return error(Code::invalid_argument, "keep_threads computes grid.{}, which is given as {}: leave one of the two out",
                   a.axis, *a.given);
    MNEME_ASSIGN(a.grid, blocks_for(a.axis, a.recorded_grid, a.recorded_block, a.block));
  }
  return shape;
}

}  // namespace mneme
