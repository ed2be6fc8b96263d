// How elements of memory are compared where bytes need not be equal: the types, and what counts as an error.
#pragma once

#include <cstdint>
#include <string_view>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

enum class ElementType {
  f16,
  bf16,
  f8e4m3,  // OCP: no infinities, one NaN of each sign
  f8e5m2,
  f32,
  f64,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  complex64,   // two f32: real, imaginary
  complex128,  // two f64
};

// The error of an element. `relative` is over the recorded value's magnitude: where zero was recorded, any other value is
// infinitely far. `ulp` counts the values of the type between the two (-0 and +0 are one). A complex number's magnitude is its
// modulus, and its ulp the larger of its parts'; an integer's ulp is its absolute error.
enum class ErrorKind { absolute, relative, ulp };

// none: each element by itself. Else the norm of all differences, relative: over the norm of the recorded values.
enum class Norm { none, l1, l2, linf };

// recorded: where a NaN was recorded there must be one, and nowhere else. any: an element in which either is a NaN is left out.
// none: a NaN fails, also where one was recorded.
enum class NanPolicy { recorded, any, none };

std::string_view to_string(ElementType type);  // "f32"
std::string_view to_string(ErrorKind kind);    // "relative"
std::string_view to_string(Norm norm);         // "L2"
std::string_view to_string(NanPolicy policy);  // "recorded"

// invalid_argument, with all names, for another one.
Result<ElementType> parse_element_type(std::string_view text);

Bytes size_of(ElementType type);
bool is_integer(ElementType type);

}  // namespace mneme
