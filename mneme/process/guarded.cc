#include "mneme/process/guarded.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "mneme/base/descriptor.h"
#include "mneme/process/child.h"

namespace mneme {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array kEndingSignals = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
// The child's activity is looked at this often where no limit is nearer.
constexpr std::chrono::milliseconds kTick(200);

// While one lives, signals that would end or stop this process, and a child's end, wait in a descriptor. Ending signals that the
// process ignores stay ignored.
class HeldSignals {
 public:
  HeldSignals() : descriptor_(block(&before_)) {}
  ~HeldSignals() { restore(); }
  int descriptor() const { return descriptor_.number(); }
  void restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
  int next() const {
    signalfd_siginfo info{};
    return ::read(descriptor(), &info, sizeof info) == sizeof info ? static_cast<int>(info.ssi_signo) : 0;
  }

 private:
  static int block(sigset_t* before) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTSTP);
    sigaddset(&set, SIGCHLD);
    for (int signal : kEndingSignals) {
      struct sigaction action{};
      ::sigaction(signal, nullptr, &action);
      if ((action.sa_flags & SA_SIGINFO) != 0 || action.sa_handler != SIG_IGN) sigaddset(&set, signal);
    }
    ::sigprocmask(SIG_BLOCK, &set, before);
    return ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  }

  sigset_t before_;
  Descriptor descriptor_;
};

bool write_all(int descriptor, const void* data, size_t size) {
  auto at = static_cast<const char*>(data);
  while (size > 0) {
    ssize_t written = ::write(descriptor, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    at += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

[[noreturn]] void be_child(const ActivityBoard& board, const GuardLimits& limits, pid_t parent, int reply_to,
                           const std::function<std::string()>& work) {
  begin_forked_child(parent);
  ::signal(SIGTTOU, SIG_IGN);  // it writes to the terminal, though not in its foreground group
  limit_compile_memory(limits.compile_memory);
  board.show_this_process();
  std::string reply = work();
  std::fflush(nullptr);
  const uint64_t size = reply.size();
  const bool sent = write_all(reply_to, &size, sizeof size) && write_all(reply_to, reply.data(), reply.size());
  ::_exit(sent ? 0 : 1);
}

// The parent's side.
class Watch {
 public:
  Watch(pid_t child, const GuardLimits& limits, const ActivityBoard& board, const HeldSignals& signals, int replies)
      : child_(child), limits_(limits), board_(board), signals_(signals), replies_(replies), seen_(board.read()) {}

  GuardedEnd wait() {
    GuardedEnd end;
    bool over = false;
    while (!over) {
      std::array<pollfd, 2> events{pollfd{replies_, POLLIN, 0}, pollfd{signals_.descriptor(), POLLIN, 0}};
      const int ready = ::poll(events.data(), events.size(), static_cast<int>(wait_time().count()));
      if (ready > 0 && events[1].revents != 0) over = obey(signals_.next(), end);
      if (ready > 0 && events[0].revents != 0 && !over) over = receive();
      if (ready == 0) over = out_of_time(end);
    }
    if (end.how == GuardedEnd::How::finished) end.activity = board_.read().activity;
    kill_with_group(child_);  // a child that is ending by itself keeps its own status
    const ProcessEnd ended = wait_for_end(child_).value_or(ProcessEnd());
    if (end.how == GuardedEnd::How::finished) conclude(ended, end);
    return end;
  }

 private:
  GuardLimits::Seconds limit() const {
    const GuardLimits::Seconds limit = limit_of(seen_.activity);
    return limit == GuardLimits::Seconds() ? limit : limit + seen_.allowance;
  }

  GuardLimits::Seconds limit_of(Activity activity) const {
    switch (activity) {
      case Activity::working: return {};
      case Activity::compiling: return limits_.compiling;
      case Activity::loading: return limits_.loading;
      case Activity::running:
      case Activity::timing:
      case Activity::tracking: return limits_.running;
    }
    return {};
  }

  GuardLimits::Seconds left() const { return limit() - (Clock::now() - seen_.since - stopped_); }

  // Rounded up, so that the limit has passed when it ends.
  std::chrono::milliseconds wait_time() {
    look();
    if (limit() == GuardLimits::Seconds()) return kTick;
    auto time = std::chrono::ceil<std::chrono::milliseconds>(left());
    return std::clamp(time, std::chrono::milliseconds(0), kTick);
  }

  void look() {
    ActivityBoard::Reading now = board_.read();
    if (now != seen_) seen_ = now, stopped_ = {};
  }

  bool out_of_time(GuardedEnd& end) {
    look();
    if (limit() == GuardLimits::Seconds() || left() > GuardLimits::Seconds()) return false;
    end.how = GuardedEnd::How::out_of_time;
    end.activity = seen_.activity;
    end.limit = limit();
    return true;
  }

  bool obey(int signal, GuardedEnd& end) {
    if (signal == SIGTSTP) {
      auto begin = Clock::now();
      ::kill(-child_, SIGSTOP);
      ::raise(SIGSTOP);
      look();  // at what it was at when it was stopped: it may have begun with that just before
      ::kill(-child_, SIGCONT);
      stopped_ += Clock::now() - begin;
    }
    if (signal == SIGCHLD) return child_ended();
    if (signal == 0 || signal == SIGTSTP) return false;
    end.how = GuardedEnd::How::interrupted;
    end.number = signal;
    return true;
  }

  // Also when a program that it started still holds the pipe.
  bool child_ended() {
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0) return false;
    while (!receive()) continue;
    return true;
  }

  // Reads what there is; true when no more is to come.
  bool receive() {
    std::array<char, 16384> piece;  // on a stack that may be small
    ssize_t count = ::read(replies_, piece.data(), piece.size());
    if (count > 0) received_.append(piece.data(), static_cast<size_t>(count));
    return count == 0 || (count < 0 && errno != EINTR) || whole();
  }

  bool whole() const {
    uint64_t size = 0;
    if (received_.size() < sizeof size) return false;
    std::memcpy(&size, received_.data(), sizeof size);
    return received_.size() - sizeof size == size;
  }

  void conclude(const ProcessEnd& ended, GuardedEnd& end) {
    if (whole()) {
      end.reply = received_.substr(sizeof(uint64_t));
      return;
    }
    end.how = ended.signal() != 0 ? GuardedEnd::How::signalled : GuardedEnd::How::exited;
    end.number = ended.signal() != 0 ? ended.signal() : ended.exit_status();
  }

  pid_t child_;
  const GuardLimits& limits_;
  const ActivityBoard& board_;
  const HeldSignals& signals_;
  int replies_;
  ActivityBoard::Reading seen_;
  Clock::duration stopped_{};  // of the time since seen_.since
  std::string received_;
};

}  // namespace

Result<GuardedEnd> run_guarded(const GuardLimits& limits, const std::function<std::string()>& work) {
  MNEME_ASSIGN(ActivityBoard board, ActivityBoard::create());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return error(Code::io, "starting a child process: making a pipe: {}", std::strerror(errno));
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  Descriptor replies(ends[0]), reply_to(ends[1]);
  std::fflush(nullptr);
  HeldSignals signals;
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) return error(Code::io, "starting a child process: {}", std::strerror(errno));
  if (child == 0) {
    signals.restore();
    replies.close();
    be_child(board, limits, parent, reply_to.number(), work);
  }
  ::setpgid(child, child);  // also here: it must have its group before it is sent a signal
  reply_to.close();
  return Watch(child, limits, board, signals, replies.number()).wait();
}

}  // namespace mneme
