// What `mneme record` tells the recorder in the application to do. It travels as a JSON object in the environment
// (MNEME_ENV_RECORD).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

inline constexpr uint64_t kDefaultMaxInstances = 4;

struct RecordingOptions {
  std::string database;                              // directory, absolute
  Bytes address_space = Bytes(uint64_t{256} << 30);  // the range to reserve: a multiple of 2 MiB, at most 1 TiB
  std::string kernels;                  // ECMAScript regular expression found in the name, mangled or not; empty: all
  uint64_t skip = 0;                    // launches of each kernel before the first that is recorded
  uint64_t max = kDefaultMaxInstances;  // launches of each kernel that are recorded
  std::optional<Bytes> max_bytes;       // the most that a process may add to the database
  bool profile = false;                 // times the program's own launches
  int report = -1;                      // file descriptor of the RecordingReport, or -1
  friend bool operator==(const RecordingOptions&, const RecordingOptions&) = default;
};

std::string encode_recording_options(const RecordingOptions& options);
// corrupt, with the key: not the JSON of such options. invalid_argument: as check_recording_options().
Result<RecordingOptions> decode_recording_options(std::string_view json);
// Checks the values of options. invalid_argument: a regular expression that does not parse, a range that cannot be, or a path
// that is no UTF-8.
Status check_recording_options(const RecordingOptions& options);

}  // namespace mneme
