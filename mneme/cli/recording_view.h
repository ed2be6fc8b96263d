// What `mneme record`, `ls` and `show` say about recordings, as text for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/shown.h"
#include "mneme/snapshot/codec.h"
#include "mneme/snapshot/recording_options.h"
#include "mneme/snapshot/recording_report.h"
#include "mneme/store/database.h"

namespace mneme::cli {

// The last line of `mneme record`: what was recorded where, how large, and what was not and why.
std::vector<std::string> recording_summary(const RecordingReport& report, const RecordingOptions& options);

// "1 launch", "2 launches".
std::string plural(uint64_t count, std::string_view what);

// Rows of cells with the columns aligned, two spaces between; the last column is not padded. A cell is shown() in at most `most`
// characters.
std::string format_table(std::vector<std::vector<std::string>> rows, size_t most = kShownLength);

// The value of an argument by its kind and size: "0x7a0000000000", "-3", "2.5", or bytes.
std::string format_argument(const Parameter& parameter, ByteSpan parameters);

// "forces: f32, 1e-05, relative (4.00 KiB at 0x7a0000000000)"; without the tag where there is none.
std::string format_annotation(const Annotation& annotation);

// "12.34 us (median of 17 launches), 15.20 us when recorded, by cupti_activity".
std::string format_recorded_time(const RecordedTime& time);

// What a kernel took in the program, as far as its recorded shapes were timed there.
struct TimeInProgram {
  uint64_t launches = 0;   // that were timed, those recorded included
  double nanoseconds = 0;  // of them together: what was captured, and the median of the others for each of those
};
// Nothing where no time was recorded. Launches of one shape count once, however many of them are instances.
std::optional<TimeInProgram> time_in_program(const KernelDocument& document);
// A table of the kernels that have one, the longest first, with their part of all of it; empty where none has.
std::string format_times_in_program(const std::vector<KernelDocument>& kernels);

// What a launch did to the memory that it saw.
struct MemoryView {
  uint64_t allocations = 0, globals = 0;
  uint64_t host = 0;  // pieces of host memory
  uint64_t pages = 0, changed_pages = 0;
};
MemoryView view_memory(const MemoryState& prologue, const MemoryState& epilogue);

nlohmann::json to_json(const KernelRecord& kernel);
// `size` is left out where it is not known.
nlohmann::json to_json(const KernelRecord& kernel, const InstanceRecord& instance, const std::optional<InstanceSize>& size);

}  // namespace mneme::cli
