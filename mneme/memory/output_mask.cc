#include "mneme/memory/output_mask.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "mneme/base/byte_stream.h"
#include "mneme/base/compress.h"

namespace mneme {
namespace {

constexpr uint64_t kBitsOfBlock = kBlock.count / 8;  // in bytes

uint64_t set_bits(ByteSpan bits) {
  uint64_t count = 0, word = 0;
  for (size_t at = 0; at < bits.size(); at += sizeof word) {
    word = 0;
    std::memcpy(&word, bits.data() + at, std::min(sizeof word, bits.size() - at));
    count += static_cast<uint64_t>(std::popcount(word));
  }
  return count;
}

struct EncodedRun {
  uint64_t address = 0, size = 0;
  uint64_t whole = 0;  // 1: every byte is masked; 0: the parts tell
  uint64_t end() const { return address + size; }
};

}  // namespace

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

Status OutputMask::read_bits(const std::function<void(MemoryRange block, ByteSpan bits)>& see) const {
  constexpr uint64_t kPiece = 128 * kBitsOfBlock;
  ByteVector piece;
  for (const MappedSpan& span : plan_.spans) {
    const uint64_t bits = span.size.count / 8;
    for (uint64_t at = 0; at < bits; at += kPiece) {
      piece.resize(std::min(kPiece, bits - at));
      MNEME_TRY(stream_.copy_to_host(piece, bits_of(span, span.address + Bytes(8 * at))));
      for (uint64_t begin = 0; begin < piece.size(); begin += kBitsOfBlock) {
        const ByteSpan block = ByteSpan(piece).subspan(begin, std::min(kBitsOfBlock, piece.size() - begin));
        see({span.address + Bytes(8 * (at + begin)), Bytes(8 * block.size())}, block);
      }
    }
  }
  return {};
}

Status OutputMask::count() {
  size_ = 0;
  std::vector<MemoryRange> used;
  MNEME_TRY(read_bits([&](MemoryRange block, ByteSpan bits) {
    const uint64_t bytes = set_bits(bits);
    if (bytes != 0) used.push_back(block);
    size_ += bytes;
  }));
  blocks_ = whole_blocks(plan_, std::move(used));
  return {};
}

// What is masked of successive blocks in one span: nothing is said of blocks of which nothing is. Then come the bits of the
// blocks of which only a part is, compressed.
Result<ByteVector> OutputMask::encode() const {
  std::vector<EncodedRun> runs;
  ByteVector parts;
  MNEME_TRY(read_bits([&](MemoryRange block, ByteSpan bits) {
    const uint64_t bytes = set_bits(bits);
    if (bytes == 0) return;
    const bool whole = bytes == block.size.count;
    if (!whole) parts.insert(parts.end(), bits.begin(), bits.end());
    const bool begins_span = std::any_of(plan_.spans.begin(), plan_.spans.end(),
                                         [&](const MappedSpan& span) { return span.address == block.address; });
    if (!runs.empty() && !begins_span && runs.back().end() == block.address.address && runs.back().whole == uint64_t{whole})
      runs.back().size += block.size.count;
    else
      runs.push_back({block.address.address, block.size.count, whole});
  }));
  ByteWriter out;
  out.put(uint64_t{runs.size()});
  for (const EncodedRun& run : runs) out.put(run);
  out.put(uint64_t{parts.size()});
  out.put_bytes(compress(parts));
  return out.take();
}

Result<std::unique_ptr<OutputMask>> OutputMask::decode(Device& device, Stream& stream, const MemoryPlan& plan,
                                                       ExpectedMemory& expected, ByteSpan encoded) {
  ByteReader in(encoded, "a mask");
  MNEME_ASSIGN(const uint64_t count, in.read_count(sizeof(EncodedRun)));
  std::vector<EncodedRun> runs(count);
  for (EncodedRun& run : runs) MNEME_TRY(in.read(run));
  uint64_t parts_size = 0;
  MNEME_TRY(in.read(parts_size));
  MNEME_ASSIGN(const ByteSpan compressed, in.read_bytes(in.remaining()));
  MNEME_ASSIGN(const ByteVector parts, decompress(compressed, Bytes(parts_size)));

  std::unique_ptr<OutputMask> mask(new OutputMask(stream, plan, expected));
  MNEME_ASSIGN(mask->bits_, DeviceBuffer::allocate(device, Bytes(plan.copy_size.count / 8)));
  MNEME_TRY(stream.fill(mask->bits_.address(), std::byte{0}, mask->bits_.size()));
  uint64_t at = 0;
  for (const EncodedRun& run : runs) {
    const MemoryRange range{DevicePtr(run.address), Bytes(run.size)};
    const auto span =
        std::find_if(plan.spans.begin(), plan.spans.end(), [&](const MappedSpan& each) { return each.range().contains(range); });
    const uint64_t bits = run.size / 8;
    if (span == plan.spans.end() || run.address % 8 != 0 || run.size % 8 != 0 || (!run.whole && parts.size() - at < bits))
      return in.corrupt("it is of other memory");
    const DevicePtr to = mask->bits_of(*span, range.address);
    if (run.whole) {
      MNEME_TRY(stream.fill(to, std::byte{0xff}, Bytes(bits)));
      mask->size_ += run.size;
    } else {
      const ByteSpan part = ByteSpan(parts).subspan(std::exchange(at, at + bits), bits);
      MNEME_TRY(stream.copy_to_device(to, part));
      mask->size_ += set_bits(part);
    }
    mask->blocks_.push_back(range);
  }
  mask->blocks_ = whole_blocks(plan, std::move(mask->blocks_));
  return mask;
}

}  // namespace mneme
