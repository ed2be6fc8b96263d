#include "mneme/base/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace mneme {
namespace {

Status system_error(int code, std::string_view what, const Path& path) {
  Code kind = code == ENOENT ? Code::not_found : code == ENOSPC || code == EDQUOT ? Code::exhausted : Code::io;
  return error(kind, "{} {}: {}", what, path.string(), std::strerror(code));
}

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

class PosixMappedFile final : public MappedFile {
 public:
  PosixMappedFile(void* data, size_t size) : data_(data), size_(size) {}
  ~PosixMappedFile() override {
    if (size_ != 0) ::munmap(data_, size_);
  }
  ByteSpan bytes() const override { return {static_cast<const std::byte*>(data_), size_}; }

 private:
  void* data_;
  size_t size_;
};

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(FileDescriptor fd, Path path) : fd_(std::move(fd)), path_(std::move(path)) {}

  Status append(ByteSpan bytes) override {
    while (!bytes.empty()) {
      ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return system_error(errno, "writing", path_);
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
    return {};
  }
  Status sync() override { return ::fsync(fd_.get()) == 0 ? Status() : system_error(errno, "syncing", path_); }
  Status close() override { return ::close(fd_.release()) == 0 ? Status() : system_error(errno, "closing", path_); }

 private:
  FileDescriptor fd_;
  Path path_;
};

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(FileDescriptor fd) : fd_(std::move(fd)) {}

 private:
  FileDescriptor fd_;
};

class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<MappedFile>> map(const Path& path) override {
    FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info;
    if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) return system_error(errno, "opening", path);
    if (S_ISDIR(info.st_mode)) return system_error(EISDIR, "opening", path);
    auto size = static_cast<size_t>(info.st_size);
    if (size == 0) return std::unique_ptr<MappedFile>(new PosixMappedFile(nullptr, 0));
    void* data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (data == MAP_FAILED) return system_error(errno, "mapping", path);
    return std::unique_ptr<MappedFile>(new PosixMappedFile(data, size));
  }

  Result<std::unique_ptr<WritableFile>> create(const Path& path) override {
    FileDescriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (fd.get() < 0) return system_error(errno, "creating", path);
    return std::unique_ptr<WritableFile>(new PosixWritableFile(std::move(fd), path));
  }

  Status rename(const Path& from, const Path& to) override {
    return ::rename(from.c_str(), to.c_str()) == 0 ? Status() : system_error(errno, "renaming to", to);
  }
  Status remove(const Path& path) override {
    return ::unlink(path.c_str()) == 0 ? Status() : system_error(errno, "removing", path);
  }

  Status create_directories(const Path& path) override {
    std::error_code code;
    std::filesystem::create_directories(path, code);
    return code ? system_error(code.value(), "creating the directory", path) : Status();
  }

  Status sync_directory(const Path& path) override {
    FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (fd.get() < 0 || ::fsync(fd.get()) != 0) return system_error(errno, "syncing", path);
    return {};
  }

  Result<std::vector<std::string>> list(const Path& directory) override {
    DIR* handle = ::opendir(directory.c_str());
    if (!handle) return system_error(errno, "listing", directory);
    std::vector<std::string> names;
    while (const dirent* entry = ::readdir(handle)) {
      std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    ::closedir(handle);
    std::sort(names.begin(), names.end());
    return names;
  }

  bool exists(const Path& path) override { return ::access(path.c_str(), F_OK) == 0; }

  Result<Bytes> size(const Path& path) override {
    struct stat info;
    if (::stat(path.c_str(), &info) != 0) return system_error(errno, "looking at", path);
    return Bytes(static_cast<uint64_t>(info.st_size));
  }

  Result<std::unique_ptr<FileLock>> lock(const Path& path) override {
    FileDescriptor fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
    if (fd.get() < 0) return system_error(errno, "opening the lock", path);
    while (::flock(fd.get(), LOCK_EX) != 0)
      if (errno != EINTR) return system_error(errno, "locking", path);
    return std::unique_ptr<FileLock>(new PosixFileLock(std::move(fd)));
  }
};

