// What `mneme sweep` says: the line while it runs, the table at its end, and the same as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "mneme/pool/pool.h"
#include "mneme/sweep/plan.h"
#include "mneme/sweep/tally.h"

namespace mneme::cli {

// How fast the run was: from the moment at which every device was ready to its last result.
struct SweepRate {
  double seconds = 0;         // from then on; 0 where nothing was measured
  double seconds_before = 0;  // from opening the pool until then
  size_t devices = 1;
  unsigned compile_workers = 1;
  PoolProgress start, now;  // the pool's progress at the beginning of `seconds`, and at its end

  double per_second(uint64_t count) const { return seconds > 0 ? static_cast<double>(count) / seconds : 0; }
  // The part of that time, 0 to 1, in which devices, or compile workers, had something to do.
  double device_busy() const;
  double compile_busy() const;
};

// "42 ms", "40 s", "12 min", "3 h 5 min"
std::string format_duration(double seconds);
// A point of the grid: "block.x=64 passes=default<O1>". Each value is on one line, and cut to `most` characters where that is not
// 0.
std::string format_point(const std::vector<GridAxis>& axes, const std::vector<nlohmann::json>& values, size_t most = 0);

// "120 of 400, 8 failed (5 wrong_result, 3 invalid_launch), best 9.12 us (1.34 x), 104/s, device 97 % busy, 3 s left"
std::string sweep_line(uint64_t total, const SweepTally& tally, const SweepRate& rate);
// Several lines: the fastest configurations, the counts, the baseline, and each kind of failure with an example.
std::string sweep_table(const SweepPlan& plan, uint64_t total, const SweepTally& tally, const SweepRate& rate);
nlohmann::json sweep_json(const SweepPlan& plan, uint64_t total, const SweepTally& tally, const SweepRate& rate);
// The content of best.json: the fastest configuration, as `mneme replay --config` takes it, with the result that it had here.
// There must be one.
nlohmann::json best_json(const SweepTally& tally);

}  // namespace mneme::cli
