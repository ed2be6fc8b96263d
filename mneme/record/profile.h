// Profile: how long the program's own launches take (`mneme record --profile`, `mneme profile`).
//
// While recording, the launches of selected kernels are timed: those that are recorded, and of each kernel and shape up to
// kMostOthers others. The time of a recorded launch is kept apart, since reading all memory before it changes what it finds in
// the caches. Where nothing is recorded every launch is counted and timed, and only sums are kept of them. Thread-safe.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mneme/record/program_clock.h"
#include "mneme/snapshot/launch_profile.h"
#include "mneme/snapshot/program_shape.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

class Profile {
 public:
  static constexpr size_t kMostOthers = 1000;  // timed launches of one kernel and shape that are not recorded
  static constexpr size_t kMostSamples = 16;   // of one kernel and shape, see take_sample()
  enum class Of { recorded_shapes, all_launches };

  explicit Profile(std::unique_ptr<ProgramClock> clock, Of what = Of::recorded_shapes) : what_(what), clock_(std::move(clock)) {}

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
    // For Of::all_launches: whose names are told. Null: the program has made it at run time. Where the kernel cannot be recorded,
    // `static_hash` is any digest that tells it from others.
    const RecordableKernel* kernel = nullptr;
    Dim3 cluster = kNoCluster;
    ProgramShape shape() const { return {grid, block, shared, cooperative, cluster}; }
  };

  // To be called before and after the vendor's call, on the launching thread. begin() gives nothing when the launch is not timed.
  std::optional<LaunchTag> begin(const Launched& launched, Vendor& vendor, void* stream);
  void end(LaunchTag tag, bool launched);

  // The times that are known for an instance now. Launches that have not ended yet do not count. Nothing when no time is known.
  std::optional<RecordedTime> time_of(const Instance& instance);
  std::vector<Instance> instances();
  // The mean of the times behind time_of(), in nanoseconds: of the others where there are some, else the captured one.
  std::optional<double> mean_of(const Instance& instance);
  // The same of a kernel's shape, for instances whose hash was not known yet when their launch began: of the others, else the
  // time of the last launch before which memory was read.
  std::optional<double> mean_of(const Digest& static_hash, const ProgramShape& shape);

  // Counts launches that are not timed; for Of::all_launches.
  void count(const Launched& launched, uint64_t launches = 1);
  // Of launches to time which one by one costs much: whether this is to be timed. It is the first of its kernel and shape that is
  // asked for, the second, the fourth, the seventh and so on, so that the samples are of many places in the program.
  enum class Sample { taken, left_out, complete };
  Sample take_sample(const Launched& launched);
  // What is known of all launches now; those that have not ended yet count without a time.
  LaunchProfile all();

 private:
  // A kernel and a shape of it.
  struct Key {
    Digest static_hash;
    ProgramShape shape;
    auto operator<=>(const Key&) const = default;
  };
  struct Shape {
    size_t begun = 0;
    std::vector<double> others;
    std::optional<double> captured;  // of the last
    TimedLaunches all;               // for Of::all_launches
    size_t asked = 0, samples = 0, next_sample = 0;
  };
  struct Known {
    Key shape;
    std::optional<double> captured;
  };
  struct Pending {
    Key shape;
    std::optional<Instance> instance;
    bool first = false;  // of its kernel, on a clock that takes the loading of code for a part of it
  };
  bool see(const Launched& launched);
  std::optional<LaunchTag> begin_one_of_all(const Launched& launched, Vendor& vendor, void* stream);
  void collect();
  void keep(const Pending& launch, double time);

  const Of what_;
  std::unique_ptr<ProgramClock> clock_;
  std::mutex mutex_;
  std::map<Key, Shape> shapes_;
  std::map<Instance, Known> instances_;
  std::map<LaunchTag, Pending> pending_;
  std::map<Digest, KernelProfile> kernels_;  // that were launched, without shapes
};

}  // namespace mneme
