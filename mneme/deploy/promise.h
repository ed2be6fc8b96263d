// Promise: how many times as fast deployed code is than the launches in whose place it runs. Launches of one kernel that the same
// code covers have one promise, of all of them together, each weighed as often as the program launched it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mneme/measure/execution.h"
#include "mneme/tuned/tuned_file.h"

namespace mneme {

// One launch as recorded and with the found configuration, in turn, in one state of the cache: a median for each round, in
// nanoseconds, in the same order.
struct TimesInTurn {
  CacheState state = CacheState::as_it_comes;
  std::vector<double> recorded, found;
  // What a search has confirmed, which is taken at its word; then `recorded` is empty and `found` has one time.
  std::optional<SpeedUp> by_search;
};

// Of one launch, in each state that counts.
struct LaunchTimes {
  double weight = 1;  // how much of the launches that the program makes are of this kind; only the ratio of weights counts
  std::vector<TimesInTurn> states;
};

struct Promise {
  SpeedUp speed_up;
  double tuned = 0;  // the median time of a launch with the found configuration, in nanoseconds; of several the weighed mean
  bool confirmed = false;  // surely faster
  std::string measured;    // by whom, and how: "by the search", "measured in turn here with --l2 warm"
};

// What one or several launches promise together: the speed-up of the weighed sum of their times, in the state in which that is
// least. Each launch has the same states in the same order,
// at least one, and the same number of rounds, at least two.
Promise promise_of(std::span<const LaunchTimes> launches);

// The speed-up by rounds in which both were measured in turn: the geometric mean of their ratios, with Student's 95 % interval.
// There are at least two rounds.
SpeedUp speed_up_of(const std::vector<double>& recorded, const std::vector<double>& found);

}  // namespace mneme
