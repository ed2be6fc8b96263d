#include "mneme/snapshot/launch_limits.h"

#include <charconv>

namespace mneme {
namespace {

Result<uint64_t> number_of(const std::map<std::string, std::string>& attributes, const char* name) {
  const auto found = attributes.find(name);
  if (found == attributes.end()) return uint64_t{0};
  const std::string& text = found->second;
  uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size())
    return error(Code::corrupt, "the attribute {} of the launch is '{}': a number expected", name, text);
  return number;
}

}  // namespace

void put_limits(const LaunchLimits& limits, std::map<std::string, std::string>& attributes) {
  if (limits.stack > kUsualDeviceStack) attributes[kStackLimit] = std::to_string(limits.stack.count);
  if (limits.pending_launches > kUsualPendingLaunches)
    attributes[kPendingLaunchesLimit] = std::to_string(limits.pending_launches);
}

Result<LaunchLimits> limits_in(const std::map<std::string, std::string>& attributes) {
  LaunchLimits limits;
  MNEME_ASSIGN(limits.stack.count, number_of(attributes, kStackLimit));
  MNEME_ASSIGN(limits.pending_launches, number_of(attributes, kPendingLaunchesLimit));
  return limits;
}

}  // namespace mneme
