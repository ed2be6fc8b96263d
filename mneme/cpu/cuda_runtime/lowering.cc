// Lowering in a child process, and the cache of its answers.
#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "mneme/abi/call_table.h"
#include "mneme/base/disk_cache.h"
#include "mneme/base/log.h"
#include "mneme/base/memory_file.h"
#include "mneme/cpu/cuda_runtime/images.h"
#include "mneme/cpu/run/image.h"
#include "mneme/process/child.h"

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

// Two Mnemes that lower differently must not share answers: the version, that of images, and which file the command is.
Digest cache_key(ByteSpan request, const char* command) {
  Hasher hasher;
  hasher.add(std::string_view("lowered kernels"))
      .add(std::string_view(MNEME_VERSION))
      .add(uint64_t{MNEME_CPU_IMAGE_VERSION})
      .add(request);
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

// "exit status 2", "signal 11". A program that reaps all children, or ignores SIGCHLD, takes the status away: then it is unknown.
std::string describe(const std::optional<ProcessEnd>& end) {
  if (!end) return "an unknown exit status";
  return end->signal() != 0 ? fmt::format("signal {}", end->signal()) : fmt::format("exit status {}", end->exit_status());
}

// Has the child write its answer to a file without a name, of which a kill leaves nothing behind. Returns how it ended.
Result<std::string> run_lower(const char* command, const Descriptor& question, const Descriptor& answer) {
  const std::vector<char*> environment = child_environment();
  auto child = spawn({.program = command,
                      .arguments = {"lower", std::to_string(kFirstDescriptor), std::to_string(kFirstDescriptor + 1)},
                      .descriptors = {&question, &answer},
                      .environment = environment.data(),
                      .inherits = Spawn::Inherits::nothing});
  const Status started = child.status();
  if (started.code() == Code::exhausted)
    return error(Code::exhausted, "lowering kernels for the CPU device: {}", started.message());
  if (!started.ok()) return error(Code::unavailable, "running {} lower: {}", command, started.message());
  return describe(wait_for_end(*child));
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

  MNEME_ASSIGN(Descriptor question, make_memory_file("mneme-lower-request", encoded));
  MNEME_ASSIGN(Descriptor written, make_memory_file("mneme-lower-reply", {}));
  MNEME_ASSIGN(const std::string ended, run_lower(command, question, written));
  auto answer = read_whole(written.number());
  auto reply = answer.ok() ? LowerReply::decode(*answer, "what " + std::string(command) + " lower answered") : answer.status();
  if (!reply.ok())
    return error(Code::internal, "lowering kernels for the CPU device: {} lower ended with {} and left no answer", command,
                 ended);
  if (cache) cache->put(key, *answer);
  return reply;
}

}  // namespace mneme::emulation
