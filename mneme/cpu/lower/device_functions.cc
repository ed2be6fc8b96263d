#include "mneme/cpu/lower/device_functions.h"

#include <llvm/IR/AttributeMask.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/Local.h>

#include <set>

#include "mneme/compile/prepare.h"
#include "mneme/cpu/lower/gpu_arithmetic.h"
#include "mneme/cpu/lower/intrinsics.h"
#include "mneme/cpu/lower/lockstep.h"
#include "mneme/cpu/lower/spin_loops.h"
#include "mneme/cpu/ptx/thread_state.h"

namespace mneme::cpu {
namespace {

llvm::Value* thread_of(llvm::Function& function) { return function.getArg(function.arg_size() - 1); }

llvm::Function* with_thread_parameter(llvm::Function& old) {
  std::vector<llvm::Type*> types(old.getFunctionType()->params().begin(), old.getFunctionType()->params().end());
  types.push_back(llvm::PointerType::get(old.getContext(), 0));
  auto* type = llvm::FunctionType::get(old.getReturnType(), types, old.isVarArg());
  auto* made = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, old.getAddressSpace());
  old.getParent()->getFunctionList().insert(old.getIterator(), made);
  made->copyAttributesFrom(&old);
  made->setCallingConv(llvm::CallingConv::C);
  made->setLinkage(llvm::GlobalValue::InternalLinkage);
  made->setSubprogram(old.getSubprogram());
  old.setSubprogram(nullptr);
  made->splice(made->begin(), &old);
  for (llvm::Argument& argument : old.args()) {
    llvm::Argument* now = made->getArg(argument.getArgNo());
    now->setName(argument.getName());
    argument.replaceAllUsesWith(now);
  }
  thread_of(*made)->setName("thread");
  old.replaceAllUsesWith(made);
  made->takeName(&old);
  old.eraseFromParent();
  return made;
}

// A direct call of a function that has no body here: an intrinsic, or one of the device's library.
bool stays_a_plain_call(const llvm::CallBase& call) {
  const llvm::Function* callee = call.getCalledFunction();
  return call.isInlineAsm() || (callee && callee->isDeclaration());
}

void pass_thread(llvm::CallBase& call) {
  llvm::Value* thread = thread_of(*call.getFunction());
  std::vector<llvm::Value*> arguments(call.arg_begin(), call.arg_end());
  arguments.push_back(thread);
  std::vector<llvm::Type*> types(call.getFunctionType()->params().begin(), call.getFunctionType()->params().end());
  types.push_back(thread->getType());
  auto* type = llvm::FunctionType::get(call.getType(), types, call.getFunctionType()->isVarArg());
  llvm::SmallVector<llvm::OperandBundleDef, 1> bundles;
  call.getOperandBundlesAsDefs(bundles);
  auto* made = llvm::CallInst::Create(type, call.getCalledOperand(), arguments, bundles, "", call.getIterator());
  made->setAttributes(call.getAttributes());
  made->setDebugLoc(call.getDebugLoc());
  made->takeName(&call);
  call.replaceAllUsesWith(made);
  call.eraseFromParent();
}

// The device library's functions that are services here.
llvm::Value* call_service(ptx::ThreadState& state, llvm::IRBuilder<>& builder, llvm::CallInst& call, llvm::StringRef name) {
  auto argument = [&](unsigned i) { return call.getArgOperand(i); };
  if (name == "vprintf") return state.call(ptx::CpuService::vprintf, {argument(0), argument(1)});
  if (name == "malloc")
    return state.call(ptx::CpuService::malloc, {builder.CreateZExtOrTrunc(argument(0), builder.getInt64Ty())});
  if (name == "free") return state.call(ptx::CpuService::free, {argument(0)});
  if (name == "__assertfail" || name == "__assert_fail")
    return state.call(ptx::CpuService::assert_fail, {argument(0), argument(1), argument(2), argument(3)});
  return nullptr;
}

bool is_service(llvm::StringRef name) {
  return llvm::is_contained({"vprintf", "malloc", "free", "__assertfail", "__assert_fail"}, name);
}

Status lower_library_calls(llvm::Function& function) {
  std::vector<llvm::CallInst*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
    const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
    if (!callee || !callee->isDeclaration() || callee->isIntrinsic()) continue;
    if (!is_service(callee->getName()))
      return error(Code::unsupported, "function '{}', which '{}' calls, is nowhere defined, and the CPU device does not have it",
                   callee->getName().str(), function.getName().str());
    calls.push_back(call);
  }
  for (llvm::CallInst* call : calls) {
    llvm::IRBuilder<> builder(call);
    ptx::ThreadState state(builder, thread_of(function));
    llvm::Value* value = call_service(state, builder, *call, call->getCalledFunction()->getName());
    if (!call->getType()->isVoidTy()) call->replaceAllUsesWith(builder.CreateBitOrPointerCast(value, call->getType()));
    call->eraseFromParent();
  }
  return {};
}

void add_steps(llvm::Function& function) {
  for (llvm::Instruction& instruction : llvm::instructions(function)) {
    if (!keeps_step(instruction)) continue;
    llvm::IRBuilder<> builder(&instruction);
    llvm::Value* address = llvm::getLoadStorePointerOperand(&instruction);
    ptx::ThreadState(builder, thread_of(function))
        .call(ptx::CpuService::keep_step, {builder.CreateAddrSpaceCast(address, builder.getPtrTy())});
  }
}

