#include "mneme/compile/nvptx/identity.h"

#include <llvm/Config/llvm-config.h>

#include "mneme/compile/nvptx/compiler.h"

namespace mneme::nvptx {

std::string compiler_identity(const std::string& architecture, const PtxAssembler& assembler) {
  return fmt::format("cuda {} LLVM {} {}", architecture, LLVM_VERSION_STRING, assembler.identity());
}

Result<CompilerPlan> plan_compiler(const std::string& architecture) {
  MNEME_ASSIGN(const std::shared_ptr<PtxAssembler> assembler, find_assembler(AssemblerSearch::from_environment()));
  return CompilerPlan{compiler_identity(architecture, *assembler),
                      [architecture, assembler] { return create_compiler(architecture, assembler); }};
}

}  // namespace mneme::nvptx
