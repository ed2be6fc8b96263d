// mneme._native.llvm: new instructions.
#include "bind.h"
#include "llvm.h"
#include "mneme/ir/builder.h"

namespace mneme::python {
namespace {

namespace nb = nanobind;
using namespace ir;
using Optional = std::optional<ValueRef>;

AccessOptions access(uint64_t alignment, bool is_volatile, const std::string& ordering, const std::string& scope) {
  return {.alignment = alignment, .is_volatile = is_volatile, .order = {.ordering = ordering, .scope = scope}};
}

void bind_memory(nb::class_<Builder>& builder) {
  using Text = const std::string&;
  builder.def("alloca", raising(&Builder::stack_memory), nb::arg(), nb::arg().none(), nb::arg(), nb::arg())
      .def("load",
           [](const Builder& self, const TypeRef& type, const ValueRef& pointer, uint64_t alignment, bool is_volatile,
              Text ordering, Text scope,
              Text name) { return unwrap(self.load(type, pointer, access(alignment, is_volatile, ordering, scope), name)); })
      .def("store",
           [](const Builder& self, const ValueRef& value, const ValueRef& pointer, uint64_t alignment, bool is_volatile,
              Text ordering,
              Text scope) { return unwrap(self.store(value, pointer, access(alignment, is_volatile, ordering, scope))); })
      .def("element_pointer", raising(&Builder::element_pointer))
      .def("atomic_update",
           [](const Builder& self, Text operation, const ValueRef& pointer, const ValueRef& value, uint64_t alignment,
              bool is_volatile, Text ordering, Text scope, Text name) {
             return unwrap(self.atomic_update(operation, pointer, value, access(alignment, is_volatile, ordering, scope), name));
           })
      .def("compare_exchange",
           [](const Builder& self, const ValueRef& pointer, const ValueRef& expected, const ValueRef& replacement,
              uint64_t alignment, bool is_volatile, Text ordering, Text scope, Text failure, Text name) {
             return unwrap(self.compare_exchange(pointer, expected, replacement, access(alignment, is_volatile, ordering, scope),
                                                 failure, name));
           })
      .def("fence", [](const Builder& self, Text ordering, Text scope) {
        return unwrap(self.fence({.ordering = ordering, .scope = scope}));
      });
}

}  // namespace

void bind_llvm_builder(nb::module_& module) {
  nb::class_<Builder> builder(module, "Builder");
  builder.def_static("at_end", raising(&Builder::at_end))
      .def_static("before", raising(&Builder::before))
      .def("binary", raising(&Builder::binary))
      .def("negate", raising(&Builder::negate))
      .def("compare", raising(&Builder::compare))
      .def("select", raising(&Builder::select))
      .def("cast", raising(&Builder::cast))
      .def("freeze", raising(&Builder::freeze))
      .def("extract_element", raising(&Builder::extract_element))
      .def("insert_element", raising(&Builder::insert_element))
      .def("shuffle_vector", raising(&Builder::shuffle_vector))
      .def("extract_value", raising(&Builder::extract_value))
      .def("insert_value", raising(&Builder::insert_value))
      .def("phi", raising(&Builder::phi))
      .def("branch", raising(&Builder::branch))
      .def("conditional_branch", raising(&Builder::conditional_branch))
      .def("switch_on", raising(&Builder::switch_on))
      .def("ret", raising(&Builder::ret), nb::arg().none())
      .def("unreachable", raising(&Builder::unreachable))
      .def("call", raising(&Builder::call), nb::arg(), nb::arg(), nb::arg().none(), nb::arg())
      .def("intrinsic", raising(&Builder::intrinsic), nb::arg(), nb::arg(), nb::arg().none(), nb::arg())
      .def("inline_assembly", raising(&Builder::inline_assembly));
  bind_memory(builder);
}

}  // namespace mneme::python
