// The builder's memory accesses and calls.
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>

#include "mneme/base/suggestion.h"
#include "mneme/ir/builder.h"
#include "mneme/ir/global_access.h"
#include "mneme/ir/insertion.h"

namespace mneme::ir {
namespace {

using llvm::AtomicOrdering;

Result<AtomicOrdering> ordering_of(const Insertion& insertion, const std::string& name) {
  constexpr std::pair<std::string_view, AtomicOrdering> kOrderings[] = {
      {"", AtomicOrdering::NotAtomic},
      {"unordered", AtomicOrdering::Unordered},
      {"monotonic", AtomicOrdering::Monotonic},
      {"acquire", AtomicOrdering::Acquire},
      {"release", AtomicOrdering::Release},
      {"acq_rel", AtomicOrdering::AcquireRelease},
      {"seq_cst", AtomicOrdering::SequentiallyConsistent},
  };
  std::vector<std::string> names;
  for (const auto& [known, ordering] : kOrderings) {
    if (known == name) return ordering;
    names.emplace_back(known);
  }
  return insertion.refused("'{}' is no ordering{}", name, did_you_mean(name, names));
}

Result<llvm::SyncScope::ID> scope_of(const Insertion& insertion, const std::string& name) {
  if (name.find('\0') != std::string::npos) return insertion.refused("a name has no NUL");
  return insertion.context().getOrInsertSyncScopeID(name);
}

Status check_pointer(const Insertion& insertion, const llvm::Value& pointer) {
  if (pointer.getType()->isPointerTy()) return {};
  return insertion.refused("{} is of type {}, and no pointer", describe(pointer), printed(*pointer.getType()));
}

Status check_in_memory(const Insertion& insertion, const llvm::Type& type) {
  if (type.isFirstClassType() && type.isSized() && !type.isTokenTy() && !type.isX86_AMXTy()) return {};
  return insertion.refused("there is nothing of type {} in memory", printed(type));
}

Status check_atomic(const Insertion& insertion, const llvm::Type& type) {
  const bool is_simple = type.isIntegerTy() || type.isPointerTy() || type.isFloatingPointTy();
  const uint64_t bits =
      is_simple ? insertion.module().getDataLayout().getTypeSizeInBits(const_cast<llvm::Type*>(&type)).getFixedValue() : 0;
  if (bits >= 8 && llvm::isPowerOf2_64(bits)) return {};
  return insertion.refused("no access of type {} is atomic", printed(type));
}

// Atomic accesses are aligned to their size.
Result<llvm::Align> alignment_of(const Insertion& insertion, llvm::Type& type, uint64_t wanted, bool is_atomic) {
  MNEME_TRY(check_alignment(wanted));
  const llvm::DataLayout& layout = insertion.module().getDataLayout();
  if (wanted > 0) return llvm::Align(wanted);
  if (is_atomic) return llvm::Align(llvm::PowerOf2Ceil(layout.getTypeStoreSize(&type).getFixedValue()));
  return layout.getABITypeAlign(&type);
}

Status check_arguments(const Insertion& insertion, const llvm::FunctionType& type, const std::vector<llvm::Value*>& arguments) {
  const size_t count = type.getNumParams();
  if (arguments.size() < count || (arguments.size() > count && !type.isVarArg()))
    return insertion.refused("it takes {} argument{}, not {}", count, count == 1 ? "" : "s", arguments.size());
  for (size_t i = 0; i < count; ++i)
    if (arguments[i]->getType() != type.getParamType(i))
      return insertion.refused("argument {} is of type {}, not {}", i, printed(*type.getParamType(i)),
                               printed(*arguments[i]->getType()));
  return {};
}

std::vector<llvm::Type*> types_of(const std::vector<llvm::Value*>& values) {
  std::vector<llvm::Type*> types;
  for (const llvm::Value* value : values) types.push_back(value->getType());
  return types;
}

// The types by which an intrinsic is overloaded, where the signature is one of its.
std::optional<llvm::SmallVector<llvm::Type*>> overloads(llvm::Intrinsic::ID id, llvm::FunctionType* type) {
  llvm::SmallVector<llvm::Intrinsic::IITDescriptor> table;
  llvm::Intrinsic::getIntrinsicInfoTableEntries(id, table);
  llvm::ArrayRef<llvm::Intrinsic::IITDescriptor> rest = table;
  llvm::SmallVector<llvm::Type*> found;
  if (llvm::Intrinsic::matchIntrinsicSignature(type, rest, found) != llvm::Intrinsic::MatchIntrinsicTypes_Match)
    return std::nullopt;
  if (llvm::Intrinsic::matchIntrinsicVarArg(type->isVarArg(), rest)) return std::nullopt;
  return found;
}

llvm::Function* declare(const Insertion& insertion, llvm::Intrinsic::ID id, const std::vector<llvm::Value*>& arguments,
                        llvm::Type* result) {
  std::vector<llvm::Type*> candidates = {result};
  if (!result) {
    candidates = types_of(arguments);
    candidates.insert(candidates.begin(), llvm::Type::getVoidTy(insertion.context()));
    if (!llvm::Intrinsic::isOverloaded(id)) candidates = {llvm::Intrinsic::getType(insertion.context(), id)->getReturnType()};
  }
  for (llvm::Type* candidate : candidates) {
    if (!llvm::FunctionType::isValidReturnType(candidate)) continue;
    if (auto found = overloads(id, llvm::FunctionType::get(candidate, types_of(arguments), false)))
      return llvm::Intrinsic::getOrInsertDeclaration(&insertion.module(), id, *found);
  }
  return nullptr;
}

}  // namespace

Result<ValueRef> Builder::stack_memory(const TypeRef& ref, const std::optional<ValueRef>& count_ref, uint64_t alignment,
                                       const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "alloca", name));
  MNEME_ASSIGN(llvm::Type * type, insertion.type(ref));
  MNEME_TRY(check_in_memory(insertion, *type));
  llvm::Value* count = nullptr;
  if (count_ref) {
    MNEME_ASSIGN(count, insertion.operand(*count_ref));
    if (!count->getType()->isIntegerTy()) return insertion.refused("its count is an integer, not {}", printed(*count->getType()));
  }
  MNEME_ASSIGN(const llvm::Align align, alignment_of(insertion, *type, alignment, false));
  return insertion.put(new llvm::AllocaInst(type, insertion.module().getDataLayout().getAllocaAddrSpace(), count, align));
}

