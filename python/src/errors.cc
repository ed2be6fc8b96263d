#include "errors.h"

#include <string>

namespace mneme::python {

void raise(const Status& status) {
  const std::string_view code = to_string(status.code());
  const nanobind::object type =
      nanobind::module_::import_("mneme.errors").attr("of_code")(nanobind::str(code.data(), code.size()));
  PyErr_SetString(type.ptr(), status.message().c_str());
  throw nanobind::python_error();
}

}  // namespace mneme::python
