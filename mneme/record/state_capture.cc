#include "mneme/record/state_capture.h"

#include <algorithm>
#include <tuple>

namespace mneme {
namespace {

// A batch is what one writer thread works on at a time.
constexpr uint64_t kBatchPages = Bytes(4_MiB).count / kPageSize.count;

// Pages are aligned by address and hash_pages counts from where it starts: a first page that is not whole is a call of its own.
Status hash_allocation(Stream& stream, const Allocation& memory, std::span<uint64_t> hashes) {
  PageExtent head = page_extent(memory.address, memory.size, 0);
  uint64_t aligned = 0;
  if (head.size != kPageSize && hashes.size() > 1) {
    MNEME_TRY(stream.hash_pages(hashes.first(1), head.address, head.size, kPageSize));
    aligned = head.size.count;
    hashes = hashes.subspan(1);
  }
  return stream.hash_pages(hashes, memory.address + Bytes(aligned), memory.size - Bytes(aligned), kPageSize);
}

}  // namespace

Status StateCapture::read_pages(Stream& stream, const Allocation& memory, uint64_t first, uint64_t last, Digest* digests,
                                Publication& publication) {
  for (uint64_t begin = first; begin < last; begin += kBatchPages) {
    const uint64_t end = std::min(begin + kBatchPages, last);
    const PageExtent head = page_extent(memory.address, memory.size, begin),
                     tail = page_extent(memory.address, memory.size, end - 1);
    const Bytes size = tail.address + tail.size - head.address;
    PageBatch batch;
    batch.bytes = std::make_unique_for_overwrite<std::byte[]>(size.count);
    MNEME_TRY(stream.copy_to_host({batch.bytes.get(), size.count}, head.address));
    for (uint64_t i = begin; i < end; ++i)
      batch.pages.push_back({page_extent(memory.address, memory.size, i).size.count, &digests[i]});
    MNEME_TRY(publication.put(std::move(batch)));
  }
  return {};
}

Status StateCapture::capture_allocation(Stream& stream, const Allocation& allocation, Publication& publication) {
  Known& known = known_[allocation.address.address];
  const uint64_t pages = page_count(allocation.address, allocation.size);
  const bool fresh = known.size != allocation.size;
  std::vector<uint64_t> hashes(pages);
  MNEME_TRY(hash_allocation(stream, allocation, hashes));
  if (fresh) known.digests.assign(pages, {});
  for (uint64_t i = 0; i < pages;) {
    uint64_t end = i;
    while (end < pages && (fresh || known.hashes[end] != hashes[end])) ++end;
    if (end > i) MNEME_TRY(read_pages(stream, allocation, i, end, known.digests.data(), publication));
    i = std::max(end, i + 1);
  }
  known.size = allocation.size;
  known.hashes = std::move(hashes);
  return {};
}

Status StateCapture::capture(Stream& stream, const std::vector<Allocation>& allocations,
                             const std::vector<CapturedGlobal>& globals, Publication& publication) {
  std::erase_if(known_, [&](const auto& entry) {
    auto found = std::lower_bound(allocations.begin(), allocations.end(), entry.first,
                                  [](const Allocation& a, uint64_t address) { return a.address.address < address; });
    return found == allocations.end() || found->address.address != entry.first;
  });
  allocations_ = allocations;
  for (const Allocation& allocation : allocations) MNEME_TRY(capture_allocation(stream, allocation, publication));

  globals_.clear();
  for (const CapturedGlobal& global : globals) {
    Region& region = globals_.emplace_back(Region{Region::Kind::global, global.address, global.size, global.name, {}});
    region.pages.resize(page_count(region.address, region.size));
    // The vector inside stays where it is when globals_ grows.
    MNEME_TRY(read_pages(stream, {region.address, region.size}, 0, region.pages.size(), region.pages.data(), publication));
  }
  return {};
}

MemoryState StateCapture::state() const {
  MemoryState state;
  for (const Allocation& allocation : allocations_)
    state.regions.push_back(
        {Region::Kind::allocation, allocation.address, allocation.size, "", known_.at(allocation.address.address).digests});
  state.regions.insert(state.regions.end(), globals_.begin(), globals_.end());
  std::sort(state.regions.begin(), state.regions.end(),
            [](const Region& a, const Region& b) { return std::tie(a.address, a.name) < std::tie(b.address, b.name); });
  // Two names of one variable are one region.
  uint64_t end = 0;
  std::erase_if(state.regions, [&](const Region& region) {
    if (region.address.address < end) return true;
    end = region.address.address + region.size.count;
    return false;
  });
  return state;
}

}  // namespace mneme
