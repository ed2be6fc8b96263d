#include "mneme/measure/stopping_rule.h"

#include <algorithm>
#include <cmath>

#include "mneme/measure/time_statistics.h"

namespace mneme {

unsigned StoppingRule::next(std::span<const Nanoseconds> times, Nanoseconds elapsed) const {
  const uint64_t total = wanted(times, elapsed);
  return total <= times.size() ? 0 : static_cast<unsigned>(std::min<uint64_t>(total - times.size(), kLargestBatch));
}

// How many launches in all, as far as can be told now.
uint64_t StoppingRule::wanted(std::span<const Nanoseconds> times, Nanoseconds elapsed) const {
  if (execution_.stop == StopWhen::fixed) return execution_.iterations;
  const uint64_t least = execution_.min_iterations, most = execution_.max_iterations, n = times.size();
  const auto bounded = [&](double count) {
    return count >= static_cast<double>(most) ? most : std::max(least, static_cast<uint64_t>(count));
  };
  // Nothing is known of a spread by fewer than two, nor of the time that one takes by none.
  const uint64_t first = execution_.stop == StopWhen::time ? 1 : 2;
  if (n < std::max(least, first)) return std::min(std::max(least, first), most);
  if (execution_.stop == StopWhen::time) {
    const double budget = execution_.max_time * 1e9;
    if (elapsed.count() >= budget) return n;
    // One of them still begins in time.
    return bounded(std::max(static_cast<double>(n + 1), std::floor(budget / elapsed.count() * static_cast<double>(n))));
  }
  const TimeStatistics so_far = statistics_of(times);
  if (so_far.relative_error <= execution_.relative_error) return n;
  // The error falls with the root of the count. No more than twice as many at once: the spread itself is an estimate.
  const double ratio = so_far.relative_error / execution_.relative_error;
  return bounded(std::ceil(static_cast<double>(n) * std::min(2.0, ratio * ratio)));
}

}  // namespace mneme
