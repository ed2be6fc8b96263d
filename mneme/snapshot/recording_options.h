// What `mneme record` tells the recorder in the application to do. It travels as a JSON object in the environment
// (MNEME_ENV_RECORD).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/snapshot/memory_extent.h"

namespace mneme {

inline constexpr uint64_t kDefaultMaxInstances = 4;
inline constexpr Bytes kLeastStaging = 16_MiB;
inline constexpr uint64_t kDefaultInFlight = 1;

// In what two launches of a kernel must differ for both to be recorded.
enum class Distinct { shape, arguments, data };  // `arguments`: in shape or arguments; `data`: in these or in memory
std::string_view to_string(Distinct distinct);
// invalid_argument: there is no such word.
Result<Distinct> parse_distinct(std::string_view word);

// Who places the device memory that a program allocates. The recorder does, in a range of its own; or the driver, and it is
// recorded where it lies, so that the program can share it with other processes.
enum class MemoryFrom { recorder, driver };
std::string_view to_string(MemoryFrom from);
// invalid_argument: there is no such word.
Result<MemoryFrom> parse_memory_from(std::string_view word);

// Launches pass through these in the order in which they stand here: each counts only what those before it have left.
struct RecordingOptions {
  std::string database;                              // directory, absolute
  Bytes address_space = Bytes(uint64_t{256} << 30);  // the range to reserve: a multiple of 2 MiB, at most 1 TiB
  std::string kernels;                    // ECMAScript regular expression found in the name, mangled or not; empty: all
  std::string exclude;                    // such an expression: kernels that are not recorded; empty: none
  std::vector<Digest> slowest;            // of the mangled names of the only kernels that are recorded (--slowest); empty: all
  std::string window;                     // see LaunchWindow; empty: all launches
  std::string ranks = "0";                // which processes of a program with several ranks are recorded, see ranks.h
  uint64_t skip = 0;                      // launches of each kernel before the first that is recorded
  uint64_t every = 1;                     // of each kernel's launches the first and each N-th after it are recorded
  uint64_t max = kDefaultMaxInstances;    // launches of each kernel that are recorded
  std::optional<Distinct> distinct;       // leaves out, and does not count, what is the same as a launch recorded by this process
  std::optional<Bytes> max_launch_bytes;  // the most memory that a launch may be recorded with
  std::optional<Bytes> max_bytes;         // the most that a process may add to the database
  std::optional<Bytes> staging;           // the most memory in which captured launches wait to be stored; 0: the program waits
  uint64_t in_flight = kDefaultInFlight;  // the most captured launches that are not written when the program goes on
  MemoryExtent memory_extent = MemoryExtent::reachable;  // what a launch is recorded with
  MemoryFrom memory_from = MemoryFrom::recorder;
  bool profile = false;  // times the program's own launches
  int report = -1;       // file descriptor of the RecordingReport, or -1
  // File descriptor of a ProfileFile, or -1. With one nothing is recorded: all launches are timed, and the profile is left there.
  int profile_file = -1;
  // The process that made these descriptors, by its number; 0: not known. A process whose parent has closed them reaches them
  // there.
  int owner = 0;
  friend bool operator==(const RecordingOptions&, const RecordingOptions&) = default;
};

std::string encode_recording_options(const RecordingOptions& options);
// corrupt, with the key: not the JSON of such options. invalid_argument: as check_recording_options().
Result<RecordingOptions> decode_recording_options(std::string_view json);
// Checks the values of options. invalid_argument: a regular expression or a window that does not parse, a range that cannot
// be, or a path that is no UTF-8.
Status check_recording_options(const RecordingOptions& options);

}  // namespace mneme
