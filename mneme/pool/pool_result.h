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
  invalid_launch,   // the launch cannot be: its shape, a knob, or a tolerance
  device_fault,     // the kernel trapped, or crashed its process
  run_timeout,      // the kernel did not end in time, and was killed
  worker_lost,      // not the configuration's fault: somebody killed a worker, none could be started, or the system failed it
  cancelled,        // given up by the caller, or the pool was closed
};
std::string_view to_string(Failure failure);
std::optional<Failure> parse_failure(std::string_view name);

enum class Origin {
  measured,  // found out for this configuration
  shared,    // found out for another one, which ended in the same: see PoolResult::shared_with
  resumed,   // read from the log of an earlier run
};
std::string_view to_string(Origin origin);

struct PoolResult {
  Configuration configuration;
  Failure failure = Failure::none;
  std::string reason;  // of a failure: what was attempted, and why it failed
  Origin origin = Origin::measured;
  std::optional<Digest> shared_with;  // of Origin::shared: whole_digest() of the configuration that the result was found out for
  std::string label;                  // as Pool::measure_anew() was given it; else empty
  ResultDetails details;              // times, registers, sizes: "result" in JSON

  bool failed() const { return failure != Failure::none; }
  // The timed runs, in their order; empty where there were none.
  std::vector<Nanoseconds> exec_time() const { return details.together.exec_time; }
  // The shortest timed run; nothing where there was none, or the configuration failed.
  std::optional<Nanoseconds> best_time() const;
};

// A digest of everything in a configuration, how it is timed included. A resumed run does not measure a configuration again whose
// digest the log has. A configuration has the same digest in every version of Mneme that reads it, so that older logs can be
// resumed.
Digest whole_digest(const Configuration& configuration);
// The same of a configuration as to_json() gives it.
Digest whole_digest(const nlohmann::json& configuration);

nlohmann::json to_json(const PoolResult& result);
// The same for a caller that has the configuration's JSON and digest already.
nlohmann::json to_json(const PoolResult& result, nlohmann::json configuration, const Digest& whole_digest);
// Reads what this version or an older one wrote. corrupt: it is not what to_json() wrote; invalid_argument: its configuration is
// none.
Result<PoolResult> pool_result_from_json(const nlohmann::json& json);

}  // namespace mneme
