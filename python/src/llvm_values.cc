// mneme._native.llvm: values, types and metadata.
#include <nanobind/stl/variant.h>

#include "bind.h"
#include "llvm.h"
#include "mneme/ir/global.h"
#include "mneme/ir/instruction.h"
#include "mneme/ir/metadata.h"
#include "mneme/ir/value.h"

namespace mneme::python {
namespace {

namespace nb = nanobind;
using namespace ir;

AttributePlace place_of(int index) {
  if (index == -2) return {.of = AttributePlace::Of::function};
  if (index == -1) return {.of = AttributePlace::Of::result};
  return {.of = AttributePlace::Of::argument, .argument = static_cast<unsigned>(index)};
}

void bind_types(nb::module_& module) {
  nb::class_<TypeRef>(module, "TypeRef")
      .def(
          "__eq__", [](const TypeRef& a, const TypeRef& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", [](const TypeRef& type) { return std::hash<void*>()(type.type()); });
  nb::class_<TypeInfo>(module, "TypeInfo")
      .def_ro("text", &TypeInfo::text)
      .def_ro("kind", &TypeInfo::kind)
      .def_ro("name", &TypeInfo::name)
      .def_ro("bits", &TypeInfo::bits)
      .def_ro("address_space", &TypeInfo::address_space)
      .def_ro("count", &TypeInfo::count)
      .def_ro("is_scalable", &TypeInfo::is_scalable)
      .def_ro("is_variadic", &TypeInfo::is_variadic)
      .def_ro("is_packed", &TypeInfo::is_packed);
  module.def("type_info", raising(&type_info));
  module.def("contained_types", raising(&contained_types));
  module.def("size_of", raising(&size_of));
}

void bind_value(nb::module_& module) {
  nb::class_<ValueRef>(module, "ValueRef")
      .def("is_alive", &ValueRef::is_alive)
      .def(
          "__eq__", [](const ValueRef& a, const ValueRef& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", &ValueRef::hash);
  module.def("kind_of", [](const ValueRef& value) { return std::string(to_string(unwrap(kind_of(value)))); });
  module.def("type_of", raising(&type_of));
  module.def("name_of", raising(&name_of));
  module.def("set_name", raising(&set_name));
  module.def("print", raising(&print));
  module.def("print_as_operand", raising(&print_as_operand));
  module.def("uses", [](const ValueRef& value) {
    std::vector<std::pair<ValueRef, unsigned>> all;
    for (Use& use : unwrap(uses(value))) all.emplace_back(std::move(use.user), use.operand);
    return all;
  });
  module.def("operands", raising(&operands));
  module.def("metadata_operand", raising(&metadata_operand));
  module.def("set_operand", raising(&set_operand));
  module.def("replace_all_uses", raising(&replace_all_uses));
  module.def("erase", raising(&erase));
  module.def("integer", raising(&integer));
  module.def("floating", raising(&floating));
  module.def("null", [](const TypeRef& type) { return unwrap(special(type, Special::null)); });
  module.def("undef", [](const TypeRef& type) { return unwrap(special(type, Special::undef)); });
  module.def("poison", [](const TypeRef& type) { return unwrap(special(type, Special::poison)); });
  module.def("aggregate", raising(&aggregate));
  module.def("constant_value", raising(&constant_value));
  module.def("constant_elements", raising(&constant_elements));
  module.def("constant_bytes", [](const ValueRef& constant) {
    const std::string bytes = unwrap(constant_bytes(constant));
    return nb::bytes(bytes.data(), bytes.size());
  });
  module.def("constant_kind", raising(&constant_kind));
}

void bind_globals(nb::module_& module) {
  module.def("linkage", raising(&linkage));
  module.def("set_linkage", raising(&set_linkage));
  module.def("visibility", raising(&visibility));
  module.def("set_visibility", raising(&set_visibility));
  module.def("section", raising(&section));
  module.def("alignment_of_global", raising(&alignment_of_global));
  module.def("set_alignment_of_global", raising(&set_alignment_of_global));
  module.def("address_space", raising(&address_space));
  module.def("is_declaration", raising(&is_declaration));
  module.def("value_type", raising(&value_type));
  module.def("initializer", raising(&initializer));
  module.def("set_initializer", raising(&set_initializer), nb::arg(), nb::arg().none());
  module.def("is_constant", raising(&is_constant));
  module.def("set_constant", raising(&set_constant));
  module.def("is_externally_initialized", raising(&is_externally_initialized));
}

void bind_functions(nb::module_& module) {
  module.def("arguments", raising(&arguments));
  module.def("blocks", raising(&blocks));
  module.def("instructions", raising(&instructions));
  module.def("instruction_count", raising(&instruction_count));
  module.def("calling_convention", raising(&calling_convention));
  module.def("set_calling_convention", raising(&set_calling_convention));
  module.def("is_kernel", raising(&is_kernel));
  module.def("is_intrinsic", raising(&is_intrinsic));
  module.def("verify_function", raising(&verify_function));
  module.def("add_block", raising(&add_block), nb::arg(), nb::arg(), nb::arg().none());
  module.def("delete_body", raising(&delete_body));
  module.def("parent_function", raising(&parent_function));
  module.def("argument_index", raising(&argument_index));
  nb::class_<ir::LaunchBounds>(module, "LaunchBounds")
      .def_ro("most_threads", &ir::LaunchBounds::most_threads)
      .def_ro("required_threads", &ir::LaunchBounds::required_threads)
      .def_ro("least_blocks", &ir::LaunchBounds::least_blocks)
      .def_ro("most_registers", &ir::LaunchBounds::most_registers)
      .def_ro("workgroup", &ir::LaunchBounds::workgroup);
  module.def("launch_bounds", raising(&launch_bounds));
  nb::class_<AttributeInfo>(module, "AttributeInfo")
      .def_ro("name", &AttributeInfo::name)
      .def_ro("value", &AttributeInfo::value)
      .def_ro("text", &AttributeInfo::text)
      .def_ro("is_string", &AttributeInfo::is_string);
  module.def("attributes", [](const ValueRef& holder, int index) { return unwrap(attributes(holder, place_of(index))); });
  module.def("add_attribute", [](const ValueRef& holder, int index, const std::string& text) {
    check(add_attribute(holder, place_of(index), text));
  });
  module.def("add_string_attribute", [](const ValueRef& holder, int index, const std::string& key, const std::string& value) {
    check(add_string_attribute(holder, place_of(index), key, value));
  });
  module.def("remove_attribute", [](const ValueRef& holder, int index, const std::string& name) {
    return unwrap(remove_attribute(holder, place_of(index), name));
  });
}

void bind_instructions(nb::module_& module) {
  module.def("block_instructions", raising(&block_instructions));
  module.def("terminator", raising(&terminator));
  module.def("predecessors", raising(&predecessors));
  module.def("successors", raising(&successors));
  module.def("split_block", raising(&split_block));
  module.def("opcode", raising(&opcode));
  module.def("parent_block", raising(&parent_block));
  module.def("predicate", raising(&predicate));
  module.def("flags", raising(&flags));
  module.def("set_flag", raising(&set_flag));
  module.def("alignment", raising(&alignment));
  module.def("set_alignment", raising(&set_alignment));
  module.def("ordering", raising(&ordering));
  module.def("sync_scope", raising(&sync_scope));
  module.def("accessed_type", raising(&accessed_type));
  module.def("pointer_operand", raising(&pointer_operand));
  nb::class_<InstructionTraits>(module, "InstructionTraits")
      .def_ro("is_terminator", &InstructionTraits::is_terminator)
      .def_ro("is_call", &InstructionTraits::is_call)
      .def_ro("is_memory_access", &InstructionTraits::is_memory_access)
      .def_ro("may_read_memory", &InstructionTraits::may_read_memory)
      .def_ro("may_write_memory", &InstructionTraits::may_write_memory)
      .def_ro("has_side_effects", &InstructionTraits::has_side_effects)
      .def_ro("is_commutative", &InstructionTraits::is_commutative)
      .def_ro("is_associative", &InstructionTraits::is_associative)
      .def_ro("is_cast", &InstructionTraits::is_cast)
      .def_ro("is_binary", &InstructionTraits::is_binary)
      .def_ro("is_atomic", &InstructionTraits::is_atomic)
      .def_ro("is_volatile", &InstructionTraits::is_volatile);
  module.def("traits", raising(&traits));
  module.def("called_function", raising(&called_function));
  module.def("call_arguments", raising(&call_arguments));
  module.def("inline_assembly", raising(&inline_assembly));
  module.def("incoming", raising(&incoming));
  module.def("add_incoming", raising(&add_incoming));
  module.def("remove_incoming", raising(&remove_incoming));
  const auto place = [](bool is_before) { return is_before ? Place::before : Place::after; };
  module.def("move_instruction", [place](const ValueRef& value, bool is_before, const ValueRef& other) {
    check(move_instruction(value, place(is_before), other));
  });
  module.def("copy_instruction", [place](const ValueRef& value, bool is_before, const ValueRef& other) {
    return unwrap(copy_instruction(value, place(is_before), other));
  });
}

void bind_metadata(nb::module_& module) {
  nb::class_<MetadataRef>(module, "MetadataRef")
      .def(
          "__eq__", [](const MetadataRef& a, const MetadataRef& b) { return a == b; }, nb::is_operator(),
          nb::sig("def __eq__(self, arg: object, /) -> bool"))
      .def("__hash__", &MetadataRef::hash);
  module.def("metadata_info", [](const MetadataRef& metadata) {
    MetadataInfo info = unwrap(metadata_info(metadata));
    return std::pair(std::move(info.kind), std::move(info.text));
  });
  module.def("metadata_operands", raising(&metadata_operands));
  module.def("metadata_as_value", raising(&metadata_as_value));
  module.def("attached_metadata", raising(&attached_metadata));
  module.def("set_metadata", raising(&set_metadata), nb::arg(), nb::arg(), nb::arg().none());
  nb::class_<SourceLocation>(module, "SourceLocation")
      .def_ro("line", &SourceLocation::line)
      .def_ro("column", &SourceLocation::column)
      .def_ro("file", &SourceLocation::file)
      .def_ro("directory", &SourceLocation::directory)
      .def_ro("function", &SourceLocation::function);
  module.def("debug_location", raising(&debug_location));
  module.def("debug_location_of_function", raising(&debug_location_of_function));
  module.def("set_debug_location", raising(&set_debug_location));
  module.def("copy_debug_location", raising(&copy_debug_location));
  module.def("remove_debug_location", raising(&remove_debug_location));
}

}  // namespace

void bind_llvm_values(nb::module_& module) {
  bind_types(module);
  bind_value(module);
  bind_globals(module);
  bind_functions(module);
  bind_instructions(module);
  bind_metadata(module);
}

}  // namespace mneme::python
