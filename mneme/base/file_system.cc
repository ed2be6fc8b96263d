#include "mneme/base/file_system.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>

#include "mneme/base/descriptor.h"
#include "mneme/base/file_lock.h"
#include "mneme/base/pending_file.h"
#include "mneme/base/regular_file.h"
#include "mneme/base/signals_blocked.h"

namespace mneme {
namespace {

constexpr std::string_view kTemporary = ".tmp.";
// So many files are synced at once. File systems write the journal once for all that wait for it.
constexpr size_t kMostSyncs = 8;
// What was appended goes to the disk in pieces of this size, and does not wait until the file is synced.
constexpr uint64_t kToDiskAtOnce = Bytes(4_MiB).count;

class PosixReadableFile final : public ReadableFile {
 public:
  PosixReadableFile(Descriptor file, Bytes size, Path path) : file_(std::move(file)), size_(size), path_(std::move(path)) {}
  Bytes size() const override { return size_; }

  Status read(uint64_t offset, MutableByteSpan into) override {
    while (!into.empty()) {
      const ssize_t got = ::pread(file_.number(), into.data(), into.size(), static_cast<off_t>(offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return error(Code::io, "reading {}: offset {}: {}", path_.string(), offset, std::strerror(errno));
      if (got == 0)
        return error(Code::corrupt, "{}: offset {}: the file ends there, where {} more bytes were expected: it was cut short",
                     path_.string(), offset, into.size());
      into = into.subspan(static_cast<size_t>(got));
      offset += static_cast<uint64_t>(got);
    }
    return {};
  }

 private:
  const Descriptor file_;
  const Bytes size_;
  const Path path_;
};

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(Descriptor file, Path path) : file_(std::move(file)), path_(std::move(path)) {}
  ~PosixWritableFile() override { unlock_file(file_); }

  Status append(ByteSpan bytes) override {
    if (Status written = write_all(file_.number(), bytes, path_); !written.ok()) {
      const auto end = static_cast<off_t>(size_);
      if (::ftruncate(file_.number(), end) == 0) (void)::lseek(file_.number(), end, SEEK_SET);
      return written;
    }
    size_ += bytes.size();
    if (size_ - begun_ < kToDiskAtOnce) return {};
    begin_to_disk(file_.number(), begun_, Bytes(size_ - begun_));
    begun_ = size_;
    return {};
  }
  Status sync() override { return ::fsync(file_.number()) == 0 ? Status() : system_error(errno, "syncing", path_); }
  Status close() override {
    unlock_file(file_);
    return ::close(file_.release()) == 0 ? Status() : system_error(errno, "closing", path_);
  }

 private:
  Descriptor file_;
  Path path_;
  uint64_t size_ = 0, begun_ = 0;  // of which the disk was to begin with so much
};

class PosixChangeableFile final : public ChangeableFile {
 public:
  PosixChangeableFile(Descriptor file, Path path) : file_(std::move(file)), path_(std::move(path)) {}

  Status write(uint64_t offset, ByteSpan bytes) override {
    if (::lseek(file_.number(), static_cast<off_t>(offset), SEEK_SET) < 0) return system_error(errno, "writing", path_);
    return write_all(file_.number(), bytes, path_);
  }
  Status sync() override { return ::fdatasync(file_.number()) == 0 ? Status() : system_error(errno, "syncing", path_); }

 private:
  const Descriptor file_;
  const Path path_;
};

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(Descriptor file) : file_(std::move(file)) {}
  ~PosixFileLock() override { unlock_file(file_); }

 private:
  Descriptor file_;
};

class PosixFileSystem final : public FileSystem {
 public:
  Result<std::unique_ptr<ReadableFile>> open(const Path& path) override {
    MNEME_ASSIGN(Descriptor file, open_regular(path, O_RDONLY, Links::follow));
    struct stat info{};
    if (::fstat(file.number(), &info) != 0) return system_error(errno, "opening", path);
    const Bytes size(static_cast<uint64_t>(info.st_size));
    return std::unique_ptr<ReadableFile>(new PosixReadableFile(std::move(file), size, path));
  }

  Result<std::unique_ptr<WritableFile>> create(const Path& path) override {
    MNEME_ASSIGN(Descriptor file, open_regular(path, O_WRONLY | O_CREAT | O_TRUNC, Links::refuse, "creating"));
    return std::unique_ptr<WritableFile>(new PosixWritableFile(std::move(file), path));
  }

