// Spells NVPTX intrinsics as PTX, so that one table says what intrinsics and inline PTX mean.
#pragma once

#include <llvm/IR/IntrinsicInst.h>

#include <optional>
#include <string>

namespace mneme::cpu::nvptx {

// PTX statements that do what the intrinsic does, with the operand numbers of inline assembly: results first ($0, or $0 and $1
// for a struct of two), then the arguments. Nothing for an intrinsic that PTX has no straight-line instruction for, or that the
// CPU device does not know.
std::optional<std::string> ptx_spelling(const llvm::IntrinsicInst& call);

}  // namespace mneme::cpu::nvptx