Result<ValueRef> Builder::load(const TypeRef& ref, const ValueRef& pointer_ref, const AccessOptions& options,
                               const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "load", name));
  MNEME_ASSIGN(llvm::Type * type, insertion.type(ref));
  MNEME_ASSIGN(llvm::Value * pointer, insertion.operand(pointer_ref));
  MNEME_TRY(check_pointer(insertion, *pointer));
  MNEME_TRY(check_in_memory(insertion, *type));
  MNEME_ASSIGN(const AtomicOrdering ordering, ordering_of(insertion, options.order.ordering));
  MNEME_ASSIGN(const auto scope, scope_of(insertion, options.order.scope));
  if (ordering == AtomicOrdering::Release || ordering == AtomicOrdering::AcquireRelease)
    return insertion.refused("a load has no ordering {}", options.order.ordering);
  const bool is_atomic = ordering != AtomicOrdering::NotAtomic;
  if (is_atomic) MNEME_TRY(check_atomic(insertion, *type));
  MNEME_ASSIGN(const llvm::Align align, alignment_of(insertion, *type, options.alignment, is_atomic));
  return insertion.put(new llvm::LoadInst(type, pointer, "", options.is_volatile, align, ordering, scope));
}

Result<ValueRef> Builder::store(const ValueRef& ref, const ValueRef& pointer_ref, const AccessOptions& options) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "store"));
  MNEME_ASSIGN(llvm::Value * value, insertion.operand(ref));
  MNEME_ASSIGN(llvm::Value * pointer, insertion.operand(pointer_ref));
  llvm::Type* type = value->getType();
  MNEME_TRY(check_pointer(insertion, *pointer));
  MNEME_TRY(check_in_memory(insertion, *type));
  MNEME_ASSIGN(const AtomicOrdering ordering, ordering_of(insertion, options.order.ordering));
  MNEME_ASSIGN(const auto scope, scope_of(insertion, options.order.scope));
  if (ordering == AtomicOrdering::Acquire || ordering == AtomicOrdering::AcquireRelease)
    return insertion.refused("a store has no ordering {}", options.order.ordering);
  const bool is_atomic = ordering != AtomicOrdering::NotAtomic;
  if (is_atomic) MNEME_TRY(check_atomic(insertion, *type));
  MNEME_ASSIGN(const llvm::Align align, alignment_of(insertion, *type, options.alignment, is_atomic));
  return insertion.put(new llvm::StoreInst(value, pointer, options.is_volatile, align, ordering, scope));
}

