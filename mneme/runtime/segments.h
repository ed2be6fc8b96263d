// Reading of segments, and of what they are found in: registration wrapper → fat binary → device ELF → symbol → segment; for HIP
// registration wrapper → bundle → code object → section → segments.
//
// All results are views into bytes that the caller keeps. The fat binary of a loaded program stays mapped until the object that
// holds it is unloaded. The functions are pure and may be called by any thread. Failures: corrupt (damage), incompatible (another
// ABI version), unsupported (a fat binary that is compressed, or holds no code for the device). Messages start with `name`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mneme/abi/segment.h"
#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/runtime/device_code.h"

namespace mneme {

struct SegmentParameter {
  mneme_param_kind kind = MNEME_PARAM_INTEGER;
  std::string_view name;  // empty where the compiler discarded it
  std::string_view type;  // LLVM spelling
  uint64_t offset = 0;    // in the packed parameter buffer
  uint64_t size = 0;
  uint32_t alignment = 1;
};

struct SegmentGlobal {
  std::string_view name;     // symbol in the device image
  std::string_view ir_name;  // the same symbol in the IR
  uint64_t size = 0;         // may be 0 for a declaration
  uint32_t alignment = 1;
  uint32_t flags = 0;  // of mneme_global_flags
  bool constant_space() const { return flags & MNEME_GLOBAL_CONSTANT_SPACE; }
  bool managed() const { return flags & MNEME_GLOBAL_MANAGED; }
  bool declaration() const { return flags & MNEME_GLOBAL_DECLARATION; }
  bool escapes() const { return flags & MNEME_GLOBAL_ESCAPES; }
};

struct SegmentRange {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// What the plugin put into a device image for a kernel, device function or global.
struct EmbeddedSegment {
  mneme_segment_kind kind = MNEME_SEGMENT_KERNEL;
  mneme_segment_target target = MNEME_TARGET_NVPTX;
  Digest static_hash;
  std::string_view name;       // symbol in the device image
  std::string_view ir_name;    // the same symbol in the IR (see abi/segment.h)
  std::string_view source;     // "file.cu:12", or empty
  std::string_view arch;       // "sm_90"
  std::string_view pipeline;   // "default<O2>", or empty
  bool uses_textures = false;  // or surfaces
  bool uses_device_heap = false;
  bool launches_kernels = false;  // itself, from the device
  std::vector<SegmentParameter> parameters;
  std::vector<SegmentRange> padding;  // of the packed parameter buffer
  std::vector<SegmentRange> numbers;  // bytes of it that belong to no address
  std::vector<SegmentGlobal> globals;
  std::vector<std::string_view> needs;  // symbols that other segments define
  uint64_t parameter_bytes = 0;
  ByteSpan ir;        // compressed
  Bytes ir_raw_size;  // of the bitcode
  ByteSpan bytes;     // the whole segment
};

// Checks magic, version, checksum and every offset. `bytes` may be longer than the segment (a symbol's size is rounded up).
Result<EmbeddedSegment> parse_segment(ByteSpan bytes, const std::string& name);

// Decompresses the bitcode of a segment.
Result<ByteVector> segment_bitcode(const EmbeddedSegment& segment);

// The segments of one device ELF. A damaged segment does not hide the others.
struct SegmentTable {
  std::vector<EmbeddedSegment> segments;  // in symbol-table order, or as they stand in the section
  std::vector<Status> damaged;            // one for each segment that did not parse

  // The segment of that name in the device image. Where there is none: not_found, or the first of `damaged`, since the wanted
  // segment may be the damaged one.
  Result<const EmbeddedSegment*> find(std::string_view name) const;
  // The segment, and then every segment that it needs, directly or through others, each once. not_found: the message names the
  // symbol that no segment defines, and the segment that needs it.
  Result<std::vector<const EmbeddedSegment*>> closure(const EmbeddedSegment& segment) const;
};
Result<SegmentTable> read_segments(ByteSpan device_elf, const std::string& name);

// The initial bytes of a variable in a device ELF. Empty for a variable without initial value, which begins as zeros, and where
// there is no such variable. Addresses of other symbols in these bytes are not filled in.
ByteSpan find_initial_value(ByteSpan device_elf, std::string_view variable);

}  // namespace mneme
