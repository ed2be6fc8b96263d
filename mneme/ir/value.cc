#include "mneme/ir/value.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalAlias.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Support/raw_ostream.h>

#include "mneme/ir/handle_access.h"

namespace mneme::ir {
namespace {

std::string kind_of_type(const llvm::Type& type) {
  if (type.isVoidTy()) return "void";
  if (type.isIntegerTy()) return "integer";
  if (type.isFloatingPointTy()) return "float";
  if (type.isPointerTy()) return "pointer";
  if (type.isVectorTy()) return "vector";
  if (type.isArrayTy()) return "array";
  if (type.isStructTy()) return "struct";
  if (type.isFunctionTy()) return "function";
  if (type.isLabelTy()) return "label";
  return type.isMetadataTy() ? "metadata" : "other";
}

bool is_local(const llvm::Value& value) { return llvm::isa<llvm::Instruction, llvm::Argument, llvm::BasicBlock>(value); }

// Where it is used, for a refusal.
std::string first_user(const llvm::Value& value) {
  const llvm::User* user = *value.user_begin();
  return llvm::isa<llvm::Instruction>(user) ? describe(*user) : "by " + describe(*user);
}

Status still_used(const llvm::Value& value) {
  return error(Code::invalid_argument, "erasing {}: it is used {} time{}, first in {}; replace its uses first", describe(value),
               value.getNumUses(), value.hasOneUse() ? "" : "s", first_user(value));
}

Status erase_block(llvm::BasicBlock& block) {
  const auto is_elsewhere = [&](const llvm::User* user) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    return !instruction || instruction->getParent() != &block;
  };
  if (llvm::any_of(block.users(), is_elsewhere)) return still_used(block);
  for (llvm::Instruction& instruction : block)
    if (llvm::any_of(instruction.users(), is_elsewhere))
      return still_used(instruction).with_context("erasing " + describe(block));
  // A phi's blocks are not among the uses, and it may name a block that does not lead to it.
  for (llvm::Instruction& instruction : llvm::instructions(*block.getParent()))
    if (auto* phi = llvm::dyn_cast<llvm::PHINode>(&instruction))
      while (phi->getBasicBlockIndex(&block) >= 0) phi->removeIncomingValue(phi->getBasicBlockIndex(&block), false);
  block.dropAllReferences();
  block.eraseFromParent();
  return {};
}

Status erase_global(llvm::GlobalValue& global) {
  global.removeDeadConstantUsers();
  const auto is_outside = [&](const llvm::User* user) {
    auto* instruction = llvm::dyn_cast<llvm::Instruction>(user);
    return !instruction || instruction->getFunction() != &global;
  };
  if (llvm::any_of(global.users(), is_outside)) return still_used(global);
  if (auto* function = llvm::dyn_cast<llvm::Function>(&global)) function->dropAllReferences();
  global.eraseFromParent();
  return {};
}

bool contains(const llvm::Constant& whole, const llvm::Value& part) {
  return llvm::any_of(whole.operands(), [&](const llvm::Use& use) {
    return use.get() == &part || (!llvm::isa<llvm::GlobalValue>(use) && llvm::isa<llvm::Constant>(use) &&
                                  contains(*llvm::cast<llvm::Constant>(use), part));
  });
}

Status check_replacement_in(const llvm::Value& value, const llvm::Value& replacement) {
  for (const llvm::User* user : value.users()) {
    if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(user))
      MNEME_TRY(check_operand(instruction->getFunction(), replacement));
    else if (is_local(replacement))
      return error(Code::invalid_argument, "it is used by {}, and {} is no constant", describe(*user), describe(replacement));
  }
  return {};
}

Status check_number(const llvm::Type& type, bool fits, const char* what) {
  constexpr unsigned most_elements = 1 << 24;  // each takes memory, which LLVM takes for granted
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(&type);
  if (vector && vector->getNumElements() > most_elements)
    return error(Code::invalid_argument, "a constant of type {} has more than {} elements", printed(type), most_elements);
  if (fits) return {};
  return error(Code::invalid_argument, "there is no {} of type {}", what, printed(type));
}

bool can_be_constant(const llvm::Type& type) {
  return type.isFirstClassType() && !type.isLabelTy() && !type.isMetadataTy() && !type.isTokenTy() && !type.isX86_AMXTy() &&
         !type.isTargetExtTy();
}

}  // namespace

std::string_view to_string(ValueKind kind) {
  constexpr std::string_view kNames[] = {"function", "global_variable", "alias",    "basic_block",
                                         "argument", "instruction",     "constant", "other"};
  return kNames[static_cast<size_t>(kind)];
}

