#include "mneme/compile/backend.h"

#include <algorithm>

#include "mneme/base/stack_limit.h"

namespace mneme {

const CompilerBackend* find_compiler_backend(DeviceKind kind) {
  const std::span<const CompilerBackend> table = compiler_backends();
  const auto found = std::ranges::find(table, kind, &CompilerBackend::kind);
  return found == table.end() ? nullptr : &*found;
}

std::string architecture_without_device(DeviceKind kind, const std::string& recorded) {
  const CompilerBackend* backend = find_compiler_backend(kind);
  return backend ? backend->architecture(recorded) : recorded;
}

Result<DeviceKind> kind_of_architecture(std::string_view architecture) {
  std::string known;
  for (const CompilerBackend& backend : compiler_backends()) {
    if (architecture.starts_with(backend.architecture_prefix)) return backend.kind;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", backend.architecture_prefix);
  }
  return error(Code::unsupported,
               "there is no compiler for the architecture '{}' in this build; the names of those that there are begin with {}",
               architecture, known);
}

Status check_target(const CodegenOptions& codegen, const DeviceProperties& device) {
  const CompilerBackend* backend = find_compiler_backend(device.kind);
  if (codegen.target.empty() || !backend || backend->runs_on(codegen.target, device.architecture)) return {};
  return error(Code::unsupported,
               "{} ({}) does not run code for {}: leave the target out; mneme ir, which runs nothing, takes any that LLVM knows",
               device.name, device.architecture, codegen.target);
}

Result<std::unique_ptr<Compiler>> Compiler::create(DeviceKind kind, const std::string& architecture) {
  MNEME_TRY(provide_stack());
  if (const CompilerBackend* backend = find_compiler_backend(kind)) return backend->create(architecture);
  return error(Code::unsupported, "there is no compiler for device '{}' in this build", to_string(kind));
}

Result<std::unique_ptr<Compiler>> Compiler::create_when_asked(DeviceKind kind, const std::string& architecture) {
  const CompilerBackend* backend = find_compiler_backend(kind);
  if (!backend) return create(kind, architecture);
  MNEME_ASSIGN(CompilerPlan plan, backend->plan(architecture));
  plan.make = [make = std::move(plan.make)]() -> Result<std::unique_ptr<Compiler>> {
    MNEME_TRY(provide_stack());
    return make();
  };
  return defer_compiler(std::move(plan));
}

}  // namespace mneme
