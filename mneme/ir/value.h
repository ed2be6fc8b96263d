// What every value and every type has: names, operands and uses, how to change them, and constants.
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
  std::string name;            // of a structure; empty for one without a name
  unsigned bits = 0;           // the width of an integer or a float
  unsigned address_space = 0;  // of a pointer
  uint64_t count = 0;          // elements of a vector or array, fields of a structure, or parameters of a function
  bool is_scalable = false;
  bool is_variadic = false;
  bool is_packed = false;
};
Result<TypeInfo> type_info(const TypeRef& type);
// The element of a vector or an array, the fields of a structure, or a function's result and then its parameters.
Result<std::vector<TypeRef>> contained_types(const TypeRef& type);
// The bytes that a value of the type takes in memory, with padding. invalid_argument: the type has no size.
Result<uint64_t> size_of(const TypeRef& type);

Result<ValueKind> kind_of(const ValueRef& value);
Result<TypeRef> type_of(const ValueRef& value);
Result<std::string> name_of(const ValueRef& value);  // empty where it has none
// Where a local name is taken, LLVM adds a number to it. invalid_argument: the value cannot have a name, or another global has
// it.
Status set_name(const ValueRef& value, const std::string& name);
Result<std::string> print(const ValueRef& value);
// "float %a", or "%a" without the type.
Result<std::string> print_as_operand(const ValueRef& value, bool with_type);

struct Use {
  ValueRef user;
  unsigned operand;
};
Result<std::vector<Use>> uses(const ValueRef& value);
Result<std::vector<ValueRef>> operands(const ValueRef& value);
Result<MetadataRef> metadata_operand(const ValueRef& value);  // the metadata that an operand stands for
// Sets an operand of an instruction. invalid_argument: there is no such operand, or it has another type, or the new one is a
// value of another function.
Status set_operand(const ValueRef& user, unsigned index, const ValueRef& operand);
// invalid_argument: the two are the same or have different types, the value is a constant, whose uses LLVM does not list, or the
// replacement is local to another function.
Status replace_all_uses(const ValueRef& value, const ValueRef& replacement);
// Takes an instruction, a block, a function or a global variable out of its module for good. invalid_argument: it is still used,
// or it is a value of another kind.
Status erase(const ValueRef& value);

// Constants. An integer is given by its decimal digits, and must fit the type as a signed or an unsigned number. A vector gets
// the number in each element.
Result<ValueRef> integer(const TypeRef& type, const std::string& decimal);
Result<ValueRef> floating(const TypeRef& type, double value);
enum class Special { null, undef, poison };
Result<ValueRef> special(const TypeRef& type, Special which);
// A constant of a structure, an array or a vector, from one constant for each element.
Result<ValueRef> aggregate(const TypeRef& type, const std::vector<ValueRef>& elements);
// The decimal digits of an integer (as a signed number; i1 is 0 or 1), the value of a float, or nothing for other constants.
using ConstantValue = std::variant<std::monostate, std::string, double>;
Result<ConstantValue> constant_value(const ValueRef& constant);
Result<std::vector<ValueRef>> constant_elements(const ValueRef& constant);
// The raw bytes of an array or vector of simple elements; empty for other constants.
Result<std::string> constant_bytes(const ValueRef& constant);
// "null", "undef", "poison", "expression" …
Result<std::string> constant_kind(const ValueRef& constant);

}  // namespace mneme::ir