Result<ValueRef> Builder::element_pointer(const TypeRef& ref, const ValueRef& pointer_ref,
                                          const std::vector<ValueRef>& index_refs, const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "getelementptr", name));
  MNEME_ASSIGN(llvm::Type * type, insertion.type(ref));
  MNEME_ASSIGN(llvm::Value * pointer, insertion.operand(pointer_ref));
  MNEME_ASSIGN(const std::vector<llvm::Value*> indices, insertion.operands(index_refs));
  if (!pointer->getType()->isPtrOrPtrVectorTy()) MNEME_TRY(check_pointer(insertion, *pointer));
  MNEME_TRY(check_in_memory(insertion, *type));
  std::optional<llvm::ElementCount> lanes;
  for (const llvm::Value* value : indices) {
    if (!value->getType()->isIntOrIntVectorTy())
      return insertion.refused("an index is an integer, not {}", printed(*value->getType()));
  }
  std::vector<const llvm::Value*> all(indices.begin(), indices.end());
  all.push_back(pointer);
  for (const llvm::Value* value : all) {
    auto* vector = llvm::dyn_cast<llvm::VectorType>(value->getType());
    if (!vector) continue;
    if (lanes && *lanes != vector->getElementCount()) return insertion.refused("its vectors are of several lengths");
    lanes = vector->getElementCount();
  }
  if (indices.empty() || !llvm::GetElementPtrInst::getIndexedType(type, llvm::ArrayRef<llvm::Value*>(indices)))
    return insertion.refused("type {} has no such element", printed(*type));
  return insertion.put(llvm::GetElementPtrInst::Create(type, pointer, indices));
}

Result<ValueRef> Builder::atomic_update(const std::string& operation, const ValueRef& pointer_ref, const ValueRef& ref,
                                        const AccessOptions& options, const std::string& name) const {
  using llvm::AtomicRMWInst;
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "atomicrmw", name));
  MNEME_ASSIGN(llvm::Value * pointer, insertion.operand(pointer_ref));
  MNEME_ASSIGN(llvm::Value * value, insertion.operand(ref));
  MNEME_TRY(check_pointer(insertion, *pointer));
  std::optional<AtomicRMWInst::BinOp> found;
  std::vector<std::string> names;
  for (unsigned i = AtomicRMWInst::FIRST_BINOP; i <= AtomicRMWInst::LAST_BINOP; ++i) {
    names.push_back(AtomicRMWInst::getOperationName(static_cast<AtomicRMWInst::BinOp>(i)).str());
    if (names.back() == operation) found = static_cast<AtomicRMWInst::BinOp>(i);
  }
  if (!found) return insertion.refused("'{}' is no operation of it{}", operation, did_you_mean(operation, names));
  const llvm::Type& type = *value->getType();
  const bool is_float = AtomicRMWInst::isFPOperation(*found);
  const bool fits = is_float                        ? type.isFPOrFPVectorTy() && !type.isScalableTy()
                    : *found == AtomicRMWInst::Xchg ? type.isIntegerTy() || type.isFloatingPointTy() || type.isPointerTy()
                                                    : type.isIntegerTy();
  if (!fits) return insertion.refused("there is no {} of type {}", operation, printed(type));
  if (!type.isVectorTy()) MNEME_TRY(check_atomic(insertion, type));
  MNEME_ASSIGN(const AtomicOrdering ordering, ordering_of(insertion, options.order.ordering));
  MNEME_ASSIGN(const auto scope, scope_of(insertion, options.order.scope));
  if (ordering == AtomicOrdering::NotAtomic || ordering == AtomicOrdering::Unordered)
    return insertion.refused("its ordering is monotonic at least");
  MNEME_ASSIGN(const llvm::Align align, alignment_of(insertion, *value->getType(), options.alignment, true));
  auto* made = new AtomicRMWInst(*found, pointer, value, align, ordering, scope);
  made->setVolatile(options.is_volatile);
  return insertion.put(made);
}

Result<ValueRef> Builder::compare_exchange(const ValueRef& pointer_ref, const ValueRef& expected_ref,
                                           const ValueRef& replacement_ref, const AccessOptions& options,
                                           const std::string& failure_ordering, const std::string& name) const {
  using llvm::AtomicCmpXchgInst;
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "cmpxchg", name));
  MNEME_ASSIGN(llvm::Value * pointer, insertion.operand(pointer_ref));
  MNEME_ASSIGN(llvm::Value * expected, insertion.operand(expected_ref));
  MNEME_ASSIGN(llvm::Value * replacement, insertion.operand(replacement_ref));
  MNEME_TRY(check_pointer(insertion, *pointer));
  llvm::Type* type = expected->getType();
  if (type != replacement->getType() || !(type->isIntegerTy() || type->isPointerTy()))
    return insertion.refused("it takes two integers or pointers of one type, not {} and {}", printed(*type),
                             printed(*replacement->getType()));
  MNEME_TRY(check_atomic(insertion, *type));
  MNEME_ASSIGN(const AtomicOrdering success, ordering_of(insertion, options.order.ordering));
  MNEME_ASSIGN(const AtomicOrdering failure, ordering_of(insertion, failure_ordering));
  MNEME_ASSIGN(const auto scope, scope_of(insertion, options.order.scope));
  if (!AtomicCmpXchgInst::isValidSuccessOrdering(success) || !AtomicCmpXchgInst::isValidFailureOrdering(failure))
    return insertion.refused("its orderings are monotonic at least, and that of failure releases nothing");
  MNEME_ASSIGN(const llvm::Align align, alignment_of(insertion, *type, options.alignment, true));
  auto* made = new AtomicCmpXchgInst(pointer, expected, replacement, align, success, failure, scope);
  made->setVolatile(options.is_volatile);
  return insertion.put(made);
}

