// ProgramCode: the program's own code of a kernel, which is what a replay runs of a kernel that was recorded without IR. A kind
// of device that runs such code says so in its row (backend.h).
#pragma once

#include <map>
#include <optional>
#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/compile/compiler.h"

namespace mneme {

struct ProgramCode {
  std::string kernel;        // its symbol
  std::string architecture;  // that the machine code is for: "sm_90"
  ByteVector machine_code;   // a cubin; empty: none was recorded
  std::string assembly;      // PTX text; empty: none was recorded
};

// With what a program had the driver assemble its PTX, by the names of CUDA's options: {"max_registers", "32"}.
using DriverOptions = std::map<std::string, std::string>;

// Whether devices of the kind run the program's own code.
bool runs_program_code(DeviceKind kind);

// What Compiler::assemble() is to make of it for a device of this kind and architecture. Where nothing is asked of the assembler
// and the device runs the machine code, that is the code, as it is; else the assembly, for which the program's options hold
// where the assembler has such ones and is asked for no others. A cap on registers is written into the
// assembly where its kernel has bounds of its own, since assemblers ignore it there otherwise. unsupported: no device of the kind
// runs the program's own code, or there is no assembly to do it with. invalid_argument: the cap is one that no thread can have,
// or the assembly has no such kernel.
Result<Translation> translate_program_code(const ProgramCode& code, const AssemblerOptions& assembler,
                                           const DriverOptions& program, DeviceKind kind, const std::string& architecture);

// The code with a table of the addresses of these variables (variable_table.h), by which it reaches them: its assembly alone,
// changed so. unsupported: there is no assembly, or no device of the kind runs it, or it reaches a variable in a way that cannot
// be changed.
Result<ProgramCode> reach_by_table(const ProgramCode& code, const std::vector<std::string>& names, DeviceKind kind);

// The only block with which the kernel can be launched; nothing: its code says none.
std::optional<Dim3> required_block(const ProgramCode& code, DeviceKind kind);

}  // namespace mneme
