#include "mneme/measure/execution.h"

namespace mneme {

Result<CacheState> parse_cache_state(std::string_view name) {
  for (const auto& [known, state] : kCacheNames)
    if (name == known) return state;
  return error(Code::invalid_argument, "l2: '{}' is none of as_it_comes, cold, warm", name);
}

Status check_execution(const Execution& execution, const DeviceProperties& device) {
  const std::string_view kind = to_string(device.kind);
  if (execution.stop != StopWhen::fixed && execution.min_iterations > execution.max_iterations)
    return error(Code::invalid_argument, "execution.min_iterations {} is more than execution.max_iterations {}",
                 execution.min_iterations, execution.max_iterations);
  if (execution.l2 != CacheState::as_it_comes && device.l2_cache.count == 0)
    return error(Code::unsupported, "execution.l2 '{}' has no effect on the device {}, which has no L2 cache to prepare",
                 execution.l2 == CacheState::cold ? "cold" : "warm", kind);
  if (execution.shared_device && device.hardware_id.empty())
    return error(Code::unsupported, "execution.shared_device has no effect on the device {}, which is always shared", kind);
  return {};
}

}  // namespace mneme
