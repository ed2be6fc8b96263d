// Memory: ld, ldu, st, fences, and the hints that have no effect here (prefetch, discard, cache policies); isspacep.
#include <array>

#include "mneme/cpu/ptx/ptx_asm_emit.h"

namespace mneme::ptx {
namespace {

using llvm::AtomicOrdering;
using llvm::Value;

struct Access {
  AtomicOrdering ordering = AtomicOrdering::NotAtomic;
  bool is_volatile = false;
  std::string_view space;
  unsigned elements = 1;
  Type type;
};

// Takes the modifiers of ld and st. What says how caches should behave changes no result.
Access access(Op& op) {
  Access access;
  access.is_volatile = !op.choice({"volatile", "mmio"}).empty();
  std::string_view order = op.choice({"weak", "relaxed", "acquire", "release"});
  if (order == "relaxed" || access.is_volatile) access.ordering = AtomicOrdering::Monotonic;
  if (order == "acquire") access.ordering = AtomicOrdering::Acquire;
  if (order == "release") access.ordering = AtomicOrdering::Release;
  op.choice({"cta", "cluster", "gpu", "sys"});
  access.space = op.choice({"global", "shared", "shared::cta", "shared::cluster", "const", "local", "param"});
  op.choice({"ca", "cg", "cs", "lu", "cv", "wb", "wt"});
  op.flag("nc");
  op.flag("unified");
  while (!op.choice({"L1::evict_normal", "L1::evict_unchanged", "L1::evict_first", "L1::evict_last", "L1::no_allocate",
                     "L2::evict_normal", "L2::evict_first", "L2::evict_last", "L2::cache_hint", "L2::64B", "L2::128B", "L2::256B",
                     "evict_normal", "evict_last"})
              .empty()) {
  }
  std::string_view vector = op.choice({"v2", "v4", "v8"});
  access.elements = vector.empty() ? 1 : static_cast<unsigned>(vector[1] - '0');
  access.type = op.type();
  return access;
}

Type storage(Type type) { return bits_type(type.total_bits()); }

Value* element_pointer(Op& op, Value* base, const Access& how, unsigned index) {
  return index == 0 ? base : op.ir.CreateConstGEP1_64(op.ir.getInt8Ty(), base, uint64_t{index} * how.type.total_bits() / 8);
}

// 128 bits at once would need a library for being atomic; no PTX relies on more than the order of such an access.
template <typename Instruction>
void apply(Op& op, const Access& how, Instruction* instruction) {
  unsigned bits = how.type.total_bits();
  instruction->setAlignment(llvm::Align(bits / 8));
  instruction->setVolatile(how.is_volatile);
  if (bits <= 64) instruction->setAtomic(how.ordering);
}

const Operand& element(Op& op, size_t index, const Access& how, unsigned lane) {
  const Operand& operand = op.operand(index);
  if (how.elements == 1 && operand.kind == Operand::Kind::vector && operand.elements.size() == 1) return operand.elements[0];
  if (how.elements == 1) return operand;
  if (operand.kind == Operand::Kind::vector && operand.elements.size() == how.elements) return operand.elements[lane];
  op.fail(fmt::format("{} registers in braces expected", how.elements));
  return operand;
}

void load(Op& op) {
  Access how = access(op);
  if (!op.expect(2, 3)) return;  // a third is a cache policy
  Value* base = op.pointer(1, how.space);
  if (op.failed()) return;
  Type type = storage(how.type);
  llvm::SmallVector<Value*, 8> values;
  for (unsigned i = 0; i < how.elements; ++i) {
    llvm::LoadInst* value = op.ir.CreateLoad(op.ir.getIntNTy(type.bits), element_pointer(op, base, how, i));
    apply(op, how, value);
    values.push_back(value);
  }
  // After all the loads, since the address may be one of the results.
  Type written = how.type.is_signed() ? how.type : type;
  for (unsigned i = 0; i < how.elements; ++i) op.out(element(op, 0, how, i), values[i], written);
}

void store(Op& op) {
  Access how = access(op);
  if (!op.expect(2, 3)) return;
  Value* base = op.pointer(0, how.space);
  for (unsigned i = 0; i < how.elements && !op.failed(); ++i)
    apply(op, how, op.ir.CreateStore(op.in(element(op, 1, how, i), storage(how.type)), element_pointer(op, base, how, i)));
}

void fence(Op& op) {
  if (op.flag("proxy")) {
    std::string_view kind = op.choice({"alias", "async", "async.global"});
    if (kind.empty()) return op.fail("proxies other than .alias and .async are not available on the CPU device");
    op.ignore_modifiers();
  }
  std::string_view order = op.choice({"sc", "acq_rel", "acquire", "release"}, "sc");
  op.choice({"cta", "cluster", "gpu", "sys", "gl"});
  AtomicOrdering ordering = order == "sc"        ? AtomicOrdering::SequentiallyConsistent
                            : order == "acquire" ? AtomicOrdering::Acquire
                            : order == "release" ? AtomicOrdering::Release
                                                 : AtomicOrdering::AcquireRelease;
  op.ir.CreateFence(ordering);
}

void hint(Op& op) { op.ignore_modifiers(); }

void create_policy(Op& op) {
  op.ignore_modifiers();
  op.out(0, op.zero(kU64), kU64);
}

// What is in the shared window, what is on this thread's stack, and else global: constant memory is global memory here.
void isspacep(Op& op) {
  std::string_view space =
      op.choice({"global", "shared", "shared::cta", "shared::cluster", "local", "const", "param", "param::entry"});
  if (!op.expect(2, 2)) return;
  Value* address = op.in(1, kU64);
  Value* shared = op.thread.in_shared(address);
  Value* frame = op.ir.CreateIntrinsic(llvm::Intrinsic::frameaddress, {op.ir.getPtrTy()}, {op.i32(0)});
  constexpr uint64_t reach = 64 * 1024;  // the frames of one thread around the current one
  Value* distance =
      op.ir.CreateAdd(op.ir.CreateSub(address, op.ir.CreatePtrToInt(frame, op.ir.getInt64Ty())), op.ir.getInt64(reach));
  Value* local = op.ir.CreateICmpULT(distance, op.ir.getInt64(2 * reach));
  Value* result = space.starts_with("shared") ? shared
                  : space == "local"          ? local
                  : space == "global"         ? op.ir.CreateNot(op.ir.CreateOr(shared, local))
                                              : op.ir.getFalse();
  op.out(0, result, kPredicate);
}

}  // namespace

std::span<const Entry> memory_instructions() {
  static constexpr std::array table = {
      Entry{"ld", load},
      Entry{"ldu", load},
      Entry{"st", store},
      Entry{"membar", fence},
      Entry{"fence", fence},
      Entry{"prefetch", hint},
      Entry{"prefetchu", hint},
      Entry{"discard", hint},
      Entry{"applypriority", hint},
      Entry{"createpolicy", create_policy},
      Entry{"isspacep", isspacep},
  };
  return table;
}

}  // namespace mneme::ptx
