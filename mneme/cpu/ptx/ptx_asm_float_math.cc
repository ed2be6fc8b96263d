#include "mneme/cpu/ptx/ptx_asm_float_math.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

namespace mneme::ptx {

Round round_of(std::string_view modifier) {
  if (modifier == "rz") return Round::zero;
  if (modifier == "rm") return Round::down;
  if (modifier == "rp") return Round::up;
  if (modifier == "rna") return Round::away;
  return Round::nearest;
}

llvm::Value* FloatMath::call(llvm::Intrinsic::ID id, llvm::ArrayRef<llvm::Value*> arguments) {
  return ir.CreateIntrinsic(id, {arguments[0]->getType()}, arguments);
}

llvm::Value* FloatMath::bits(llvm::Value* value) {
  return ir.CreateBitCast(value, ir.getIntNTy(static_cast<unsigned>(value->getType()->getPrimitiveSizeInBits())));
}
llvm::Value* FloatMath::like(llvm::Value* bits, llvm::Value* of) { return ir.CreateBitCast(bits, of->getType()); }
llvm::Value* FloatMath::real(llvm::Value* like, double value) { return llvm::ConstantFP::get(like->getType(), value); }
llvm::Value* FloatMath::sign_bit(llvm::Value* bits) {
  return ir.CreateICmpSLT(bits, llvm::Constant::getNullValue(bits->getType()));
}

// The neighbour of `value` where `when` holds: one further from zero, or one nearer to it.
llvm::Value* FloatMath::step(llvm::Value* value, llvm::Value* when, llvm::Value* away_from_zero) {
  llvm::Value* raw = bits(value);
  llvm::Value* one = llvm::ConstantInt::get(raw->getType(), 1);
  llvm::Value* moved = ir.CreateSelect(away_from_zero, ir.CreateAdd(raw, one), ir.CreateSub(raw, one));
  return like(ir.CreateSelect(when, moved, raw), value);
}

// `value` was rounded to nearest and the exact result is value + error: rounds to odd instead. Only error's sign is looked at.
llvm::Value* FloatMath::make_odd(llvm::Value* value, llvm::Value* error) {
  llvm::Value* raw = bits(value);
  llvm::Value* even = ir.CreateICmpEQ(ir.CreateAnd(raw, 1), llvm::ConstantInt::get(raw->getType(), 0));
  llvm::Value* inexact = ir.CreateFCmpONE(error, real(error, 0.0));
  llvm::Value* error_negative = ir.CreateFCmpOLT(error, real(error, 0.0));
  llvm::Value* away = ir.CreateICmpEQ(error_negative, sign_bit(raw));
  return step(value, ir.CreateAnd(inexact, even), away);
}

llvm::Value* FloatMath::odd_sum(llvm::Value* a, llvm::Value* b) {
  llvm::Value* sum = ir.CreateFAdd(a, b);
  llvm::Value* virtual_b = ir.CreateFSub(sum, a);
  llvm::Value* virtual_a = ir.CreateFSub(sum, virtual_b);
  llvm::Value* error = ir.CreateFAdd(ir.CreateFSub(a, virtual_a), ir.CreateFSub(b, virtual_b));
  return make_odd(sum, error);
}

llvm::Value* FloatMath::narrow_ieee(llvm::Value* wide, llvm::Type* to, Round round) {
  if (wide->getType() == to) return wide;
  // There is no instruction from double to half, and twice to nearest is not once.
  if (wide->getType()->isDoubleTy() && to->isHalfTy()) wide = narrow_ieee(wide, ir.getFloatTy(), Round::odd);
  llvm::Value* narrowed = ir.CreateFPTrunc(wide, to);
  if (round == Round::nearest) return narrowed;
  llvm::Value* back = ir.CreateFPExt(narrowed, wide->getType());
  llvm::Value* too_high = ir.CreateFCmpOGT(back, wide);
  llvm::Value* too_low = ir.CreateFCmpOLT(back, wide);
  llvm::Value* negative = sign_bit(bits(narrowed));
  switch (round) {
    case Round::down: return step(narrowed, too_high, negative);
    case Round::up: return step(narrowed, too_low, ir.CreateNot(negative));
    case Round::zero: return step(narrowed, ir.CreateSelect(negative, too_low, too_high), ir.getFalse());
    default: {
      llvm::Value* raw = bits(narrowed);
      llvm::Value* even = ir.CreateICmpEQ(ir.CreateAnd(raw, 1), llvm::ConstantInt::get(raw->getType(), 0));
      llvm::Value* too_large = ir.CreateSelect(negative, too_low, too_high);
      llvm::Value* inexact = ir.CreateOr(too_low, too_high);
      return step(narrowed, ir.CreateAnd(inexact, even), ir.CreateNot(too_large));
    }
  }
}

llvm::Value* FloatMath::narrow_brain(llvm::Value* wide, Round round) {
  if (wide->getType()->isDoubleTy()) wide = narrow_ieee(wide, ir.getFloatTy(), Round::odd);
  llvm::Value* raw = bits(wide);
  llvm::Value* nan = ir.CreateFCmpUNO(wide, wide);
  llvm::Value* kept = ir.CreateLShr(raw, 16);
  llvm::Value* rest = ir.CreateAnd(raw, 0xffff);
  llvm::Value* some = ir.CreateICmpNE(rest, ir.getInt32(0));
  llvm::Value* infinite = ir.CreateICmpEQ(ir.CreateAnd(raw, 0x7fffffff), ir.getInt32(0x7f800000));
  llvm::Value* up = ir.getFalse();
  switch (round) {
    case Round::nearest: up = ir.CreateICmpUGT(ir.CreateAdd(rest, ir.CreateAnd(kept, 1)), ir.getInt32(0x8000)); break;
    case Round::away: up = ir.CreateICmpUGE(rest, ir.getInt32(0x8000)); break;
    case Round::down: up = ir.CreateAnd(some, sign_bit(raw)); break;
    case Round::up: up = ir.CreateAnd(some, ir.CreateNot(sign_bit(raw))); break;
    default: break;
  }
  llvm::Value* rounded = ir.CreateAdd(kept, ir.CreateZExt(ir.CreateAnd(up, ir.CreateNot(infinite)), ir.getInt32Ty()));
  return ir.CreateTrunc(ir.CreateSelect(nan, ir.getInt32(0x7fff), rounded), ir.getInt16Ty());
}

llvm::Value* FloatMath::narrow(llvm::Value* wide, Type to, Round round) {
  if (to.kind == TypeKind::brain) return narrow_brain(wide, round);
  llvm::Type* type = to.bits == 16 ? ir.getHalfTy() : to.bits == 32 ? ir.getFloatTy() : ir.getDoubleTy();
  if (wide->getType()->getPrimitiveSizeInBits() < type->getPrimitiveSizeInBits()) return ir.CreateFPExt(wide, type);
  return narrow_ieee(wide, type, round);
}

llvm::Value* FloatMath::widen(Type type, llvm::Value* a) {
  if (type.kind == TypeKind::brain) return ir.CreateBitCast(ir.CreateShl(ir.CreateZExt(a, ir.getInt32Ty()), 16), ir.getFloatTy());
  return type.bits == 16 ? ir.CreateFPExt(a, ir.getFloatTy()) : a;
}

// x + (-x) is -0 when rounding down, and so is +0 + -0.
llvm::Value* FloatMath::zero_of_sum(llvm::Value* sum, llvm::Value* a, llvm::Value* b, llvm::Value* result) {
  llvm::Value* either = ir.CreateOr(bits(a), bits(b));
  llvm::Value* sign = ir.CreateSelect(sign_bit(either), real(result, -0.0), real(result, 0.0));
  return ir.CreateSelect(ir.CreateFCmpOEQ(sum, real(sum, 0.0)), sign, result);
}

llvm::Value* FloatMath::directed(std::string_view instruction, llvm::ArrayRef<llvm::Value*> arguments, Round round) {
  llvm::Module& module = *ir.GetInsertBlock()->getModule();
  auto control = [&](const char* name, uint32_t value) {
    if (llvm::GlobalVariable* found = module.getNamedGlobal(name)) return found;
    auto* global =
        new llvm::GlobalVariable(module, ir.getInt32Ty(), true, llvm::GlobalValue::PrivateLinkage, ir.getInt32(value), name);
    global->setAlignment(llvm::Align(4));
    return global;
  };
  // Exceptions masked, then the rounding control of bits 13 and 14.
  llvm::GlobalVariable* normal = control("mneme.mxcsr.nearest", 0x1f80);
  llvm::GlobalVariable* mode = round == Round::down ? control("mneme.mxcsr.down", 0x3f80)
                               : round == Round::up ? control("mneme.mxcsr.up", 0x5f80)
                                                    : control("mneme.mxcsr.zero", 0x7f80);
  size_t count = arguments.size();
  std::string text = fmt::format("vldmxcsr ${}\n\t{}\n\tvldmxcsr ${}", count + 1, instruction, count + 2);
  std::string constraints = "=x,0";
  for (size_t i = 1; i < count; ++i) constraints += ",x";
  constraints += ",*m,*m,~{dirflag},~{fpsr},~{flags}";
  llvm::SmallVector<llvm::Type*, 5> types;
  llvm::SmallVector<llvm::Value*, 5> values(arguments.begin(), arguments.end());
  values.push_back(mode);
  values.push_back(normal);
  for (llvm::Value* value : values) types.push_back(value->getType());
  auto* type = llvm::FunctionType::get(ir.getDoubleTy(), types, false);
  llvm::CallInst* call = ir.CreateCall(type, llvm::InlineAsm::get(type, text, constraints, false), values);
  for (size_t i = 0; i < 2; ++i)
    call->addParamAttr(static_cast<unsigned>(count + i),
                       llvm::Attribute::get(ir.getContext(), llvm::Attribute::ElementType, ir.getInt32Ty()));
  return call;
}

llvm::Value* FloatMath::add(Type type, llvm::Value* a, llvm::Value* b, Round round) {
  if (type.kind == TypeKind::brain || type.bits == 16) {
    llvm::Type* wide = type.kind == TypeKind::brain ? ir.getDoubleTy() : ir.getFloatTy();
    a = ir.CreateFPExt(widen(type, a), wide), b = ir.CreateFPExt(widen(type, b), wide);
    return narrow(type.kind == TypeKind::brain ? odd_sum(a, b) : ir.CreateFAdd(a, b), type, round);
  }
  if (round == Round::nearest) return ir.CreateFAdd(a, b);
  if (type.bits == 64) return directed("vaddsd $2, $1, $0", {a, b}, round);
  llvm::Value* sum = odd_sum(ir.CreateFPExt(a, ir.getDoubleTy()), ir.CreateFPExt(b, ir.getDoubleTy()));
  llvm::Value* result = narrow(sum, type, round);
  return round == Round::down ? zero_of_sum(sum, a, b, result) : result;
}

llvm::Value* FloatMath::mul(Type type, llvm::Value* a, llvm::Value* b, Round round) {
  if (type.bits == 64) return round == Round::nearest ? ir.CreateFMul(a, b) : directed("vmulsd $2, $1, $0", {a, b}, round);
  if (type.bits == 32 && round == Round::nearest) return ir.CreateFMul(a, b);
  llvm::Type* wide = type.kind == TypeKind::real && type.bits == 16 ? ir.getFloatTy() : ir.getDoubleTy();
  a = widen(type, a), b = widen(type, b);
  return narrow(ir.CreateFMul(ir.CreateFPExt(a, wide), ir.CreateFPExt(b, wide)), type, round);
}

llvm::Value* FloatMath::fma(Type type, llvm::Value* a, llvm::Value* b, llvm::Value* c, Round round) {
  if (type.bits >= 32 && round == Round::nearest) return call(llvm::Intrinsic::fma, {a, b, c});
  if (type.bits == 64) return directed("vfmadd213sd $3, $2, $0", {a, b, c}, round);
  llvm::Type* wide = type.kind == TypeKind::real && type.bits == 16 ? ir.getFloatTy() : ir.getDoubleTy();
  auto extend = [&](llvm::Value* value) { return ir.CreateFPExt(widen(type, value), wide); };
  llvm::Value* product = ir.CreateFMul(extend(a), extend(b));
  llvm::Value* addend = extend(c);
  llvm::Value* sum = odd_sum(product, addend);
  llvm::Value* result = narrow(sum, type, round);
  return round == Round::down && type.kind == TypeKind::real ? zero_of_sum(sum, product, addend, result) : result;
}

llvm::Value* FloatMath::div(Type type, llvm::Value* a, llvm::Value* b, Round round) {
  if (type.bits == 16) return narrow(ir.CreateFDiv(widen(type, a), widen(type, b)), type, round);
  if (round == Round::nearest) return ir.CreateFDiv(a, b);
  if (type.bits == 64) return directed("vdivsd $2, $1, $0", {a, b}, round);
  a = ir.CreateFPExt(a, ir.getDoubleTy()), b = ir.CreateFPExt(b, ir.getDoubleTy());
  llvm::Value* quotient = ir.CreateFDiv(a, b);
  llvm::Value* remainder = call(llvm::Intrinsic::fma, {ir.CreateFNeg(quotient), b, a});
  llvm::Value* error = ir.CreateSelect(sign_bit(bits(b)), ir.CreateFNeg(remainder), remainder);
  return narrow(make_odd(quotient, error), type, round);
}

llvm::Value* FloatMath::sqrt(Type type, llvm::Value* a, Round round) {
  if (type.bits == 16) return narrow(call(llvm::Intrinsic::sqrt, {widen(type, a)}), type, round);
  if (round == Round::nearest) return call(llvm::Intrinsic::sqrt, {a});
  if (type.bits == 64) return directed("vsqrtsd $1, $1, $0", {a}, round);
  a = ir.CreateFPExt(a, ir.getDoubleTy());
  llvm::Value* root = call(llvm::Intrinsic::sqrt, {a});
  return narrow(make_odd(root, call(llvm::Intrinsic::fma, {ir.CreateFNeg(root), root, a})), type, round);
}

llvm::Value* FloatMath::negate(Type type, llvm::Value* a) {
  return type.kind == TypeKind::brain ? ir.CreateXor(a, 0x8000) : ir.CreateFNeg(a);
}
llvm::Value* FloatMath::absolute(Type type, llvm::Value* a) {
  return type.kind == TypeKind::brain ? ir.CreateAnd(a, 0x7fff) : call(llvm::Intrinsic::fabs, {a});
}

llvm::Value* FloatMath::flush(Type type, llvm::Value* a) {
  llvm::Value* raw = bits(a);
  unsigned mantissa = type.kind == TypeKind::brain ? 7 : type.bits == 16 ? 10 : type.bits == 32 ? 23 : 52;
  unsigned width = raw->getType()->getIntegerBitWidth();
  llvm::APInt sign = llvm::APInt::getSignMask(width);
  llvm::APInt exponent = ~sign & ~llvm::APInt::getLowBitsSet(width, mantissa);
  llvm::Value* small = ir.CreateICmpEQ(ir.CreateAnd(raw, ir.getInt(exponent)), llvm::ConstantInt::get(raw->getType(), 0));
  return like(ir.CreateSelect(small, ir.CreateAnd(raw, ir.getInt(sign)), raw), a);
}

llvm::Value* FloatMath::saturate(Type type, llvm::Value* a) {
  llvm::Value* wide = widen(type, a);
  wide = ir.CreateSelect(ir.CreateFCmpOGT(wide, real(wide, 0.0)), wide, real(wide, 0.0));
  wide = ir.CreateSelect(ir.CreateFCmpOLT(wide, real(wide, 1.0)), wide, real(wide, 1.0));
  return narrow(wide, type, Round::nearest);
}

llvm::Value* FloatMath::relu(Type type, llvm::Value* a) {
  llvm::Value* wide = widen(type, a);
  return ir.CreateSelect(ir.CreateFCmpOLE(wide, real(wide, 0.0)), llvm::Constant::getNullValue(a->getType()), a);
}

// i64 and u64 as a double that is exact or rounded to odd: two halves that are exact, added.
llvm::Value* FloatMath::wide_integer(llvm::Value* value, bool is_signed) {
  llvm::Type* wide = ir.getDoubleTy();
  auto convert = [&](llvm::Value* v, bool s) { return s ? ir.CreateSIToFP(v, wide) : ir.CreateUIToFP(v, wide); };
  if (value->getType()->getIntegerBitWidth() <= 32) return convert(value, is_signed);
  llvm::Value* high = is_signed ? ir.CreateAShr(value, 32) : ir.CreateLShr(value, 32);
  llvm::Value* scaled = ir.CreateFMul(convert(high, is_signed), llvm::ConstantFP::get(wide, 4294967296.0));
  return odd_sum(scaled, convert(ir.CreateTrunc(value, ir.getInt32Ty()), false));
}

llvm::Value* FloatMath::from_integer(llvm::Value* value, bool is_signed, Type to, Round round) {
  bool plain = to.kind == TypeKind::real && to.bits >= 32 &&
               (round == Round::nearest || (to.bits == 64 && value->getType()->getIntegerBitWidth() <= 32));
  if (plain) {
    llvm::Type* type = to.bits == 32 ? ir.getFloatTy() : ir.getDoubleTy();
    return is_signed ? ir.CreateSIToFP(value, type) : ir.CreateUIToFP(value, type);
  }
  if (to.bits < 64) return narrow(wide_integer(value, is_signed), to, round);
  llvm::Type* wide = ir.getDoubleTy();
  llvm::Value* high = is_signed ? ir.CreateAShr(value, 32) : ir.CreateLShr(value, 32);
  high = is_signed ? ir.CreateSIToFP(high, wide) : ir.CreateUIToFP(high, wide);
  high = ir.CreateFMul(high, real(high, 4294967296.0));
  return add(to, high, ir.CreateUIToFP(ir.CreateTrunc(value, ir.getInt32Ty()), wide), round);
}

llvm::Value* FloatMath::to_integer(llvm::Value* a, Type to, uint64_t nan) {
  llvm::Type* type = ir.getIntNTy(to.bits);
  llvm::Intrinsic::ID id = to.is_signed() ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
  llvm::Value* converted = ir.CreateIntrinsic(id, {type, a->getType()}, {a});
  if (nan == 0) return converted;
  return ir.CreateSelect(ir.CreateFCmpUNO(a, a), llvm::ConstantInt::get(type, nan), converted);
}

// A double scaled so that the small type's exponent range ends where double's does has its rounding point at a fixed bit, also
// for subnormals.
llvm::Value* FloatMath::to_small(llvm::Value* value, Type small) {
  if (!value->getType()->isDoubleTy()) value = ir.CreateFPExt(value, ir.getDoubleTy());
  unsigned dropped = 52 - small.mantissa;
  unsigned bias = (1u << (small.exponent - 1)) - 1;
  bool has_infinity = small.exponent == 5;
  uint64_t largest = has_infinity ? 0x7b : 0x7e;
  llvm::Value* sign = ir.CreateAnd(ir.CreateLShr(bits(value), 56), 0x80);
  llvm::Value* magnitude = call(llvm::Intrinsic::fabs, {value});
  llvm::APFloat scale(llvm::APFloat::IEEEdouble(), llvm::APInt(64, uint64_t{bias} << 52));  // 2^(bias - 1023)
  llvm::Value* raw = bits(ir.CreateFMul(magnitude, llvm::ConstantFP::get(ir.getContext(), scale)));
  llvm::Value* odd = ir.CreateAnd(ir.CreateLShr(raw, dropped), 1);
  llvm::Value* below_half = ir.getInt64((uint64_t{1} << (dropped - 1)) - 1);
  raw = ir.CreateLShr(ir.CreateAdd(ir.CreateAdd(raw, below_half), odd), dropped);
  llvm::Value* limited = call(llvm::Intrinsic::umin, {raw, ir.getInt64(largest)});
  llvm::Value* result = ir.CreateOr(limited, sign);
  result = ir.CreateSelect(ir.CreateFCmpUNO(value, value), ir.getInt64(0x7f), result);
  return ir.CreateTrunc(result, ir.getInt8Ty());
}

llvm::Value* FloatMath::from_small(llvm::Value* byte, Type small) {
  unsigned bias = (1u << (small.exponent - 1)) - 1;
  llvm::Value* wide = ir.CreateZExt(byte, ir.getInt32Ty());
  llvm::Value* sign = ir.CreateShl(ir.CreateAnd(wide, 0x80), 24);
  llvm::Value* low = ir.CreateAnd(wide, 0x7f);
  llvm::Value* raw = ir.CreateShl(low, 23 - small.mantissa);
  // Times 2^(127 - bias): normal and subnormal alike.
  llvm::APFloat scale(llvm::APFloat::IEEEsingle(), llvm::APInt(32, (127u + 127u - bias) << 23));
  llvm::Value* value = ir.CreateFMul(ir.CreateBitCast(raw, ir.getFloatTy()), llvm::ConstantFP::get(ir.getContext(), scale));
  llvm::Value* result = ir.CreateOr(bits(value), sign);
  if (small.exponent == 5) {
    llvm::Value* special = ir.CreateICmpUGE(low, ir.getInt32(0x7c));
    llvm::Value* infinity_or_nan = ir.CreateOr(ir.CreateOr(sign, 0x7f800000), ir.CreateShl(ir.CreateAnd(low, 3), 21));
    result = ir.CreateSelect(special, infinity_or_nan, result);
  } else {
    result = ir.CreateSelect(ir.CreateICmpEQ(low, ir.getInt32(0x7f)), ir.getInt32(0x7fffffff), result);
  }
  return ir.CreateBitCast(result, ir.getFloatTy());
}

}  // namespace mneme::ptx
