// What `mneme record`, `ls` and `show` say about recordings, as text for people and as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/shown.h"
#include "mneme/cli/application.h"
#include "mneme/snapshot/codec.h"
#include "mneme/snapshot/recording_options.h"
#include "mneme/snapshot/recording_report.h"
#include "mneme/store/database.h"

namespace mneme::cli {

// What `mneme record` says at its end, in lines: what was recorded where and how large it is; then a line for each reason why
// launches were not recorded; then why recording ended early, if it did. `front` is what was
// to be recorded.
std::vector<std::string> recording_summary(const RecordingReport& report, const RecordingOptions& options,
                                           Front front = Front::linked);

// The same for programs: launches that were seen, recorded or recorded before, the kernels of these, bytes, the launches that
// were not recorded by reason, and why recording ended early, null if it did not. Sizes are in bytes.
nlohmann::json to_json(const RecordingReport& report, const RecordingOptions& options);

// "12 pages dropped, 768.0 KiB of memory that the launch does not touch; recorded as 5f0c…"
std::string format_trimming(const Trimming& trimming);
// A count with its noun in the singular or plural: "1 launch", "2 launches".
std::string plural(uint64_t count, std::string_view what);

// A table as text: columns are aligned, with two spaces between them, and the last one is not padded. Cells are escaped by
// shown(), and cut to at most `most` characters (0: not cut).
std::string format_table(std::vector<std::vector<std::string>> rows, size_t most = kShownLength);

// The value of an argument, by its kind and size: "0x7a0000000000", "-3", "2.5", or its bytes. `parameters` are the recorded ones
// of the launch; "?" where the argument lies outside of them.
std::string format_argument(const Parameter& parameter, ByteSpan parameters);

// "forces: f32, 1e-05, relative (4.00 KiB at 0x7a0000000000)"; without the tag where there is none.
std::string format_annotation(const Annotation& annotation);

// "12.34 us, the median of 17 launches that were not recorded; 15.20 us when recorded (cupti_activity)".
std::string format_recorded_time(const RecordedTime& time);

// "12 launches of this shape in the program, 1.20 ms in all"; without the time where there is none.
std::string format_shape_launches(const ShapeLaunches& launches);

// How long a kernel took in the program, as far as launches of its recorded shapes were timed there.
struct TimeInProgram {
  uint64_t launches = 0;   // how many were timed, those recorded included
  double nanoseconds = 0;  // how long they took together; launches that were not recorded count with their median each
};
// Nothing where no time was recorded. Several instances of one shape have the same other launches, which count once.
std::optional<TimeInProgram> time_in_program(const KernelDocument& document);
// A table of the kernels that have a time in the program, the longest first, each with its share of the whole. Empty where none
// has.
std::string format_times_in_program(const std::vector<KernelDocument>& kernels);

// What a launch did to the memory that it saw.
struct MemoryView {
  uint64_t allocations = 0, globals = 0;
  uint64_t host = 0, mapped = 0, managed = 0;  // pieces of memory of these kinds
  uint64_t arrays = 0;
  uint64_t pages = 0, changed_pages = 0;
};
MemoryView view_memory(const MemoryState& prologue, const MemoryState& epilogue);

// "texture 0x5 of an array of 4 x 4 x 6 texels of 4 B", "surface 0x6 of level 1 of an array of …", "texture 0x7 of 16 B at
// 0x7a…".
std::string format_texture(const TextureObject& object, const TextureSet& textures);
nlohmann::json to_json(const TextureObject& object, const TextureSet& textures);

// An image of a kernel's own code: "cubin, sm_90, 4.67 KiB (Image_7c06….cubin)".
std::string format_image(const CodeImageRecord& image, const KernelRecord& kernel);

// As `mneme ls` and `mneme show` print a kernel, and an instance of it.
nlohmann::json to_json(const KernelRecord& kernel);
// `size` is left out where it is not known.
nlohmann::json to_json(const KernelRecord& kernel, const InstanceRecord& instance, const std::optional<InstanceSize>& size);

}  // namespace mneme::cli
