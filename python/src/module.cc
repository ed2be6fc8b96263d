// The extension of the Python package: each file binds one part of the C++ API.
#include <nanobind/nanobind.h>

#include "bind.h"

NB_MODULE(_native, module) {
  nanobind::set_leak_warnings(false);  // a process that was forked ends with what it was given
  module.attr("version") = MNEME_VERSION;
  mneme::python::bind_text(module);
  mneme::python::bind_config(module);
  mneme::python::bind_database(module);
  mneme::python::bind_result(module);
  mneme::python::bind_session(module);
  mneme::python::bind_pool(module);
  mneme::python::bind_deploy(module);
  mneme::python::bind_trim(module);
  mneme::python::bind_program(module);
  mneme::python::bind_passes(module);
  mneme::python::bind_llvm(module);
}
