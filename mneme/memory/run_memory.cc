#include "mneme/memory/run_memory.h"

#include <algorithm>

#include "mneme/device/host_pages.h"

namespace mneme {

const SymbolContent* RunMemory::symbol(size_t region) const {
  const PlannedRegion& planned = plan_.regions[region];
  if (planned.placement == Placement::recorded_address) return nullptr;
  auto found = symbols_.find(planned.prologue.name);
  return found == symbols_.end() ? nullptr : &found->second;
}

bool RunMemory::has(size_t region) const {
  return plan_.regions[region].placement == Placement::recorded_address || symbol(region) != nullptr;
}

DevicePtr RunMemory::address(size_t region) const {
  const SymbolContent* content = symbol(region);
  return content ? content->address : plan_.regions[region].prologue.address;
}

Result<Comparison> RunMemory::compare_bytes(size_t region, uint64_t offset, Bytes size) const {
  if (!has(region)) return Comparison();
  if (const SymbolContent* content = symbol(region))
    return compare_host_bytes(ByteSpan(content->actual).subspan(offset, size.count),
                              content->recorded.subspan(offset, size.count));
  return compare_mapped(address(region) + Bytes(offset), size);
}

Result<Comparison> RunMemory::compare_mapped(DevicePtr address, Bytes size) const {
  Comparison total;
  MNEME_TRY(recorded_.for_each(address, size, [&](DevicePtr at, Bytes count, DevicePtr recorded) -> Status {
    MNEME_ASSIGN(Comparison piece, stream_.compare(at, recorded, count));
    total.differing_bytes += piece.differing_bytes;
    if (piece.first_difference && !total.first_difference)
      total.first_difference = (at - address).count + *piece.first_difference;
    return {};
  }));
  return total;
}

Result<ElementDifferences> RunMemory::compare_elements(size_t region, uint64_t offset, Bytes size,
                                                       const ElementComparison& how) const {
  if (!has(region)) return ElementDifferences();
  if (const SymbolContent* content = symbol(region))
    return compare_host_elements(ByteSpan(content->actual).subspan(offset, size.count),
                                 content->recorded.subspan(offset, size.count), how);
  MNEME_ASSIGN(DevicePtr recorded, recorded_.whole(address(region) + Bytes(offset), size));
  return stream_.compare_elements(address(region) + Bytes(offset), recorded, size, how);
}

Result<Comparison> RunMemory::compare_span(const MappedSpan& span, uint64_t begin, uint64_t end) const {
  return compare_mapped(span.address + Bytes(begin), Bytes(end - begin));
}

Result<Digest> RunMemory::digest(size_t region, uint64_t offset, Bytes size) const {
  if (!has(region)) return Digest();
  if (const SymbolContent* content = symbol(region)) return digest_of(ByteSpan(content->actual).subspan(offset, size.count));
  std::vector<uint64_t> hashes((size.count + kPageSize.count - 1) / kPageSize.count);
  MNEME_TRY(stream_.hash_pages(hashes, address(region) + Bytes(offset), size, kPageSize));
  return digest_of(std::as_bytes(std::span(hashes)));
}

// What no masked block holds counts as what was recorded, which is no mask.
Result<ByteVector> RunMemory::started_from(DevicePtr address, ByteSpan recorded) const {
  if (!masked_) return ByteVector();
  ByteVector started(recorded.begin(), recorded.end());
  const DevicePtr end = address + Bytes(recorded.size());
  for (auto piece = masked_->find(address); piece != masked_->pieces().end() && piece->address < end; ++piece) {
    const DevicePtr from = std::max(piece->address, address), to = std::min(piece->range().end(), end);
    MNEME_TRY(stream_.copy_to_host(std::span(started).subspan((from - address).count, (to - from).count),
                                   piece->copy + (from - piece->address)));
  }
  return started;
}

Status RunMemory::read(size_t region, uint64_t offset, Bytes size, const std::function<Status(const MemoryPiece&)>& see) const {
  if (!has(region)) return {};
  if (const SymbolContent* content = symbol(region)) {
    const ByteSpan started = content->started.empty() ? ByteSpan() : ByteSpan(content->started).subspan(offset, size.count);
    return see(
        {offset, ByteSpan(content->actual).subspan(offset, size.count), content->recorded.subspan(offset, size.count), started});
  }
  constexpr uint64_t kPiece = 32 << 20;
  ByteVector actual, recorded_bytes;
  for (uint64_t at = offset; at < offset + size.count; at += kPiece) {
    const uint64_t count = std::min(kPiece, offset + size.count - at);
    actual.resize(count);
    recorded_bytes.resize(count);
    MNEME_TRY(stream_.copy_to_host(actual, address(region) + Bytes(at)));
    MNEME_ASSIGN(DevicePtr recorded, recorded_.whole(address(region) + Bytes(at), Bytes(count)));
    MNEME_TRY(stream_.copy_to_host(recorded_bytes, recorded));
    MNEME_ASSIGN(const ByteVector started, started_from(address(region) + Bytes(at), recorded_bytes));
    MNEME_TRY(see({at, actual, recorded_bytes, started}));
  }
  return {};
}

}  // namespace mneme
