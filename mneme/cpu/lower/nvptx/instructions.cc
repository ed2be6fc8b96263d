#include "mneme/cpu/lower/nvptx/instructions.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <array>
#include <vector>

#include "mneme/cpu/lower/nvptx/intrinsics_spelling.h"
#include "mneme/cpu/ptx/ptx_asm.h"
#include "mneme/cpu/ptx/ptx_asm_emit.h"

namespace mneme::cpu::nvptx {
namespace {

enum class What { other, inline_ptx, intrinsic, reflect, trap };

What classify(const llvm::Instruction& instruction) {
  auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
  if (!call) return What::other;
  if (call->isInlineAsm()) return What::inline_ptx;
  const llvm::Function* callee = call->getCalledFunction();
  if (!callee) return What::other;
  llvm::Intrinsic::ID id = callee->getIntrinsicID();
  if (id == llvm::Intrinsic::nvvm_reflect || callee->getName() == "__nvvm_reflect") return What::reflect;
  if (id == llvm::Intrinsic::trap || id == llvm::Intrinsic::debugtrap || id == llvm::Intrinsic::ubsantrap) return What::trap;
  return callee->getName().starts_with("llvm.nvvm.") ? What::intrinsic : What::other;
}

// What an instruction says in PTX; an empty program for one that is none or that does not parse, which lowering reports.
ptx::Program program_of(const llvm::Instruction& instruction) {
  Result<ptx::Program> program = ptx::Program();
  What what = classify(instruction);
  if (what == What::inline_ptx) {
    auto* text = llvm::cast<llvm::InlineAsm>(llvm::cast<llvm::CallBase>(instruction).getCalledOperand());
    program = ptx::parse(text->getAsmString());
  } else if (what == What::intrinsic) {
    auto* call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (std::optional<std::string> text = call ? ptx_spelling(*call) : std::nullopt) program = ptx::parse(*text);
  }
  return program.ok() ? std::move(program).value() : ptx::Program();
}

// "sm_90a" is 900, as the compiler's __CUDA_ARCH__.
uint32_t architecture(const llvm::Function& function) {
  llvm::StringRef cpu = function.getFnAttribute("target-cpu").getValueAsString();
  uint32_t number = 0;
  if (cpu.consume_front("sm_")) cpu.consumeInteger(10, number);
  return number * 10;
}

void fold_reflect(llvm::CallBase& call) {
  uint32_t value = 0;
  auto* global = llvm::dyn_cast<llvm::GlobalVariable>(call.getArgOperand(0)->stripPointerCastsAndAliases());
  auto* text =
      global && global->hasInitializer() ? llvm::dyn_cast<llvm::ConstantDataSequential>(global->getInitializer()) : nullptr;
  llvm::StringRef name = text && text->isCString() ? text->getAsCString() : "";
  if (name == "__CUDA_ARCH") value = architecture(*call.getFunction());
  if (name == "__CUDA_FTZ")
    if (auto* flag = llvm::mdconst::extract_or_null<llvm::ConstantInt>(call.getModule()->getModuleFlag("nvvm-reflect-ftz")))
      value = static_cast<uint32_t>(flag->getZExtValue());
  call.replaceAllUsesWith(llvm::ConstantInt::get(call.getType(), value));
  call.eraseFromParent();
}

void call_trap(llvm::CallBase& call, llvm::Value* thread) {
  llvm::IRBuilder<> ir(&call);
  ptx::ThreadState(ir, thread).call(ptx::CpuService::trap, {});
  call.eraseFromParent();
}

// Intrinsics that are a load or a copy of their argument in any IR type. Returns whether it was one.
bool lower_plain(llvm::IntrinsicInst& call) {
  llvm::StringRef name = llvm::Intrinsic::getBaseName(call.getIntrinsicID());
  llvm::IRBuilder<> ir(&call);
  llvm::Value* result = nullptr;
  if (name.starts_with("llvm.nvvm.ldu.global.")) {
    auto* align = llvm::dyn_cast<llvm::ConstantInt>(call.getArgOperand(1));
    llvm::LoadInst* load = ir.CreateLoad(call.getType(), call.getArgOperand(0));
    if (align) load->setAlignment(llvm::Align(align->getZExtValue()));
    result = load;
  } else if (name.starts_with("llvm.nvvm.move.")) {
    result = call.getArgOperand(0);
  } else if (name == "llvm.nvvm.internal.addrspace.wrap") {
    result = ir.CreateAddrSpaceCast(call.getArgOperand(0), call.getType());
  } else {
    return false;
  }
  call.replaceAllUsesWith(result);
  call.eraseFromParent();
  return true;
}

std::string register_constraints(const llvm::CallBase& call) {
  size_t results = call.getType()->isVoidTy() ? 0 : call.getType()->isStructTy() ? call.getType()->getStructNumElements() : 1;
  std::string text;
  for (size_t i = 0; i < results + call.arg_size(); ++i) text += fmt::format("{}{}", i ? "," : "", i < results ? "=r" : "r");
  return text;
}

Status lower_intrinsic(ptx::FunctionLowering& lowering, llvm::CallBase& call) {
  std::string name = call.getCalledFunction()->getName().str();
  auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&call);
  if (intrinsic && lower_plain(*intrinsic)) return {};
  std::optional<std::string> text = intrinsic ? ptx_spelling(*intrinsic) : std::nullopt;
  if (!text) {
    llvm::StringRef words = llvm::StringRef(name).drop_front(std::string_view("llvm.nvvm.").size());
    std::string opcode = words.starts_with("barrier.cluster") ? "barrier.cluster" : words.split('.').first.str();
    return error(Code::unsupported, "intrinsic '{}': {}", name, ptx::why_unsupported(opcode));
  }
  MNEME_ASSIGN(ptx::Program program, ptx::parse(*text));
  Status status = lowering.emit(call, program, register_constraints(call));
  if (status.ok()) return status;
  // The user wrote the intrinsic, not the PTX it was spelled in.
  size_t reason = status.message().find("': ");
  return error(status.code(), "intrinsic '{}{}", name,
               reason == std::string::npos ? "': " + status.message() : status.message().substr(reason));
}

Status lower_inline_ptx(ptx::FunctionLowering& lowering, llvm::CallBase& call, unsigned unique) {
  auto* text = llvm::cast<llvm::InlineAsm>(call.getCalledOperand());
  MNEME_ASSIGN(ptx::Program program, ptx::parse(text->getAsmString(), unique));
  return lowering.emit(call, program, text->getConstraintString());
}

}  // namespace

