#include "llvm.h"

#include "bind.h"

namespace mneme::python {

void bind_llvm(nanobind::module_& module) {
  nanobind::module_ llvm = module.def_submodule("llvm", "What mneme.llvm is made of.");
  bind_llvm_values(llvm);
  bind_llvm_module(llvm);
  bind_llvm_builder(llvm);
  bind_llvm_analysis(llvm);
}

}  // namespace mneme::python
