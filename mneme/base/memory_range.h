// MemoryRange: a piece of memory that a kernel can reach.
#pragma once

#include <algorithm>
#include <compare>

#include "mneme/base/types.h"

namespace mneme {

// The bytes from `address` on, [address, address+size). A range of no bytes holds no address and overlaps nothing. The end of a
// range must be an address: address + size does not wrap around.
struct MemoryRange {
  DevicePtr address;
  Bytes size;

  // The address one behind the last byte.
  constexpr DevicePtr end() const { return address + size; }
  constexpr bool contains(DevicePtr place) const { return place >= address && place < end(); }
  constexpr bool contains(const MemoryRange& other) const { return other.address >= address && other.end() <= end(); }
  constexpr bool overlaps(const MemoryRange& other) const {
    return std::max(address, other.address) < std::min(end(), other.end());
  }
  friend constexpr auto operator<=>(const MemoryRange&, const MemoryRange&) = default;
};

}  // namespace mneme
