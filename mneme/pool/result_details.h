// ResultDetails: everything that a pool found out about a configuration beside whether it is right: times, registers, sizes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "mneme/base/digest.h"
#include "mneme/base/status.h"
#include "mneme/replay/result.h"

namespace mneme {

struct InstanceResult {
  Digest record_id;  // its dynamic hash
  ReplayResult result;
};

struct ResultDetails {
  // With one instance, its result, with the times and facts of its compilation. With several, only what is true of all together:
  // whether all are verified and executed, the times of the compilation, and exec_time, in which a timed run is one run of each
  // instance, their times added, each multiplied by the instance's weight.
  ReplayResult together;
  std::vector<InstanceResult> instances;          // with several: each one's, in their order, up to the first that was not right
  std::vector<SpecialisationReport> specialised;  // with several: each one's, where facts were asked for

  // The results of the instances, be it one or several. They live as long as this object is not changed.
  std::vector<const ReplayResult*> each() const;
  // The first of these.
  const ReplayResult& first() const { return instances.empty() ? together : instances.front().result; }
  // How long the compiler's stages took together. Nothing where no times are known at all.
  std::optional<Nanoseconds> compile_time() const;
};

// The JSON of the result as `mneme replay` prints it, without members that are unknown or empty. A configuration that never came
// to a device has no verdict ("verified") either. With several instances: "verified", "executed", "exec_time" and "times" of all
// together, "instances", a list of objects with "record_id" and "result", and "specialised", a list.
nlohmann::json to_json(const ResultDetails& details);
// Reads what this version or an older one wrote. corrupt, naming the key: it is not what to_json() wrote.
Result<ResultDetails> result_details_from_json(const nlohmann::json& json);

// What these and pool_result_from_json() (pool_result.h) say of JSON that is none of theirs.
Status corrupt_result(std::string_view what);

// Adds what a compile worker told (CodeTranslated::about): {"times": {stage: ns}, "specialised": [a report for each instance]}.
// Either member may be missing. corrupt: `about` is an object of another form; nothing is added then.
Status add_compilation(ResultDetails& details, const nlohmann::json& about);

}  // namespace mneme
