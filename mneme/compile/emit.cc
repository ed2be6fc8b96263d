#include "mneme/compile/emit.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/Support/raw_ostream.h>

#include "mneme/ir/diagnostics.h"

namespace mneme {

Result<std::string> emit_code(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType type,
                              const PassPlugins& plugins, const std::string& what) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  llvm::SmallString<0> code;
  llvm::raw_svector_ostream stream(code);
  if (plugins.generate(module, machine, type, stream)) return code.str().str();
  llvm::legacy::PassManager passes;
  if (machine.addPassesToEmitFile(passes, stream, nullptr, type)) {
    return error(Code::unavailable, "{}: LLVM's target {} writes no {}", what, machine.getTargetTriple().str(),
                 type == llvm::CodeGenFileType::AssemblyFile ? "assembly" : "objects");
  }
  ir::DiagnosticCollector diagnostics(module.getContext());
  passes.run(module);
  if (diagnostics.failed()) return error(Code::unsupported, "{}: {}", what, diagnostics.errors());
  return code.str().str();
}

Status tell_lacking_instruction(const Status& ended, const std::string& what) {
  if (ended.code() != Code::internal || ended.message().find("Cannot select") == std::string::npos) return ended;
  return Status(Code::unsupported, ended.message()).with_context(what);
}

}  // namespace mneme
