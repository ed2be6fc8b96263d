#include "mneme/cpu/run/dispatch.h"

#include <cstddef>

namespace mneme::cpu {
namespace {

constexpr uint16_t kPacketType = 2;  // HSA_PACKET_TYPE_KERNEL_DISPATCH
constexpr uint16_t kDimensions = 3;

#define AT(field, offset) static_assert(offsetof(mneme_cpu_dispatch, field) == (offset))
AT(workgroup_size, 4);
AT(grid_size, 12);
AT(group_segment_size, 28);
AT(kernarg_address, 40);
AT(block_count, MNEME_CPU_IMPLICIT_ARGUMENTS);
AT(group_size, MNEME_CPU_IMPLICIT_ARGUMENTS + 12);
AT(remainder, MNEME_CPU_IMPLICIT_ARGUMENTS + 18);
AT(global_offset, MNEME_CPU_IMPLICIT_ARGUMENTS + 40);
AT(grid_dimensions, MNEME_CPU_IMPLICIT_ARGUMENTS + 64);
AT(printf_buffer, MNEME_CPU_IMPLICIT_ARGUMENTS + 72);
AT(hostcall_buffer, MNEME_CPU_IMPLICIT_ARGUMENTS + 80);
AT(heap, MNEME_CPU_IMPLICIT_ARGUMENTS + 96);
AT(dynamic_lds_size, MNEME_CPU_IMPLICIT_ARGUMENTS + 120);
AT(private_base, MNEME_CPU_IMPLICIT_ARGUMENTS + 192);
AT(queue, MNEME_CPU_IMPLICIT_ARGUMENTS + 200);
static_assert(sizeof(mneme_cpu_dispatch) == MNEME_CPU_IMPLICIT_ARGUMENTS + 256);

}  // namespace

mneme_cpu_dispatch describe_dispatch(const mneme_cpu_kernel& kernel, const LaunchShape& shape, const void* parameters) {
  mneme_cpu_dispatch dispatch{};
  dispatch.header = kPacketType;
  dispatch.dimensions = dispatch.grid_dimensions = kDimensions;
  const uint32_t grid[3] = {shape.grid.x, shape.grid.y, shape.grid.z};
  const uint32_t block[3] = {shape.block.x, shape.block.y, shape.block.z};
  for (unsigned axis = 0; axis < 3; ++axis) {
    dispatch.block_count[axis] = grid[axis];
    dispatch.workgroup_size[axis] = dispatch.group_size[axis] = static_cast<uint16_t>(block[axis]);
    dispatch.grid_size[axis] = grid[axis] * block[axis];
  }
  dispatch.dynamic_lds_size = static_cast<uint32_t>(shape.dynamic_shared_memory.count);
  dispatch.group_segment_size = static_cast<uint32_t>(kernel.static_shared_bytes) + dispatch.dynamic_lds_size;
  dispatch.kernarg_address = parameters;
  return dispatch;
}

}  // namespace mneme::cpu
