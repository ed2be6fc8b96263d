// A folder of files that a user has named, which is there whole or not at all.
//
//   MNEME_ASSIGN(auto folder, OutputFolder::create("matvec"));
//   MNEME_TRY(folder->write("launch.h", bytes));
//   MNEME_TRY(folder->finish());
#pragma once

#include <memory>
#include <string>

#include "mneme/base/descriptor.h"
#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

// Used by one thread. It is written under a temporary name beside its own, and has its own after finish(). Without that nothing
// is left of it.
class OutputFolder {
 public:
  // invalid_argument: something of that name is there already. not_found: the folder in which it is to be is not. What writers
  // that were killed have left of a folder of this name is removed.
  static Result<std::unique_ptr<OutputFolder>> create(const Path& path, FileSystem& files = FileSystem::posix());
  // The same check, before the work whose result is to be written there.
  static Status check(const Path& path);
  // Removes what writers that were killed have left of a folder of this name.
  static void remove_left_over(const Path& path);
  ~OutputFolder();
  OutputFolder(const OutputFolder&) = delete;
  OutputFolder& operator=(const OutputFolder&) = delete;

  // A file in it; `name` may begin with the name of a folder in it ("memory/…"), which is made where it is missing.
  Result<std::unique_ptr<WritableFile>> open(const std::string& name);
  Status write(const std::string& name, ByteSpan bytes);
  Status write(const std::string& name, const std::string& text);
  // All files get one time of change, so that none counts as older than another. Fails as create() does where something has come
  // by that name.
  Status finish();

 private:
  OutputFolder(Path target, FileSystem& files) : files_(files), target_(std::move(target)) {}

  FileSystem& files_;
  Path target_, temporary_;  // no temporary one: it was finished
  Descriptor lock_;
};

}  // namespace mneme
