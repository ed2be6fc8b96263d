#include "mneme/ir/access_types.h"

#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include <set>

#include "mneme/ir/access.h"
#include "mneme/ir/bring_together.h"

namespace mneme::ir {
namespace {

std::optional<ElementType> element_of(const llvm::Type* type) {
  if (auto vector = llvm::dyn_cast<llvm::FixedVectorType>(type)) return element_of(vector->getElementType());
  if (auto array = llvm::dyn_cast<llvm::ArrayType>(type)) return element_of(array->getElementType());
  if (auto structure = llvm::dyn_cast<llvm::StructType>(type)) {
    std::optional<ElementType> all;
    for (const llvm::Type* member : structure->elements()) {
      auto element = element_of(member);
      if (!element || (all && all != element)) return std::nullopt;
      all = element;
    }
    return all;
  }
  if (type->isHalfTy()) return ElementType::f16;
  if (type->isBFloatTy()) return ElementType::bf16;
  if (type->isFloatTy()) return ElementType::f32;
  if (type->isDoubleTy()) return ElementType::f64;
  if (type->isIntegerTy(8)) return ElementType::i8;
  if (type->isIntegerTy(16)) return ElementType::i16;
  if (type->isIntegerTy(32)) return ElementType::i32;
  if (type->isIntegerTy(64)) return ElementType::i64;
  return std::nullopt;
}

// Follows one pointer through all that is made from it.
class PointerUses {
 public:
  std::optional<ElementType> follow(const llvm::Value& pointer) {
    push(pointer);
    while (!waiting_.empty() && uniform_) {
      const llvm::Value* value = waiting_.back();
      waiting_.pop_back();
      for (const llvm::Use& use : value->uses()) see(use);
    }
    return uniform_ ? type_ : std::nullopt;
  }

 private:
  void push(const llvm::Value& value) {
    if (seen_.insert(&value).second) waiting_.push_back(&value);
  }

  void access(const llvm::Type* type) {
    auto element = element_of(type);
    if (!element || (type_ && type_ != element)) uniform_ = false;
    type_ = element;
  }

  // Clang gives a kernel of AMD's its pointers as those to global memory, and makes generic ones of them by way of numbers.
  static bool becomes_pointers(const llvm::User& number) {
    return llvm::all_of(number.users(), [](const llvm::User* user) { return llvm::isa<llvm::IntToPtrInst>(user); });
  }

  void see(const llvm::Use& use) {
    const llvm::User* user = use.getUser();
    if (llvm::isa<llvm::GEPOperator, llvm::BitCastOperator, llvm::AddrSpaceCastOperator, llvm::PHINode, llvm::SelectInst>(user)) {
      push(*user);
    } else if (llvm::isa<llvm::PtrToIntOperator>(user) && becomes_pointers(*user)) {
      push(*user);
    } else if (llvm::isa<llvm::IntToPtrInst>(user)) {
      push(*user);
    } else if (auto load = llvm::dyn_cast<llvm::LoadInst>(user)) {
      access(load->getType());
    } else if (auto store = llvm::dyn_cast<llvm::StoreInst>(user); store && use.getOperandNo() == 1) {
      access(store->getValueOperand()->getType());
    } else if (auto change = llvm::dyn_cast<llvm::AtomicRMWInst>(user); change && use.getOperandNo() == 0) {
      access(change->getType());
    } else if (auto exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(user); exchange && use.getOperandNo() == 0) {
      access(exchange->getCompareOperand()->getType());
    } else if (auto intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(user)) {
      see_intrinsic(*intrinsic);
    } else if (!llvm::isa<llvm::ICmpInst>(user)) {
      uniform_ = false;
    }
  }

  void see_intrinsic(const llvm::IntrinsicInst& intrinsic) {
    if (intrinsic.isAssumeLikeIntrinsic() || llvm::isa<llvm::MemSetInst>(intrinsic)) return;  // zeros are of any type
    if (intrinsic.getCalledFunction()->getName().starts_with("llvm.nvvm.ldg."))
      access(intrinsic.getType());
    else
      uniform_ = false;
  }

  std::vector<const llvm::Value*> waiting_;
  std::set<const llvm::Value*> seen_;
  std::optional<ElementType> type_;
  bool uniform_ = true;
};

}  // namespace

Result<AccessTypes> access_types(const Module& module, const std::string& kernel) {
  MNEME_ASSIGN(Module copy, module.clone());
  llvm::Module& llvm = llvm_module(copy);
  const llvm::Function* function = llvm.getFunction(kernel);
  if (!function || function->isDeclaration())
    return error(Code::not_found, "looking for the types of accesses: the IR has no kernel '{}'", kernel);
  MNEME_TRY(bring_together(llvm, "looking for the types of accesses"));
  AccessTypes types;
  for (const llvm::Argument& argument : llvm.getFunction(kernel)->args())
    types.parameters.push_back(argument.getType()->isPointerTy() ? PointerUses().follow(argument) : std::nullopt);
  for (const llvm::GlobalVariable& global : llvm.globals())
    if (auto type = PointerUses().follow(global)) types.globals.emplace(global.getName().str(), *type);
  return types;
}

}  // namespace mneme::ir
