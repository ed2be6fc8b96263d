#include "mneme/pool/sharing.h"

#include <utility>

namespace mneme {
namespace {

using Json = nlohmann::json;
using Kind = NextStep::Kind;

// Whether another configuration that ends in the same code would fail in the same way.
bool is_of_the_code(Failure kind) { return kind != Failure::worker_lost && kind != Failure::cancelled; }
// The same of one that the compiler is asked the same for: its launch may be another.
bool is_of_the_compiler(Failure kind) { return kind == Failure::compile_error || kind == Failure::compile_timeout; }

std::string measurement_key(const Job& job, const DeviceCode& code) {
  return code.description.value("digest", "") + " " + job.launch_key;
}

NextStep end_as(const Outcome& outcome) { return {Kind::end, outcome.share()}; }

}  // namespace

Outcome::Outcome(const PoolResult& result, const Digest& found_for)
    : failure_(result.failure), reason_(result.reason), details_(result.details), found_for_(found_for) {}

PoolResult Outcome::share() const {
  PoolResult result;
  result.failure = failure_;
  result.reason = reason_;
  result.details = details_;
  result.origin = Origin::shared;
  result.shared_with = found_for_;
  return result;
}

void Sharing::remember(const std::map<Digest, PoolResult>& known) {
  for (const auto& [digest, result] : known) {
    // Of several instances there is an object for each, which `together` does not name.
    const std::optional<Digest>& object = result.details.together.obj_hash;
    if (result.shared_with || !object) continue;
    measurements_[object->hex() + " " + launch_key(to_json(result.configuration))].outcome.emplace(result, digest);
  }
}

NextStep Sharing::before_compiling(Job& job) {
  job.code_digest.clear();
  if (!share_) return {Kind::compile};
  Translation& translation = translations_[job.compile_key];
  if (translation.failed) return end_as(*translation.failed);
  if (translation.under_way) {
    translation.waiting.push_back(job.id);
    return {Kind::wait};
  }
  if (translation.code_digest.empty()) {
    translation.under_way = true;
    return {Kind::compile};
  }
  job.about = {{"specialised", translation.specialised}};
  Code& code = codes_[translation.code_digest];
  if (code.failed) return end_as(*code.failed);
  if (code.assembling) {
    code.waiting.push_back(job.id);
    return {Kind::wait};
  }
  if (!code.assembled.object && !is_measured(job, code)) {
    translation.under_way = true;
    return {Kind::compile};
  }
  job.code_digest = translation.code_digest;
  return {Kind::code};
}

Sharing::Translated Sharing::translated(Job& job, const std::string& code_digest, const Json& about) {
  job.code_digest = code_digest;
  job.about = about;
  Code& code = codes_[job.code_digest];
  Translated translated;
  if (share_) {
    Translation& translation = translations_[job.compile_key];
    translation.under_way = false;
    translation.code_digest = job.code_digest;
    translation.specialised = job.about.value("specialised", Json::array());
    translated.again = std::exchange(translation.waiting, {});
    translated.assemble = !code.assembled.object && !code.assembling && !is_measured(job, code) && !code.failed;
  } else {
    translated.assemble = true;
  }
  if (translated.assemble) {
    code.assembling = true;
  } else if (code.failed) {
    translated.next = end_as(*code.failed);
  } else if (code.assembling) {
    code.waiting.push_back(job.id);
    translated.next = {Kind::wait};
  } else {
    translated.next = {Kind::code};
  }
  return translated;
}

std::vector<JobId> Sharing::assembled(Job& job, const Json& description, ObjectHandle object) {
  Code& code = codes_[job.code_digest];
  if (code.assembled.description.is_null()) ++distinct_objects_;
  code.assembling = false;
  code.assembled = {description, std::move(object)};
  if (description.contains("times")) job.about["times"].update(description["times"]);
  return std::exchange(code.waiting, {});
}

void Sharing::keep_object(const std::string& code_digest) {
  if (!share_) return codes_[code_digest].assembled.object.reset();
  kept_.push_back(code_digest);
  if (kept_.size() <= kMostKept) return;
  codes_[kept_.front()].assembled.object.reset();  // jobs that need it have it
  kept_.pop_front();
}

std::vector<JobId> Sharing::compilation_failed(const Job& job, const PoolResult& result) {
  if (!share_) return {};
  const bool of_all = is_of_the_compiler(result.failure);
  Translation& translation = translations_[job.compile_key];
  if (job.code_digest.empty()) {
    if (of_all) translation.failed.emplace(result, job.digest);
    translation.under_way = false;
    return std::exchange(translation.waiting, {});
  }
  Code& code = codes_[job.code_digest];
  if (!code.assembling) return {};
  if (of_all) code.failed.emplace(result, job.digest);
  code.assembling = false;
  return std::exchange(code.waiting, {});
}

std::vector<JobId> Sharing::compilation_lost(const Job& job) {
  if (!share_) return {};
  if (!job.code_digest.empty()) {
    Code& code = codes_[job.code_digest];
    code.assembling = false;
    return std::exchange(code.waiting, {});
  }
  Translation& translation = translations_[job.compile_key];
  translation.under_way = false;
  return std::exchange(translation.waiting, {});
}

const DeviceCode& Sharing::code_of(const Job& job) { return codes_[job.code_digest].assembled; }

NextStep Sharing::measure_or_wait(Job& job, const DeviceCode& code) {
  job.code = code;
  if (!shares_measurement(job)) return {Kind::measure};
  const std::string key = measurement_key(job, code);
  auto [measurement, fresh] = measurements_.try_emplace(key);
  if (fresh) {
    job.measurement = key;
    return {Kind::measure};
  }
  if (measurement->second.outcome) return end_as(*measurement->second.outcome);
  measurement->second.waiting.push_back(job.id);
  return {Kind::wait};
}

Sharing::Measured Sharing::measured(const Job& job, const PoolResult& result) {
  auto measurement = measurements_.find(job.measurement);
  if (measurement == measurements_.end()) return {};
  Measured measured;
  measured.waiting = std::exchange(measurement->second.waiting, {});
  if (is_of_the_code(result.failure))
    measured.outcome = measurement->second.outcome.emplace(result, job.digest);
  else
    measurements_.erase(measurement);  // says nothing of the others: the next is measured for them
  return measured;
}

bool Sharing::is_measured(const Job& job, const Code& code) const {
  return shares_measurement(job) && !code.assembled.description.is_null() &&
         measurements_.contains(measurement_key(job, code.assembled));
}

}  // namespace mneme
