// Comparison, selection and moving: setp, set, selp, slct, mov.
#include <array>

#include "mneme/cpu/ptx/ptx_asm_emit.h"
#include "mneme/cpu/ptx/ptx_asm_float_math.h"

namespace mneme::ptx {

using llvm::CmpInst;
using llvm::Value;

Value* emit_comparison(Op& op, std::string_view comparison, Type type, Value* a, Value* b) {
  struct Row {
    std::string_view name;
    CmpInst::Predicate real, is_signed, is_unsigned;
  };
  constexpr auto none = CmpInst::BAD_ICMP_PREDICATE;
  static constexpr std::array rows = {
      Row{"eq", CmpInst::FCMP_OEQ, CmpInst::ICMP_EQ, CmpInst::ICMP_EQ},
      Row{"ne", CmpInst::FCMP_ONE, CmpInst::ICMP_NE, CmpInst::ICMP_NE},
      Row{"lt", CmpInst::FCMP_OLT, CmpInst::ICMP_SLT, CmpInst::ICMP_ULT},
      Row{"le", CmpInst::FCMP_OLE, CmpInst::ICMP_SLE, CmpInst::ICMP_ULE},
      Row{"gt", CmpInst::FCMP_OGT, CmpInst::ICMP_SGT, CmpInst::ICMP_UGT},
      Row{"ge", CmpInst::FCMP_OGE, CmpInst::ICMP_SGE, CmpInst::ICMP_UGE},
      Row{"lo", none, CmpInst::ICMP_ULT, CmpInst::ICMP_ULT},
      Row{"ls", none, CmpInst::ICMP_ULE, CmpInst::ICMP_ULE},
      Row{"hi", none, CmpInst::ICMP_UGT, CmpInst::ICMP_UGT},
      Row{"hs", none, CmpInst::ICMP_UGE, CmpInst::ICMP_UGE},
      Row{"equ", CmpInst::FCMP_UEQ, none, none},
      Row{"neu", CmpInst::FCMP_UNE, none, none},
      Row{"ltu", CmpInst::FCMP_ULT, none, none},
      Row{"leu", CmpInst::FCMP_ULE, none, none},
      Row{"gtu", CmpInst::FCMP_UGT, none, none},
      Row{"geu", CmpInst::FCMP_UGE, none, none},
      Row{"num", CmpInst::FCMP_ORD, none, none},
      Row{"nan", CmpInst::FCMP_UNO, none, none},
  };
  for (const Row& row : rows) {
    if (row.name != comparison) continue;
    CmpInst::Predicate predicate = type.is_float() ? row.real : type.is_signed() ? row.is_signed : row.is_unsigned;
    if (predicate == none) break;
    FloatMath math(op.ir);
    if (type.is_float()) return op.ir.CreateFCmp(predicate, math.widen(type, a), math.widen(type, b));
    return op.ir.CreateICmp(predicate, a, b);
  }
  op.fail("a comparison that the type does not have");
  return nullptr;
}

namespace {

struct Comparison {
  std::string_view comparison, boolean;
  bool ftz;
};
Comparison comparison(Op& op) {
  Comparison found;
  found.comparison = op.choice(
      {"eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"});
  found.boolean = op.choice({"and", "or", "xor"});
  found.ftz = op.flag("ftz");
  return found;
}

// The comparison of one lane, and with its boolean operation; q is null where there is none.
Value* compare(Op& op, const Comparison& how, Type type, Value* a, Value* b) {
  FloatMath math(op.ir);
  Type element = type.element();
  if (how.ftz && type.is_float()) a = math.flush(element, a), b = math.flush(element, b);
  return emit_comparison(op, how.comparison, element, a, b);
}
Value* combine(Op& op, const Comparison& how, Value* p, Value* q) {
  if (how.boolean == "and") return op.ir.CreateAnd(p, q);
  if (how.boolean == "or") return op.ir.CreateOr(p, q);
  if (how.boolean == "xor") return op.ir.CreateXor(p, q);
  return p;
}

void setp(Op& op) {
  Comparison how = comparison(op);
  Type type = op.type();
  size_t operands = how.boolean.empty() ? 3 : 4;
  if (!op.expect(operands, operands)) return;
  Value* a = op.in(1, type);
  Value* b = op.in(2, type);
  Value* q = how.boolean.empty() ? nullptr : op.in(3, kPredicate);
  if (type.lanes == 2) {  // p and q of "p|q" are the lanes
    for (unsigned lane = 0; lane < 2; ++lane) {
      Value* result = compare(op, how, type, op.ir.CreateExtractElement(a, lane), op.ir.CreateExtractElement(b, lane));
      if (op.failed()) return;
      op.out(lane == 0 ? op.first(0) : op.second(0), combine(op, how, result, q), kPredicate);
    }
    return;
  }
  Value* result = compare(op, how, type, a, b);
  if (op.failed()) return;
  op.out(op.first(0), combine(op, how, result, q), kPredicate);
  op.out(op.second(0), combine(op, how, op.ir.CreateNot(result), q), kPredicate);
}

// All ones or 1.0 for true, by the result's type.
void set(Op& op) {
  Comparison how = comparison(op);
  Type to = op.type();
  Type type = op.type();
  size_t operands = how.boolean.empty() ? 3 : 4;
  if (!op.expect(operands, operands)) return;
  Value* q = how.boolean.empty() ? nullptr : op.in(3, kPredicate);
  Type element = to;
  element.lanes = 1;
  if (type.lanes == 2 && to.lanes == 1) element.bits = to.bits / 2;  // .u32.f16x2: two masks of 16 bits
  Value* truth = element.kind == TypeKind::brain ? op.ir.getInt16(0x3f80)
                 : element.is_float()            ? llvm::ConstantFP::get(ir_type(op.ir.getContext(), element), 1.0)
                                                 : llvm::Constant::getAllOnesValue(op.ir.getIntNTy(element.bits));
  Value* result = op.lanes(type, {op.in(1, type), op.in(2, type)}, [&](llvm::ArrayRef<Value*> lane) -> Value* {
    Value* condition = compare(op, how, type, lane[0], lane[1]);
    if (op.failed()) return op.zero(element);
    return op.ir.CreateSelect(combine(op, how, condition, q), truth, op.zero(element));
  });
  op.out(0, result, to);
}

void selp(Op& op) {
  Type type = op.type();
  if (!op.expect(4, 4)) return;
  Type raw = bits_type(type.total_bits());
  op.out(0, op.ir.CreateSelect(op.in(3, kPredicate), op.in(1, raw), op.in(2, raw)), raw);
}

void slct(Op& op) {
  bool ftz = op.flag("ftz");
  Type type = op.type();
  Type condition = op.type();
  if (!op.expect(4, 4)) return;
  Type raw = bits_type(type.bits);
  Value* c = op.in(3, condition);
  FloatMath math(op.ir);
  if (ftz) c = math.flush(condition, c);
  Value* chosen = condition.is_float() ? op.ir.CreateFCmpOGE(c, op.zero(condition)) : op.ir.CreateICmpSGE(c, op.zero(condition));
  op.out(0, op.ir.CreateSelect(chosen, op.in(1, raw), op.in(2, raw)), raw);
}

// Also packs and unpacks: {a, b} on either side.
void mov(Op& op) {
  Type type = op.type();
  if (!op.expect(2, 2)) return;
  op.out(0, op.in(1, type), type);
}

}  // namespace

std::span<const Entry> select_instructions() {
  static constexpr std::array table = {Entry{"setp", setp}, Entry{"set", set}, Entry{"selp", selp}, Entry{"slct", slct},
                                       Entry{"mov", mov}};
  return table;
}

}  // namespace mneme::ptx
