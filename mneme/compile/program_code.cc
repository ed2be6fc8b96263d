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

std::optional<Dim3> required_block(const ProgramCode& code, DeviceKind kind) {
  return runs_program_code(kind) ? find_compiler_backend(kind)->required_block(code) : std::nullopt;
}

}  // namespace mneme
