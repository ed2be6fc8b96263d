// How a recording is written down: a kernel and its instances as JSON, a memory state as a binary file. Encoding and decoding
// only; docs/reference/database.md specifies both formats.
//
// Decoding trusts nothing: a wrong type, a missing key, a size that overflows or a checksum that does not fit is Code::corrupt,
// a newer format is Code::incompatible. Messages start with `name` (the file's path) and name the offset or the key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

// A reader takes files of its own major version and of any minor one: a higher minor version only adds what may be ignored.
struct FormatVersion {
  uint16_t major = 1;
  uint16_t minor = 0;
};
inline constexpr FormatVersion kFormatVersion{1, 1};
// incompatible, naming both versions, unless a file of this version can be read.
Status check_format_version(FormatVersion version, const std::string& name);
// corrupt: of a file whose checksum is right once its major version is this Mneme's. It was not written by a newer one.
Status damaged_version(FormatVersion version, std::string_view place, const std::string& name);

// The names of the files that belong to a kernel or instance, inside the database's directory.
std::string kernel_file_name(const Digest& static_hash);
std::string ir_file_name(const Digest& static_hash);
enum class Moment : uint32_t { prologue = 1, epilogue = 2 };
std::string state_file_name(Moment moment, const Digest& static_hash, const Digest& dynamic_hash);

// What `<static-hash>.json` holds.
struct KernelDocument {
  KernelRecord kernel;
  Bytes ir_size;                          // of the recorded IR's file
  Digest ir_digest;                       // of its bytes
  std::vector<InstanceRecord> instances;  // in the order of recording
  friend bool operator==(const KernelDocument&, const KernelDocument&) = default;
};
std::string encode_kernel(const KernelDocument& document);
Result<KernelDocument> decode_kernel(std::string_view text, const std::string& name);

// What a `DeviceState.*.mneme` file holds. The hashes and the moment are checked by whoever opened the file for them.
struct StateDocument {
  Moment moment = Moment::prologue;
  Digest static_hash;
  Digest dynamic_hash;
  MemoryState state;
  friend bool operator==(const StateDocument&, const StateDocument&) = default;
};
ByteVector encode_state(const StateDocument& document);
Result<StateDocument> decode_state(ByteSpan bytes, const std::string& name);

}  // namespace mneme