  Result<std::unique_ptr<WritableFile>> create_new(const Path& path) override {
    Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
    if (!file.open() && errno == EEXIST) return std::unique_ptr<WritableFile>();
    if (!file.open()) return system_error(errno, "creating", path);
    // Whoever removes left-overs may have been faster than the lock: the name is given up then.
    if (lock_file_now(file) == LockAttempt::taken || is_removed(file)) return std::unique_ptr<WritableFile>();
    return std::unique_ptr<WritableFile>(new PosixWritableFile(std::move(file), path));
  }
  Result<std::unique_ptr<ChangeableFile>> open_to_change(const Path& path) override {
    MNEME_ASSIGN(Descriptor file, open_regular(path, O_WRONLY, Links::refuse));
    return std::unique_ptr<ChangeableFile>(new PosixChangeableFile(std::move(file), path));
  }

  Status rename(const Path& from, const Path& to) override {
    return ::rename(from.c_str(), to.c_str()) == 0 ? Status() : system_error(errno, "renaming to", to);
  }
  Status remove(const Path& path) override {
    return ::unlink(path.c_str()) == 0 ? Status() : system_error(errno, "removing", path);
  }
  Status remove_unused(const Path& path) override {
    // For writing, as some network file systems give no other lock.
    MNEME_ASSIGN(Descriptor file, open_regular(path, O_RDWR, Links::refuse, "removing"));
    return lock_file_now(file) == LockAttempt::locked ? remove(path) : Status();
  }

  Status create_directories(const Path& path) override {
    std::error_code code;
    std::filesystem::create_directories(path, code);
    return code ? system_error(code.value(), "creating the directory", path) : Status();
  }

  Status sync_directory(const Path& path) override {
    Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!directory.open() || ::fsync(directory.number()) != 0) return system_error(errno, "syncing", path);
    return {};
  }

