#include "mneme/base/pending_file.h"

#include <sys/stat.h>

#include "mneme/base/regular_file.h"

namespace mneme {
namespace {

// A FIFO or a device is not replaced by a file; of a directory the renaming tells.
Status check_replaceable(const Path& path) {
  struct stat info{};
  if (::lstat(path.c_str(), &info) != 0 || S_ISLNK(info.st_mode) || S_ISDIR(info.st_mode)) return {};
  return check_regular(info.st_mode, "writing", path);
}

}  // namespace

Result<PendingFile> PendingFile::write(FileSystem& files, const Path& path, ByteSpan bytes) {
  MNEME_TRY(check_replaceable(path));
  MNEME_ASSIGN(TemporaryFile temporary, files.create_temporary(path));
  PendingFile pending(files, path, std::move(temporary));
  MNEME_TRY(pending.append(bytes));
  return pending;
}

PendingFile::~PendingFile() {
  if (temporary_.file && files_->exists(temporary_.path)) [[maybe_unused]]
    Status ignored = files_->remove(temporary_.path);
}

// Closed, and so unlocked, once the temporary name is gone.
Status PendingFile::take_place() {
  MNEME_TRY(check_replaceable(path_));
  MNEME_TRY(files_->rename(temporary_.path, path_));
  return std::exchange(temporary_.file, nullptr)->close();
}

}  // namespace mneme
