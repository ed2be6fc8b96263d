#include "mneme/base/regular_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mneme {
namespace {

std::string_view kind_of(mode_t mode) {
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISLNK(mode)) return "a symbolic link";
  return S_ISCHR(mode) || S_ISBLK(mode) ? "a device" : "no file";
}

// write(2), for which a limit on the size of files (ulimit -f) is EFBIG and nothing more: the signal that goes with it would end
// the process, which may be the user's program.
ssize_t write_without_signal(int file, ByteSpan bytes) {
  sigset_t signals, before;
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  const ssize_t written = ::write(file, bytes.data(), bytes.size());
  const int failure = errno;
  constexpr timespec kNow{};
  if (written < 0 && failure == EFBIG && sigismember(&before, SIGXFSZ) == 0) ::sigtimedwait(&signals, nullptr, &kNow);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = failure;
  return written;
}

}  // namespace

Status system_error(int code, std::string_view what, const Path& path) {
  const Code kind = code == ENOENT ? Code::not_found : code == ENOSPC || code == EDQUOT ? Code::exhausted : Code::io;
  return error(kind, "{} {}: {}", what, path.string(), std::strerror(code));
}

Status check_regular(mode_t mode, std::string_view what, const Path& path) {
  if (S_ISREG(mode)) return {};
  if (S_ISDIR(mode)) return system_error(EISDIR, what, path);
  return error(Code::io, "{} {}: it is {}, where a regular file is needed: remove it, or name another file", what, path.string(),
               kind_of(mode));
}

Status write_all(int file, ByteSpan bytes, const Path& path) {
  while (!bytes.empty()) {
    const ssize_t written = write_without_signal(file, bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_error(errno, "writing", path);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  return {};
}

void begin_to_disk(int file, uint64_t offset, Bytes size) {
  (void)::sync_file_range(file, static_cast<off_t>(offset), static_cast<off_t>(size.count), SYNC_FILE_RANGE_WRITE);
}

Result<Descriptor> open_regular(const Path& path, int flags, Links links, std::string_view what) {
  struct stat info{};
  const bool there = (links == Links::follow ? ::stat(path.c_str(), &info) : ::lstat(path.c_str(), &info)) == 0;
  if (there) MNEME_TRY(check_regular(info.st_mode, what, path));
  // Another file may take its place before it is opened: that one is not waited for either.
  const int opening = (flags & ~O_TRUNC) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (links == Links::refuse ? O_NOFOLLOW : 0);
  Descriptor file(::open(path.c_str(), opening, 0666));
  if (!file.open() || ::fstat(file.number(), &info) != 0) return system_error(errno, what, path);
  MNEME_TRY(check_regular(info.st_mode, what, path));
  if ((flags & O_TRUNC) != 0 && ::ftruncate(file.number(), 0) != 0) return system_error(errno, what, path);
  return file;
}

}  // namespace mneme
