#include "mneme/replay/recorded_code.h"

namespace mneme {

DriverOptions driver_options(const InstanceRecord& instance) {
  DriverOptions options;
  for (const auto& [name, value] : instance.attributes)
    if (name.starts_with(kDriverOption)) options[name.substr(kDriverOption.size())] = value;
  return options;
}

Result<RecordedCode> RecordedCode::load(const Database& database, const KernelRecord& kernel) {
  RecordedCode code;
  if (kernel.level == CodeLevel::ir) {
    MNEME_ASSIGN(KernelCode recorded, KernelCode::load(database, kernel));
    code.sources_.emplace(std::move(recorded));
  }
  if (!has_program_code(kernel)) return code;
  ProgramCode& program = code.program_.emplace();
  program.kernel = kernel.name;
  program.architecture = kernel.arch;
  if (kernel.find_image(CodeImageRecord::Kind::cubin) != nullptr) {
    MNEME_ASSIGN(program.machine_code, database.load_image(kernel, CodeImageRecord::Kind::cubin));
  }
  // What a level has beside its own code is not used below it.
  if (program_level(kernel) == CodeLevel::ptx) {
    MNEME_ASSIGN(const ByteVector text, database.load_image(kernel, CodeImageRecord::Kind::ptx));
    program.assembly.assign(reinterpret_cast<const char*>(text.data()), text.size());
    if (const size_t end = program.assembly.find('\0'); end != std::string::npos) program.assembly.resize(end);
  }
  return code;
}

}  // namespace mneme
