#include "mneme/instrument/segment.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Compression.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/Support/xxhash.h>

#include <cstring>

namespace mneme::instrument {
namespace {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;

// Above 9 the time grows faster than the size falls.
constexpr int kCompressionLevel = 9;

class SegmentWriter {
 public:
  SegmentWriter() { bytes_.resize(sizeof(mneme_segment_header)); }

  mneme_segment_string put(StringRef text) {
    if (text.empty()) return {0, 0};
    mneme_segment_string place{offset(), static_cast<uint32_t>(text.size())};
    bytes_.append(text.bytes_begin(), text.bytes_end());
    return place;
  }

  template <typename T>
  uint32_t put_table(const std::vector<T>& entries) {
    align();
    uint32_t place = offset();
    auto* begin = reinterpret_cast<const uint8_t*>(entries.data());
    bytes_.append(begin, begin + entries.size() * sizeof(T));
    return entries.empty() ? 0 : place;
  }

  uint64_t put_bytes(ArrayRef<uint8_t> bytes) {
    align();
    uint64_t place = bytes_.size();
    bytes_.append(bytes.begin(), bytes.end());
    return place;
  }

  SmallVector<uint8_t, 0> finish(mneme_segment_header& header) {
    align();
    std::memcpy(header.magic, MNEME_SEGMENT_MAGIC, sizeof header.magic);
    header.abi_version = MNEME_ABI_VERSION;
    header.header_bytes = sizeof header;
    header.total_bytes = bytes_.size();
    header.checksum = llvm::xxh3_64bits(ArrayRef(bytes_).drop_front(sizeof header));
    std::memcpy(bytes_.data(), &header, sizeof header);
    return std::move(bytes_);
  }

 private:
  void align() { bytes_.resize(llvm::alignTo(bytes_.size(), 8)); }
  uint32_t offset() const { return static_cast<uint32_t>(bytes_.size()); }

  SmallVector<uint8_t, 0> bytes_;
};

}  // namespace

SmallVector<uint8_t, 0> encode(const Segment& segment) {
  SegmentWriter writer;
  mneme_segment_header header{};
  header.kind = segment.kind;
  header.target = segment.target;
  std::memcpy(header.static_hash, segment.static_hash.data(), sizeof header.static_hash);
  header.name = writer.put(segment.name);
  header.ir_name = segment.ir_name == segment.name ? header.name : writer.put(segment.ir_name);
  header.source = writer.put(segment.source);
  header.arch = writer.put(segment.arch);
  header.uses = segment.uses;
  header.pipeline = writer.put(segment.pipeline);
  header.param_bytes = segment.parameters.bytes;

  std::vector<mneme_segment_param> params;
  for (const Parameter& p : segment.parameters.parameters) {
    params.push_back({p.kind, p.alignment, p.offset, p.size, writer.put(p.name), writer.put(p.type)});
  }
  std::vector<mneme_segment_range> padding;
  for (const ByteRange& range : segment.parameters.padding) padding.push_back({range.offset, range.size});
  std::vector<mneme_segment_range> numbers;
  for (const ByteRange& range : segment.parameters.numbers) numbers.push_back({range.offset, range.size});
  std::vector<mneme_segment_global> globals;
  for (const SegmentGlobal& g : segment.globals) {
    mneme_segment_string name = writer.put(g.name);
    globals.push_back({name, g.size, g.alignment, g.flags, g.ir_name == g.name ? name : writer.put(g.ir_name)});
  }
  std::vector<mneme_segment_string> needs;
  for (const std::string& name : segment.needs) needs.push_back(writer.put(name));

  header.params_count = params.size();
  header.params_offset = writer.put_table(params);
  header.padding_count = padding.size();
  header.padding_offset = writer.put_table(padding);
  header.numbers_count = numbers.size();
  header.numbers_offset = writer.put_table(numbers);
  header.globals_count = globals.size();
  header.globals_offset = writer.put_table(globals);
  header.needs_count = needs.size();
  header.needs_offset = writer.put_table(needs);

  SmallVector<uint8_t, 0> compressed;
  llvm::compression::zstd::compress(llvm::arrayRefFromStringRef({segment.bitcode.data(), segment.bitcode.size()}), compressed,
                                    kCompressionLevel);
  header.ir_offset = writer.put_bytes(compressed);
  header.ir_bytes = compressed.size();
  header.ir_raw_bytes = segment.bitcode.size();
  return writer.finish(header);
}

}  // namespace mneme::instrument
