// The limits of a launch as a recording has them: attributes of the launch, which are missing where a limit was as usual.
#pragma once

#include <map>
#include <string>

#include "mneme/base/launch_limits.h"
#include "mneme/base/status.h"

namespace mneme {

inline constexpr char kStackLimit[] = "limit_stack_size";
inline constexpr char kPendingLaunchesLimit[] = "limit_pending_launches";

// Adds what is more than usual.
void put_limits(const LaunchLimits& limits, std::map<std::string, std::string>& attributes);
// corrupt: an attribute of such a name is no number.
Result<LaunchLimits> limits_in(const std::map<std::string, std::string>& attributes);

}  // namespace mneme
