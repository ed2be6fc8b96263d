#include "mneme/deploy/promise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mneme {
namespace {

// 97.5 % quantile of Student's distribution with six degrees of freedom (kRoundsInTurn - 1).
constexpr double kStudent = 2.447;

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

void add(std::vector<double>& sum, const std::vector<double>& times, double weight) {
  sum.resize(times.size());
  for (size_t i = 0; i < times.size(); ++i) sum[i] += weight * times[i];
}

Promise in_state(std::span<const LaunchTimes> launches, size_t state) {
  const TimesInTurn& first = launches.front().states[state];
  double weights = 0;
  Promise promise;
  std::vector<double> recorded, found;
  for (const LaunchTimes& launch : launches) {
    const TimesInTurn& times = launch.states[state];
    add(recorded, times.recorded, launch.weight);
    add(found, times.found, launch.weight);
    promise.tuned += launch.weight * median(times.found);
    weights += launch.weight;
  }
  promise.tuned /= weights;
  promise.speed_up = first.by_search ? *first.by_search : speed_up_of(recorded, found);
  promise.confirmed = promise.speed_up.low > 1;
  promise.measured = first.by_search ? "by the search" : "measured in turn here";
  if (launches.size() > 1) promise.measured += fmt::format(" on {} launches together", launches.size());
  if (!first.by_search && first.state != CacheState::as_it_comes)
    promise.measured += fmt::format(" with --l2 {}", to_string(first.state));
  return promise;
}

}  // namespace

Promise promise_of(std::span<const LaunchTimes> launches) {
  Promise least = in_state(launches, 0);
  for (size_t state = 1; state < launches.front().states.size(); ++state)
    if (Promise promise = in_state(launches, state); promise.speed_up.low < least.speed_up.low) least = std::move(promise);
  return least;
}

SpeedUp speed_up_of(const std::vector<double>& recorded, const std::vector<double>& found) {
  std::vector<double> ratios;
  for (size_t i = 0; i < recorded.size(); ++i) ratios.push_back(std::log(recorded[i] / found[i]));
  const auto count = static_cast<double>(ratios.size());
  const double mean = std::accumulate(ratios.begin(), ratios.end(), 0.0) / count;
  double squares = 0;
  for (const double ratio : ratios) squares += (ratio - mean) * (ratio - mean);
  const double half = kStudent * std::sqrt(squares / (count - 1) / count);
  return {std::exp(mean), std::exp(mean - half), std::exp(mean + half)};
}

}  // namespace mneme
