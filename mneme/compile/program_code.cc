#include "mneme/compile/program_code.h"

#include "mneme/compile/backend.h"
#include "mneme/device/backend.h"

namespace mneme {

bool runs_program_code(DeviceKind kind) {
  const CompilerBackend* backend = find_compiler_backend(kind);
  return backend != nullptr && backend->take_program_code != nullptr;
}

Result<Translation> translate_program_code(const ProgramCode& code, const AssemblerOptions& assembler,
                                           const DriverOptions& program, DeviceKind kind, const std::string& architecture) {
  if (!runs_program_code(kind))
    return error(Code::unsupported, "the {} does not run the program's own code of '{}', which {} is: name a pipeline",
                 backend_of(kind).title, code.kernel, kAsBuilt);
  return find_compiler_backend(kind)->take_program_code(code, assembler, program, architecture);
}

Result<ProgramCode> reach_by_table(const ProgramCode& code, const std::vector<std::string>& names, DeviceKind kind) {
  if (code.assembly.empty() || !runs_program_code(kind))
    return error(Code::unsupported, "its machine code reaches variables of its own module, as '{}'", names.front());
  ProgramCode changed{code.kernel, code.architecture, {}, {}};
  MNEME_ASSIGN(changed.assembly, find_compiler_backend(kind)->reach_by_table(code.assembly, names));
  return changed;
}

std::optional<Dim3> required_block(const ProgramCode& code, DeviceKind kind) {
  return runs_program_code(kind) ? find_compiler_backend(kind)->required_block(code) : std::nullopt;
}

}  // namespace mneme
