#include "mneme/cli/supervise.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace mneme::cli {
namespace {

constexpr std::array kPassedOn = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGALRM, SIGCONT, SIGWINCH};

volatile pid_t child = 0;

void pass_on(int signal, siginfo_t* info, void*) {
  // What the kernel sends (a key at the terminal) goes to the whole foreground group, so the child has it already.
  if (info->si_code == SI_KERNEL) return;
  int saved = errno;
  if (child > 0) ::kill(child, signal);
  errno = saved;
}

sigset_t passed_on_set() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : kPassedOn) sigaddset(&set, signal);
  return set;
}

[[noreturn]] void become(const Path& program, const std::vector<std::string>& arguments,
                         const std::vector<std::pair<std::string, std::string>>& environment, const sigset_t& mask, pid_t parent,
                         int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  ::execv(program.c_str(), argv.data());
  int reason = errno;
  [[maybe_unused]] ssize_t written = ::write(report, &reason, sizeof reason);
  ::_exit(127);
}

}  // namespace

Result<int> run_supervised(const Path& program, const std::vector<std::string>& arguments,
                           const std::vector<std::pair<std::string, std::string>>& environment) {
  // The pipe closes at a successful exec; before that it carries the reason why there was none.
  int failure[2];
  if (::pipe2(failure, O_CLOEXEC) != 0) return error(Code::io, "running {}: {}", program.string(), std::strerror(errno));
  // Signals wait until the child is known and the handlers are there.
  sigset_t set = passed_on_set(), mask;
  ::sigprocmask(SIG_BLOCK, &set, &mask);
  pid_t parent = ::getpid();
  pid_t started = ::fork();
  if (started == 0) become(program, arguments, environment, mask, parent, failure[1]);
  int reason = started < 0 ? errno : 0;
  ::close(failure[1]);
  child = started;
  struct sigaction action{};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  if (started > 0)
    for (int signal : kPassedOn) ::sigaction(signal, &action, nullptr);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  if (started > 0)
    while (::read(failure[0], &reason, sizeof reason) < 0 && errno == EINTR) continue;
  ::close(failure[0]);
  int status = 0;
  if (started > 0)
    while (::waitpid(started, &status, 0) < 0 && errno == EINTR) continue;
  child = 0;
  if (reason != 0) return error(Code::io, "running {}: {}", program.string(), std::strerror(reason));
  return status;
}

void end_as(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    int signal = WTERMSIG(wait_status);
    ::signal(signal, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
    ::raise(signal);
    ::_exit(128 + signal);
  }
  std::exit(WEXITSTATUS(wait_status));
}

}  // namespace mneme::cli
