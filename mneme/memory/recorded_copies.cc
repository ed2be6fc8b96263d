#include "mneme/memory/recorded_copies.h"

namespace mneme {

Result<CopySizes> plan_copies(const MemoryPlan& plan, const DeviceProperties& device) {
  CopySizes sizes{plan.copy_size, total_size(changed_blocks(plan)), false};
  const uint64_t mapped = sizes.mapped.count, changed = sizes.changed.count, total = device.total_memory.count;
  if (mapped + 2 * changed > total)
    return error(
        Code::exhausted,
        "a replay holds the recorded memory ({}) and twice what the kernel changes of it ({}), {} in all, and {} has {}; "
        "record a smaller problem, or replay on a device with more memory",
        sizes.mapped, sizes.changed, Bytes(mapped + 2 * changed), device.name, device.total_memory);
  // A third copy of what is changed is for masked memory, and the rest for code, the program's printing and other processes.
  sizes.all_before = 2 * mapped + 2 * changed <= total / 10 * 9;
  return sizes;
}

}  // namespace mneme
