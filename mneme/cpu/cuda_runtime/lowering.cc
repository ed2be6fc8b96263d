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
#include "mneme/base/disk_cache.h"
#include "mneme/base/log.h"
#include "mneme/base/memory_file.h"
#include "mneme/cpu/cuda_runtime/images.h"

extern char** environ;

namespace mneme::emulation {
namespace {

// The cache of compiled code, which replays use too; null where the environment names no folder for it.
std::unique_ptr<DiskCache> open_cache() {
  auto place = CachePlace::from_environment();
  if (place.ok()) return std::make_unique<DiskCache>(std::move(*place));
  log::warning("lowered kernels are not kept: {}", place.status().message());
  return nullptr;
}

// Two Mnemes that lower differently must not share answers: the version, and which file the command is.
Digest cache_key(ByteSpan request, const char* command) {
  Hasher hasher;
  hasher.add(std::string_view("lowered kernels")).add(std::string_view(MNEME_VERSION)).add(request);
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

// What the child reads and writes, under these numbers there: files without a name, of which a kill leaves nothing behind.
constexpr int kRequest = 3, kReply = 4;

// A number that is none of the child's, which these are made into.
Result<Descriptor> beyond_the_childs(Descriptor file) {
  Descriptor moved(::fcntl(file.number(), F_DUPFD_CLOEXEC, kReply + 1));
  if (!moved.open()) return error(Code::exhausted, "lowering kernels for the CPU device: {}", std::strerror(errno));
  return moved;
}

// Spawns with a clean slate: no input, standard output joined to standard error, the question and the answer, no other file of
// the program's open, signals as at login.
Result<pid_t> spawn(const char* command, const Descriptor& request, const Descriptor& reply) {
  std::string request_text = std::to_string(kRequest), reply_text = std::to_string(kReply);
  char* arguments[] = {const_cast<char*>(command), const_cast<char*>("lower"), request_text.data(), reply_text.data(), nullptr};
  std::vector<char*> environment = child_environment();

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, request.number(), kRequest);
  posix_spawn_file_actions_adddup2(&actions, reply.number(), kReply);
  posix_spawn_file_actions_addclosefrom_np(&actions, kReply + 1);
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

// Nothing when it was not asked before, or the answer is of no use.
std::optional<LowerReply> find_reply(DiskCache* cache, const Digest& key) {
  auto known = cache ? cache->read(key) : std::nullopt;
  if (!known) return std::nullopt;
  auto reply = LowerReply::decode(*known, "the cache's entry " + key.hex());
  if (reply.ok()) return std::move(*reply);
  cache->drop(key);
  return std::nullopt;
}

}  // namespace

Result<LowerReply> lower(const LowerRequest& request) {
  const char* command = std::getenv(MNEME_ENV_COMMAND);
  if (!command || !*command)
    return error(Code::unavailable, "lowering kernels for the CPU device: " MNEME_ENV_COMMAND
                                    " does not name the mneme command: start the program with `mneme run`");
  ByteVector encoded = request.encode();
  const Digest key = cache_key(encoded, command);
  const std::unique_ptr<DiskCache> cache = open_cache();
  if (auto known = find_reply(cache.get(), key)) {
    log::debug("{} kernels had been lowered before: {}", request.kernels.size(), key.hex());
    return std::move(*known);
  }
  log::debug("lowering {} kernels with {}", request.kernels.size(), command);

  MNEME_ASSIGN(Descriptor made, make_memory_file("mneme-lower-request", encoded));
  MNEME_ASSIGN(Descriptor empty, make_memory_file("mneme-lower-reply", {}));
  MNEME_ASSIGN(Descriptor question, beyond_the_childs(std::move(made)));
  MNEME_ASSIGN(Descriptor written, beyond_the_childs(std::move(empty)));
  MNEME_ASSIGN(pid_t child, spawn(command, question, written));
  const std::string ended = wait_for(child);
  auto answer = read_whole(written.number());
  auto reply = answer.ok() ? LowerReply::decode(*answer, "what " + std::string(command) + " lower answered") : answer.status();
  if (!reply.ok())
    return error(Code::internal, "lowering kernels for the CPU device: {} lower ended with {} and left no answer", command,
                 ended);
  if (cache) cache->put(key, *answer);
  return reply;
}

}  // namespace mneme::emulation
