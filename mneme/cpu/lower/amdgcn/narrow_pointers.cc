#include "mneme/cpu/lower/amdgcn/narrow_pointers.h"

#include <llvm/Analysis/Utils/Local.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Operator.h>

#include "mneme/cpu/lower/amdgcn/narrow_constants.h"
#include "mneme/cpu/lower/amdgcn/narrow_types.h"
#include "mneme/cpu/ptx/thread_state.h"

namespace mneme::cpu::amdgcn {
namespace {

using llvm::dyn_cast;
using llvm::isa;
using llvm::Value;

using Builder = llvm::IRBuilder<>;

// The type with each scalar in it replaced.
llvm::Type* shaped(const llvm::Type* shape, llvm::Type* scalar) {
  const auto* vector = dyn_cast<llvm::VectorType>(shape);
  return vector ? llvm::VectorType::get(scalar, vector->getElementCount()) : scalar;
}
Value* shaped(Builder& builder, const llvm::Type* shape, Value* scalar) {
  const auto* vector = dyn_cast<llvm::VectorType>(shape);
  return vector ? builder.CreateVectorSplat(vector->getElementCount(), scalar) : scalar;
}
unsigned space_of(const Value& pointer) { return pointer.getType()->getPointerAddressSpace(); }

// One function's pointers.
class FunctionPointers {
 public:
  explicit FunctionPointers(llvm::Function& function) : function_(function), layout_(function.getDataLayout()) {}

  Status fit() {
    expand_constants(function_, [&] { return lds_begin(); });
    std::vector<llvm::Instruction*> instructions;
    for (llvm::Instruction& instruction : llvm::instructions(function_))
      if (!made_.contains(&instruction)) instructions.push_back(&instruction);
    for (llvm::Instruction* instruction : instructions) MNEME_TRY(refuse(*instruction));
    for (llvm::Instruction* instruction : instructions) fit(*instruction);
    for (llvm::Instruction* marker : old_markers_) marker->eraseFromParent();
    return {};
  }

 private:
  Status refuse(const llvm::Instruction& instruction) const {
    const auto refused = [&](const std::string& what) {
      return error(Code::unsupported, "function '{}' has {}: the CPU device does not have it", function_.getName().str(), what);
    };
    const auto space_refused = [](const llvm::Type* type) -> std::optional<unsigned> {
      const auto* pointer = dyn_cast<llvm::PointerType>(type->getScalarType());
      if (!pointer) return std::nullopt;
      const unsigned space = pointer->getAddressSpace();
      const bool known = space <= 1 || space == 4 || is_narrow_space(space);
      return known ? std::nullopt : std::optional(space);
    };
    if (auto space = space_refused(instruction.getType())) return refused(fmt::format("a pointer of address space {}", *space));
    for (const Value* operand : instruction.operands())
      if (auto space = space_refused(operand->getType())) return refused(fmt::format("a pointer of address space {}", *space));
    const auto* update = dyn_cast<llvm::AtomicRMWInst>(&instruction);
    const auto* swap = dyn_cast<llvm::AtomicCmpXchgInst>(&instruction);
    if ((update && is_narrow(update->getType())) || (swap && is_narrow(swap->getNewValOperand()->getType())))
      return refused("an atomic exchange of pointers to LDS or private memory");
    if (const auto* cast = dyn_cast<llvm::AddrSpaceCastInst>(&instruction))
      if (is_narrow(cast->getType()) && is_narrow(cast->getSrcTy())) return refused("a cast between LDS and private memory");
    const auto* call = dyn_cast<llvm::IntrinsicInst>(&instruction);
    if (!call) return {};
    const llvm::StringRef name = call->getCalledFunction()->getName();
    const bool in_memory = name.starts_with("llvm.masked.") || name.starts_with("llvm.vp.");
    const bool stores = call->getType()->isVoidTy();
    if (in_memory && is_narrow(stores ? call->getArgOperand(0)->getType() : call->getType()))
      return refused(fmt::format("'{}' of pointers to LDS or private memory", name.str()));
    return {};
  }

  void fit(llvm::Instruction& instruction) {
    if (auto* variable = dyn_cast<llvm::AllocaInst>(&instruction)) return fit_variable(*variable);
    if (auto* load = dyn_cast<llvm::LoadInst>(&instruction)) return fit_load(*load);
    if (auto* store = dyn_cast<llvm::StoreInst>(&instruction)) return fit_store(*store);
    if (auto* element = dyn_cast<llvm::GetElementPtrInst>(&instruction)) return fit_element(*element);
    if (auto* compare = dyn_cast<llvm::ICmpInst>(&instruction)) return fit_compare(*compare);
    if (auto* cast = dyn_cast<llvm::CastInst>(&instruction)) return fit_cast(*cast);
    if (auto* call = dyn_cast<llvm::CallBase>(&instruction)) return fit_call(*call);
  }

