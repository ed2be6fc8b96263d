#include "mneme/sweep/tally.h"

#include <algorithm>
#include <tuple>

#include "mneme/measure/time_statistics.h"

namespace mneme {
namespace {

// Takes place once, whatever is measured afterwards.
constexpr std::string_view kSessionStage = "session";

void add_stages(const ReplayResult& result, std::map<std::string, double>& stages) {
  for (const StageTime& stage : result.times)
    if (stage.stage != kSessionStage) stages[stage.stage] += stage.time.count();
}

}  // namespace

std::optional<Nanoseconds> median_time(const PoolResult& result) {
  const std::vector<Nanoseconds>& times = result.details.together.exec_time;
  if (result.failed() || times.empty()) return std::nullopt;
  return statistics_of(times).median;
}

void SweepTally::add(PoolResult result, std::vector<nlohmann::json> values) {
  ++counts_.done;
  ++(result.failed() ? counts_.failed : counts_.right);
  counts_.shared += result.origin == Origin::shared;
  counts_.resumed += result.origin == Origin::resumed;
  if (result.origin == Origin::measured) count_work(result);
  if (result.shared_with) ++alike_[*result.shared_with];
  if (result.failed()) {
    FailureKind& kind = failures_[result.failure];
    if (kind.count++ == 0) kind = {1, std::move(values), result.reason};
    return;
  }
  const std::optional<Nanoseconds> time = ranking_ == Ranking::code ? Nanoseconds() : median_time(result);
  if (time && !result.shared_with) rank({std::move(result), std::move(values), *time});
}

void SweepTally::count_work(const PoolResult& result) {
  add_stages(result.details.together, counts_.stages);
  for (const InstanceResult& instance : result.details.instances) add_stages(instance.result, counts_.stages);
  if (ranking_ == Ranking::code) counts_.measured += !result.failed();
  const std::optional<Nanoseconds> time = median_time(result);
  if (!time || ranking_ == Ranking::code) return;
  ++counts_.measured;
  const uint64_t untimed = result.details.together.verified_run_timed ? 0 : 1;
  const uint64_t launches = untimed + result.configuration.execution.warm_up + result.exec_time().size();
  counts_.launches += launches;
  for (const ReplayResult* instance : result.details.each())
    if (!instance->exec_time.empty())
      counts_.kernel_time += statistics_of(instance->exec_time).median * static_cast<double>(launches);
}

bool SweepTally::is_before(const Row& a, const Row& b) const {
  if (ranking_ == Ranking::time) return a.time < b.time;
  const auto figures = [](const Row& row) {
    const ReplayResult& code = row.result.details.first();
    const auto known = [](auto value) { return value ? uint64_t{*value} : UINT64_MAX; };
    return std::tuple(known(code.instructions), known(code.reg_usage), code.obj_size ? code.obj_size->count : UINT64_MAX);
  };
  return figures(a) < figures(b);
}

// Of equal ones the first stays ahead.
void SweepTally::rank(Row row) {
  auto behind =
      std::upper_bound(fastest_.begin(), fastest_.end(), row, [this](const Row& a, const Row& b) { return is_before(a, b); });
  if (behind == fastest_.end() && fastest_.size() >= most_rows_) return;
  fastest_.insert(behind, std::move(row));
  if (fastest_.size() > most_rows_) fastest_.pop_back();
}

void SweepTally::add_baseline(const PoolResult& result) {
  if (ranking_ == Ranking::code && !result.failed()) {
    baseline_code_ = result.details.first();
    return;
  }
  if (auto time = median_time(result)) {
    baselines_.push_back(*time);
    baseline_labels_.push_back(result.label);
  } else if (result.failure != Failure::cancelled && baseline_problem_.empty()) {
    baseline_problem_ = fmt::format("{}: {}", to_string(result.failure), result.reason);
  }
}

bool SweepTally::baseline_at_begin_and_end() const {
  return baseline_labels_.size() == 2 && baseline_labels_[0] == kBaselineAtBegin && baseline_labels_[1] == kBaselineAtEnd;
}

uint64_t SweepTally::alike(const Row& row) const {
  auto found = alike_.find(whole_digest(row.result.configuration));
  return found == alike_.end() ? 0 : found->second;
}

std::optional<Nanoseconds> SweepTally::baseline() const {
  if (baselines_.empty()) return std::nullopt;
  return statistics_of(baselines_).median;
}

std::optional<double> SweepTally::speed_up(const Row& row) const {
  auto before = baseline();
  if (!before || row.time.count() <= 0) return std::nullopt;
  return *before / row.time;
}

}  // namespace mneme
