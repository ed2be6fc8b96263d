// One element beside the recorded one: its errors, and both as text.
#pragma once

#include <string>

#include "mneme/base/element.h"
#include "mneme/base/types.h"

namespace mneme {

struct ElementError {
  double absolute = 0, relative = 0, ulp = 0;  // infinite where they cannot be told
  bool unfit = false;                          // a NaN or infinity that was not recorded
};

// Both have the size of the element.
ElementError element_error(ElementType type, ByteSpan actual, ByteSpan recorded);
// "0.25", "nan", "-7", "(1, -2)": as many digits as tell the type's values apart.
std::string format_element(ElementType type, ByteSpan element);

}  // namespace mneme
