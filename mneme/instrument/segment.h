// Writing of segments, whose layout is in mneme/abi/segment.h.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>

#include <string>
#include <vector>

#include "mneme/abi/segment.h"
#include "mneme/instrument/parameters.h"
#include "mneme/instrument/static_hash.h"

namespace mneme::instrument {

struct SegmentGlobal {
  std::string name;  // in the device image
  std::string ir_name;
  uint64_t size = 0;
  uint32_t alignment = 1;
  uint32_t flags = 0;  // enum mneme_global_flags
};

struct Segment {
  mneme_segment_kind kind = MNEME_SEGMENT_KERNEL;
  mneme_segment_target target = MNEME_TARGET_NVPTX;
  StaticHash static_hash{};
  std::string name;  // in the device image
  std::string ir_name;
  std::string source;
  std::string arch;
  std::string pipeline;  // "default<O2>", or empty
  uint64_t uses = 0;     // flags of enum mneme_segment_uses
  ParameterLayout parameters;
  std::vector<SegmentGlobal> globals;
  std::vector<std::string> needs;
  llvm::SmallVector<char, 0> bitcode;
};

// The bytes of a segment; their number is a multiple of 8. The bitcode is compressed, so LLVM must have been built with zstd.
llvm::SmallVector<uint8_t, 0> encode(const Segment& segment);

}  // namespace mneme::instrument
