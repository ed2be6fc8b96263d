// Integer arithmetic: add, sub, mul, mad with and without carry, div, rem, sad, abs, neg, min, max, dp4a, dp2a. The mnemonics
// that floats share are handed to ptx_asm_float.cc by their type.
#include <array>

#include "mneme/cpu/ptx/ptx_asm_emit.h"

namespace mneme::ptx {
namespace {

using llvm::Value;

Value* call(Op& op, llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> arguments) {
  return op.ir.CreateIntrinsic(id, {arguments[0]->getType()}, arguments);
}

Value* wider(Op& op, Value* value, Type type) {
  llvm::Type* wide = op.ir.getIntNTy(type.bits * 2);
  return type.is_signed() ? op.ir.CreateSExt(value, wide) : op.ir.CreateZExt(value, wide);
}

// The value and the carry flag. As on the hardware, a - b is a + ~b + 1: the flag is set where nothing was borrowed, which
// shows where a program mixes additions and subtractions in one chain.
struct Sum {
  Value* value;
  Value* carry;
};
Sum add_with_carry(Op& op, Value* a, Value* b, Value* carry) {
  llvm::Type* type = a->getType();
  Value* sum = op.ir.CreateAdd(a, b);
  Value* first = op.ir.CreateICmpULT(sum, a);
  if (!carry) return {sum, first};
  Value* total = op.ir.CreateAdd(sum, op.ir.CreateZExt(carry, type));
  return {total, op.ir.CreateOr(first, op.ir.CreateICmpULT(total, sum))};
}
Sum subtract_with_carry(Op& op, Value* a, Value* b, Value* carry) {
  return add_with_carry(op, a, op.ir.CreateNot(b), carry ? carry : op.ir.getTrue());
}

Value* load_carry(Op& op) { return op.ir.CreateLoad(op.ir.getInt1Ty(), op.function().carry()); }
void store_carry(Op& op, Value* carry) { op.ir.CreateStore(carry, op.function().carry()); }

void add_or_subtract(Op& op, bool subtract, bool carry_in) {
  bool carry_out = op.flag("cc");
  bool saturate = !carry_in && !carry_out && op.flag("sat");
  Type type = op.type();
  if (!op.expect(3, 3)) return;
  Value* a = op.in(1, type);
  Value* b = op.in(2, type);
  if (saturate) {
    if (type != Type{TypeKind::signed_integer, 32}) return op.fail(".sat is for .s32");
    return op.out(0, call(op, subtract ? llvm::Intrinsic::ssub_sat : llvm::Intrinsic::sadd_sat, {a, b}), type);
  }
  if (!carry_in && !carry_out) return op.out(0, subtract ? op.ir.CreateSub(a, b) : op.ir.CreateAdd(a, b), type);
  if (type.lanes != 1) return op.fail("a carry needs one integer");
  Value* in = carry_in ? load_carry(op) : nullptr;
  Sum sum = subtract ? subtract_with_carry(op, a, b, in) : add_with_carry(op, a, b, in);
  if (carry_out) store_carry(op, sum.carry);
  op.out(0, sum.value, type);
}

// Floats share these mnemonics: looks at the type without taking it.
std::optional<Type> peek_type(Op& op) {
  for (const std::string& modifier : op.instruction().modifiers)
    if (std::optional<Type> type = parse_type(modifier)) return type;
  return std::nullopt;
}
bool is_float(Op& op) {
  std::optional<Type> type = peek_type(op);
  return type && type->is_float();
}

void add(Op& op) { is_float(op) ? emit_float_arithmetic(op, op.type()) : add_or_subtract(op, false, false); }
void sub(Op& op) { is_float(op) ? emit_float_arithmetic(op, op.type()) : add_or_subtract(op, true, false); }
void addc(Op& op) { add_or_subtract(op, false, true); }
void subc(Op& op) { add_or_subtract(op, true, true); }

// The product of mul and mad, of the type of the result.
struct Product {
  Value* value;
  Type type;
};
Product product(Op& op, Type type, std::string_view part) {
  Value* a = op.in(1, type);
  Value* b = op.in(2, type);
  if (part == "lo") return {op.ir.CreateMul(a, b), type};
  Value* wide = op.ir.CreateMul(wider(op, a, type), wider(op, b, type));
  Type wide_type = type;
  wide_type.bits *= 2;
  if (part == "wide") return {wide, wide_type};
  return {op.ir.CreateTrunc(op.ir.CreateLShr(wide, type.bits), op.ir.getIntNTy(type.bits)), type};
}

void mul(Op& op) {
  if (is_float(op)) return emit_float_arithmetic(op, op.type());
  std::string_view part = op.choice({"lo", "hi", "wide"}, "lo");
  Type type = op.type();
  if (!op.expect(3, 3)) return;
  Product result = product(op, type, part);
  op.out(0, result.value, result.type);
}

void multiply_add(Op& op, bool carry_in) {
  std::string_view part = op.choice({"lo", "hi", "wide"}, "lo");
  bool carry_out = op.flag("cc");
  bool saturate = op.flag("sat");
  Type type = op.type();
  if (!op.expect(4, 4)) return;
  Product result = product(op, type, part);
  Value* c = op.in(3, result.type);
  if (saturate) {
    if (part != "hi" || type != Type{TypeKind::signed_integer, 32}) return op.fail(".sat is for .hi.s32");
    return op.out(0, call(op, llvm::Intrinsic::sadd_sat, {result.value, c}), result.type);
  }
  Sum sum = add_with_carry(op, result.value, c, carry_in ? load_carry(op) : nullptr);
  if (carry_out) store_carry(op, sum.carry);
  op.out(0, sum.value, result.type);
}
void mad(Op& op) { is_float(op) ? emit_float_arithmetic(op, op.type()) : multiply_add(op, false); }
void madc(Op& op) { multiply_add(op, true); }

// The low 24 bits of each, sign- or zero-extended; the product has 48 bits and .hi is bits 16 to 47.
Value* product24(Op& op, Type type, std::string_view part) {
  auto extend = [&](Value* value) {
    value = op.ir.CreateShl(wider(op, value, type), 40);
    return type.is_signed() ? op.ir.CreateAShr(value, 40) : op.ir.CreateLShr(value, 40);
  };
  Value* wide = op.ir.CreateMul(extend(op.in(1, type)), extend(op.in(2, type)));
  return op.ir.CreateTrunc(part == "hi" ? op.ir.CreateLShr(wide, 16) : wide, op.ir.getInt32Ty());
}
void mul24(Op& op) {
  std::string_view part = op.choice({"lo", "hi"}, "lo");
  Type type = op.type();
  if (op.expect(3, 3)) op.out(0, product24(op, type, part), type);
}
void mad24(Op& op) {
  std::string_view part = op.choice({"lo", "hi"}, "lo");
  bool saturate = op.flag("sat");
  Type type = op.type();
  if (!op.expect(4, 4)) return;
  Value* a = product24(op, type, part);
  Value* c = op.in(3, type);
  op.out(0, saturate ? call(op, llvm::Intrinsic::sadd_sat, {a, c}) : op.ir.CreateAdd(a, c), type);
}

// A GPU does not trap: division by zero gives all ones, a remainder by zero the dividend, and the most negative value divided
// by -1 itself.
void divide(Op& op, bool remainder) {
  Type type = op.type();
  if (!op.expect(3, 3)) return;
  Value* a = op.in(1, type);
  Value* b = op.in(2, type);
  Value* zero = op.zero(type);
  Value* ones = llvm::Constant::getAllOnesValue(a->getType());
  Value* by_zero = op.ir.CreateICmpEQ(b, zero);
  Value* safe = op.ir.CreateSelect(by_zero, llvm::ConstantInt::get(a->getType(), 1), b);
  Value* result;
  if (type.is_signed()) {
    Value* by_minus_one = op.ir.CreateICmpEQ(b, ones);
    safe = op.ir.CreateSelect(by_minus_one, llvm::ConstantInt::get(a->getType(), 1), safe);
    result = remainder ? op.ir.CreateSRem(a, safe) : op.ir.CreateSDiv(a, safe);
    result = op.ir.CreateSelect(by_minus_one, remainder ? zero : op.ir.CreateNeg(a), result);
  } else {
    result = remainder ? op.ir.CreateURem(a, safe) : op.ir.CreateUDiv(a, safe);
  }
  op.out(0, op.ir.CreateSelect(by_zero, remainder ? a : ones, result), type);
}
void div(Op& op) { is_float(op) ? emit_float_arithmetic(op, op.type()) : divide(op, false); }
void rem(Op& op) { divide(op, true); }

void sad(Op& op) {
  Type type = op.type();
  if (!op.expect(4, 4)) return;
  Value* a = op.in(1, type);
  Value* b = op.in(2, type);
  Value* less = type.is_signed() ? op.ir.CreateICmpSLT(a, b) : op.ir.CreateICmpULT(a, b);
  Value* distance = op.ir.CreateSelect(less, op.ir.CreateSub(b, a), op.ir.CreateSub(a, b));
  op.out(0, op.ir.CreateAdd(op.in(3, type), distance), type);
}

void neg(Op& op) {
  if (is_float(op)) return emit_float_sign(op, op.type());
  Type type = op.type();
  if (op.expect(2, 2)) op.out(0, op.ir.CreateNeg(op.in(1, type)), type);
}
void abs(Op& op) {
  if (is_float(op)) return emit_float_sign(op, op.type());
  Type type = op.type();
  if (!op.expect(2, 2)) return;
  Value* a = op.in(1, type);
  op.out(0, op.ir.CreateIntrinsic(llvm::Intrinsic::abs, {a->getType()}, {a, op.ir.getFalse()}), type);
}

void minmax(Op& op) {
  if (is_float(op)) return emit_float_minmax(op, op.type());
  bool relu = op.flag("relu");
  Type type = op.type();
  if (!op.expect(3, 3)) return;
  bool least = op.instruction().opcode == "min";
  llvm::Intrinsic::ID id = type.is_signed() ? (least ? llvm::Intrinsic::smin : llvm::Intrinsic::smax)
                                            : (least ? llvm::Intrinsic::umin : llvm::Intrinsic::umax);
  Value* result = call(op, id, {op.in(1, type), op.in(2, type)});
  if (relu) result = call(op, llvm::Intrinsic::smax, {result, op.zero(type)});
  op.out(0, result, type);
}

// Four bytes of each, or two halves of the first with two bytes of the second.
void dot_product(Op& op, unsigned parts) {
  std::string_view half = parts == 2 ? op.choice({"lo", "hi"}, "lo") : "lo";
  Type a_type = op.type();
  Type b_type = op.type();
  if (!op.expect(4, 4)) return;
  auto part = [&](Value* value, unsigned bits, unsigned index, Type type) {
    Value* narrow = op.ir.CreateTrunc(op.ir.CreateLShr(value, bits * index), op.ir.getIntNTy(bits));
    return type.is_signed() ? op.ir.CreateSExt(narrow, op.ir.getInt32Ty()) : op.ir.CreateZExt(narrow, op.ir.getInt32Ty());
  };
  Value* a = op.in(1, bits_type(32));
  Value* b = op.in(2, bits_type(32));
  Value* sum = op.in(3, bits_type(32));
  for (unsigned i = 0; i < parts; ++i) {
    Value* left = part(a, 32 / parts, i, a_type);
    Value* right = part(b, 8, half == "hi" ? i + 2 : i, b_type);
    sum = op.ir.CreateAdd(sum, op.ir.CreateMul(left, right));
  }
  op.out(0, sum, bits_type(32));
}
void dp4a(Op& op) { dot_product(op, 4); }
void dp2a(Op& op) { dot_product(op, 2); }

}  // namespace

std::span<const Entry> integer_instructions() {
  static constexpr std::array table = {
      Entry{"add", add},    Entry{"sub", sub},   Entry{"addc", addc},   Entry{"subc", subc},   Entry{"mul", mul},
      Entry{"mad", mad},    Entry{"madc", madc}, Entry{"mul24", mul24}, Entry{"mad24", mad24}, Entry{"div", div},
      Entry{"rem", rem},    Entry{"sad", sad},   Entry{"neg", neg},     Entry{"abs", abs},     Entry{"min", minmax},
      Entry{"max", minmax}, Entry{"dp4a", dp4a}, Entry{"dp2a", dp2a},
  };
  return table;
}

}  // namespace mneme::ptx