  // Instructions at the function's begin, which all others may use.
  Builder begin() { return Builder(&*function_.getEntryBlock().getFirstInsertionPt()); }

  Value* lds_begin() {
    if (lds_begin_) return lds_begin_;
    Builder builder = begin();
    Value* base = ptx::ThreadState(builder, function_.getArg(function_.arg_size() - 1)).shared_base();
    lds_begin_ = builder.CreateAddrSpaceCast(base, builder.getPtrTy(kLdsSpace), "lds");
    lds_number_ = builder.CreatePtrToInt(base, builder.getInt64Ty());
    for (Value* made : {base, lds_begin_, lds_number_}) made_.insert(made);
    return lds_begin_;
  }
  Value* lds_number() { return lds_begin(), lds_number_; }

  // An address on the thread's stack.
  Value* stack_number() {
    if (stack_number_) return stack_number_;
    Builder builder = begin();
    Value* place = builder.CreateAlloca(builder.getInt8Ty(), 0u, nullptr, "stack");
    stack_number_ = builder.CreatePtrToInt(place, builder.getInt64Ty());
    for (Value* made : {place, stack_number_}) made_.insert(made);
    return stack_number_;
  }

  Value* to_bits(Builder& builder, Value* pointer) {
    llvm::Type* wide = shaped(pointer->getType(), builder.getInt64Ty());
    Value* number = builder.CreatePtrToInt(pointer, wide);
    if (space_of(*pointer) == kLdsSpace) number = builder.CreateSub(number, shaped(builder, wide, lds_number()));
    return builder.CreateTrunc(number, shaped(wide, builder.getInt32Ty()));
  }

  // `bits` are i32.
  Value* to_pointer(Builder& builder, Value* bits, llvm::Type* type) {
    llvm::Type* wide = shaped(type, builder.getInt64Ty());
    if (type->getPointerAddressSpace() == kLdsSpace)
      return builder.CreateGEP(builder.getInt8Ty(), lds_begin(), builder.CreateSExt(bits, wide));
    Value* stack = shaped(builder, type, stack_number());
    Value* distance = builder.CreateSub(bits, builder.CreateTrunc(stack, bits->getType()));
    return builder.CreateIntToPtr(builder.CreateAdd(stack, builder.CreateSExt(distance, wide)), type);
  }

  Value* null_of(Builder& builder, llvm::Type* type) {
    return to_pointer(builder, llvm::Constant::getAllOnesValue(shaped(type, builder.getInt32Ty())), type);
  }

  static void replace(llvm::Instruction& old, Value* value) {
    if (!isa<llvm::Constant>(value) && !value->hasName()) value->takeName(&old);
    old.replaceAllUsesWith(value);
    old.eraseFromParent();
  }

  void fit_variable(llvm::AllocaInst& variable) {
    if (made_.contains(&variable)) return;
    Builder builder(&variable);
    auto* made = builder.CreateAlloca(in_memory(variable.getAllocatedType(), layout_), 0u, variable.getArraySize());
    made->setAlignment(variable.getAlign());
    for (llvm::User* user : variable.users()) {
      auto* marker = dyn_cast<llvm::LifetimeIntrinsic>(user);
      if (!marker) continue;
      builder.SetInsertPoint(marker);
      marker->getIntrinsicID() == llvm::Intrinsic::lifetime_start ? builder.CreateLifetimeStart(made)
                                                                  : builder.CreateLifetimeEnd(made);
      old_markers_.push_back(marker);
    }
    builder.SetInsertPoint(&variable);
    replace(variable, builder.CreateAddrSpaceCast(made, variable.getType()));
  }

  // The value of that type that lies at `address`.
  Value* read(Builder& builder, llvm::LoadInst& like, llvm::Type* type, Value* address, llvm::Align alignment) {
    if (is_narrow(type)) return to_pointer(builder, read(builder, like, in_memory(type, layout_), address, alignment), type);
    if (!type->isAggregateType() || in_memory(type, layout_) == type) {
      llvm::LoadInst* load = builder.CreateAlignedLoad(type, address, alignment, like.isVolatile());
      load->setAtomic(like.getOrdering(), like.getSyncScopeID());
      return load;
    }
    Value* whole = llvm::PoisonValue::get(type);
    for_parts(builder, type, address, alignment, [&](unsigned i, llvm::Type* part, Value* at, llvm::Align part_alignment) {
      whole = builder.CreateInsertValue(whole, read(builder, like, part, at, part_alignment), i);
    });
    return whole;
  }

