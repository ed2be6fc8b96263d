#include "mneme/ir/builder.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>

#include "mneme/base/suggestion.h"
#include "mneme/ir/insertion.h"

namespace mneme::ir {
namespace {

using llvm::Instruction;

// The opcode of that name between two, one past the last where there is none.
unsigned opcode_between(const std::string& name, unsigned begin, unsigned end) {
  unsigned opcode = begin;
  while (opcode < end && Instruction::getOpcodeName(opcode) != name) ++opcode;
  return opcode;
}

std::vector<std::string> names_between(unsigned begin, unsigned end) {
  std::vector<std::string> names;
  for (unsigned opcode = begin; opcode < end; ++opcode) names.emplace_back(Instruction::getOpcodeName(opcode));
  return names;
}

bool is_float_operation(unsigned opcode) {
  return opcode == Instruction::FAdd || opcode == Instruction::FSub || opcode == Instruction::FMul ||
         opcode == Instruction::FDiv || opcode == Instruction::FRem;
}

Status check_same_type(const Insertion& insertion, const llvm::Value& a, const llvm::Value& b) {
  if (a.getType() == b.getType()) return {};
  return insertion.refused("the one operand is of type {}, the other of type {}", printed(*a.getType()), printed(*b.getType()));
}

std::optional<llvm::CmpInst::Predicate> predicate_of(const std::string& name, bool is_float) {
  const unsigned first = is_float ? llvm::CmpInst::FIRST_FCMP_PREDICATE : llvm::CmpInst::FIRST_ICMP_PREDICATE;
  const unsigned last = is_float ? llvm::CmpInst::LAST_FCMP_PREDICATE : llvm::CmpInst::LAST_ICMP_PREDICATE;
  for (unsigned predicate = first; predicate <= last; ++predicate)
    if (llvm::CmpInst::getPredicateName(static_cast<llvm::CmpInst::Predicate>(predicate)) == name)
      return static_cast<llvm::CmpInst::Predicate>(predicate);
  return std::nullopt;
}

}  // namespace

Result<Builder> Builder::at_end(const ValueRef& block) {
  MNEME_TRY(get<llvm::BasicBlock>(block).status());
  return Builder(block);
}

Result<Builder> Builder::before(const ValueRef& instruction) {
  MNEME_TRY(get<llvm::Instruction>(instruction).status());
  return Builder(instruction);
}

Result<ValueRef> Builder::binary(const std::string& opcode, const ValueRef& a_ref, const ValueRef& b_ref,
                                 const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, opcode, name));
  const unsigned found = opcode_between(opcode, Instruction::BinaryOpsBegin, Instruction::BinaryOpsEnd);
  if (found == Instruction::BinaryOpsEnd)
    return error(Code::invalid_argument, "'{}' is no operation of two operands{}", opcode,
                 did_you_mean(opcode, names_between(Instruction::BinaryOpsBegin, Instruction::BinaryOpsEnd)));
  MNEME_ASSIGN(llvm::Value * a, insertion.operand(a_ref));
  MNEME_ASSIGN(llvm::Value * b, insertion.operand(b_ref));
  MNEME_TRY(check_same_type(insertion, *a, *b));
  const llvm::Type& type = *a->getType();
  if (is_float_operation(found) ? !type.isFPOrFPVectorTy() : !type.isIntOrIntVectorTy())
    return insertion.refused("there is none for operands of type {}", printed(type));
  return insertion.put(llvm::BinaryOperator::Create(static_cast<Instruction::BinaryOps>(found), a, b));
}

Result<ValueRef> Builder::negate(const ValueRef& ref, const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "fneg", name));
  MNEME_ASSIGN(llvm::Value * value, insertion.operand(ref));
  if (!value->getType()->isFPOrFPVectorTy())
    return insertion.refused("there is none for operands of type {}", printed(*value->getType()));
  return insertion.put(llvm::UnaryOperator::Create(Instruction::FNeg, value));
}

Result<ValueRef> Builder::compare(const std::string& predicate, const ValueRef& a_ref, const ValueRef& b_ref,
                                  const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "a comparison", name));
  MNEME_ASSIGN(llvm::Value * a, insertion.operand(a_ref));
  MNEME_ASSIGN(llvm::Value * b, insertion.operand(b_ref));
  MNEME_TRY(check_same_type(insertion, *a, *b));
  const llvm::Type& type = *a->getType();
  const bool is_float = type.isFPOrFPVectorTy();
  if (!is_float && !type.isIntOrIntVectorTy() && !type.isPtrOrPtrVectorTy())
    return insertion.refused("there is none for operands of type {}", printed(type));
  const auto found = predicate_of(predicate, is_float);
  if (!found)
    return insertion.refused("'{}' is none of {}", predicate, is_float ? "floating-point numbers" : "integers or pointers");
  return insertion.put(llvm::CmpInst::Create(is_float ? Instruction::FCmp : Instruction::ICmp, *found, a, b));
}

