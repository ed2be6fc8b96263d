// ArchiveFiles: the files of an archive (archive.h), read where they lie in another file. A Database can be opened on them, so
// that an archive which is a part of an exported program need not be taken apart before it is replayed.
//
//   MNEME_ASSIGN(auto files, ArchiveFiles::open(std::move(file), offset, size, "matvec/recording"));
//   MNEME_ASSIGN(Database database, Database::open("matvec/recording", *files));
//
// Nothing can be written: what would change a file is unsupported. Thread-safe, as far as the file is.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/store/tar.h"

namespace mneme {

class ArchiveFiles final : public FileSystem {
 public:
  // The archive is the `size` bytes from `offset` on. `folder` is the path under which its files are found; nothing need be there
  // on disk. Failures: those of find_entries().
  static Result<std::unique_ptr<ArchiveFiles>> open(std::unique_ptr<ReadableFile> file, uint64_t offset, Bytes size, Path folder);

  Result<std::unique_ptr<ReadableFile>> open(const Path& path) override;
  Result<std::vector<std::string>> list(const Path& directory) override;
  bool exists(const Path& path) override;
  Result<Bytes> size(const Path& path) override;

  Result<std::unique_ptr<WritableFile>> create(const Path& path) override;
  Result<std::unique_ptr<WritableFile>> create_new(const Path& path) override;
  Result<std::unique_ptr<ChangeableFile>> open_to_change(const Path& path) override;
  Status rename(const Path& from, const Path& to) override;
  Status remove(const Path& path) override;
  Status remove_unused(const Path& path) override;
  Status create_directories(const Path& path) override;
  Status sync_directory(const Path& path) override;
  using FileSystem::lock;
  Result<std::unique_ptr<FileLock>> lock(const Path& path, const LockPatience& patience, LockKind kind) override;

 private:
  explicit ArchiveFiles(std::unique_ptr<ReadableFile> file) : file_(std::move(file)) {}
  Result<TarPlace> find(const Path& path) const;

  std::unique_ptr<ReadableFile> file_;
  std::map<std::string, TarPlace> places_;  // by path
};

}  // namespace mneme
