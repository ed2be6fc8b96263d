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
  size_t rows = 10;              // of the table
};

class SweepRun {
 public:
  // What an earlier run of the plan found out is taken from the log of the folder, which the caller has locked.
  // invalid_argument: what Grid::create() and check_sample() say.
  static Result<std::unique_ptr<SweepRun>> open(const SweepPlan& plan, const ResultsFolder& folder, const SweepOptions& options);
  ~SweepRun();

  // Until everything is done, or a signal asks for the end. What was measured is in the folder, whatever this returns. What
  // Pool::open() and Pool::status() say.
  Status run();
  // Whether run() found something out, be it from the log, or was about to: when it failed before, there is nothing to tell but
  // why.
  bool began() const;
  // The signal (SIGINT, SIGTERM, SIGHUP or SIGQUIT) that ended it; zero: none.
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
