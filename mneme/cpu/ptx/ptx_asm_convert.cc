// Conversions: cvt between every pair of integer and floating-point types, cvt.pack, cvta.
#include <array>

#include "mneme/cpu/ptx/ptx_asm_emit.h"
#include "mneme/cpu/ptx/ptx_asm_float_math.h"

namespace mneme::ptx {
namespace {

using llvm::Value;

struct Conversion {
  std::string_view round;  // "rni" … or "rn" …, empty where none is said
  bool ftz = false, saturate = false, relu = false, finite = false;
  Type to, from;
};

Value* clamp_integer(Op& op, Value* value, Type from, Type to) {
  // Through 65 bits, in which every value of both types has its place.
  llvm::Type* wide = op.ir.getIntNTy(65);
  Value* exact = from.is_signed() ? op.ir.CreateSExt(value, wide) : op.ir.CreateZExt(value, wide);
  llvm::APInt low = to.is_signed() ? llvm::APInt::getSignedMinValue(to.bits).sext(65) : llvm::APInt(65, 0);
  llvm::APInt high =
      to.is_signed() ? llvm::APInt::getSignedMaxValue(to.bits).sext(65) : llvm::APInt::getMaxValue(to.bits).zext(65);
  auto limit = [&](llvm::Intrinsic::ID id, const llvm::APInt& bound) {
    exact = op.ir.CreateIntrinsic(id, {wide}, {exact, llvm::ConstantInt::get(wide, bound)});
  };
  limit(llvm::Intrinsic::smax, low);
  limit(llvm::Intrinsic::smin, high);
  return op.ir.CreateTrunc(exact, op.ir.getIntNTy(to.bits));
}

void integer_to_integer(Op& op, const Conversion& how) {
  Value* value = op.in(1, how.from);
  if (how.saturate) return op.out(0, clamp_integer(op, value, how.from, how.to), how.to);
  llvm::Type* type = op.ir.getIntNTy(how.to.bits);
  // Extends by the source's sign, and then the register beyond by the destination's.
  op.out(0, how.from.is_signed() ? op.ir.CreateSExtOrTrunc(value, type) : op.ir.CreateZExtOrTrunc(value, type), how.to);
}

Value* round_to_integral(FloatMath& math, std::string_view round, Value* wide) {
  llvm::Intrinsic::ID id = round == "rzi" || round == "rz"   ? llvm::Intrinsic::trunc
                           : round == "rmi" || round == "rm" ? llvm::Intrinsic::floor
                           : round == "rpi" || round == "rp" ? llvm::Intrinsic::ceil
                                                             : llvm::Intrinsic::roundeven;
  return math.call(id, {wide});
}

void float_to_integer(Op& op, const Conversion& how) {
  FloatMath math(op.ir);
  Value* value = op.in(1, how.from);
  if (how.ftz) value = math.flush(how.from, value);
  Value* wide = round_to_integral(math, how.round.empty() ? "rzi" : how.round, math.widen(how.from, value));
  // A NaN becomes 0 in 32 bits and less, except from f64; else the most negative value.
  uint64_t nan = how.from.bits == 64 || how.to.bits == 64 ? uint64_t{1} << (how.to.bits - 1) : 0;
  op.out(0, math.to_integer(wide, how.to, nan), how.to);
}

void integer_to_float(Op& op, const Conversion& how) {
  FloatMath math(op.ir);
  Value* result = math.from_integer(op.in(1, how.from), how.from.is_signed(), how.to, round_of(how.round));
  if (how.saturate) result = math.saturate(how.to, result);
  op.out(0, result, how.to);
}

Value* largest_finite(Op& op, Type type, Value* value) {
  FloatMath math(op.ir);
  Value* wide = math.widen(type, value);
  double limit = type.kind == TypeKind::brain ? 0x1.fep127 : type.bits == 16 ? 65504.0 : 0x1.fffffep127;
  Value* bound = llvm::ConstantFP::get(wide->getType(), limit);
  Value* low = math.call(llvm::Intrinsic::minnum, {wide, bound});
  Value* both = math.call(llvm::Intrinsic::maxnum, {low, op.ir.CreateFNeg(bound)});
  Value* kept = op.ir.CreateSelect(op.ir.CreateFCmpUNO(wide, wide), wide, both);
  return math.narrow(kept, type, Round::nearest);
}

// One value to a floating-point type of another or the same width.
Value* convert_float(Op& op, const Conversion& how, Value* value) {
  FloatMath math(op.ir);
  Type from = how.from.element();
  Type to = how.to.element();
  if (how.ftz) value = math.flush(from, value);
  Value* wide = math.widen(from, value);
  if (how.round.size() == 3 && how.round != "rna") wide = round_to_integral(math, how.round, wide);
  Value* result = math.narrow(wide, to, round_of(how.round));
  if (how.ftz && to.bits == 32) result = math.flush(to, result);
  if (how.finite) result = largest_finite(op, to, result);
  if (how.saturate) result = math.saturate(to, result);
  if (how.relu) result = math.relu(to, result);
  return result;
}

// tf32 is a float whose 13 low bits are zero.
Value* convert_tensor_float(Op& op, const Conversion& how, Value* value) {
  Value* raw = op.ir.CreateBitCast(value, op.ir.getInt32Ty());
  Value* bias = op.i32(how.round == "rz" ? 0 : 0x1000);
  if (how.round == "rn") bias = op.ir.CreateAdd(op.i32(0xfff), op.ir.CreateAnd(op.ir.CreateLShr(raw, 13), 1));
  Value* infinite = op.ir.CreateICmpEQ(op.ir.CreateAnd(raw, 0x7fffffff), op.i32(0x7f800000));
  Value* rounded = op.ir.CreateSelect(infinite, raw, op.ir.CreateAnd(op.ir.CreateAdd(raw, bias), ~uint64_t{0x1fff} & 0xffffffff));
  if (how.finite) {
    Value* magnitude = op.ir.CreateAnd(rounded, 0x7fffffff);
    Value* limited = op.ir.CreateIntrinsic(llvm::Intrinsic::umin, {op.ir.getInt32Ty()}, {magnitude, op.i32(0x7f7fe000)});
    rounded = op.ir.CreateOr(limited, op.ir.CreateAnd(rounded, 0x80000000));
  }
  Value* wide = op.ir.CreateBitCast(value, op.ir.getFloatTy());
  Value* result = op.ir.CreateSelect(op.ir.CreateFCmpUNO(wide, wide), op.i32(0x7fffffff), rounded);
  if (!how.relu) return result;
  return op.ir.CreateSelect(op.ir.CreateFCmpOLE(wide, op.zero(kF32)), op.i32(0), result);
}

Value* to_small(Op& op, const Conversion& how, Value* value) {
  FloatMath math(op.ir);
  Value* wide = math.widen(how.from.element(), value);
  if (how.relu) wide = math.relu(kF32, wide);
  return math.to_small(wide, how.to.element());
}
Value* from_small(Op& op, const Conversion& how, Value* byte) {
  FloatMath math(op.ir);
  Value* value = math.narrow(math.from_small(byte, how.from.element()), how.to.element(), Round::nearest);
  return how.relu ? math.relu(how.to.element(), value) : value;
}

Value* convert_one(Op& op, const Conversion& how, Value* value) {
  if (how.to.kind == TypeKind::tensor) return convert_tensor_float(op, how, value);
  if (how.to.kind == TypeKind::small) return to_small(op, how, value);
  if (how.from.kind == TypeKind::small) return from_small(op, how, value);
  return convert_float(op, how, value);
}

// Packed results: from a packed source, or from two values of which the first goes to the upper half.
void packed(Op& op, const Conversion& how) {
  if (how.from.lanes == how.to.lanes) {
    if (!op.expect(2, 2)) return;
    Value* source = op.in(1, how.from);
    return op.out(0, op.lanes(how.from, {source}, [&](llvm::ArrayRef<Value*> lane) { return convert_one(op, how, lane[0]); }),
                  how.to);
  }
  if (!op.expect(3, 3)) return;
  Value* high = convert_one(op, how, op.in(1, how.from));
  Value* low = convert_one(op, how, op.in(2, how.from));
  Value* result = llvm::PoisonValue::get(ir_type(op.ir.getContext(), how.to));
  result = op.ir.CreateInsertElement(result, low, uint64_t{0});
  op.out(0, op.ir.CreateInsertElement(result, high, uint64_t{1}), how.to);
}

// cvt.pack.sat.u8.s32.b32 d, a, b, c: a and b saturated and packed below what c has shifted up.
void pack(Op& op) {
  op.flag("sat");
  Type to = op.type();
  Type from = op.type();
  std::optional<Type> merge = op.maybe_type();
  size_t operands = merge ? 4 : 3;
  if (!op.expect(operands, operands)) return;
  llvm::Type* word = op.ir.getInt32Ty();
  Value* a = op.ir.CreateZExt(clamp_integer(op, op.in(1, from), from, to), word);
  Value* b = op.ir.CreateZExt(clamp_integer(op, op.in(2, from), from, to), word);
  Value* result = op.ir.CreateOr(op.ir.CreateShl(a, to.bits), b);
  if (merge) result = op.ir.CreateOr(result, op.ir.CreateShl(op.in(3, bits_type(32)), 2 * to.bits));
  op.out(0, result, bits_type(32));
}

void cvt(Op& op) {
  if (op.flag("pack")) return pack(op);
  Conversion how;
  how.round = op.choice({"rni", "rzi", "rmi", "rpi", "rn", "rz", "rm", "rp", "rna"});
  how.ftz = op.flag("ftz");
  how.saturate = op.flag("sat");
  how.relu = op.flag("relu");
  how.finite = op.flag("satfinite");
  how.to = op.type();
  how.from = op.type();
  if (op.failed()) return;
  if (how.to.lanes != 1) return packed(op, how);
  if (!op.expect(2, 2)) return;
  if (how.to.is_integer() && how.from.is_integer()) return integer_to_integer(op, how);
  if (how.to.is_integer()) return float_to_integer(op, how);
  if (how.from.is_integer()) return integer_to_float(op, how);
  op.out(0, convert_one(op, how, op.in(1, how.from)), how.to);
}

// Between the generic space and the others. Only shared addresses have a form of their own (see intrinsics.h).
void cvta(Op& op) {
  bool to = op.flag("to");
  std::string_view space = op.choice({"global", "shared", "shared::cta", "local", "const", "param", "param::entry"});
  Type type = op.type();
  if (!op.expect(2, 2)) return;
  Value* address = op.in(1, type);
  if (space.starts_with("shared") && !to) address = op.ir.CreatePtrToInt(op.thread.shared_pointer(address), op.ir.getInt64Ty());
  op.out(0, address, to ? type : kU64);
}

}  // namespace

std::span<const Entry> convert_instructions() {
  static constexpr std::array table = {Entry{"cvt", cvt}, Entry{"cvta", cvta}};
  return table;
}

}  // namespace mneme::ptx
