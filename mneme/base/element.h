// How elements of memory are compared where their bytes need not be equal: the types of elements, and what counts as an error.
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

// How the error of an element is measured.
//   absolute  the difference from the recorded value
//   relative  the difference divided by the magnitude of the recorded value; infinite where zero was recorded and another value
//             is found
//   ulp       how many representable values of the type the two are apart (-0 and +0 are one); for integers the absolute error
// The magnitude of a complex number is its modulus; its error in ulp is the larger of the errors of its two parts.
enum class ErrorKind { absolute, relative, ulp };

// Whether the threshold bounds the error of each element (none), or a norm of the differences of all elements together. With
// ErrorKind::relative that norm is divided by the same norm of the recorded values.
enum class Norm { none, l1, l2, linf };

// How NaNs are compared.
//   recorded  a NaN must be where one was recorded, and nowhere else
//   any       an element in which either value is a NaN is left out of the comparison
//   none      a NaN fails, even where one was recorded
enum class NanPolicy { recorded, any, none };

std::string_view to_string(ElementType type);  // "f32"
std::string_view to_string(ErrorKind kind);    // "relative"
std::string_view to_string(Norm norm);         // "L2"
std::string_view to_string(NanPolicy policy);  // "recorded"

// The type of that name. invalid_argument: there is none; the message lists all names.
Result<ElementType> parse_element_type(std::string_view text);

Bytes size_of(ElementType type);
bool is_integer(ElementType type);

}  // namespace mneme
