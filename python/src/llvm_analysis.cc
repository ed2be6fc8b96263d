// mneme._native.llvm: what LLVM knows about functions.
#include <nanobind/stl/map.h>

#include "bind.h"
#include "llvm.h"
#include "mneme/ir/analysis.h"

namespace mneme::python {

namespace nb = nanobind;

void bind_llvm_analysis(nb::module_& module) {
  using ir::Loop;
  nb::class_<Loop>(module, "Loop")
      .def_ro("header", &Loop::header)
      .def_ro("blocks", &Loop::blocks)
      .def_ro("latches", &Loop::latches)
      .def_ro("exits", &Loop::exits)
      .def_ro("preheader", &Loop::preheader)
      .def_ro("depth", &Loop::depth)
      .def_ro("parent", &Loop::parent)
      .def_ro("trip_count", &Loop::trip_count)
      .def_ro("induction", &Loop::induction);
  module.def("loops", raising(&ir::loops));
  module.def("dominators", [](const ir::ValueRef& function, bool from_exit) {
    std::vector<std::pair<ir::ValueRef, std::optional<ir::ValueRef>>> all;
    for (ir::DominatorNode& node :
         unwrap(ir::dominators(function, from_exit ? ir::Direction::from_exit : ir::Direction::from_entry)))
      all.emplace_back(std::move(node.block), std::move(node.immediate));
    return all;
  });
  module.def("call_graph", [](const ir::ModuleRef& ref) {
    std::vector<std::pair<std::pair<ir::ValueRef, std::optional<ir::ValueRef>>, uint64_t>> all;
    for (ir::CallEdge& edge : unwrap(ir::call_graph(ref)))
      all.emplace_back(std::pair(std::move(edge.caller), std::move(edge.callee)), edge.calls);
    return all;
  });
  module.def("opcode_counts", raising(&ir::opcode_counts));
  module.def("feature_names", &ir::feature_names);
  module.def("features", raising(&ir::features));
}

}  // namespace mneme::python