class FaultyWritableFile final : public WritableFile {
 public:
  using Decide = std::function<Status(std::string_view, const Path&, uint64_t)>;
  FaultyWritableFile(std::unique_ptr<WritableFile> inner, Path path, const Decide& decide)
      : inner_(std::move(inner)), path_(std::move(path)), decide_(decide) {}

  Status append(ByteSpan bytes) override {
    MNEME_TRY(decide_("append", path_, bytes.size()));
    return inner_->append(bytes);
  }
  Status sync() override {
    MNEME_TRY(decide_("sync", path_, 0));
    return inner_->sync();
  }
  Status close() override {
    MNEME_TRY(decide_("close", path_, 0));
    return inner_->close();
  }

 private:
  std::unique_ptr<WritableFile> inner_;
  Path path_;
  const Decide& decide_;
};

class FaultyFileSystem final : public FileSystem {
 public:
  FaultyFileSystem(FileSystem& inner, FaultyWritableFile::Decide decide) : inner_(inner), decide_(std::move(decide)) {}

  Result<std::unique_ptr<MappedFile>> map(const Path& path) override {
    MNEME_TRY(decide_("map", path, 0));
    return inner_.map(path);
  }
  Result<std::unique_ptr<WritableFile>> create(const Path& path) override {
    MNEME_TRY(decide_("create", path, 0));
    MNEME_ASSIGN(auto file, inner_.create(path));
    return std::unique_ptr<WritableFile>(new FaultyWritableFile(std::move(file), path, decide_));
  }
  Status rename(const Path& from, const Path& to) override {
    MNEME_TRY(decide_("rename", to, 0));
    return inner_.rename(from, to);
  }
  Status remove(const Path& path) override {
    MNEME_TRY(decide_("remove", path, 0));
    return inner_.remove(path);
  }
  Status create_directories(const Path& path) override {
    MNEME_TRY(decide_("create_directories", path, 0));
    return inner_.create_directories(path);
  }
  Status sync_directory(const Path& path) override {
    MNEME_TRY(decide_("sync_directory", path, 0));
    return inner_.sync_directory(path);
  }
  Result<std::vector<std::string>> list(const Path& path) override { return inner_.list(path); }
  bool exists(const Path& path) override { return inner_.exists(path); }
  Result<Bytes> size(const Path& path) override { return inner_.size(path); }
  Result<std::unique_ptr<FileLock>> lock(const Path& path) override {
    MNEME_TRY(decide_("lock", path, 0));
    return inner_.lock(path);
  }

 private:
  FileSystem& inner_;
  FaultyWritableFile::Decide decide_;
};

}  // namespace

Result<ByteVector> FileSystem::read(const Path& path) {
  MNEME_ASSIGN(auto file, map(path));
  return ByteVector(file->bytes().begin(), file->bytes().end());
}

Status FileSystem::write_atomically(const Path& path, ByteSpan bytes) {
  static std::atomic<uint64_t> counter = 0;
  Path temporary = path;
  temporary += fmt::format(".tmp.{}.{}", ::getpid(), counter++);
  auto write = [&]() -> Status {
    MNEME_ASSIGN(auto file, create(temporary));
    MNEME_TRY(file->append(bytes));
    MNEME_TRY(file->sync());
    MNEME_TRY(file->close());
    MNEME_TRY(rename(temporary, path));
    return sync_directory(path.has_parent_path() ? path.parent_path() : Path("."));
  };
  Status status = write();
  if (!status.ok() && exists(temporary)) [[maybe_unused]]
    Status ignored = remove(temporary);
  return status;
}

FileSystem& FileSystem::posix() {
  static PosixFileSystem file_system;
  return file_system;
}

std::unique_ptr<FileSystem> faulty_file_system(FileSystem& inner,
                                               std::function<Status(std::string_view, const Path&, uint64_t)> decide) {
  return std::make_unique<FaultyFileSystem>(inner, std::move(decide));
}

}  // namespace mneme
