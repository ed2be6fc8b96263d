#include "mneme/instrument/parameters.h"

#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/raw_ostream.h>

#include "mneme/abi/segment.h"

namespace mneme::instrument {
namespace {

using namespace llvm;

uint32_t kind_of(Type* type) {
  if (type->isIntegerTy()) return MNEME_PARAM_INTEGER;
  if (type->isFloatingPointTy()) return MNEME_PARAM_FLOAT;
  if (type->isPointerTy()) return MNEME_PARAM_POINTER;
  return MNEME_PARAM_AGGREGATE;
}

std::string spelling(Type* type) {
  if (auto* structure = dyn_cast<StructType>(type); structure && structure->hasName()) return structure->getName().str();
  std::string text;
  raw_string_ostream(text) << *type;
  return text;
}

// Finds padding and numbers in values of a type. Only what is certain: taken for padding, a byte is lost, and an address that is
// taken for a number is not seen.
class ByteFinder {
 public:
  ByteFinder(const DataLayout& layout, ParameterLayout& found) : layout_(layout), found_(found) {}

  void visit(Type* type, uint64_t offset) {
    if (auto* structure = dyn_cast<StructType>(type)) return visit_struct(*structure, offset);
    if (auto* array = dyn_cast<ArrayType>(type)) {
      const uint64_t before = bytes_;
      uint64_t stride = layout_.getTypeAllocSize(array->getElementType());
      for (uint64_t i = 0; i < array->getNumElements(); ++i) {
        visit(array->getElementType(), offset + i * stride);
        if (bytes_ == before) return;  // none in the first element, so none in any
      }
      return;
    }
    uint64_t value = layout_.getTypeStoreSize(type), whole = layout_.getTypeAllocSize(type);
    if (is_number(type)) add(found_.numbers, offset, value);
    if (auto* integer = dyn_cast<IntegerType>(type); integer && integer->getBitWidth() % 8 != 0) return;
    add(found_.padding, offset + value, whole - value);
  }

 private:
  // Whether values of a scalar or vector type are numbers and nothing else. Bytes may be the storage of anything, and a whole
  // number as large as an address may be one (CUdeviceptr, the words of a CUtensorMap).
  bool is_number(Type* type) const {
    const Type* scalar = type->getScalarType();
    if (scalar->isFloatingPointTy()) return true;
    return scalar->isIntegerTy() && scalar->getIntegerBitWidth() > 8 &&
           scalar->getIntegerBitWidth() < layout_.getPointerSizeInBits();
  }

  void visit_struct(StructType& type, uint64_t offset) {
    // The type of a union is that of one member; another may have a value in the gaps, and an address where this has a number.
    if (type.hasName() && type.getName().starts_with("union.")) return;
    const StructLayout* structure = layout_.getStructLayout(&type);
    unsigned count = type.getNumElements();
    bool tail_is_padding = ends_in_padding(type);
    for (unsigned i = 0; i < count; ++i) {
      uint64_t begin = structure->getElementOffset(i);
      uint64_t next = i + 1 < count ? uint64_t{structure->getElementOffset(i + 1)} : uint64_t{structure->getSizeInBytes()};
      uint64_t size = layout_.getTypeAllocSize(type.getElementType(i));
      if (i + 1 == count && tail_is_padding)
        add(found_.padding, offset + begin, size);
      else
        visit(type.getElementType(i), offset + begin);
      add(found_.padding, offset + begin + size, next - begin - size);
    }
  }

  // clang spells tail padding out as bytes where a derived class may use it. It has then made a second type without these
  // bytes, "<name>.base"; lambdas, which nothing derives from, have it too, but share one name.
  bool ends_in_padding(StructType& type) const {
    if (!type.isPacked() || !type.hasName() || type.getNumElements() < 2) return false;
    Type* last = type.elements().back();
    auto* bytes = dyn_cast<ArrayType>(last);
    if (!last->isIntegerTy(8) && !(bytes && bytes->getElementType()->isIntegerTy(8))) return false;
    if (type.getName().starts_with("class.anon")) return is_lambda_tail(type);
    StructType* base = StructType::getTypeByName(type.getContext(), (type.getName() + ".base").str());
    return base && base->elements() == type.elements().drop_back();
  }

  // What a lambda captures is laid out naturally, so bytes at the end that only fill up its alignment are padding.
  bool is_lambda_tail(StructType& type) const {
    Align alignment;
    uint64_t end = 0;
    for (Type* element : type.elements().drop_back()) {
      alignment = std::max(alignment, layout_.getABITypeAlign(element));
      end += layout_.getTypeAllocSize(element);
    }
    uint64_t tail = layout_.getTypeAllocSize(type.elements().back());
    return tail < alignment.value() && alignTo(end, alignment) == end + tail;
  }

  void add(std::vector<ByteRange>& ranges, uint64_t offset, uint64_t size) {
    if (size == 0) return;
    bytes_ += size;
    if (&ranges == &found_.numbers && !ranges.empty() && ranges.back().offset + ranges.back().size == offset)
      ranges.back().size += size;
    else
      ranges.push_back({offset, size});
  }

  const DataLayout& layout_;
  ParameterLayout& found_;
  uint64_t bytes_ = 0;  // that were found
};

// The name that the source gives a parameter. clang marks that of a pointer which it passes in another address space, and gives a
// struct that it passes by reference its name where it copies it to.
std::string name_of(const Argument& argument) {
  StringRef name = argument.getName();
  name.consume_back(".coerce");
  if (!name.empty() || !argument.hasByRefAttr()) return name.str();
  for (const User* user : argument.users()) {
    const auto* copy = dyn_cast<MemCpyInst>(user);
    if (copy && copy->getRawSource() == &argument) return copy->getRawDest()->getName().str();
  }
  return {};
}

}  // namespace

Expected<ParameterLayout> parameter_layout(const Function& kernel) {
  const DataLayout& layout = kernel.getParent()->getDataLayout();
  ParameterLayout result;
  for (const Argument& argument : kernel.args()) {
    Type* type = argument.getType();
    MaybeAlign alignment;
    if (Type* pointee = argument.hasByValAttr() ? argument.getParamByValType() : argument.getParamByRefType()) {
      type = pointee;
      alignment = argument.getParamAlign();
    }
    if (!type->isSized() || layout.getTypeAllocSize(type).isScalable()) {
      return createStringError("parameter %u has no fixed size", argument.getArgNo());
    }
    Parameter parameter;
    parameter.kind = type == argument.getType() ? kind_of(type) : uint32_t{MNEME_PARAM_AGGREGATE};
    Align align = alignment.value_or(layout.getABITypeAlign(type));
    parameter.alignment = static_cast<uint32_t>(align.value());
    parameter.size = layout.getTypeAllocSize(type);
    parameter.offset = alignTo(result.bytes, align);
    parameter.name = name_of(argument);
    parameter.type = spelling(type);
    if (parameter.offset > result.bytes) result.padding.push_back({result.bytes, parameter.offset - result.bytes});
    ByteFinder(layout, result).visit(type, parameter.offset);
    result.bytes = parameter.offset + parameter.size;
    result.parameters.push_back(std::move(parameter));
  }
  return result;
}

}  // namespace mneme::instrument
