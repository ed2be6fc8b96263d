// A trial: one launch of the program run both ways. The deployed code runs on copies of the memory, and the program's own launch
// is made as it is: its result stands, whatever comes out.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mneme/substitute/trial_memory.h"

namespace mneme {

// What a trial has of the front.
struct TrialLaunch {
  const ProgramLaunch& launch;
  // Makes the program's launch, and returns whether that succeeded.
  std::function<bool()> original;
  // Launches the code under a handle with these arguments.
  std::function<Status(void* handle, void* const* arguments)> deployed;
};

struct TrialCode {
  const TunedKernel& code;
  const std::vector<uint64_t>& sizes;  // of the parameters
  // Code of its own, whose table of variables is the trial's.
  CodeLoader::Loaded loaded;
  std::vector<MemoryRange> variables;  // the program's, in the order of the table
};

enum class Timed { no, yes };

struct TrialOutcome {
  std::optional<KeptBy> not_compared;  // why the launch could not be run both ways
  std::string difference;              // what the deployed code has left otherwise; empty: nothing
  double deployed = 0, original = 0;   // nanoseconds on the device, where it was timed
};

// The program's launch is made once in any case. A failure is that of the deployed code, or of the device; a launch of the
// program that fails is its own, and then nothing was compared (KeptBy::failure).
Result<TrialOutcome> run_trial(const TrialCode& code, const TrialLaunch& launch, Timed timed, TrialDevice& device);

}  // namespace mneme
