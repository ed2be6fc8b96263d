#include "mneme/process/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

extern char** environ;

namespace mneme {
namespace {

class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_;
};

class Attributes {
 public:
  Attributes() { ::posix_spawnattr_init(&attributes_); }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  posix_spawnattr_t* get() { return &attributes_; }

  void set_signals_as_at_login() {
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    sigdelset(&all, SIGKILL);
    sigdelset(&all, SIGSTOP);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &all);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }

 private:
  posix_spawnattr_t attributes_;
};

// Under numbers that are none of the child's, which they are made into.
Result<std::vector<Descriptor>> beyond_the_childs(const std::vector<const Descriptor*>& descriptors) {
  std::vector<Descriptor> moved;
  for (const Descriptor* descriptor : descriptors) {
    const int least = kFirstDescriptor + static_cast<int>(descriptors.size());
    moved.emplace_back(::fcntl(descriptor->number(), F_DUPFD_CLOEXEC, least));
    if (!moved.back().open()) return error(Code::exhausted, "{}", std::strerror(errno));
  }
  return moved;
}

}  // namespace

int ProcessEnd::signal() const { return WIFSIGNALED(wait_status_) ? WTERMSIG(wait_status_) : 0; }
int ProcessEnd::exit_status() const { return WEXITSTATUS(wait_status_); }
bool ProcessEnd::was_killed() const { return signal() == SIGKILL; }

std::string ProcessEnd::describe() const {
  if (signal() != 0) return fmt::format("ended by signal {} ({})", signal(), ::strsignal(signal()));
  return fmt::format("ended with exit status {}", exit_status());
}

Result<pid_t> spawn(const Spawn& spawn) {
  std::vector<std::string> arguments = spawn.arguments;
  arguments.insert(arguments.begin(), spawn.program.string());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);

  MNEME_ASSIGN(const std::vector<Descriptor> files, beyond_the_childs(spawn.descriptors));
  FileActions actions;
  Attributes attributes;
  const bool nothing = spawn.inherits == Spawn::Inherits::nothing;
  if (nothing) {
    ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(actions.get(), STDERR_FILENO, STDOUT_FILENO);
    attributes.set_signals_as_at_login();
  }
  int number = kFirstDescriptor;
  for (const Descriptor& file : files) ::posix_spawn_file_actions_adddup2(actions.get(), file.number(), number++);
  if (nothing) ::posix_spawn_file_actions_addclosefrom_np(actions.get(), number);

  pid_t child = 0;
  const int failure = ::posix_spawn(&child, spawn.program.c_str(), actions.get(), attributes.get(), argv.data(),
                                    spawn.environment != nullptr ? spawn.environment : environ);
  if (failure != 0) return error(Code::unavailable, "{}", std::strerror(failure));
  return child;
}

void begin_forked_child(pid_t parent) {
  end_with_parent();
  if (::getppid() != parent) ::_exit(1);
  ::setpgid(0, 0);
  rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
}

void end_with_parent() { ::prctl(PR_SET_PDEATHSIG, SIGKILL); }

void kill_with_group(pid_t child) {
  ::kill(-child, SIGKILL);
  ::kill(child, SIGKILL);
}

std::optional<ProcessEnd> wait_for_end(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return std::nullopt;
  return ProcessEnd(status);
}

}  // namespace mneme
