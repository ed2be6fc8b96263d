// Profile: how long the program's own launches take (`mneme record --profile`).
//
// The launches of selected kernels are timed: those that are recorded, and of each kernel and shape up to kMostOthers others. The
// time of a recorded launch is kept apart, since reading all memory before it changes what it finds in the caches. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "mneme/record/program_clock.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

class Profile {
 public:
  static constexpr size_t kMostOthers = 1000;  // timed launches of one kernel and shape that are not recorded

  explicit Profile(std::unique_ptr<ProgramClock> clock) : clock_(std::move(clock)) {}

  struct Instance {
    Digest static_hash, dynamic_hash;
    auto operator<=>(const Instance&) const = default;
  };
  // A launch as the profile tells launches apart: by kernel and shape. `instance` is set for a launch before which memory was
  // read, either to record it or to find that the database has it already.
  struct Launched {
    Digest static_hash;
    Dim3 grid, block;
    Bytes shared;
    bool cooperative = false;
    std::optional<Instance> instance;
  };

  // To be called before and after the vendor's call, on the launching thread. begin() gives nothing when the launch is not timed.
  std::optional<LaunchTag> begin(const Launched& launched, Vendor& vendor, void* stream);
  void end(LaunchTag tag, bool launched);

  // The times that are known for an instance now. Launches that have not ended yet do not count. Nothing when no time is known.
  std::optional<RecordedTime> time_of(const Instance& instance);
  std::vector<Instance> instances();

 private:
  struct Shape {
    size_t begun = 0;
    std::vector<double> others;
  };
  struct Known {
    std::string shape;
    std::optional<double> captured;
  };
  struct Pending {
    std::string shape;
    std::optional<Instance> instance;
  };
  void collect();

  std::unique_ptr<ProgramClock> clock_;
  std::mutex mutex_;
  std::map<std::string, Shape> shapes_;
  std::map<Instance, Known> instances_;
  std::map<LaunchTag, Pending> pending_;
  std::set<Digest> seen_;  // kernels
};

}  // namespace mneme
