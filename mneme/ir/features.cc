#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>

#include <array>
#include <cmath>

#include "mneme/ir/analysis.h"
#include "mneme/ir/global.h"
#include "mneme/ir/gpu_memory.h"
#include "mneme/ir/handle_access.h"

namespace mneme::ir {
namespace {

// In the order of the vector. Enumerators and names are made of one list.
#define MNEME_FEATURES                                                                                                           \
  instructions, blocks, edges, cyclomatic_complexity, largest_block, arguments, pointer_arguments, loops, loop_depth,            \
      innermost_loops, instructions_in_loops, weighted_instructions, phis, conditional_branches, switches, selects, calls,       \
      indirect_calls, intrinsics, inline_assembly, barriers, warp_collectives, special_registers, math_calls, atomics, fences,   \
      integer_arithmetic, integer_multiplies, integer_divides, bitwise, half_arithmetic, single_arithmetic, double_arithmetic,   \
      float_divides, fused_multiply_adds, float_arithmetic_in_loops, integer_comparisons, float_comparisons, casts, conversions, \
      vector_instructions, address_computations, stack_allocations, stack_bytes, loads, stores, loads_in_loops, stores_in_loops, \
      generic_accesses, global_accesses, shared_accesses, constant_accesses, local_accesses, bytes_loaded, bytes_stored,         \
      arithmetic_intensity

enum Feature : size_t { MNEME_FEATURES, feature_count };

constexpr double kIterations = 10;  // of a loop whose count is not known, as LLVM's own block frequencies have it roughly
constexpr unsigned kDeepest = 6;

bool contains_any(llvm::StringRef text, std::initializer_list<llvm::StringRef> parts) {
  return llvm::any_of(parts, [&](llvm::StringRef part) { return text.contains(part); });
}

class Counter {
 public:
  explicit Counter(llvm::Function& function) : function_(function), layout_(function.getParent()->getDataLayout()) {}

  std::vector<double> count() {
    llvm::DominatorTree tree(function_);
    const llvm::LoopInfo info(tree);
    count_shape(info);
    for (llvm::BasicBlock& block : function_) {
      depth_ = info.getLoopDepth(&block);
      at(largest_block) = std::max(at(largest_block), static_cast<double>(block.size()));
      for (llvm::Instruction& instruction : block) count_instruction(instruction);
    }
    const double bytes = at(bytes_loaded) + at(bytes_stored);
    at(arithmetic_intensity) = bytes > 0 ? float_operations_ / bytes : 0;
    return {values_.begin(), values_.end()};
  }

 private:
  double& at(Feature feature) { return values_[feature]; }

  void count_shape(const llvm::LoopInfo& info) {
    at(blocks) = static_cast<double>(function_.size());
    for (llvm::BasicBlock& block : function_) at(edges) += block.getTerminator()->getNumSuccessors();
    at(cyclomatic_complexity) = at(edges) - at(blocks) + 2;
    at(arguments) = static_cast<double>(function_.arg_size());
    at(pointer_arguments) =
        static_cast<double>(llvm::count_if(function_.args(), [](auto& a) { return a.getType()->isPointerTy(); }));
    for (const llvm::Loop* loop : info.getLoopsInPreorder()) {
      ++at(loops);
      at(innermost_loops) += loop->isInnermost();
      at(loop_depth) = std::max(at(loop_depth), static_cast<double>(loop->getLoopDepth()));
    }
  }

