// What the files of the extension add to it.
#pragma once

#include <nanobind/nanobind.h>

namespace mneme::python {}  // namespace mneme::python
