// What the files that bind live LLVM IR share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <span>

#include "errors.h"
#include "mneme/base/types.h"

namespace mneme::python {

void bind_llvm_analysis(nanobind::module_& module);
void bind_llvm_builder(nanobind::module_& module);
void bind_llvm_module(nanobind::module_& module);
void bind_llvm_values(nanobind::module_& module);

template <typename T>
struct IsResult : std::false_type {};
template <typename T>
struct IsResult<Result<T>> : std::true_type {};

template <typename T>
auto unwrapped(T returned) {
  if constexpr (IsResult<T>::value)
    return unwrap(std::move(returned));
  else if constexpr (std::is_same_v<T, Status>)
    check(returned);
  else
    return returned;
}

// A function of the C++ API with exceptions in place of statuses.
template <typename R, typename... Args>
auto raising(R (*function)(Args...)) {
  return [function](Args... args) { return unwrapped(function(std::forward<Args>(args)...)); };
}
template <typename C, typename R, typename... Args>
auto raising(R (C::*function)(Args...)) {
  return [function](C& self, Args... args) { return unwrapped((self.*function)(std::forward<Args>(args)...)); };
}
template <typename C, typename R, typename... Args>
auto raising(R (C::*function)(Args...) const) {
  return [function](const C& self, Args... args) { return unwrapped((self.*function)(std::forward<Args>(args)...)); };
}

inline ByteSpan span_of(const nanobind::bytes& bytes) { return {static_cast<const std::byte*>(bytes.data()), bytes.size()}; }
// What LLVM prints need not be UTF-8.
inline nanobind::str text_of(const std::string& text) {
  return nanobind::steal<nanobind::str>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
}
inline nanobind::bytes bytes_of(const ByteVector& bytes) { return nanobind::bytes(bytes.data(), bytes.size()); }

}  // namespace mneme::python