Result<ValueRef> Builder::fence(const MemoryOrder& order) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "fence"));
  MNEME_ASSIGN(const AtomicOrdering ordering, ordering_of(insertion, order.ordering));
  MNEME_ASSIGN(const auto scope, scope_of(insertion, order.scope));
  if (!llvm::isStrongerThanMonotonic(ordering)) return insertion.refused("its ordering is acquire at least");
  return insertion.put(new llvm::FenceInst(insertion.context(), ordering, scope));
}

Result<ValueRef> Builder::call(const ValueRef& callee_ref, const std::vector<ValueRef>& argument_refs,
                               const std::optional<TypeRef>& type_ref, const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "call", name));
  MNEME_ASSIGN(llvm::Value * callee, insertion.operand(callee_ref));
  MNEME_TRY(check_pointer(insertion, *callee));
  MNEME_ASSIGN(const std::vector<llvm::Value*> arguments, insertion.operands(argument_refs));
  auto* function = llvm::dyn_cast<llvm::Function>(callee);
  llvm::FunctionType* type = function ? function->getFunctionType() : nullptr;
  if (type_ref) {
    MNEME_ASSIGN(llvm::Type * given, insertion.type(*type_ref));
    type = llvm::dyn_cast<llvm::FunctionType>(given);
    if (!type) return insertion.refused("{} is no type of a function", printed(*given));
  }
  if (!type) return insertion.refused("{} is a pointer: its function's type is needed", describe(*callee));
  MNEME_TRY(check_arguments(insertion, *type, arguments));
  llvm::CallInst* made = llvm::CallInst::Create(type, callee, arguments);
  if (function) made->setCallingConv(function->getCallingConv());
  return insertion.put(made);
}

Result<ValueRef> Builder::intrinsic(const std::string& intrinsic, const std::vector<ValueRef>& argument_refs,
                                    const std::optional<TypeRef>& result_ref, const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, intrinsic, name));
  MNEME_ASSIGN(const std::vector<llvm::Value*> arguments, insertion.operands(argument_refs));
  llvm::Type* result = nullptr;
  if (result_ref) {
    MNEME_ASSIGN(result, insertion.type(*result_ref));
  }
  const llvm::Intrinsic::ID id = llvm::StringRef(intrinsic).starts_with("llvm.") ? llvm::Intrinsic::lookupIntrinsicID(intrinsic)
                                                                                 : llvm::Intrinsic::not_intrinsic;
  if (id == llvm::Intrinsic::not_intrinsic) return error(Code::invalid_argument, "LLVM has no intrinsic '{}'", intrinsic);
  llvm::Function* function = declare(insertion, id, arguments, result);
  if (!function) {
    std::vector<std::string> types;
    for (llvm::Type* type : types_of(arguments)) types.push_back(printed(*type));
    return insertion.refused("it does not take ({}){}", fmt::join(types, ", "),
                             result ? fmt::format(" and give {}", printed(*result)) : ", or its result must be told");
  }
  return insertion.put(llvm::CallInst::Create(function->getFunctionType(), function, arguments));
}

Result<ValueRef> Builder::inline_assembly(const std::string& text, const std::string& constraints, const TypeRef& type_ref,
                                          const std::vector<ValueRef>& argument_refs, bool has_side_effects,
                                          const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "inline assembly", name));
  MNEME_ASSIGN(llvm::Type * given, insertion.type(type_ref));
  MNEME_ASSIGN(const std::vector<llvm::Value*> arguments, insertion.operands(argument_refs));
  auto* type = llvm::dyn_cast<llvm::FunctionType>(given);
  if (!type) return insertion.refused("{} is no type of a function", printed(*given));
  if (llvm::Error wrong = llvm::InlineAsm::verify(type, constraints))
    return insertion.refused("{}", llvm::toString(std::move(wrong)));
  MNEME_TRY(check_arguments(insertion, *type, arguments));
  auto* assembly = llvm::InlineAsm::get(type, text, constraints, has_side_effects);
  return insertion.put(llvm::CallInst::Create(type, assembly, arguments));
}

}  // namespace mneme::ir
