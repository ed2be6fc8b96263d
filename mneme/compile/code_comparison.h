// CodeComparison: whether machine code that was made of a kernel's IR is that which the program ran, and where it first differs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/device/device.h"

namespace mneme {

// What machine code says of itself; what it does not say is empty.
struct MachineCodeFacts {
  uint64_t instructions = 0;          // of the kernel and of the functions that it may call
  std::optional<uint32_t> registers;  // of a thread
  std::string assembler;              // "ptxas 13.0.88"
  std::string options;                // of the assembler that may change code: "-O 3 -arch sm_90"
  friend bool operator==(const MachineCodeFacts&, const MachineCodeFacts&) = default;
};

struct CodeComparison {
  // The kernel's instructions and constants, those of the functions that it calls, and what they refer to are the same.
  bool same = false;
  // Else where the first byte differs: the part, "the code", "the code of 'f'", "the constants", and the offset in it.
  std::string where;
  uint64_t offset = 0;
  MachineCodeFacts program, made;
  friend bool operator==(const CodeComparison&, const CodeComparison&) = default;
};
// "1024 instructions, 40 registers" of code that is the same, else in what they differ, with the likely reason.
std::string describe(const CodeComparison& comparison);

// Compares the machine code of one kernel in two images for devices of the kind. In the program's image the kernel's symbol may
// have a suffix, as a static kernel's has, if no other kernel there has code. unsupported: the kind has no machine code that
// could be compared. corrupt: an image is none. not_found: one does not have the kernel.
Result<CodeComparison> compare_machine_code(ByteSpan program, ByteSpan made, const std::string& kernel, DeviceKind kind);

}  // namespace mneme