Result<TypeInfo> type_info(const TypeRef& ref) {
  MNEME_ASSIGN(llvm::Type * type, get(ref));
  TypeInfo info;
  info.text = printed(*type);
  info.kind = kind_of_type(*type);
  info.bits = type->isIntegerTy() || type->isFloatingPointTy() ? type->getPrimitiveSizeInBits().getFixedValue() : 0;
  if (auto* pointer = llvm::dyn_cast<llvm::PointerType>(type)) info.address_space = pointer->getAddressSpace();
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) info.count = array->getNumElements();
  if (auto* vector = llvm::dyn_cast<llvm::VectorType>(type)) {
    info.count = vector->getElementCount().getKnownMinValue();
    info.is_scalable = vector->getElementCount().isScalable();
  }
  if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
    info.count = structure->getNumElements();
    info.is_packed = structure->isPacked();
    if (structure->hasName()) info.name = structure->getName();
  }
  if (auto* function = llvm::dyn_cast<llvm::FunctionType>(type)) {
    info.count = function->getNumParams();
    info.is_variadic = function->isVarArg();
  }
  return info;
}

Result<std::vector<TypeRef>> contained_types(const TypeRef& ref) {
  MNEME_ASSIGN(llvm::Type * type, get(ref));
  std::vector<TypeRef> all;
  for (llvm::Type* part : type->subtypes()) all.push_back(refer(ref.state(), part));
  return all;
}

Result<uint64_t> size_of(const TypeRef& ref) {
  MNEME_ASSIGN(llvm::Type * type, get(ref));
  if (!type->isSized() || type->isScalableTy()) return error(Code::invalid_argument, "type {} has no size", printed(*type));
  return ref.state()->llvm().getDataLayout().getTypeAllocSize(type).getFixedValue();
}

Result<ValueKind> kind_of(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  if (llvm::isa<llvm::Function>(value)) return ValueKind::function;
  if (llvm::isa<llvm::GlobalVariable>(value)) return ValueKind::global_variable;
  if (llvm::isa<llvm::GlobalValue>(value)) return ValueKind::alias;
  if (llvm::isa<llvm::BasicBlock>(value)) return ValueKind::basic_block;
  if (llvm::isa<llvm::Argument>(value)) return ValueKind::argument;
  if (llvm::isa<llvm::Instruction>(value)) return ValueKind::instruction;
  return llvm::isa<llvm::Constant>(value) ? ValueKind::constant : ValueKind::other;
}

Result<TypeRef> type_of(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  return refer(state_of(ref), value->getType());
}

Result<std::string> name_of(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  return value->getName().str();
}

Status set_name(const ValueRef& ref, const std::string& name) {
  MNEME_ASSIGN(llvm::Value * value, edit(ref));
  const auto refused = [&](std::string_view why) {
    return error(Code::invalid_argument, "naming {} '{}': {}", describe(*value), name, why);
  };
  auto* global = llvm::dyn_cast<llvm::GlobalValue>(value);
  if (!is_local(*value) && !global) return refused("constants have no names");
  if (value->getType()->isVoidTy()) return refused("it has no result that could be named");
  if (name.find('\0') != std::string::npos)
    return error(Code::invalid_argument, "naming {}: a name has no NUL", describe(*value));
  if (global) {
    if (value->getName() == name) return {};
    if (global->getParent()->getNamedValue(name)) return refused("the name is taken");
    if (llvm::StringRef(name).starts_with("llvm.") || value->getName().starts_with("llvm."))
      return refused("names that begin with llvm. are LLVM's own");
  }
  value->setName(name);
  return {};
}

Result<std::string> print(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  std::string text;
  llvm::raw_string_ostream stream(text);
  value->print(stream);
  return text;
}

Result<std::string> print_as_operand(const ValueRef& ref, bool with_type) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  std::string text;
  llvm::raw_string_ostream stream(text);
  value->printAsOperand(stream, with_type);
  return text;
}

Result<std::vector<Use>> uses(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  std::vector<Use> all;
  if (!value->hasUseList()) return all;
  for (llvm::Use& use : value->uses())
    all.push_back({refer(state_of(ref), static_cast<llvm::Value*>(use.getUser())), use.getOperandNo()});
  std::reverse(all.begin(), all.end());  // LLVM has the newest first
  return all;
}

Result<std::vector<ValueRef>> operands(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  std::vector<ValueRef> all;
  if (auto* user = llvm::dyn_cast<llvm::User>(value))
    for (llvm::Use& use : user->operands())
      if (use.get()) all.push_back(refer(state_of(ref), use.get()));
  return all;
}

Result<MetadataRef> metadata_operand(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Value * value, get_value(ref));
  if (auto* wrapped = llvm::dyn_cast<llvm::MetadataAsValue>(value)) return refer(state_of(ref), wrapped->getMetadata());
  return wrong_kind(*value, "metadata");
}

