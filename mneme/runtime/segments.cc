#include "mneme/runtime/segments.h"

#include <xxhash.h>

#include <cstring>
#include <unordered_set>

#include "mneme/base/compress.h"

namespace mneme {
namespace {

// Reads from the bytes of one segment; every access is checked against its length.
class SegmentReader {
 public:
  SegmentReader(ByteSpan bytes, const std::string& name) : bytes_(bytes), name_(name) {}

  template <typename... Args>
  Status corrupt(uint64_t offset, fmt::format_string<Args...> format, Args&&... args) const {
    return error(Code::corrupt, "{}: segment offset {}: {}", name_, offset, fmt::format(format, std::forward<Args>(args)...));
  }

  Result<ByteSpan> view(uint64_t offset, uint64_t size, std::string_view what) const {
    if (offset > bytes_.size() || size > bytes_.size() - offset)
      return corrupt(offset, "{} of {} bytes reaches beyond the segment's {} bytes", what, size, bytes_.size());
    return bytes_.subspan(offset, size);
  }

  Status string(std::string_view& out, const mneme_segment_string& at, std::string_view what) const {
    MNEME_ASSIGN(ByteSpan text, view(at.offset, at.bytes, what));
    out = {reinterpret_cast<const char*>(text.data()), text.size()};
    return {};
  }

  // Calls visit(entry) for each entry of a table.
  template <typename T, typename Visit>
  Status table(uint32_t offset, uint32_t count, std::string_view what, Visit visit) const {
    MNEME_ASSIGN(ByteSpan rows, view(offset, uint64_t{count} * sizeof(T), what));
    for (uint32_t i = 0; i < count; ++i) {
      T entry;
      std::memcpy(&entry, rows.data() + i * sizeof(T), sizeof(T));
      MNEME_TRY(visit(entry, offset + i * sizeof(T)));
    }
    return {};
  }

 private:
  ByteSpan bytes_;
  const std::string& name_;
};

bool power_of_two(uint64_t n) { return n != 0 && (n & (n - 1)) == 0; }

Status read_parameters(EmbeddedSegment& segment, const mneme_segment_header& header, const SegmentReader& in) {
  MNEME_TRY(in.table<mneme_segment_param>(
      header.params_offset, header.params_count, "the parameter table",
      [&](const mneme_segment_param& row, uint64_t at) -> Status {
        if (row.kind < MNEME_PARAM_INTEGER || row.kind > MNEME_PARAM_AGGREGATE)
          return in.corrupt(at, "parameter kind {} is not known", row.kind);
        if (row.offset > header.param_bytes || row.size > header.param_bytes - row.offset)
          return in.corrupt(at, "a parameter at {} of {} bytes reaches beyond the parameter buffer's {} bytes", row.offset,
                            row.size, header.param_bytes);
        if (!power_of_two(row.alignment)) return in.corrupt(at, "{} is no alignment", row.alignment);
        SegmentParameter parameter{static_cast<mneme_param_kind>(row.kind), {}, {}, row.offset, row.size, row.alignment};
        MNEME_TRY(in.string(parameter.name, row.name, "a parameter's name"));
        MNEME_TRY(in.string(parameter.type, row.type, "a parameter's type"));
        segment.parameters.push_back(parameter);
        return {};
      }));
  const auto ranges = [&](std::vector<SegmentRange>& out, std::string_view what) {
    return [&, what](const mneme_segment_range& row, uint64_t at) -> Status {
      if (row.offset > header.param_bytes || row.size > header.param_bytes - row.offset)
        return in.corrupt(at, "{} at {} of {} bytes reaches beyond the parameter buffer's {} bytes", what, row.offset, row.size,
                          header.param_bytes);
      out.push_back({row.offset, row.size});
      return {};
    };
  };
  MNEME_TRY(in.table<mneme_segment_range>(header.padding_offset, header.padding_count, "the padding table",
                                          ranges(segment.padding, "padding")));
  return in.table<mneme_segment_range>(header.numbers_offset, header.numbers_count, "the table of numbers",
                                       ranges(segment.numbers, "a number"));
}

Status read_globals(EmbeddedSegment& segment, const mneme_segment_header& header, const SegmentReader& in) {
  MNEME_TRY(in.table<mneme_segment_global>(header.globals_offset, header.globals_count, "the table of globals",
                                           [&](const mneme_segment_global& row, uint64_t at) -> Status {
                                             if (!power_of_two(row.alignment))
                                               return in.corrupt(at, "{} is no alignment", row.alignment);
                                             SegmentGlobal global{{}, {}, row.size, row.alignment, row.flags};
                                             MNEME_TRY(in.string(global.name, row.name, "a global's name"));
                                             MNEME_TRY(in.string(global.ir_name, row.ir_name, "a global's name in the IR"));
                                             segment.globals.push_back(global);
                                             return {};
                                           }));
  return in.table<mneme_segment_string>(header.needs_offset, header.needs_count, "the table of needed symbols",
                                        [&](const mneme_segment_string& row, uint64_t) -> Status {
                                          std::string_view symbol;
                                          MNEME_TRY(in.string(symbol, row, "a needed symbol"));
                                          segment.needs.push_back(symbol);
                                          return {};
                                        });
}

Result<mneme_segment_header> read_header(ByteSpan bytes, const std::string& name) {
  SegmentReader in(bytes, name);
  mneme_segment_header header;
  if (bytes.size() < sizeof header)
    return in.corrupt(0, "{} bytes are fewer than a segment's header has ({})", bytes.size(), sizeof header);
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::memcmp(header.magic, MNEME_SEGMENT_MAGIC, sizeof header.magic) != 0)
    return in.corrupt(0, "no segment starts here (wrong magic)");
  if (header.abi_version != MNEME_ABI_VERSION)
    return error(Code::incompatible,
                 "{}: a segment of ABI version {}, this Mneme reads {}: compile the program again with `mneme config cxxflags`",
                 name, header.abi_version, MNEME_ABI_VERSION);
  if (header.header_bytes != sizeof header)
    return in.corrupt(12, "a header of {} bytes, {} expected", header.header_bytes, sizeof header);
  if (header.total_bytes < sizeof header || header.total_bytes > bytes.size())
    return in.corrupt(16, "a segment of {} bytes in {} bytes", header.total_bytes, bytes.size());
  uint64_t checksum = XXH3_64bits(bytes.data() + sizeof header, header.total_bytes - sizeof header);
  if (checksum != header.checksum) return in.corrupt(24, "the checksum is {:016x}, {:016x} expected", checksum, header.checksum);
  if (header.kind < MNEME_SEGMENT_KERNEL || header.kind > MNEME_SEGMENT_GLOBAL)
    return in.corrupt(32, "segment kind {} is not known", header.kind);
  if (header.target != MNEME_TARGET_NVPTX && header.target != MNEME_TARGET_AMDGCN)
    return in.corrupt(36, "target {} is not known", header.target);
  for (uint64_t word : header.reserved)
    if (word != 0) return in.corrupt(offsetof(mneme_segment_header, reserved), "reserved bytes are not zero");
  return header;
}

}  // namespace

