#include "mneme/cpu/lower/amdgcn/library_functions.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/IR/IRBuilder.h>

#include "mneme/cpu/lower/amdgcn/image_functions.h"
#include "mneme/cpu/ptx/thread_state.h"

namespace mneme::cpu::amdgcn {
namespace {

constexpr char kHostCall[] = "__ockl_hostcall_preview", kAllocate[] = "__ockl_dm_alloc", kRelease[] = "__ockl_dm_dealloc";
constexpr unsigned kHostArguments = 8;

// Its name in its library. Where the code of several kernels is linked, each brings its own: linking adds ".5" to the later ones.
llvm::StringRef library_name(const llvm::Function& function) {
  const auto [name, number] = function.getName().rsplit('.');
  return !number.empty() && llvm::all_of(number, llvm::isDigit) ? name : function.getName();
}

bool is_pointer_or_word(const llvm::Type* type) { return type->isPointerTy() || type->isIntegerTy(64); }

// Whether the function is what its name says.
bool is_as_declared(const llvm::Function& function) {
  const llvm::StringRef name = library_name(function);
  if (name == kHostCall) return function.arg_size() == 1 + kHostArguments && function.getReturnType()->isVectorTy();
  if (name == kAllocate || name == "malloc") return function.arg_size() == 1 && is_pointer_or_word(function.getReturnType());
  if (name == kRelease || name == "free") return function.arg_size() == 1 && is_pointer_or_word(function.getArg(0)->getType());
  if (name == "__assert_fail") return function.arg_size() == 4;
  return is_image_function(name, *function.getFunctionType());
}

// Arguments and results in the thread's memory.
llvm::Value* call_host(llvm::CallBase& call, llvm::IRBuilder<>& ir, ptx::ThreadState& state) {
  llvm::BasicBlock& entry = call.getFunction()->getEntryBlock();
  llvm::IRBuilder<> at_begin(&entry, entry.begin());
  llvm::Value* arguments = at_begin.CreateAlloca(llvm::ArrayType::get(ir.getInt64Ty(), kHostArguments), 0u);
  llvm::AllocaInst* results = at_begin.CreateAlloca(call.getType(), 0u);
  for (unsigned i = 0; i < kHostArguments; ++i)
    ir.CreateStore(call.getArgOperand(1 + i), ir.CreateConstInBoundsGEP1_64(ir.getInt64Ty(), arguments, i));
  state.call(ptx::CpuService::host_call, {call.getArgOperand(0), arguments, results});
  return ir.CreateLoad(call.getType(), results);
}

}  // namespace

void cut_library_functions(llvm::Module& module) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    const llvm::StringRef name = library_name(function);
    if (function.isDeclaration() || !is_as_declared(function)) continue;
    llvm::Function* first = module.getFunction(name);
    if (first && first != &function && first->getFunctionType() == function.getFunctionType()) {
      function.replaceAllUsesWith(first);
      function.eraseFromParent();
      continue;
    }
    function.deleteBody();
    function.setComdat(nullptr);
    function.setVisibility(llvm::GlobalValue::DefaultVisibility);
    if (!first) function.setName(name.str());
  }
}

bool is_library_function(const llvm::Function& function) {
  const llvm::StringRef name = function.getName();
  return !llvm::is_contained({"malloc", "free", "__assert_fail"}, name) && name == library_name(function) &&
         is_as_declared(function);
}

void lower_library_call(llvm::CallBase& call, llvm::Value* thread) {
  if (is_image_function(call.getCalledFunction()->getName(), *call.getFunctionType())) return lower_image_call(call, thread);
  llvm::IRBuilder<> ir(&call);
  ptx::ThreadState state(ir, thread);
  const llvm::StringRef name = call.getCalledFunction()->getName();
  llvm::Value* value = nullptr;
  if (name == kHostCall) {
    value = call_host(call, ir, state);
  } else if (name == kAllocate) {
    value = ir.CreateBitOrPointerCast(state.call(ptx::CpuService::malloc, {call.getArgOperand(0)}), ir.getPtrTy());
    value =
        call.getType()->isPointerTy() ? ir.CreateAddrSpaceCast(value, call.getType()) : ir.CreatePtrToInt(value, call.getType());
  } else {
    llvm::Value* memory = call.getArgOperand(0);
    memory = memory->getType()->isPointerTy() ? ir.CreateAddrSpaceCast(memory, ir.getPtrTy())
                                              : ir.CreateIntToPtr(memory, ir.getPtrTy());
    state.call(ptx::CpuService::free, {memory});
  }
  if (value) call.replaceAllUsesWith(value);
  call.eraseFromParent();
}

}  // namespace mneme::cpu::amdgcn
