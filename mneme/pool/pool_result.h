// PoolResult: what became of one configuration that was given to a pool.
#pragma once

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/pool/result_details.h"
#include "mneme/replay/configuration.h"

namespace mneme {

enum class Failure {
  none,
  wrong_result,     // it ran, and memory is not as recorded
  compile_error,    // the compiler refused it, or crashed
  compile_timeout,  // the compiler did not end in time, and was killed
  invalid_launch,   // a launch shape or knob that the device cannot run
  device_fault,     // the kernel trapped
  run_timeout,      // the kernel did not end in time, and was killed
  worker_lost,      // a worker process was killed by somebody, or could not be started
  cancelled,        // given up by the caller, or the pool was closed
};
std::string_view to_string(Failure failure);
std::optional<Failure> parse_failure(std::string_view name);

enum class Origin {
  measured,  // for this configuration
  shared,    // another configuration ended in the same object and launch: see shared_with
  resumed,   // read from the log of an earlier run
};
std::string_view to_string(Origin origin);

struct PoolResult {
  Configuration configuration;
  Failure failure = Failure::none;
  std::string reason;  // of a failure: what was attempted, and why it failed
  Origin origin = Origin::measured;
  std::optional<Digest> shared_with;  // whole_digest() of the configuration that was measured
  std::string label;                  // that Pool::measure_anew() was given
  ResultDetails details;              // times, registers, sizes: "result" in JSON

  bool failed() const { return failure != Failure::none; }
  // The timed runs, in their order; empty where there were none.
  std::vector<Nanoseconds> exec_time() const { return details.together.exec_time; }
  std::optional<Nanoseconds> best_time() const;
};

// Of everything in a configuration, how it is timed included: what was measured under one is not measured again. The same value
// has the same digest in every version that reads it, so that logs of older ones are resumed.
Digest whole_digest(const Configuration& configuration);
// The same of a configuration as to_json() gives it.
Digest whole_digest(const nlohmann::json& configuration);

nlohmann::json to_json(const PoolResult& result);
// The same for who has both of its configuration already.
nlohmann::json to_json(const PoolResult& result, nlohmann::json configuration, const Digest& whole_digest);
// corrupt: it is not what to_json() wrote.
Result<PoolResult> pool_result_from_json(const nlohmann::json& json);

}  // namespace mneme
