// Atomics: atom and red, with every operation, scope and state space. A scope narrower than the system is served by the system's.
#include <array>

#include "mneme/cpu/ptx/ptx_asm_emit.h"
#include "mneme/cpu/ptx/ptx_asm_float_math.h"

namespace mneme::ptx {
namespace {

using llvm::AtomicOrdering;
using llvm::AtomicRMWInst;
using llvm::Value;

AtomicOrdering ordering(std::string_view order) {
  if (order == "acquire") return AtomicOrdering::Acquire;
  if (order == "release") return AtomicOrdering::Release;
  if (order == "acq_rel") return AtomicOrdering::AcquireRelease;
  return AtomicOrdering::Monotonic;
}

struct Atomic {
  AtomicOrdering order;
  std::string_view operation, space;
  unsigned elements = 1;
  Type type;
  Type raw() const { return bits_type(type.total_bits()); }
  llvm::Align align() const { return llvm::Align(type.total_bits() / 8); }
};

Value* compare_exchange(Op& op, const Atomic& how, Value* pointer, Value* expected, Value* desired) {
  AtomicOrdering failure = llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(how.order);
  return op.ir.CreateExtractValue(op.ir.CreateAtomicCmpXchg(pointer, expected, desired, how.align(), how.order, failure), 0);
}

// What a host has no instruction for: computed and exchanged until nothing came in between.
Value* exchange_loop(Op& op, const Atomic& how, Value* pointer, Value* operand, Op::Lane compute) {
  llvm::Type* type = op.ir.getIntNTy(how.type.total_bits());
  llvm::LoadInst* first = op.ir.CreateLoad(type, pointer);
  first->setAlignment(how.align());
  first->setAtomic(AtomicOrdering::Monotonic);
  llvm::BasicBlock* loop = op.new_block("ptx.atomic");
  llvm::BasicBlock* done = op.new_block("ptx.atomic.done");
  llvm::BasicBlock* before = op.ir.GetInsertBlock();
  op.ir.CreateBr(loop);
  op.ir.SetInsertPoint(loop);
  llvm::PHINode* seen = op.ir.CreatePHI(type, 2);
  seen->addIncoming(first, before);
  llvm::Type* value_type = ir_type(op.ir.getContext(), how.type);
  Value* updated = op.lanes(how.type, {op.ir.CreateBitCast(seen, value_type), operand}, compute);
  Value* found = compare_exchange(op, how, pointer, seen, op.ir.CreateBitCast(updated, type));
  seen->addIncoming(found, op.ir.GetInsertBlock());
  op.ir.CreateCondBr(op.ir.CreateICmpEQ(found, seen), done, loop);
  op.ir.SetInsertPoint(done);
  return found;
}

Value* read_modify_write(Op& op, const Atomic& how, Value* pointer, const Operand& operand) {
  Value* value = op.in(operand, how.type);
  if (op.failed()) return value;
  if (how.type.is_float() && how.operation != "exch" && (how.type.bits == 16 || how.operation != "add")) {
    FloatMath math(op.ir);
    Type element = how.type.element();
    llvm::Intrinsic::ID id = how.operation == "min" ? llvm::Intrinsic::minimumnum : llvm::Intrinsic::maximumnum;
    return exchange_loop(op, how, pointer, value, [&](llvm::ArrayRef<Value*> v) {
      if (how.operation == "add") return math.add(element, v[0], v[1], Round::nearest);
      return math.narrow(math.call(id, {math.widen(element, v[0]), math.widen(element, v[1])}), element, Round::nearest);
    });
  }
  bool is_signed = how.type.is_signed();
  AtomicRMWInst::BinOp binary = how.operation == "exch"  ? AtomicRMWInst::Xchg
                                : how.operation == "add" ? (how.type.is_float() ? AtomicRMWInst::FAdd : AtomicRMWInst::Add)
                                : how.operation == "inc" ? AtomicRMWInst::UIncWrap
                                : how.operation == "dec" ? AtomicRMWInst::UDecWrap
                                : how.operation == "min" ? (is_signed ? AtomicRMWInst::Min : AtomicRMWInst::UMin)
                                : how.operation == "max" ? (is_signed ? AtomicRMWInst::Max : AtomicRMWInst::UMax)
                                : how.operation == "and" ? AtomicRMWInst::And
                                : how.operation == "or"  ? AtomicRMWInst::Or
                                                         : AtomicRMWInst::Xor;
  if (binary == AtomicRMWInst::Xchg) value = op.ir.CreateBitCast(value, op.ir.getIntNTy(how.type.total_bits()));
  return op.ir.CreateAtomicRMW(binary, pointer, value, how.align(), how.order);
}

void atomic(Op& op, bool result) {
  Atomic how;
  how.order = ordering(op.choice({"relaxed", "acquire", "release", "acq_rel"}));
  op.choice({"cta", "cluster", "gpu", "sys"});
  how.space = op.choice({"global", "shared", "shared::cta", "shared::cluster"});
  how.operation = op.choice({"exch", "cas", "add", "inc", "dec", "min", "max", "and", "or", "xor"});
  op.flag("noftz");
  op.flag("L2::cache_hint");
  std::string_view vector = op.choice({"v2", "v4", "v8"});
  how.elements = vector.empty() ? 1 : static_cast<unsigned>(vector[1] - '0');
  how.type = op.type();
  if (how.operation.empty()) return op.fail("an operation that the CPU device does not know");
  size_t address = result ? 1 : 0;
  bool cas = how.operation == "cas";
  if (!op.expect(address + (cas ? 3 : 2), address + (cas ? 3 : 2) + 1)) return;
  Value* pointer = op.pointer(address, how.space);
  if (op.failed()) return;
  if (cas) {
    Value* found = compare_exchange(op, how, pointer, op.in(address + 1, how.raw()), op.in(address + 2, how.raw()));
    if (result) op.out(0, found, how.raw());
    return;
  }
  // Each element of a vector is atomic by itself.
  llvm::SmallVector<Value*, 8> found;
  for (unsigned i = 0; i < how.elements; ++i) {
    const Operand& operand = op.operand(address + 1);
    bool packed = how.elements > 1;
    if (packed && (operand.kind != Operand::Kind::vector || operand.elements.size() != how.elements))
      return op.fail("registers in braces expected");
    Value* place =
        i == 0 ? pointer : op.ir.CreateConstGEP1_64(op.ir.getInt8Ty(), pointer, uint64_t{i} * how.type.total_bits() / 8);
    found.push_back(read_modify_write(op, how, place, packed ? operand.elements[i] : operand));
    if (op.failed()) return;
  }
  if (!result) return;
  const Operand& destination = op.operand(0);
  if (how.elements > 1 && (destination.kind != Operand::Kind::vector || destination.elements.size() != how.elements))
    return op.fail("registers in braces expected");
  for (unsigned i = 0; i < how.elements; ++i)
    op.out(how.elements > 1 ? destination.elements[i] : destination,
           op.ir.CreateBitCast(found[i], op.ir.getIntNTy(how.type.total_bits())), how.raw());
}

void atom(Op& op) { atomic(op, true); }
void red(Op& op) {
  if (op.flag("async")) return op.fail("asynchronous copies and reductions are not available on the CPU device");
  atomic(op, false);
}

}  // namespace

std::span<const Entry> atomic_instructions() {
  static constexpr std::array table = {Entry{"atom", atom}, Entry{"red", red}};
  return table;
}

}  // namespace mneme::ptx
