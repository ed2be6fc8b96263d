// Commands: what the scheduler wants done. The pool's thread carries them out, in their order.
#pragma once

#include <memory>
#include <type_traits>
#include <variant>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/pool/job.h"
#include "mneme/pool/messages.h"
#include "mneme/pool/pool_worker.h"

namespace mneme {

// Have the zygote fork a worker. Where that fails, tell Scheduler::not_started().
struct StartWorker {
  WorkerId worker = 0;
  WorkerOrder order;
};
// Have the zygote kill the worker and the processes that it started. The zygote tells its end, as it does for every worker.
struct KillWorker {
  WorkerId worker = 0;
};
// The zygote does not answer: kill it, and with it every worker.
struct KillZygote {};
// Send a message to the worker. A message that cannot be sent is no failure: the worker has ended, or will be killed for its
// silence.
struct SendToWorker {
  WorkerId worker = 0;
  ToWorker message;
};
// The worker's time is over. Read all that it has sent so far, and then tell Scheduler::listened().
struct ListenToWorker {
  WorkerId worker = 0;
};
// A job has a result: write it to the log where `write_to_log` says so, call the caller's on_done, and give it to the future.
struct DeliverResult {
  std::shared_ptr<FutureState> future;
  PoolResult result;
  nlohmann::json configuration;  // the result's, as the log has it
  Digest digest;                 // whole_digest() of it
  bool write_to_log = false;
};
// A job has further timed runs: add their times to those of the future.
struct DeliverTimes {
  std::shared_ptr<FutureState> future;
  std::vector<Nanoseconds> times;
};
// What Pool::status() is from now on.
struct SetStatus {
  Status status;
};

using Command =
    std::variant<StartWorker, KillWorker, KillZygote, SendToWorker, ListenToWorker, DeliverResult, DeliverTimes, SetStatus>;
static_assert(std::is_nothrow_move_constructible_v<Command>, "a list of commands that grows copies none");

}  // namespace mneme
