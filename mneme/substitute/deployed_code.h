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
#include <string>
#include <unordered_map>
#include <vector>

#include "mneme/substitute/code_loader.h"
#include "mneme/substitute/conditions.h"
#include "mneme/tuned/tuned_file.h"

namespace mneme {

// Thread-safe.
class DeployedCode {
 public:
  // `name` is what the file is called in messages.
  DeployedCode(TunedFile file, std::string name);
  ~DeployedCode();

  struct Kernel;
  // What takes a launch's place.
  struct Substitute {
    void* handle = nullptr;  // of the kernel, as CodeLoader::Loaded has it
    ProgramShape shape;
    Kernel* kernel = nullptr;
  };

  // The code that takes the launch's place; nothing: the launch is to be made as it is.
  std::optional<Substitute> find(const ProgramLaunch& launch, Registry& registry, CodeLoader& loader);
  // To be called when the launch of the substitute was made, or why it was not: then the launch is to be made as it is, and so
  // are all of the kernel that follow.
  void end(const Substitute& substitute, const Status& launched);

  // The program has unloaded code: functions may come to stand for others.
  void forget_kernels();
  // The devices have lost what was loaded onto them.
  void forget_devices();
  // Whether conditions of the file are about memory.
  bool looks_at_memory() const;
  // What became of the launches, a line for each kernel of the file that was launched, and what was not.
  std::vector<std::string> summary() const;

 private:
  struct Candidate;
  Kernel* kernel_of(const ProgramLaunch& launch, Registry& registry, CodeLoader& loader);
  Kernel* look_up(const ProgramLaunch& launch, Registry& registry, CodeLoader& loader);
  std::unique_ptr<Kernel> describe_kernel(const ProgramLaunch& launch, Registry& registry, CodeLoader& loader) const;
  // Loads the code of a candidate, and makes it ready on the current device.
  Status prepare(Kernel& kernel, Candidate& candidate, const ProgramLaunch& launch, int ordinal, CodeLoader& loader) const;

  const TunedFile file_;
  const std::string name_;
  std::atomic<uint64_t> generation_;  // another one when functions may stand for others
  mutable std::shared_mutex mutex_;
  std::unordered_map<const void*, std::unique_ptr<Kernel>> kernels_;  // by the function; null: the file has none for it
  std::vector<std::unique_ptr<Kernel>> former_;                       // of functions that are gone
};

}  // namespace mneme
