#include "mneme/device/code_image.h"

#include <array>
#include <utility>

namespace mneme {
namespace {

constexpr std::array<std::pair<DeviceKind, std::string_view>, 4> kKinds = {{
    {DeviceKind::fake, "fake"},
    {DeviceKind::cpu, "cpu"},
    {DeviceKind::cuda, "cuda"},
    {DeviceKind::hip, "hip"},
}};

}  // namespace

std::string_view to_string(DeviceKind kind) {
  for (const auto& [value, name] : kKinds) {
    if (value == kind) return name;
  }
  return "unknown";
}

Result<DeviceKind> parse_device_kind(std::string_view text) {
  for (const auto& [value, name] : kKinds) {
    if (name == text) return value;
  }
  return error(Code::invalid_argument, "'{}' is no kind of device: the kinds are cuda, hip, cpu and fake", text);
}

}  // namespace mneme
