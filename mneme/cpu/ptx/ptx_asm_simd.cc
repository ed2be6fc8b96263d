// The video instructions, packed over two halves or four bytes (vadd2, vadd4, vsub, vavrg, vabsdiff, vmin, vmax, vset) and scalar
// (vadd, vsub, vabsdiff, vmin, vmax, vset, vshl, vshr, vmad).
//
//   vop.dtype.atype.btype{.sat} d, a, b;                                 exact, then saturated or cut to 32 bits
//   vop.dtype.atype.btype{.sat}.op2 d, a, b, c;                          op2 is add, min or max with c
//   vop2{.dtype.atype.btype}{.sat} d{.mask}, a{.asel}, b{.bsel}, c;     c replaces the lanes that are not written: here none
//   vop2.dtype.atype.btype.add    d, a, b, c;                            d = c + the sum of the lanes
// Lane masks and selectors other than the usual ones are refused.
#include <array>

#include "mneme/cpu/ptx/ptx_asm_emit.h"

namespace mneme::ptx {
namespace {

using llvm::Value;

Value* call(Op& op, llvm::Intrinsic::ID id, Value* a, Value* b) { return op.ir.CreateIntrinsic(id, {a->getType()}, {a, b}); }

// One lane: a and b are i32, exact.
Value* lane_result(Op& op, std::string_view name, Value* a, Value* b) {
  if (name == "vadd") return op.ir.CreateAdd(a, b);
  if (name == "vsub") return op.ir.CreateSub(a, b);
  if (name == "vmin") return call(op, llvm::Intrinsic::smin, a, b);
  if (name == "vmax") return call(op, llvm::Intrinsic::smax, a, b);
  Value* difference = op.ir.CreateSub(a, b);
  if (name == "vabsdiff") return op.ir.CreateSelect(op.ir.CreateICmpSLT(a, b), op.ir.CreateNeg(difference), difference);
  // vavrg: (a + b + 1) / 2, rounded away from zero for a negative sum
  Value* sum = op.ir.CreateAdd(a, b);
  Value* bias = op.ir.CreateZExt(op.ir.CreateICmpSGE(sum, op.i32(0)), op.ir.getInt32Ty());
  return op.ir.CreateAShr(op.ir.CreateAdd(sum, bias), 1);
}

Value* saturate(Op& op, Value* value, unsigned bits, bool is_signed) {
  int32_t low = is_signed ? -(1 << (bits - 1)) : 0;
  int32_t high = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
  return call(op, llvm::Intrinsic::smin, call(op, llvm::Intrinsic::smax, value, op.ir.getInt32(static_cast<uint32_t>(low))),
              op.ir.getInt32(static_cast<uint32_t>(high)));
}

void packed(Op& op) {
  std::string_view name = op.instruction().opcode;
  unsigned lanes = name.back() == '2' ? 2 : 4;
  unsigned bits = 32 / lanes;
  name.remove_suffix(1);
  bool sat = op.flag("sat");
  bool add = op.flag("add");
  bool set = name == "vset";
  Type result_type = set ? kU32 : op.type();
  Type a_type = op.type();
  Type b_type = op.type();
  std::string_view comparison = set ? op.choice({"eq", "ne", "lt", "le", "gt", "ge"}) : std::string_view();
  if (!op.expect(4, 4)) return;
  Value* a = op.in(1, bits_type(32));
  Value* b = op.in(2, bits_type(32));
  Value* c = op.in(3, bits_type(32));
  auto lane = [&](Value* value, unsigned index, Type type) {
    Value* part = op.ir.CreateTrunc(op.ir.CreateLShr(value, bits * index), op.ir.getIntNTy(bits));
    return type.is_signed() ? op.ir.CreateSExt(part, op.ir.getInt32Ty()) : op.ir.CreateZExt(part, op.ir.getInt32Ty());
  };
  Type compare_type{TypeKind::signed_integer, 32};
  Value* result = add ? c : op.i32(0);
  for (unsigned i = 0; i < lanes; ++i) {
    Value* left = lane(a, i, a_type);
    Value* right = lane(b, i, b_type);
    Value* value;
    if (set) {
      value = emit_comparison(op, comparison, compare_type, left, right);
      if (op.failed()) return;
      value = op.ir.CreateZExt(value, op.ir.getInt32Ty());
    } else {
      value = lane_result(op, name, left, right);
    }
    if (sat) value = saturate(op, value, bits, result_type.is_signed());
    if (add) {
      result = op.ir.CreateAdd(result, value);
    } else {
      value = op.ir.CreateAnd(value, lanes == 2 ? 0xffff : 0xff);
      result = op.ir.CreateOr(result, op.ir.CreateShl(value, bits * i));
    }
  }
  op.out(0, result, bits_type(32));
}

// 34 bits hold any sum of the operands and their difference; products need more.
constexpr unsigned kWide = 72;

Value* scalar_result(Op& op, std::string_view name, Value* a, Value* b) {
  auto pick = [&](llvm::CmpInst::Predicate predicate) { return op.ir.CreateSelect(op.ir.CreateICmp(predicate, a, b), a, b); };
  if (name == "vadd") return op.ir.CreateAdd(a, b);
  if (name == "vsub") return op.ir.CreateSub(a, b);
  if (name == "vmin") return pick(llvm::CmpInst::ICMP_SLT);
  if (name == "vmax") return pick(llvm::CmpInst::ICMP_SGT);
  if (name == "vmad") return op.ir.CreateMul(a, b);
  if (name == "vshl") return op.ir.CreateShl(a, b);
  if (name == "vshr") return op.ir.CreateAShr(a, b);
  Value* difference = op.ir.CreateSub(a, b);
  return op.ir.CreateSelect(op.ir.CreateICmpSLT(a, b), op.ir.CreateNeg(difference), difference);
}

void scalar(Op& op) {
  std::string_view name = op.instruction().opcode;
  bool set = name == "vset", shift = name == "vshl" || name == "vshr", multiply = name == "vmad";
  bool sat = op.flag("sat");
  std::string_view mode = shift ? op.choice({"clamp", "wrap"}, "clamp") : std::string_view();
  std::string_view second = op.choice({"add", "min", "max"});
  std::string_view comparison = set ? op.choice({"eq", "ne", "lt", "le", "gt", "ge"}) : std::string_view();
  Type to = set ? kU32 : op.type();
  Type a_type = op.type();
  Type b_type = op.type();
  size_t operands = multiply || !second.empty() ? 4 : 3;
  if (!op.expect(operands, operands)) return;
  llvm::Type* wide = op.ir.getIntNTy(kWide);
  auto widen = [&](Value* value, Type type) {
    return type.is_signed() ? op.ir.CreateSExt(value, wide) : op.ir.CreateZExt(value, wide);
  };
  Value* a = widen(op.in(1, a_type), a_type);
  Value* b = op.in(2, b_type);
  if (shift) b = mode == "wrap" ? op.ir.CreateAnd(b, 31) : call(op, llvm::Intrinsic::umin, b, op.i32(32));
  b = shift ? op.ir.CreateZExt(b, wide) : widen(b, b_type);
  Value* result =
      set ? emit_comparison(op, comparison, Type{TypeKind::signed_integer, kWide}, a, b) : scalar_result(op, name, a, b);
  if (op.failed()) return;
  if (set) result = op.ir.CreateZExt(result, wide);
  if (multiply) result = op.ir.CreateAdd(result, widen(op.in(3, to), to));
  if (sat) {
    llvm::APInt low = to.is_signed() ? llvm::APInt::getSignedMinValue(32).sext(kWide) : llvm::APInt(kWide, 0);
    llvm::APInt high = to.is_signed() ? llvm::APInt::getSignedMaxValue(32).sext(kWide) : llvm::APInt::getMaxValue(32).zext(kWide);
    result = call(op, llvm::Intrinsic::smin, call(op, llvm::Intrinsic::smax, result, op.ir.getInt(low)), op.ir.getInt(high));
  }
  result = op.ir.CreateTrunc(result, op.ir.getInt32Ty());
  if (!second.empty()) {
    Value* c = op.in(3, to);
    llvm::Intrinsic::ID least = to.is_signed() ? llvm::Intrinsic::smin : llvm::Intrinsic::umin;
    llvm::Intrinsic::ID most = to.is_signed() ? llvm::Intrinsic::smax : llvm::Intrinsic::umax;
    result = second == "add" ? op.ir.CreateAdd(result, c) : call(op, second == "min" ? least : most, result, c);
  }
  op.out(0, result, bits_type(32));
}

}  // namespace

std::span<const Entry> simd_instructions() {
  static constexpr std::array table = {
      Entry{"vadd2", packed},     Entry{"vadd4", packed},     Entry{"vsub2", packed},    Entry{"vsub4", packed},
      Entry{"vavrg2", packed},    Entry{"vavrg4", packed},    Entry{"vmin2", packed},    Entry{"vmin4", packed},
      Entry{"vmax2", packed},     Entry{"vmax4", packed},     Entry{"vset2", packed},    Entry{"vset4", packed},
      Entry{"vabsdiff2", packed}, Entry{"vabsdiff4", packed}, Entry{"vadd", scalar},     Entry{"vsub", scalar},
      Entry{"vmin", scalar},      Entry{"vmax", scalar},      Entry{"vabsdiff", scalar}, Entry{"vset", scalar},
      Entry{"vshl", scalar},      Entry{"vshr", scalar},      Entry{"vmad", scalar},
  };
  return table;
}

}  // namespace mneme::ptx
