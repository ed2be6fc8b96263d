// What every value and every type has: names, operands, uses, and their change.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "mneme/base/types.h"
#include "mneme/ir/handles.h"

namespace mneme::ir {

enum class ValueKind { function, global_variable, alias, basic_block, argument, instruction, constant, other };
std::string_view to_string(ValueKind kind);

struct TypeInfo {
  std::string text;  // as in textual IR
  std::string
      kind;  // "void", "integer", "float", "pointer", "vector", "array", "struct", "function", "label", "metadata", "other"
  std::string name;            // of a structure that has one
  unsigned bits = 0;           // of an integer or a float
  unsigned address_space = 0;  // of a pointer
  uint64_t count = 0;          // elements of a vector or an array, fields of a structure, parameters of a function
  bool is_scalable = false;
  bool is_variadic = false;
  bool is_packed = false;
};
Result<TypeInfo> type_info(const TypeRef& type);
// The element of a vector or an array, the fields of a structure, or a function's result and then its parameters.
Result<std::vector<TypeRef>> contained_types(const TypeRef& type);
// In memory, with padding; invalid_argument for what has no size.
Result<uint64_t> size_of(const TypeRef& type);

Result<ValueKind> kind_of(const ValueRef& value);
Result<TypeRef> type_of(const ValueRef& value);
Result<std::string> name_of(const ValueRef& value);  // empty where it has none
// What stands before it decides: LLVM adds a number to a local name that is taken. invalid_argument: it can have no name, or
// another global has it.
Status set_name(const ValueRef& value, const std::string& name);
Result<std::string> print(const ValueRef& value);
// "float %a", "%a".
Result<std::string> print_as_operand(const ValueRef& value, bool with_type);

struct Use {
  ValueRef user;
  unsigned operand;
};
Result<std::vector<Use>> uses(const ValueRef& value);
Result<std::vector<ValueRef>> operands(const ValueRef& value);
Result<MetadataRef> metadata_operand(const ValueRef& value);  // of an operand that is metadata
// Of instructions. invalid_argument: there is no such operand, another type, a value of another function.
Status set_operand(const ValueRef& user, unsigned index, const ValueRef& operand);
// invalid_argument: another type, itself, a constant that has no list of uses, a value of another function.
Status replace_all_uses(const ValueRef& value, const ValueRef& replacement);
// Takes an instruction, a block, a function or a global out of its module for good. invalid_argument: it is used; or it cannot
// be.
Status erase(const ValueRef& value);

// Constants. A decimal number for integers, which must fit (signed or unsigned); a vector gets it in each element.
Result<ValueRef> integer(const TypeRef& type, const std::string& decimal);
Result<ValueRef> floating(const TypeRef& type, double value);
enum class Special { null, undef, poison };
Result<ValueRef> special(const TypeRef& type, Special which);
// Of a structure, an array or a vector: one constant for each element.
Result<ValueRef> aggregate(const TypeRef& type, const std::vector<ValueRef>& elements);
// An integer's decimal digits (signed; i1 is 0 or 1), a float, or nothing for other constants.
using ConstantValue = std::variant<std::monostate, std::string, double>;
Result<ConstantValue> constant_value(const ValueRef& constant);
Result<std::vector<ValueRef>> constant_elements(const ValueRef& constant);
// Raw bytes of an array or vector of simple elements; empty for other constants.
Result<std::string> constant_bytes(const ValueRef& constant);
// "null", "undef", "poison", "expression" …
Result<std::string> constant_kind(const ValueRef& constant);

}  // namespace mneme::ir
