// ProgramDescription: what an exported program says of itself beside its code and its memory. The codec does no I/O.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/element.h"
#include "mneme/base/memory_range.h"
#include "mneme/base/status.h"
#include "mneme/device/device.h"

namespace mneme {

// A piece of the recorded memory that has a name and a type of element, as verify's TypedRange.
struct NamedPiece {
  std::string where;                // "argument 'out'"
  DevicePtr address;                // of the recording
  Bytes size;                       // whole elements
  std::optional<ElementType> type;  // nothing: elements are bytes
  friend bool operator==(const NamedPiece&, const NamedPiece&) = default;
};

struct ProgramDescription {
  Digest static_hash, dynamic_hash;  // of the recording
  DeviceKind device = DeviceKind::cpu;
  std::string architecture;   // that the code was made for: "sm_90"
  std::string mneme_version;  // that made the program
  std::string pipeline;       // for people: "as-built: default<O3>"
  std::string assembler;      // CompiledCode::assembler
  LaunchShape shape;
  JitOptions jit;                  // of code that is PTX
  std::vector<std::string> state;  // variables that only the code has: CompiledCode::state
  std::vector<NamedPiece> pieces;  // all memory that the program has, by address
  Bytes memory;                    // that it has
  Bytes left_out;                  // that was recorded and is not in it, as the kernel neither reads nor writes it
  std::string kept;                // why nothing was left out; empty: memory was looked through
  Bytes masked;                    // that hold wrong values before the launch, where the kernel writes and does not read
  std::string unmasked;            // why none do; empty: some do, or the program is of format 1.0, which has no masked memory
  uint32_t runs = 10;              // how many launches are timed, if nothing else is asked for
  friend bool operator==(const ProgramDescription&, const ProgramDescription&) = default;
};

std::string encode_description(const ProgramDescription& description);  // JSON, with a line feed
// corrupt, with the key: it is no such document, or a value is out of range.
Result<ProgramDescription> decode_description(std::string_view text, const std::string& name);

}  // namespace mneme
