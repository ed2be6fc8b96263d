// StoppingRule: when enough has been measured. Knows nothing of devices: it is asked between batches of launches.
#pragma once

#include <span>

#include "mneme/measure/execution.h"

namespace mneme {

class StoppingRule {
 public:
  static constexpr unsigned kLargestBatch = 64;  // launches that are started before their times are taken

  explicit StoppingRule(const Execution& execution) : execution_(execution) {}

  // How many launches to time next, at most kLargestBatch; 0 when what there is suffices. `times` are all so far and `elapsed`
  // is what they took with everything around them.
  unsigned next(std::span<const Nanoseconds> times, Nanoseconds elapsed) const;

 private:
  uint64_t wanted(std::span<const Nanoseconds> times, Nanoseconds elapsed) const;

  Execution execution_;
};

}  // namespace mneme