Status lower_instructions(llvm::Function& function, llvm::Value* thread) {
  std::vector<llvm::CallBase*> calls;
  for (llvm::Instruction& instruction : llvm::instructions(function))
    if (classify(instruction) != What::other) calls.push_back(llvm::cast<llvm::CallBase>(&instruction));
  ptx::FunctionLowering lowering(function, thread);
  Status status;
  unsigned unique = 0;
  for (llvm::CallBase* call : calls) {
    switch (classify(*call)) {
      case What::inline_ptx: status = lower_inline_ptx(lowering, *call, unique++); break;
      case What::intrinsic: status = lower_intrinsic(lowering, *call); break;
      case What::reflect: fold_reflect(*call); break;
      case What::trap: call_trap(*call, thread); break;
      case What::other: break;
    }
    if (!status.ok()) break;
  }
  lowering.finish();
  return status;
}

bool needs_fibers(const llvm::Instruction& instruction) {
  static constexpr std::array waiting = {"bar",   "barrier",    "shfl",  "vote",      "match",
                                         "redux", "activemask", "elect", "nanosleep", "exit"};
  ptx::Program program = program_of(instruction);
  if (program.branches_back()) return true;
  return std::any_of(program.statements.begin(), program.statements.end(), [](const ptx::Statement& statement) {
    return !statement.label && std::find(waiting.begin(), waiting.end(), statement.instruction.opcode) != waiting.end();
  });
}

bool observes_other_threads(const llvm::Instruction& instruction) {
  static constexpr std::array ordered = {"volatile", "mmio", "relaxed", "acquire", "cv"};
  for (const ptx::Statement& statement : program_of(instruction).statements) {
    const ptx::Instruction& ptx = statement.instruction;
    if (ptx.opcode == "atom") return true;
    if (ptx.opcode != "ld") continue;
    for (const std::string& modifier : ptx.modifiers)
      if (std::find(ordered.begin(), ordered.end(), modifier) != ordered.end()) return true;
  }
  return false;
}

bool is_device_instruction(const llvm::Instruction& instruction) { return classify(instruction) != What::other; }

}  // namespace mneme::cpu::nvptx