// What is nowhere defined cannot be pointed to either.
Status check_addresses(const llvm::Module& module) {
  for (const llvm::Function& function : module) {
    if (!function.isDeclaration() || function.isIntrinsic() || function.use_empty()) continue;
    return error(Code::unsupported,
                 "function '{}', whose address is taken, is nowhere defined, and the CPU device does not have it",
                 function.getName().str());
  }
  return {};
}

}  // namespace

llvm::StringMap<llvm::Function*> add_thread_parameter(llvm::Module& module) {
  std::vector<llvm::Function*> defined;
  for (llvm::Function& function : module)
    if (!function.isDeclaration()) defined.push_back(&function);
  llvm::StringMap<llvm::Function*> kernels;
  for (llvm::Function*& function : defined) {
    bool kernel = is_kernel(*function);
    function = with_thread_parameter(*function);
    if (kernel) kernels[function->getName()] = function;
  }
  for (llvm::Function* function : defined) {
    std::vector<llvm::CallBase*> calls;
    for (llvm::Instruction& instruction : llvm::instructions(*function))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && !stays_a_plain_call(*call)) calls.push_back(call);
    for (llvm::CallBase* call : calls) pass_thread(*call);
  }
  return kernels;
}

void guard_calls_by_pointer(llvm::Module& module) {
  std::vector<llvm::Function*> targets;
  std::vector<llvm::CallBase*> calls;
  for (llvm::Function& function : module) {
    if (!function.isDeclaration() && function.hasAddressTaken()) targets.push_back(&function);
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call && !call->isInlineAsm() && !llvm::isa<llvm::Function>(call->getCalledOperand()->stripPointerCasts()))
        calls.push_back(call);
    }
  }
  for (llvm::CallBase* call : calls) {
    llvm::IRBuilder<> builder(call);
    llvm::Value* target = builder.CreateAddrSpaceCast(call->getCalledOperand(), builder.getPtrTy());
    llvm::Value* wild = builder.getTrue();
    for (llvm::Function* function : targets) wild = builder.CreateAnd(wild, builder.CreateICmpNE(target, function));
    llvm::MDNode* never = llvm::MDBuilder(module.getContext()).createUnlikelyBranchWeights();
    llvm::Instruction* end = llvm::SplitBlockAndInsertIfThen(wild, call->getIterator(), /*Unreachable=*/true, never);
    builder.SetInsertPoint(end);
    builder.SetCurrentDebugLocation(call->getDebugLoc());
    ptx::ThreadState(builder, thread_of(*call->getFunction())).call(ptx::CpuService::wild_call, {target});
  }
}

Status lower_device_code(llvm::Module& module) {
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    for (llvm::Instruction* latch : spin_latches(function)) {
      llvm::IRBuilder<> builder(latch);
      ptx::ThreadState(builder, thread_of(function)).call(ptx::CpuService::yield, {});
    }
    add_steps(function);
    MNEME_TRY(lower_device_instructions(function, thread_of(function)));
    MNEME_TRY(lower_library_calls(function));
    define_arithmetic(function);
  }
  return check_addresses(module);
}

void drop_device_assumptions(llvm::Module& module) {
  llvm::AttributeMask mask;
  for (auto kind : {llvm::Attribute::Memory, llvm::Attribute::NoSync, llvm::Attribute::WillReturn, llvm::Attribute::Speculatable,
                    llvm::Attribute::Convergent})
    mask.addAttribute(kind);
  for (llvm::Function& function : module) {
    if (function.isDeclaration() && function.isIntrinsic()) continue;
    function.removeFnAttrs(mask);
    for (llvm::Instruction& instruction : llvm::instructions(function))
      if (auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction))
        if (!call->getCalledFunction() || !call->getCalledFunction()->isIntrinsic()) call->removeFnAttrs(mask);
  }
}

std::vector<llvm::Function*> reachable_functions(llvm::Function& kernel) {
  std::vector<llvm::Function*> order{&kernel};
  std::set<llvm::Function*> seen{&kernel};
  auto visit = [&](llvm::Function& function) {
    if (!function.isDeclaration() && seen.insert(&function).second) order.push_back(&function);
  };
  for (size_t i = 0; i < order.size(); ++i) {
    for (llvm::Instruction& instruction : llvm::instructions(*order[i])) {
      auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (!call || call->isInlineAsm()) continue;
      if (llvm::Function* callee = call->getCalledFunction()) {
        visit(*callee);
      } else {
        for (llvm::Function& other : *kernel.getParent())
          if (other.hasAddressTaken()) visit(other);
      }
    }
  }
  return order;
}

bool kernel_needs_fibers(llvm::Function& kernel) {
  for (llvm::Function* function : reachable_functions(kernel)) {
    for (llvm::Instruction& instruction : llvm::instructions(*function))
      if (needs_fibers(instruction) || keeps_step(instruction)) return true;
    if (!spin_latches(*function).empty()) return true;
  }
  return false;
}

}  // namespace mneme::cpu
