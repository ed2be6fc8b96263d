#include "mneme/cpu/lower/amdgcn/warp_size.h"

#include "mneme/compile/amdgpu/recorded_target.h"

namespace mneme::cpu::amdgcn {

uint32_t warp_size(const llvm::Function& function) {
  const auto attribute = [&](const char* name) { return function.getFnAttribute(name).getValueAsString(); };
  if (const auto named = mneme::amdgpu::find_wavefront(attribute("target-features"))) return *named;
  return mneme::amdgpu::usual_wavefront(attribute("target-cpu"));
}

}  // namespace mneme::cpu::amdgcn
