// The table of dialects, and the questions of intrinsics.h, which go to the module's.
#include "mneme/cpu/lower/amdgcn/dialect.h"
#include "mneme/cpu/lower/dialect.h"
#include "mneme/cpu/lower/intrinsics.h"
#include "mneme/cpu/lower/nvptx/dialect.h"

namespace mneme::cpu {
namespace {

constexpr const Dialect* kDialects[] = {&nvptx::kDialect, &amdgcn::kDialect};

const Dialect& dialect_of(const llvm::Instruction& instruction) { return cpu::dialect_of(*instruction.getModule()); }

}  // namespace

const Dialect* find_dialect(const llvm::Triple& triple) {
  for (const Dialect* dialect : kDialects)
    if (dialect->is_of(triple)) return dialect;
  return nullptr;
}

const Dialect& dialect_of(const llvm::Module& module) {
  const Dialect* found = find_dialect(module.getTargetTriple());
  return found ? *found : nvptx::kDialect;
}

Status lower_device_instructions(llvm::Function& function, llvm::Value* thread) {
  return dialect_of(*function.getParent()).lower_instructions(function, thread);
}

bool needs_fibers(const llvm::Instruction& instruction) { return dialect_of(instruction).needs_fibers(instruction); }

bool observes_other_threads(const llvm::Instruction& instruction) {
  if (auto* load = llvm::dyn_cast<llvm::LoadInst>(&instruction)) return load->isVolatile() || load->isAtomic();
  if (instruction.isAtomic() && !llvm::isa<llvm::FenceInst>(instruction)) return instruction.mayReadFromMemory();
  return dialect_of(instruction).observes_other_threads(instruction);
}

bool is_device_instruction(const llvm::Instruction& instruction) {
  return dialect_of(instruction).is_device_instruction(instruction);
}

}  // namespace mneme::cpu
