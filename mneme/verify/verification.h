// Verification: whether memory is what was recorded, by bytes and by tolerances.
#pragma once

#include <vector>

#include "mneme/base/status.h"
#include "mneme/memory/prepared_memory.h"
#include "mneme/memory/run_memory.h"
#include "mneme/verify/buffers.h"
#include "mneme/verify/mismatch.h"

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

// The verdict on a run whose check was taken and which was the last: what it left is in memory still.
Result<Verification> judge(PreparedMemory& memory, const CheckedRun& run, const SymbolPlaces& symbols,
                           const std::vector<ToleratedRange>& tolerated);

}  // namespace mneme
