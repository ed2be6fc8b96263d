// Floating-point operations with the rounding, flushing and saturation that PTX names, as IR on scalars.
//
// Single precision with a directed rounding is computed in double precision, rounded to odd (the last bit says "inexact", so
// that rounding once more is right: Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
// rounding to odd"), and then narrowed. It is plain IR, so it vectorises. Double precision with a directed rounding is one
// instruction of the host between two loads of MXCSR.
//
// Half precision is computed in float, brain float (which stands as i16 here) in double, and narrowed once; that is exact by the
// same argument. No function here needs a runtime library beyond libm.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string_view>

#include "mneme/cpu/ptx/ptx_asm.h"

namespace mneme::ptx {

enum class Round { nearest, zero, down, up, odd, away };  // away: nearest, ties away from zero

// "rn", "rz", "rm", "rp" and "rna".
Round round_of(std::string_view modifier);

class FloatMath {
 public:
  explicit FloatMath(llvm::IRBuilder<>& ir) : ir(ir) {}

  // a, b and c of the IR type of `type` (one element of f16, bf16, f32 or f64); the same type comes back.
  llvm::Value* add(Type type, llvm::Value* a, llvm::Value* b, Round round);
  llvm::Value* mul(Type type, llvm::Value* a, llvm::Value* b, Round round);
  llvm::Value* fma(Type type, llvm::Value* a, llvm::Value* b, llvm::Value* c, Round round);
  llvm::Value* div(Type type, llvm::Value* a, llvm::Value* b, Round round);
  llvm::Value* sqrt(Type type, llvm::Value* a, Round round);
  llvm::Value* negate(Type type, llvm::Value* a);
  llvm::Value* absolute(Type type, llvm::Value* a);

  // Subnormal values become zeros of their sign, in all four types.
  llvm::Value* flush(Type type, llvm::Value* a);
  // Clamps into [0, 1]; NaN becomes +0.
  llvm::Value* saturate(Type type, llvm::Value* a);
  // Negative values become +0; NaN stays.
  llvm::Value* relu(Type type, llvm::Value* a);

  // To float (f16, bf16, f32) or double (f64): exact.
  llvm::Value* widen(Type type, llvm::Value* a);
  // From float or double to any of the four, rounded once.
  llvm::Value* narrow(llvm::Value* wide, Type to, Round round);
  llvm::Value* from_integer(llvm::Value* value, bool is_signed, Type to, Round round);
  // Saturates, as cvt does, and rounds toward zero. NaN gives `nan`.
  llvm::Value* to_integer(llvm::Value* a, Type to, uint64_t nan);

  // To an 8-bit float: rounds to nearest even; a value that is too large becomes the largest finite one. And back, to float.
  llvm::Value* to_small(llvm::Value* float_or_double, Type small);
  llvm::Value* from_small(llvm::Value* byte, Type small);

  llvm::Value* call(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value*> arguments);

 private:
  llvm::Value* bits(llvm::Value* value);
  llvm::Value* like(llvm::Value* bits, llvm::Value* of);
  llvm::Value* real(llvm::Value* like, double value);
  llvm::Value* sign_bit(llvm::Value* bits);
  llvm::Value* step(llvm::Value* value, llvm::Value* when, llvm::Value* away_from_zero);
  llvm::Value* make_odd(llvm::Value* value, llvm::Value* error);
  llvm::Value* odd_sum(llvm::Value* a, llvm::Value* b);
  llvm::Value* narrow_ieee(llvm::Value* wide, llvm::Type* to, Round round);
  llvm::Value* narrow_brain(llvm::Value* wide, Round round);
  llvm::Value* zero_of_sum(llvm::Value* sum, llvm::Value* a, llvm::Value* b, llvm::Value* result);
  llvm::Value* directed(std::string_view instruction, llvm::ArrayRef<llvm::Value*> arguments, Round round);
  llvm::Value* wide_integer(llvm::Value* value, bool is_signed);

  llvm::IRBuilder<>& ir;
};

}  // namespace mneme::ptx
