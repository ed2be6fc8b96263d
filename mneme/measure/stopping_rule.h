// StoppingRule: decides when enough has been measured. It is asked between batches of launches, and knows nothing of devices.
#pragma once

#include <span>

#include "mneme/measure/execution.h"

namespace mneme {

class StoppingRule {
 public:
  static constexpr unsigned kLargestBatch = 64;  // launches that are started before their times are taken

  explicit StoppingRule(const Execution& execution) : execution_(execution) {}

  // How many launches to time next, at most kLargestBatch; 0 when the times so far are enough. `times` are all times so far;
  // `elapsed` is the time since the first of these launches began, with restoring and everything else between them.
  unsigned next(std::span<const Nanoseconds> times, Nanoseconds elapsed) const;

 private:
  uint64_t wanted(std::span<const Nanoseconds> times, Nanoseconds elapsed) const;

  Execution execution_;
};

}  // namespace mneme
