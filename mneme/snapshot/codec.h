// How a recording is written down: a kernel as JSON, its instances as lines of JSON in a list, a memory state as a binary file.
// Encoding and decoding only; docs/reference/database.md specifies the formats.
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

// A reader takes files of its own major version and of those before it, and of any minor one: a higher minor version only adds
// what may be ignored.
struct FormatVersion {
  uint16_t major = 1;
  uint16_t minor = 0;
};
inline constexpr FormatVersion kFormatVersion{2, 0};
// incompatible, naming both versions, unless a file of this version can be read.
Status check_format_version(FormatVersion version, const std::string& name);
// corrupt: of a file whose checksum is right once its major version is `right`, which is known. It was not written by a newer
// one.
Status damaged_version(FormatVersion version, uint16_t right, std::string_view place, const std::string& name);

// The names of the files that belong to a kernel or instance, inside the database's directory.
std::string kernel_file_name(const Digest& static_hash);
std::string ir_file_name(const Digest& static_hash);
std::string list_file_name(const Digest& static_hash);
enum class Moment : uint32_t { prologue = 1, epilogue = 2 };
std::string state_file_name(Moment moment, const Digest& static_hash, const Digest& dynamic_hash);

// A kernel, as `<static-hash>.json` has it, and its instances, which have a file of their own.
struct KernelDocument {
  KernelRecord kernel;
  Bytes ir_size;                          // of the recorded IR's file
  Digest ir_digest;                       // of its bytes
  std::vector<InstanceRecord> instances;  // in the order of recording
  bool lists_instances = false;           // the JSON has the instances in it: it is of version 1, and there is no list
  friend bool operator==(const KernelDocument&, const KernelDocument&) = default;
};
// Without the instances.
std::string encode_kernel(const KernelDocument& document);
// With those of a document of version 1.
Result<KernelDocument> decode_kernel(std::string_view text, const std::string& name);

// An `Instances_<static-hash>.mneme` file: one line, which says how much of the file counts, and one for each instance.
struct InstanceListHeader {
  Digest static_hash;
  uint64_t bytes = 0;  // of the file that count, this line's included
  uint64_t lines = 0;  // behind this one
  friend bool operator==(const InstanceListHeader&, const InstanceListHeader&) = default;
};
inline constexpr size_t kListHeaderBytes = 256;
std::string encode_list_header(const InstanceListHeader& header);  // kListHeaderBytes, with its line feed
Result<InstanceListHeader> decode_list_header(std::string_view text, const std::string& name);
std::string encode_instance(const InstanceRecord& instance);  // a line, with its line feed
// `line` without its line feed; `offset` is where it begins in the file.
Result<InstanceRecord> decode_instance(std::string_view line, const KernelRecord& kernel, const std::string& name,
                                       uint64_t offset);

// What a `DeviceState.*.mneme` file holds. The hashes and the moment are checked by whoever opened the file for them.
struct StateDocument {
  Moment moment = Moment::prologue;
  Digest static_hash;
  Digest dynamic_hash;
  MemoryState state;
  std::vector<Digest> packs;  // names of those that held its pages when it was written; none before version 2.0
  friend bool operator==(const StateDocument&, const StateDocument&) = default;
};
ByteVector encode_state(const StateDocument& document);
Result<StateDocument> decode_state(ByteSpan bytes, const std::string& name);

}  // namespace mneme
