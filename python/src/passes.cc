// The passes that LLVM has registered.
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <tuple>

#include "bind.h"
#include "mneme/compile/registered_passes.h"

namespace mneme::python {
namespace nb = nanobind;

void bind_passes(nb::module_& module) {
  module.def(
      "registered_passes",
      [] {
        std::vector<std::tuple<std::string, std::string, std::vector<std::string>>> all;
        for (RegisteredPass& pass : registered_passes())
          all.emplace_back(to_string(pass.level), std::move(pass.name), std::move(pass.parameters));
        return all;
      },
      "Every pass of LLVM's but those that leave files: ('module', 'cgscc', 'function' or 'loop', name, parameters).");
}

}  // namespace mneme::python