Status set_operand(const ValueRef& user_ref, unsigned index, const ValueRef& operand_ref) {
  MNEME_ASSIGN(llvm::Instruction * user, edit<llvm::Instruction>(user_ref));
  MNEME_ASSIGN(llvm::Value * operand, get_of(state_of(user_ref), operand_ref));
  const auto refused = [&](const std::string& why) {
    return error(Code::invalid_argument, "setting operand {} of {}: {}", index, describe(*user), why);
  };
  if (index >= user->getNumOperands()) return refused(fmt::format("it has {}", user->getNumOperands()));
  const llvm::Type& type = *user->getOperand(index)->getType();
  if (operand->getType() != &type)
    return refused(
        fmt::format("it is of type {}, and {} of type {}", printed(type), describe(*operand), printed(*operand->getType())));
  if (type.isMetadataTy() || type.isTokenTy()) return refused("metadata and tokens cannot be replaced");
  if (llvm::isa<llvm::SwitchInst>(user) && index >= 2 && !llvm::isa<llvm::ConstantInt, llvm::BasicBlock>(operand))
    return refused("a switch's cases are constants");
  if (Status local = check_operand(user->getFunction(), *operand); !local.ok()) return refused(local.message());
  user->setOperand(index, operand);
  return {};
}

Status replace_all_uses(const ValueRef& ref, const ValueRef& replacement_ref) {
  MNEME_ASSIGN(llvm::Value * value, edit(ref));
  MNEME_ASSIGN(llvm::Value * replacement, get_of(state_of(ref), replacement_ref));
  const auto refused = [&](const std::string& why) {
    return error(Code::invalid_argument, "replacing {} by {}: {}", describe(*value), describe(*replacement), why);
  };
  if (value == replacement) return refused("they are the same");
  if (value->getType() != replacement->getType())
    return refused(
        fmt::format("the one is of type {}, the other of type {}", printed(*value->getType()), printed(*replacement->getType())));
  if (!is_local(*value) && !llvm::isa<llvm::GlobalValue>(value))
    return refused("the uses of a constant are not known; set the operands of its users");
  auto* constant = llvm::dyn_cast<llvm::Constant>(replacement);
  if (constant && !llvm::isa<llvm::GlobalValue>(constant) && contains(*constant, *value))
    return refused("the replacement is made of it");
  if (Status local = check_replacement_in(*value, *replacement); !local.ok()) return refused(local.message());
  value->replaceAllUsesWith(replacement);
  return {};
}

Status erase(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Value * value, edit(ref));
  if (auto* block = llvm::dyn_cast<llvm::BasicBlock>(value)) return erase_block(*block);
  if (auto* global = llvm::dyn_cast<llvm::GlobalValue>(value)) return erase_global(*global);
  auto* instruction = llvm::dyn_cast<llvm::Instruction>(value);
  if (!instruction) return error(Code::invalid_argument, "erasing {}: it is part of something else", describe(*value));
  if (!instruction->use_empty()) return still_used(*instruction);
  instruction->eraseFromParent();
  return {};
}

Result<ValueRef> integer(const TypeRef& ref, const std::string& decimal) {
  MNEME_ASSIGN(llvm::Type * type, get(ref));
  MNEME_TRY(check_number(*type, type->isIntOrIntVectorTy(), "integer"));
  const llvm::StringRef digits = llvm::StringRef(decimal).ltrim('-');
  constexpr size_t kMostDigits = 10000;
  if (digits.empty() || digits.find_first_not_of("0123456789") != llvm::StringRef::npos || decimal.size() - digits.size() > 1 ||
      digits.size() > kMostDigits)
    return error(Code::invalid_argument, "'{}' is no whole number", decimal.substr(0, 40));
  const unsigned bits = type->getScalarSizeInBits();
  const unsigned wide = std::max(bits, llvm::APInt::getSufficientBitsNeeded(decimal, 10)) + 1;
  const llvm::APInt number(wide, decimal, 10);
  if (!number.isSignedIntN(bits) && !(number.isNonNegative() && number.isIntN(bits)))
    return error(Code::invalid_argument, "{} does not fit into {}", decimal, printed(*type));
  return refer(ref.state(), static_cast<llvm::Value*>(llvm::ConstantInt::get(type, number.trunc(bits))));
}

Result<ValueRef> floating(const TypeRef& ref, double number) {
  MNEME_ASSIGN(llvm::Type * type, get(ref));
  MNEME_TRY(check_number(*type, type->isFPOrFPVectorTy(), "floating-point number"));
  return refer(ref.state(), static_cast<llvm::Value*>(llvm::ConstantFP::get(type, number)));
}

