// Reads the machine instructions of an ELF file, by LLVM's disassemblers.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

// Whose instructions they are, as llvm-mc takes it.
struct InstructionSet {
  std::string triple;     // "x86_64-unknown-linux-gnu"
  std::string processor;  // "x86-64-v3"
  std::string features = {};
};

// How many instructions all functions of the file have together, without the padding between functions. Nothing where the file
// cannot be read.
std::optional<uint64_t> count_instructions(ByteSpan file, const InstructionSet& set);

// The functions in the order of the file: "NAME:", and a line for each instruction, which begins with a tab. corrupt: the file is
// no ELF file, or has bytes in a function that are no instruction. unavailable: LLVM has no disassembler for the set.
Result<std::string> print_instructions(ByteSpan file, const InstructionSet& set);

struct MachineInstruction {
  uint64_t address = 0;
  uint64_t size = 0;  // in bytes
  std::string text;   // as an assembler takes it: "s_add_u32 s4, s4, 0x1c"
};
// The instructions of one function's code, which lies at `address`. corrupt, unavailable: as print_instructions().
Result<std::vector<MachineInstruction>> read_instructions(ByteSpan code, uint64_t address, const InstructionSet& set);

}  // namespace mneme
