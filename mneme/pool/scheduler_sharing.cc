#include <algorithm>

#include "mneme/pool/scheduler.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

// Objects that are kept for launches to come. Each is a descriptor of this process.
constexpr size_t kMostKept = 128;

// Whether another configuration that ends in the same code would fail in the same way.
bool is_of_the_code(Failure kind) { return kind != Failure::worker_lost && kind != Failure::cancelled; }
// The same of one that the compiler is asked the same for: its launch may be another.
bool is_of_the_compiler(Failure kind) { return kind == Failure::compile_error || kind == Failure::compile_timeout; }

// Throws a Json::exception where a worker sent what is not about compiling: see add_compilation().
void must_be_about_compiling(const Json& about) {
  [[maybe_unused]] const auto& members = about.get_ref<const Json::object_t&>();
  ResultDetails scratch;
  if (const Status status = add_compilation(scratch, about); !status.ok())
    throw Json::other_error::create(501, status.message(), nullptr);
}

}  // namespace

// By the object, which the details name where there was one instance.
void Pool::Scheduler::remember_measurements() {
  for (const auto& [digest, result] : log_.known()) {
    const std::optional<Digest>& object = result.details.together.obj_hash;
    if (result.shared_with || !object) continue;
    measurements_[object->hex() + " " + launch_key(to_json(result.configuration))].outcome.emplace(result, digest);
  }
}

// False: the job is elsewhere now, or done.
bool Pool::Scheduler::needs_compiler(Job& job) {
  identify(job);  // not when it is submitted: a hundred thousand may be at once
  job.code_digest.clear();
  if (!options_.share) return true;
  TranslationRequest& translation = translations_[job.compile_key];
  if (translation.failed) {
    finish(job.id, translation.failed->share());
    return false;
  }
  if (translation.under_way) {
    translation.waiting.push_back(job.id);
    return false;
  }
  if (translation.code_digest.empty()) return translation.under_way = true;
  job.about = {{"specialised", translation.specialised}};
  SharedCode& code = codes_[translation.code_digest];
  if (code.failed) {
    finish(job.id, code.failed->share());
    return false;
  }
  if (code.assembling) {
    code.waiting.push_back(job.id);
    return false;
  }
  const bool measured =
      shares_measurement(job) && !code.description.is_null() && measurements_.contains(measurement_key(job, code));
  if (!code.object && !measured) return translation.under_way = true;
  has_code(job, code);
  return false;
}

void Pool::Scheduler::hear_translated(Worker& worker, Job& job, const Json& body) {
  const std::string code_digest = body["translated"];
  must_be_about_compiling(body.at("about"));
  job.code_digest = code_digest;
  job.about = body["about"];
  SharedCode& code = codes_[job.code_digest];
  bool assemble = true;
  if (options_.share) {
    TranslationRequest& translation = translations_[job.compile_key];
    translation.under_way = false;
    translation.code_digest = job.code_digest;
    translation.specialised = job.about.value("specialised", Json::array());
    to_compile_.insert(to_compile_.begin(), translation.waiting.begin(), translation.waiting.end());
    translation.waiting.clear();
    const bool measured =
        !code.description.is_null() && shares_measurement(job) && measurements_.contains(measurement_key(job, code));
    assemble = !code.object && !code.assembling && !measured && !code.failed;
  }
  // Else it was told to with the job.
  if (options_.share) [[maybe_unused]]
    Status sent = worker.channel.send({{"assemble", assemble}});
  if (assemble) {
    code.assembling = true;
    return;
  }
  leave(worker, job);
  if (code.failed)
    finish(job.id, code.failed->share());
  else if (code.assembling)
    code.waiting.push_back(job.id);
  else
    has_code(job, code);
}

void Pool::Scheduler::hear_code(Worker& worker, Job& job, Message& message) {
  must_be_about_compiling(message.body["code"]);
  [[maybe_unused]] const std::string digest = message.body["code"].at("digest");
  leave(worker, job);
  if (message.descriptors.empty())
    return code_failed(job, failed_result(Failure::worker_lost, "the compile worker sent no object"));
  SharedCode& code = codes_[job.code_digest];
  if (code.description.is_null()) {
    std::lock_guard lock(mutex_);
    ++progress_.distinct_objects;
  }
  code.assembling = false;
  code.object = std::make_shared<Descriptor>(std::move(message.descriptors[0]));
  code.description = message.body["code"];
  if (code.description.contains("times")) job.about["times"].update(code.description["times"]);
  const std::vector<JobId> waiting = std::exchange(code.waiting, {});
  has_code(job, code);
  for (JobId id : waiting)
    if (Job* other = find(id)) has_code(*other, code);
  keep(job.code_digest);
}

void Pool::Scheduler::keep(const std::string& code_digest) {
  if (!options_.share) return codes_[code_digest].object.reset();
  kept_.push_back(code_digest);
  if (kept_.size() <= kMostKept) return;
  codes_[kept_.front()].object.reset();  // jobs that need it have it
  kept_.pop_front();
}

std::string Pool::Scheduler::measurement_key(const Job& job, const SharedCode& code) const {
  return code.description.value("digest", "") + " " + job.launch_key;
}

void Pool::Scheduler::has_code(Job& job, const SharedCode& code) {
  if (job.future->cancelled) return finish(job.id, failed_result(Failure::cancelled, "given up before it was measured"));
  job.object = code.object;
  job.code = code.description;
  if (!shares_measurement(job)) return to_measure_.push_back(job.id);
  const std::string key = measurement_key(job, code);
  auto [measurement, fresh] = measurements_.try_emplace(key);
  if (fresh) {
    job.measurement = key;
    return to_measure_.push_back(job.id);
  }
  if (measurement->second.outcome) return finish(job.id, measurement->second.outcome->share());
  measurement->second.waiting.push_back(job.id);
}

void Pool::Scheduler::code_failed(Job& job, const PoolResult& result) {
  const bool shared = is_of_the_compiler(result.failure);
  std::vector<JobId> waiting;
  if (options_.share) {
    TranslationRequest& translation = translations_[job.compile_key];
    if (job.code_digest.empty()) {
      if (shared) translation.failed.emplace(result, job.digest);
      translation.under_way = false;
      waiting = std::exchange(translation.waiting, {});
    } else if (SharedCode& code = codes_[job.code_digest]; code.assembling) {
      if (shared) code.failed.emplace(result, job.digest);
      code.assembling = false;
      waiting = std::exchange(code.waiting, {});
    }
  }
  to_compile_.insert(to_compile_.begin(), waiting.begin(), waiting.end());  // to fail alike, or to be tried
  finish(job.id, result);
}

void Pool::Scheduler::settle(Job& job, PoolResult result) {
  auto measurement = measurements_.find(job.measurement);
  if (measurement == measurements_.end()) return finish(job.id, std::move(result));
  const std::vector<JobId> waiting = std::exchange(measurement->second.waiting, {});
  if (is_of_the_code(result.failure)) {
    measurement->second.outcome.emplace(result, job.digest);
    const Outcome outcome = *measurement->second.outcome;
    finish(job.id, std::move(result));
    for (JobId id : waiting) finish(id, outcome.share());
    return;
  }
  // Says nothing of the others: the next is measured for them.
  measurements_.erase(measurement);
  SharedCode code;
  code.description = job.code;
  code.object = job.object;
  finish(job.id, std::move(result));
  for (JobId id : waiting)
    if (Job* other = find(id)) has_code(*other, code);
}

}  // namespace mneme
