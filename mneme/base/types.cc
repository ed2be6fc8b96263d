#include "mneme/base/types.h"

#include <array>
#include <string>

namespace mneme {

std::string format_bytes(Bytes bytes) {
  constexpr std::array kUnits = {"B", "KiB", "MiB", "GiB", "TiB"};
  if (bytes.count < 1024) return fmt::format("{} B", bytes.count);
  auto value = static_cast<double>(bytes.count);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return fmt::format("{:.{}f} {}", value, value < 10 ? 2 : value < 100 ? 1 : 0, kUnits[unit]);
}

std::string format_address(DevicePtr address) { return fmt::format("{:#x}", address.address); }

std::string format_extents(const Dim3& extents) { return fmt::format("{}x{}x{}", extents.x, extents.y, extents.z); }

}  // namespace mneme
