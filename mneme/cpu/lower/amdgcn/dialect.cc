#include "mneme/cpu/lower/amdgcn/dialect.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsAMDGPU.h>
#include <llvm/IR/Metadata.h>

#include "mneme/cpu/lower/amdgcn/control_constants.h"
#include "mneme/cpu/lower/amdgcn/inline_assembly.h"
#include "mneme/cpu/lower/amdgcn/instructions.h"
#include "mneme/cpu/lower/amdgcn/library_functions.h"
#include "mneme/cpu/lower/amdgcn/narrow_pointers.h"
#include "mneme/cpu/lower/amdgcn/reachable.h"
#include "mneme/cpu/lower/amdgcn/warp_size.h"
#include "mneme/cpu/lower/amdgcn/wave_sites.h"

namespace mneme::cpu::amdgcn {
namespace {

// Where a kernel finds its implicit arguments, and what they are, is a matter of the version.
Status check(const llvm::Module& module) {
  constexpr uint64_t kFirst = 500, kLast = 699;
  const auto* flag = llvm::mdconst::extract_or_null<llvm::ConstantInt>(module.getModuleFlag("amdhsa_code_object_version"));
  if (!flag || (flag->getZExtValue() >= kFirst && flag->getZExtValue() <= kLast)) return {};
  return error(
      Code::unsupported,
      "lowering to the CPU: the module is of code object version {}; those of versions 5 and 6 can be lowered: compile with "
      "-mcode-object-version=5",
      flag->getZExtValue() / 100);
}

// "amdgpu-flat-work-group-size"="1,256": the least and the most work-items of a group.
uint32_t launch_bound(const llvm::Function& kernel) {
  uint32_t most = 0;
  const llvm::StringRef text = kernel.getFnAttribute("amdgpu-flat-work-group-size").getValueAsString();
  return text.split(',').second.trim().getAsInteger(10, most) ? 0 : most;
}

// Code reads the mask of active lanes from a register, as an intrinsic for hosts; it is what all of them vote for.
void replace_exec_reads(llvm::Module& module) {
  for (llvm::Function& function : llvm::make_early_inc_range(module)) {
    if (function.getIntrinsicID() != llvm::Intrinsic::read_register) continue;
    for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
      auto& call = *llvm::cast<llvm::CallInst>(user);
      const auto* node = llvm::cast<llvm::MDNode>(llvm::cast<llvm::MetadataAsValue>(call.getArgOperand(0))->getMetadata());
      const llvm::StringRef name = llvm::cast<llvm::MDString>(node->getOperand(0))->getString();
      if (name != "exec" && name != "exec_lo" && name != "exec_hi") continue;
      llvm::IRBuilder<> ir(&call);
      llvm::Value* lanes = ir.CreateIntrinsic(llvm::Intrinsic::amdgcn_ballot, {ir.getInt64Ty()}, {ir.getTrue()});
      if (name == "exec_hi") lanes = ir.CreateLShr(lanes, 32);
      call.replaceAllUsesWith(ir.CreateZExtOrTrunc(lanes, call.getType()));
      call.eraseFromParent();
    }
  }
}

bool is_barrier(const llvm::Instruction& instruction) {
  const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (!call) return false;
  if (call->isInlineAsm()) return assembly_waits(*call);
  switch (call->getIntrinsicID()) {
    case llvm::Intrinsic::amdgcn_s_barrier:
    case llvm::Intrinsic::amdgcn_s_barrier_signal:
    case llvm::Intrinsic::amdgcn_s_barrier_wait:
    case llvm::Intrinsic::amdgcn_wave_barrier: return true;
    default: return false;
  }
}

void complete(llvm::Module& module) {
  define_controls(module);
  cut_library_functions(module);
}

Status begin(llvm::Module& module) {
  drop_unreachable(module);
  replace_exec_reads(module);
  inline_collectives(module);
  return {};
}

}  // namespace

constexpr Dialect kDialect = {
    .intrinsic_prefix = "llvm.amdgcn.",
    .default_architecture = "gfx90a",
    .long_shift = LongShift::wraps,
    .is_of = [](const llvm::Triple& triple) { return triple.getArch() == llvm::Triple::amdgcn; },
    .check = check,
    .complete = complete,
    .launch_bound = launch_bound,
    .warp_size = warp_size,
    .is_barrier = is_barrier,
    .begin = begin,
    .fit_pointers = fit_pointers,
    .lower_instructions = lower_instructions,
    .needs_fibers = needs_fibers,
    .observes_other_threads = [](const llvm::Instruction&) { return false; },
    .is_device_instruction = is_device_instruction,
};

}  // namespace mneme::cpu::amdgcn
