#include "mneme/process/zygote.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>

#include "mneme/process/child.h"

namespace mneme {
namespace {

// Milliseconds that a zygote has to end.
constexpr int kEnding = 10'000;

sigset_t child_signal() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return set;
}

class Zygote {
 public:
  Zygote(Channel pool, const WorkerMain& worker) : pool_(std::move(pool)), worker_(worker) {
    sigset_t set = child_signal();
    ::sigprocmask(SIG_BLOCK, &set, &mask_);
    signals_ = Descriptor(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  void run() {
    while (auto message = pool_.next()) obey(std::move(*message));  // what came together with an earlier message
    for (;;) {
      std::array<pollfd, 2> events{pollfd{pool_.descriptor(), POLLIN, 0}, pollfd{signals_.number(), POLLIN, 0}};
      if (::poll(events.data(), events.size(), -1) < 0 && errno != EINTR) return;
      if (events[1].revents != 0 && !reap().ok()) return;
      if (events[0].revents == 0) continue;
      Status status = pool_.take_in();
      while (auto message = pool_.next()) obey(std::move(*message));
      if (status.code() == Code::exhausted) [[maybe_unused]]
        Status ignored = send(pool_, ZygoteRefused{status.to_string()});
      if (!status.ok()) return;
    }
  }

  ~Zygote() {
    for (const auto& [pid, id] : workers_) kill_with_group(pid);
    while (::waitpid(-1, nullptr, 0) > 0 || errno == EINTR) continue;
  }

 private:
  // What is no message of the pool's program is not obeyed.
  void obey(Message message) {
    auto decoded = decode_to_zygote(message);
    if (!decoded.ok()) return;
    if (const auto* kill = std::get_if<KillWorkerProcess>(&*decoded))
      for (const auto& [pid, id] : workers_)
        if (id == kill->id) kill_with_group(pid);
    if (auto* fork = std::get_if<ForkWorker>(&*decoded)) fork_worker(*fork, std::move(message.descriptors));
  }

  void fork_worker(const ForkWorker& worker, std::vector<Descriptor> descriptors) {
    const pid_t zygote = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) become_worker(zygote, worker.order, std::move(descriptors));
    if (pid > 0) {
      ::setpgid(pid, pid);  // also here: it must have its group before it is killed
      workers_[pid] = worker.id;
    }
    if (pid < 0) [[maybe_unused]]
      Status ignored = send(
          pool_, WorkerProcessEnded{
                     worker.id, 0,
                     fmt::format("was not forked: {}; `ulimit -u` says how many processes there may be", std::strerror(errno))});
  }

  [[noreturn]] void become_worker(pid_t zygote, const nlohmann::json& order, std::vector<Descriptor> descriptors) {
    begin_forked_child(zygote);
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
    if (descriptors.size() > 1) LastWords::divert_to(descriptors[1]);
    signals_.close();
    pool_ = Channel();
    worker_(order, Channel(std::move(descriptors[0])));
    ::_exit(0);
  }

  Status reap() {
    std::array<signalfd_siginfo, 16> ignored{};
    while (::read(signals_.number(), ignored.data(), sizeof ignored) > 0) continue;
    int status = 0;
    for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
      auto worker = workers_.extract(pid);
      if (worker.empty()) continue;
      ::kill(-pid, SIGKILL);  // what it started
      MNEME_TRY(send(pool_, WorkerProcessEnded{worker.mapped(), status, {}}));
    }
    return {};
  }

  Channel pool_;
  const WorkerMain& worker_;
  sigset_t mask_{};
  Descriptor signals_;
  std::map<pid_t, uint64_t> workers_;
};

}  // namespace

void run_zygote(Channel pool, const WorkerMain& worker) {
  rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::fcntl(pool.descriptor(), F_SETFD, FD_CLOEXEC);
  ::signal(SIGINT, SIG_IGN);  // a key at the terminal is for the pool's process, which ends this one
  Zygote(std::move(pool), worker).run();
}

Result<ZygoteProcess> ZygoteProcess::start(const Path& command, std::vector<std::string> arguments) {
  MNEME_ASSIGN(auto ends, Channel::pair());
  const Descriptor end_of_zygote = ends.second.release();
  arguments.push_back(std::to_string(kFirstDescriptor));
  auto pid = spawn({.program = command, .arguments = std::move(arguments), .descriptors = {&end_of_zygote}});
  if (!pid.ok()) return error(Code::unavailable, "starting {} for the pool: {}", command.string(), pid.status().message());
  return ZygoteProcess(*pid, std::move(ends.first));
}

ZygoteProcess::ZygoteProcess(ZygoteProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)), channel_(std::move(other.channel_)) {}

ZygoteProcess::~ZygoteProcess() {
  if (pid_ == 0) return;
  channel_.shut_down();
  Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd ended{process.number(), POLLIN, 0};
  if (process.open() && ::poll(&ended, 1, kEnding) == 0) kill();
  [[maybe_unused]] const auto end = wait_for_end(pid_);
}

void ZygoteProcess::kill() { ::kill(pid_, SIGKILL); }

Result<Channel> ZygoteProcess::fork_worker(uint64_t id, nlohmann::json order, const LastWords& words) {
  MNEME_ASSIGN(auto ends, Channel::pair());
  std::vector<int> descriptors{ends.second.descriptor()};
  if (words.descriptor() >= 0) descriptors.push_back(words.descriptor());
  MNEME_TRY(send(channel_, ForkWorker{id, std::move(order)}, descriptors));
  return std::move(ends.first);
}

Status ZygoteProcess::kill_worker(uint64_t id) { return send(channel_, KillWorkerProcess{id}); }

Result<std::vector<WorkerProcessEnded>> ZygoteProcess::take_ended() {
  Status status = channel_.take_in();
  std::vector<WorkerProcessEnded> ended;
  while (auto message = channel_.next()) {
    MNEME_ASSIGN(FromZygote decoded, decode_from_zygote(*message));
    if (auto* end = std::get_if<WorkerProcessEnded>(&decoded)) ended.push_back(std::move(*end));
    if (auto* refused = std::get_if<ZygoteRefused>(&decoded)) reason_ = std::move(refused->reason);
  }
  if (!status.ok() && ended.empty()) return reason_.empty() ? status : error(Code::unavailable, "{}", reason_);
  return ended;
}

}  // namespace mneme