Result<EmbeddedSegment> parse_segment(ByteSpan bytes, const std::string& name) {
  MNEME_ASSIGN(mneme_segment_header header, read_header(bytes, name));
  bytes = bytes.first(header.total_bytes);
  SegmentReader in(bytes, name);
  EmbeddedSegment segment;
  segment.kind = static_cast<mneme_segment_kind>(header.kind);
  segment.target = static_cast<mneme_segment_target>(header.target);
  std::memcpy(segment.static_hash.bytes.data(), header.static_hash, sizeof header.static_hash);
  MNEME_TRY(in.string(segment.name, header.name, "the name"));
  MNEME_TRY(in.string(segment.ir_name, header.ir_name, "the name in the IR"));
  if (segment.name.empty() || segment.ir_name.empty()) return in.corrupt(offsetof(mneme_segment_header, name), "a name is empty");
  MNEME_TRY(in.string(segment.source, header.source, "the source position"));
  MNEME_TRY(in.string(segment.arch, header.arch, "the architecture"));
  MNEME_TRY(in.string(segment.pipeline, header.pipeline, "the pipeline"));
  segment.uses_textures = header.uses & MNEME_USES_TEXTURES;
  segment.uses_device_heap = header.uses & MNEME_USES_DEVICE_HEAP;
  segment.launches_kernels = header.uses & MNEME_USES_DEVICE_LAUNCH;
  MNEME_TRY(read_parameters(segment, header, in));
  MNEME_TRY(read_globals(segment, header, in));
  segment.parameter_bytes = header.param_bytes;
  MNEME_ASSIGN(segment.ir, in.view(header.ir_offset, header.ir_bytes, "the IR"));
  segment.ir_raw_size = Bytes(header.ir_raw_bytes);
  segment.bytes = bytes;
  return segment;
}

Result<ByteVector> segment_bitcode(const EmbeddedSegment& segment) {
  Result<ByteVector> bitcode = decompress(segment.ir, segment.ir_raw_size);
  if (!bitcode.ok()) return bitcode.status().with_context(fmt::format("decompressing the IR of {}", segment.name));
  return bitcode;
}

Result<const EmbeddedSegment*> SegmentTable::find(std::string_view name) const {
  for (const EmbeddedSegment& segment : segments)
    if (segment.name == name) return &segment;
  if (!damaged.empty()) return damaged.front();
  return error(Code::not_found, "no segment defines {}", name);
}

Result<std::vector<const EmbeddedSegment*>> SegmentTable::closure(const EmbeddedSegment& segment) const {
  std::vector<const EmbeddedSegment*> all{&segment};
  std::unordered_set<const EmbeddedSegment*> seen{&segment};
  for (size_t next = 0; next < all.size(); ++next) {
    for (std::string_view needed : all[next]->needs) {
      Result<const EmbeddedSegment*> found = find(needed);
      if (found.status().code() == Code::not_found)
        return error(
            Code::not_found,
            "{} needs {}, of which the device image holds no IR: compile the file that defines it with `mneme config cxxflags`",
            all[next]->name, needed);
      if (!found.ok()) return found.status();
      if (seen.insert(*found).second) all.push_back(*found);
    }
  }
  return all;
}

}  // namespace mneme
