// Writing to a file that a user has named. It need not be a regular file: /dev/stdout or a FIFO may be named, too.
#pragma once

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme {

// Writes `bytes` to `path`. A regular file, or one that does not exist, is written by FileSystem::write_atomically(). Anything
// else (a device, a FIFO) is opened and written to, which waits for the reader of a FIFO. A symbolic link stays, and its target
// is written.
Status write_output_file(const Path& path, ByteSpan bytes, FileSystem& files = FileSystem::posix());

// A file that a user has named, written piece by piece. A regular one is written under a temporary name and has its own, whole,
// after finish(); without that nothing is left of it, and the file that was there before stays. What another process that was
// killed has left of such a file is removed. Anything else is written to as write_output_file() does.
class OutputFile {
 public:
  static Result<std::unique_ptr<OutputFile>> open(const Path& path, FileSystem& files = FileSystem::posix());
  static Result<std::unique_ptr<OutputFile>> standard_output();
  ~OutputFile();

  WritableFile& file() { return *file_; }
  Status finish();

 private:
  explicit OutputFile(FileSystem& files) : files_(files) {}
  FileSystem& files_;
  Path target_, temporary_;  // empty: there is no temporary file
  std::unique_ptr<WritableFile> file_;
};

// Whether a file of that path can be written, as far as that can be told before it is. To be asked before the work whose result
// is to be written there. invalid_argument: nothing is named, or a directory. not_found: there is no folder for it. io: the
// folder takes no files.
Status check_output_file(const Path& path);

// Where `path` leads when the symbolic links at its end are followed. Nothing need exist there. io: the links form a circle, or
// cannot be read.
Result<Path> link_target(const Path& path);

// Opens a special file (see is_special_file()) for writing. `path` may be a symbolic link.
Result<std::unique_ptr<WritableFile>> open_special_file(const Path& path);
// Whether `path` exists and is neither a regular file nor a directory. A symbolic link counts as what it leads to.
bool is_special_file(const Path& path);

}  // namespace mneme
