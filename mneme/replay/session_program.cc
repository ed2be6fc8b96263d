#include "mneme/base/activity.h"
#include "mneme/compile/backend.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/compile_request.h"
#include "mneme/replay/session.h"

namespace mneme {
namespace {

// The launch is no matter of code; and what the assembler is asked may be what the program's was asked, which no recording says.
bool changes_code(Configuration configuration) {
  configuration.assembler = {};
  configuration.grid = configuration.block = {};
  configuration.keep_threads = false;
  configuration.shared_memory.reset();
  return configuration.digest() != Configuration().digest();
}

Status check_comparable(const Configuration& configuration, const KernelRecord& kernel) {
  if (changes_code(configuration)) return Status(Code::unsupported, "the configuration changes it");
  if (names_program_code(configuration, kernel)) return Status(Code::unsupported, "it is the program's own");
  if (kernel.pipeline.empty()) return Status(Code::unsupported, "the recording does not say how the program was compiled");
  if (kernel.machine_code() == nullptr) return Status(Code::unsupported, "the program's machine code was not recorded");
  return {};
}

}  // namespace

Result<CodeComparison> Session::compare_with_program(const Configuration& configuration) {
  MNEME_TRY(check_comparable(configuration, kernel_));
  MNEME_ASSIGN(const ByteVector program, database_.load_image(*kernel_.machine_code()));
  MNEME_ASSIGN(const DeviceKind kind, kind_of_architecture(kernel_.arch));
  MNEME_ASSIGN(const auto compiler, Compiler::create(kind, kernel_.arch));
  // Without a plan: in the program no variable is bound to an address.
  const CompileOptions options = compile_options(configuration, kernel_, {});
  ActivityScope compiling(Activity::compiling);
  MNEME_ASSIGN(const ir::Module* code, code_of({}));
  MNEME_ASSIGN(const CompiledCode made, compiler->compile(*code, options));
  if (made.assembler == kDriverAssembler)
    return error(Code::unsupported, "only the driver is there to assemble PTX, when it loads it");
  return compare_machine_code(program, made.image.bytes, kernel_.name, kind);
}

}  // namespace mneme
