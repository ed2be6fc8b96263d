#include "mneme/memory/output_mask.h"

#include <algorithm>
#include <bit>

namespace mneme {

Result<std::unique_ptr<OutputMask>> OutputMask::create(Device& device, Stream& stream, const MemoryPlan& plan,
                                                       ExpectedMemory& expected, DevicePtr written, DevicePtr read) {
  std::unique_ptr<OutputMask> mask(new OutputMask(stream, plan, expected));
  // A span is of whole pages of the host at least.
  MNEME_ASSIGN(mask->bits_, DeviceBuffer::allocate(device, Bytes(plan.copy_size.count / 8)));
  for (const MappedSpan& span : plan.spans) {
    const Bytes offset(span.offset);
    MNEME_TRY(stream.update_byte_set(ByteSetStep::select, mask->bits_of(span, span.address), written + offset, read + offset,
                                     span.size));
  }
  MNEME_TRY(mask->count());
  return mask;
}

OutputMask::~OutputMask() { [[maybe_unused]] Status ignored = stream_.synchronize(); }

DevicePtr OutputMask::bits_of(const MappedSpan& span, DevicePtr address) const {
  return bits_.address() + Bytes((span.offset + (address - span.address).count) / 8);
}

Status OutputMask::update(ByteSetStep step) {
  for (const MemoryRange& run : blocks_) {
    auto span = std::find_if(plan_.spans.begin(), plan_.spans.end(),
                             [&](const MappedSpan& s) { return s.range().contains(run.address); });
    MNEME_TRY(expected_.for_each(run.address, run.size, [&](DevicePtr at, Bytes size, DevicePtr expected) {
      return stream_.update_byte_set(step, bits_of(*span, at), at, expected, size);
    }));
  }
  return {};
}

Status OutputMask::apply() { return update(ByteSetStep::complement); }

Status OutputMask::drop_wrong() {
  MNEME_TRY(update(ByteSetStep::drop_wrong));
  return count();
}

Status OutputMask::count() {
  constexpr uint64_t kOfABlock = kBlock.count / 8, kPiece = 128 * kOfABlock;
  size_ = 0;
  std::vector<MemoryRange> used;
  ByteVector piece;
  for (const MappedSpan& span : plan_.spans) {
    const uint64_t bits = span.size.count / 8;
    for (uint64_t at = 0; at < bits; at += kPiece) {
      piece.resize(std::min(kPiece, bits - at));
      MNEME_TRY(stream_.copy_to_host(piece, bits_of(span, span.address + Bytes(8 * at))));
      for (uint64_t begin = 0; begin < piece.size(); begin += kOfABlock) {
        const ByteSpan block = ByteSpan(piece).subspan(begin, std::min(kOfABlock, piece.size() - begin));
        uint64_t bytes = 0;
        for (std::byte byte : block) bytes += static_cast<unsigned>(std::popcount(std::to_integer<uint8_t>(byte)));
        if (bytes != 0) used.push_back({span.address + Bytes(8 * (at + begin)), Bytes(8 * block.size())});
        size_ += bytes;
      }
    }
  }
  blocks_ = whole_blocks(plan_, std::move(used));
  return {};
}

}  // namespace mneme
