// TransferReport: what import, copy and move tell of the instances that they take into a database.
#pragma once

#include <string>
#include <vector>

#include "mneme/cli/progress.h"
#include "mneme/store/import.h"

namespace mneme::cli {

class TransferReport {
 public:
  // `done` is what is done with an instance: "imported", "copied".
  TransferReport(std::string done, Path into) : done_(std::move(done)), into_(std::move(into)) {}

  void add(const ImportedInstance& instance);
  // Whether each instance is in the database now.
  bool complete() const { return refused_.empty(); }
  // Says how it ended, after `status`, and returns the command's exit status.
  int end(const Status& status);

 private:
  const std::string done_;
  const Path into_;
  Progress progress_;
  size_t taken_ = 0, there_ = 0;
  std::vector<ImportedInstance> refused_;
};

// Copies all recordings of a database into another. corrupt: some cannot be read; the others are copied. invalid_argument: both
// are the same folder.
Status copy_recordings(const Path& from, const Path& into, TransferReport& told);

}  // namespace mneme::cli
