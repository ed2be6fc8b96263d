#include <algorithm>

#include "mneme/abi/deployed_code.h"
#include "mneme/base/activity.h"
#include "mneme/replay/code_level.h"
#include "mneme/replay/compile_launch.h"
#include "mneme/replay/compile_request.h"
#include "mneme/replay/session.h"

namespace mneme {
namespace {

// The names of the variables in the order of the table. A managed one is in it as any other: its address, or of HIP's the pointer
// to its memory.
std::vector<std::string> table_of(const KernelRecord& kernel) {
  std::vector<std::string> names;
  for (const GlobalInfo& global : kernel.globals) names.push_back(global.name);
  return names;
}

// State that only the code has would last from launch to launch, which no replay has verified.
Status check_state(const CompiledCode& code, const std::vector<std::string>& variables) {
  for (const std::string& name : code.state)
    if (name != MNEME_VARIABLE_TABLE && std::find(variables.begin(), variables.end(), name) == variables.end())
      return error(Code::unsupported, "the code has a variable of its own, '{}'", name);
  return {};
}

}  // namespace

Result<CompiledCode> Session::compile_ahead(const Configuration& configuration) {
  ReplayResult ignored;
  return compile(configuration, ignored);
}

Result<CompiledCode> Session::compile_with_table(const ProgramCode& program, const Configuration& configuration,
                                                 const std::vector<std::string>& variables) {
  if (variables.empty()) return compile_ahead(configuration);
  ActivityScope compiling(Activity::compiling);
  const DeviceProperties& device = device_.properties();
  MNEME_ASSIGN(const ProgramCode by_table, reach_by_table(program, variables, device.kind));
  MNEME_ASSIGN(const Translation translation, translate_program_code(by_table, configuration.assembler, driver_options(instance_),
                                                                     device.kind, device.architecture));
  return compiler_->assemble(translation);
}

Result<ProgramCompilation> Session::compile_for_program(const Configuration& configuration) {
  ProgramCompilation made;
  MNEME_ASSIGN(made.shape, configuration.launch_shape(instance_));
  MNEME_TRY(check_launch_code(*code_, kernel_, configuration, made.shape, device_.properties().kind));
  if (const ProgramCode* program = code_->program(configuration)) {
    made.variables = table_of(kernel_);
    MNEME_ASSIGN(made.code, compile_with_table(*program, configuration, made.variables));
  } else {
    ActivityScope compiling(Activity::compiling);
    MNEME_ASSIGN(KernelCode * source, code_->sources()->find(configuration.ir));
    MNEME_ASSIGN(CompileRequest request, compile_request(configuration, {kernel_, instance_, plan_}, *source));
    made.variables = table_of(kernel_);
    made.specialisation = request.specialised.values;
    request.options.variable_table = made.variables;
    MNEME_ASSIGN(const ir::Module* module, source->module());
    MNEME_ASSIGN(made.code, compiler_->compile(*module, request.options));
    MNEME_TRY(check_state(made.code, made.variables));
  }
  if (made.code.assembler == kDriverAssembler)
    return error(Code::unsupported, "only the driver is there to assemble PTX, when it loads it, and its code is not to be had");
  return made;
}

}  // namespace mneme
