#include "mneme/ir/order_dependence.h"

#include <fmt/format.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include <map>
#include <vector>

#include "mneme/ir/access.h"
#include "mneme/ir/gpu_memory.h"

namespace mneme::ir {
namespace {

using Kind = OrderDependence::Kind;
using llvm::dyn_cast;

constexpr int kDeepest = 8;  // functions around an atomic operation

bool contains_any(llvm::StringRef text, std::initializer_list<llvm::StringRef> parts) {
  return llvm::any_of(parts, [&](llvm::StringRef part) { return text.contains(part); });
}

// Of the compiler and of CUDA, whose functions stand around atomic operations.
bool is_in_a_library(const llvm::DILocation& location) {
  return contains_any(location.getFilename(), {"/lib/clang/", "/include/"}) ||
         contains_any(location.getDirectory(), {"/lib/clang/"});
}

// Where it stands in the program: what was inlined from a library stands where that was called.
const llvm::DILocation* place_of(const llvm::Instruction& instruction) {
  const llvm::DILocation* location = instruction.getDebugLoc().get();
  while (location && is_in_a_library(*location) && location->getInlinedAt()) location = location->getInlinedAt();
  return location;
}

// The calls of a function of which all are known.
std::vector<const llvm::CallBase*> calls_of(const llvm::Function& function) {
  std::vector<const llvm::CallBase*> calls;
  for (const llvm::User* user : function.users()) {
    const auto* call = dyn_cast<llvm::CallBase>(user);
    if (!call || call->getCalledFunction() != &function) return {};
    calls.push_back(call);
  }
  return calls;
}

class Search {
 public:
  OrderUse run(const llvm::Module& module) {
    for (const llvm::Function& function : module)
      for (const llvm::Instruction& instruction : llvm::instructions(function)) see(instruction);
    for (auto& [kind, found] : found_) use_.dependences.push_back(std::move(found));
    return std::move(use_);
  }

 private:
  // What a function of a library does stands where the program calls it.
  void note(Kind kind, const llvm::Instruction& instruction, int depth = 0) {
    const llvm::DILocation* place = place_of(instruction);
    if (place && is_in_a_library(*place) && depth < kDeepest) {
      const auto calls = calls_of(*instruction.getFunction());
      for (const llvm::CallBase* call : calls) note(kind, *call, depth + 1);
      if (!calls.empty()) return;
    }
    OrderDependence& found = found_[kind];
    found.kind = kind;
    ++found.places;
    if (found.first.empty() && place) found.first = fmt::format("{}:{}", place->getFilename().str(), place->getLine());
  }

  // A function that only gives it on, as those around atomic operations do before they are inlined, uses it where a caller does.
  static bool is_used(const llvm::Instruction& value, int depth = 0) {
    return llvm::any_of(value.users(), [&](const llvm::User* user) {
      if (!llvm::isa<llvm::ReturnInst>(user) || depth == kDeepest) return true;
      const auto calls = calls_of(*value.getFunction());
      return calls.empty() || llvm::any_of(calls, [&](const llvm::CallBase* call) { return is_used(*call, depth + 1); });
    });
  }

  void see(const llvm::Instruction& instruction) {
    if (const auto* change = dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      see_change(*change);
    } else if (llvm::isa<llvm::AtomicCmpXchgInst>(instruction)) {
      note(Kind::exchange, instruction);
      use_.orders_blocks = true;
    } else if (const auto* fence = dyn_cast<llvm::FenceInst>(&instruction)) {
      // AMD's barrier of a block has two around it.
      if (!is_within_a_block(fence->getSyncScopeID(), fence->getContext())) use_.orders_blocks = true;
    } else if (instruction.isVolatile() || instruction.isAtomic()) {
      use_.orders_blocks = true;
    } else if (const auto* call = dyn_cast<llvm::CallBase>(&instruction)) {
      see_call(*call);
    }
  }

  void see_change(const llvm::AtomicRMWInst& change) {
    using Operation = llvm::AtomicRMWInst::BinOp;
    const Operation operation = change.getOperation();
    if (operation == Operation::FAdd || operation == Operation::FSub) {
      note(Kind::float_sum, change);
    } else if (operation == Operation::Xchg) {
      note(Kind::exchange, change);
    } else if (is_used(change)) {
      note(Kind::atomic_result, change);
    }
    if (is_used(change) || operation == Operation::Xchg) use_.orders_blocks = true;
  }

