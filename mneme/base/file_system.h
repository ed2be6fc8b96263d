// All file access goes through FileSystem, so that full disks and failed writes can be tested without one.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

using Path = std::filesystem::path;

// A file opened for reading. It is read, not mapped: a disk that cannot be read, or somebody who cuts the file short meanwhile,
// is then an error, where the access to a mapping would end the process. Several threads may read at once.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual Bytes size() const = 0;  // when it was opened
  // Fills `into` with what stands from `offset` on. corrupt: the file ends before; io.
  virtual Status read(uint64_t offset, MutableByteSpan into) = 0;
  // `size` bytes from `offset` on. exhausted: they are more than the machine's memory.
  Result<ByteVector> read_range(uint64_t offset, Bytes size);
};

// A file being written. Nothing is promised about what is on disk until sync() is ok.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual Status append(ByteSpan bytes) = 0;
  virtual Status sync() = 0;
  virtual Status close() = 0;
};

// A file that is there, being changed in place; as WritableFile otherwise.
class ChangeableFile {
 public:
  virtual ~ChangeableFile() = default;
  virtual Status write(uint64_t offset, ByteSpan bytes) = 0;  // in place of what stands from `offset` on
  virtual Status sync() = 0;
};

// A file under a name that nobody else has. It is locked until it is closed, so that whoever removes what is left over sees that
// somebody writes it, also in another container or on another host.
struct TemporaryFile {
  Path path;
  std::unique_ptr<WritableFile> file;
};

// Holds an advisory lock until destroyed.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// How long somebody else's lock is waited for.
struct LockPatience {
  std::chrono::milliseconds notice{1000};  // then a warning says who waits for what
  std::chrono::milliseconds limit{5000};   // then waiting ends with Code::timeout
};

// Thread-safe. Failures: not_found, exhausted (disk or quota full), io; the message names the path and the reason.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // io where that is no regular file, which is never waited for.
  virtual Result<std::unique_ptr<ReadableFile>> open(const Path& path) = 0;
  virtual Result<std::unique_ptr<WritableFile>> create(const Path& path) = 0;  // truncates
  // Null where there is a file of that name. Locked, see TemporaryFile.
  virtual Result<std::unique_ptr<WritableFile>> create_new(const Path& path) = 0;
  virtual Result<std::unique_ptr<ChangeableFile>> open_to_change(const Path& path) = 0;  // as it is; not_found
  virtual Status rename(const Path& from, const Path& to) = 0;                           // atomic, replaces
  virtual Status remove(const Path& path) = 0;
  // A file that nobody has locked; another stays, which is ok.
  virtual Status remove_unused(const Path& path) = 0;
  virtual Status create_directories(const Path& path) = 0;
  virtual Status sync_directory(const Path& path) = 0;
  virtual Result<std::vector<std::string>> list(const Path& directory) = 0;  // names, sorted
  virtual bool exists(const Path& path) = 0;
  virtual Result<Bytes> size(const Path& path) = 0;
  // Creates the file. io where that is no regular file, or a symbolic link; timeout, naming who holds it.
  virtual Result<std::unique_ptr<FileLock>> lock(const Path& path, const LockPatience& patience) = 0;
  Result<std::unique_ptr<FileLock>> lock(const Path& path) { return lock(path, {}); }

  // "<target>.tmp.<random>".
  Result<TemporaryFile> create_temporary(const Path& target);

  Result<ByteVector> read(const Path& path);
  // Temporary file beside `path`, sync, rename: afterwards `path` is the old content or the new, never a part. A symbolic link is
  // replaced; io where anything else than a file is there. write_output_file() writes what a user names.
  Status write_atomically(const Path& path, ByteSpan bytes);

  static FileSystem& posix();
};

// Wraps a file system and lets a test decide which operations fail. `decide` gets the operation ("open", "read", "create",
// "append", "sync", "rename", …), the path and the number of bytes, and returns the failure to report, or ok.
std::unique_ptr<FileSystem> faulty_file_system(
    FileSystem& inner, std::function<Status(std::string_view operation, const Path& path, uint64_t bytes)> decide);

}  // namespace mneme
