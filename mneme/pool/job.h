// What the pool's thread knows of a configuration that it was given, and of what configurations share.
//
//   configuration ──CompileKey──▶ TranslationRequest ──digest──▶ SharedCode ──object, LaunchKey──▶ SharedMeasurement
//
// Two configurations with one key there are one thing from there on: it is done for the first, and the others wait for it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/descriptor.h"
#include "mneme/pool/pool.h"
#include "mneme/pool/wake_up.h"

namespace mneme {

struct FutureState {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<PoolResult> result;
  std::vector<Nanoseconds> times;
  std::atomic<bool> cancelled = false;
  std::function<void(const PoolResult&)> on_done;
  std::shared_ptr<WakeUp> wake_up;
};

using JobId = uint64_t;

struct Job {
  JobId id = 0;
  Configuration configuration;
  std::shared_ptr<FutureState> future;
  std::string label = {};  // not empty: its measurement is shared with none

  // From when it is looked at first, see identify():
  nlohmann::json json = {};      // the configuration
  Digest digest = {};            // whole_digest()
  std::string compile_key = {};  // of its TranslationRequest
  std::string launch_key = {};   // of its Measurement, with the object's digest
  std::string code_digest = {};  // of its SharedCode, once known
  nlohmann::json about = {};     // what the result is to say of its compilation
  nlohmann::json code = {};      // what the device worker is told of the object
  std::shared_ptr<Descriptor> object = {};
  std::string measurement = {};  // key, where it is this job that is measured
  bool at_worker = false;
  bool told_to_stop = false;
  unsigned lost = 0;   // times that a worker was lost before it began
  bool alone = false;  // a worker was lost while others ran and its result was awaited
};

// What a configuration ended in, kept for those that end in the same.
class Outcome {
 public:
  Outcome() = default;
  Outcome(const PoolResult& result, const Digest& found_for);
  // For another configuration.
  PoolResult share() const;
  Failure failure() const { return failure_; }

 private:
  Failure failure_ = Failure::none;
  std::string reason_;
  ResultDetails details_;
  Digest found_for_;
};

// What the compiler was asked.
struct TranslationRequest {
  bool under_way = false;
  std::string code_digest;     // once it is known
  nlohmann::json specialised;  // as in Job::about
  std::optional<Outcome> failed;
  std::vector<JobId> waiting;
};

// What some translation became.
struct SharedCode {
  bool assembling = false;
  nlohmann::json description;          // null until it was assembled; stays
  std::shared_ptr<Descriptor> object;  // while it is kept
  std::optional<Outcome> failed;
  std::vector<JobId> waiting;
};

// One object under one launch.
struct SharedMeasurement {
  std::optional<Outcome> outcome;
  std::vector<JobId> waiting;
};

// Equal for configurations of which the compiler is asked the same: whatever only the launch or the verdict depends on is left
// out, unless the code is specialised to the launch. Files count by what the system says of them.
std::string compile_key(const Configuration& configuration, const nlohmann::json& json);
// Of what an object and its facts do not hold.
std::string launch_key(const nlohmann::json& configuration);
// Fills in what follows from the configuration, once.
void identify(Job& job);

}  // namespace mneme
