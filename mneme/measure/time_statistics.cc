#include "mneme/measure/time_statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mneme {

TimeStatistics statistics_of(std::span<const Nanoseconds> times) {
  TimeStatistics s;
  s.count = times.size();
  if (times.empty()) return s;
  std::vector<Nanoseconds> sorted(times.begin(), times.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t n = sorted.size(), middle = n / 2;
  s.min = sorted[0];
  s.median = n % 2 != 0 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  s.mean = std::accumulate(sorted.begin(), sorted.end(), Nanoseconds(0)) / n;
  if (n < 2) return s;
  double squares = 0;
  for (Nanoseconds time : sorted) squares += (time - s.mean).count() * (time - s.mean).count();
  s.standard_deviation = Nanoseconds(std::sqrt(squares / static_cast<double>(n - 1)));
  if (s.mean.count() > 0) s.relative_error = s.standard_deviation / s.mean / std::sqrt(static_cast<double>(n));
  return s;
}

std::string format_time(Nanoseconds time) {
  // Rounded up, what is just below a unit reads as one of it.
  const double ns = time.count();
  if (ns < 9.995 && ns != std::floor(ns)) return fmt::format("{:.2f} ns", ns);
  if (ns < 999.5) return fmt::format("{:.0f} ns", ns);
  if (ns < 999.995e3) return fmt::format("{:.2f} us", ns / 1e3);
  if (ns < 999.995e6) return fmt::format("{:.2f} ms", ns / 1e6);
  if (ns < 999.995e9) return fmt::format("{:.2f} s", ns / 1e9);
  return fmt::format("{:.0f} s", ns / 1e9);
}

}  // namespace mneme
