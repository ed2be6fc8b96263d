// What a recording consists of, as plain values without I/O or device.
//
//   Kernel    identified by its static hash: the code's identity and its signature
//   Instance  identified by its dynamic hash: one launch of a kernel, with the memory before it (prologue) and after it
//   (epilogue)
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/cluster.h"
#include "mneme/base/digest.h"
#include "mneme/base/memory_range.h"
#include "mneme/base/textures.h"
#include "mneme/snapshot/memory_extent.h"
#include "mneme/snapshot/recorded_time.h"
#include "mneme/snapshot/shape_launches.h"
#include "mneme/snapshot/tolerance.h"
#include "mneme/snapshot/trimming.h"

namespace mneme {

// Memory is kept in pages of this size, which begin at multiples of it. The first and the last page of a region may be shorter.
inline constexpr Bytes kPageSize{64 << 10};

struct Parameter {
  // Of an `opaque` parameter only the place and the size are known, which is all that machine code says: it has neither name nor
  // type, and its alignment may be 1.
  enum class Kind { integer, floating, pointer, aggregate, opaque };
  Kind kind = Kind::integer;
  std::string name;     // empty where the compiler discarded it
  std::string type;     // LLVM spelling
  uint64_t offset = 0;  // in the packed parameter buffer
  uint64_t size = 0;
  uint32_t alignment = 1;
  friend bool operator==(const Parameter&, const Parameter&) = default;
};

// A device global that the kernel can reach, as the kernel declares it.
struct GlobalInfo {
  std::string name;  // symbol in the recorded IR; the program's device image may have it under another name
  uint64_t size = 0;
  uint32_t alignment = 1;
  bool constant_space = false;
  bool managed = false;
  bool escapes = false;  // its address may stand in memory, so replay must place it at the recorded address
  friend bool operator==(const GlobalInfo&, const GlobalInfo&) = default;
};

// The best code that a recording has of a kernel, which decides what a replay can change: LLVM IR everything, PTX what its
// assembler does, a cubin (machine code) only the launch.
enum class CodeLevel { ir, ptx, cubin };
std::string_view to_string(CodeLevel level);  // as in JSON: "ir", "ptx", "cubin"

// One piece of the kernel's code as the program had it: a cubin, PTX text, or a code object for an AMD GPU.
struct CodeImageRecord {
  enum class Kind { cubin, ptx, hsaco };
  Kind kind = Kind::cubin;
  Digest digest;  // of its bytes, by which its file is named
  Bytes size;
  friend bool operator==(const CodeImageRecord&, const CodeImageRecord&) = default;
};
std::string_view to_string(CodeImageRecord::Kind kind);  // "cubin", "ptx", "hsaco"

struct KernelRecord {
  Digest static_hash;
  std::string name;  // mangled symbol
  std::string demangled;
  std::string source;  // "file.cu:12", or empty
  std::string target;  // "nvptx" or "amdgcn"
  std::string arch;    // "sm_90"
  // What the program's compiler optimised it with, as LLVM's opt takes it: "default<O2>". Empty where that is not known.
  std::string pipeline;
  std::vector<Parameter> parameters;
  uint64_t parameter_bytes = 0;
  std::vector<GlobalInfo> globals;
  CodeLevel level = CodeLevel::ir;
  // What was recorded of the program's own code. The levels ptx and cubin have an image of that kind; the level ptx may have a
  // cubin too, which is what the program ran, and so may the level ir, or of AMD's a code object.
  std::vector<CodeImageRecord> images;
  // Null where there is no image of the kind.
  const CodeImageRecord* find_image(CodeImageRecord::Kind kind) const;
  // The machine code, of whichever vendor; null where none was recorded.
  const CodeImageRecord* machine_code() const;
  friend bool operator==(const KernelRecord&, const KernelRecord&) = default;
};
// "the kernel was recorded as machine code (cubin)": how messages begin that refuse what the level of its code lacks.
std::string recorded_as(const KernelRecord& kernel);

// One piece of memory and the digests of its pages. Page i covers
// [max(address, first + i*kPageSize), min(address+size, first + (i+1)*kPageSize)), where first is `address` rounded down to a
// multiple of kPageSize.
struct Region {
  // An `allocation` lies in the recorder's own range. `host` is pinned host memory, which the device reaches at the same address.
  // The others lie where the program's driver had them: `mapped` is memory that the program mapped itself (cuMemMap), `managed`
  // is memory that the host reaches too (cuMemAllocManaged). A replay has both in memory of the device's own. An `array` is the
  // copy of an array (MemoryState::textures), for which the recorder has taken memory of its range.
  enum class Kind : uint32_t { allocation = 1, global = 2, host = 3, mapped = 4, managed = 5, array = 6 };
  Kind kind = Kind::allocation;
  DevicePtr address;
  Bytes size;
  std::string name;  // of a global; empty for others
  std::vector<Digest> pages;
  MemoryRange range() const { return {address, size}; }
  bool in_recorders_range() const { return kind == Kind::allocation || kind == Kind::array; }
  friend bool operator==(const Region&, const Region&) = default;
};
// "allocation", "global", "host memory", "mapped memory", "managed memory", "array".
std::string_view to_string(Region::Kind kind);

// How many pages a region in this place has, and where its page `index` lies.
uint64_t page_count(MemoryRange region);
MemoryRange page_extent(MemoryRange region, uint64_t index);

// The memory that a launch is recorded with, at one moment.
struct MemoryState {
  std::vector<Region> regions;  // by address, not overlapping
  // Each of its arrays has a region that begins at its copy. The epilogue has the prologue's.
  TextureSet textures = {};
  Bytes bytes() const;
  friend bool operator==(const MemoryState&, const MemoryState&) = default;
};

// An annotation of the program (mneme/abi/annotate.h): how far a piece of its memory may differ from the recording and be right.
struct Annotation {
  DevicePtr address;
  Bytes size;       // a whole number of elements; the piece lies within one region
  std::string tag;  // may be empty
  Tolerance tolerance;
  MemoryRange range() const { return {address, size}; }
  friend bool operator==(const Annotation&, const Annotation&) = default;
};

struct InstanceRecord {
  Digest static_hash;
  Digest dynamic_hash;
  Dim3 grid;
  Dim3 block;
  Bytes dynamic_shared_memory;
  bool cooperative = false;
  ByteVector parameters;    // packed parameter buffer, padding zero
  std::string device_kind;  // the device of the recording: "cpu", "cuda"
  std::string device_name;
  DevicePtr space_base;  // the reserved range that the allocations lie in
  Bytes space_size;
  Bytes state_bytes;        // of the prologue
  std::string recorded_at;  // ISO 8601, UTC
  std::string mneme_version;
  std::vector<Annotation> annotations;  // by address, not overlapping
  std::optional<RecordedTime> recorded_time;
  std::optional<ShapeLaunches> shape_launches;  // nothing in recordings of before version 2.2
  Dim3 cluster = kNoCluster;
  // Other attributes of the launch by CUDA's names, {"programmatic_stream_serialization", "1"}. They change no result. Behind
  // "jit_" stands an option with which the program had the driver assemble the kernel's PTX, {"jit_max_registers", "32"};
  // "device" is which of the program's devices it ran on, if not the first.
  std::map<std::string, std::string> attributes;
  MemoryExtent memory_extent = MemoryExtent::all;  // as were all recordings of before version 2.3
  std::optional<Trimming> trimmed;                 // nothing: all pages are as recorded
  friend bool operator==(const InstanceRecord&, const InstanceRecord&) = default;
};

// How names of attributes begin that stand for options of the driver's assembler.
inline constexpr std::string_view kDriverOption = "jit_";

// The dynamic hash, which identifies a launch of a kernel: the digest of its shape, its argument bytes and the prologue's
// digests. The epilogue is left out, since it follows from these; so are annotations and attributes, which change no data.
// The addresses of globals count at the level of IR only: at the others the loader chooses them anew in each process.
Digest dynamic_hash(const InstanceRecord& instance, const MemoryState& prologue, CodeLevel level = CodeLevel::ir);

}  // namespace mneme
