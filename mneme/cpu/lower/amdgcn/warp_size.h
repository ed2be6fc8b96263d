// How many lanes a wavefront has.
#pragma once

#include <llvm/IR/Function.h>

#include <cstdint>

namespace mneme::cpu::amdgcn {

// 32 or 64: as the function's features say, else as its processor has by default (64 up to gfx9, 32 from gfx10 on).
uint32_t warp_size(const llvm::Function& function);

}  // namespace mneme::cpu::amdgcn
