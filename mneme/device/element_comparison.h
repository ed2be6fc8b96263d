// Comparing memory element by element, where it need not be equal to the byte. What an error is: base/element.h.
//
// With norm none an element fails when its error is above the threshold. With a norm the sum over all decides, and an element
// fails by itself only where it has a NaN or an infinity that does not fit: those have no size. Infinities fit when they are
// equal; NaNs as the policy says; both stay out of the norms.
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
  bool within = true;     // right, by the threshold and the policy
  uint64_t elements = 0;  // compared
  uint64_t failing = 0;
  std::optional<uint64_t> first_failing;  // index of an element
  double worst = 0;                       // the largest error of an element, failing or not; infinite for what does not fit
  std::optional<uint64_t> worst_index;    // the first element that has it, unless it is 0
  // With a norm: of the differences, and of the recorded values. Summed in double in an order that is fixed for a device.
  double difference_norm = 0, recorded_norm = 0;
};

// For implementations: what a device measures, and the verdict on what it has seen.
element::Measure measure_of(const ElementComparison& how);
ElementDifferences judge(const ElementComparison& how, const element::Measure& measure, const element::Tally& tally,
                         uint64_t elements);
// Another measure when sums of this one went out of a double's range: to be seen again with it, once.
std::optional<element::Measure> rescaled(const element::Measure& measure, const element::Tally& tally);
// Host memory of the same size, a multiple of the element's; the first has the index `index`.
element::Tally tally_host_elements(ElementType type, ByteSpan actual, ByteSpan recorded, uint64_t index,
                                   const element::Measure& measure);

// The comparison of host memory. Both of the same size, a multiple of the element's.
ElementDifferences compare_host_elements(ByteSpan actual, ByteSpan recorded, const ElementComparison& how);

}  // namespace mneme
