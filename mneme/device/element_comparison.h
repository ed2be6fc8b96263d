// Compares memory element by element, where it need not be equal to the byte. base/element.h says what an error is.
//
// With Norm::none an element fails when its error is above the threshold. With another norm the norm over all elements decides.
// An element then fails by itself only where it has a NaN or an infinity that does not fit the recorded element, since that
// error has no size. An infinity fits an equal infinity; whether a NaN fits is what the NanPolicy says. Those that fit stay out
// of the norm.
#pragma once

#include <optional>

#include "mneme/base/element.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/device/element_math.h"

namespace mneme {

struct ElementComparison {
  ElementType type = ElementType::f32;
  double threshold = 0;
  ErrorKind error = ErrorKind::absolute;
  Norm norm = Norm::none;  // none with ErrorKind::ulp
  NanPolicy nan = NanPolicy::recorded;
};

struct ElementDifferences {
  bool within = true;     // the memory is right, by the threshold, the norm and the policy
  uint64_t elements = 0;  // compared
  uint64_t failing = 0;
  std::optional<uint64_t> first_failing;  // index of an element
  double worst = 0;                       // the largest error of an element, failing or not; infinite for one that does not fit
  std::optional<uint64_t> worst_index;    // the first element that has it, unless it is 0
  // The norm of the differences, and of the recorded values; 0 without a norm. They are summed in double, in an order that is
  // fixed for a device. A norm that is not finite is not within.
  double difference_norm = 0, recorded_norm = 0;
};

// For implementations of Stream: what a device has to measure, and the verdict on what it has seen.
element::Measure measure_of(const ElementComparison& how);
ElementDifferences judge(const ElementComparison& how, const element::Measure& measure, const element::Tally& tally,
                         uint64_t elements);
// Another measure where sums went out of a double's range with this one: the elements are to be seen once more, with that.
// Nothing where the sums are good.
std::optional<element::Measure> rescaled(const element::Measure& measure, const element::Tally& tally);
// Sees the elements of host memory. Both spans have the same size, a multiple of the element's; the first element has the index
// `index`.
element::Tally tally_host_elements(ElementType type, ByteSpan actual, ByteSpan recorded, uint64_t index,
                                   const element::Measure& measure);

// Compares host memory. Both spans have the same size, a multiple of the element's.
ElementDifferences compare_host_elements(ByteSpan actual, ByteSpan recorded, const ElementComparison& how);

}  // namespace mneme
