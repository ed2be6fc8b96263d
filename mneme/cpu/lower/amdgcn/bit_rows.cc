#include <llvm/IR/IntrinsicsAMDGPU.h>

#include "mneme/cpu/lower/amdgcn/emitter.h"

namespace mneme::cpu::amdgcn {
namespace {

using namespace llvm::Intrinsic;
using llvm::Value;

Value* zero(Emitter& e) { return llvm::Constant::getNullValue(e.call.getType()); }

// v_perm_b32: each byte of the selector names a byte of both words (0 to 7), the sign of one of their halves (8 to 11), 0 (12),
// or 0xff.
Value* permuted_bytes(Emitter& e) {
  llvm::IRBuilder<>& ir = e.ir;
  const auto wide = [&](Value* value) { return ir.CreateZExt(value, ir.getInt64Ty()); };
  Value* both = ir.CreateOr(ir.CreateShl(wide(e.argument(0)), 32), wide(e.argument(1)));
  Value* result = zero(e);
  for (unsigned byte = 0; byte < 4; ++byte) {
    Value* selector = ir.CreateAnd(ir.CreateLShr(e.argument(2), byte * 8), 0xff);
    Value* at = wide(ir.CreateAnd(selector, 7));
    Value* named = ir.CreateTrunc(ir.CreateAnd(ir.CreateLShr(both, ir.CreateShl(at, 3)), 0xff), ir.getInt32Ty());
    Value* half = ir.CreateAdd(ir.CreateShl(ir.CreateAnd(at, 3), 4), ir.getInt64(15));
    Value* sign = ir.CreateTrunc(ir.CreateLShr(both, half), ir.getInt1Ty());
    Value* constant = ir.CreateSelect(ir.CreateICmpEQ(selector, ir.getInt32(12)), ir.getInt32(0), ir.getInt32(0xff));
    Value* special = ir.CreateSelect(ir.CreateICmpULT(selector, ir.getInt32(12)),
                                     ir.CreateSelect(sign, ir.getInt32(0xff), ir.getInt32(0)), constant);
    Value* chosen = ir.CreateSelect(ir.CreateICmpULT(selector, ir.getInt32(8)), named, special);
    result = ir.CreateOr(result, ir.CreateShl(chosen, byte * 8));
  }
  return result;
}

// value, first bit, number of bits: where the field goes beyond the word, what there is of it.
Value* field(Emitter& e, bool is_signed) {
  llvm::IRBuilder<>& ir = e.ir;
  llvm::Type* type = e.call.getType();
  const unsigned bits = type->getIntegerBitWidth();
  Value* last = llvm::ConstantInt::get(type, bits - 1);
  const auto count = [&](unsigned i) { return ir.CreateAnd(ir.CreateZExtOrTrunc(e.argument(i), type), last); };
  Value *first = count(1), *width = count(2);
  const auto shifted_right = [&](Value* value, Value* by) {
    return is_signed ? ir.CreateAShr(value, by) : ir.CreateLShr(value, by);
  };
  Value* size = llvm::ConstantInt::get(type, bits);
  Value* above = ir.CreateSub(ir.CreateSub(size, first), width);
  Value* whole = shifted_right(e.argument(0), first);
  Value* part =
      shifted_right(ir.CreateShl(e.argument(0), ir.CreateAnd(above, last)), ir.CreateAnd(ir.CreateSub(size, width), last));
  Value* within = ir.CreateICmpULT(ir.CreateAdd(first, width), size);
  return ir.CreateSelect(ir.CreateICmpEQ(width, zero(e)), zero(e), ir.CreateSelect(within, part, whole));
}
Value* unsigned_field(Emitter& e) { return field(e, false); }
Value* signed_field(Emitter& e) { return field(e, true); }

// Element i of a word of elements of that many bits, as i32.
Value* element(Emitter& e, Value* word, unsigned i, unsigned bits, bool is_signed) {
  Value* moved = e.ir.CreateShl(word, 32 - bits * (i + 1));
  return is_signed ? e.ir.CreateAShr(moved, 32 - bits) : e.ir.CreateLShr(moved, 32 - bits);
}

enum class Masked { no, yes };
// The sum of the distances of the elements; with a mask, of those whose element of the second word is not 0.
Value* distances(Emitter& e, unsigned bits, Masked masked) {
  Value* sum = zero(e);
  for (unsigned i = 0; i < 32 / bits; ++i) {
    Value *a = element(e, e.argument(0), i, bits, false), *b = element(e, e.argument(1), i, bits, false);
    Value* distance = e.ir.CreateBinaryIntrinsic(llvm::Intrinsic::abs, e.ir.CreateSub(a, b), e.ir.getFalse());
    if (masked == Masked::yes) distance = e.ir.CreateSelect(e.ir.CreateICmpEQ(b, zero(e)), zero(e), distance);
    sum = e.ir.CreateAdd(sum, distance);
  }
  return sum;
}
Value* sad_bytes(Emitter& e) { return e.ir.CreateAdd(distances(e, 8, Masked::no), e.argument(2)); }
Value* sad_bytes_high(Emitter& e) { return e.ir.CreateAdd(e.ir.CreateShl(distances(e, 8, Masked::no), 16), e.argument(2)); }
Value* sad_halves(Emitter& e) { return e.ir.CreateAdd(distances(e, 16, Masked::no), e.argument(2)); }
Value* sad_masked(Emitter& e) { return e.ir.CreateAdd(distances(e, 8, Masked::yes), e.argument(2)); }

Value* mean_of_bytes(Emitter& e) {
  Value* result = zero(e);
  for (unsigned i = 0; i < 4; ++i) {
    Value* round = e.ir.CreateAnd(element(e, e.argument(2), i, 8, false), 1);
    Value* sum = e.ir.CreateAdd(element(e, e.argument(0), i, 8, false), element(e, e.argument(1), i, 8, false));
    result = e.ir.CreateOr(result, e.ir.CreateShl(e.ir.CreateLShr(e.ir.CreateAdd(sum, round), 1), i * 8));
  }
  return result;
}

Value* aligned_bytes(Emitter& e) {
  Value* bits = e.ir.CreateShl(e.ir.CreateAnd(e.argument(2), 3), 3);
  return e.ir.CreateIntrinsic(fshr, {e.call.getType()}, {e.argument(0), e.argument(1), bits});
}

Value* of_24_bits(Emitter& e, Value* value, bool is_signed) {
  return element(e, e.ir.CreateTrunc(value, e.ir.getInt32Ty()), 0, 24, is_signed);
}
Value* product_of_24(Emitter& e, bool is_signed, unsigned from) {
  const auto wide = [&](unsigned i) {
    Value* low = of_24_bits(e, e.argument(i), is_signed);
    return is_signed ? e.ir.CreateSExt(low, e.ir.getInt64Ty()) : e.ir.CreateZExt(low, e.ir.getInt64Ty());
  };
  Value* product = e.ir.CreateMul(wide(0), wide(1));
  return e.ir.CreateTrunc(from == 0 ? product : e.ir.CreateLShr(product, from), e.call.getType());
}
Value* mul_i24(Emitter& e) { return product_of_24(e, true, 0); }
Value* mul_u24(Emitter& e) { return product_of_24(e, false, 0); }
Value* mulhi_i24(Emitter& e) { return product_of_24(e, true, 32); }
Value* mulhi_u24(Emitter& e) { return product_of_24(e, false, 32); }

Value* first_other_than_sign(Emitter& e) {
  Value* others = e.ir.CreateXor(e.argument(0), e.ir.CreateAShr(e.argument(0), 31));
  Value* leading = e.ir.CreateBinaryIntrinsic(ctlz, others, e.ir.getFalse());
  return e.ir.CreateSelect(e.ir.CreateICmpEQ(others, zero(e)), llvm::Constant::getAllOnesValue(e.call.getType()), leading);
}

Value* saturated(Emitter& e, Value* value, int64_t least, int64_t most, bool is_signed) {
  llvm::Type* type = value->getType();
  Value* low = llvm::ConstantInt::getSigned(type, least);
  Value* high = llvm::ConstantInt::getSigned(type, most);
  value = e.ir.CreateBinaryIntrinsic(is_signed ? smax : umax, value, low);
  return e.ir.CreateTrunc(e.ir.CreateBinaryIntrinsic(is_signed ? smin : umin, value, high), e.ir.getInt16Ty());
}
Value* two_saturated(Emitter& e, int64_t least, int64_t most, bool is_signed) {
  Value* both = llvm::PoisonValue::get(e.call.getType());
  for (uint64_t i = 0; i < 2; ++i)
    both = e.ir.CreateInsertElement(both, saturated(e, e.argument(static_cast<unsigned>(i)), least, most, is_signed), i);
  return both;
}
Value* two_signed(Emitter& e) { return two_saturated(e, INT16_MIN, INT16_MAX, true); }
Value* two_unsigned(Emitter& e) { return two_saturated(e, 0, UINT16_MAX, false); }

struct Factor {
  Value* word;  // of elements
  bool is_signed;
};
// The products of the elements of two words and a third number, summed.
Value* dot(Emitter& e, unsigned bits, Factor a, Factor b, Value* start, bool saturates) {
  llvm::IRBuilder<>& ir = e.ir;
  const bool is_signed = a.is_signed || b.is_signed;
  const auto wide = [&](Value* value, bool with_sign) {
    return with_sign ? ir.CreateSExt(value, ir.getInt64Ty()) : ir.CreateZExt(value, ir.getInt64Ty());
  };
  const auto factor = [&](const Factor& from, unsigned i) {
    Value* word = ir.CreateBitCast(from.word, ir.getInt32Ty());
    return wide(element(e, word, i, bits, from.is_signed), from.is_signed);
  };
  Value* sum = wide(start, is_signed);
  for (unsigned i = 0; i < 32 / bits; ++i) sum = ir.CreateAdd(sum, ir.CreateMul(factor(a, i), factor(b, i)));
  if (saturates) {
    const auto limit = [&](int64_t value) { return ir.getInt64(static_cast<uint64_t>(value)); };
    if (is_signed) sum = ir.CreateBinaryIntrinsic(smax, sum, limit(INT32_MIN));
    sum = ir.CreateBinaryIntrinsic(is_signed ? smin : umin, sum, limit(is_signed ? INT32_MAX : int64_t{UINT32_MAX}));
  }
  return ir.CreateTrunc(sum, ir.getInt32Ty());
}
// two words, a number, whether it saturates
Value* dot_of(Emitter& e, unsigned bits, bool is_signed) {
  return dot(e, bits, {e.argument(0), is_signed}, {e.argument(1), is_signed}, e.argument(2), e.constant(3) != 0);
}
Value* sdot2(Emitter& e) { return dot_of(e, 16, true); }
Value* udot2(Emitter& e) { return dot_of(e, 16, false); }
Value* sdot4(Emitter& e) { return dot_of(e, 8, true); }
Value* udot4(Emitter& e) { return dot_of(e, 8, false); }
Value* sdot8(Emitter& e) { return dot_of(e, 4, true); }
Value* udot8(Emitter& e) { return dot_of(e, 4, false); }
// Each word behind whether it has signs.
Value* mixed_dot(Emitter& e, unsigned bits) {
  return dot(e, bits, {e.argument(1), e.constant(0) != 0}, {e.argument(3), e.constant(2) != 0}, e.argument(4),
             e.constant(5) != 0);
}
Value* sudot4(Emitter& e) { return mixed_dot(e, 8); }
Value* sudot8(Emitter& e) { return mixed_dot(e, 4); }

constexpr Row kRows[] = {
    {amdgcn_perm, permuted_bytes},
    {amdgcn_ubfe, unsigned_field},
    {amdgcn_sbfe, signed_field},
    {amdgcn_sad_u8, sad_bytes},
    {amdgcn_sad_hi_u8, sad_bytes_high},
    {amdgcn_sad_u16, sad_halves},
    {amdgcn_msad_u8, sad_masked},
    {amdgcn_lerp, mean_of_bytes},
    {amdgcn_alignbyte, aligned_bytes},
    {amdgcn_mul_i24, mul_i24},
    {amdgcn_mul_u24, mul_u24},
    {amdgcn_mulhi_i24, mulhi_i24},
    {amdgcn_mulhi_u24, mulhi_u24},
    {amdgcn_sffbh, first_other_than_sign},
    {amdgcn_cvt_pk_i16, two_signed},
    {amdgcn_cvt_pk_u16, two_unsigned},
    {amdgcn_sdot2, sdot2},
    {amdgcn_udot2, udot2},
    {amdgcn_sdot4, sdot4},
    {amdgcn_udot4, udot4},
    {amdgcn_sdot8, sdot8},
    {amdgcn_udot8, udot8},
    {amdgcn_sudot4, sudot4},
    {amdgcn_sudot8, sudot8},
};

}  // namespace

std::span<const Row> bit_rows() { return kRows; }

}  // namespace mneme::cpu::amdgcn
