#include "mneme/device/address_space.h"

namespace mneme {
namespace {

uint64_t round_up(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }
uint64_t round_down(uint64_t value, uint64_t unit) { return value / unit * unit; }

}  // namespace

Result<DevicePtr> AddressSpace::allocate(Bytes size) {
  std::lock_guard lock(mutex_);
  if (size.count == 0) return error(Code::invalid_argument, "allocating device memory in the range at {}: the size is 0", base_);
  uint64_t candidate = round_up(base_.address, kAlignment.count);
  const uint64_t end = base_.address + size_.count;
  for (const auto& [address, bytes] : allocations_) {
    if (candidate <= address && address - candidate >= size.count) break;
    candidate = round_up(address + bytes, kAlignment.count);
  }
  if (candidate > end || end - candidate < size.count) {
    uint64_t used = 0;
    for (const auto& [address, bytes] : allocations_) used += bytes;
    return error(Code::exhausted,
                 "allocating {}: the range of {} at {} has {} in use and no gap that large; reserve a larger range", size, size_,
                 base_, Bytes(used));
  }
  MNEME_TRY(insert(DevicePtr(candidate), size));
  return DevicePtr(candidate);
}

Status AddressSpace::allocate_at(DevicePtr address, Bytes size) {
  std::lock_guard lock(mutex_);
  const std::string what = fmt::format("allocating {} at {}", size, address);
  if (size.count == 0) return error(Code::invalid_argument, "{}: the size is 0", what);
  if (address < base_ || address - base_ > size_ || size > size_ - (address - base_)) {
    return error(Code::invalid_argument, "{}: outside of the range of {} at {}", what, size_, base_);
  }
  auto next = allocations_.upper_bound(address.address);
  auto overlaps = [&](const auto& other) {
    return other->first < address.address + size.count && address.address < other->first + other->second;
  };
  auto clash = next;
  if (next != allocations_.begin() && overlaps(std::prev(next)))
    clash = std::prev(next);
  else if (next == allocations_.end() || !overlaps(next))
    return insert(address, size);
  return error(Code::invalid_argument, "{}: overlaps the allocation of {} at {}", what, Bytes(clash->second),
               DevicePtr(clash->first));
}

Status AddressSpace::free(DevicePtr address) {
  std::lock_guard lock(mutex_);
  auto found = allocations_.find(address.address);
  if (found == allocations_.end()) {
    return error(Code::invalid_argument, "freeing {}: no allocation of the range of {} at {} starts there", address, size_,
                 base_);
  }
  const Bytes size(found->second);
  allocations_.erase(found);
  return unmap_granules(address, size);
}

std::vector<Allocation> AddressSpace::allocations() const {
  std::lock_guard lock(mutex_);
  std::vector<Allocation> result;
  result.reserve(allocations_.size());
  for (const auto& [address, size] : allocations_) result.push_back({DevicePtr(address), Bytes(size)});
  return result;
}

Bytes AddressSpace::allocated() const {
  std::lock_guard lock(mutex_);
  Bytes total;
  for (const auto& [address, size] : allocations_) total += Bytes(size);
  return total;
}

Status AddressSpace::insert(DevicePtr address, Bytes size) {
  MNEME_TRY(map_granules(address, size).with_context(fmt::format("allocating {} at {}", size, address)));
  allocations_.emplace(address.address, size.count);
  return {};
}

// Granules are mapped and unmapped in runs, so that a large allocation is one call to the backend.
Status AddressSpace::map_granules(DevicePtr address, Bytes size) {
  const uint64_t step = granularity_.count;
  const uint64_t first = round_down(address.address, step), last = round_up(address.address + size.count, step);
  uint64_t granule = first;
  while (granule < last) {
    if (granule_users_.contains(granule)) {
      granule += step;
      continue;
    }
    uint64_t run_end = granule + step;
    while (run_end < last && !granule_users_.contains(run_end)) run_end += step;
    if (Status status = map_impl(DevicePtr(granule), Bytes(run_end - granule)); !status.ok()) {
      // What was mapped for this allocation has no other user: give it back.
      for (uint64_t undo = first; undo < granule; undo += step) {
        auto user = granule_users_.find(undo);
        if (user == granule_users_.end() || user->second != 0) continue;
        granule_users_.erase(user);
        (void)unmap_impl(DevicePtr(undo), granularity_);
      }
      return status;
    }
    for (; granule < run_end; granule += step) granule_users_[granule] = 0;
  }
  for (granule = first; granule < last; granule += step) ++granule_users_[granule];
  return {};
}

Status AddressSpace::unmap_granules(DevicePtr address, Bytes size) {
  const uint64_t step = granularity_.count;
  const uint64_t last = round_up(address.address + size.count, step);
  Status status;
  uint64_t run_begin = 0, run_end = 0;
  auto flush = [&] {
    if (run_end == run_begin) return;
    if (Status failed = unmap_impl(DevicePtr(run_begin), Bytes(run_end - run_begin)); status.ok()) status = failed;
    run_begin = run_end = 0;
  };
  for (uint64_t granule = round_down(address.address, step); granule < last; granule += step) {
    auto user = granule_users_.find(granule);
    if (--user->second != 0) {
      flush();
      continue;
    }
    granule_users_.erase(user);
    if (run_end != granule) flush(), run_begin = granule;
    run_end = granule + step;
  }
  flush();
  return status;
}

}  // namespace mneme
