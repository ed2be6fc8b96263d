// RecordedSession: what `mneme check` and `mneme diff` open: one recorded launch, prepared on a device, and its memory in
// ranges.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mneme/cli/options/cache_option.h"
#include "mneme/cli/options/device_option.h"
#include "mneme/cli/options/recorded_launch.h"
#include "mneme/replay/session.h"
#include "mneme/verify/typed_ranges.h"

namespace mneme::cli {

// The words and options that say what to open: DB KERNEL PIPELINE, --rdb, --rid, --device, --dtype and --no-cache.
class RecordedSessionOptions {
 public:
  void declare(CLI::App& app, ConfigurationOptions& configuration);

 private:
  friend class RecordedSession;
  RecordedOption recorded_{RecordedOption::Launches::one};
  DeviceOption device_;
  std::vector<std::string> types_;
  CacheOption cache_;
};

class RecordedSession {
 public:
  // Opens the database and the device, and prepares the session, with its progress on standard error. `no_mask` is why no mask is
  // to be looked for, as in RecordedCopies. Failures: those of these steps, of check_files(), and of typed_ranges_of().
  static Result<std::unique_ptr<RecordedSession>> open(const RecordedSessionOptions& options, const Configuration& configuration,
                                                       const std::string& no_mask = {});

  Session& session() { return *session_; }
  const std::vector<TypedRange>& ranges() const { return ranges_; }
  // "vecadd(float*) on cpu"
  std::string title() const;

 private:
  Status find_ranges(const RecordedSessionOptions& options, const Configuration& configuration);

  std::unique_ptr<Database> database_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Session> session_;
  std::vector<TypedRange> ranges_;
};

}  // namespace mneme::cli