  void count_instruction(llvm::Instruction& instruction) {
    ++at(instructions);
    at(instructions_in_loops) += depth_ > 0;
    at(weighted_instructions) += std::pow(kIterations, std::min(depth_, kDeepest));
    at(vector_instructions) += instruction.getType()->isVectorTy();
    at(phis) += llvm::isa<llvm::PHINode>(instruction);
    at(selects) += llvm::isa<llvm::SelectInst>(instruction);
    at(switches) += llvm::isa<llvm::SwitchInst>(instruction);
    at(fences) += llvm::isa<llvm::FenceInst>(instruction);
    at(integer_comparisons) += llvm::isa<llvm::ICmpInst>(instruction);
    at(float_comparisons) += llvm::isa<llvm::FCmpInst>(instruction);
    at(address_computations) += llvm::isa<llvm::GetElementPtrInst>(instruction);
    at(atomics) += llvm::isa<llvm::AtomicRMWInst, llvm::AtomicCmpXchgInst>(instruction);
    if (auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction)) at(conditional_branches) += branch->isConditional();
    if (instruction.isCast()) {
      ++at(casts);
      at(conversions) += instruction.getType()->isFPOrFPVectorTy() != instruction.getOperand(0)->getType()->isFPOrFPVectorTy() &&
                         !llvm::isa<llvm::BitCastInst>(instruction);
    }
    if (auto* allocation = llvm::dyn_cast<llvm::AllocaInst>(&instruction)) {
      ++at(stack_allocations);
      if (const auto size = allocation->getAllocationSize(layout_); size && !size->isScalable())
        at(stack_bytes) += size->getFixedValue();
    }
    if (instruction.isBinaryOp() || instruction.getOpcode() == llvm::Instruction::FNeg) count_arithmetic(instruction);
    if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction)) count_call(*call);
    count_access(instruction);
  }

  static double lanes(const llvm::Type& type) {
    auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(&type);
    return vector ? vector->getNumElements() : 1;
  }

  void count_float(const llvm::Type& type, double operations) {
    const llvm::Type& scalar = *type.getScalarType();
    at(scalar.isDoubleTy() ? double_arithmetic : scalar.isFloatTy() ? single_arithmetic : half_arithmetic) += lanes(type);
    at(float_arithmetic_in_loops) += depth_ > 0;
    float_operations_ += operations * lanes(type);
  }

  void count_arithmetic(const llvm::Instruction& instruction) {
    switch (instruction.getOpcode()) {
      case llvm::Instruction::FDiv:
      case llvm::Instruction::FRem: ++at(float_divides); [[fallthrough]];
      case llvm::Instruction::FAdd:
      case llvm::Instruction::FSub:
      case llvm::Instruction::FMul:
      case llvm::Instruction::FNeg: return count_float(*instruction.getType(), 1);
      case llvm::Instruction::Mul: ++at(integer_multiplies); break;
      case llvm::Instruction::UDiv:
      case llvm::Instruction::SDiv:
      case llvm::Instruction::URem:
      case llvm::Instruction::SRem: ++at(integer_divides); break;
      case llvm::Instruction::Add:
      case llvm::Instruction::Sub: break;
      default: ++at(bitwise); return;
    }
    ++at(integer_arithmetic);
  }

  void count_call(const llvm::CallBase& call) {
    if (call.isInlineAsm()) {
      ++at(inline_assembly);
      return;
    }
    const llvm::Function* callee = call.getCalledFunction();
    if (!callee) {
      ++at(indirect_calls);
      return;
    }
    const llvm::StringRef name = callee->getName();
    at(math_calls) += name.starts_with("__nv_") || name.starts_with("__ocml_") || is_math(callee->getIntrinsicID());
    if (!callee->isIntrinsic()) {
      ++at(calls);
      return;
    }
    if (llvm::isa<llvm::DbgInfoIntrinsic>(call) || call.isLifetimeStartOrEnd()) return;
    ++at(intrinsics);
    at(barriers) += name.contains(".barrier") || name.contains(".bar.sync") || name.contains("s.barrier");
    at(warp_collectives) += contains_any(name, {".shfl.", ".vote.", ".match.", ".redux.", ".ds.bpermute", ".ds.permute",
                                                ".ds.swizzle", ".readlane", ".readfirstlane", ".writelane", ".permlane",
                                                ".update.dpp", ".mov.dpp", "amdgcn.ballot", "amdgcn.icmp", "amdgcn.fcmp"});
    at(special_registers) += contains_any(name, {".sreg.", ".workitem.id", ".workgroup.id", ".mbcnt.lo", ".s.getreg"});
    if (name.starts_with("llvm.fma.") || name.starts_with("llvm.fmuladd.") || name.starts_with("llvm.nvvm.fma.")) {
      ++at(fused_multiply_adds);
      count_float(*call.getType(), 2);
    }
  }

  static bool is_math(llvm::Intrinsic::ID id) {
    switch (id) {
      case llvm::Intrinsic::sqrt:
      case llvm::Intrinsic::sin:
      case llvm::Intrinsic::cos:
      case llvm::Intrinsic::exp:
      case llvm::Intrinsic::exp2:
      case llvm::Intrinsic::log:
      case llvm::Intrinsic::log2:
      case llvm::Intrinsic::log10:
      case llvm::Intrinsic::pow: return true;
      default: return false;
    }
  }

  void count_access(const llvm::Instruction& instruction) {
    const llvm::Value* pointer = nullptr;
    if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) {
      pointer = load->getPointerOperand();
      ++at(loads);
      at(loads_in_loops) += depth_ > 0;
      at(bytes_loaded) += layout_.getTypeStoreSize(load->getType()).getKnownMinValue();
    } else if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) {
      pointer = store->getPointerOperand();
      ++at(stores);
      at(stores_in_loops) += depth_ > 0;
      at(bytes_stored) += layout_.getTypeStoreSize(store->getValueOperand()->getType()).getKnownMinValue();
    } else if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) {
      pointer = update->getPointerOperand();
    } else if (auto* exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
      pointer = exchange->getPointerOperand();
    }
    if (!pointer) return;
    // What a generic pointer was made of says more than its own type.
    switch (pointer->stripPointerCasts()->getType()->getPointerAddressSpace()) {
      case kGlobalSpace: ++at(global_accesses); break;
      case kSharedSpace: ++at(shared_accesses); break;
      case kConstantSpace: ++at(constant_accesses); break;
      case kLocalSpace: ++at(local_accesses); break;
      default: ++at(generic_accesses);
    }
  }

  llvm::Function& function_;
  const llvm::DataLayout& layout_;
  std::array<double, feature_count> values_ = {};
  double float_operations_ = 0;
  unsigned depth_ = 0;
};

}  // namespace

#define MNEME_TEXT_(...) #__VA_ARGS__
#define MNEME_TEXT(...) MNEME_TEXT_(__VA_ARGS__)

const std::vector<std::string>& feature_names() {
  static const std::vector<std::string> names = [] {
    llvm::SmallVector<llvm::StringRef> parts;
    llvm::StringRef(MNEME_TEXT(MNEME_FEATURES)).split(parts, ',');
    std::vector<std::string> all;
    for (llvm::StringRef part : parts) all.push_back(part.trim().str());
    return all;
  }();
  return names;
}

Result<std::vector<double>> features(const ValueRef& ref) {
  MNEME_TRY(verify_function(ref));
  MNEME_ASSIGN(llvm::Function * function, get<llvm::Function>(ref));
  if (function->isDeclaration())
    return error(Code::invalid_argument, "{} is only declared, and has no features", describe(*function));
  return Counter(*function).count();
}

}  // namespace mneme::ir
