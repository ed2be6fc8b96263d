#include "mneme/record/reserved_addresses.h"

#include <algorithm>

#include "mneme/device/address_space.h"

namespace mneme {
std::optional<MemoryRange> ReservedAddresses::place(Bytes size, uint64_t alignment) {
  constexpr Bytes kAll = kHostMemoryBase - kReservationsBase;
  if (size.count == 0 || size > kAll || alignment > kAll.count || (alignment & (alignment - 1)) != 0) return std::nullopt;
  const uint64_t step = kReservationStep.count, unit = std::max(step, alignment);
  const Bytes whole(round_up(size.count, step));
  std::lock_guard lock(mutex_);
  DevicePtr place = kReservationsBase;
  for (const auto& [taken, use] : ranges_) {
    if (taken.end() <= place) continue;
    if (taken.address >= place + whole) break;
    place = DevicePtr(round_up(taken.end().address, unit));
  }
  if (place >= kHostMemoryBase || whole > kHostMemoryBase - place) return std::nullopt;
  ranges_.set({place, whole}, {size});
  return MemoryRange{place, whole};
}

void ReservedAddresses::settle(const MemoryRange& place, DevicePtr given) {
  if (given == place.address) return;
  std::lock_guard lock(mutex_);
  const auto* kept = ranges_.find_start(place.address);
  if (!kept) return;
  const Use use = kept->value;
  ranges_.erase_start(place.address);
  ranges_.set({given, place.size}, use);
}

void ReservedAddresses::give_up(DevicePtr address) {
  std::lock_guard lock(mutex_);
  ranges_.erase_start(address);
}

std::optional<Bytes> ReservedAddresses::size_at(DevicePtr address, Bytes size) const {
  std::lock_guard lock(mutex_);
  const auto* found = ranges_.find_start(address);
  return found && found->value.size == size ? std::optional(found->range.size) : std::nullopt;
}

}  // namespace mneme
