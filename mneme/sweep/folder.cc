#include "mneme/sweep/folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>

namespace mneme {

Result<ResultsFolder> make_fresh_folder(std::time_t now, const Path& parent) {
  char text[32] = {};
  std::strftime(text, sizeof text, "sweep-%Y%m%d-%H%M%S", std::localtime(&now));
  ResultsFolder folder{(parent / text).lexically_normal()};
  for (int i = 2; ::mkdir(folder.path.c_str(), 0777) != 0; ++i) {
    if (errno != EEXIST)
      return error(Code::io, "making a folder for the results, {}: {}; --results-dir names another", folder.path.string(),
                   std::strerror(errno));
    folder.path = (parent / fmt::format("{}-{}", text, i)).lexically_normal();
  }
  return folder;
}

Status make_folder(const ResultsFolder& folder, FileSystem& files) { return files.create_directories(folder.path); }

Result<Descriptor> lock_folder(const ResultsFolder& folder) {
  Descriptor lock(::open(folder.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock.open())
    return error(errno == ENOENT ? Code::not_found : Code::io, "opening the folder of results {}: {}", folder.path.string(),
                 std::strerror(errno));
  if (::flock(lock.number(), LOCK_EX | LOCK_NB) != 0)
    return error(Code::unavailable, "another sweep is working on {}: wait for its end, or name another folder",
                 folder.path.string());
  return lock;
}

bool has_results(const ResultsFolder& folder, FileSystem& files) {
  return files.exists(folder.plan()) || files.exists(folder.tuning_plan()) || files.exists(folder.log());
}

}  // namespace mneme
