#include "mneme/record/outside_memory.h"

namespace mneme {
namespace {

constexpr uint64_t bit_of(int device) { return device >= 0 && device < 64 ? uint64_t{1} << device : 0; }

}  // namespace

bool OutsideMemory::Mapping::is_captured_on(int device) const {
  return !memory->refused && memory->device == device && (accessible & bit_of(device)) != 0;
}

void OutsideMemory::set(uint64_t handle, Physical memory) {
  std::lock_guard lock(mutex_);
  handles_[handle] = {std::make_shared<Physical>(memory)};
}

void OutsideMemory::create(uint64_t handle, int device) { set(handle, {device, {}}); }
void OutsideMemory::create_refused(uint64_t handle, NotRecorded refused) { set(handle, {0, refused}); }

void OutsideMemory::refuse(uint64_t handle, NotRecorded reason) {
  std::lock_guard lock(mutex_);
  if (auto found = handles_.find(handle); found != handles_.end()) found->second.memory->refused = reason;
}

void OutsideMemory::refuse_mapped(const MemoryRange& range, NotRecorded reason) {
  std::lock_guard lock(mutex_);
  for (auto one = mappings_.first_overlap(range); one != mappings_.end() && one->range.overlaps(range); ++one)
    one->value.memory->refused = reason;
}

void OutsideMemory::retain(uint64_t handle, DevicePtr address) {
  std::lock_guard lock(mutex_);
  const auto* mapping = mappings_.find(address);
  if (!mapping) return;
  auto [known, fresh] = handles_.try_emplace(handle, Handle{mapping->value.memory});
  if (!fresh) ++known->second.references;
}

void OutsideMemory::release(uint64_t handle) {
  std::lock_guard lock(mutex_);
  if (auto found = handles_.find(handle); found != handles_.end() && --found->second.references == 0) handles_.erase(found);
}

void OutsideMemory::map(const MemoryRange& range, uint64_t handle) {
  std::lock_guard lock(mutex_);
  auto known = handles_.find(handle);
  auto memory =
      known != handles_.end() ? known->second.memory : std::make_shared<Physical>(Physical{0, NotRecorded::mapped_memory});
  if (memory->mappings++ != 0 && !memory->refused) memory->refused = NotRecorded::mapped_memory;
  mappings_.set(range, {std::move(memory)});
}

// So that no mapping reaches over the address.
void OutsideMemory::cut(DevicePtr at) {
  const auto* whole = mappings_.find(at);
  if (!whole || whole->range.address == at) return;
  const auto [range, mapping] = *whole;
  ++mapping.memory->mappings;
  mappings_.set({range.address, at - range.address}, mapping);
  mappings_.set({at, range.end() - at}, mapping);
}

void OutsideMemory::unmap(const MemoryRange& range) {
  std::lock_guard lock(mutex_);
  remove_mappings(range);
}

void OutsideMemory::remove_mappings(const MemoryRange& range) {
  cut(range.address);
  cut(range.end());
  for (auto one = mappings_.first_overlap(range); one != mappings_.end() && one->range.overlaps(range);) {
    --one->value.memory->mappings;
    one = mappings_.erase(one);
  }
}

void OutsideMemory::set_access(const MemoryRange& range, int device, bool accessible) {
  std::lock_guard lock(mutex_);
  cut(range.address);
  cut(range.end());
  for (auto one = mappings_.first_overlap(range); one != mappings_.end() && one->range.overlaps(range); ++one) {
    if (accessible)
      one->value.accessible |= bit_of(device);
    else
      one->value.accessible &= ~bit_of(device);
  }
}

void OutsideMemory::add_managed(const MemoryRange& memory, int device) {
  std::lock_guard lock(mutex_);
  managed_.set(memory, device);
}

void OutsideMemory::add_allocation(const MemoryRange& memory, int device) {
  std::lock_guard lock(mutex_);
  allocations_.set(memory, device);
  mappings_.set(memory, {std::make_shared<Physical>(Physical{device, {}, 1}), bit_of(device)});
}

std::optional<MemoryRange> OutsideMemory::remove_allocation(DevicePtr address) {
  std::lock_guard lock(mutex_);
  for (RangeMap<int>* list : {&managed_, &allocations_}) {
    const auto* found = list->find_start(address);
    if (!found) continue;
    const MemoryRange memory = found->range;
    list->erase_start(address);
    if (list == &allocations_) remove_mappings(memory);
    return memory;
  }
  return std::nullopt;
}

std::vector<MemoryRange> OutsideMemory::remove_allocations_of(int device) {
  std::lock_guard lock(mutex_);
  std::vector<MemoryRange> removed;
  for (RangeMap<int>* list : {&managed_, &allocations_})
    for (auto one = list->begin(); one != list->end();) {
      if (one->value != device) {
        ++one;
        continue;
      }
      removed.push_back(one->range);
      one = list->erase(one);
      if (list == &allocations_) remove_mappings(removed.back());
    }
  return removed;
}

bool OutsideMemory::is_allocation(DevicePtr address) const {
  std::lock_guard lock(mutex_);
  return managed_.find_start(address) != nullptr || allocations_.find_start(address) != nullptr;
}

std::optional<NotRecorded> OutsideMemory::refusal(DevicePtr address, int device) const {
  std::lock_guard lock(mutex_);
  const auto* found = mappings_.find(address);
  if (!found || found->value.is_captured_on(device)) return std::nullopt;
  const Physical& memory = *found->value.memory;
  if (memory.refused) return memory.refused;
  return memory.device == device ? NotRecorded::mapped_memory : NotRecorded::other_device_memory;
}

// A buffer may reach over what was mapped piece by piece.
std::vector<MemoryRange> OutsideMemory::mapped(int device) const {
  std::lock_guard lock(mutex_);
  std::vector<MemoryRange> all;
  for (const auto& [range, mapping] : mappings_) {
    if (!mapping.is_captured_on(device)) continue;
    if (!all.empty() && all.back().end() == range.address)
      all.back().size += range.size;
    else
      all.push_back(range);
  }
  return all;
}

std::vector<MemoryRange> OutsideMemory::managed() const {
  std::lock_guard lock(mutex_);
  std::vector<MemoryRange> all;
  for (const auto& [memory, _] : managed_) all.push_back(memory);
  return all;
}

std::optional<MemoryRange> OutsideMemory::find_around(DevicePtr address, int device) const {
  for (const auto& list : {mapped(device), managed()})
    for (const MemoryRange& memory : list)
      if (memory.contains(address)) return memory;
  return std::nullopt;
}

Bytes OutsideMemory::bytes(int device) const {
  std::lock_guard lock(mutex_);
  Bytes sum;
  for (const auto& [range, mapping] : mappings_)
    if (mapping.is_captured_on(device)) sum += range.size;
  for (const auto& [memory, _] : managed_) sum += memory.size;
  return sum;
}

void OutsideMemory::clear() {
  std::lock_guard lock(mutex_);
  handles_.clear();
  mappings_.clear();
  managed_.clear();
  allocations_.clear();
}

}  // namespace mneme
