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
  std::vector<Mismatch> mismatches;          // what is not as recorded, and not within its tolerance either
  std::vector<ToleranceVerdict> tolerances;  // one for each tolerated range, but those in globals that the code no longer has
  bool exact = true;                         // no byte differs, not even one that a tolerance lets differ
  bool right() const { return mismatches.empty(); }
};

// What is known of mapped memory before it is looked at. `equal`: all of it is as recorded, to the byte.
enum class Known { nothing, equal };

// Compares all memory with the recorded memory after the launch. `tolerances` are what resolve_tolerances() returned.
// Bytes are compared first. Where none differs in a piece of mapped memory, elements are looked at only for a tolerance that
// allows no recorded NaN. Failures are the device's.
Result<Verification> verify_memory(const RunMemory& memory, const std::vector<ToleratedRange>& tolerances,
                                   Known known = Known::nothing);

// The verdict on the last run, whose check gave `run`. What the run left must still be in memory: nothing may have been restored
// or launched since. `symbols` and `tolerated` are those of the run. Failures are the device's.
Result<Verification> judge(PreparedMemory& memory, const CheckedRun& run, const SymbolPlaces& symbols,
                           const std::vector<ToleratedRange>& tolerated);

}  // namespace mneme