  void see_call(const llvm::CallBase& call) {
    if (const auto* assembly = dyn_cast<llvm::InlineAsm>(call.getCalledOperand())) {
      see_assembly(assembly->getAsmString(), call);
    } else if (const llvm::Function* callee = call.getCalledFunction(); callee && callee->isIntrinsic()) {
      see_intrinsic(callee->getName(), call);
    }
  }

  void see_intrinsic(llvm::StringRef name, const llvm::Instruction& call) {
    if (contains_any(name, {".sreg.clock", ".sreg.globaltimer", "llvm.readcyclecounter", "llvm.readsteadycounter",
                            "amdgcn.s.memtime", "amdgcn.s.memrealtime"})) {
      note(Kind::clock, call);
    } else if (contains_any(name, {".sreg.smid", ".sreg.warpid", ".sreg.nwarpid", "amdgcn.s.getreg"})) {
      note(Kind::placement, call);
    } else if (name.starts_with("llvm.nvvm.atomic.")) {
      const bool sum = name.contains(".add.") && contains_any(name, {".f.", ".f16", ".f32", ".f64", ".bf16"});
      if (sum) note(Kind::float_sum, call);
      if (!sum && (is_used(call) || name.contains(".exch.") || name.contains(".cas.")))
        note(name.contains(".exch.") || name.contains(".cas.") ? Kind::exchange : Kind::atomic_result, call);
      use_.orders_blocks = use_.orders_blocks || is_used(call);
    } else if (contains_any(name, {".barrier", ".bar.", "llvm.nvvm.bar"})) {
      use_.waits_in_blocks = true;
    } else if (contains_any(name, {".membar", ".fence"})) {
      use_.orders_blocks = true;
    }
  }

  // Words of PTX: "atom.global.add.f32", "red.add.f32", "mov.u64 $0, %clock64;"; and of AMD's: "s_memtime $0",
  // "global_atomic_add_f32".
  void see_assembly(llvm::StringRef text, const llvm::Instruction& call) {
    if (contains_any(text, {"%clock", "%globaltimer", "s_memtime", "s_memrealtime"})) note(Kind::clock, call);
    if (contains_any(text, {"%smid", "%warpid", "s_getreg"})) note(Kind::placement, call);
    if (contains_any(text, {"bar.sync", "barrier.", "bar.warp", "s_barrier"})) use_.waits_in_blocks = true;
    if (contains_any(text, {"membar", "fence.", "volatile", ".acquire", ".release", ".relaxed"})) use_.orders_blocks = true;
    const bool with_result = contains_any(text, {"atom.", "_atomic_"});
    if (!with_result && !contains_any(text, {"red.global", "red.add"})) return;
    if (contains_any(text, {".add", "_add_"}) &&
        contains_any(text, {".f16", ".f32", ".f64", ".bf16", "_f16", "_f32", "_f64", "_bf16"}))
      note(Kind::float_sum, call);
    else if (contains_any(text, {".exch", ".cas", "swap"}))
      note(Kind::exchange, call);
    else if (with_result && is_used(call))
      note(Kind::atomic_result, call);
    if (with_result) use_.orders_blocks = true;
  }

  OrderUse use_;
  std::map<Kind, OrderDependence> found_;
};

std::string_view words(Kind kind) {
  switch (kind) {
    case Kind::float_sum: return "adds floating-point numbers by atomic operations, and each order rounds otherwise";
    case Kind::atomic_result: return "uses what an atomic operation found: who came first decides";
    case Kind::exchange: return "exchanges values by atomic operations: who came before decides";
    case Kind::clock: return "reads a clock";
    case Kind::placement: return "reads on which multiprocessor or warp it runs";
  }
  return "?";
}

}  // namespace

std::string_view to_string(Kind kind) {
  switch (kind) {
    case Kind::float_sum: return "float_sum";
    case Kind::atomic_result: return "atomic_result";
    case Kind::exchange: return "exchange";
    case Kind::clock: return "clock";
    case Kind::placement: return "placement";
  }
  return "?";
}

std::string describe(const OrderDependence& dependence) {
  std::string where = fmt::format("{} place{}", dependence.places, dependence.places == 1 ? "" : "s");
  if (!dependence.first.empty()) where += fmt::format(", {}at {}", dependence.places == 1 ? "" : "the first ", dependence.first);
  return fmt::format("{} ({})", words(dependence.kind), where);
}

OrderUse find_order_use(const Module& module) { return Search().run(llvm_module(module)); }

}  // namespace mneme::ir