  void write(Builder& builder, llvm::StoreInst& like, Value* value, Value* address, llvm::Align alignment) {
    llvm::Type* type = value->getType();
    if (is_narrow(type)) return write(builder, like, to_bits(builder, value), address, alignment);
    if (!type->isAggregateType() || in_memory(type, layout_) == type) {
      llvm::StoreInst* store = builder.CreateAlignedStore(value, address, alignment, like.isVolatile());
      store->setAtomic(like.getOrdering(), like.getSyncScopeID());
      return;
    }
    for_parts(builder, type, address, alignment, [&](unsigned i, llvm::Type*, Value* at, llvm::Align part_alignment) {
      write(builder, like, builder.CreateExtractValue(value, i), at, part_alignment);
    });
  }

  template <typename Body>
  void for_parts(Builder& builder, llvm::Type* type, Value* address, llvm::Align alignment, Body body) {
    auto* structure = dyn_cast<llvm::StructType>(type);
    const uint64_t count = structure ? structure->getNumElements() : type->getArrayNumElements();
    for (unsigned i = 0; i < count; ++i) {
      llvm::Type* part = structure ? structure->getElementType(i) : type->getArrayElementType();
      const uint64_t offset = structure ? layout_.getStructLayout(structure)->getElementOffset(i).getFixedValue()
                                        : i * layout_.getTypeAllocSize(part).getFixedValue();
      Value* at = builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), address, offset);
      body(i, part, at, llvm::commonAlignment(alignment, offset));
    }
  }

  bool lies_differently(llvm::Type* type) const {
    return is_narrow(type) || (type->isAggregateType() && in_memory(type, layout_) != type);
  }
  void fit_load(llvm::LoadInst& load) {
    if (!lies_differently(load.getType())) return;
    Builder builder(&load);
    replace(load, read(builder, load, load.getType(), load.getPointerOperand(), load.getAlign()));
  }
  void fit_store(llvm::StoreInst& store) {
    if (!lies_differently(store.getValueOperand()->getType())) return;
    Builder builder(&store);
    write(builder, store, store.getValueOperand(), store.getPointerOperand(), store.getAlign());
    store.eraseFromParent();
  }

  // Offsets are computed as the device does, in 32 bits where its pointers have as many.
  void fit_element(llvm::GetElementPtrInst& element) {
    const bool narrow = is_narrow(element.getType());
    if (!narrow && in_memory(element.getSourceElementType(), layout_) == element.getSourceElementType()) return;
    Builder builder(&element);
    Value* offset = llvm::emitGEPOffset(&builder, layout_, &element);
    offset = builder.CreateSExt(offset, shaped(offset->getType(), builder.getInt64Ty()));
    // Without a promise that it does not, the sum may wrap around.
    const bool stays = element.hasNoUnsignedSignedWrap();
    Value* base = element.getPointerOperand();
    const auto flags = stays ? element.getNoWrapFlags() : llvm::GEPNoWrapFlags::none();
    Value* sum = builder.CreateGEP(builder.getInt8Ty(), base, offset, "", flags);
    const Value* object = base->stripPointerCasts();
    const bool known = isa<llvm::GlobalVariable>(object) || isa<llvm::AllocaInst>(object) || isa<llvm::Constant>(offset);
    if (narrow && !stays && !known) sum = to_pointer(builder, to_bits(builder, sum), element.getType());
    replace(element, sum);
  }

  void fit_compare(llvm::ICmpInst& compare) {
    if (!is_narrow(compare.getOperand(0)->getType())) return;
    Builder builder(&compare);
    Value* left = to_bits(builder, compare.getOperand(0));
    Value* right = to_bits(builder, compare.getOperand(1));
    replace(compare, builder.CreateICmp(compare.getPredicate(), left, right));
  }

  void fit_cast(llvm::CastInst& cast) {
    if (made_.contains(&cast)) return;
    Value* from = cast.getOperand(0);
    llvm::Type* to = cast.getType();
    Builder builder(&cast);
    if (isa<llvm::PtrToIntInst, llvm::PtrToAddrInst>(cast) && is_narrow(from->getType()))
      return replace(cast, builder.CreateZExtOrTrunc(to_bits(builder, from), to));
    if (isa<llvm::IntToPtrInst>(cast) && is_narrow(to))
      return replace(cast, to_pointer(builder, builder.CreateZExtOrTrunc(from, shaped(to, builder.getInt32Ty())), to));
    if (!isa<llvm::AddrSpaceCastInst>(cast) || is_narrow(to) == is_narrow(from->getType())) return;
    const Value* object = llvm::getUnderlyingObject(from);
    if (isa<llvm::GlobalVariable>(object) || isa<llvm::AllocaInst>(object)) return;
    Value* moved = builder.CreateAddrSpaceCast(from, to);
    if (is_narrow(to)) {
      Value* none = builder.CreateICmpEQ(from, llvm::Constant::getNullValue(from->getType()));
      return replace(cast, builder.CreateSelect(none, null_of(builder, to), moved));
    }
    Value* bits = to_bits(builder, from);
    Value* none = builder.CreateICmpEQ(bits, llvm::Constant::getAllOnesValue(bits->getType()));
    replace(cast, builder.CreateSelect(none, llvm::Constant::getNullValue(to), moved));
  }

