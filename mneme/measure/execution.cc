#include "mneme/measure/execution.h"

namespace mneme {

std::string_view to_string(CacheState state) {
  for (const auto& [name, known] : kCacheNames)
    if (known == state) return name;
  return "";
}

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
                 to_string(execution.l2), kind);
  if (execution.shared_device && device.hardware_id.empty())
    return error(Code::unsupported, "execution.shared_device has no effect on the device {}, which is always shared", kind);
  return {};
}

}  // namespace mneme
