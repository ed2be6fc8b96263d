// Logic and bit manipulation: and, or, xor, not, cnot, lop3, shl, shr, shf, bfe, bfi, bfind, brev, clz, popc, prmt, fns, szext,
// bmsk.
#include <llvm/IR/IntrinsicsX86.h>

#include <array>

#include "mneme/cpu/ptx/ptx_asm_emit.h"

namespace mneme::ptx {
namespace {

using llvm::Value;

Value* call(Op& op, llvm::Intrinsic::ID id, llvm::ArrayRef<Value*> arguments) {
  return op.ir.CreateIntrinsic(id, {arguments[0]->getType()}, arguments);
}
Value* least(Op& op, Value* a, uint64_t limit) {
  return call(op, llvm::Intrinsic::umin, {a, llvm::ConstantInt::get(a->getType(), limit)});
}

// Shifts by any amount; by the width or more gives zeros, or the sign.
Value* shift_left(Op& op, Value* value, Value* amount) {
  unsigned width = value->getType()->getIntegerBitWidth();
  Value* wide = op.ir.CreateZExtOrTrunc(least(op, amount, width), value->getType());
  Value* in_range = op.ir.CreateICmpULT(amount, llvm::ConstantInt::get(amount->getType(), width));
  Value* safe = op.ir.CreateSelect(in_range, wide, llvm::Constant::getNullValue(wide->getType()));
  return op.ir.CreateSelect(in_range, op.ir.CreateShl(value, safe), llvm::Constant::getNullValue(value->getType()));
}
Value* shift_right(Op& op, Value* value, Value* amount, bool arithmetic) {
  unsigned width = value->getType()->getIntegerBitWidth();
  if (arithmetic) return op.ir.CreateAShr(value, op.ir.CreateZExtOrTrunc(least(op, amount, width - 1), value->getType()));
  Value* in_range = op.ir.CreateICmpULT(amount, llvm::ConstantInt::get(amount->getType(), width));
  Value* wide = op.ir.CreateZExtOrTrunc(least(op, amount, width), value->getType());
  Value* safe = op.ir.CreateSelect(in_range, wide, llvm::Constant::getNullValue(wide->getType()));
  return op.ir.CreateSelect(in_range, op.ir.CreateLShr(value, safe), llvm::Constant::getNullValue(value->getType()));
}
// The low `count` bits set.
Value* low_mask(Op& op, llvm::Type* type, Value* count) {
  return op.ir.CreateNot(shift_left(op, llvm::Constant::getAllOnesValue(type), count));
}

Type as_bits(Type type) { return bits_type(type.bits); }

void logic(Op& op) {
  Type type = op.type();
  if (!op.expect(3, 3)) return;
  Value* a = op.in(1, type);
  Value* b = op.in(2, type);
  const std::string& opcode = op.instruction().opcode;
  op.out(0, opcode == "and" ? op.ir.CreateAnd(a, b) : opcode == "or" ? op.ir.CreateOr(a, b) : op.ir.CreateXor(a, b), type);
}
void bit_not(Op& op) {
  Type type = op.type();
  if (op.expect(2, 2)) op.out(0, op.ir.CreateNot(op.in(1, type)), type);
}
void cnot(Op& op) {
  Type type = op.type();
  if (!op.expect(2, 2)) return;
  Value* zero = op.ir.CreateICmpEQ(op.in(1, type), op.zero(type));
  op.out(0, op.ir.CreateZExt(zero, op.ir.getIntNTy(type.bits)), type);
}

// The table's bit at 4a + 2b + c. With BoolOp, p is "the result is not zero" combined with q.
void lop3(Op& op) {
  std::string_view boolean = op.choice({"and", "or", "xor"});
  Type type = op.type();
  if (!op.expect(5, 6)) return;
  Value* inputs[3] = {op.in(1, type), op.in(2, type), op.in(3, type)};
  uint64_t table = op.constant(4);
  Value* result = op.zero(type);
  for (unsigned row = 0; row < 8; ++row) {
    if (!(table >> row & 1)) continue;
    Value* term = llvm::Constant::getAllOnesValue(result->getType());
    for (unsigned i = 0; i < 3; ++i) term = op.ir.CreateAnd(term, row >> (2 - i) & 1 ? inputs[i] : op.ir.CreateNot(inputs[i]));
    result = op.ir.CreateOr(result, term);
  }
  op.out(op.first(0), result, type);
  if (boolean.empty()) return;
  Value* some = op.ir.CreateICmpNE(result, op.zero(type));
  Value* q = op.in(5, kPredicate);
  op.out(op.second(0),
         boolean == "and"  ? op.ir.CreateAnd(some, q)
         : boolean == "or" ? op.ir.CreateOr(some, q)
                           : op.ir.CreateXor(some, q),
         kPredicate);
}

void shl(Op& op) {
  Type type = op.type();
  if (op.expect(3, 3)) op.out(0, shift_left(op, op.in(1, type), op.in(2, kU32)), type);
}
void shr(Op& op) {
  Type type = op.type();
  if (op.expect(3, 3)) op.out(0, shift_right(op, op.in(1, type), op.in(2, kU32), type.is_signed()), type);
}

// The 64 bits b:a shifted; the left form keeps the upper half, the right form the lower.
void shf(Op& op) {
  std::string_view direction = op.choice({"l", "r"});
  std::string_view mode = op.choice({"clamp", "wrap"}, "clamp");
  Type type = op.type();
  if (!op.expect(4, 4)) return;
  if (type.bits != 32 || direction.empty()) return op.fail("a form that the CPU device does not know");
  Value* low = op.ir.CreateZExt(op.in(1, type), op.ir.getInt64Ty());
  Value* high = op.ir.CreateZExt(op.in(2, type), op.ir.getInt64Ty());
  Value* both = op.ir.CreateOr(low, op.ir.CreateShl(high, 32));
  Value* amount = op.in(3, kU32);
  amount = op.ir.CreateZExt(mode == "wrap" ? op.ir.CreateAnd(amount, 31) : least(op, amount, 32), op.ir.getInt64Ty());
  Value* result = direction == "l" ? op.ir.CreateLShr(op.ir.CreateShl(both, amount), 32) : op.ir.CreateLShr(both, amount);
  op.out(0, op.ir.CreateTrunc(result, op.ir.getInt32Ty()), type);
}

// The position or length of a field: of the 32-bit instructions only 8 bits count.
Value* field_operand(Op& op, size_t index, Type type) {
  Value* value = op.in(index, kU32);
  return type.bits == 32 ? op.ir.CreateAnd(value, 0xff) : least(op, value, 0xff);
}

// Bits that lie beyond the top take the sign: that of the field, or of the value where the field ends beyond it.
void bfe(Op& op) {
  Type type = op.type();
  if (!op.expect(4, 4)) return;
  Value* a = op.in(1, type);
  Value* position = field_operand(op, 2, type);
  Value* length = field_operand(op, 3, type);
  Value* room = op.ir.CreateSub(op.i32(type.bits), least(op, position, type.bits));
  Value* mask = low_mask(op, a->getType(), call(op, llvm::Intrinsic::umin, {length, room}));
  Value* result = op.ir.CreateAnd(shift_right(op, a, position, false), mask);
  if (type.is_signed()) {
    Value* last = least(op, op.ir.CreateSub(op.ir.CreateAdd(position, length), op.i32(1)), type.bits - 1);
    Value* sign = op.ir.CreateTrunc(shift_right(op, a, last, false), op.ir.getInt1Ty());
    sign = op.ir.CreateAnd(sign, op.ir.CreateICmpNE(length, op.i32(0)));
    result = op.ir.CreateOr(result, op.ir.CreateSelect(sign, op.ir.CreateNot(mask), op.zero(type)));
  }
  op.out(0, result, type);
}

void bfi(Op& op) {
  Type type = op.type();
  if (!op.expect(5, 5)) return;
  Value* position = field_operand(op, 3, type);
  Value* length = field_operand(op, 4, type);
  Value* base = op.in(2, type);
  Value* mask = shift_left(op, low_mask(op, base->getType(), length), position);
  Value* field = shift_left(op, op.in(1, type), position);
  op.out(0, op.ir.CreateOr(op.ir.CreateAnd(field, mask), op.ir.CreateAnd(base, op.ir.CreateNot(mask))), type);
}

void bfind(Op& op) {
  bool shift_amount = op.flag("shiftamt");
  Type type = op.type();
  if (!op.expect(2, 2)) return;
  Value* a = op.in(1, type);
  if (type.is_signed()) a = op.ir.CreateXor(a, op.ir.CreateAShr(a, type.bits - 1));
  Value* leading = op.ir.CreateIntrinsic(llvm::Intrinsic::ctlz, {a->getType()}, {a, op.ir.getFalse()});
  leading = op.ir.CreateZExtOrTrunc(leading, op.ir.getInt32Ty());
  Value* found = shift_amount ? leading : op.ir.CreateSub(op.i32(type.bits - 1), leading);
  op.out(0, op.ir.CreateSelect(op.ir.CreateICmpEQ(a, op.zero(type)), op.i32(~0u), found), bits_type(32));
}

void brev(Op& op) {
  Type type = op.type();
  if (op.expect(2, 2)) op.out(0, call(op, llvm::Intrinsic::bitreverse, {op.in(1, type)}), type);
}
void clz(Op& op) {
  Type type = op.type();
  if (!op.expect(2, 2)) return;
  Value* a = op.in(1, type);
  op.out(0, op.ir.CreateIntrinsic(llvm::Intrinsic::ctlz, {a->getType()}, {a, op.ir.getFalse()}), as_bits(type));
}
void popc(Op& op) {
  Type type = op.type();
  if (op.expect(2, 2)) op.out(0, call(op, llvm::Intrinsic::ctpop, {op.in(1, type)}), as_bits(type));
}

// The source byte of each result byte in the modes other than the general one, for the mode's selector of two bits.
Value* byte_of_mode(Op& op, std::string_view mode, Value* selector, unsigned byte) {
  if (mode == "f4e") return op.ir.CreateAdd(selector, op.i32(byte));
  if (mode == "b4e") return op.ir.CreateAnd(op.ir.CreateSub(selector, op.i32(byte)), 7);
  if (mode == "ecl") return call(op, llvm::Intrinsic::umax, {selector, op.i32(byte)});
  if (mode == "ecr") return call(op, llvm::Intrinsic::umin, {selector, op.i32(byte)});
  if (mode == "rc16") return op.ir.CreateOr(op.ir.CreateShl(op.ir.CreateAnd(selector, 1), 1), op.i32(byte & 1));
  return selector;  // rc8
}

void prmt(Op& op) {
  std::string_view mode = op.choice({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"});
  Type type = op.type();
  if (!op.expect(4, 4)) return;
  Value* a = op.ir.CreateZExt(op.in(1, type), op.ir.getInt64Ty());
  Value* b = op.ir.CreateZExt(op.in(2, type), op.ir.getInt64Ty());
  Value* both = op.ir.CreateOr(a, op.ir.CreateShl(b, 32));
  Value* selector = op.in(3, kU32);
  Value* result = op.i32(0);
  for (unsigned byte = 0; byte < 4; ++byte) {
    Value* nibble =
        mode.empty() ? op.ir.CreateLShr(selector, 4 * byte) : byte_of_mode(op, mode, op.ir.CreateAnd(selector, 3), byte);
    Value* shift = op.ir.CreateZExt(op.ir.CreateShl(op.ir.CreateAnd(nibble, 7), 3), op.ir.getInt64Ty());
    Value* picked = op.ir.CreateTrunc(op.ir.CreateLShr(both, shift), op.ir.getInt8Ty());
    if (mode.empty()) {  // the nibble's top bit replicates the byte's sign
      Value* replicate = op.ir.CreateTrunc(op.ir.CreateLShr(nibble, 3), op.ir.getInt1Ty());
      picked = op.ir.CreateSelect(replicate, op.ir.CreateAShr(picked, 7), picked);
    }
    result = op.ir.CreateOr(result, op.ir.CreateShl(op.ir.CreateZExt(picked, op.ir.getInt32Ty()), 8 * byte));
  }
  op.out(0, result, type);
}

// The n-th set bit from `base` upwards, or downwards for a negative n; the base's own bit for n = 0; all ones where there is
// none.
void fns(Op& op) {
  Type type = op.type();
  if (!op.expect(4, 4)) return;
  Value* mask = op.in(1, kU32);
  Value* base = op.in(2, kU32);
  Value* offset = op.in(3, Type{TypeKind::signed_integer, 32});
  Value* down = op.ir.CreateICmpSLT(offset, op.i32(0));
  auto reverse = [&](Value* value) { return call(op, llvm::Intrinsic::bitreverse, {value}); };
  Value* from = op.ir.CreateSelect(down, op.ir.CreateSub(op.i32(31), base), base);
  Value* bits = op.ir.CreateSelect(down, reverse(mask), mask);
  bits = op.ir.CreateAnd(bits, shift_left(op, op.i32(~0u), from));
  Value* at_base = op.ir.CreateICmpEQ(offset, op.i32(0));
  Value* rank = op.ir.CreateSelect(down, op.ir.CreateNeg(offset), offset);
  rank = op.ir.CreateSelect(at_base, op.i32(0), op.ir.CreateSub(rank, op.i32(1)));
  bits = op.ir.CreateSelect(at_base, op.ir.CreateAnd(mask, shift_left(op, op.i32(1), base)), bits);
  Value* picked = op.ir.CreateIntrinsic(llvm::Intrinsic::x86_bmi_pdep_32, {}, {shift_left(op, op.i32(1), rank), bits});
  Value* index = op.ir.CreateIntrinsic(llvm::Intrinsic::cttz, {picked->getType()}, {picked, op.ir.getFalse()});
  index = op.ir.CreateSelect(down, op.ir.CreateSub(op.i32(31), index), index);
  op.out(0, op.ir.CreateSelect(op.ir.CreateICmpEQ(picked, op.i32(0)), op.i32(~0u), index), type);
}

Value* clamp_or_wrap(Op& op, std::string_view mode, Value* value) {
  return mode == "wrap" ? op.ir.CreateAnd(value, 31) : least(op, value, 32);
}

void szext(Op& op) {
  std::string_view mode = op.choice({"wrap", "clamp"}, "clamp");
  Type type = op.type();
  if (!op.expect(3, 3)) return;
  Value* a = op.in(1, type);
  Value* length = clamp_or_wrap(op, mode, op.in(2, kU32));
  Value* mask = low_mask(op, a->getType(), length);
  Value* result = op.ir.CreateAnd(a, mask);
  if (type.is_signed()) {
    Value* sign = op.ir.CreateTrunc(shift_right(op, a, op.ir.CreateSub(length, op.i32(1)), false), op.ir.getInt1Ty());
    result = op.ir.CreateOr(result, op.ir.CreateSelect(sign, op.ir.CreateNot(mask), op.zero(type)));
  }
  op.out(0, result, type);
}

void bmsk(Op& op) {
  std::string_view mode = op.choice({"wrap", "clamp"}, "clamp");
  Type type = op.type();
  if (!op.expect(3, 3)) return;
  Value* position = clamp_or_wrap(op, mode, op.in(1, kU32));
  Value* length = clamp_or_wrap(op, mode, op.in(2, kU32));
  op.out(0, shift_left(op, low_mask(op, op.ir.getInt32Ty(), length), position), type);
}

}  // namespace

std::span<const Entry> bit_instructions() {
  static constexpr std::array table = {
      Entry{"and", logic}, Entry{"or", logic},    Entry{"xor", logic},   Entry{"not", bit_not}, Entry{"cnot", cnot},
      Entry{"lop3", lop3}, Entry{"shl", shl},     Entry{"shr", shr},     Entry{"shf", shf},     Entry{"bfe", bfe},
      Entry{"bfi", bfi},   Entry{"bfind", bfind}, Entry{"brev", brev},   Entry{"clz", clz},     Entry{"popc", popc},
      Entry{"prmt", prmt}, Entry{"fns", fns},     Entry{"szext", szext}, Entry{"bmsk", bmsk},
  };
  return table;
}

}  // namespace mneme::ptx
