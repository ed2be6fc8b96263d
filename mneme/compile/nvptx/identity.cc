#include "mneme/compile/nvptx/identity.h"

#include <llvm/Config/llvm-config.h>

namespace mneme::nvptx {

std::string compiler_identity(const std::string& architecture, const PtxAssembler& assembler) {
  return fmt::format("cuda {} LLVM {} {}", architecture, LLVM_VERSION_STRING, assembler.identity());
}

Result<std::string> compiler_identity(const std::string& architecture) {
  MNEME_ASSIGN(const std::unique_ptr<PtxAssembler> assembler, find_assembler(AssemblerSearch::from_environment()));
  return compiler_identity(architecture, *assembler);
}

}  // namespace mneme::nvptx
