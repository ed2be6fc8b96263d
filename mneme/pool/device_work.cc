#include "mneme/pool/device_work.h"

#include <algorithm>
#include <deque>

#include "mneme/measure/time_statistics.h"
#include "mneme/pool/candidate_code.h"
#include "mneme/pool/conclusion.h"
#include "mneme/replay/session.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

// Of several instances: what a person or a tuner looks at first, and then each instance's own.
class Together {
 public:
  void add(const Digest& instance, ReplayResult result, double weight) {
    ReplayResult& all = details_.together;
    std::vector<Nanoseconds>& sums = all.exec_time;
    const bool first = details_.instances.empty();
    sums.resize(first ? result.exec_time.size() : std::min(sums.size(), result.exec_time.size()));
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += result.exec_time[i] * weight;
    all.verified = (first || all.verified) && result.verified;
    all.executed = (first || all.executed) && result.executed;
    details_.instances.push_back({instance, std::move(result)});
  }

  // The sum of what there is of the run before, and of each time of the last instance, which is not added yet.
  std::vector<Nanoseconds> with(std::span<const Nanoseconds> times, size_t from, double weight) const {
    const std::vector<Nanoseconds>& before = details_.together.exec_time;
    std::vector<Nanoseconds> sums(times.begin(), times.end());
    for (size_t i = 0; i < sums.size(); ++i) {
      sums[i] *= weight;
      if (from + i < before.size()) sums[i] += before[from + i];
    }
    return sums;
  }

  ResultDetails take() {
    if (!details_.instances.empty()) details_.together.stage = ReplayStage::done;
    return std::move(details_);
  }

 private:
  ResultDetails details_;
};

class RecordedDeviceWork final : public DeviceWork {
 public:
  static Result<std::unique_ptr<DeviceWork>> create(const RecordedKernel& recorded, Device& device, DeviceCopies copies) {
    std::unique_ptr<RecordedDeviceWork> work(new RecordedDeviceWork(device));
    for (const RecordedKernel::Launch& launch : recorded.launches) {
      if (!work->sessions_.empty()) work->sessions_.back()->give_addresses_up();
      const size_t instance = work->sessions_.size();
      RecordedCopies there;
      if (instance < copies.there.size()) {
        // What cannot be had is made.
        if (auto imported = import_copies(copies.there[instance], device); imported.ok()) there = std::move(*imported);
      }
      const bool fresh = !there;
      there.shareable = fresh && copies.keep != nullptr;
      if (fresh) there.no_mask = copies.no_mask;
      MNEME_ASSIGN(auto session, Session::prepare(recorded.database, recorded.kernel.static_hash, launch.instance.dynamic_hash,
                                                  device, {}, std::move(there)));
      if (copies.cache) session->use_cache(copies.cache);
      if (Status mask = session->prepare_mask(); !mask.ok()) {
        if (mask.code() == Code::device_fault && copies.lost_to_mask) [[maybe_unused]]
          Status ignored = copies.lost_to_mask(session->why_no_mask());
        return mask;
      }
      // One that takes the place of another is to be there soon.
      if (fresh && copies.no_mask.empty()) MNEME_TRY(session->rehearse());
      if (fresh && copies.keep) {
        auto shared = session->share_copies();
        if (shared.ok()) [[maybe_unused]]
          Status ignored = copies.keep(instance, std::move(*shared));
      }
      session->use_lock(work->lock_);
      work->sessions_.push_back(std::move(session));
      work->weights_.push_back(launch.weight);
    }
    work->present_ = work->sessions_.size() - 1;
    return std::unique_ptr<DeviceWork>(std::move(work));
  }

  PoolResult measure(const Configuration& configuration, ByteSpan object, const Json& description, const Watch& watch) override {
    PoolResult result;
    const std::string digest = std::exchange(expected_digest_, {});
    auto code = !digest.empty() && digest == digest_of_code(description) ? std::move(expected_) : decode_candidate_code(object);
    if (!code.ok() || code->object_of.size() != sessions_.size()) {
      result.failure = Failure::worker_lost;
      result.reason = code.ok() ? "the code is of other instances" : code.status().to_string();
      return result;
    }
    if (!configuration.execution.shared_device && !lock_) {
      auto lock = DeviceLock::acquire(device_.properties());
      if (lock.ok()) lock_ = std::move(*lock);  // else each session says why it cannot be had
    }
    if (sessions_.size() == 1) {
      bool left = false;
      RunWatch run = run_watch(watch, watch.timed);
      run.followed = watch.followed;
      run.leave_times = [&] { return left = watch.leave && watch.leave(); };
      ReplayResult replayed = sessions_[0]->measure(configuration, code->objects[0], run);
      if (left) {
        left_.push_back(std::move(replayed));
        return result;
      }
      return pool_result_of(std::move(replayed));
    }
    measure_each(configuration, *code, watch, result);
    return result;
  }

