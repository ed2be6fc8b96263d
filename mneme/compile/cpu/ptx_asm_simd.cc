// The packed video instructions: vadd2, vadd4, vsub, vavrg, vabsdiff, vmin, vmax and vset over two halves or four bytes.
//
//   vop2{.dtype.atype.btype}{.sat} d{.mask}, a{.asel}, b{.bsel}, c;     c replaces the lanes that are not written: here none
//   vop2.dtype.atype.btype.add    d, a, b, c;                            d = c + the sum of the lanes
// Lane masks and selectors other than the usual ones are refused.
#include <array>

#include "mneme/compile/cpu/ptx_asm_emit.h"

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

}  // namespace

std::span<const Entry> simd_instructions() {
  static constexpr std::array table = {
      Entry{"vadd2", packed},  Entry{"vadd4", packed},  Entry{"vsub2", packed},     Entry{"vsub4", packed},     Entry{"vavrg2", packed},
      Entry{"vavrg4", packed}, Entry{"vmin2", packed},  Entry{"vmin4", packed},     Entry{"vmax2", packed},     Entry{"vmax4", packed},
      Entry{"vset2", packed},  Entry{"vset4", packed},  Entry{"vabsdiff2", packed}, Entry{"vabsdiff4", packed},
  };
  return table;
}

}  // namespace mneme::ptx
