// The tolerance that is proposed for what a kernel does not leave the same each time, or that none is: rounding has small errors,
// and what is larger must not be talked away.
//
// An error is rounding when it is at most a hundredth of the value; where more than half of the elements differ, at most 1024
// units in the last place of a number of the type (1e-4 for f32, 2e-13 for f64, and never more than a hundredth, or one unit
// where that is more). An absolute tolerance is for values near zero among others, and at most so many units of a typical
// recorded value. Whole numbers are not rounded: where more than half of them differ nothing is proposed, and else at most a
// hundredth of a typical one.
#pragma once

#include <optional>
#include <string>

#include "mneme/memory/run_memory.h"
#include "mneme/snapshot/tolerance.h"
#include "mneme/verify/segments.h"

namespace mneme {

// The largest over all runs; infinite where there is no such error.
struct ErrorsSeen {
  double absolute = 0, relative = 0, ulp = 0;
  uint64_t elements = 0, differing = 0;  // a NaN that was not recorded differs
};

struct ToleranceProposal {
  std::optional<Tolerance> tolerance;  // the smallest that accepts all of it, its threshold rounded up to two digits
  std::string none_because;            // a sentence's rest, where there is none
};

// `typical`: see typical_magnitude().
ToleranceProposal propose_tolerance(ElementType type, NanPolicy nan, const ErrorsSeen& errors, double typical);

// At least half of the recorded elements that are not zero have this magnitude or more; looks at up to a million of them. 0 where
// there are none. `segment` has a type.
Result<double> typical_magnitude(const RunMemory& memory, const Segment& segment);

}  // namespace mneme