  void fit_call(llvm::CallBase& call) {
    copy_by_value(call);
    auto* intrinsic = dyn_cast<llvm::IntrinsicInst>(&call);
    if (!intrinsic) return;
    Builder builder(&call);
    switch (intrinsic->getIntrinsicID()) {
      case llvm::Intrinsic::ptrmask: {
        if (!is_narrow(call.getType())) return;
        Value* bits = builder.CreateAnd(to_bits(builder, call.getArgOperand(0)), call.getArgOperand(1));
        return replace(call, to_pointer(builder, bits, call.getType()));
      }
      case llvm::Intrinsic::stacksave: return replace(call, builder.CreateAddrSpaceCast(save_stack(builder), call.getType()));
      case llvm::Intrinsic::stackrestore:
        builder.CreateStackRestore(builder.CreateAddrSpaceCast(call.getArgOperand(0), builder.getPtrTy()));
        call.eraseFromParent();
        return;
      default: return;
    }
  }

  static Value* save_stack(Builder& builder) {
    return builder.CreateIntrinsic(llvm::Intrinsic::stacksave, {builder.getPtrTy()}, {});
  }

  // What a caller passes by value is copied by it; the callee then has a pointer like any other.
  void copy_by_value(llvm::CallBase& call) {
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      llvm::Type* type = call.getParamByValType(i);
      if (!type) continue;
      Builder entry = begin();
      llvm::AllocaInst* copy = entry.CreateAlloca(in_memory(type, layout_), 0u);
      copy->setAlignment(std::max(call.getParamAlign(i).valueOrOne(), layout_.getABITypeAlign(type)));
      Builder builder(&call);
      builder.CreateMemCpy(copy, copy->getAlign(), call.getArgOperand(i), call.getParamAlign(i).valueOrOne(),
                           layout_.getTypeAllocSize(type).getFixedValue());
      call.setArgOperand(i, builder.CreateAddrSpaceCast(copy, call.getArgOperand(i)->getType()));
      call.removeParamAttr(i, llvm::Attribute::ByVal);
    }
    for (unsigned i = 0; i < call.arg_size(); ++i) call.removeParamAttr(i, llvm::Attribute::StructRet);
  }

  llvm::Function& function_;
  const llvm::DataLayout& layout_;
  Value *lds_begin_ = nullptr, *lds_number_ = nullptr, *stack_number_ = nullptr;
  std::vector<llvm::Instruction*> old_markers_;  // of variables that have been replaced
  llvm::SmallPtrSet<Value*, 8> made_;            // host instructions that this class has put at the function's begin
};

// Variables whose types lie differently on the host.
Status fit_variables(llvm::Module& module) {
  const llvm::DataLayout& layout = module.getDataLayout();
  for (llvm::GlobalVariable& variable : llvm::make_early_inc_range(module.globals())) {
    llvm::Type* type = in_memory(variable.getValueType(), layout);
    if (type == variable.getValueType() || variable.getAddressSpace() == kLdsSpace) continue;
    llvm::Constant* value = variable.hasInitializer() ? in_memory(variable.getInitializer(), layout) : nullptr;
    if (variable.hasInitializer() && !value)
      return error(Code::unsupported,
                   "variable '{}' begins with an address of LDS or private memory, which has none before a launch",
                   variable.getName().str());
    auto* made = new llvm::GlobalVariable(module, type, variable.isConstant(), variable.getLinkage(), value, "", &variable,
                                          variable.getThreadLocalMode(), variable.getAddressSpace());
    made->copyAttributesFrom(&variable);
    made->setAlignment(variable.getAlign().value_or(layout.getPreferredAlign(&variable)));
    made->takeName(&variable);
    variable.replaceAllUsesWith(made);
    variable.eraseFromParent();
  }
  return {};
}

void drop_passing_attributes(llvm::Function& function) {
  for (unsigned i = 0; i < function.arg_size(); ++i)
    for (auto kind : {llvm::Attribute::ByVal, llvm::Attribute::StructRet}) function.removeParamAttr(i, kind);
}

}  // namespace

Status fit_pointers(llvm::Module& module) {
  MNEME_TRY(fit_variables(module));
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    MNEME_TRY(FunctionPointers(function).fit());
  }
  for (llvm::Function& function : module) drop_passing_attributes(function);
  return {};
}

}  // namespace mneme::cpu::amdgcn
