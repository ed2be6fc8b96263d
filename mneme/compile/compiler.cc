#include "mneme/compile/compiler.h"

#include "mneme/compile/compile_key.h"

namespace mneme {

Result<CompiledCode> Compiler::compile(const ir::Module& module, const CompileOptions& options) {
  MNEME_ASSIGN(Translation translation, translate(module, options));
  return assemble(translation);
}

std::optional<CompiledCode> Compiler::find(const Digest&, const CompileOptions&) { return std::nullopt; }

std::vector<Result<CompiledCode>> Compiler::assemble_all(std::span<const Translation> translations) {
  std::vector<Result<CompiledCode>> all;
  for (const Translation& translation : translations) all.push_back(assemble(translation));
  return all;
}

Result<ToolCommands> Compiler::tool_commands(const ir::Module&, const CompileOptions&) {
  return error(Code::unsupported, "the commands that compile for {}: only for GPUs there are such programs", identity());
}

std::vector<std::string> Compiler::assembler_arguments(const Translation&) const { return {}; }

Digest Translation::digest() const {
  Hasher hasher;
  hasher.add(std::string_view(code)).add(std::string_view(architecture));
  add_to(hasher, assembler);
  for (const auto& names : {kernels, state}) {
    hasher.add(names.size());
    for (const std::string& name : names) hasher.add(std::string_view(name));
  }
  if (!machine_code.empty()) hasher.add(machine_code.size()).add(ByteSpan(machine_code));
  return hasher.finish();
}

}  // namespace mneme
