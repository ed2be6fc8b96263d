// What the files of the extension add to it.
#pragma once

#include <nanobind/nanobind.h>

namespace mneme::python {

void bind_config(nanobind::module_& module);
void bind_database(nanobind::module_& module);
void bind_result(nanobind::module_& module);
void bind_session(nanobind::module_& module);
void bind_pool(nanobind::module_& module);
void bind_deploy(nanobind::module_& module);
void bind_trim(nanobind::module_& module);
void bind_program(nanobind::module_& module);
void bind_passes(nanobind::module_& module);
void bind_llvm(nanobind::module_& module);
void bind_text(nanobind::module_& module);

}  // namespace mneme::python
