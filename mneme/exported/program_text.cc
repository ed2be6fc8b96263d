#include "mneme/base/shown.h"
#include "mneme/exported/program.h"
#include "mneme/measure/time_statistics.h"

namespace mneme {
namespace {

std::string describe_difference(const RangeDifference& difference) {
  const std::string what = difference.range.type ? std::string(to_string(difference.type)) + " elements" : "bytes";
  std::string text =
      fmt::format("{}: {} of {} {} differ", shown(difference.range.where), difference.differing, difference.elements, what);
  if (difference.wrong() != 0)
    text += fmt::format("; the first is element {}: {} was recorded, and {} is there", difference.first.index,
                        difference.first.recorded, difference.first.actual);
  return text;
}

std::string describe_tolerance(const Mismatch& mismatch) {
  return mismatch.tolerance ? fmt::format("{} is not within its tolerance", shown(mismatch.where)) : shown(mismatch.where);
}

std::string describe_times(const Measurement& measurement) {
  const TimeStatistics times = statistics_of(measurement.times);
  std::string text = fmt::format("time: {} (median of {} launches, {} at least), by {}\n", format_time(times.median), times.count,
                                 format_time(times.min), measurement.clock.source);
  if (measurement.clocks)
    for (const std::string& problem : describe_problems(*measurement.clocks)) text += problem + "\n";
  return text;
}

}  // namespace

std::string describe_program(const ExportedProgram& program, const std::string& device) {
  const ProgramDescription& d = program.description();
  std::string text = fmt::format("{} on {}\n", shown(program.kernel().demangled), shown(device));
  text += fmt::format("launch: grid {}, block {}, {} of dynamic shared memory{}\n", d.shape.grid, d.shape.block,
                      d.shape.dynamic_shared_memory, d.shape.cooperative ? ", cooperative" : "");
  text += fmt::format("code: {} for {} by {}, made by Mneme {}\n", shown(d.pipeline), shown(d.architecture), shown(d.assembler),
                      shown(d.mneme_version));
  text += d.kept.empty()
              ? fmt::format("memory: {}; {} more that the kernel neither reads nor writes are left out\n", d.memory, d.left_out)
              : fmt::format("memory: {}; nothing is left out: {}\n", d.memory, shown(d.kept, 0));
  if (d.masked != Bytes())
    text += fmt::format("masked: {} that the kernel writes and does not read hold wrong values before the launch\n", d.masked);
  else if (!d.unmasked.empty())
    text += fmt::format("masked: nothing, as {}: output that is right without being written is not found out\n",
                        shown(d.unmasked, 0));
  return text;
}

std::string describe_run(const ProgramRun& run) {
  if (run.verified()) {
    std::string text = run.verification.exact ? "verified: memory is as recorded after the launch\n"
                                              : "verified: memory is as recorded after the launch, within the tolerances\n";
    return run.measurement.times.empty() ? text : text + describe_times(run.measurement);
  }
  std::string text = "not verified: memory is not as recorded after the launch\n";
  for (const RangeDifference& difference : run.differences) text += "  " + describe_difference(difference) + "\n";
  for (const Mismatch& mismatch : run.verification.mismatches)
    if (mismatch.outside || mismatch.tolerance || run.differences.empty())
      text += fmt::format("  {}: {} bytes differ\n", describe_tolerance(mismatch), mismatch.differing_bytes);
  return text;
}

}  // namespace mneme
