// What a zygote and the process that started it say to each other: one struct for each message, and one codec.
//
//   caller ──ForkWorker + a socket, KillWorkerProcess──▶ zygote
//          ◀──WorkerProcessEnded, ZygoteRefused──
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <variant>

#include "mneme/base/status.h"
#include "mneme/process/channel.h"

namespace mneme {

// Fork a worker. With it go the descriptor of the worker's end of its connection and, where its standard error is kept, that of
// the memory that it goes to.
struct ForkWorker {
  uint64_t id = 0;
  nlohmann::json order;  // what the worker is to do, for it to read
};
// Kill the worker, with the processes that it started.
struct KillWorkerProcess {
  uint64_t id = 0;
};
using ToZygote = std::variant<ForkWorker, KillWorkerProcess>;

struct WorkerProcessEnded {
  uint64_t id = 0;
  int wait_status = 0;     // as of waitpid()
  std::string not_forked;  // why there was no process at all; empty: there was one
};
// There will be no worker, and the zygote ends.
struct ZygoteRefused {
  std::string reason;
};
using FromZygote = std::variant<WorkerProcessEnded, ZygoteRefused>;

// Fail as Channel::send() does.
Status send(Channel& channel, ToZygote message, std::span<const int> descriptors = {});
Status send(Channel& channel, FromZygote message);
// corrupt: it is not what send() wrote. The descriptors stay with the message.
Result<ToZygote> decode_to_zygote(Message& message);
Result<FromZygote> decode_from_zygote(Message& message);

}  // namespace mneme
