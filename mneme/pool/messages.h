// What the pool's program and its workers say to each other: one struct for each message, and one codec for all of them.
//
//   worker          gets                                  sends
//   compile worker  CompileJob, AssembleAnswer            WorkerReady or WorkerRefused; TranslationBegan, CodeTranslated,
//                                                         JobsJoined, CodeAssembled, JobEnded
//   device worker   InstanceCopies, MeasureJob, StopJob   DeviceOpened, InstanceCopies, MaskLost; WorkerReady or WorkerRefused;
//                                                         JobLoading, JobBegan, JobTimed, JobEnded, WorkerExhausted
//   keeper          InstanceCopies                        nothing
//
// A compile or device worker gets no job before it has sent WorkerReady. On the wire a message is a JSON object, whose "type"
// names the struct and whose other members are the struct's, and the descriptors that go with it. A candidate may have damaged
// the process that a message comes from, so the codec checks whatever a reader of the struct relies on.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>
#include <vector>

#include "mneme/base/descriptor.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/memory/shared_copies.h"
#include "mneme/pool/pool_result.h"
#include "mneme/process/channel.h"

namespace mneme {

using JobId = uint64_t;

// What a worker is for. A keeper holds on to the copies of recorded memory that workers have made on the device (keeper.h).
enum class WorkerRole { compile, device, keeper };
std::string_view to_string(WorkerRole role);

// What a worker is forked with.
struct WorkerOrder {
  WorkerRole role = WorkerRole::compile;
  int device = 0;            // ordinal of a device worker's or keeper's device
  std::string architecture;  // what a compile worker compiles for: "sm_90"
  std::string no_mask;       // why a device worker is to look for no mask; empty: it may
  size_t copies = 0;         // how many InstanceCopies a device worker receives before anything else
};

// An object in memory that has no name and is reached by a descriptor. The last owner closes it.
using ObjectHandle = std::shared_ptr<Descriptor>;

// The copies of one instance's recorded memory on one device. They go from the device worker that made them to the keeper, and to
// device workers that start later.
struct InstanceCopies {
  size_t instance = 0;
  std::shared_ptr<SharedCopies> copies;
};

// To a compile worker: translate this configuration. `assemble`: assemble it too, without waiting for an AssembleAnswer, as where
// nothing is shared.
struct CompileJob {
  JobId id = 0;
  nlohmann::json configuration;
  bool assemble = false;
  bool alone = false;  // it is assembled together with no other
};
// To a compile worker, which has translated its job: whether it is to assemble it too.
struct AssembleAnswer {
  bool assemble = false;
};
// To a device worker: measure this object.
struct MeasureJob {
  JobId id = 0;
  nlohmann::json configuration;
  nlohmann::json code;  // CodeAssembled::description
  ObjectHandle object;  // null where none arrived
  bool alone = false;   // its result is to be sent before another job begins
};
// To a device worker: end that job after the run that is under way.
struct StopJob {
  JobId id = 0;
};
using ToWorker = std::variant<CompileJob, AssembleAnswer, MeasureJob, StopJob, InstanceCopies>;

struct WorkerReady {};
// The worker cannot start, and ends.
struct WorkerRefused {
  std::string reason;
};
// A device worker's first message, so that compilation can begin while it copies the recorded memory.
struct DeviceOpened {
  std::string name, architecture;
};
// The search for a mask has ended in a device fault, and this worker ends. Workers that start later are to look for none.
struct MaskLost {
  std::string reason;
};
// A device worker cannot receive descriptors any more: it has too many open files.
struct WorkerExhausted {
  std::string reason;
};
// The job begins on a compile worker, or has begun: where the worker notes its jobs (last_words.h) it tells this with what comes
// of the job. The jobs that the worker was given before it have ended, or are translated and will be assembled.
struct TranslationBegan {
  JobId id = 0;
};
// A compile worker has translated its job, and waits for an AssembleAnswer unless CompileJob said `assemble`.
struct CodeTranslated {
  JobId id = 0;
  std::string digest;    // of everything that the object will depend on
  nlohmann::json about;  // what a result says of the compilation: "times" by stage in ns, "specialised" by instance
};
// The compile worker assembles this job's code, and that of the jobs before it which it has translated, all together.
struct JobsJoined {
  JobId id = 0;
};
struct CodeAssembled {
  JobId id = 0;
  nlohmann::json description;  // "digest" of the object, "times" by stage in ns
  ObjectHandle object;         // null where none arrived
};
// While another job runs, the device worker begins to load the object of this one. Loading has ended when its next message about
// a job comes.
struct JobLoading {
  JobId id = 0;
};
// The job begins on the device, or has begun a moment ago. The jobs that the worker was given before it have run to their end;
// their results follow. Of a worker that ends before it has sent this its last words tell (last_words.h).
struct JobBegan {
  JobId id = 0;
};
// The job has been timed further. Without times the message is only a sign of life.
struct JobTimed {
  JobId id = 0;
  std::vector<Nanoseconds> times;
};
// The job's result. Only its failure, reason and details are sent. After a device_fault or worker_lost the device worker ends.
struct JobEnded {
  JobId id = 0;
  PoolResult result;
};
using FromWorker =
    std::variant<WorkerReady, WorkerRefused, DeviceOpened, MaskLost, WorkerExhausted, InstanceCopies, TranslationBegan,
                 CodeTranslated, JobsJoined, CodeAssembled, JobLoading, JobBegan, JobTimed, JobEnded>;

// Send a message. Failures: those of Channel::send().
Status send(Channel& channel, ToWorker message);
Status send(Channel& channel, FromWorker message);
// The same, but they go with the next message that is sent, or with Channel::flush().
void send_later(Channel& channel, const TranslationBegan& job);
void send_later(Channel& channel, const JobBegan& job);
void send_later(Channel& channel, const JobEnded& job);
// Whether a StopJob may be among what has arrived. False: none is.
bool may_have_stop(const Channel& channel);
// Reads a message that a worker gets. corrupt: it is not what send() wrote.
Result<ToWorker> decode_to_worker(Message message);
// Reads a message that a worker of this role has sent. corrupt: it is not what send() wrote, or no worker of the role sends such
// messages.
Result<FromWorker> decode_from_worker(WorkerRole role, Message message);

nlohmann::json to_json(const WorkerOrder& order);
Result<WorkerOrder> worker_order_from_json(const nlohmann::json& json);  // corrupt

}  // namespace mneme
