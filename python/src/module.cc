// The extension of the Python package: each file binds one part of the C++ API.
#include <nanobind/nanobind.h>

#include "bind.h"

NB_MODULE(_native, module) {
  module.attr("__version__") = MNEME_VERSION;
}
