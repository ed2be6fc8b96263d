#include "mneme/cpu/lower/amdgcn/memory_scopes.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>

namespace mneme::cpu::amdgcn {
namespace {

bool is_within_group(const llvm::LLVMContext& context, llvm::SyncScope::ID scope) {
  if (scope == llvm::SyncScope::SingleThread) return true;
  if (scope == llvm::SyncScope::System) return false;
  const llvm::StringRef name = context.getSyncScopeName(scope).value_or("");
  return name.starts_with("workgroup") || name.starts_with("wavefront") || name.starts_with("singlethread");
}

}  // namespace

void map_scope(llvm::Instruction& instruction) {
  if (!instruction.isAtomic()) return;
  if (auto* fence = llvm::dyn_cast<llvm::FenceInst>(&instruction)) {
    const bool within = is_within_group(instruction.getContext(), fence->getSyncScopeID());
    return fence->setSyncScopeID(within ? llvm::SyncScope::SingleThread : llvm::SyncScope::System);
  }
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->setSyncScopeID(llvm::SyncScope::System);
  if (auto* store = llvm::dyn_cast<llvm::StoreInst>(&instruction)) return store->setSyncScopeID(llvm::SyncScope::System);
  if (auto* update = llvm::dyn_cast<llvm::AtomicRMWInst>(&instruction)) return update->setSyncScopeID(llvm::SyncScope::System);
  llvm::cast<llvm::AtomicCmpXchgInst>(instruction).setSyncScopeID(llvm::SyncScope::System);
}

bool is_fence_function(const llvm::Function& function) {
  return function.getName() == "__atomic_work_item_fence" && function.arg_size() == 3;
}

void lower_fence_function(llvm::CallBase& call) {
  constexpr uint64_t kDevice = 2, kAllDevices = 3;  // memory_scope of OpenCL
  const auto* scope = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(2));
  const bool wide = !scope || scope->getZExtValue() == kDevice || scope->getZExtValue() == kAllDevices;
  llvm::IRBuilder<> ir(&call);
  ir.CreateFence(llvm::AtomicOrdering::SequentiallyConsistent, wide ? llvm::SyncScope::System : llvm::SyncScope::SingleThread);
  call.eraseFromParent();
}

}  // namespace mneme::cpu::amdgcn
