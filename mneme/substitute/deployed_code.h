// DeployedCode: decides for each launch of the program whether deployed code takes its place, loads that code, and counts.
//
// A condition that does not hold leaves one launch to the program's own code. A failure leaves all launches of the kernel to it
// from then on. Nothing here fails a launch.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/abi/call_table.h"
#include "mneme/substitute/code_loader.h"
#include "mneme/substitute/conditions.h"
#include "mneme/substitute/trial.h"
#include "mneme/tuned/tuned_file.h"

namespace mneme {

// Which launches are run both ways before the deployed code has the place of those that follow: the first of each kernel and
// shape.
struct TrialOptions {
  uint64_t verify = 0;  // so many are compared; 0: none
  bool race = false;    // they are timed too, and more of them where `verify` is less than kRacedLaunches
};
inline constexpr uint64_t kRacedLaunches = MNEME_RACED_LAUNCHES;

// Thread-safe.
class DeployedCode {
 public:
  // `name` is what the file is called in messages.
  DeployedCode(TunedFile file, std::string name, TrialOptions trials = {});
  ~DeployedCode();

  struct Kernel;
  struct Candidate;
  // What takes a launch's place.
  struct Substitute {
    void* handle = nullptr;  // as CodeLoader::launch_handle() has it
    ProgramShape shape;
    Kernel* kernel = nullptr;
    Candidate* on_trial = nullptr;  // the launch is to be made by try_out(); null: it is to be made, and end() called
  };

  // The code that takes the launch's place; null: the launch is to be made as it is. It lives until the thread's next call.
  const Substitute* find(const ProgramLaunch& launch, Registry& registry, CodeLoader& loader);
  // To be called when the launch of the substitute was made.
  void end(const Substitute& substitute);
  // In its place where that has failed: the launch is to be made as it is, and so are all of the kernel that follow.
  void end(const Substitute& substitute, const Status& failure);
  // In their place where the program's own launch has failed, too: that says nothing of the code.
  void end_without(const Substitute& substitute);

  // Makes the launch both ways, compares and judges. The program's own launch is made exactly once, and its result stands.
  void try_out(const Substitute& substitute, const TrialLaunch& launch, TrialDevice& device);

  // Of code in a graph, which programs may ask for, and change: the launch of the program in whose place it stands with this
  // shape. Nothing: the handle is of no deployed code.
  struct Replaced {
    const void* function = nullptr;  // of the program
    ProgramShape shape;
  };
  std::optional<Replaced> replaced_by(const void* handle, const ProgramShape& shape) const;

  // The program has unloaded code: functions may come to stand for others. What was found of a kernel's code holds where the
  // kernel is loaded again.
  void forget_kernels();
  // The devices of these numbers have lost what was loaded onto them.
  void forget_devices(std::span<const int> ordinals);
  // Whether conditions of the file are about memory.
  bool looks_at_memory() const;
  // What became of the launches, a line for each kernel of the file that was launched, and what was not.
  std::vector<std::string> summary() const;

 private:
  struct Known;
  struct Choice;
  struct Recent;
  static Recent& recent();
  void begin_known(Known& known, const ProgramLaunch& launch, Registry& registry, CodeLoader& loader);
  Kernel* look_up(const ProgramLaunch& launch, Registry& registry, CodeLoader& loader);
  void inherit(Kernel& kernel) const;
  std::unique_ptr<Kernel> describe_kernel(const ProgramLaunch& launch, Registry& registry, CodeLoader& loader) const;
  // Loads the code of a candidate, and makes it ready on the current device.
  Status prepare(Kernel& kernel, Candidate& candidate, const ProgramLaunch& launch, int ordinal, CodeLoader& loader) const;
  std::optional<Choice> choose(Kernel& kernel, const ProgramLaunch& launch, int ordinal, CodeLoader& loader);
  void note_origin(const void* handle, const void* function, const LaunchRule& rule, int ordinal);
  uint64_t trials_needed() const;
  void give_up_undecided(Candidate& candidate, const ProgramShape& shape);
  Result<TrialOutcome> compare(const Substitute& substitute, const TrialLaunch& launch, TrialDevice& device);

  const TunedFile file_;
  const std::string name_;
  const TrialOptions trials_;
  std::mutex trial_mutex_;            // held by the one trial that runs
  std::atomic<uint64_t> generation_;  // another one when functions may stand for others, or what was loaded is lost
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, std::unique_ptr<Kernel>> kernels_;  // by the function; null: the file has none for it
  std::vector<std::unique_ptr<Kernel>> former_;                       // of functions that are gone; they stay
  std::unordered_map<const TunedKernel*, Kernel*>
      last_;  // the last of these by their first candidate, rather one that was dropped
  struct Origin {
    const void* function;    // of the program
    const LaunchRule* rule;  // of the file
    uint64_t devices;        // on which it is ready: a bit for each number
  };
  std::unordered_map<const void*, Origin> origins_;  // of code that is ready on a device, by the handle for launches
};

}  // namespace mneme
