// ResultLog: the results of a run as JSON lines, one a result, written as it comes: the truth of a run, from which it resumes.
//
// The first line says what the results are about:
//   {"mneme_log":1,"about":{"database":"…","static_hash":"…","instances":["…"],"device":"…"}}
// Every further line is a PoolResult, with the whole_digest() of its configuration, which the "shared_with" of others names. What
// was cancelled before it was timed has none. A last line that was cut off (a killed run, a full disk) is left out when it is
// read.
#pragma once

#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "mneme/base/descriptor.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/pool/pool_result.h"

namespace mneme {

class ResultLog {
 public:
  enum class Existing { refuse, resume };

  // Makes `path`. Where there is one already: invalid_argument under `refuse`; under `resume` its results are known, and new ones
  // go behind them. incompatible: they are about something else (wherever the database lies). corrupt: it is no log. unavailable:
  // another run is writing it, as this one is from then on until the log is destroyed. What is there and is no regular file (a
  // FIFO, /dev/null) is written to as it is, and keeps nothing to resume from.
  static Result<ResultLog> open(const Path& path, const nlohmann::json& about, Existing existing,
                                FileSystem& files = FileSystem::posix());
  // No file: append() does nothing.
  ResultLog() = default;

  // Once that has failed it does nothing: what is there can be resumed from.
  Status append(const PoolResult& result, const nlohmann::json& configuration, const Digest& whole_digest);
  // What an earlier run found out, failures included, but not what was lost or has a label; by whole_digest().
  const std::map<Digest, PoolResult>& known() const { return known_; }

 private:
  static Result<ResultLog> open_special(const Path& path, const nlohmann::json& about);
  Status begin(const nlohmann::json& about, FileSystem& files);

  Path path_;
  Descriptor lock_;  // of the file itself
  std::unique_ptr<WritableFile> file_;
  std::map<Digest, PoolResult> known_;
};

struct LoggedRun {
  nlohmann::json about;
  std::vector<PoolResult> results;
};
// Reads a log, also one that is being written.
Result<LoggedRun> read_log(const Path& path, FileSystem& files = FileSystem::posix());

}  // namespace mneme
