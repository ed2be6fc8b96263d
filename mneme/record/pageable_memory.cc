#include "mneme/record/pageable_memory.h"

#include <algorithm>
#include <span>

#include "mneme/device/address_space.h"
#include "mneme/record/reachable_memory.h"

namespace mneme {
namespace {

// Beyond these no program has memory: most words are numbers.
constexpr uint64_t kLeastAddress = 1 << 16, kAddressBits = uint64_t{1} << 48;
// How much longer the time between two readings of the mappings is than one of them.
constexpr int kLeastShare = 50;

// With the addresses that stand for the memory.
MemoryRange around(const MemoryRange& memory) {
  const uint64_t reach = ReachableMemory::kReach.count;
  const DevicePtr begin(memory.address.address - std::min(memory.address.address, reach));
  return {begin, memory.end() + Bytes(reach) - begin};
}

// What is left of ranges without others. Both have the order of their addresses, and the others may overlap.
std::vector<MemoryRange> difference(std::span<const MemoryRange> ranges, std::span<const MemoryRange> others) {
  std::vector<MemoryRange> left;
  size_t next = 0;
  for (const MemoryRange& range : ranges) {
    while (next < others.size() && others[next].end() <= range.address) ++next;
    DevicePtr begin = range.address;
    for (size_t i = next; i < others.size() && others[i].address < range.end() && begin < range.end(); ++i) {
      if (begin < others[i].address) left.push_back({begin, others[i].address - begin});
      begin = std::max(begin, others[i].end());
    }
    if (begin < range.end()) left.push_back({begin, range.end() - begin});
  }
  return left;
}

}  // namespace

// The ranges for memory of devices, and those for the emulation's variables, for reservations and for pinned memory, of which the
// last has at most 1 TiB.
bool PageableMemory::in_ranges_of_recorder(DevicePtr address) const {
  const auto within = [&](DevicePtr first, DevicePtr last) { return address >= first && address < last + kAddressSpaceStride; };
  return within(address_space_base(kMostAddressSpaces - 1, first_space_), first_space_) ||
         within(kReservationsBase, kHostMemoryBase);
}

bool PageableMemory::may_lie_at(DevicePtr address) const {
  return address.address >= kLeastAddress && address.address < kAddressBits && !in_ranges_of_recorder(address);
}

bool PageableMemory::may_hold(DevicePtr address) {
  const uint64_t at = address.address;
  if (!may_lie_at(address) || !may_be_readable(at)) return false;
  std::lock_guard lock(mutex_);
  // What it is may have changed since.
  if (!mappings_.is_data(at)) read_mappings();
  return mappings_.is_data(at);
}

void PageableMemory::read_mappings() {
  const Clock::time_point begin = Clock::now();
  mappings_ = HostMappings::now();
  read_ = Clock::now();
  took_ = read_ - begin;
}

std::vector<MemoryRange> PageableMemory::without(const StateCapture::Memory& known) {
  std::vector<MemoryRange> all;
  {
    std::lock_guard lock(mutex_);
    if (read_ == Clock::time_point() || Clock::now() - read_ > kLeastShare * took_) read_mappings();
    all = mappings_.data();
  }
  std::erase_if(all, [&](const MemoryRange& range) { return in_ranges_of_recorder(range.address); });
  std::vector<MemoryRange> taken;
  for (const auto* list : known.lists())
    for (const MemoryRange& memory : *list)
      if (!in_ranges_of_recorder(memory.address)) taken.push_back(around(memory));
  std::ranges::sort(taken);
  return difference(all, taken);
}

}  // namespace mneme
