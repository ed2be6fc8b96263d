// SweepTally: what the results of a sweep come to so far: the fastest, the failures by kind, and how much was done for them.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/pool/pool_result.h"

namespace mneme {

// The labels of the baseline's results: it is measured when a run begins, and when it ends.
inline constexpr std::string_view kBaselineAtBegin = "baseline at the begin", kBaselineAtEnd = "baseline at the end";

// The median of the timed runs; nothing where the configuration failed, or was not timed.
std::optional<Nanoseconds> median_time(const PoolResult& result);

// By what configurations are ranked: by their times, or where nothing is run by their code: the fewest instructions, and of as
// many the fewest registers and the smallest object.
enum class Ranking { time, code };

class SweepTally {
 public:
  // A configuration that was right, and was measured. Configurations that share its measurement have no row of their own.
  struct Row {
    PoolResult result;
    std::vector<nlohmann::json> values;  // of the grid's axes
    Nanoseconds time{};
  };
  struct FailureKind {
    uint64_t count = 0;
    std::vector<nlohmann::json> values;  // of the first configuration that failed so
    std::string reason;                  // why that one failed
  };
  struct Counts {
    uint64_t done = 0, right = 0, failed = 0;
    uint64_t measured = 0;                 // right, and measured for themselves in this run: observations
    uint64_t shared = 0, resumed = 0;      // by Origin, right or not
    uint64_t launches = 0;                 // of the measured: verified, warm-up and timed runs
    Nanoseconds kernel_time{};             // of those launches, each taken to be as long as the median
    std::map<std::string, double> stages;  // nanoseconds by stage, of all that was not shared or resumed
  };

  // Keeps the `rows` fastest configurations.
  explicit SweepTally(size_t rows, Ranking ranking = Ranking::time) : most_rows_(rows), ranking_(ranking) {}

  void add(PoolResult result, std::vector<nlohmann::json> values);
  void add_baseline(const PoolResult& result);

  const Counts& counts() const { return counts_; }
  Ranking ranking() const { return ranking_; }
  // The best, by the ranking; under Ranking::code `time` says nothing.
  const std::vector<Row>& fastest() const { return fastest_; }
  const std::map<Failure, FailureKind>& failures() const { return failures_; }
  // How many other configurations share this one's measurement.
  uint64_t alike(const Row& row) const;

  // The median time of each right measurement of the baseline.
  const std::vector<Nanoseconds>& baseline_times() const { return baselines_; }
  // Whether these are two, one from the beginning of a run and one from its end.
  bool baseline_at_begin_and_end() const;
  // The median of these; nothing where there is none. baseline_problem() then says why, if the baseline failed.
  std::optional<Nanoseconds> baseline() const;
  const std::string& baseline_problem() const { return baseline_problem_; }
  // The result of the baseline under Ranking::code, where it has code.
  const std::optional<ReplayResult>& baseline_code() const { return baseline_code_; }
  // baseline() divided by the row's time; nothing where there is no baseline.
  std::optional<double> speed_up(const Row& row) const;

 private:
  void count_work(const PoolResult& result);
  void rank(Row row);

  bool is_before(const Row& a, const Row& b) const;

  size_t most_rows_;
  Ranking ranking_;
  Counts counts_;
  std::vector<Row> fastest_;
  std::map<Failure, FailureKind> failures_;
  std::map<Digest, uint64_t> alike_;  // by who was measured
  std::vector<Nanoseconds> baselines_;
  std::vector<std::string> baseline_labels_;  // of those
  std::string baseline_problem_;
  std::optional<ReplayResult> baseline_code_;
};

}  // namespace mneme