Result<ValueRef> Builder::select(const ValueRef& condition_ref, const ValueRef& a_ref, const ValueRef& b_ref,
                                 const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "select", name));
  MNEME_ASSIGN(llvm::Value * condition, insertion.operand(condition_ref));
  MNEME_ASSIGN(llvm::Value * a, insertion.operand(a_ref));
  MNEME_ASSIGN(llvm::Value * b, insertion.operand(b_ref));
  if (const char* why = llvm::SelectInst::areInvalidOperands(condition, a, b)) return insertion.refused("{}", why);
  return insertion.put(llvm::SelectInst::Create(condition, a, b));
}

Result<ValueRef> Builder::cast(const std::string& opcode, const ValueRef& ref, const TypeRef& type_ref,
                               const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, opcode, name));
  const unsigned found = opcode_between(opcode, Instruction::CastOpsBegin, Instruction::CastOpsEnd);
  if (found == Instruction::CastOpsEnd)
    return error(Code::invalid_argument, "'{}' is no cast{}", opcode,
                 did_you_mean(opcode, names_between(Instruction::CastOpsBegin, Instruction::CastOpsEnd)));
  MNEME_ASSIGN(llvm::Value * value, insertion.operand(ref));
  MNEME_ASSIGN(llvm::Type * type, insertion.type(type_ref));
  const auto cast = static_cast<Instruction::CastOps>(found);
  if (!type->isFirstClassType() || !llvm::CastInst::castIsValid(cast, value->getType(), type))
    return insertion.refused("there is none from {} to {}", printed(*value->getType()), printed(*type));
  return insertion.put(llvm::CastInst::Create(cast, value, type));
}

Result<ValueRef> Builder::freeze(const ValueRef& ref, const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "freeze", name));
  MNEME_ASSIGN(llvm::Value * value, insertion.operand(ref));
  return insertion.put(new llvm::FreezeInst(value));
}

Result<ValueRef> Builder::extract_element(const ValueRef& vector_ref, const ValueRef& index_ref, const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "extractelement", name));
  MNEME_ASSIGN(llvm::Value * vector, insertion.operand(vector_ref));
  MNEME_ASSIGN(llvm::Value * index, insertion.operand(index_ref));
  if (!llvm::ExtractElementInst::isValidOperands(vector, index))
    return insertion.refused("it takes a vector and an integer, not {} and {}", printed(*vector->getType()),
                             printed(*index->getType()));
  return insertion.put(llvm::ExtractElementInst::Create(vector, index));
}

Result<ValueRef> Builder::insert_element(const ValueRef& vector_ref, const ValueRef& element_ref, const ValueRef& index_ref,
                                         const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "insertelement", name));
  MNEME_ASSIGN(llvm::Value * vector, insertion.operand(vector_ref));
  MNEME_ASSIGN(llvm::Value * element, insertion.operand(element_ref));
  MNEME_ASSIGN(llvm::Value * index, insertion.operand(index_ref));
  if (!llvm::InsertElementInst::isValidOperands(vector, element, index))
    return insertion.refused("it takes a vector, one element and an integer, not {}, {} and {}", printed(*vector->getType()),
                             printed(*element->getType()), printed(*index->getType()));
  return insertion.put(llvm::InsertElementInst::Create(vector, element, index));
}

Result<ValueRef> Builder::shuffle_vector(const ValueRef& a_ref, const ValueRef& b_ref, const std::vector<int>& mask,
                                         const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "shufflevector", name));
  MNEME_ASSIGN(llvm::Value * a, insertion.operand(a_ref));
  MNEME_ASSIGN(llvm::Value * b, insertion.operand(b_ref));
  if (mask.empty() || !llvm::ShuffleVectorInst::isValidOperands(a, b, mask))
    return insertion.refused("it takes two vectors of one type and numbers of their elements, not {}, {} and [{}]",
                             printed(*a->getType()), printed(*b->getType()), fmt::join(mask, ", "));
  return insertion.put(new llvm::ShuffleVectorInst(a, b, mask));
}

Result<ValueRef> Builder::extract_value(const ValueRef& ref, const std::vector<unsigned>& indices,
                                        const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "extractvalue", name));
  MNEME_ASSIGN(llvm::Value * aggregate, insertion.operand(ref));
  if (indices.empty() || !llvm::ExtractValueInst::getIndexedType(aggregate->getType(), indices))
    return insertion.refused("type {} has no element [{}]", printed(*aggregate->getType()), fmt::join(indices, ", "));
  return insertion.put(llvm::ExtractValueInst::Create(aggregate, indices));
}

