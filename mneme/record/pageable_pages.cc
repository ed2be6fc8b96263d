#include "mneme/record/pageable_pages.h"

#include <algorithm>
#include <numeric>

#include "mneme/device/host_pages.h"
#include "mneme/record/reachable_memory.h"
#include "mneme/record/vendor.h"

namespace mneme {
namespace {

// Neighbours as one.
std::vector<MemoryRange> extents_of(const MemoryRange& memory, std::span<const uint64_t> pages) {
  std::vector<MemoryRange> ranges;
  for (uint64_t page : pages) {
    const MemoryRange extent = page_extent(memory, page);
    if (ranges.empty() || ranges.back().end() != extent.address) ranges.push_back({extent.address, {}});
    ranges.back().size = extent.end() - ranges.back().address;
  }
  return ranges;
}

Result<bool> variable_leads_there(const MemoryRange& variable, std::span<const MemoryRange> pageable, Stream& stream,
                                  Vendor& vendor) {
  const MemoryRange words = words_of(variable);
  std::vector<uint8_t> marks(pageable.size());
  ByteVector bytes(words.size.count);
  if (bytes.empty()) return false;
  MNEME_TRY(vendor.read_variable(stream, bytes, words.address));
  mark_host_pointers(marks, pageable, bytes);
  return std::ranges::count(marks, 1) != 0;
}

Result<bool> lead_there(std::span<const MemoryRange> on_device, std::span<const MemoryRange> on_host,
                        std::span<const MemoryRange> pageable, Stream& stream) {
  std::vector<uint8_t> marks(pageable.size());
  MNEME_TRY(stream.find_pointers(marks, pageable, on_device));
  for (const MemoryRange& memory : on_host) mark_from_host(memory, pageable, marks);
  return std::ranges::count(marks, 1) != 0;
}

}  // namespace

void PageablePages::add(const CapturedMemory& captured) {
  for (DevicePtr freed : captured.freed) pieces_.erase(freed.address);
  for (const CapturedMemory::Region& region : captured.regions) {
    if (region.kind == Region::Kind::global) continue;
    Piece& piece = pieces_[region.range.address.address];
    if (piece.size != region.range.size || region.pages.size() == page_count(region.range)) piece = {region.range.size, {}};
    std::vector<uint64_t> all;
    std::ranges::set_union(piece.changed, region.pages, std::back_inserter(all));
    piece.changed = std::move(all);
  }
}

Result<bool> PageablePages::find_in(const CapturedMemory& captured, std::span<const MemoryRange> pageable, Stream& stream,
                                    Vendor& vendor) {
  bool found = false;
  std::vector<Unread> unread;
  std::vector<MemoryRange> on_device, on_host;
  for (const CapturedMemory::Region& region : captured.regions) {
    if (region.kind == Region::Kind::global) {
      MNEME_ASSIGN(const bool leads_there, variable_leads_there(region.range, pageable, stream, vendor));
      found = found || leads_there;
      continue;
    }
    Piece& piece = pieces_[region.range.address.address];
    if (piece.changed.empty()) {
      found = found || piece.leads_there;
      continue;
    }
    if (piece.leads_there) {
      piece.changed.resize(page_count(region.range));
      std::iota(piece.changed.begin(), piece.changed.end(), uint64_t{0});
    }
    const Unread& one =
        unread.emplace_back(Unread{&piece, region.kind == Region::Kind::host, extents_of(region.range, piece.changed)});
    std::vector<MemoryRange>& list = one.on_host ? on_host : on_device;
    list.insert(list.end(), one.ranges.begin(), one.ranges.end());
  }
  // All at once: few programs have such addresses at all.
  MNEME_ASSIGN(const bool some, lead_there(on_device, on_host, pageable, stream));
  for (const Unread& one : unread) {
    const std::span<const MemoryRange> ranges = one.ranges, none;
    if (some) {
      MNEME_ASSIGN(one.piece->leads_there,
                   lead_there(one.on_host ? none : ranges, one.on_host ? ranges : none, pageable, stream));
    } else {
      one.piece->leads_there = false;
    }
    one.piece->changed.clear();
  }
  return found || some;
}

}  // namespace mneme
