// A trial: one launch of the program run both ways. The deployed code runs on copies of the memory, and the program's own launch
// is made as it is: its result stands, whatever comes out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mneme/substitute/trial_comparison.h"

namespace mneme {

// What a trial has of the front.
struct TrialLaunch {
  const ProgramLaunch& launch;
  // Makes the program's launch, and returns whether that succeeded.
  std::function<bool()> original;
  // Launches the program's code as its launch does, with these arguments.
  std::function<Status(void* const* arguments)> own;
  // Launches the code under a handle with these arguments.
  std::function<Status(void* handle, void* const* arguments)> deployed;
};

enum class Timed { no, yes };

struct TrialOutcome {
  // Why the launch could not be run both ways; not_deterministic: it was, and what differs says nothing of the deployed code.
  std::optional<KeptBy> not_compared;
  std::string difference;             // what the deployed code has left otherwise, for people; empty: nothing
  double deployed = 0, original = 0;  // nanoseconds on the device, where it was timed
};

// Where the two differ by more than the tolerances, code is run again from the same memory, up to kRunsAgain times: that of the
// program; or the deployed one where the kernel has variables, since the program's reaches its own. What differs only in pieces
// of memory that the same code does not leave alike is not deterministic, and no difference. Without room for that it is one.
//
// The program's launch is made once in any case. A failure is that of the deployed code, or of the device; a launch of the
// program that fails is its own, and then nothing was compared (KeptBy::failure).
inline constexpr unsigned kRunsAgain = 3;
Result<TrialOutcome> run_trial(const TrialCode& code, const TrialLaunch& launch, Timed timed, TrialDevice& device);

}  // namespace mneme
