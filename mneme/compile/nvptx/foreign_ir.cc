#include "mneme/compile/nvptx/foreign_ir.h"

#include <fmt/format.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Operator.h>

#include "mneme/compile/nvptx/program_code.h"
#include "mneme/compile/nvptx/ptx_codegen.h"
#include "mneme/ir/access.h"
#include "mneme/ir/signature.h"

namespace mneme::nvptx {
namespace {

// The architecture with the variant that the PTX is for: "sm_90a".
std::string architecture_of(const ForeignCode& code) {
  const std::string target = target_of(code.ptx);
  return target == code.architecture + "a" || target == code.architecture + "f" ? target : code.architecture;
}

// "+ptx87" for PTX of version 8.7; empty where this LLVM does not write that version for the architecture.
std::string features_of(const ForeignCode& code, const std::string& architecture) {
  std::string version = version_of(code.ptx);
  std::erase(version, '.');
  if (version.empty()) return {};
  const std::string features = "+ptx" + version;
  return create_machine({.architecture = architecture, .features = features}, 0).ok() ? features : std::string();
}

void allow_contraction(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) switch (instruction.getOpcode()) {
      case llvm::Instruction::FAdd:
      case llvm::Instruction::FSub:
      case llvm::Instruction::FMul: instruction.setHasAllowContract(true);
    }
}

}  // namespace

Result<std::string> complete_foreign_ir(ir::Module& module, const ForeignCode& code) {
  llvm::Module& ir = ir::llvm_module(module);
  if (!ir.getTargetTriple().str().empty() && !ir.getTargetTriple().isNVPTX())
    return error(Code::incompatible, "{} is for the target '{}', and not for NVIDIA GPUs", ir.getModuleIdentifier(),
                 ir.getTargetTriple().str());
  ir.setTargetTriple(llvm::Triple("nvptx64-nvidia-cuda"));
  MNEME_TRY(ir::check_defines_kernel(module, code.kernel));
  const std::string architecture = architecture_of(code), features = features_of(code, architecture);
  for (llvm::Function& function : ir) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("target-cpu", architecture);
    if (!features.empty()) function.addFnAttr("target-features", features);
    if (code.contraction == ForeignContraction::yes) allow_contraction(function);
  }
  return architecture;
}

}  // namespace mneme::nvptx
