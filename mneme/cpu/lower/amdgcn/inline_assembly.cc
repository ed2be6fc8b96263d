#include "mneme/cpu/lower/amdgcn/inline_assembly.h"

#include <llvm/ADT/StringSwitch.h>
#include <llvm/IR/InlineAsm.h>

#include <optional>

namespace mneme::cpu::amdgcn {
namespace {

enum class Does { nothing, waits_for_threads, yields, moves, unknown };

// One statement, without its comment.
Does meaning(llvm::StringRef statement) {
  const auto [opcode, operands] = statement.split(' ');
  const bool move = operands.trim() == "$0, $1" || operands.trim() == "$0,$1";
  return llvm::StringSwitch<Does>(opcode)
      .Cases({"s_nop", "s_setprio", "s_waitcnt", "s_waitcnt_vscnt", "s_waitcnt_depctr", "s_wait_idle", "s_clause"}, Does::nothing)
      .Cases({"s_dcache_wb", "s_dcache_inv", "s_icache_inv", "buffer_wbinvl1", "buffer_wbinvl1_vol"}, Does::nothing)
      .Cases({"buffer_gl0_inv", "buffer_gl1_inv", "buffer_wbl2", "buffer_invl2", "buffer_inv"}, Does::nothing)
      .Case("s_barrier", Does::waits_for_threads)
      .Case("s_sleep", Does::yields)
      .Cases({"v_mov_b32", "v_mov_b32_e32", "s_mov_b32", "s_mov_b64"}, move ? Does::moves : Does::unknown)
      .Default(Does::unknown);
}

std::vector<Does> meanings(const llvm::CallBase& call) {
  llvm::SmallVector<llvm::StringRef> lines;
  const llvm::StringRef text = llvm::cast<llvm::InlineAsm>(call.getCalledOperand())->getAsmString();
  text.split(lines, '\n');
  std::vector<Does> found;
  for (llvm::StringRef line : lines) {
    line = line.split(';').first;
    line = line.split("//").first.trim();
    if (!line.empty()) found.push_back(meaning(line));
  }
  return found;
}

// The one input of assembly with one output; `tied`: that must be the output's register.
llvm::Value* only_input(const llvm::CallBase& call, bool tied) {
  const auto constraints = llvm::cast<llvm::InlineAsm>(call.getCalledOperand())->ParseConstraints();
  if (call.arg_size() != 1 || constraints.size() < 2 || call.getArgOperand(0)->getType() != call.getType()) return nullptr;
  const auto& input = constraints[1];
  if (input.Type != llvm::InlineAsm::isInput || constraints[0].isIndirect || input.isIndirect) return nullptr;
  return !tied || constraints[0].MatchingInput >= 0 ? call.getArgOperand(0) : nullptr;
}

}  // namespace

llvm::Value* emit_assembly(Emitter& e) {
  const std::vector<Does> statements = meanings(e.call);
  llvm::Value* none = e.ir.getTrue();
  if (!e.call.getType()->isVoidTy()) {
    if (statements.empty()) return only_input(e.call, /*tied=*/true);
    const bool move = statements.size() == 1 && statements[0] == Does::moves;
    return move ? only_input(e.call, /*tied=*/false) : nullptr;
  }
  for (Does statement : statements) {
    switch (statement) {
      case Does::nothing: break;
      case Does::waits_for_threads: e.state.call(ptx::CpuService::barrier, {e.ir.getInt32(0), e.ir.getInt32(0)}); break;
      case Does::yields: e.state.call(ptx::CpuService::yield, {}); break;
      case Does::moves:
      case Does::unknown: return nullptr;
    }
  }
  return none;
}

bool assembly_waits(const llvm::CallBase& call) {
  for (Does statement : meanings(call))
    if (statement == Does::waits_for_threads || statement == Does::yields) return true;
  return false;
}

}  // namespace mneme::cpu::amdgcn
