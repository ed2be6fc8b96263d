// RecordedTime: what a recorded launch took in the program itself (`mneme record --profile`).
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "mneme/base/status.h"

namespace mneme {

class JsonCursor;

// Times are nanoseconds.
struct RecordedTime {
  std::string clock_source;  // as a replay's
  // Of the recorded launch. All memory had been read just before: what it found in the caches is not what the program left there.
  std::optional<double> captured;
  // Of the kernel's launches with the same shape around which nothing was read: as in the program without recording.
  uint64_t others = 0;
  double others_min = 0, others_median = 0;  // zero where there were none

  // What a replay's time is compared with: the median of the others; where there were none, the captured launch's.
  double reference() const { return others != 0 ? others_median : captured.value_or(0); }
  friend bool operator==(const RecordedTime&, const RecordedTime&) = default;
};

nlohmann::json to_json(const RecordedTime& time);
// corrupt, naming the key, for a wrong type or a time that cannot be.
Status read_recorded_time(const JsonCursor& at, RecordedTime& out);

}  // namespace mneme
