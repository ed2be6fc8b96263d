#include "mneme/instrument/pointer_uses.h"

#include <llvm/ADT/SetVector.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalAlias.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

namespace mneme::instrument {
namespace {

using namespace llvm;

class Walk {
 public:
  PointerUses run(const GlobalVariable& variable) {
    pointers_.insert(&variable);
    // Grows while it is walked.
    for (size_t i = 0; i < pointers_.size() && !(uses_.written && uses_.escapes); ++i) {
      for (const Use& use : pointers_[i]->uses()) visit(use);
    }
    return uses_;
  }

 private:
  void visit(const Use& use) {
    const User* user = use.getUser();
    if (auto* instruction = dyn_cast<Instruction>(user)) return visit_instruction(use, *instruction);
    if (auto* variable = dyn_cast<GlobalVariable>(user)) {
      if (!variable->getName().starts_with("llvm.")) uses_.escapes = uses_.written = true;
    } else if (isa<GlobalAlias, ConstantAggregate, GEPOperator, AddrSpaceCastOperator, BitCastOperator>(user)) {
      pointers_.insert(user);
    } else {
      give_up();
    }
  }

  void visit_instruction(const Use& use, const Instruction& instruction) {
    switch (instruction.getOpcode()) {
      case Instruction::Load:
      case Instruction::ICmp: return;
      case Instruction::Store:
        if (use.getOperandNo() == StoreInst::getPointerOperandIndex())
          uses_.written = true;
        else
          follow_stored(cast<StoreInst>(instruction));
        return;
      case Instruction::AtomicRMW:
      case Instruction::AtomicCmpXchg:
        if (use.getOperandNo() == 0)
          uses_.written = true;
        else
          give_up();
        return;
      case Instruction::GetElementPtr:
      case Instruction::AddrSpaceCast:
      case Instruction::BitCast:
      case Instruction::PHI:
      case Instruction::Select:
      case Instruction::Freeze: pointers_.insert(&instruction); return;
      case Instruction::Call: return follow_call(use, cast<CallBase>(instruction));
      case Instruction::Ret: return follow_return(*instruction.getFunction());
      default: give_up();
    }
  }

  void follow_call(const Use& use, const CallBase& call) {
    if (auto* intrinsic = dyn_cast<IntrinsicInst>(&call)) return visit_intrinsic(use, *intrinsic);
    const Function* callee = call.getCalledFunction();
    if (!callee || callee->isDeclaration() || !call.isArgOperand(&use)) return give_up();
    unsigned index = call.getArgOperandNo(&use);
    if (index >= callee->arg_size()) return give_up();
    if (call.isByValArgument(index)) return;  // reads the pointee
    pointers_.insert(callee->getArg(index));
  }

  void visit_intrinsic(const Use& use, const IntrinsicInst& intrinsic) {
    if (intrinsic.isLifetimeStartOrEnd() || intrinsic.isAssumeLikeIntrinsic()) return;
    if (isa<MemIntrinsic>(intrinsic)) {
      if (use.getOperandNo() == 0) uses_.written = true;
      return;
    }
    StringRef name = intrinsic.getCalledFunction()->getName();
    if (name.starts_with("llvm.nvvm.ldg.") || name.starts_with("llvm.nvvm.ldu.") || name.starts_with("llvm.prefetch")) return;
    if (name.starts_with("llvm.ptrmask") || name.starts_with("llvm.launder") || name.starts_with("llvm.strip")) {
      pointers_.insert(&intrinsic);
      return;
    }
    give_up();
  }

  void follow_return(const Function& function) {
    if (function.hasAddressTaken()) return give_up();
    for (const User* user : function.users()) {
      if (isa<CallBase>(user)) pointers_.insert(user);
    }
  }

  // A store of the address itself: harmless into a local variable that is only loaded and stored whole.
  void follow_stored(const StoreInst& store) {
    auto* slot = dyn_cast<AllocaInst>(store.getPointerOperand()->stripPointerCasts());
    if (!slot) return give_up();
    SmallVector<const Value*, 8> names{slot};
    SmallVector<const Value*, 8> loads;
    for (size_t i = 0; i < names.size(); ++i) {
      for (const Use& use : names[i]->uses()) {
        const User* user = use.getUser();
        if (isa<LoadInst>(user))
          loads.push_back(user);
        else if (isa<AddrSpaceCastInst, BitCastInst>(user))
          names.push_back(user);
        else if (isa<StoreInst>(user)) {
          if (use.getOperandNo() != StoreInst::getPointerOperandIndex()) return give_up();
        } else if (auto* intrinsic = dyn_cast<IntrinsicInst>(user); !intrinsic || !intrinsic->isLifetimeStartOrEnd()) {
          return give_up();
        }
      }
    }
    for (const Value* load : loads) pointers_.insert(load);
  }

  void give_up() { uses_.written = uses_.escapes = true; }

  SetVector<const Value*> pointers_;
  PointerUses uses_;
};

}  // namespace

PointerUses pointer_uses(const GlobalVariable& variable) { return Walk().run(variable); }

}  // namespace mneme::instrument
