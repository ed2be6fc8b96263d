// All file access goes through FileSystem, so that full disks and failed writes can be tested without one.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

using Path = std::filesystem::path;

// The folder that a path lies in, "." for a bare name.
inline Path folder_of(const Path& path) { return path.has_parent_path() ? path.parent_path() : Path("."); }

// A file opened for reading. Several threads may read at once. The file is read and never mapped: when the disk fails, or
// somebody cuts the file short, reading returns an error, where access to a mapping would end the process.
class ReadableFile {
 public:
  virtual ~ReadableFile() = default;
  virtual Bytes size() const = 0;  // as it was when the file was opened
  // Fills all of `into` with the bytes from `offset` on. corrupt: the file ends before that. io: the system cannot read it.
  virtual Status read(uint64_t offset, MutableByteSpan into) = 0;
  // Reads `size` bytes from `offset` on. exhausted: they do not fit into the machine's memory. Else as read().
  Result<ByteVector> read_range(uint64_t offset, Bytes size);
};

// A file whose bytes may not be on the disk yet. Nothing is promised about the disk until sync() is ok.
class UnsyncedFile {
 public:
  virtual ~UnsyncedFile() = default;
  virtual Status sync() = 0;
};

// A file being written.
class WritableFile : public UnsyncedFile {
 public:
  // All of the bytes, or on failure none: a part that was written is taken back, where the system lets it be.
  virtual Status append(ByteSpan bytes) = 0;
  virtual Status close() = 0;
};

// An existing file that is changed in place.
class ChangeableFile : public UnsyncedFile {
 public:
  virtual Status write(uint64_t offset, ByteSpan bytes) = 0;  // overwrites what is there from `offset` on
};

// A new file under a name that nobody else has. It is locked until it is closed. Whoever removes left-over files therefore sees
// that this one is still being written, even from another container or host (FileSystem::remove_unused()).
struct TemporaryFile {
  Path path;
  std::unique_ptr<WritableFile> file;
};

// Holds an advisory lock until destroyed.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// How long to wait for a lock that somebody else holds.
struct LockPatience {
  std::chrono::milliseconds notice{1000};  // then a warning says which file is waited for, and who holds it
  std::chrono::milliseconds limit{5000};   // then waiting ends with Code::timeout
};

// Several may hold a shared lock on a file at once, and nobody beside an exclusive one.
enum class LockKind { exclusive, shared };

// Thread-safe. Failures: not_found, exhausted (disk or quota full), io; the message names the path and the reason.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // io: something else than a regular file is there. A FIFO, for example, is refused at once; its writer is never waited for.
  virtual Result<std::unique_ptr<ReadableFile>> open(const Path& path) = 0;
  virtual Result<std::unique_ptr<WritableFile>> create(const Path& path) = 0;  // empties a file that exists
  // Creates a file that does not exist yet, and locks it (see TemporaryFile). Null where the name is taken.
  virtual Result<std::unique_ptr<WritableFile>> create_new(const Path& path) = 0;
  virtual Result<std::unique_ptr<ChangeableFile>> open_to_change(const Path& path) = 0;  // not_found: there is none
  virtual Status rename(const Path& from, const Path& to) = 0;                           // atomic, replaces
  virtual Status remove(const Path& path) = 0;
  // Removes a file that nobody has locked. A locked one stays, and the result is ok.
  virtual Status remove_unused(const Path& path) = 0;
  virtual Status create_directories(const Path& path) = 0;
  virtual Status sync_directory(const Path& path) = 0;
  // Syncs these files of this file system, in any order and perhaps several at once, which takes a disk less time than one after
  // another. A status for each.
  virtual std::vector<Status> sync_all(std::span<UnsyncedFile* const> files);
  virtual Result<std::vector<std::string>> list(const Path& directory) = 0;  // names, sorted
  virtual bool exists(const Path& path) = 0;
  virtual Result<Bytes> size(const Path& path) = 0;
  // Locks the file, and creates it where there is none. io: something else than a regular file is there, or a symbolic link.
  // timeout: somebody else held the lock for longer than the patience; the message names who.
  virtual Result<std::unique_ptr<FileLock>> lock(const Path& path, const LockPatience& patience, LockKind kind) = 0;
  Result<std::unique_ptr<FileLock>> lock(const Path& path, const LockPatience& patience = {}) {
    return lock(path, patience, LockKind::exclusive);
  }

  // Creates "<target>.tmp.<random>", locked; is_temporary() tells such names.
  Result<TemporaryFile> create_temporary(const Path& target);

  Result<ByteVector> read(const Path& path);
  // Writes a temporary file beside `path`, syncs it and renames it: whatever happens, `path` has the old content or the new,
  // never a part. A symbolic link is replaced by the file. io: something else than a file is there. For a file that a user names,
  // use write_output_file().
  Status write_atomically(const Path& path, ByteSpan bytes);

  static FileSystem& posix();
};

// Whether the name of a file is one that create_temporary() gives.
bool is_temporary(std::string_view name);
// Whether it is one that create_temporary() gives for a target of this name.
bool is_temporary_of(std::string_view name, std::string_view target);

// For tests: wraps a file system so that a test decides which operations fail. `decide` gets the operation ("open", "read",
// "create", "append", "sync", "rename", …), the path and the number of bytes, and returns the failure to report, or ok.
std::unique_ptr<FileSystem> faulty_file_system(
    FileSystem& inner, std::function<Status(std::string_view operation, const Path& path, uint64_t bytes)> decide);

}  // namespace mneme
