// mneme diff: where and by how much the memory that a configuration leaves differs from the recorded one.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "mneme/base/output_file.h"
#include "mneme/base/shown.h"
#include "mneme/cli/difference_picture.h"
#include "mneme/cli/diverted_output.h"
#include "mneme/cli/options/command.h"
#include "mneme/cli/options/configuration_options.h"
#include "mneme/cli/options/guarded.h"
#include "mneme/cli/options/recorded_session.h"
#include "mneme/cli/output.h"

namespace mneme::cli {
namespace {

constexpr int kExitEqual = 0;
constexpr int kExitDiffers = 1;

std::string line(const std::string& name, const ElementSample& s) {
  return fmt::format("  {:<15} {:>12} {:>24} {:>24} {:>11.4g} {:>11.4g} {:>11.6g}\n", name, s.index, s.recorded, s.actual,
                     s.error.absolute, s.error.relative, s.error.ulp);
}

std::string histogram(const RangeDifference& d) {
  std::vector<std::pair<std::string, uint64_t>> rows;
  for (const auto& [decade, count] : d.decades) rows.emplace_back(fmt::format("1e{} to 1e{}", decade, decade + 1), count);
  if (d.from_zero != 0) rows.emplace_back("zero recorded", d.from_zero);
  if (d.unfit != 0) rows.emplace_back("NaN, infinity", d.unfit);
  if (d.not_written != 0) rows.emplace_back("not written", d.not_written);
  const uint64_t rest = d.wrong() - d.unfit - d.from_zero;
  uint64_t told = 0, most = 1;
  for (const auto& [decade, count] : d.decades) told += count;
  if (rest > told) rows.emplace_back("no error (-0, NaN)", rest - told);
  for (const auto& [name, count] : rows) most = std::max(most, count);
  std::string text = fmt::format("  {:<20} {:>12}\n", "relative error", "elements");
  for (const auto& [name, count] : rows)
    text += fmt::format("  {:<20} {:>12} {:#<{}}\n", name, count, "", std::max<uint64_t>(1, count * 40 / most));
  return text;
}

std::string table(const RangeDifference& d) {
  std::string text = fmt::format("{} at {}, {} {}: {} differ\n", shown(d.range.where), d.address, d.elements,
                                 d.range.type ? std::string(to_string(d.type)) : "bytes", d.differing);
  if (d.not_written != 0)
    text += fmt::format("  {} elements were not written by this configuration, the first at index {}\n", d.not_written,
                        d.first_not_written.value_or(0));
  if (d.wrong() == 0) return text + histogram(d);
  text += fmt::format("  {:<15} {:>12} {:>24} {:>24} {:>11} {:>11} {:>11}\n", "", "index", "recorded", "actual", "absolute",
                      "relative", "ulp");
  text += line("first", d.first) + line("worst absolute", d.worst_absolute) + line("worst relative", d.worst_relative) +
          line("worst ulp", d.worst_ulp);
  return text + histogram(d);
}

struct Found {
  ReplayResult result;
  std::vector<RangeDifference> differences;
  std::string remark;  // why the elements of some have no type; empty where nothing is to be said
};

std::string tables(const Found& found) {
  std::string text;
  for (const RangeDifference& difference : found.differences) text += table(difference) + "\n";
  const bool not_written = std::any_of(found.differences.begin(), found.differences.end(),
                                       [](const RangeDifference& difference) { return difference.not_written != 0; });
  if (not_written)
    for (const FewerThreads& f : found.result.fewer_threads)
      text += fmt::format("{} of {} threads in {} ran: --keep-threads keeps them\n", f.threads, f.recorded, f.axis);
  for (const Mismatch& mismatch : found.result.mismatches)
    if (mismatch.outside) text += fmt::format("{}: {} B were written\n", shown(mismatch.where), mismatch.differing_bytes);
  if (!found.remark.empty()) text += found.remark + "\n";
  return text.empty() ? "no byte differs\n" : text;
}

std::string json(const Found& found) {
  nlohmann::json buffers = nlohmann::json::array();
  for (const RangeDifference& difference : found.differences) buffers.push_back(to_json(difference));
  return to_text({{"buffers", buffers}, {"result", to_json(found.result)}});
}

class DiffCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    recorded_.declare(app, configuration_);
    app.add_flag("--json", json_, "the differences as JSON");
    app.add_option("--png", picture_, "write a picture of where memory differs");
    configuration_.declare(app, ConfigurationUse::one_run);
    guard_.declare(app);
    app.footer(
        "Runs the configuration once. A buffer's type is that of --dtype, of its tolerance, or that by which the recorded code "
        "accesses it; where none is known it is compared by bytes.\n"
        "Exit status: 0 no byte differs, 1 some do, 2 the launch could not be replayed, 64 the command line is wrong.");
  }

  int run() override {
    if (!picture_.empty())
      if (Status status = check_output_file(picture_); !status.ok()) return report(status);
    return guard_.run(
        [&]() -> Outcome {
          auto outcome = compare();
          return outcome.ok() ? std::move(*outcome) : Outcome{"", report(outcome.status())};
        },
        [](const Status&) { return Outcome{"", kExitCannotRun}; });
  }

 private:
  Result<Outcome> compare() {
    MNEME_ASSIGN(Found found, find());
    if (guard_.lost_to_mask(found.result)) return Outcome{};
    MNEME_TRY(found.result.failure);
    if (!picture_.empty() && !found.differences.empty()) MNEME_TRY(write_picture(found.differences, picture_));
    bool outside = std::any_of(found.result.mismatches.begin(), found.result.mismatches.end(),
                               [](const Mismatch& mismatch) { return mismatch.outside; });
    return Outcome{json_ ? json(found) : tables(found), found.differences.empty() && !outside ? kExitEqual : kExitDiffers};
  }

  Result<Found> find() {
    DivertedOutput diverted;
    MNEME_ASSIGN(Configuration configuration, configuration_.configuration());
    MNEME_ASSIGN(auto recorded, RecordedSession::open(recorded_, configuration, guard_.no_mask()));
    Found found;
    found.result =
        recorded->session().repeat(configuration, 1, [&](unsigned, const ReplayResult&, const RunMemory& memory) -> Status {
          MNEME_ASSIGN(found.differences, find_differences(memory, recorded->ranges()));
          return {};
        });
    const bool untyped = std::any_of(found.differences.begin(), found.differences.end(),
                                     [](const RangeDifference& difference) { return !difference.range.type; });
    if (untyped && !recorded->session().has_ir())
      found.remark = "no IR: how the kernel accesses its memory is not known, and elements are bytes: --dtype says what they are";
    return found;
  }

  RecordedSessionOptions recorded_;
  bool json_ = false;
  std::string picture_;
  ConfigurationOptions configuration_;
  Guard guard_;
};

const Registration registration({.name = "diff",
                                 .summary = "where a configuration's memory differs from the recorded one",
                                 .examples = {{"mneme diff db add --fast-math fast",
                                               "what do fast-math flags change in the result?"},
                                              {"mneme diff db add --block-dim-x 128 --keep-threads --png difference.png",
                                               "and as a picture, where anything differs"}}},
                                [] { return std::make_unique<DiffCommand>(); });

}  // namespace
}  // namespace mneme::cli
