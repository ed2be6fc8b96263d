// Profile: how long the program's own launches take (`mneme record --profile`).
//
// Every launch of a selected kernel is timed. Times are kept by kernel and shape, and for each instance the time of the very
// launch that was recorded, since reading all memory around it changes what it finds in the caches. Thread-safe.
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
  static constexpr size_t kMostOthers = 1000;  // of one shape; further launches are not timed

  explicit Profile(std::unique_ptr<ProgramClock> clock) : clock_(std::move(clock)) {}

  struct Instance {
    Digest static_hash, dynamic_hash;
    auto operator<=>(const Instance&) const = default;
  };
  // What the launch is, for those of one kind to be found again. `instance` where its memory was read before.
  struct Launched {
    Digest static_hash;
    Dim3 grid, block;
    Bytes shared;
    bool cooperative = false;
    std::optional<Instance> instance;
  };

  // Around the vendor's call, on the launching thread. Nothing when the launch is not timed.
  std::optional<LaunchTag> begin(const Launched& launched, Vendor& vendor, void* stream);
  void end(LaunchTag tag, bool launched);

  // What is known of an instance now; launches must be done to count. Nothing when nothing is known.
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
