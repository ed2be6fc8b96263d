#include "mneme/device/address_space.h"

namespace mneme {
Result<DevicePtr> AddressSpace::allocate(Bytes size, Bytes alignment) {
  std::lock_guard lock(mutex_);
  if (size.count == 0) return error(Code::invalid_argument, "allocating device memory in the range at {}: the size is 0", base());
  uint64_t candidate = round_up(base().address, alignment.count);
  const uint64_t end = range_.end().address;
  for (const auto& [allocation, _] : allocations_) {
    if (candidate < allocation.address.address && allocation.address.address - candidate > size.count) break;
    candidate = round_up(allocation.end().address + 1, alignment.count);
  }
  if (candidate > end || end - candidate < size.count) {
    Bytes used;
    for (const auto& [allocation, _] : allocations_) used += allocation.size;
    return error(Code::exhausted,
                 "allocating {}: the range of {} at {} has {} in use and no gap that large; reserve a larger range", size,
                 range_.size, base(), used);
  }
  MNEME_TRY(insert({DevicePtr(candidate), size}));
  return DevicePtr(candidate);
}

Status AddressSpace::allocate_at(DevicePtr address, Bytes size) {
  std::lock_guard lock(mutex_);
  const std::string what = fmt::format("allocating {} at {}", size, address);
  if (size.count == 0) return error(Code::invalid_argument, "{}: the size is 0", what);
  // Asked without the end of the allocation, which may be beyond the last address.
  if (address < base() || address - base() > range_.size || size > range_.size - (address - base()))
    return error(Code::invalid_argument, "{}: outside of the range of {} at {}", what, range_.size, base());
  const auto clash = allocations_.first_overlap({address, size});
  if (clash == allocations_.end()) return insert({address, size});
  return error(Code::invalid_argument, "{}: overlaps the allocation of {} at {}", what, clash->range.size, clash->range.address);
}

Status AddressSpace::share_with(int ordinal) {
  std::lock_guard lock(mutex_);
  return share_impl(ordinal);
}

Status AddressSpace::keep_from(int ordinal) {
  std::lock_guard lock(mutex_);
  return keep_from_impl(ordinal);
}

Status AddressSpace::free(DevicePtr address) {
  std::lock_guard lock(mutex_);
  const auto* found = allocations_.find_start(address);
  if (!found) {
    return error(Code::invalid_argument, "freeing {}: no allocation of the range of {} at {} starts there", address, range_.size,
                 base());
  }
  const MemoryRange allocation = found->range;
  allocations_.erase_start(address);
  return unmap_granules(allocation);
}

void AddressSpace::make_exportable() {
  std::lock_guard lock(mutex_);
  make_exportable_impl();
}

Result<std::vector<ExportedMapping>> AddressSpace::export_allocation(DevicePtr address) {
  std::lock_guard lock(mutex_);
  const auto* found = allocations_.find(address);
  if (!found || found->range.address != address)
    return error(Code::invalid_argument, "giving memory at {} to another process: no allocation starts there", address);
  return export_impl(found->range);
}

bool AddressSpace::can_export(DevicePtr address) const {
  std::lock_guard lock(mutex_);
  const auto* found = allocations_.find(address);
  return found && found->range.address == address && can_export_impl(found->range);
}

Result<std::vector<ExportedMapping>> AddressSpace::export_impl(MemoryRange allocation) {
  return error(Code::unsupported, "giving {} at {} to another process: the device has no such memory", allocation.size,
               allocation.address);
}

std::vector<MemoryRange> AddressSpace::allocations() const {
  std::lock_guard lock(mutex_);
  std::vector<MemoryRange> result;
  result.reserve(allocations_.size());
  for (const auto& [allocation, _] : allocations_) result.push_back(allocation);
  return result;
}

std::optional<MemoryRange> AddressSpace::find(DevicePtr address) const {
  std::lock_guard lock(mutex_);
  const auto* found = allocations_.find(address);
  return found ? std::optional(found->range) : std::nullopt;
}

Bytes AddressSpace::allocated() const {
  std::lock_guard lock(mutex_);
  Bytes total;
  for (const auto& [allocation, _] : allocations_) total += allocation.size;
  return total;
}

Status AddressSpace::insert(MemoryRange allocation) {
  MNEME_TRY(map_granules(allocation).with_context(fmt::format("allocating {} at {}", allocation.size, allocation.address)));
  allocations_.set(allocation);
  return {};
}

// Only the first granule and the last may have other users, since allocations do not overlap: what is new, or is given up, is
// one run of granules, and one call to the backend.
Status AddressSpace::map_granules(MemoryRange allocation) {
  const uint64_t step = granularity_.count;
  const uint64_t first = round_down(allocation.address.address, step), last = round_up(allocation.end().address, step);
  uint64_t begin = first, end = last;
  if (granule_users_.contains(begin)) begin += step;
  if (begin < end && granule_users_.contains(end - step)) end -= step;
  if (begin < end) MNEME_TRY(map_impl(DevicePtr(begin), Bytes(end - begin)));
  for (uint64_t granule = first; granule < last; granule += step) ++granule_users_[granule];
  return {};
}

Status AddressSpace::unmap_granules(MemoryRange allocation) {
  const uint64_t step = granularity_.count;
  const uint64_t first = round_down(allocation.address.address, step), last = round_up(allocation.end().address, step);
  uint64_t begin = first, end = first;
  for (uint64_t granule = first; granule < last; granule += step) {
    auto user = granule_users_.find(granule);
    if (--user->second != 0) continue;
    granule_users_.erase(user);
    if (begin == end) begin = granule;
    end = granule + step;
  }
  return begin < end ? unmap_impl(DevicePtr(begin), Bytes(end - begin)) : Status();
}

}  // namespace mneme
