// One element and the recorded one: how far they are apart, and either as text.
#pragma once

#include <string>

#include "mneme/base/element.h"
#include "mneme/base/types.h"

namespace mneme {

struct ElementError {
  double absolute = 0, relative = 0, ulp = 0;  // as base/element.h says; all infinite where `unfit`
  bool unfit = false;                          // one of the two is a NaN or an infinity, and the other is not the same
};

// Both spans have the size of an element. A NaN fits a recorded NaN (NanPolicy::recorded).
ElementError element_error(ElementType type, ByteSpan actual, ByteSpan recorded);
// An element as text: "0.25", "nan", "-7", "(1, -2)". It has enough digits to tell the values of the type apart.
std::string format_element(ElementType type, ByteSpan element);

}  // namespace mneme
