#include "candidate_worker.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "candidate_stages.h"
#include "mneme/pool/candidate_code.h"
#include "mneme/pool/device_work.h"
#include "mneme/pool/messages.h"
#include "mneme/pool/worker.h"
#include "mneme/process/last_words.h"

namespace mneme {
namespace {

constexpr unsigned kAtHand = 3;  // as a pool gives it
constexpr unsigned kFirst = 10;  // not counted

class Jobs {
 public:
  Jobs(const WorkerBench& bench, Telling telling, Channel& worker) : bench_(bench), telling_(telling), worker_(worker) {
    code_.objects = {bench.code};
    code_.object_of = {0};
  }

  Status run() {
    MNEME_TRY(worker_.receive().status());  // that it is ready
    for (unsigned i = 0; i < kAtHand; ++i) MNEME_TRY(give());
    auto begin = std::chrono::steady_clock::now();
    while (told_ < all_) {
      MNEME_TRY(take());
      if (told_ == kFirst && stages_known_ == 0) begin = std::chrono::steady_clock::now();
    }
    const Nanoseconds total = std::chrono::steady_clock::now() - begin;
    fmt::print("\n{} candidates by a device worker, each told {}:\n", bench_.candidates,
               telling_ == Telling::before_the_next_begins ? "before the next begins" : "while the next runs");
    stages_.print(total, bench_.candidates);
    fmt::print("\n{:.1f} candidates/s\n", bench_.candidates * 1e9 / total.count());
    return {};
  }

 private:
  Status take() {
    MNEME_ASSIGN(Message received, worker_.receive());
    MNEME_ASSIGN(const FromWorker message, decode_from_worker(WorkerRole::device, std::move(received)));
    // Another is given as one begins.
    if (std::holds_alternative<JobBegan>(message) && given_ < all_) return give();
    const auto* ended = std::get_if<JobEnded>(&message);
    if (!ended) return {};
    if (ended->result.failed()) return error(Code::internal, "a candidate is wrong: {}", ended->result.reason);
    if (++told_ <= kFirst) return {};
    ++stages_known_;
    for (const StageTime& stage : ended->result.details.together.times) stages_.add(stage.stage, stage.time);
    return {};
  }

  Status give() {
    const uint64_t number = ++given_;
    const Digest digest = digest_of(std::as_bytes(std::span(&number, 1)));
    code_.objects[0].translation_digest = digest;
    const ByteVector object = encode(code_);
    const auto memory = std::make_shared<Descriptor>(::memfd_create("mneme-bench-object", MFD_CLOEXEC));
    if (!memory->open() || ::write(memory->number(), object.data(), object.size()) != static_cast<ssize_t>(object.size()))
      return error(Code::exhausted, "making memory for an object of {}: {}", Bytes(object.size()), std::strerror(errno));
    const bool alone = telling_ == Telling::before_the_next_begins;
    return send(worker_, MeasureJob{number, to_json(bench_.configuration), {{"digest", digest.hex()}}, memory, alone});
  }

  const WorkerBench& bench_;
  const Telling telling_;
  Channel& worker_;
  CandidateCode code_;
  const uint64_t all_ = bench_.candidates + kFirst;
  uint64_t given_ = 0, told_ = 0, stages_known_ = 0;
  CandidateStages stages_;
};

// While it lives, jobs are noted as a pool's worker notes them, in the place of standard error.
class NotedJobs {
 public:
  static Result<NotedJobs> begin() {
    NotedJobs noted;
    MNEME_ASSIGN(noted.words_, LastWords::create());
    noted.usual_ = Descriptor(::dup(STDERR_FILENO));
    LastWords::divert_to(Descriptor(::dup(noted.words_.descriptor())));
    return noted;
  }
  NotedJobs(NotedJobs&&) = default;
  ~NotedJobs() {
    if (usual_.open()) ::dup2(usual_.number(), STDERR_FILENO);
  }

 private:
  NotedJobs() = default;
  LastWords words_;
  Descriptor usual_;
};

}  // namespace

Status measure_worker(const WorkerBench& bench, Telling telling) {
  MNEME_ASSIGN(auto recorded, RecordedKernel::load(bench.setup));
  MNEME_ASSIGN(auto work, create_device_work(*recorded, bench.device));
  MNEME_ASSIGN(auto ends, Channel::pair());
  MNEME_ASSIGN(const NotedJobs noted, NotedJobs::begin());
  std::thread worker([&] { serve_device(std::move(ends.second), std::move(work)); });
  Status status = Jobs(bench, telling, ends.first).run();
  {
    [[maybe_unused]] Channel closed = std::move(ends.first);
  }
  worker.join();
  return status;
}

}  // namespace mneme
