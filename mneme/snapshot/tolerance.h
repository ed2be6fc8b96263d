// Tolerance: by how much a piece of memory may differ from what was recorded and still be right. Its text form, in examples:
//
//   f32, 1e-5, relative
//   f64, 1e-12, relative, L2
//   f16, 2, ulp, nan=any
//
// Memory without a tolerance must be equal to the byte.
#pragma once

#include <string>
#include <string_view>

#include "mneme/base/element.h"
#include "mneme/base/status.h"

namespace mneme {

struct Tolerance {
  ElementType type = ElementType::f32;
  double threshold = 0;  // finite and not negative; an error of exactly this is still right
  ErrorKind error = ErrorKind::absolute;
  Norm norm = Norm::none;
  NanPolicy nan = NanPolicy::recorded;  // another policy only for floating-point types
  friend bool operator==(const Tolerance&, const Tolerance&) = default;
};

// A tolerance and the memory it is for, as a user names it: a kernel argument ("out", or its number "2"), a global, a tag of an
// annotation, or an address range ("0x7a0000000000+4096", "0x7a0000000000-0x7a0000001000").
struct BufferTolerance {
  std::string buffer;
  Tolerance tolerance;
  friend bool operator==(const BufferTolerance&, const BufferTolerance&) = default;
};

// Whether the members fit together. invalid_argument: the threshold is not finite or is negative, a norm is given with an error
// in ulp, or a NaN policy with a type of integers.
Status check(const Tolerance& tolerance);

// The text form above. Defaults (no norm, nan=recorded) are left out. Parsing the text gives the same tolerance again.
std::string format_tolerance(const Tolerance& tolerance);
Result<Tolerance> parse_tolerance(std::string_view text);  // invalid_argument: it cannot be read, or check() refuses it

// "BUFFER: TOLERANCE"
std::string format_buffer_tolerance(const BufferTolerance& tolerance);
Result<BufferTolerance> parse_buffer_tolerance(std::string_view text);

}  // namespace mneme
