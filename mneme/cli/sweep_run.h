// SweepRun: gives a plan's configurations to a pool, collects what becomes of them, and shows how far it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mneme/cli/sweep_report.h"
#include "mneme/sweep/plan.h"
#include "mneme/sweep/tally.h"

namespace mneme::cli {

struct SweepOptions {
  std::vector<int> devices = {0};
  unsigned compile_workers = 0;  // 0: as the pool chooses
  size_t rows = 10;              // how many of the fastest configurations the table has
};

class SweepRun {
 public:
  // Prepares a run of the plan, and reads from the log of the folder what an earlier run of it has found out. The caller has
  // locked the folder. Failures: those of Grid::create(), check_sample() and read_log(); io.
  static Result<std::unique_ptr<SweepRun>> open(const SweepPlan& plan, const ResultsFolder& folder, const SweepOptions& options);
  ~SweepRun();

  // Measures until everything is done, or until a signal asks for the end, which is ok too. What was measured is in the folder,
  // whatever this returns. Failures: those of check_inputs(), Pool::open() and Pool::status().
  Status run();
  // Whether there is anything to report of the run: it has begun to measure, or the log had results. If not, run() has failed
  // before, and there is nothing to tell but its failure.
  bool began() const;
  // The signal (SIGINT, SIGTERM, SIGHUP or SIGQUIT) that ended the run; 0: none did.
  int interrupted() const;

  uint64_t total() const;
  const SweepTally& tally() const;
  const SweepRate& rate() const;

 private:
  struct Impl;
  explicit SweepRun(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace mneme::cli
