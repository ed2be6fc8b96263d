// Makes PTX text of LLVM IR for NVPTX.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/codegen_options.h"
#include "mneme/compile/pass_plugins.h"

namespace mneme::nvptx {

// What PTX is made for. What the options leave open is read from the module as it was recorded, before passes change it, so
// that code is made as the application's was.
struct CodegenTarget {
  std::string architecture;  // "sm_90", or "sm_90a" where the module was made for the device's own features
  std::string features;      // with the PTX version to write: "+ptx88"; without one it is the oldest that has the architecture
  llvm::FPOpFusion::FPOpFusionMode fusion = llvm::FPOpFusion::Standard;
  // How wide pointers into shared, constant and local memory are. Triton's IR has narrow ones, clang's has not.
  enum class Pointers { wide, narrow };
  Pointers pointers = Pointers::wide;

  // `architecture` is the device's. If the options name a target, that is taken as it is.
  static CodegenTarget of(const llvm::Module& module, const std::string& architecture, const CodegenOptions& options = {});
};

// The machine for the passes and for emit_ptx(). `level` is 0 to 3. unsupported: this LLVM does not know the architecture.
// invalid_argument: the architecture has no such feature, the features name an architecture or a PTX version older than the
// architecture, or there is no such level.
Result<std::unique_ptr<llvm::TargetMachine>> create_machine(const CodegenTarget& target, unsigned level);

// Makes PTX of the module, which is of no further use then. Debug information becomes line directives. unsupported: LLVM cannot
// make code of it, in LLVM's words.
Result<std::string> emit_ptx(llvm::Module& module, llvm::TargetMachine& machine, const PassPlugins& plugins = {});

// Leaves of the debug information what becomes line directives. Assemblers do not optimise PTX that says it has all of a
// compiler's debug information; line directives they take.
void reduce_debug_info(llvm::Module& module);

// Whether the PTX has line directives. An assembler keeps them only if it is told to.
bool has_lines(const std::string& ptx);

}  // namespace mneme::nvptx
