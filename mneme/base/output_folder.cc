#include "mneme/base/output_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>

#include "mneme/base/output_file.h"
#include "mneme/base/regular_file.h"

namespace mneme {
namespace {

namespace fs = std::filesystem;

// "matvec/" is "matvec".
Path without_slash(const Path& path) { return path.has_filename() ? path : path.parent_path(); }

Descriptor open_folder(const Path& path) {
  return Descriptor(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

bool is_there(const Path& path) {
  struct stat info{};
  return ::lstat(path.c_str(), &info) == 0;
}

Status taken(const Path& path) {
  return error(Code::invalid_argument, "{} is there already: name a folder that is not", path.string());
}

}  // namespace

Status OutputFolder::check(const Path& path) {
  const Path target = without_slash(path);
  if (is_there(target)) return taken(target);
  return check_output_file(target);
}

void OutputFolder::remove_left_over(const Path& path) {
  const Path target = without_slash(path);
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_of(target), ignored)) {
    if (!is_temporary_of(entry.path().filename().string(), target.filename().string())) continue;
    const Descriptor folder = open_folder(entry.path());
    if (folder.open() && ::flock(folder.number(), LOCK_EX | LOCK_NB) == 0) fs::remove_all(entry.path(), ignored);
  }
}

Result<std::unique_ptr<OutputFolder>> OutputFolder::create(const Path& path, FileSystem& files) {
  MNEME_TRY(check(path));
  remove_left_over(path);
  std::unique_ptr<OutputFolder> folder(new OutputFolder(without_slash(path), files));
  uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) return system_error(errno, "naming a temporary folder of", path);
  Path temporary = folder->target_;
  temporary += fmt::format(".tmp.{:016x}", number);
  if (::mkdir(temporary.c_str(), 0777) != 0) return system_error(errno, "making the folder", temporary);
  folder->temporary_ = std::move(temporary);
  folder->lock_ = open_folder(folder->temporary_);
  if (!folder->lock_.open() || ::flock(folder->lock_.number(), LOCK_EX) != 0)
    return system_error(errno, "locking", folder->temporary_);
  return folder;
}

OutputFolder::~OutputFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) fs::remove_all(temporary_, ignored);
}

Result<std::unique_ptr<WritableFile>> OutputFolder::open(const std::string& name) {
  const Path path = temporary_ / name;
  if (path.parent_path() != temporary_) MNEME_TRY(files_.create_directories(path.parent_path()));
  return files_.create(path);
}

Status OutputFolder::write(const std::string& name, ByteSpan bytes) {
  MNEME_ASSIGN(const auto file, open(name));
  MNEME_TRY(file->append(bytes));
  MNEME_TRY(file->sync());
  return file->close();
}

Status OutputFolder::write(const std::string& name, const std::string& text) {
  return write(name, std::as_bytes(std::span(text)));
}

Status OutputFolder::finish() {
  std::error_code failure;
  const auto now = fs::file_time_type::clock::now();
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(temporary_, failure)) {
    if (!failure && entry.is_regular_file(failure)) fs::last_write_time(entry.path(), now, failure);
    if (failure) return system_error(failure.value(), "giving its time to", entry.path());
  }
  MNEME_TRY(files_.sync_directory(temporary_));
  if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_NOREPLACE) != 0) {
    if (errno == EEXIST || is_there(target_)) return taken(target_);
    // A file system that does not know the flag.
    MNEME_TRY(files_.rename(temporary_, target_));
  }
  temporary_.clear();
  return files_.sync_directory(folder_of(target_));
}

}  // namespace mneme
