// LLVM IR for NVPTX to PTX text.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "mneme/base/status.h"

namespace mneme::nvptx {

// What has to be read from the module as it was recorded, before passes change it, so that code is made as the application's was.
struct CodegenTarget {
  std::string architecture;  // "sm_90", or "sm_90a" where the module was made for the device's own features
  std::string features;      // the PTX version to write, for example "+ptx88"; empty for the oldest that has the architecture
  bool fuse_multiply_add = false;

  // `architecture` is the device's.
  static CodegenTarget of(const llvm::Module& module, const std::string& architecture);
};

// For the passes and for emit_ptx. `level` is 0 to 3. unsupported: this LLVM does not know the architecture.
Result<std::unique_ptr<llvm::TargetMachine>> create_machine(const CodegenTarget& target, unsigned level);

// Changes the module: it is prepared for code generation and of no further use. Debug information becomes line directives.
// unsupported: LLVM cannot make code of it, in LLVM's words.
Result<std::string> emit_ptx(llvm::Module& module, llvm::TargetMachine& machine);

// Whether the PTX has line directives, which an assembler keeps only when told.
bool has_lines(const std::string& ptx);

}  // namespace mneme::nvptx
