// LaunchGroup: launches that one call of the program makes together, as that of a graph does, and what they are counted as.
//
// The recorder looks at each of them when the group is made. The group is settled if none of them is recorded, for reasons that
// stay as they are until Selection::changes() does. Another such call is then counted as a whole, at a cost that does not grow
// with the number of launches. Only the shapes of kernels are counted later: when they are asked for, and before the group goes.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "mneme/record/recordable_kernel.h"
#include "mneme/snapshot/program_shape.h"
#include "mneme/snapshot/recording_report.h"

namespace mneme {

// Made by one thread; then calls are counted, and shapes taken, from any.
class LaunchGroup {
 public:
  explicit LaunchGroup(uint64_t changes) : changes_(changes) {}
  // Launches in one shape of a kernel, each time that the call is made.
  struct Shape {
    std::shared_ptr<const RecordableKernel> kernel;
    ProgramShape shape;
    uint64_t launches = 0;
  };

  // Adds a launch; then, if nothing but this changes for it from call to call, what it is counted as.
  void add_launch() { ++launches_; }
  void settle(NotRecorded reason);
  void settle_untimed();
  // Not settled whatever the launches are.
  void keep_open() { is_open_ = true; }
  void add_shape(const std::shared_ptr<const RecordableKernel>& kernel, const ProgramShape& shape);

  bool is_settled() const { return !is_open_ && settled_ == launches_; }
  // Of Selection, when the group was begun.
  uint64_t changes() const { return changes_; }
  uint64_t launches() const { return launches_; }

  // Counts another call. `report` may be null.
  void count_call(RecordingReport* report);
  // Calls `take(shape, launches)` for the launches in each shape that were counted since the last time.
  template <typename Take>
  void take_shapes(Take take) {
    const uint64_t calls = calls_.exchange(0);
    if (calls == 0) return;
    for (const Shape& shape : shapes_) take(shape, calls * shape.launches);
  }

 private:
  const uint64_t changes_;
  bool is_open_ = false;
  uint64_t launches_ = 0, settled_ = 0;
  uint64_t untimed_ = 0;  // those that `mneme profile` counts
  struct Reason {
    NotRecorded reason;
    uint64_t launches;
  };
  std::vector<Reason> reasons_;
  std::vector<Shape> shapes_;
  std::atomic<uint64_t> calls_ = 0;  // whose shapes are not counted yet
};

}  // namespace mneme
