#include "mneme/cpu/lower/amdgcn/warp_size.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Attributes.h>

namespace mneme::cpu::amdgcn {

uint32_t warp_size(const llvm::Function& function) {
  llvm::SmallVector<llvm::StringRef> features;
  function.getFnAttribute("target-features").getValueAsString().split(features, ',');
  for (llvm::StringRef feature : llvm::reverse(features)) {
    if (feature == "+wavefrontsize32") return 32;
    if (feature == "+wavefrontsize64") return 64;
  }
  const llvm::StringRef processor = function.getFnAttribute("target-cpu").getValueAsString();
  return processor.starts_with("gfx1") ? 32 : 64;
}

}  // namespace mneme::cpu::amdgcn
