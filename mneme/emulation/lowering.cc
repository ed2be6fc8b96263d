// Lowering in a child process, and the cache of its answers.
#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "mneme/abi/call_table.h"
#include "mneme/base/log.h"
#include "mneme/emulation/images.h"

extern char** environ;

namespace mneme::emulation {
namespace {

// ${XDG_CACHE_HOME:-~/.cache}/mneme when it can be written, else a temporary folder, which is removed again.
class CacheFolder {
 public:
  static Result<CacheFolder> open() {
    CacheFolder folder;
    const char* cache = std::getenv("XDG_CACHE_HOME");
    const char* home = std::getenv("HOME");
    if (cache && *cache == '/')
      folder.path_ = Path(cache) / "mneme";
    else if (home && *home == '/')
      folder.path_ = Path(home) / ".cache" / "mneme";
    if (!folder.path_.empty() && FileSystem::posix().create_directories(folder.path_).ok() &&
        ::access(folder.path_.c_str(), W_OK) == 0)
      return folder;
    std::error_code ignored;
    std::string name = (std::filesystem::temp_directory_path(ignored) / "mneme-XXXXXX").string();
    if (!::mkdtemp(name.data()))
      return error(Code::io, "making a folder for lowered kernels ({}): {}", name, std::strerror(errno));
    folder.path_ = name;
    folder.temporary_ = true;
    return folder;
  }
  CacheFolder(CacheFolder&& other) noexcept : path_(std::move(other.path_)), temporary_(std::exchange(other.temporary_, false)) {}
  ~CacheFolder() {
    std::error_code ignored;
    if (temporary_) std::filesystem::remove_all(path_, ignored);
  }
  const Path& path() const { return path_; }

 private:
  CacheFolder() = default;
  Path path_;
  bool temporary_ = false;
};

// Two Mnemes that lower differently must not share answers: the version, and which file the command is.
Digest cache_key(ByteSpan request, const char* command) {
  Hasher hasher;
  hasher.add(std::string_view(MNEME_VERSION)).add(request);
  struct stat info;
  if (::stat(command, &info) == 0)
    hasher.add(static_cast<uint64_t>(info.st_size))
        .add(static_cast<uint64_t>(info.st_mtim.tv_sec))
        .add(static_cast<uint64_t>(info.st_mtim.tv_nsec));
  return hasher.finish();
}

// The program's environment without what would make the child a recorded or emulated program, or preload libraries into it.
std::vector<char*> child_environment() {
  std::vector<char*> kept;
  for (char** entry = environ; *entry; ++entry) {
    std::string_view text = *entry;
    auto is = [&](std::string_view name) { return text.starts_with(name) && text.substr(name.size()).starts_with('='); };
    if (!is(MNEME_ENV_INTERPOSERS) && !is(MNEME_ENV_RECORD) && !is("LD_PRELOAD")) kept.push_back(*entry);
  }
  kept.push_back(nullptr);
  return kept;
}

// Spawns with a clean slate: no input, standard output joined to standard error, no other file of the program's open, signals
// as at login.
Result<pid_t> spawn(const char* command, const Path& request, const Path& reply) {
  std::string request_text = request.string(), reply_text = reply.string();
  char* arguments[] = {const_cast<char*>(command), const_cast<char*>("lower"), request_text.data(), reply_text.data(), nullptr};
  std::vector<char*> environment = child_environment();

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  sigdelset(&all, SIGKILL);
  sigdelset(&all, SIGSTOP);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  int failure = ::posix_spawn(&child, command, &actions, &attributes, arguments, environment.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) return error(Code::unavailable, "running {} lower: {}", command, std::strerror(failure));
  return child;
}

// "exit status 2", "signal 11". A program that reaps all children, or ignores SIGCHLD, takes the status away: then it is unknown.
std::string wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return "an unknown exit status";
  return WIFSIGNALED(status) ? fmt::format("signal {}", WTERMSIG(status)) : fmt::format("exit status {}", WEXITSTATUS(status));
}

Result<LowerReply> read_reply(const Path& path) {
  MNEME_ASSIGN(ByteVector bytes, FileSystem::posix().read(path));
  return LowerReply::decode(bytes, path.string());
}

}  // namespace

Result<LowerReply> lower(const LowerRequest& request) {
  const char* command = std::getenv(MNEME_ENV_COMMAND);
  if (!command || !*command)
    return error(Code::unavailable, "lowering kernels for the CPU device: " MNEME_ENV_COMMAND
                                    " does not name the mneme command: start the program with `mneme run`");
  MNEME_ASSIGN(CacheFolder folder, CacheFolder::open());
  ByteVector encoded = request.encode();
  std::string key = cache_key(encoded, command).hex();
  Path reply_path = folder.path() / (key + ".cpu");
  if (Result<LowerReply> cached = read_reply(reply_path); cached.ok()) return cached;

  Path request_path = folder.path() / fmt::format("{}.{}.request", key, ::getpid());
  MNEME_TRY(FileSystem::posix().write_atomically(request_path, encoded));
  Result<pid_t> child = spawn(command, request_path, reply_path);
  std::string ended = child.ok() ? wait_for(*child) : std::string();
  [[maybe_unused]] Status removed = FileSystem::posix().remove(request_path);
  if (!child.ok()) return child.status();
  Result<LowerReply> reply = read_reply(reply_path);
  if (!reply.ok())
    return error(Code::internal, "lowering kernels for the CPU device: {} lower ended with {} and left no answer", command,
                 ended);
  return reply;
}

}  // namespace mneme::emulation
