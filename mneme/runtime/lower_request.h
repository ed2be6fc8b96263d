// What the emulation asks `mneme lower` for, and the answer. Both are files that one process writes and the other reads.
//
// Thread-compatible values. decode() of a damaged file is Code::corrupt; the message has the file's name and the offset.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

// The IR of one segment, and what its symbols are called in the image where that differs from the IR.
struct LowerModule {
  std::string name;                                          // of the segment, for messages
  ByteVector bitcode;                                        // zstd frame
  Bytes bitcode_size;                                        // after decompression
  std::vector<std::pair<std::string, std::string>> renames;  // from the name in the IR to the name in the image
  friend bool operator==(const LowerModule&, const LowerModule&) = default;
};

// The address at which the code of the image finds a global variable of the modules.
struct LowerBinding {
  std::string name;
  DevicePtr address;
  friend bool operator==(const LowerBinding&, const LowerBinding&) = default;
};

struct LowerRequest {
  std::vector<LowerModule> modules;
  std::vector<std::string> kernels;
  std::vector<LowerBinding> bindings;

  ByteVector encode() const;
  static Result<LowerRequest> decode(ByteSpan bytes, const std::string& name);
  friend bool operator==(const LowerRequest&, const LowerRequest&) = default;
};

// Why a kernel is not in the image, for example "unsupported: wmma.load…".
struct RefusedKernel {
  std::string name;
  std::string reason;
  friend bool operator==(const RefusedKernel&, const RefusedKernel&) = default;
};

struct LowerReply {
  ByteVector image;  // an image for the CPU device; empty when every kernel is refused
  std::vector<RefusedKernel> refused;

  ByteVector encode() const;
  static Result<LowerReply> decode(ByteSpan bytes, const std::string& name);
  friend bool operator==(const LowerReply&, const LowerReply&) = default;
};

}  // namespace mneme
