// Verification: whether memory is what was recorded, by bytes and by tolerances.
#pragma once

#include <vector>

#include "mneme/base/status.h"
#include "mneme/replay/buffers.h"
#include "mneme/replay/result.h"
#include "mneme/replay/run_memory.h"

namespace mneme {

struct Verification {
  std::vector<Mismatch> mismatches;
  std::vector<ToleranceVerdict> tolerances;  // one for every range
  bool exact = true;                         // no byte differs, also none that may
  bool right() const { return mismatches.empty(); }
};

// What is known before memory is looked at.
enum class Known { nothing, equal };

// `tolerances` as resolve_tolerances() gives them. Bytes decide first: where none differs nothing else is looked at, but for
// tolerances that allow no recorded NaN.
Result<Verification> verify_memory(const RunMemory& memory, const std::vector<ToleratedRange>& tolerances,
                                   Known known = Known::nothing);

}  // namespace mneme
