#include "mneme/pool/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "mneme/snapshot/program_shape.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kProgram = "program", kEqual = "equal";

ProgramShape shape_of(const InstanceRecord& instance) {
  return {instance.grid, instance.block, instance.dynamic_shared_memory, instance.cooperative, instance.cluster};
}

}  // namespace

std::string_view to_string(WeighedBy by) { return by == WeighedBy::program ? kProgram : kEqual; }

std::optional<WeighedBy> parse_weighed_by(std::string_view name) {
  if (name == kProgram) return WeighedBy::program;
  if (name == kEqual) return WeighedBy::equal;
  return std::nullopt;
}

Result<std::vector<double>> weights_of_program(std::span<const InstanceRecord> instances) {
  std::map<ProgramShape, double> sharing;
  for (const InstanceRecord& instance : instances) ++sharing[shape_of(instance)];
  std::vector<double> weights;
  for (const InstanceRecord& instance : instances) {
    if (!instance.shape_launches || instance.shape_launches->count == 0)
      return error(Code::not_found, "how often the program launched instance {} is not known", instance.dynamic_hash.hex());
    weights.push_back(static_cast<double>(instance.shape_launches->count) / sharing[shape_of(instance)]);
  }
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (double& weight : weights) weight *= static_cast<double>(weights.size()) / all;
  return weights;
}

Result<Weights> choose_weights(std::optional<WeighedBy> asked, std::span<const InstanceRecord> instances) {
  Weights equal{WeighedBy::equal, std::vector<double>(instances.size(), 1.0), ""};
  if (instances.size() < 2 || asked == WeighedBy::equal) return equal;
  auto weights = weights_of_program(instances);
  if (weights.ok()) return Weights{WeighedBy::program, std::move(*weights), ""};
  if (asked) return weights.status();
  equal.why_equal = weights.status().message();
  return equal;
}

Result<Weights> choose_weights(std::optional<WeighedBy> asked, const KernelDocument& kernel, std::span<const Digest> instances) {
  std::vector<InstanceRecord> records;
  for (const Digest& hash : instances) {
    const auto found = std::find_if(kernel.instances.begin(), kernel.instances.end(),
                                    [&](const InstanceRecord& instance) { return instance.dynamic_hash == hash; });
    if (found == kernel.instances.end())
      return error(Code::not_found, "{} has no instance {}", kernel.kernel.demangled, hash.hex());
    records.push_back(*found);
  }
  return choose_weights(asked, records);
}

Status check_weights(std::span<const double> weights, size_t instances) {
  if (!weights.empty() && weights.size() != instances)
    return error(Code::invalid_argument, "there must be a weight for each of {} instances, and there are {}", instances,
                 weights.size());
  for (const double weight : weights)
    if (!(std::isfinite(weight) && weight > 0))
      return error(Code::invalid_argument, "a weight must be a number above 0, not {}", weight);
  return {};
}

std::string describe(const Weights& weights) {
  if (weights.of.size() < 2) return "";
  std::string text = fmt::format("{} instances, weighed ", weights.of.size());
  if (weights.by == WeighedBy::equal) return text + "equally" + (weights.why_equal.empty() ? "" : ": ") + weights.why_equal;
  text += "as the program launched them";
  for (size_t i = 0; i < weights.of.size(); ++i) text += fmt::format("{}{:.3g}", i == 0 ? ", " : " : ", weights.of[i]);
  return text;
}

Json to_json(const Weights& weights) {
  Json json = {{"by", to_string(weights.by)}, {"of", weights.of}};
  if (!weights.why_equal.empty()) json["why_equal"] = weights.why_equal;
  return json;
}

Result<Weights> weights_from_json(const Json& json, size_t instances) try {
  Weights weights;
  const auto by = parse_weighed_by(json.at("by").get<std::string>());
  if (!by) return error(Code::corrupt, "'weights' are by neither of program and equal");
  weights.by = *by;
  weights.of = json.at("of").get<std::vector<double>>();
  weights.why_equal = json.value("why_equal", "");
  const Status checked = check_weights(weights.of, instances);
  if (weights.of.empty() || !checked.ok())
    return error(Code::corrupt, "'weights': {}", checked.ok() ? "there are none" : checked.message());
  return weights;
} catch (const Json::exception& failure) {
  return error(Code::corrupt, "'weights': {}", failure.what());
}

}  // namespace mneme
