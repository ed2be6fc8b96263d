#include "mneme/pool/job.h"

#include "mneme/compile/compile_key.h"

namespace mneme {

Outcome::Outcome(const PoolResult& result, const Digest& found_for)
    : failure_(result.failure),
      reason_(result.reason),
      details_(nlohmann::json::to_cbor(result.details)),
      found_for_(found_for) {}

PoolResult Outcome::share() const {
  PoolResult result;
  result.failure = failure_;
  result.reason = reason_;
  result.details = nlohmann::json::from_cbor(details_);
  result.origin = Origin::shared;
  result.shared_with = found_for_;
  return result;
}

std::string compile_key(const Configuration& configuration) {
  Configuration asked = configuration;
  asked.execution = {};
  asked.tolerance = {};
  asked.verdict = {};
  if (asked.specialise.empty()) {
    asked.grid = asked.block = {};
    asked.keep_threads = false;
    asked.shared_memory.reset();
  }
  std::string key = to_json(asked).dump();
  if (!asked.ir.path.empty()) key += "\n" + describe_file(asked.ir.path);
  for (const std::string& plugin : asked.pass_plugins) key += "\n" + describe_file(plugin);
  return key;
}

std::string launch_key(const Configuration& configuration) {
  Configuration launch = configuration;
  launch.passes.clear();
  launch.pass_plugins.clear();
  launch.ir = {};
  launch.specialise = {};
  launch.codegen = {};
  launch.assembler = {};
  return to_json(launch).dump();
}

}  // namespace mneme
