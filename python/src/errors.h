// Statuses of the C++ API as the package's exceptions (python/mneme/errors.py).
#pragma once

#include <nanobind/nanobind.h>

#include <utility>

#include "mneme/base/status.h"

namespace mneme::python {

// What raise() raises.
nanobind::object exception_of(const Status& status);

// Raises what `status` says. The caller holds the interpreter's lock.
[[noreturn]] void raise(const Status& status);

inline void check(const Status& status) {
  if (!status.ok()) raise(status);
}

template <typename T>
T unwrap(Result<T> result) {
  check(result.status());
  return std::move(result).value();
}

}  // namespace mneme::python
