#include "mneme/base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

// Of writers that were killed: what nobody has locked.
void remove_left_over(FileSystem& files, const Path& target) {
  auto names = files.list(folder_of(target));
  if (!names.ok()) return;
  for (const std::string& name : *names)
    if (is_temporary_of(name, target.filename().string())) [[maybe_unused]]
      Status ignored = files.remove_unused(folder_of(target) / name);
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::open(const Path& path, FileSystem& files) {
  std::unique_ptr<OutputFile> output(new OutputFile(files));
  if (is_special_file(path)) {
    MNEME_ASSIGN(output->file_, open_special_file(path));
    return output;
  }
  MNEME_TRY(check_output_file(path));
  MNEME_ASSIGN(output->target_, link_target(path));
  remove_left_over(files, output->target_);
  MNEME_ASSIGN(TemporaryFile temporary, files.create_temporary(output->target_));
  output->temporary_ = std::move(temporary.path);
  output->file_ = std::move(temporary.file);
  return output;
}

Result<std::unique_ptr<OutputFile>> OutputFile::standard_output() {
  Descriptor file(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!file.open()) return system_error(errno, "opening", "standard output");
  std::unique_ptr<OutputFile> output(new OutputFile(FileSystem::posix()));
  output->file_ = std::make_unique<SpecialFile>(std::move(file), "standard output");
  return output;
}

OutputFile::~OutputFile() {
  if (!file_ || temporary_.empty()) return;
  [[maybe_unused]] Status closed = file_->close();
  [[maybe_unused]] Status removed = files_.remove(temporary_);
}

Status OutputFile::finish() {
  if (temporary_.empty()) return std::exchange(file_, nullptr)->close();
  MNEME_TRY(file_->sync());
  // Closed, and so unlocked, once the temporary name is gone.
  MNEME_TRY(files_.rename(temporary_, target_));
  MNEME_TRY(std::exchange(file_, nullptr)->close());
  return files_.sync_directory(folder_of(target_));
}

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

Status check_output_file(const Path& path) {
  if (path.empty()) return error(Code::invalid_argument, "no file to write is named");
  if (is_special_file(path)) return {};
  MNEME_ASSIGN(const Path target, link_target(path));
  std::error_code ignored;
  if (std::filesystem::is_directory(target, ignored))
    return error(Code::invalid_argument, "writing {}: Is a directory: name a file in it, or another one", path.string());
  const Path folder = folder_of(target);
  if (!std::filesystem::is_directory(folder, ignored))
    return error(Code::not_found, "writing {}: there is no folder {}", path.string(), folder.string());
  // A file is made there, under another name first.
  if (::eaccess(folder.c_str(), W_OK | X_OK) != 0)
    return system_error(errno, fmt::format("writing {}: the folder", path.string()), folder);
  return {};
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
  MNEME_TRY(check_output_file(path));
  MNEME_ASSIGN(Path target, link_target(path));
  return files.write_atomically(target, bytes);
}

}  // namespace mneme
