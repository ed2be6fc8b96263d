#include "mneme/base/file_lock.h"

#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "mneme/base/log.h"
#include "mneme/base/regular_file.h"
#include "mneme/base/shown.h"

namespace mneme {
namespace {

// Zero, or the code of the system's error.
int try_lock(const Descriptor& file, LockKind kind) {
  int result = 0;
  do {
    result = ::flock(file.number(), (kind == LockKind::shared ? LOCK_SH : LOCK_EX) | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result == 0 ? 0 : errno;
}

// The process of a line of /proc/locks ("1: FLOCK  ADVISORY  WRITE 1234 08:01:131073 0 EOF"), where that is a lock on the file.
std::optional<pid_t> holder_in(const std::string& line, ino_t file) {
  std::istringstream in(line);
  std::string number, kind, advisory, access, place;
  pid_t process = 0;
  if (!(in >> number >> kind >> advisory >> access >> process >> place) || kind != "FLOCK" || process <= 0) return std::nullopt;
  const size_t at = place.rfind(':');
  return at != std::string::npos && place.substr(at + 1) == std::to_string(file) ? std::optional(process) : std::nullopt;
}

// "process 1234 (python3)".
std::string describe_holder(const Descriptor& file) {
  struct stat info{};
  std::ifstream locks("/proc/locks");
  if (::fstat(file.number(), &info) == 0) {
    for (std::string line; std::getline(locks, line);) {
      const std::optional<pid_t> process = holder_in(line, info.st_ino);
      if (!process) continue;
      std::string name;
      std::getline(std::ifstream(fmt::format("/proc/{}/comm", *process)), name);
      return fmt::format("process {}{}", *process, name.empty() ? "" : fmt::format(" ({})", shown(name)));
    }
  }
  return "a process that is not seen from here (of another container or host)";
}

}  // namespace

LockAttempt lock_file_now(const Descriptor& file) {
  const int code = try_lock(file, LockKind::exclusive);
  return code == 0 ? LockAttempt::locked : code == EWOULDBLOCK ? LockAttempt::taken : LockAttempt::no_locks;
}

void unlock_file(const Descriptor& file) {
  if (file.open()) ::flock(file.number(), LOCK_UN);
}

bool is_removed(const Descriptor& file) {
  struct stat info{};
  return ::fstat(file.number(), &info) == 0 && info.st_nlink == 0;
}

Status lock_file(const Descriptor& file, const Path& path, const LockPatience& patience, LockKind kind) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  // The system's own wait has no limit of time.
  constexpr std::chrono::milliseconds kLongestPause{20};
  bool noticed = false;
  for (std::chrono::milliseconds pause{1};; pause = std::min(2 * pause, kLongestPause)) {
    const int code = try_lock(file, kind);
    if (code == 0) return {};
    if (code != EWOULDBLOCK) return system_error(code, "locking", path);
    const Clock::duration waited = Clock::now() - begin;
    if (waited >= patience.limit)
      return error(Code::timeout, "locking {}: {} has held it for {:.1f} s: wait for it or end it, or name another folder",
                   path.string(), describe_holder(file), std::chrono::duration<double>(waited).count());
    if (!noticed && waited >= patience.notice) {
      log::warning("waiting for {}, which {} holds", path.string(), describe_holder(file));
      noticed = true;
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace mneme
