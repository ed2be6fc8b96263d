// Floating-point arithmetic: add, sub, mul, fma, mad, div, rcp, sqrt, rsqrt, sin, cos, ex2, lg2, tanh, abs, neg, min, max,
// copysign, testp, over f16, bf16, f32, f64 and their packed types.
#include <array>

#include "mneme/cpu/ptx/ptx_asm_emit.h"
#include "mneme/cpu/ptx/ptx_asm_float_math.h"

namespace mneme::ptx {
namespace {

using llvm::Value;

// What every arithmetic instruction may say of its rounding and its result.
struct Mode {
  Round round = Round::nearest;
  bool ftz = false;
  bool saturate = false;
  bool relu = false;
};
Mode mode(Op& op) {
  Mode mode;
  mode.round = round_of(op.choice({"rn", "rz", "rm", "rp"}));
  op.choice({"approx", "full"});
  mode.ftz = op.flag("ftz");
  mode.saturate = op.flag("sat");
  mode.relu = op.flag("relu");
  op.flag("oob");  // out-of-range NaN: a NaN made by a matrix load, which there is none of
  return mode;
}

// Reads the operands after the first, applies `compute` to each lane, and writes the result.
template <typename Compute>
void elementwise(Op& op, Type type, size_t inputs, const Mode& mode, Compute compute) {
  if (!op.expect(inputs + 1, inputs + 1)) return;
  llvm::SmallVector<Value*, 3> arguments;
  for (size_t i = 1; i <= inputs; ++i) arguments.push_back(op.in(i, type));
  FloatMath math(op.ir);
  Type element = type.element();
  Value* result = op.lanes(type, arguments, [&](llvm::ArrayRef<Value*> lane) {
    llvm::SmallVector<Value*, 3> values(lane.begin(), lane.end());
    if (mode.ftz)
      for (Value*& value : values) value = math.flush(element, value);
    Value* value = compute(math, element, values);
    if (mode.ftz) value = math.flush(element, value);
    if (mode.saturate) value = math.saturate(element, value);
    if (mode.relu) value = math.relu(element, value);
    return value;
  });
  op.out(0, result, type);
}

void fma(Op& op) {
  Mode m = mode(op);
  elementwise(op, op.type(), 3, m, [&](FloatMath& math, Type t, auto& v) { return math.fma(t, v[0], v[1], v[2], m.round); });
}

// A function of libm or of one instruction, in float for the narrow types.
template <typename Compute>
void approximate(Op& op, Compute compute) {
  Mode m = mode(op);
  elementwise(op, op.type(), 1, m, [&](FloatMath& math, Type t, auto& v) {
    return math.narrow(compute(math, math.widen(t, v[0])), t, Round::nearest);
  });
}
void sine(Op& op) {
  approximate(op, [](FloatMath& m, Value* v) { return m.call(llvm::Intrinsic::sin, {v}); });
}
void cosine(Op& op) {
  approximate(op, [](FloatMath& m, Value* v) { return m.call(llvm::Intrinsic::cos, {v}); });
}
void exp2(Op& op) {
  approximate(op, [](FloatMath& m, Value* v) { return m.call(llvm::Intrinsic::exp2, {v}); });
}
void log2(Op& op) {
  approximate(op, [](FloatMath& m, Value* v) { return m.call(llvm::Intrinsic::log2, {v}); });
}
void tanh(Op& op) {
  approximate(op, [](FloatMath& m, Value* v) { return m.call(llvm::Intrinsic::tanh, {v}); });
}
void rsqrt(Op& op) {
  approximate(op, [&op](FloatMath& m, Value* v) {
    return op.ir.CreateFDiv(llvm::ConstantFP::get(v->getType(), 1.0), m.call(llvm::Intrinsic::sqrt, {v}));
  });
}

Value* one(Op& op, Type type) {
  if (type.kind == TypeKind::brain) return op.ir.getInt16(0x3f80);
  return llvm::ConstantFP::get(ir_type(op.ir.getContext(), type), 1.0);
}
void rcp(Op& op) {
  Mode m = mode(op);
  elementwise(op, op.type(), 1, m, [&](FloatMath& math, Type t, auto& v) { return math.div(t, one(op, t), v[0], m.round); });
}
void sqrt(Op& op) {
  Mode m = mode(op);
  elementwise(op, op.type(), 1, m, [&](FloatMath& math, Type t, auto& v) { return math.sqrt(t, v[0], m.round); });
}

// d has a's sign and b's magnitude.
void copysign(Op& op) {
  elementwise(op, op.type(), 2, {},
              [](FloatMath& math, Type, auto& v) { return math.call(llvm::Intrinsic::copysign, {v[1], v[0]}); });
}

void testp(Op& op) {
  std::string_view what = op.choice({"finite", "infinite", "number", "notanumber", "normal", "subnormal"});
  Type type = op.type();
  if (!op.expect(2, 2)) return;
  uint32_t classes = what == "finite"       ? llvm::fcFinite
                     : what == "infinite"   ? llvm::fcInf
                     : what == "number"     ? llvm::fcFinite | llvm::fcInf
                     : what == "notanumber" ? llvm::fcNan
                     : what == "normal"     ? llvm::fcNormal | llvm::fcZero  // zero too, as the hardware has it
                                            : llvm::fcSubnormal;
  Value* a = op.in(1, type);
  op.out(0, op.ir.CreateIntrinsic(llvm::Intrinsic::is_fpclass, {a->getType()}, {a, op.i32(classes)}), kPredicate);
}

}  // namespace

void emit_float_arithmetic(Op& op, Type type) {
  Mode m = mode(op);
  const std::string& opcode = op.instruction().opcode;
  if (opcode == "add")
    return elementwise(op, type, 2, m, [&](FloatMath& math, Type t, auto& v) { return math.add(t, v[0], v[1], m.round); });
  if (opcode == "sub")
    return elementwise(op, type, 2, m,
                       [&](FloatMath& math, Type t, auto& v) { return math.add(t, v[0], math.negate(t, v[1]), m.round); });
  if (opcode == "mul")
    return elementwise(op, type, 2, m, [&](FloatMath& math, Type t, auto& v) { return math.mul(t, v[0], v[1], m.round); });
  if (opcode == "div")
    return elementwise(op, type, 2, m, [&](FloatMath& math, Type t, auto& v) { return math.div(t, v[0], v[1], m.round); });
  elementwise(op, type, 3, m, [&](FloatMath& math, Type t, auto& v) { return math.fma(t, v[0], v[1], v[2], m.round); });
}

void emit_float_sign(Op& op, Type type) {
  Mode m = mode(op);
  bool absolute = op.instruction().opcode == "abs";
  elementwise(op, type, 1, m,
              [&](FloatMath& math, Type t, auto& v) { return absolute ? math.absolute(t, v[0]) : math.negate(t, v[0]); });
}

// Without .NaN the number wins over a NaN; -0 is less than +0. With .xorsign.abs the magnitudes are compared and the sign is that
// of the product.
void emit_float_minmax(Op& op, Type type) {
  Mode m = mode(op);
  bool nan = op.flag("NaN");
  bool xorsign = op.flag("xorsign");
  op.flag("abs");
  bool least = op.instruction().opcode == "min";
  llvm::Intrinsic::ID id = nan ? (least ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum)
                               : (least ? llvm::Intrinsic::minimumnum : llvm::Intrinsic::maximumnum);
  size_t inputs = op.count() == 4 ? 3 : 2;
  elementwise(op, type, inputs, m, [&](FloatMath& math, Type t, auto& v) {
    llvm::SmallVector<Value*, 3> wide;
    for (Value* value : v) wide.push_back(math.widen(t, value));
    Value* sign = nullptr;
    llvm::Type* bits = op.ir.getIntNTy(static_cast<unsigned>(wide[0]->getType()->getPrimitiveSizeInBits()));
    if (xorsign) {
      sign = op.ir.CreateBitCast(wide[0], bits);
      for (size_t i = 1; i < wide.size(); ++i) sign = op.ir.CreateXor(sign, op.ir.CreateBitCast(wide[i], bits));
      for (Value*& value : wide) value = math.call(llvm::Intrinsic::fabs, {value});
    }
    Value* result = wide[0];
    for (size_t i = 1; i < wide.size(); ++i) result = math.call(id, {result, wide[i]});
    if (xorsign) result = math.call(llvm::Intrinsic::copysign, {result, op.ir.CreateBitCast(sign, result->getType())});
    return math.narrow(result, t, Round::nearest);
  });
}

std::span<const Entry> float_instructions() {
  static constexpr std::array table = {
      Entry{"fma", fma},   Entry{"rcp", rcp},           Entry{"sqrt", sqrt},   Entry{"rsqrt", rsqrt},
      Entry{"sin", sine},  Entry{"cos", cosine},        Entry{"ex2", exp2},    Entry{"lg2", log2},
      Entry{"tanh", tanh}, Entry{"copysign", copysign}, Entry{"testp", testp},
  };
  return table;
}

}  // namespace mneme::ptx
