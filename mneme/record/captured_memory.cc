#include "mneme/record/captured_memory.h"

#include <algorithm>
#include <tuple>

namespace mneme {
namespace {

void sort_regions(MemoryState& state) {
  std::sort(state.regions.begin(), state.regions.end(),
            [](const Region& a, const Region& b) { return std::tie(a.address, a.name) < std::tie(b.address, b.name); });
  // Two names of one variable are one region.
  uint64_t end = 0;
  std::erase_if(state.regions, [&](const Region& region) {
    if (region.address.address < end) return true;
    end = region.address.address + region.size.count;
    return false;
  });
}

}  // namespace

MemoryState CapturedMemory::outline() const {
  MemoryState state;
  for (const Region& region : regions)
    state.regions.push_back({region.kind, region.range.address, region.range.size, region.name, {}});
  sort_regions(state);
  return state;
}

Bytes CapturedMemory::size_in_memory() const {
  Bytes size(freed.size() * sizeof(DevicePtr));
  for (const Region& region : regions)
    size += Bytes(sizeof(Region) + region.name.size() + region.pages.size() * (sizeof(uint64_t) + sizeof(Digest)));
  return size;
}

MemoryState CaptureHistory::add(const CapturedMemory& captured) {
  for (DevicePtr freed : captured.freed) pages_.erase(freed.address);
  MemoryState state;
  for (const CapturedMemory::Region& found : captured.regions) {
    Region& region = state.regions.emplace_back(Region{found.kind, found.range.address, found.range.size, found.name, {}});
    if (found.kind == Region::Kind::global) {
      region.pages = found.digests;
      continue;
    }
    std::vector<Digest>& pages = pages_[found.range.address.address];
    pages.resize(page_count(found.range));  // of another size, all of them have changed
    for (size_t i = 0; i < found.pages.size(); ++i) pages[found.pages[i]] = found.digests[i];
    region.pages = pages;
  }
  sort_regions(state);
  return state;
}

}  // namespace mneme
