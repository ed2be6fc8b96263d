// Measuring in turn: a found configuration and the launch as recorded run one after the other, round after round. Deploying and
// explaining measure so.
#pragma once

#include "mneme/replay/configuration.h"
#include "mneme/replay/result.h"

namespace mneme {

// How many rounds are measured.
inline constexpr unsigned kRoundsInTurn = 7;

// The launch as recorded, judged and timed as the found configuration is.
Configuration baseline_of(const Configuration& found);

// The median of a result's times, in nanoseconds. unsupported: the result is not verified. Else its failure.
Result<double> median_of(const ReplayResult& result);

}  // namespace mneme
