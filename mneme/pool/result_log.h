// ResultLog: the file with the results of a run, one JSON line for each, written as it comes. A run can be resumed from its log.
//
// The first line says what the results are about:
//   {"mneme_log":1,"about":{"database":"…","static_hash":"…","instances":["…"],"device":"…"}}
// with "weights", a list of numbers, where the instances have other weights than 1.
// Every further line is a PoolResult, with the whole_digest() of its configuration, by which the "shared_with" of other lines
// names it. A configuration that was cancelled before it was timed has no line. A last line that was cut off (a killed run, a
// full disk) is ignored when the log is read.
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

  // Makes the log `path`, about what `about` says, and keeps other runs from writing it until the object is destroyed. Where
  // there is a log already: under `refuse` that is invalid_argument; under `resume` its results are known() and stay, and new
  // ones go behind them. Something that is no regular file (a FIFO, /dev/null) is written to as it is, and nothing is known from
  // it. Failures: incompatible: the results there are about something else, the place of the database aside, or of another
  // version of the format; corrupt: it is no log; invalid_argument: it has a configuration that is none; unavailable: another run
  // is writing it; io.
  static Result<ResultLog> open(const Path& path, const nlohmann::json& about, Existing existing,
                                FileSystem& files = FileSystem::posix());
  // A log without a file: append() does nothing.
  ResultLog() = default;

  // Writes a line. After a failure it writes no more and returns ok, so that the lines before can be resumed from.
  Status append(const PoolResult& result, const nlohmann::json& configuration, const Digest& whole_digest);
  // The results of earlier runs that need not be found out again, by whole_digest(). Failures are among them, but no cancelled or
  // worker_lost, and none with a label.
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
// Reads a log, which may be being written meanwhile. not_found, io; corrupt: it is no log; incompatible: a version of the format
// that is not known; invalid_argument: a line has a configuration that is none.
Result<LoggedRun> read_log(const Path& path, FileSystem& files = FileSystem::posix());

}  // namespace mneme
