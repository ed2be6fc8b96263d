// ResultDetails: what is known of a configuration that a pool was given, as far as it came.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
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
  // The result of the one instance, with the times and facts of its compilation. Of several instances: whether all are verified
  // and executed, the times of all together, where a timed run is one of each instance, and the times of the compilation.
  ReplayResult together;
  std::vector<InstanceResult> instances;          // of several, in their order, up to the first that was not right
  std::vector<SpecialisationReport> specialised;  // of several, where facts were asked for

  // The results of single instances: that of the one, or those of several.
  std::vector<const ReplayResult*> each() const;
  // The first of them; `together` where there is none.
  const ReplayResult& first() const { return instances.empty() ? together : instances.front().result; }
  // What all stages of the compiler took. Nothing where no stage of anything is known.
  std::optional<Nanoseconds> compile_time() const;
};

// As `mneme replay` prints a result, without what is not known or empty. What never came to a device has no verdict either. Of
// several instances: "verified", "executed", "exec_time", "times" and "instances", each with "record_id" and "result".
nlohmann::json to_json(const ResultDetails& details);
// Of this version or an older one. corrupt, naming the key: it is not what to_json() wrote.
Result<ResultDetails> result_details_from_json(const nlohmann::json& json);

// Adds what a compile worker told: {"times": {stage: ns}, "specialised": [a report for each instance]}, each where it is there.
// corrupt, and nothing is added: it is not that.
Status add_compilation(ResultDetails& details, const nlohmann::json& about);

}  // namespace mneme
