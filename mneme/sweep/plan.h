// SweepPlan: what a sweep was asked for. It is sweep.json of the folder of its results, by which the sweep is resumed.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/pool/pool.h"
#include "mneme/replay/configuration.h"
#include "mneme/sweep/folder.h"
#include "mneme/sweep/grid.h"

namespace mneme {

struct SweepPlan {
  Path database;       // absolute
  std::string kernel;  // its name for people; empty where an earlier version wrote the plan
  Digest static_hash;
  std::vector<Digest> instances;
  DeviceKind device = DeviceKind::cpu;
  Configuration base;  // what the axes change
  std::vector<GridAxis> axes;
  std::optional<uint64_t> random;  // so many points of the grid; nothing: all of them
  uint64_t seed = 0;
  bool share = true;
  PoolLimits limits;

  // What it is compared to: the launch as recorded, compiled as by default, timed and judged as the others are.
  Configuration baseline() const;
};

// unsupported: what the configurations say, or all values of an axis, has no effect on the kind of device, whatever the launch.
Status check_knobs(const SweepPlan& plan);

// invalid_argument: a pipeline that the plan has does not parse, with its place in the plan. Takes processes of LLVM's. Where
// plugins are swept over, which may know other passes, none is refused.
Status check_pipelines(const SweepPlan& plan);

nlohmann::json to_json(const SweepPlan& plan);
// Also of what version 1 wrote. corrupt, incompatible (a later version): it is not what to_json() wrote.
Result<SweepPlan> sweep_plan_from_json(const nlohmann::json& json);

// invalid_argument: more points by chance than are drawn at most, of a grid that has still more.
Status check_sample(const Grid& grid, const SweepPlan& plan);

// The points of the plan's grid, in the order in which they are tried.
class SweepPoints {
 public:
  SweepPoints(const Grid& grid, const SweepPlan& plan);
  uint64_t size() const { return sample_ ? sample_->size() : all_; }
  uint64_t at(uint64_t i) const { return sample_ ? (*sample_)[i] : i; }

 private:
  uint64_t all_;
  std::optional<std::vector<uint64_t>> sample_;
};

// Writes the plan into the locked folder. invalid_argument: it has the results of a sweep or of a run of tuning.
Status begin_folder(const ResultsFolder& folder, const SweepPlan& plan, FileSystem& files = FileSystem::posix());
// Where the database is not where it was, it is looked for beside the folder as it then was. not_found: there is no sweep in it;
// corrupt, incompatible.
Result<SweepPlan> read_plan(const ResultsFolder& folder, FileSystem& files = FileSystem::posix());
// The recorded kernel is in another place now: in `database`.
Status move_plan(const ResultsFolder& folder, SweepPlan& plan, const Path& database, FileSystem& files = FileSystem::posix());
// Before something is measured. not_found: the recorded kernel is not where the plan says. incompatible, not_found: a file of IR
// has changed, or is gone.
Status check_inputs(const ResultsFolder& folder, const SweepPlan& plan, FileSystem& files = FileSystem::posix());

}  // namespace mneme
