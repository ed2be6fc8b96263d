// The formats of a recording's files: a kernel as JSON, its instances as a list with a line of JSON each, a memory state as a
// binary file. The functions here encode and decode, without I/O. docs/reference/database.md specifies the formats.
//
// Decoding trusts nothing. A wrong type, a missing key, a size that overflows or a checksum that does not fit is Code::corrupt; a
// newer format is Code::incompatible. Messages start with `name` (the file's path) and give the offset or the key.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

// The version of a format. A reader takes files of its own major version and of earlier ones, with any minor version: a higher
// minor version only adds what a reader may ignore.
//
// A file has the lowest version whose readers replay it rightly, so that a database may hold files of several.
struct FormatVersion {
  uint16_t major = 1;
  uint16_t minor = 0;
  friend constexpr auto operator<=>(const FormatVersion&, const FormatVersion&) = default;
};
// The newest: of a state with textures or surfaces.
inline constexpr FormatVersion kFormatVersion{5, 0};
// Of a state with memory outside of the recorder's range (Region::Kind::mapped, managed).
inline constexpr FormatVersion kOutsideMemoryVersion{4, 0};
// Of a kernel without IR, and of a list with a launch in clusters.
inline constexpr FormatVersion kCodeLevelVersion{3, 1};
// Of a list with a trimmed instance. A reader of version 2 replays it, and does not know that it is one.
inline constexpr FormatVersion kTrimmedVersion{2, 4};
// Of a kernel with a code object for an AMD GPU beside its IR. A reader of version 2 replays it, and does not see the code
// object.
inline constexpr FormatVersion kCodeObjectVersion{2, 5};
// Of every other file. A reader of version 2 can use it.
inline constexpr FormatVersion kCommonVersion{2, 3};
// incompatible, naming both versions, unless a file of this version can be read.
Status check_format_version(FormatVersion version, const std::string& name);
// The failure (corrupt) for a file whose version cannot be read, but whose checksum is right when its major version is taken to
// be `right`. Its version field is damaged then; the file was not written by a newer Mneme.
Status damaged_version(FormatVersion version, uint16_t right, std::string_view place, const std::string& name);

// The names of the files that belong to a kernel or instance, inside the database's directory.
std::string kernel_file_name(const Digest& static_hash);
std::string ir_file_name(const Digest& static_hash);
std::string list_file_name(const Digest& static_hash);
std::string image_file_name(const CodeImageRecord& image);  // several kernels may name the same
enum class Moment : uint32_t { prologue = 1, epilogue = 2 };
std::string state_file_name(Moment moment, const Digest& static_hash, const Digest& dynamic_hash);
std::string_view state_file_prefix(Moment moment);  // what the names of all such files begin with

// A kernel, which is the file `<static-hash>.json`, and its instances, which are in a file of their own.
struct KernelDocument {
  KernelRecord kernel;
  Bytes ir_size;                          // size of the file with the recorded IR; zero where the kernel has none
  Digest ir_digest;                       // digest of the bytes in it; zero likewise
  std::vector<InstanceRecord> instances;  // in the order of recording
  bool lists_instances = false;           // the document is of version 1: the instances are in the JSON, and there is no list
  friend bool operator==(const KernelDocument&, const KernelDocument&) = default;
};
// The kernel's JSON, without the instances.
std::string encode_kernel(const KernelDocument& document);
// Reads a kernel's JSON, with the instances where it is of version 1.
Result<KernelDocument> decode_kernel(std::string_view text, const std::string& name);

// The first line of an `Instances_<static-hash>.mneme` file, which says how much of the file counts. A line for each instance
// follows.
struct InstanceListHeader {
  Digest static_hash;
  uint64_t bytes = 0;  // how many bytes of the file count, with this line
  uint64_t lines = 0;  // how many lines count, without this one
  FormatVersion version = kCommonVersion;
  friend bool operator==(const InstanceListHeader&, const InstanceListHeader&) = default;
};
inline constexpr size_t kListHeaderBytes = 256;
std::string encode_list_header(const InstanceListHeader& header);  // kListHeaderBytes, with its line feed
Result<InstanceListHeader> decode_list_header(std::string_view text, const std::string& name);
// The version that a list must have which lists this instance.
FormatVersion version_of(const InstanceRecord& instance);
std::string encode_instance(const InstanceRecord& instance);  // a line, with its line feed
// `line` without its line feed; `offset` is where it begins in the file.
Result<InstanceRecord> decode_instance(std::string_view line, const KernelRecord& kernel, const std::string& name,
                                       uint64_t offset);

// The first file of an archive of recordings, which says what follows.
struct ArchiveHeader {
  uint64_t kernels = 0;
  uint64_t instances = 0;
  FormatVersion version = kCommonVersion;
  friend bool operator==(const ArchiveHeader&, const ArchiveHeader&) = default;
};
inline constexpr const char* kArchiveHeaderName = "Archive.mneme";
std::string encode_archive_header(const ArchiveHeader& header);  // a line, with its line feed
Result<ArchiveHeader> decode_archive_header(std::string_view text, const std::string& name);

// What a `DeviceState.*.mneme` file holds. Whoever opens a file must check that its hashes and its moment are the wanted ones.
struct StateDocument {
  Moment moment = Moment::prologue;
  Digest static_hash;
  Digest dynamic_hash;
  MemoryState state;
  std::vector<Digest> packs;  // the packs that held its pages when it was written, by name; empty before version 2.0
  friend bool operator==(const StateDocument&, const StateDocument&) = default;
};
ByteVector encode_state(const StateDocument& document);
Result<StateDocument> decode_state(ByteSpan bytes, const std::string& name);

}  // namespace mneme