  void expect(const Configuration& configuration, ByteSpan object, const Json& description) override {
    expected_digest_ = digest_of_code(description);
    expected_ = decode_candidate_code(object);
    // What cannot be loaded says so when it is measured.
    if (sessions_.size() == 1 && expected_.ok() && expected_->object_of.size() == 1) [[maybe_unused]]
      Status ignored = sessions_[0]->load_ahead(configuration, expected_->objects[0]);
  }

  // Of several instances none is left.
  Status fetch_left() override {
    std::vector<ReplayResult*> unfetched;
    for (size_t i = fetched_; i < left_.size(); ++i) unfetched.push_back(&left_[i]);
    Status status = sessions_[0]->add_left_times(unfetched);
    if (!status.ok()) left_.resize(fetched_);
    fetched_ = left_.size();
    return status;
  }

  PoolResult take_left() override {
    ReplayResult replayed = std::move(left_.front());
    left_.pop_front();
    --fetched_;
    return pool_result_of(std::move(replayed));
  }

  void idle() override { lock_ = DeviceLock(); }

 private:
  explicit RecordedDeviceWork(Device& device) : device_(device) {}

  static std::string digest_of_code(const Json& description) {
    return description.is_object() ? description.value("digest", "") : "";
  }

  // What is wrong is not timed.
  static RunWatch run_watch(const Watch& watch, std::function<bool(std::span<const Nanoseconds>)> timed) {
    RunWatch run;
    run.verified = [&watch](const ReplayResult& so_far) { return so_far.verified && watch.going_on(); };
    run.timed = std::move(timed);
    run.waiting = watch.waiting;
    return run;
  }

  // Until one is wrong.
  void measure_each(const Configuration& configuration, const CandidateCode& code, const Watch& watch, PoolResult& result) {
    Together together;
    for (size_t i = 0; i < sessions_.size() && !result.failed(); ++i) {
      const Digest& instance = sessions_[i]->instance().dynamic_hash;
      const double weight = weights_[i];
      if (Status status = give_addresses_to(i); !status.ok()) {
        result.failure = Failure::worker_lost;
        result.reason = status.to_string();
        break;
      }
      const bool last = i + 1 == sessions_.size();
      size_t told = 0;
      auto timed = [&](std::span<const Nanoseconds> times) {
        if (!last) return watch.timed({});
        const std::vector<Nanoseconds> sums = together.with(times, told, weight);
        told += times.size();
        return watch.timed(sums);
      };
      ReplayResult replayed = sessions_[i]->measure(configuration, code.of_instance(i), run_watch(watch, timed));
      PoolResult one = pool_result_of(std::move(replayed));
      result.failure = one.failure;
      if (result.failed()) result.reason = fmt::format("instance {}: {}", instance.hex(), one.reason);
      together.add(instance, std::move(one.details.together), weight);
      if (!result.failed() && !last && !watch.timed({})) {
        result.failure = Failure::cancelled;
        result.reason = "given up before every instance was measured";
      }
    }
    result.details = together.take();
  }

  // One session at a time has the recorded addresses.
  Status give_addresses_to(size_t session) {
    if (present_ == session) return {};
    sessions_[present_]->give_addresses_up();
    present_ = session;
    return sessions_[session]->take_addresses();
  }

  Device& device_;
  DeviceLock lock_;                                 // while there is work
  std::vector<std::unique_ptr<Session>> sessions_;  // by instance
  std::vector<double> weights_;                     // of those
  size_t present_ = 0;
  std::string expected_digest_;  // of `expected_`; empty: nothing is
  Result<CandidateCode> expected_ = CandidateCode();
  std::deque<ReplayResult> left_;  // the oldest first; the first `fetched_` have their times
  size_t fetched_ = 0;
};

}  // namespace

Result<std::unique_ptr<DeviceWork>> create_device_work(const RecordedKernel& recorded, Device& device, DeviceCopies copies) {
  return RecordedDeviceWork::create(recorded, device, std::move(copies));
}

}  // namespace mneme
