#include "mneme/store/ready_files.h"

#include <sys/resource.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "mneme/base/idle_threads.h"

namespace mneme {
namespace {

// After so many of a kind the next ones are made ahead.
constexpr size_t kFirst = 8;

// Fewer where the process may open few.
size_t most_ready() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min<rlim_t>(limit.rlim_cur / 64, 16) : 0;
}

}  // namespace

ReadyFiles::ReadyFiles(FileSystem& files, std::array<Path, 3> targets)
    : files_(files), targets_(std::move(targets)), most_(most_ready()) {
  for (auto& of_kind : ready_) of_kind.reserve(most_);
}

ReadyFiles::~ReadyFiles() {
  {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !running_; });
  }
  // Closed, and so unlocked, once the name is gone.
  for (auto& of_kind : ready_)
    for (TemporaryFile& file : of_kind) {
      [[maybe_unused]] Status removed = files_.remove(file.path);
      [[maybe_unused]] Status closed = file.file->close();
    }
}

// How many of a kind are to be ready: few for a few launches, which may be the last ones.
size_t ReadyFiles::wanted(size_t kind) const { return taken_[kind] < kFirst ? 0 : std::min(most_, taken_[kind] / 4); }

// The thread is woken once for several files.
bool ReadyFiles::is_short() const {
  for (size_t kind = 0; kind < ready_.size(); ++kind)
    if (2 * ready_[kind].size() < wanted(kind)) return true;
  return false;
}

Result<TemporaryFile> ReadyFiles::take(Kind kind) {
  const auto of_kind = static_cast<size_t>(kind);
  std::optional<TemporaryFile> file;
  bool is_short = false;
  {
    std::lock_guard lock(mutex_);
    ++taken_[of_kind];
    if (!ready_[of_kind].empty()) {
      file = std::move(ready_[of_kind].back());
      ready_[of_kind].pop_back();
    }
    is_short = this->is_short();
    if (is_short && !running_ && !stopping_) start();
  }
  if (is_short) changed_.notify_all();
  if (file) return std::move(*file);
  return files_.create_temporary(targets_[of_kind]);
}

// Of what there is least of.
std::optional<size_t> ReadyFiles::kind_to_make() const {
  std::optional<size_t> found;
  for (size_t kind = 0; kind < ready_.size(); ++kind)
    if (ready_[kind].size() < wanted(kind) && (!found || ready_[kind].size() < ready_[*found].size())) found = kind;
  return found;
}

void ReadyFiles::start() {
  try {
    start_idle_thread([this] { run(); });
    running_ = true;
  } catch (const std::exception&) {
    stopping_ = true;  // each is made when it is taken
  }
}

// Where a file cannot be made, who takes one is to be told why.
std::optional<TemporaryFile> ReadyFiles::make(size_t kind) {
  try {
    if (auto file = files_.create_temporary(targets_[kind]); file.ok()) return std::move(*file);
  } catch (const std::exception&) {
  }
  return std::nullopt;
}

void ReadyFiles::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_ && changed_.wait_for(lock, kIdleThreadsEnd, [&] { return stopping_ || is_short(); })) {
    for (std::optional<size_t> kind; !stopping_ && (kind = kind_to_make());) {
      lock.unlock();
      std::optional<TemporaryFile> file = make(*kind);
      lock.lock();
      if (file)
        ready_[*kind].push_back(std::move(*file));
      else
        stopping_ = true;  // none is made ahead from now on
    }
  }
  running_ = false;
  changed_.notify_all();
}

}  // namespace mneme
