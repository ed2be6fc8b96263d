// PendingFile: a new file under a temporary name, which takes its place when it is on the disk.
//
//   auto pending = PendingFile::write(files, path, bytes);
//   pending->file().sync();   // or several with FileSystem::sync_all()
//   pending->take_place();
//   files.sync_directory(path.parent_path());
//
// Whatever happens, `path` has the old content or the new, never a part. A file that has not taken its place is removed when the
// PendingFile is destroyed, before which the file system must not be.
#pragma once

#include <memory>
#include <utility>

#include "mneme/base/file_system.h"

namespace mneme {

class PendingFile {
 public:
  // Writes the bytes beside `path`. io: something else than a file is there; a symbolic link will be replaced by the file.
  static Result<PendingFile> write(FileSystem& files, const Path& path, ByteSpan bytes);
  // Of a file in the same folder that is there, and to which is appended. That something else than a file is at `path` is told
  // when it is to take its place.
  PendingFile(FileSystem& files, Path path, TemporaryFile temporary)
      : files_(&files), path_(std::move(path)), temporary_(std::move(temporary)) {}
  ~PendingFile();
  PendingFile(PendingFile&&) noexcept = default;
  PendingFile& operator=(PendingFile&& other) noexcept {
    std::swap(files_, other.files_), std::swap(path_, other.path_), std::swap(temporary_, other.temporary_);
    return *this;
  }

  Status append(ByteSpan bytes) { return temporary_.file->append(bytes); }
  UnsyncedFile& file() { return *temporary_.file; }
  const Path& temporary_path() const { return temporary_.path; }
  const Path& path() const { return path_; }
  // To be called once, after the file was synced.
  Status take_place();

 private:
  FileSystem* files_;
  Path path_;
  TemporaryFile temporary_;  // null once it has taken its place
};

}  // namespace mneme
