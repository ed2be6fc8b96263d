// SweepPlan: what a sweep was asked for. The folder of its results has it as sweep.json, from which the sweep is resumed.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/pool/pool.h"
#include "mneme/pool/weights.h"
#include "mneme/replay/configuration.h"
#include "mneme/sweep/folder.h"
#include "mneme/sweep/grid.h"

namespace mneme {

struct SweepPlan {
  Path database;       // absolute
  std::string kernel;  // its name for people; empty where an earlier version wrote the plan
  Digest static_hash;
  std::vector<Digest> instances;
  Weights weights;  // of their times; plans of earlier versions have none, and each counts the same
  DeviceKind device = DeviceKind::cpu;
  std::string compile_for;                 // PoolOptions::compile_for; not empty: nothing is run, and `device` is its kind
  CodeLevel code = CodeLevel::ir;          // of the kernel
  std::string as_built;                    // what as-built is of the kernel, for people (describe_as_built()); empty: as `kernel`
  std::string recorded_passes = kAsBuilt;  // the pipeline of baseline(); earlier versions had default<O3>
  Configuration base;                      // what the axes change
  std::vector<GridAxis> axes;
  std::optional<uint64_t> random;  // how many points of the grid are tried, drawn by chance; nothing: all of them
  uint64_t seed = 0;
  bool share = true;
  PoolLimits limits;

  // What the others are compared to: the launch as recorded, compiled as the program was, timed and judged as the others are.
  Configuration baseline() const;
};

// unsupported: a knob of the base, or every value of an axis, has no effect on the plan's kind of device, whatever the launch.
// invalid_argument: as Grid::create(), and for bounds that contradict each other (check_knobs() of a configuration).
Status check_knobs(const SweepPlan& plan);

// unsupported: the plan's kind of device does not run the kernel's code; or a knob of the base, or every value of an axis,
// changes what the level of the kernel's code lacks (check_code_level()).
Status check_code_level(const SweepPlan& plan, const KernelRecord& kernel);

// invalid_argument: a pipeline of the plan does not parse; the message has its place in the plan. LLVM is asked in processes of
// its own (find_refused_pipeline()). Where plugins are swept over, which may know other passes, no pipeline is refused.
Status check_pipelines(const SweepPlan& plan, const KernelRecord& kernel);

nlohmann::json to_json(const SweepPlan& plan);
// Reads what this version or an earlier one wrote, where no pipeline meant default<O3>. incompatible: another version of the
// format. corrupt: members are missing or of another kind. invalid_argument: a hash, the kind of device or the configuration is
// none.
Result<SweepPlan> sweep_plan_from_json(const nlohmann::json& json);

// invalid_argument: the plan draws more than ten million points, of a grid that has more still.
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

// Writes the plan into the folder, which the caller has locked. invalid_argument: the folder has the results of a sweep or of a
// run of tuning already.
Status begin_folder(const ResultsFolder& folder, const SweepPlan& plan, FileSystem& files = FileSystem::posix());
// Reads the plan of the folder. Where the database is not in its place any more, the plan gets the place that it had relative to
// the folder, if the kernel is there. not_found: the folder has no sweep. Else as sweep_plan_from_json().
Result<SweepPlan> read_plan(const ResultsFolder& folder, FileSystem& files = FileSystem::posix());
// Changes the plan, and its file, for a recorded kernel that is in another place now: in `database`.
Status move_plan(const ResultsFolder& folder, SweepPlan& plan, const Path& database, FileSystem& files = FileSystem::posix());
// ok when what the plan names is there; asked before something is measured. not_found: the recorded kernel is not where the plan
// says, or a file of IR is gone. incompatible: a file of IR has changed. io: one cannot be read.
Status check_inputs(const ResultsFolder& folder, const SweepPlan& plan, FileSystem& files = FileSystem::posix());

}  // namespace mneme
