#include "mneme/compile/argument_constant.h"

#include <llvm/ADT/APFloat.h>
#include <llvm/ADT/APInt.h>
#include <llvm/IR/DerivedTypes.h>

#include <cstring>
#include <utility>
#include <vector>

namespace mneme {
namespace {

using llvm::dyn_cast;

constexpr unsigned kGlobalSpace = 1;

llvm::APInt integer_of(ByteSpan bytes, unsigned bits) {
  std::vector<uint64_t> words((bits + 63) / 64, 0);
  std::memcpy(words.data(), bytes.data(), (bits + 7) / 8);
  return llvm::APInt((bits + 63) / 64 * 64, words).trunc(bits);
}

llvm::Constant* pointer_of(llvm::PointerType* type, ByteSpan bytes, const llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  const unsigned bits = module.getDataLayout().getPointerTypeSizeInBits(type);
  const llvm::APInt value = integer_of(bytes, bits);
  if (value.isZero()) return llvm::ConstantPointerNull::get(type);
  auto* number = llvm::ConstantInt::get(context, value);
  if (type->getAddressSpace() != 0 || !module.getTargetTriple().isNVPTX()) return llvm::ConstantExpr::getIntToPtr(number, type);
  auto* global = llvm::ConstantExpr::getIntToPtr(number, llvm::PointerType::get(context, kGlobalSpace));
  return llvm::ConstantExpr::getAddrSpaceCast(global, type);
}

// Where pointers lie in a value of `type` at `offset`.
void find_pointers(llvm::Type* type, uint64_t offset, const llvm::DataLayout& layout,
                   std::vector<std::pair<uint64_t, llvm::PointerType*>>& found) {
  if (auto* pointer = dyn_cast<llvm::PointerType>(type)) {
    found.push_back({offset, pointer});
  } else if (auto* structure = dyn_cast<llvm::StructType>(type)) {
    const llvm::StructLayout* members = layout.getStructLayout(structure);
    for (unsigned i = 0; i < structure->getNumElements(); ++i)
      find_pointers(structure->getElementType(i), offset + members->getElementOffset(i).getFixedValue(), layout, found);
  } else if (auto* array = dyn_cast<llvm::ArrayType>(type)) {
    const uint64_t stride = layout.getTypeAllocSize(array->getElementType()).getFixedValue();
    for (uint64_t i = 0; i < array->getNumElements(); ++i)
      find_pointers(array->getElementType(), offset + i * stride, layout, found);
  }
}

llvm::Constant* element(llvm::Type* type, uint64_t offset, ByteSpan bytes, const llvm::Module& module) {
  return offset > bytes.size() ? nullptr : argument_constant(type, bytes.subspan(offset), module);
}

llvm::Constant* vector_of(llvm::FixedVectorType* type, ByteSpan bytes, const llvm::Module& module) {
  const uint64_t bits = module.getDataLayout().getTypeSizeInBits(type->getElementType()).getFixedValue();
  if (bits % 8 != 0) return nullptr;  // packed by the bit
  std::vector<llvm::Constant*> elements;
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    elements.push_back(element(type->getElementType(), i * bits / 8, bytes, module));
    if (!elements.back()) return nullptr;
  }
  return llvm::ConstantVector::get(elements);
}

llvm::Constant* structure_of(llvm::StructType* type, ByteSpan bytes, const llvm::Module& module) {
  const llvm::StructLayout* layout = module.getDataLayout().getStructLayout(type);
  std::vector<llvm::Constant*> members;
  for (unsigned i = 0; i < type->getNumElements(); ++i) {
    members.push_back(element(type->getElementType(i), layout->getElementOffset(i).getFixedValue(), bytes, module));
    if (!members.back()) return nullptr;
  }
  return llvm::ConstantStruct::get(type, members);
}

llvm::Constant* array_of(llvm::ArrayType* type, ByteSpan bytes, const llvm::Module& module) {
  const uint64_t stride = module.getDataLayout().getTypeAllocSize(type->getElementType()).getFixedValue();
  std::vector<llvm::Constant*> elements;
  for (uint64_t i = 0; i < type->getNumElements(); ++i) {
    elements.push_back(element(type->getElementType(), i * stride, bytes, module));
    if (!elements.back()) return nullptr;
  }
  return llvm::ConstantArray::get(type, elements);
}

}  // namespace

llvm::Constant* argument_constant(llvm::Type* type, ByteSpan bytes, const llvm::Module& module) {
  if (!type->isSized() || type->isScalableTy()) return nullptr;
  if (module.getDataLayout().getTypeStoreSize(type).getFixedValue() > bytes.size()) return nullptr;
  if (auto* integer = dyn_cast<llvm::IntegerType>(type))
    return llvm::ConstantInt::get(integer, integer_of(bytes, integer->getBitWidth()));
  if (type->isIEEELikeFPTy())
    return llvm::ConstantFP::get(type, llvm::APFloat(type->getFltSemantics(), integer_of(bytes, type->getScalarSizeInBits())));
  if (auto* pointer = dyn_cast<llvm::PointerType>(type)) return pointer_of(pointer, bytes, module);
  if (auto* vector = dyn_cast<llvm::FixedVectorType>(type)) return vector_of(vector, bytes, module);
  if (auto* structure = dyn_cast<llvm::StructType>(type)) return structure_of(structure, bytes, module);
  if (auto* array = dyn_cast<llvm::ArrayType>(type)) return array_of(array, bytes, module);
  return nullptr;
}

llvm::Constant* bytes_constant(llvm::Type* type, ByteSpan bytes, const llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  std::vector<std::pair<uint64_t, llvm::PointerType*>> pointers;
  find_pointers(type, 0, module.getDataLayout(), pointers);
  std::vector<llvm::Constant*> parts;
  uint64_t at = 0;
  const auto add_bytes = [&](uint64_t end) {
    if (end > at)
      parts.push_back(llvm::ConstantDataArray::get(
          context, llvm::ArrayRef(reinterpret_cast<const uint8_t*>(bytes.data()) + at, static_cast<size_t>(end - at))));
    at = end;
  };
  for (auto [offset, pointer] : pointers) {
    add_bytes(offset);
    parts.push_back(pointer_of(pointer, bytes.subspan(offset), module));
    at = offset + module.getDataLayout().getTypeStoreSize(pointer).getFixedValue();
  }
  add_bytes(bytes.size());
  return llvm::ConstantStruct::getAnon(context, parts, /*Packed=*/true);
}

}  // namespace mneme