Result<ValueRef> Builder::insert_value(const ValueRef& ref, const ValueRef& element_ref, const std::vector<unsigned>& indices,
                                       const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "insertvalue", name));
  MNEME_ASSIGN(llvm::Value * aggregate, insertion.operand(ref));
  MNEME_ASSIGN(llvm::Value * element, insertion.operand(element_ref));
  const llvm::Type* type = indices.empty() ? nullptr : llvm::ExtractValueInst::getIndexedType(aggregate->getType(), indices);
  if (!type) return insertion.refused("type {} has no element [{}]", printed(*aggregate->getType()), fmt::join(indices, ", "));
  if (type != element->getType())
    return insertion.refused("element [{}] of type {} is of type {}, not {}", fmt::join(indices, ", "),
                             printed(*aggregate->getType()), printed(*type), printed(*element->getType()));
  return insertion.put(llvm::InsertValueInst::Create(aggregate, element, indices));
}

Result<ValueRef> Builder::phi(const TypeRef& ref, const std::string& name) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "phi", name));
  MNEME_ASSIGN(llvm::Type * type, insertion.type(ref));
  if (!type->isFirstClassType() || type->isLabelTy() || type->isMetadataTy() || type->isTokenTy())
    return insertion.refused("there is none of type {}", printed(*type));
  return insertion.put(llvm::PHINode::Create(type, 0));
}

Result<ValueRef> Builder::branch(const ValueRef& ref) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "br"));
  MNEME_ASSIGN(llvm::BasicBlock * block, insertion.block(ref));
  return insertion.put(llvm::BranchInst::Create(block));
}

Result<ValueRef> Builder::conditional_branch(const ValueRef& condition_ref, const ValueRef& then_ref,
                                             const ValueRef& otherwise_ref) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "br"));
  MNEME_ASSIGN(llvm::Value * condition, insertion.operand(condition_ref));
  MNEME_ASSIGN(llvm::BasicBlock * then, insertion.block(then_ref));
  MNEME_ASSIGN(llvm::BasicBlock * otherwise, insertion.block(otherwise_ref));
  if (!condition->getType()->isIntegerTy(1))
    return insertion.refused("its condition is of type {}, not i1", printed(*condition->getType()));
  return insertion.put(llvm::BranchInst::Create(then, otherwise, condition));
}

Result<ValueRef> Builder::switch_on(const ValueRef& ref, const ValueRef& otherwise_ref,
                                    const std::vector<std::pair<ValueRef, ValueRef>>& cases) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "switch"));
  MNEME_ASSIGN(llvm::Value * value, insertion.operand(ref));
  MNEME_ASSIGN(llvm::BasicBlock * otherwise, insertion.block(otherwise_ref));
  if (!value->getType()->isIntegerTy()) return insertion.refused("it is on an integer, not {}", printed(*value->getType()));
  std::vector<std::pair<llvm::ConstantInt*, llvm::BasicBlock*>> ways;
  for (const auto& [number_ref, block_ref] : cases) {
    MNEME_ASSIGN(llvm::Value * number, insertion.operand(number_ref));
    MNEME_ASSIGN(llvm::BasicBlock * block, insertion.block(block_ref));
    auto* constant = llvm::dyn_cast<llvm::ConstantInt>(number);
    if (!constant || number->getType() != value->getType())
      return insertion.refused("a case of it is an integer of type {}, not {}", printed(*value->getType()), describe(*number));
    ways.emplace_back(constant, block);
  }
  auto* made = llvm::SwitchInst::Create(value, otherwise, ways.size());
  for (auto [number, block] : ways) made->addCase(number, block);
  return insertion.put(made);
}

Result<ValueRef> Builder::ret(const std::optional<ValueRef>& ref) const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "ret"));
  const llvm::Type& wanted = *insertion.function().getReturnType();
  if (!ref) {
    if (!wanted.isVoidTy()) return insertion.refused("the function returns {}", printed(wanted));
    return insertion.put(llvm::ReturnInst::Create(insertion.context()));
  }
  MNEME_ASSIGN(llvm::Value * value, insertion.operand(*ref));
  if (value->getType() != &wanted)
    return insertion.refused("the function returns {}, and {} is of type {}", printed(wanted), describe(*value),
                             printed(*value->getType()));
  return insertion.put(llvm::ReturnInst::Create(insertion.context(), value));
}

Result<ValueRef> Builder::unreachable() const {
  MNEME_ASSIGN(const Insertion insertion, Insertion::at(place_, "unreachable"));
  return insertion.put(new llvm::UnreachableInst(insertion.context()));
}

}  // namespace mneme::ir
