#include "mneme/cpu/lower/amdgcn/instructions.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "mneme/cpu/lower/amdgcn/emitter.h"
#include "mneme/cpu/lower/amdgcn/inline_assembly.h"
#include "mneme/cpu/lower/amdgcn/library_functions.h"
#include "mneme/cpu/lower/amdgcn/memory_scopes.h"
#include "mneme/cpu/lower/amdgcn/warp_size.h"
#include "mneme/cpu/lower/amdgcn/wave_sites.h"

namespace mneme::cpu::amdgcn {
namespace {

enum class What { other, assembly, intrinsic, library, fence, trap };

What classify(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (!call) return What::other;
  if (call->isInlineAsm()) return What::assembly;
  const llvm::Function* callee = call->getCalledFunction();
  if (!callee || !callee->isDeclaration()) return What::other;
  const llvm::Intrinsic::ID id = callee->getIntrinsicID();
  if (id == llvm::Intrinsic::trap || id == llvm::Intrinsic::debugtrap || id == llvm::Intrinsic::ubsantrap) return What::trap;
  if (is_fence_function(*callee)) return What::fence;
  if (is_library_function(*callee)) return What::library;
  return callee->getName().starts_with("llvm.amdgcn.") || find_row(id) ? What::intrinsic : What::other;
}

const Row* row_of(const llvm::Instruction& instruction) {
  if (classify(instruction) != What::intrinsic) return nullptr;
  return find_row(llvm::cast<llvm::CallBase>(instruction).getIntrinsicID());
}

Status refused(const llvm::CallBase& call, const char* kind, const std::string& name) {
  return error(Code::unsupported, "{} '{}' in '{}': the CPU device does not have it", kind, name,
               call.getFunction()->getName().str());
}

void replace(llvm::CallBase& call, llvm::Value* value) {
  if (!call.getType()->isVoidTy()) call.replaceAllUsesWith(value);
  call.eraseFromParent();
}

Status lower_intrinsic(llvm::CallBase& call, llvm::Value* thread, uint32_t site) {
  const Row* row = find_row(call.getIntrinsicID());
  Emitter emitter(call, thread, site, warp_size(*call.getFunction()));
  llvm::Value* value = row ? row->emit(emitter) : nullptr;
  if (!value) return refused(call, "intrinsic", call.getCalledFunction()->getName().str());
  replace(call, value);
  return {};
}

Status lower_assembly(llvm::CallBase& call, llvm::Value* thread) {
  Emitter emitter(call, thread, 0, warp_size(*call.getFunction()));
  llvm::Value* value = emit_assembly(emitter);
  if (!value) return refused(call, "inline assembly", llvm::cast<llvm::InlineAsm>(call.getCalledOperand())->getAsmString().str());
  replace(call, value);
  return {};
}

void call_trap(llvm::CallBase& call, llvm::Value* thread) {
  llvm::IRBuilder<> ir(&call);
  ptx::ThreadState(ir, thread).call(ptx::CpuService::trap, {});
  call.eraseFromParent();
}

}  // namespace

Status lower_instructions(llvm::Function& function, llvm::Value* thread) {
  const auto sites = number_sites(function);
  std::vector<llvm::Instruction*> instructions;
  for (llvm::Instruction& instruction : llvm::instructions(function)) instructions.push_back(&instruction);
  for (llvm::Instruction* instruction : instructions) {
    auto* call = llvm::dyn_cast<llvm::CallBase>(instruction);
    switch (classify(*instruction)) {
      case What::intrinsic: MNEME_TRY(lower_intrinsic(*call, thread, sites.lookup(call))); break;
      case What::assembly: MNEME_TRY(lower_assembly(*call, thread)); break;
      case What::library: lower_library_call(*call, thread); break;
      case What::fence: lower_fence_function(*call); break;
      case What::trap: call_trap(*call, thread); break;
      case What::other: map_scope(*instruction); break;
    }
  }
  return {};
}

bool needs_fibers(const llvm::Instruction& instruction) {
  if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction); call && call->isInlineAsm()) return assembly_waits(*call);
  const Row* row = row_of(instruction);
  return row && row->meets != Meets::nobody;
}

bool meets_wave(const llvm::Instruction& instruction) {
  const Row* row = row_of(instruction);
  return row && row->meets == Meets::wave;
}

bool is_device_instruction(const llvm::Instruction& instruction) { return classify(instruction) != What::other; }

}  // namespace mneme::cpu::amdgcn
