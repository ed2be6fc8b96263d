#include "mneme/memory/mapped_copy.h"

#include <algorithm>

namespace mneme {
namespace {

// Up to here a copy each costs less than a list that the device goes through.
constexpr size_t kMostSingleCopies = 4;

}  // namespace

uint64_t block_count(const MappedSpan& span) { return (span.size.count + kBlock.count - 1) / kBlock.count; }

std::vector<MemoryRange> whole_blocks(const MemoryPlan& plan, std::vector<MemoryRange> pieces) {
  auto by_address = [](const auto& a, const auto& b) { return a.address < b.address; };
  std::sort(pieces.begin(), pieces.end(), by_address);
  std::vector<MappedSpan> spans = plan.spans;
  std::sort(spans.begin(), spans.end(), by_address);
  std::vector<MemoryRange> runs;
  auto span = spans.begin();
  for (const MemoryRange& piece : pieces) {
    while (span->range().end() <= piece.address) ++span;
    const uint64_t from = (piece.address - span->address).count, to = from + piece.size.count;
    const DevicePtr first = span->address + Bytes(from / kBlock.count * kBlock.count);
    const DevicePtr end =
        span->address + Bytes(std::min((to + kBlock.count - 1) / kBlock.count * kBlock.count, span->size.count));
    if (!runs.empty() && runs.back().address >= span->address && runs.back().end() >= first)
      runs.back().size = std::max(runs.back().size, end - runs.back().address);
    else
      runs.push_back({first, end - first});
  }
  return runs;
}

std::vector<MemoryRange> changed_blocks(const MemoryPlan& plan) {
  std::vector<MemoryRange> pieces;
  for (const PlannedRegion& region : plan.regions) {
    if (region.placement != Placement::recorded_address) continue;
    for (const PageRun& run : region.changed) pieces.push_back({region.prologue.address + Bytes(run.offset), run.size});
  }
  return whole_blocks(plan, std::move(pieces));
}

std::vector<MemoryRange> all_spans(const MemoryPlan& plan) {
  std::vector<MemoryRange> runs;
  for (const MappedSpan& span : plan.spans) runs.push_back(span.range());
  std::sort(runs.begin(), runs.end(), [](const MemoryRange& a, const MemoryRange& b) { return a.address < b.address; });
  return runs;
}

Bytes total_size(const std::vector<MemoryRange>& runs) {
  Bytes total;
  for (const MemoryRange& run : runs) total += run.size;
  return total;
}

Result<MappedCopy> MappedCopy::create(Device& device, Stream& stream, const std::vector<MemoryRange>& runs, DevicePtr place) {
  std::vector<Piece> pieces;
  for (const MemoryRange& run : runs) {
    pieces.push_back({run.address, place, run.size});
    place = place + run.size;
  }
  return of(device, stream, std::move(pieces));
}

Result<MappedCopy> MappedCopy::part(Device& device, Stream& stream, const std::vector<MemoryRange>& runs) const {
  std::vector<Piece> pieces;
  for (const MemoryRange& run : runs) {
    auto whole = find(run.address);
    if (whole == pieces_.end() || !whole->range().contains(run))
      return error(Code::internal, "the copy does not hold {} at {}", run.size, run.address);
    pieces.push_back({run.address, whole->copy + (run.address - whole->address), run.size});
  }
  return of(device, stream, std::move(pieces));
}

Result<MappedCopy> MappedCopy::of(Device& device, Stream& stream, std::vector<Piece> pieces) {
  MappedCopy copy;
  copy.pieces_ = std::move(pieces);
  if (copy.pieces_.size() <= kMostSingleCopies) return copy;
  std::vector<ListedCopy> out, back;
  for (const Piece& piece : copy.pieces_) {
    for (uint64_t at = 0; at < piece.size.count; at += kBlock.count) {
      const Bytes offset(at), size(std::min(kBlock.count, piece.size.count - at));
      out.push_back({piece.copy + offset, piece.address + offset, size});
      back.push_back({piece.address + offset, piece.copy + offset, size});
    }
  }
  copy.listed_ = out.size();
  const Bytes size(out.size() * sizeof(ListedCopy));
  MNEME_ASSIGN(copy.lists_, DeviceBuffer::allocate(device, size + size));
  MNEME_TRY(stream.copy_to_device(copy.lists_.address(), std::as_bytes(std::span(out))));
  MNEME_TRY(stream.copy_to_device(copy.lists_.address() + size, std::as_bytes(std::span(back))));
  return copy;
}

std::vector<MappedCopy::Piece>::const_iterator MappedCopy::find(DevicePtr address) const {
  return std::partition_point(pieces_.begin(), pieces_.end(), [&](const Piece& piece) { return piece.range().end() <= address; });
}

Status MappedCopy::copy(Stream& stream, Way way) const {
  if (listed_ != 0)
    return stream.copy_listed(lists_.address() + Bytes(way == Way::out ? 0 : listed_ * sizeof(ListedCopy)), listed_);
  for (const Piece& piece : pieces_) {
    if (way == Way::out) MNEME_TRY(stream.copy(piece.copy, piece.address, piece.size));
    if (way == Way::back) MNEME_TRY(stream.copy(piece.address, piece.copy, piece.size));
  }
  return {};
}

}  // namespace mneme
