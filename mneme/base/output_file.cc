#include "mneme/base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "mneme/base/descriptor.h"
#include "mneme/base/regular_file.h"

namespace mneme {
namespace {

// As many links as Linux follows in one path.
constexpr int kMostLinks = 40;

class SpecialFile final : public WritableFile {
 public:
  SpecialFile(Descriptor file, Path path) : file_(std::move(file)), path_(std::move(path)) {}

  Status append(ByteSpan bytes) override { return write_all(file_.number(), bytes, path_); }
  // What is no regular file keeps nothing that could be lost.
  Status sync() override { return {}; }
  Status close() override { return ::close(file_.release()) == 0 ? Status() : system_error(errno, "closing", path_); }

 private:
  Descriptor file_;
  Path path_;
};

}  // namespace

Result<Path> link_target(const Path& path) {
  Path target = path;
  for (int links = 0; links < kMostLinks; ++links) {
    struct stat info{};
    if (::lstat(target.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return target;
    std::error_code failure;
    const Path next = std::filesystem::read_symlink(target, failure);
    if (failure) return system_error(failure.value(), "following the link", target);
    target = target.parent_path() / next;
  }
  return system_error(ELOOP, "following the link", path);
}

Status check_output_folder(const Path& path) {
  MNEME_ASSIGN(const Path target, link_target(path));
  const Path folder = target.has_parent_path() ? target.parent_path() : Path(".");
  std::error_code ignored;
  if (std::filesystem::is_directory(folder, ignored)) return {};
  return error(Code::not_found, "writing {}: there is no folder {}", path.string(), folder.string());
}

bool is_special_file(const Path& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

Result<std::unique_ptr<WritableFile>> open_special_file(const Path& path) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC));
  if (!file.open()) return system_error(errno, "opening", path);
  return std::unique_ptr<WritableFile>(new SpecialFile(std::move(file), path));
}

Status write_output_file(const Path& path, ByteSpan bytes, FileSystem& files) {
  if (is_special_file(path)) {
    MNEME_ASSIGN(auto file, open_special_file(path));
    MNEME_TRY(file->append(bytes));
    return file->close();
  }
  MNEME_ASSIGN(Path target, link_target(path));
  return files.write_atomically(target, bytes);
}

}  // namespace mneme
