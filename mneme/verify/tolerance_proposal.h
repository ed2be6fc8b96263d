// ToleranceProposal: the tolerance to propose for a buffer that a kernel does not leave the same each time. One is proposed only
// where the differences are small enough to be rounding; a kernel that is wrong must not be made right by a wide tolerance.
//
// How large an error may be, as a part of the recorded value:
//   - a hundredth, where at most half of the elements differ;
//   - 1024 units in the last place, where more of them differ (1e-4 for f32, 2e-13 for f64), but not more than a hundredth;
//   - one unit in the last place in any case, which for the 8-bit types is more than a hundredth.
// An absolute tolerance is for buffers in which some values are near zero. It is at most 1024 units in the last place (within the
// same bounds) of a typical recorded value. Whole numbers are not rounded: for them an absolute tolerance of at most a hundredth
// of a typical value is proposed, and none where more than half of them differ.
#pragma once

#include <optional>
#include <string>

#include "mneme/memory/run_memory.h"
#include "mneme/snapshot/tolerance.h"
#include "mneme/verify/typed_ranges.h"

namespace mneme {

// The errors of one buffer, each the largest that any element had in any run.
struct ErrorsSeen {
  double absolute = 0, relative = 0, ulp = 0;  // infinite: an element has no such error, as relative to a zero
  uint64_t elements = 0, differing = 0;        // differing: in the run in which most do; a NaN that was not recorded differs
};

struct ToleranceProposal {
  // The smallest threshold that accepts every error: in ulp where that is at most 1024, else relative, else absolute. A relative
  // or absolute threshold is rounded up to two digits.
  std::optional<Tolerance> tolerance;
  std::string none_because;  // why none is proposed, as the rest of a sentence; empty where one is
};

// Proposes a tolerance with the policy `nan`, under which `errors` were measured. Under NanPolicy::any none is proposed where
// more than half of the elements differ. `typical` is what typical_magnitude() returns.
ToleranceProposal propose_tolerance(ElementType type, NanPolicy nan, const ErrorsSeen& errors, double typical);

// A power of two that at least half of the recorded elements reach in magnitude; zeros, infinities and NaNs are left out. 0 where
// there are no others. Of a large range it takes a sample: less than about two million elements, evenly spread. `range` must
// have a type.
Result<double> typical_magnitude(const RunMemory& memory, const TypedRange& range);

}  // namespace mneme
