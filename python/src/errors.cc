#include "errors.h"

#include <string>

namespace mneme::python {

nanobind::object exception_of(const Status& status) {
  const std::string_view code = to_string(status.code());
  const nanobind::object type =
      nanobind::module_::import_("mneme.errors").attr("of_code")(nanobind::str(code.data(), code.size()));
  const std::string& message = status.message();
  return type(nanobind::steal(PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace")));
}

void raise(const Status& status) {
  const nanobind::object exception = exception_of(status);
  PyErr_SetObject(exception.type().ptr(), exception.ptr());
  throw nanobind::python_error();
}

}  // namespace mneme::python
