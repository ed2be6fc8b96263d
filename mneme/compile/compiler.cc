#include "mneme/compile/compiler.h"

#include "mneme/base/stack_limit.h"
#include "mneme/compile/compile_key.h"
#include "mneme/compile/cpu/compiler.h"
#include "mneme/compile/nvptx/architecture.h"
#include "mneme/compile/nvptx/compiler.h"

namespace mneme {

Status check_target(const CodegenOptions& codegen, const DeviceProperties& device) {
  if (codegen.target.empty() || device.kind != DeviceKind::cuda || nvptx::runs_on(codegen.target, device.architecture)) return {};
  return error(Code::unsupported,
               "{} ({}) does not run code for {}: leave the target out; mneme ir, which runs nothing, takes any that LLVM knows",
               device.name, device.architecture, codegen.target);
}

Result<std::unique_ptr<Compiler>> Compiler::create(DeviceKind kind, const std::string& architecture) {
  MNEME_TRY(provide_stack());
  switch (kind) {
    case DeviceKind::cuda: return nvptx::create_compiler(architecture);
    case DeviceKind::cpu: return cpu::create_compiler(architecture);
    case DeviceKind::hip:
    case DeviceKind::fake: break;
  }
  return error(Code::unsupported, "there is no compiler for device '{}' in this build", to_string(kind));
}

Result<CompiledCode> Compiler::compile(const ir::Module& module, const CompileOptions& options) {
  MNEME_ASSIGN(Translation translation, translate(module, options));
  return assemble(translation);
}

Digest Translation::digest() const {
  Hasher hasher;
  hasher.add(std::string_view(code)).add(std::string_view(architecture));
  add_to(hasher, assembler);
  for (const auto& names : {kernels, state}) {
    hasher.add(names.size());
    for (const std::string& name : names) hasher.add(std::string_view(name));
  }
  return hasher.finish();
}

}  // namespace mneme
