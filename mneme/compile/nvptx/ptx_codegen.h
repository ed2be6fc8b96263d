// LLVM IR for NVPTX to PTX text.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/codegen_options.h"
#include "mneme/compile/pass_plugins.h"

namespace mneme::nvptx {

// For what code is made. What the options leave open is read from the module as it was recorded, before passes change it, so that
// code is made as the application's was.
struct CodegenTarget {
  std::string architecture;  // "sm_90", or "sm_90a" where the module was made for the device's own features
  std::string features;      // the PTX version to write, for example "+ptx88"; empty for the oldest that has the architecture
  llvm::FPOpFusion::FPOpFusionMode fusion = llvm::FPOpFusion::Standard;

  // `architecture` is the device's; an architecture that the options name is taken as it is.
  static CodegenTarget of(const llvm::Module& module, const std::string& architecture, const CodegenOptions& options = {});
};

// For the passes and for emit_ptx. `level` is 0 to 3. unsupported: this LLVM does not know the architecture. invalid_argument: a
// feature that it does not have, or a level that there is not.
Result<std::unique_ptr<llvm::TargetMachine>> create_machine(const CodegenTarget& target, unsigned level);

// Changes the module: it is prepared for code generation and of no further use. Debug information becomes line directives.
// unsupported: LLVM cannot make code of it, in LLVM's words.
Result<std::string> emit_ptx(llvm::Module& module, llvm::TargetMachine& machine, const PassPlugins& plugins = {});

// Whether the PTX has line directives, which an assembler keeps only when told.
bool has_lines(const std::string& ptx);

}  // namespace mneme::nvptx
