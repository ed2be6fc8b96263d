// What AMDGCN code is made for, and what of the recorded IR is changed so that it is made for that.
#pragma once

#include <llvm/IR/Module.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <string>

#include "mneme/base/status.h"
#include "mneme/compile/amdgpu/architecture.h"
#include "mneme/compile/codegen_options.h"

namespace mneme::amdgpu {

// The versions that code is recorded of, and made of.
constexpr bool is_code_object_version(unsigned version) { return version == 5 || version == 6; }

// What the options leave open is read from the module as it was recorded.
struct CodegenTarget {
  TargetId id;
  std::string features;      // of every function: the recorded ones on the recorded processor, then those of the options
  unsigned wavefront = 64;   // threads of a wavefront: 32 or 64
  unsigned code_object = 5;  // version
  llvm::FPOpFusion::FPOpFusionMode fusion = llvm::FPOpFusion::Standard;

  // `architecture` is the device's, a target ID; a target that the options name is taken in its place. The wavefront is the
  // recorded one unless the options' features name one, since the source may have been compiled for its size.
  // invalid_argument, unsupported: as parse_target_id(); the features name one that the processor lacks, or contradict the target
  // ID; the recorded wavefront is one that the processor lacks; generic code is asked of a version before 6. incompatible: the
  // module was recorded with code objects of another version.
  static Result<CodegenTarget> of(const llvm::Module& module, const std::string& architecture,
                                  const CodegenOptions& options = {});
};

// The machine for the passes and for code generation. `level` is 0 to 3.
Result<std::unique_ptr<llvm::TargetMachine>> create_machine(const CodegenTarget& target, unsigned level);

// Makes every function of the module one for the target, and the control constants of ROCm's device libraries (__oclc_*), as far
// as the module has them, what they are there. What no kernel is, and no variable of the state, becomes internal, as clang has it
// on this target (-amdgpu-internalize-symbols).
void set_target(llvm::Module& module, const CodegenTarget& target, FlushDenormals ftz);

// What is visible outside of the code object is protected, as clang has it: nobody replaces it, so that the code reaches it
// without a table of addresses. set_target() does this, and it is done again for what a pipeline adds.
void protect_visible(llvm::Module& module);

}  // namespace mneme::amdgpu
