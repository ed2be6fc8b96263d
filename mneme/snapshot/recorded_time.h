// RecordedTime: how long a recorded launch took in the program itself (`mneme record --profile`).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "mneme/base/status.h"

namespace mneme {

class JsonCursor;

// Times are in nanoseconds.
struct RecordedTime {
  std::string clock_source;  // the clock, by the same names as in a replay's result
  // The time of the recorded launch itself. All memory was read just before it, so it found other caches than the program had
  // left.
  std::optional<double> captured;
  // The kernel's other launches of the same shape: their number, and their times. No memory was read before them, so they ran as
  // they do without recording.
  uint64_t others = 0;
  double others_min = 0, others_median = 0;  // zero where there were none

  // The time to compare a replay's time with: the median of the others, or that of the captured launch where there were none.
  double reference() const { return others != 0 ? others_median : captured.value_or(0); }
  friend bool operator==(const RecordedTime&, const RecordedTime&) = default;
};

nlohmann::json to_json(const RecordedTime& time);
// corrupt, with the key: a wrong type, or a time that cannot be.
Status read_recorded_time(const JsonCursor& at, RecordedTime& out);

}  // namespace mneme
