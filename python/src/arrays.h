// NumPy arrays over memory of the C++ API. NumPy is imported when the first one is made.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <vector>

#include "mneme/device/device.h"

namespace mneme::python {

// Read-only, over memory that `owner` keeps alive.
template <class T, class Owner>
nanobind::ndarray<nanobind::numpy, const T, nanobind::ndim<1>> view_of(const T* data, size_t size, std::shared_ptr<Owner> owner) {
  auto* kept = new std::shared_ptr<Owner>(std::move(owner));
  nanobind::capsule keeps(kept, [](void* pointer) noexcept { delete static_cast<std::shared_ptr<Owner>*>(pointer); });
  return {data, {size}, keeps};
}

// Nanoseconds as float64.
inline nanobind::ndarray<nanobind::numpy, const double, nanobind::ndim<1>> array_of(const std::vector<Nanoseconds>& times) {
  auto numbers = std::make_shared<std::vector<double>>();
  for (Nanoseconds time : times) numbers->push_back(time.count());
  const double* data = numbers->data();
  return view_of(data, numbers->size(), numbers);
}

}  // namespace mneme::python
