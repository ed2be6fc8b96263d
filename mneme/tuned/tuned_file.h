// TunedFile: what `mneme deploy` writes and a program under `mneme run --tuned` runs: code in the place of a kernel's own, when
// it may take that place, and why it is believed to be right and faster. Values and their codec, no I/O. docs/reference/tuned.md
// specifies the format.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/snapshot/program_shape.h"
#include "mneme/snapshot/tolerance.h"

namespace mneme {

// A place in the arguments of a launch.
struct ArgumentPlace {
  uint32_t parameter = 0;  // index
  uint64_t offset = 0;     // within the parameter, in bytes
  friend auto operator<=>(const ArgumentPlace&, const ArgumentPlace&) = default;
};

// An argument that the code has as a constant.
struct ArgumentIs {
  uint32_t parameter = 0;
  ByteVector bytes;  // all of the argument
  friend bool operator==(const ArgumentIs&, const ArgumentIs&) = default;
};

// A pointer whose alignment the code assumes.
struct PointerAligned {
  uint32_t parameter = 0;
  uint64_t alignment = 1;  // a power of two
  friend bool operator==(const PointerAligned&, const PointerAligned&) = default;
};

// A pointer that the code assumes to alias nothing: into its allocation none of `others` points.
struct PointerAlone {
  uint32_t parameter = 0;
  std::vector<ArgumentPlace> others;
  friend bool operator==(const PointerAlone&, const PointerAlone&) = default;
};

// Memory that may differ by so much from what the program's own code leaves, and is right.
struct TunedTolerance {
  ArgumentPlace pointer;  // from where it points,
  uint64_t offset = 0;    // so many bytes on,
  uint64_t bytes = 0;     // so many; 0: to the end of the allocation
  Tolerance tolerance;
  std::optional<uint32_t> variable;  // in the place of `pointer`: index into TunedKernel::variables
  friend bool operator==(const TunedTolerance&, const TunedTolerance&) = default;
};

// Whether a kernel can be run twice from the same memory, and does the same. One that prints, allocates, launches or writes
// surfaces cannot.
enum class Repeatable { unknown, yes, no };

// How the launch of the code follows from the program's, and which launches it can follow from.
struct LaunchRule {
  enum class Covers {
    shape,  // launches of the shape `recorded`, which become launches of the shape `tuned`
    block,  // launches with the block and the shared memory of `recorded`, whatever their grid: they become as many threads in
            // blocks of `tuned`; where these do not divide the threads, the rule does not hold
    any,    // all launches, whose shape stays; a block of at most max_threads
  };
  Covers covers = Covers::shape;
  ProgramShape recorded = {}, tuned = {};
  uint32_t max_threads = 0;  // of a block; 0: no limit
  friend bool operator==(const LaunchRule&, const LaunchRule&) = default;

  // The shape with which the code is launched in the place of such a launch; nothing: the rule does not hold for it.
  std::optional<ProgramShape> apply(const ProgramShape& launch) const;
  // The other way round: the launch of the program in whose place apply() has given this one.
  ProgramShape undo(const ProgramShape& launched) const;
};

// How many times as fast.
struct SpeedUp {
  double value = 0;
  double low = 0, high = 0;  // the 95 % interval
  friend bool operator==(const SpeedUp&, const SpeedUp&) = default;
};

struct Evidence {
  std::vector<Digest> instances;   // on which the code was verified, by their dynamic hashes
  SpeedUp speed_up;                // over the launch as recorded
  bool confirmed = false;          // surely faster than the launch as recorded
  double baseline = 0, tuned = 0;  // median times of a launch in nanoseconds, when the code was verified
  std::string device_name;         // "NVIDIA H200"
  std::string mneme, assembler;    // versions and names: "0.1.0", "nvptxcompiler"
  std::string driver;              // "580.95", empty where there is none
  std::string configuration;       // as JSON, for `mneme replay --config`
  friend bool operator==(const Evidence&, const Evidence&) = default;
};

// Code that may take the place of a kernel's launches.
struct TunedKernel {
  Digest static_hash;
  std::string name;  // symbol of the kernel in the code
  std::string demangled;
  std::string device;        // kind: "cuda", "cpu"
  std::string architecture;  // "sm_90"
  uint64_t image = 0;        // index into TunedFile::images
  LaunchRule rule;
  std::vector<ArgumentIs> arguments;
  std::vector<PointerAligned> aligned;
  std::vector<PointerAlone> alone;
  // The variables of the program that the code reaches, as its IR names them, in the order of the code's table of addresses
  // (mneme/abi/deployed_code.h).
  std::vector<std::string> variables;
  std::vector<TunedTolerance> tolerances;       // by which the code was verified; all else is right to the byte
  Repeatable repeatable = Repeatable::unknown;  // as of files of before version 1.1
  Evidence evidence;
  friend bool operator==(const TunedKernel&, const TunedKernel&) = default;

  // Whether two are for the same launches, so that one of them is enough.
  bool same_place(const TunedKernel& other) const;
};

struct TunedFile {
  std::vector<TunedKernel> kernels;
  std::vector<ByteVector> images;  // each once
  friend bool operator==(const TunedFile&, const TunedFile&) = default;

  // Adds a kernel with its code, in the place of one for the same launches.
  void add(TunedKernel kernel, ByteSpan code);
  // Adds all of another file.
  void add(const TunedFile& other);
};

inline constexpr uint16_t kTunedMajor = 1, kTunedMinor = 2;

ByteVector encode_tuned(const TunedFile& file);
// Trusts nothing. corrupt: it is no such file, or was damaged. incompatible: a newer Mneme has written it. Messages start with
// `name`.
Result<TunedFile> decode_tuned(ByteSpan bytes, const std::string& name);

}  // namespace mneme
