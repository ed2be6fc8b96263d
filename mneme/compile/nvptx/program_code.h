// The program's own code of a kernel for NVIDIA GPUs: a cubin as it is, or PTX for the assembler (mneme/compile/program_code.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mneme/compile/program_code.h"

namespace mneme::nvptx {

// As translate_program_code() and required_block() do it.
Result<Translation> take_program_code(const ProgramCode& code, const AssemblerOptions& assembler, const DriverOptions& program,
                                      const std::string& architecture);
std::optional<Dim3> required_block(const ProgramCode& code);

// What the PTX of a kernel says of its launch: .maxntid, .reqntid, .minnctapersm and .maxnreg stand between its parameters and
// its body.
struct EntryDirectives {
  size_t begin = 0, end = 0;  // where they stand in the text
  bool bounded = false;       // whether there are any
  std::optional<Dim3> required_block;
};
// Nothing: the PTX does not define such a kernel.
std::optional<EntryDirectives> find_directives(std::string_view ptx, std::string_view kernel);
// The PTX with ".maxnreg registers" for the kernel, in the place of another where there is one. The kernel must be there.
std::string with_register_cap(std::string_view ptx, const EntryDirectives& directives, unsigned registers);

// The target that the PTX names: "sm_90a"; empty where it names none.
std::string target_of(std::string_view ptx);
// The version of PTX that it is written in: "8.7"; empty where it names none.
std::string version_of(std::string_view ptx);

}  // namespace mneme::nvptx
