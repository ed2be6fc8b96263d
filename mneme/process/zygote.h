// Zygote: a process that has loaded what workers need and forks them, so that one that is lost is replaced within milliseconds.
//
//   pool ──ForkWorker + socket──▶ zygote ──fork──▶ worker, which speaks over that socket
//        ──KillWorkerProcess────▶
//        ◀──WorkerProcessEnded──
//        ◀──ZygoteRefused───────          there will be no worker
//
// The zygote itself only forks, kills and reaps: it has one thread and never hangs. It ends, and every worker with it, when the
// pool's process ends or closes the connection.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/process/channel.h"
#include "mneme/process/last_words.h"
#include "mneme/process/zygote_messages.h"

namespace mneme {

// What a worker does: `order` is ForkWorker::order. Runs in the worker's own process, which ends when it returns.
using WorkerMain = std::function<void(const nlohmann::json& order, Channel channel)>;

// The zygote's side: serves until the connection closes. The process must have one thread.
void run_zygote(Channel pool, const WorkerMain& worker);

// The pool's side: a zygote that runs as a child of this process.
class ZygoteProcess {
 public:
  // Starts `command` with `arguments` and one more: the number of the descriptor that it speaks over. The thread that calls this
  // must live as long as the zygote is to.
  static Result<ZygoteProcess> start(const Path& command, std::vector<std::string> arguments);
  ZygoteProcess(ZygoteProcess&& other) noexcept;
  // Ends it and all its workers, and waits for that; one that does not end within ten seconds is killed.
  ~ZygoteProcess();

  Channel& channel() { return channel_; }
  // The worker's end of a new connection goes with it, and what its standard error becomes; returns the pool's end.
  Result<Channel> fork_worker(uint64_t id, nlohmann::json order, const LastWords& words = {});
  Status kill_worker(uint64_t id);  // with the processes that it started
  // At once, for one that does not answer.
  void kill();
  // The workers that have ended since the last call. unavailable: the zygote has gone, with the reason that it sent, if any.
  // corrupt: it sent what is no message.
  Result<std::vector<WorkerProcessEnded>> take_ended();

 private:
  ZygoteProcess(pid_t pid, Channel channel) : pid_(pid), channel_(std::move(channel)) {}
  pid_t pid_;
  Channel channel_;
  std::string reason_;
};

}  // namespace mneme
