#include "mneme/memory/expected_memory.h"

#include <algorithm>

namespace mneme {
namespace {

// What is brought from the database at a time.
constexpr Bytes kPiece = 64_MiB;

}  // namespace

std::vector<PageUpload> prologue_pages(const MemoryPlan& plan, DevicePtr address, Bytes size, uint64_t moved) {
  std::vector<PageUpload> pages;
  const MemoryRange wanted{address, size};
  for (const PlannedRegion& planned : plan.regions) {
    const Region& region = planned.prologue;
    if (planned.placement != Placement::recorded_address || !region.range().overlaps(wanted)) continue;
    const uint64_t first_page = round_down(region.address.address, kPageSize.count);
    const uint64_t from = std::max(address.address, region.address.address),
                   to = std::min(wanted.end(), region.range().end()).address;
    for (uint64_t i = (from - first_page) / kPageSize.count; first_page + i * kPageSize.count < to; ++i) {
      const MemoryRange extent = page_extent(region.range(), i);
      pages.push_back({region.pages[i], DevicePtr(extent.address.address + moved), extent.size});
    }
  }
  return pages;
}

Result<DevicePtr> ExpectedMemory::bring(DevicePtr address, Bytes size) {
  const uint64_t first = round_down(address.address, kPageSize.count);
  const Bytes room(round_up(address.address + size.count, kPageSize.count) - first);
  if (brought_.size() < room) {
    brought_ = {};
    MNEME_ASSIGN(brought_, DeviceBuffer::allocate(device_, room));
  }
  MNEME_TRY(stream_.fill(brought_.address(), kSlack, room));
  MNEME_TRY(upload_pages(database_, device_, stream_,
                         prologue_pages(plan_, DevicePtr(first), room, brought_.address().address - first)));
  return brought_.address() + Bytes(address.address - first);
}

Status ExpectedMemory::for_each(DevicePtr address, Bytes size, const See& see) {
  const DevicePtr end = address + size;
  for (auto changed = changed_.find(address); address < end;) {
    const bool inside = changed != changed_.pieces().end() && changed->address <= address;
    DevicePtr until = end;
    if (changed != changed_.pieces().end()) until = std::min(end, inside ? changed->range().end() : changed->address);
    DevicePtr place;
    if (inside) {
      place = changed->copy + (address - changed->address);
      ++changed;
    } else if (before_) {
      auto piece = before_->find(address);
      place = piece->copy + (address - piece->address);
    } else {
      until = std::min(until, DevicePtr(round_down(address.address, kPageSize.count)) + kPiece);
      MNEME_ASSIGN(place, bring(address, until - address));
    }
    MNEME_TRY(see(address, until - address, place));
    address = until;
  }
  return {};
}

Result<DevicePtr> ExpectedMemory::whole(DevicePtr address, Bytes size) {
  auto changed = changed_.find(address);
  if (changed != changed_.pieces().end() && changed->range().contains({address, size}))
    return changed->copy + (address - changed->address);
  if (assembled_.size() < size) {
    assembled_ = {};
    auto room = DeviceBuffer::allocate(device_, size);
    if (!room.ok()) return room.status().with_context(fmt::format("assembling {} of the memory after the launch", size));
    assembled_ = std::move(*room);
  }
  MNEME_TRY(for_each(address, size, [&](DevicePtr at, Bytes count, DevicePtr expected) {
    return stream_.copy(assembled_.address() + (at - address), expected, count);
  }));
  return assembled_.address();
}

}  // namespace mneme
