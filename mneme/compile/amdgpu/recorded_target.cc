#include "mneme/compile/amdgpu/recorded_target.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/Constants.h>

#include "mneme/compile/amdgpu/architecture.h"
#include "mneme/compile/prepare.h"

namespace mneme::amdgpu {

std::optional<bool> find_feature(llvm::StringRef list, llvm::StringRef name) {
  llvm::SmallVector<llvm::StringRef> parts;
  list.split(parts, ',', -1, /*KeepEmpty=*/false);
  std::optional<bool> found;
  for (llvm::StringRef part : parts)
    if (part.drop_front() == name) found = part.starts_with("+");
  return found;
}

std::optional<unsigned> find_wavefront(llvm::StringRef list) {
  const bool narrow = find_feature(list, "wavefrontsize32").value_or(false);
  const bool wide = find_feature(list, "wavefrontsize64").value_or(false);
  if (narrow == wide) return std::nullopt;
  return narrow ? 32 : 64;
}

unsigned usual_wavefront(llvm::StringRef processor) { return has_wavefront_of_32(processor.str()) ? 32 : 64; }

RecordedTarget read_recorded_target(const llvm::Module& module) {
  RecordedTarget recorded;
  for (const llvm::Function& function : module) {
    if (function.isDeclaration() || (!recorded.processor.empty() && !is_kernel(function))) continue;
    if (!function.hasFnAttribute("target-cpu")) continue;
    recorded.processor = function.getFnAttribute("target-cpu").getValueAsString();
    recorded.features = function.getFnAttribute("target-features").getValueAsString();
    if (is_kernel(function)) break;
  }
  if (auto* flag = llvm::mdconst::extract_or_null<llvm::ConstantInt>(module.getModuleFlag(kVersionFlag)))
    recorded.version = static_cast<unsigned>(flag->getZExtValue() / kVersionUnit);
  return recorded;
}

}  // namespace mneme::amdgpu