Result<ValueRef> special(const TypeRef& ref, Special which) {
  MNEME_ASSIGN(llvm::Type * type, get(ref));
  MNEME_TRY(check_number(*type, can_be_constant(*type), "constant"));
  llvm::Constant* constant = which == Special::null    ? llvm::Constant::getNullValue(type)
                             : which == Special::undef ? llvm::UndefValue::get(type)
                                                       : llvm::PoisonValue::get(type);
  return refer(ref.state(), static_cast<llvm::Value*>(constant));
}

Result<ValueRef> aggregate(const TypeRef& ref, const std::vector<ValueRef>& elements) {
  MNEME_ASSIGN(llvm::Type * type, get(ref));
  auto* structure = llvm::dyn_cast<llvm::StructType>(type);
  auto* array = llvm::dyn_cast<llvm::ArrayType>(type);
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(type);
  MNEME_TRY(check_number(*type, (structure && !structure->isOpaque()) || array || vector, "constant of several elements"));
  const uint64_t count = structure ? structure->getNumElements() : array ? array->getNumElements() : vector->getNumElements();
  if (count != elements.size())
    return error(Code::invalid_argument, "a constant of type {} has {} elements, not {}", printed(*type), count, elements.size());
  llvm::SmallVector<llvm::Constant*> parts;
  for (const ValueRef& element : elements) {
    MNEME_TRY(get_of(ref.state(), element).status());
    MNEME_ASSIGN(llvm::Constant * part, get<llvm::Constant>(element));
    llvm::Type* wanted = structure ? structure->getElementType(parts.size()) : type->getContainedType(0);
    if (part->getType() != wanted)
      return error(Code::invalid_argument, "element {} of a constant of type {} is of type {}, not {}", parts.size(),
                   printed(*type), printed(*wanted), printed(*part->getType()));
    parts.push_back(part);
  }
  llvm::Constant* whole = structure ? llvm::ConstantStruct::get(structure, parts)
                          : array   ? llvm::ConstantArray::get(array, parts)
                                    : llvm::ConstantVector::get(parts);
  return refer(ref.state(), static_cast<llvm::Value*>(whole));
}

Result<ConstantValue> constant_value(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Constant * constant, get<llvm::Constant>(ref));
  if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(constant)) {
    llvm::SmallString<40> digits;
    number->getValue().toString(digits, 10, number->getBitWidth() > 1);
    return ConstantValue(digits.str().str());
  }
  if (auto* number = llvm::dyn_cast<llvm::ConstantFP>(constant)) {
    llvm::APFloat value = number->getValueAPF();
    bool loses_digits = false;
    value.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &loses_digits);
    return ConstantValue(value.convertToDouble());
  }
  return ConstantValue();
}

Result<std::vector<ValueRef>> constant_elements(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Constant * constant, get<llvm::Constant>(ref));
  constexpr uint64_t kMost = uint64_t{1} << 20;
  const llvm::Type& type = *constant->getType();
  uint64_t count = 0;
  if (auto* structure = llvm::dyn_cast<llvm::StructType>(&type)) count = structure->getNumElements();
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(&type)) count = array->getNumElements();
  if (auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(&type)) count = vector->getNumElements();
  if (count > kMost) return error(Code::exhausted, "a constant of type {} has more elements than can be listed", printed(type));
  std::vector<ValueRef> all;
  for (unsigned i = 0; i < count; ++i)
    if (llvm::Constant* element = constant->getAggregateElement(i))
      all.push_back(refer(state_of(ref), static_cast<llvm::Value*>(element)));
  return all;
}

Result<std::string> constant_bytes(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Constant * constant, get<llvm::Constant>(ref));
  auto* data = llvm::dyn_cast<llvm::ConstantDataSequential>(constant);
  return data ? data->getRawDataValues().str() : std::string();
}

Result<std::string> constant_kind(const ValueRef& ref) {
  MNEME_ASSIGN(llvm::Constant * constant, get<llvm::Constant>(ref));
  if (llvm::isa<llvm::PoisonValue>(constant)) return std::string("poison");
  if (llvm::isa<llvm::UndefValue>(constant)) return std::string("undef");
  if (llvm::isa<llvm::ConstantInt>(constant)) return std::string("integer");
  if (llvm::isa<llvm::ConstantFP>(constant)) return std::string("float");
  if (llvm::isa<llvm::GlobalValue>(constant)) return std::string("global");
  if (llvm::isa<llvm::ConstantExpr>(constant)) return std::string("expression");
  if (constant->isNullValue()) return std::string("null");
  return std::string(llvm::isa<llvm::ConstantData, llvm::ConstantAggregate>(constant) ? "aggregate" : "other");
}

}  // namespace mneme::ir
