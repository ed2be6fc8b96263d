#include "mneme/cli/profile_text.h"

#include <algorithm>

#include "mneme/base/shown.h"
#include "mneme/cli/recording_view.h"
#include "mneme/measure/time_statistics.h"

namespace mneme::cli {
namespace {

using Rows = std::vector<std::vector<std::string>>;

constexpr size_t kMostShapes = 4;  // of one kernel
constexpr char kUnknown[] = "-";

std::string time_of(const TimedLaunches& launches, double time) {
  return launches.timed == 0 ? kUnknown : format_time(Nanoseconds(time));
}

std::string name_of(const KernelProfile& kernel) {
  if (kernel.name.empty()) return "(made at run time)";
  return kernel.demangled.empty() ? kernel.name : kernel.demangled;
}

// But for the first launch, which loads code.
bool is_estimated(const KernelProfile& kernel) {
  const TimedLaunches launches = kernel.launches();
  return launches.timed != 0 && launches.launches > launches.timed + 1;
}

// Each refers to a line below the table.
std::string notes_of(const KernelProfile& kernel) {
  std::string notes = kernel.static_hash ? "" : " [1]";
  if (kernel.launches().timed == 0 && kernel.first) notes += " [2]";
  if (is_estimated(kernel)) notes += " [3]";
  return notes;
}

void append_row(const KernelProfile& kernel, double whole, Rows& rows) {
  const TimedLaunches launches = kernel.launches();
  const bool is_known = launches.timed != 0 || kernel.first;
  rows.push_back({(is_known ? format_time(Nanoseconds(kernel.total())) : kUnknown) + notes_of(kernel),
                  fmt::format("{:.1f} %", whole > 0 ? 100 * kernel.total() / whole : 0), fmt::format("{}", launches.launches),
                  time_of(launches, launches.mean), time_of(launches, launches.min), time_of(launches, launches.max),
                  name_of(kernel)});
}

void append_shapes(const KernelProfile& kernel, Rows& rows) {
  for (size_t i = 0; i < kernel.shapes.size(); ++i) {
    const auto& [shape, launches] = kernel.shapes[i];
    if (i == kMostShapes) {
      rows.push_back(
          {"...", "", "", "", fmt::format("{} of {}", plural(kernel.shapes.size() - i, "more shape"), name_of(kernel))});
      break;
    }
    rows.push_back({fmt::format("{}", launches.launches), fmt::format("{}", shape.grid), fmt::format("{}", shape.block),
                    time_of(launches, launches.mean), name_of(kernel)});
  }
}

// Why launches that the recorders saw are not in the profile.
std::string missing_text(const LaunchProfile& profile, const RecordingReport& report) {
  uint64_t told = 0;
  for (const KernelProfile& kernel : profile.kernels) told += kernel.launches().launches;
  const uint64_t launches = report.launches;
  const uint64_t into_graphs = report.not_recorded[static_cast<size_t>(NotRecorded::stream_capture)].launches;
  std::string text;
  if (const uint64_t untimed = report.untimed; untimed != 0)
    text += fmt::format("not timed: {}: made by a graph, counted with the mean of those that were\n", plural(untimed, "launch"));
  if (into_graphs != 0) text += fmt::format("not profiled: {}: launched into a graph\n", plural(into_graphs, "launch"));
  if (launches > told + into_graphs)
    text += fmt::format("not profiled: {}: failed, or made just before a process was killed or left by _exit()\n",
                        plural(launches - told - into_graphs, "launch"));
  if (const std::string failure = report.failure.get(); !failure.empty())
    text += fmt::format("profiling ended early: {}\n", shown(failure, 0));
  return text;
}

}  // namespace

std::string profile_text(const LaunchProfile& profile, const RecordingReport& report, size_t top, Front front) {
  if (report.recorders == 0 && front == Front::driver) return "profiled nothing: nothing that ran has called the CUDA driver\n";
  if (report.recorders == 0)
    return "profiled nothing: no program that was built for Mneme ran (build with `mneme config cxxflags` and `mneme config "
           "ldflags`)\n";
  if (report.launches == 0) return "profiled nothing: the program launched no kernel\n";
  if (profile.kernels.empty()) return missing_text(profile, report);
  Rows kernels{{"TIME", "PART", "LAUNCHES", "MEAN", "MIN", "MAX", "KERNEL"}},
      shapes{{"LAUNCHES", "GRID", "BLOCK", "MEAN", "KERNEL"}};
  const double whole = profile.total();
  bool unrecordable = false, first_only = false, estimated = false;
  TimedLaunches all;
  for (const KernelProfile& kernel : profile.kernels) all.add(kernel.launches());
  for (size_t i = 0; i < std::min(top, profile.kernels.size()); ++i) {
    const KernelProfile& kernel = profile.kernels[i];
    append_row(kernel, whole, kernels);
    append_shapes(kernel, shapes);
    unrecordable |= !kernel.static_hash;
    first_only |= notes_of(kernel).ends_with("[2]");
    estimated |= is_estimated(kernel);
  }
  std::string text = format_table(kernels);
  if (unrecordable) text += "[1] cannot be recorded: it was not built with the plugin, or is made at run time\n";
  if (first_only) text += "[2] its only launch, with the loading of its code\n";
  if (estimated) text += "[3] estimated in part: launches without a time count with the mean of those that have one\n";
  if (profile.kernels.size() > top)
    text += fmt::format("and {} that {} less (--top)\n", plural(profile.kernels.size() - top, "kernel"),
                        profile.kernels.size() - top == 1 ? "takes" : "take");
  text += "\n" + format_table(shapes) + "\n";
  text += fmt::format("{} of {} in {}, by {} on {}\n", plural(all.launches, "launch"), plural(profile.kernels.size(), "kernel"),
                      format_time(Nanoseconds(whole)), shown(profile.clock_source), shown(profile.device_name));
  return text + missing_text(profile, report);
}

}  // namespace mneme::cli
