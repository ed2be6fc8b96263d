#include "mneme/cpu/lower/amdgcn/narrow_types.h"

#include <llvm/ADT/STLExtras.h>

namespace mneme::cpu::amdgcn {
namespace {

constexpr unsigned kWordBits = 64;

llvm::Type* narrow_bits(llvm::Type* type) {
  llvm::Type* word = llvm::Type::getInt32Ty(type->getContext());
  auto* vector = llvm::dyn_cast<llvm::VectorType>(type);
  return vector ? llvm::VectorType::get(word, vector->getElementCount()) : word;
}

// The 32 bits of a pointer that is constant, where it has any before a launch.
llvm::Constant* bits_of(llvm::Constant* pointer) {
  llvm::Type* type = narrow_bits(pointer->getType());
  if (llvm::isa<llvm::PoisonValue>(pointer)) return llvm::PoisonValue::get(type);
  if (llvm::isa<llvm::UndefValue>(pointer)) return llvm::UndefValue::get(type);
  if (pointer->isNullValue()) return llvm::Constant::getNullValue(type);
  auto* expression = llvm::dyn_cast<llvm::ConstantExpr>(pointer);
  if (!expression || type->isVectorTy()) return nullptr;
  auto* operand = llvm::cast<llvm::Constant>(expression->getOperand(0));
  if (expression->getOpcode() == llvm::Instruction::AddrSpaceCast && operand->isNullValue())
    return llvm::Constant::getAllOnesValue(type);  // what a null pointer is in these spaces
  auto* number = llvm::dyn_cast<llvm::ConstantInt>(operand);
  if (expression->getOpcode() != llvm::Instruction::IntToPtr || !number) return nullptr;
  return llvm::ConstantInt::get(type, number->getValue().zextOrTrunc(32));
}

}  // namespace

bool is_narrow_space(unsigned space) { return space == kLdsSpace || space == kPrivateSpace; }

bool is_narrow(const llvm::Type* type) {
  const auto* pointer = llvm::dyn_cast<llvm::PointerType>(type->getScalarType());
  return pointer && is_narrow_space(pointer->getAddressSpace());
}

bool holds_narrow(const llvm::Type* type) {
  if (is_narrow(type)) return true;
  if (!type->isStructTy() && !type->isArrayTy()) return false;
  return llvm::any_of(type->subtypes(), [](const llvm::Type* part) { return holds_narrow(part); });
}

llvm::Type* in_memory(llvm::Type* type, const llvm::DataLayout& device) {
  if (is_narrow(type)) return narrow_bits(type);
  if (type->isIntegerTy() && type->getIntegerBitWidth() > kWordBits) {
    const uint64_t bytes = device.getTypeAllocSize(type).getFixedValue();
    llvm::Type* word = llvm::Type::getIntNTy(type->getContext(), kWordBits);
    return llvm::ArrayType::get(word, bytes * 8 / kWordBits);
  }
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type)) {
    llvm::Type* element = in_memory(array->getElementType(), device);
    return element == array->getElementType() ? type : llvm::ArrayType::get(element, array->getNumElements());
  }
  auto* structure = llvm::dyn_cast<llvm::StructType>(type);
  if (!structure || structure->isOpaque()) return type;
  llvm::SmallVector<llvm::Type*> elements;
  for (llvm::Type* element : structure->elements()) elements.push_back(in_memory(element, device));
  if (llvm::equal(elements, structure->elements())) return type;
  return llvm::StructType::get(type->getContext(), elements, structure->isPacked());
}

llvm::Constant* in_memory(llvm::Constant* constant, const llvm::DataLayout& device) {
  llvm::Type* type = constant->getType();
  llvm::Type* now = in_memory(type, device);
  if (now == type) return constant;
  if (is_narrow(type)) return bits_of(constant);
  if (llvm::isa<llvm::PoisonValue>(constant)) return llvm::PoisonValue::get(now);
  if (llvm::isa<llvm::UndefValue>(constant)) return llvm::UndefValue::get(now);
  if (constant->isNullValue()) return llvm::Constant::getNullValue(now);
  llvm::SmallVector<llvm::Constant*> parts;
  if (auto* number = llvm::dyn_cast<llvm::ConstantInt>(constant)) {
    auto* words = llvm::cast<llvm::ArrayType>(now);
    const llvm::APInt value = number->getValue().zext(static_cast<unsigned>(words->getNumElements()) * kWordBits);
    for (unsigned i = 0; i < words->getNumElements(); ++i)
      parts.push_back(llvm::ConstantInt::get(type->getContext(), value.extractBits(kWordBits, i * kWordBits)));
    return llvm::ConstantArray::get(words, parts);
  }
  for (unsigned i = 0; llvm::Constant* part = constant->getAggregateElement(i); ++i) {
    parts.push_back(in_memory(part, device));
    if (!parts.back()) return nullptr;
  }
  if (auto* array = llvm::dyn_cast<llvm::ArrayType>(now)) return llvm::ConstantArray::get(array, parts);
  return llvm::ConstantStruct::get(llvm::cast<llvm::StructType>(now), parts);
}

}  // namespace mneme::cpu::amdgcn
