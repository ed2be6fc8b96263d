#include <llvm/IR/IntrinsicsAMDGPU.h>

#include <numbers>

#include "mneme/cpu/lower/amdgcn/emitter.h"
#include "mneme/cpu/lower/amdgcn/trig_preop.h"

namespace mneme::cpu::amdgcn {
namespace {

namespace Intrinsic = llvm::Intrinsic;
using llvm::Value;

Value* number(Emitter& e, double value) { return llvm::ConstantFP::get(e.call.getType(), value); }
Value* is_nan(Emitter& e, Value* value) { return e.ir.CreateFCmpUNO(value, value); }
Value* zero_of(Value* value) { return llvm::Constant::getNullValue(value->getType()); }

Value* reciprocal(Emitter& e) { return e.ir.CreateFDiv(number(e, 1), e.argument(0)); }
Value* square_root(Emitter& e) { return e.ir.CreateUnaryIntrinsic(Intrinsic::sqrt, e.argument(0)); }
Value* reciprocal_root(Emitter& e) { return e.ir.CreateFDiv(number(e, 1), square_root(e)); }
Value* logarithm(Emitter& e) { return e.ir.CreateUnaryIntrinsic(Intrinsic::log2, e.argument(0)); }
Value* exponential(Emitter& e) { return e.ir.CreateUnaryIntrinsic(Intrinsic::exp2, e.argument(0)); }
Value* quotient(Emitter& e) { return e.ir.CreateFDiv(e.argument(0), e.argument(1)); }

// Of an angle in turns.
Value* wave_of(Emitter& e, Intrinsic::ID function) {
  Value* turns = e.ir.CreateFPExt(e.argument(0), e.ir.getDoubleTy());
  Value* within = e.ir.CreateFSub(turns, e.ir.CreateUnaryIntrinsic(Intrinsic::floor, turns));
  Value* angle = e.ir.CreateFMul(within, llvm::ConstantFP::get(e.ir.getDoubleTy(), 2 * std::numbers::pi));
  return e.ir.CreateFPTrunc(e.ir.CreateUnaryIntrinsic(function, angle), e.call.getType());
}
Value* sine(Emitter& e) { return wave_of(e, Intrinsic::sin); }
Value* cosine(Emitter& e) { return wave_of(e, Intrinsic::cos); }

// Always below 1.
Value* fraction(Emitter& e) {
  llvm::APFloat below(e.call.getType()->getScalarType()->getFltSemantics(), 1);
  below.next(/*nextDown=*/true);
  Value* most = llvm::ConstantFP::get(e.call.getType(), below);
  Value* part = e.ir.CreateFSub(e.argument(0), e.ir.CreateUnaryIntrinsic(Intrinsic::floor, e.argument(0)));
  return e.ir.CreateSelect(e.ir.CreateFCmpOGT(part, most), most, part);
}

Value* is_finite(Emitter& e, Value* value) {
  Value* infinity = llvm::ConstantFP::getInfinity(value->getType());
  return e.ir.CreateFCmpONE(e.ir.CreateUnaryIntrinsic(Intrinsic::fabs, value), infinity);
}
Value* parts(Emitter& e, Value* value) {
  return e.ir.CreateIntrinsic(Intrinsic::frexp, {value->getType(), e.ir.getInt32Ty()}, {value});
}
Value* mantissa(Emitter& e) {
  Value* value = e.argument(0);
  return e.ir.CreateSelect(is_finite(e, value), e.ir.CreateExtractValue(parts(e, value), 0), value);
}
Value* exponent(Emitter& e) {
  Value* value = e.argument(0);
  Value* found = e.ir.CreateExtractValue(parts(e, value), 1);
  return e.ir.CreateSExtOrTrunc(e.ir.CreateSelect(is_finite(e, value), found, e.ir.getInt32(0)), e.call.getType());
}

// The bits of the mask are those of llvm.is.fpclass.
Value* is_of_class(Emitter& e) {
  constexpr unsigned kClasses = 10;
  Value* value = e.argument(0);
  if (llvm::isa<llvm::ConstantInt>(e.argument(1)))
    return e.ir.createIsFPClass(value, static_cast<unsigned>(e.constant(1) & ((1u << kClasses) - 1)));
  Value* result = e.ir.getFalse();
  for (unsigned bit = 0; bit < kClasses; ++bit) {
    Value* asked = e.ir.CreateTrunc(e.ir.CreateLShr(e.argument(1), bit), e.ir.getInt1Ty());
    result = e.ir.CreateOr(result, e.ir.CreateAnd(asked, e.ir.createIsFPClass(value, 1u << bit)));
  }
  return result;
}

// The least where one of them is no number.
Value* median(Emitter& e) {
  Value *a = e.argument(0), *b = e.argument(1), *c = e.argument(2);
  const auto least = [&](Value* x, Value* y) { return e.ir.CreateMinNum(x, y); };
  const auto most = [&](Value* x, Value* y) { return e.ir.CreateMaxNum(x, y); };
  Value* ordinary = most(least(a, b), least(most(a, b), c));
  Value* unordered = e.ir.CreateOr(e.ir.CreateFCmpUNO(a, b), is_nan(e, c));
  return e.ir.CreateSelect(unordered, least(least(a, b), c), ordinary);
}

// In which zero times anything is zero.
Value* legacy_product(Emitter& e) {
  Value *a = e.argument(0), *b = e.argument(1);
  Value* none = e.ir.CreateOr(e.ir.CreateFCmpOEQ(a, zero_of(a)), e.ir.CreateFCmpOEQ(b, zero_of(b)));
  return e.ir.CreateSelect(none, zero_of(a), e.ir.CreateFMul(a, b));
}
Value* legacy_fused(Emitter& e) {
  Value *a = e.argument(0), *b = e.argument(1), *c = e.argument(2);
  Value* none = e.ir.CreateOr(e.ir.CreateFCmpOEQ(a, zero_of(a)), e.ir.CreateFCmpOEQ(b, zero_of(b)));
  Value* product = e.ir.CreateIntrinsic(Intrinsic::fma, {a->getType()}, {a, b, c});
  return e.ir.CreateSelect(none, e.ir.CreateFAdd(zero_of(c), c), product);
}

// The three steps of a division: the last one has what the quotient is made of, and makes it exactly.
Value* division_scale(Emitter& e) {
  Value* chosen = e.constant(2) != 0 ? e.argument(0) : e.argument(1);
  Value* both = e.ir.CreateInsertValue(llvm::PoisonValue::get(e.call.getType()), chosen, 0);
  return e.ir.CreateInsertValue(both, e.ir.getFalse(), 1);
}
Value* division_step(Emitter& e) {
  return e.ir.CreateIntrinsic(Intrinsic::fma, {e.call.getType()}, {e.argument(0), e.argument(1), e.argument(2)});
}
Value* division_end(Emitter& e) { return e.ir.CreateFDiv(e.argument(2), e.argument(1)); }

// Towards zero: what is rounded up goes back by one place.
Value* to_half(Emitter& e, Value* value) {
  llvm::Type* half = e.ir.getHalfTy();
  Value* near = e.ir.CreateFPTrunc(value, half);
  Value* size = e.ir.CreateUnaryIntrinsic(Intrinsic::fabs, e.ir.CreateFPExt(near, value->getType()));
  Value* away = e.ir.CreateFCmpOGT(size, e.ir.CreateUnaryIntrinsic(Intrinsic::fabs, value));
  Value* bits = e.ir.CreateBitCast(near, e.ir.getInt16Ty());
  return e.ir.CreateBitCast(e.ir.CreateSub(bits, e.ir.CreateZExt(away, e.ir.getInt16Ty())), half);
}

Value* pair(Emitter& e, Value* first, Value* second) {
  Value* both = e.ir.CreateInsertElement(llvm::PoisonValue::get(e.call.getType()), first, uint64_t{0});
  return e.ir.CreateInsertElement(both, second, uint64_t{1});
}
Value* two_halves(Emitter& e) { return pair(e, to_half(e, e.argument(0)), to_half(e, e.argument(1))); }

Value* normalized(Emitter& e, Value* value, double least, double scale, Intrinsic::ID to_integer) {
  llvm::Type* type = value->getType();
  Value* kept = e.ir.CreateMaxNum(value, llvm::ConstantFP::get(type, least));
  kept = e.ir.CreateMinNum(kept, llvm::ConstantFP::get(type, 1));
  kept = e.ir.CreateSelect(is_nan(e, value), zero_of(value), kept);
  Value* rounded = e.ir.CreateUnaryIntrinsic(Intrinsic::rint, e.ir.CreateFMul(kept, llvm::ConstantFP::get(type, scale)));
  return e.ir.CreateIntrinsic(to_integer, {e.ir.getInt16Ty(), type}, {rounded});
}
Value* two_signed_fractions(Emitter& e) {
  const auto one = [&](unsigned i) { return normalized(e, e.argument(i), -1, 32767, Intrinsic::fptosi_sat); };
  return pair(e, one(0), one(1));
}
Value* two_unsigned_fractions(Emitter& e) {
  const auto one = [&](unsigned i) { return normalized(e, e.argument(i), 0, 65535, Intrinsic::fptoui_sat); };
  return pair(e, one(0), one(1));
}

// value, number of the byte, the other bytes
Value* byte_of(Emitter& e) {
  Value* rounded = e.ir.CreateUnaryIntrinsic(Intrinsic::rint, e.argument(0));
  Value* byte = e.ir.CreateZExt(e.ir.CreateIntrinsic(Intrinsic::fptoui_sat, {e.ir.getInt8Ty(), rounded->getType()}, {rounded}),
                                e.ir.getInt32Ty());
  Value* shift = e.ir.CreateShl(e.ir.CreateAnd(e.argument(1), 3), 3);
  Value* others = e.ir.CreateAnd(e.argument(2), e.ir.CreateNot(e.ir.CreateShl(e.ir.getInt32(0xff), shift)));
  return e.ir.CreateOr(others, e.ir.CreateShl(byte, shift));
}

Value* dot_of_halves(Emitter& e) {
  Value* sum = e.argument(2);
  for (uint64_t i = 0; i < 2; ++i) {
    const auto wide = [&](unsigned from) {
      return e.ir.CreateFPExt(e.ir.CreateExtractElement(e.argument(from), i), e.ir.getFloatTy());
    };
    sum = e.ir.CreateFAdd(e.ir.CreateFMul(wide(0), wide(1)), sum);
  }
  if (e.constant(3) == 0) return sum;
  return e.ir.CreateMinNum(e.ir.CreateMaxNum(sum, zero_of(sum)), llvm::ConstantFP::get(sum->getType(), 1));
}

constexpr Row kRows[] = {
    {Intrinsic::amdgcn_rcp, reciprocal},
    {Intrinsic::amdgcn_rcp_legacy, reciprocal},
    {Intrinsic::amdgcn_sqrt, square_root},
    {Intrinsic::amdgcn_rsq, reciprocal_root},
    {Intrinsic::amdgcn_rsq_legacy, reciprocal_root},
    {Intrinsic::amdgcn_log, logarithm},
    {Intrinsic::amdgcn_exp2, exponential},
    {Intrinsic::amdgcn_sin, sine},
    {Intrinsic::amdgcn_cos, cosine},
    {Intrinsic::amdgcn_fract, fraction},
    {Intrinsic::amdgcn_frexp_mant, mantissa},
    {Intrinsic::amdgcn_frexp_exp, exponent},
    {Intrinsic::amdgcn_class, is_of_class},
    {Intrinsic::amdgcn_fmed3, median},
    {Intrinsic::amdgcn_fmul_legacy, legacy_product},
    {Intrinsic::amdgcn_fma_legacy, legacy_fused},
    {Intrinsic::amdgcn_fdiv_fast, quotient},
    {Intrinsic::amdgcn_div_scale, division_scale},
    {Intrinsic::amdgcn_div_fmas, division_step},
    {Intrinsic::amdgcn_div_fixup, division_end},
    {Intrinsic::amdgcn_cvt_pkrtz, two_halves},
    {Intrinsic::amdgcn_cvt_pknorm_i16, two_signed_fractions},
    {Intrinsic::amdgcn_cvt_pknorm_u16, two_unsigned_fractions},
    {Intrinsic::amdgcn_cvt_pk_u8_f32, byte_of},
    {Intrinsic::amdgcn_fdot2, dot_of_halves},
    {Intrinsic::amdgcn_trig_preop, trig_preop},
};

}  // namespace

std::span<const Row> float_rows() { return kRows; }

}  // namespace mneme::cpu::amdgcn