  std::vector<Status> sync_all(std::span<UnsyncedFile* const> files) override {
    std::vector<Status> statuses(files.size(), error(Code::exhausted, "there is no memory to sync files with"));
    std::atomic<size_t> next = 0;
    const auto work = [&] {
      for (size_t i; (i = next++) < files.size();) try {
          statuses[i] = files[i]->sync();
        } catch (const std::bad_alloc&) {  // it stays as it is
        }
    };
    std::vector<std::thread> threads;
    try {
      const SignalsBlocked blocked;
      while (threads.size() + 1 < std::min(files.size(), kMostSyncs)) threads.emplace_back(work);
    } catch (const std::system_error&) {  // those that there are do it
    }
    work();
    for (std::thread& thread : threads) thread.join();
    return statuses;
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

  using FileSystem::lock;
  Result<std::unique_ptr<FileLock>> lock(const Path& path, const LockPatience& patience, LockKind kind) override {
    MNEME_ASSIGN(Descriptor file, open_regular(path, O_RDWR | O_CREAT, Links::refuse, "opening the lock"));
    MNEME_TRY(lock_file(file, path, patience, kind));
    return std::unique_ptr<FileLock>(new PosixFileLock(std::move(file)));
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

class FaultyChangeableFile final : public ChangeableFile {
 public:
  FaultyChangeableFile(std::unique_ptr<ChangeableFile> inner, Path path, const FaultyWritableFile::Decide& decide)
      : inner_(std::move(inner)), path_(std::move(path)), decide_(decide) {}

  Status write(uint64_t offset, ByteSpan bytes) override {
    MNEME_TRY(decide_("write", path_, bytes.size()));
    return inner_->write(offset, bytes);
  }
  Status sync() override {
    MNEME_TRY(decide_("sync", path_, 0));
    return inner_->sync();
  }

 private:
  std::unique_ptr<ChangeableFile> inner_;
  Path path_;
  const FaultyWritableFile::Decide& decide_;
};

class FaultyReadableFile final : public ReadableFile {
 public:
  FaultyReadableFile(std::unique_ptr<ReadableFile> inner, Path path, const FaultyWritableFile::Decide& decide)
      : inner_(std::move(inner)), path_(std::move(path)), decide_(decide) {}

  Bytes size() const override { return inner_->size(); }
  Status read(uint64_t offset, MutableByteSpan into) override {
    MNEME_TRY(decide_("read", path_, into.size()));
    return inner_->read(offset, into);
  }

 private:
  std::unique_ptr<ReadableFile> inner_;
  Path path_;
  const FaultyWritableFile::Decide& decide_;
};

class FaultyFileSystem final : public FileSystem {
 public:
  FaultyFileSystem(FileSystem& inner, FaultyWritableFile::Decide decide) : inner_(inner), decide_(std::move(decide)) {}

  Result<std::unique_ptr<ReadableFile>> open(const Path& path) override {
    MNEME_TRY(decide_("open", path, 0));
    MNEME_ASSIGN(auto file, inner_.open(path));
    return std::unique_ptr<ReadableFile>(new FaultyReadableFile(std::move(file), path, decide_));
  }
  Result<std::unique_ptr<WritableFile>> create(const Path& path) override {
    MNEME_TRY(decide_("create", path, 0));
    MNEME_ASSIGN(auto file, inner_.create(path));
    return std::unique_ptr<WritableFile>(new FaultyWritableFile(std::move(file), path, decide_));
  }
  Result<std::unique_ptr<WritableFile>> create_new(const Path& path) override {
    MNEME_TRY(decide_("create", path, 0));
    MNEME_ASSIGN(auto file, inner_.create_new(path));
    return file ? std::unique_ptr<WritableFile>(new FaultyWritableFile(std::move(file), path, decide_)) : nullptr;
  }
  Result<std::unique_ptr<ChangeableFile>> open_to_change(const Path& path) override {
    MNEME_TRY(decide_("open_to_change", path, 0));
    MNEME_ASSIGN(auto file, inner_.open_to_change(path));
    return std::unique_ptr<ChangeableFile>(new FaultyChangeableFile(std::move(file), path, decide_));
  }
  Status rename(const Path& from, const Path& to) override {
    MNEME_TRY(decide_("rename", to, 0));
    return inner_.rename(from, to);
  }
  Status remove(const Path& path) override {
    MNEME_TRY(decide_("remove", path, 0));
    return inner_.remove(path);
  }
  Status remove_unused(const Path& path) override {
    MNEME_TRY(decide_("remove", path, 0));
    return inner_.remove_unused(path);
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
  using FileSystem::lock;
  Result<std::unique_ptr<FileLock>> lock(const Path& path, const LockPatience& patience, LockKind kind) override {
    MNEME_TRY(decide_("lock", path, 0));
    return inner_.lock(path, patience, kind);
  }

 private:
  FileSystem& inner_;
  FaultyWritableFile::Decide decide_;
};

Bytes physical_memory() {
  return Bytes(static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)));
}

}  // namespace

Result<ByteVector> ReadableFile::read_range(uint64_t offset, Bytes size) {
  // The size is the file's word only: one that is mostly a hole may have any.
  if (size > physical_memory())
    return error(Code::exhausted, "{} do not fit in the machine's memory of {}", size, physical_memory());
  ByteVector bytes;
  try {
    bytes.resize(size.count);
  } catch (const std::bad_alloc&) {
    return error(Code::exhausted, "there is no memory for {}", size);
  }
  MNEME_TRY(read(offset, bytes));
  return bytes;
}

Result<ByteVector> FileSystem::read(const Path& path) {
  MNEME_ASSIGN(auto file, open(path));
  auto bytes = file->read_range(0, file->size());
  if (bytes.status().code() == Code::exhausted) return bytes.status().with_context(fmt::format("reading {}", path.string()));
  return bytes;
}

Result<TemporaryFile> FileSystem::create_temporary(const Path& target) {
  constexpr int kAttempts = 100;
  for (int i = 0; i < kAttempts; ++i) {
    uint64_t number = 0;
    if (::getrandom(&number, sizeof number, 0) != sizeof number) return system_error(errno, "naming a temporary file of", target);
    TemporaryFile temporary{target, nullptr};
    temporary.path += fmt::format("{}{:016x}", kTemporary, number);
    MNEME_ASSIGN(temporary.file, create_new(temporary.path));
    if (temporary.file) return temporary;
  }
  return error(Code::io, "creating {}.tmp.*: {} random names in a row were taken", target.string(), kAttempts);
}

std::vector<Status> FileSystem::sync_all(std::span<UnsyncedFile* const> files) {
  std::vector<Status> statuses;
  for (UnsyncedFile* file : files) statuses.push_back(file->sync());
  return statuses;
}

Status FileSystem::write_atomically(const Path& path, ByteSpan bytes) {
  MNEME_ASSIGN(PendingFile pending, PendingFile::write(*this, path, bytes));
  MNEME_TRY(pending.file().sync());
  MNEME_TRY(pending.take_place());
  return sync_directory(folder_of(path));
}

bool is_temporary(std::string_view name) {
  const size_t at = name.rfind(kTemporary);
  return at != std::string_view::npos && is_temporary_of(name, name.substr(0, at));
}

bool is_temporary_of(std::string_view name, std::string_view target) {
  if (!name.starts_with(target) || !name.substr(target.size()).starts_with(kTemporary)) return false;
  return name.find_first_not_of("0123456789abcdef.", target.size() + kTemporary.size()) == std::string_view::npos;
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
