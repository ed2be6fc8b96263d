#include "mneme/base/idle_threads.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <thread>
#include <utility>

#include "mneme/base/signals_blocked.h"

namespace mneme {
namespace {

// What the program blocks, in one of these threads. They start each other.
thread_local std::optional<sigset_t> programs_signals;

// Without memory of the heap, and without an error of a stream: the program may be in any state.
bool main_thread_has_ended() {
  char text[512];
  const int file = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const ssize_t size = ::read(file, text, sizeof text);
  ::close(file);
  if (size <= 0) return false;
  // The process's number, its name in parentheses, in which anything may stand, and the state of its main thread.
  const auto* const name_ends = static_cast<const char*>(::memrchr(text, ')', static_cast<size_t>(size)));
  return name_ends && name_ends + 2 < text + size && (name_ends[2] == 'Z' || name_ends[2] == 'X');
}

}  // namespace

// The system lists an ended main thread as long as there are others.
bool is_last_thread() {
  if (!main_thread_has_ended()) return false;
  std::error_code failed;
  const std::filesystem::directory_iterator threads("/proc/self/task", failed);
  return !failed && std::distance(begin(threads), end(threads)) == 2;
}

void start_idle_thread(std::function<void()> work) {
  const SignalsBlocked blocked;
  std::thread([work = std::move(work), program = programs_signals.value_or(blocked.before())] {
    programs_signals = program;
    work();
    // While the main thread is there, a signal that it blocks may be waiting for it for long, and would come to this one. Should
    // it end between this and the end of this thread, which is the last one then, the program's last functions run with all
    // blocked.
    if (main_thread_has_ended()) ::pthread_sigmask(SIG_SETMASK, &program, nullptr);
  }).detach();
}

}  // namespace mneme
