// ResultsFolder: the folder of results that `mneme sweep` and `mneme tune` write (docs/reference/results.md): its files, and who
// may write. The rules are those of python/mneme/results/folder.py: a run has its folder alone while it works there, and begins
// only in one that has no results of either command.
#pragma once

#include <ctime>

#include "mneme/base/descriptor.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

struct ResultsFolder {
  Path path;
  Path plan() const { return path / "sweep.json"; }           // what a sweep was asked for
  Path tuning_plan() const { return path / "tune.json"; }     // what a run of tuning was asked for
  Path log() const { return path / "results.jsonl"; }         // every measurement as it came
  Path best() const { return path / "best.json"; }            // the best configuration so far
  Path explained() const { return path / "explained.json"; }  // what each thing of the best one is worth, if somebody has asked
  Path summary() const { return path / "summary.json"; }      // what the last run came to
};

// Makes a new folder in `parent`, named after the local time: "sweep-20260131-093000". No two calls get the same one. io.
Result<ResultsFolder> make_fresh_folder(std::time_t now, const Path& parent = ".");
// Makes the folder where it is not there.
Status make_folder(const ResultsFolder& folder, FileSystem& files = FileSystem::posix());
// Locks the folder, so that this process alone works on it until the descriptor is closed. Called before anything in it is read
// or written. unavailable: another process has it. not_found: there is no folder. io: it cannot be opened.
Result<Descriptor> lock_folder(const ResultsFolder& folder);
// Whether a run of `mneme sweep` or `mneme tune` has begun in the folder.
bool has_results(const ResultsFolder& folder, FileSystem& files = FileSystem::posix());

}  // namespace mneme
