// Makes the LLVM IR of another compiler what this room compiles. Triton's IR names neither a target nor what its code generator
// was asked for, which Triton keeps elsewhere.
#pragma once

#include <string>

#include "mneme/base/status.h"
#include "mneme/ir/module.h"

namespace mneme::nvptx {

// Whether the compiler's code generator could make one instruction of a multiplication and an addition.
enum class ForeignContraction { no, yes };

struct ForeignCode {
  std::string kernel;
  std::string architecture;  // that the machine code is for: "sm_90"
  std::string ptx;           // the PTX that the compiler has made of the IR; empty: not known
  ForeignContraction contraction = ForeignContraction::yes;
};

// Writes into the module what it lacks: the target triple; of each function the architecture, the architecture's variant and the
// PTX version that the PTX names, as far as this LLVM knows them; and the flag `contract` of additions and multiplications.
// Returns the architecture: "sm_90a". not_found, incompatible: as ir::check_defines_kernel(), or the module is for another
// target.
Result<std::string> complete_foreign_ir(ir::Module& module, const ForeignCode& code);

}  // namespace mneme::nvptx
