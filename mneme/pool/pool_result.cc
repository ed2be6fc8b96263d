#include "mneme/pool/pool_result.h"

#include <algorithm>
#include <array>

#include "mneme/replay/json_text.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

constexpr std::array<std::string_view, 9> kFailures = {"none",           "wrong_result", "compile_error", "compile_timeout",
                                                       "invalid_launch", "device_fault", "run_timeout",   "worker_lost",
                                                       "cancelled"};
constexpr std::array<std::string_view, 3> kOrigins = {"measured", "shared", "resumed"};

}  // namespace

std::string_view to_string(Failure failure) { return kFailures[static_cast<size_t>(failure)]; }
std::string_view to_string(Origin origin) { return kOrigins[static_cast<size_t>(origin)]; }

std::optional<Failure> parse_failure(std::string_view name) {
  auto found = std::find(kFailures.begin(), kFailures.end(), name);
  if (found == kFailures.end()) return std::nullopt;
  return static_cast<Failure>(found - kFailures.begin());
}

std::optional<Nanoseconds> PoolResult::best_time() const {
  const std::vector<Nanoseconds>& times = details.together.exec_time;
  if (failed() || times.empty()) return std::nullopt;
  return *std::min_element(times.begin(), times.end());
}

Digest whole_digest(const Configuration& configuration) { return whole_digest(to_json(configuration)); }

Digest whole_digest(const Json& configuration) {
  return Hasher().add(std::string_view(text_under_first_names(configuration))).finish();
}

Json to_json(const PoolResult& result) {
  Json configuration = to_json(result.configuration);
  const Digest digest = whole_digest(configuration);
  return to_json(result, std::move(configuration), digest);
}

Json to_json(const PoolResult& result, Json configuration, const Digest& whole_digest) {
  Json json = {{"configuration", std::move(configuration)},
               {"digest", whole_digest.hex()},
               {"origin", to_string(result.origin)},
               {"result", to_json(result.details)}};
  json["failure"] = result.failed() ? Json(to_string(result.failure)) : Json();
  if (result.failed()) json["reason"] = result.reason;
  if (result.shared_with) json["shared_with"] = result.shared_with->hex();
  if (!result.label.empty()) json["label"] = result.label;
  return json;
}

Result<PoolResult> pool_result_from_json(const Json& json) {
  if (!json.is_object() || !json.contains("configuration") || !json.contains("failure"))
    return corrupt_result("members are missing");
  PoolResult result;
  MNEME_ASSIGN(result.configuration, configuration_from_json(json["configuration"]));
  if (json["failure"].is_string()) {
    auto failure = parse_failure(json["failure"].get<std::string>());
    if (!failure) return corrupt_result("an unknown failure");
    result.failure = *failure;
    if (auto reason = json.find("reason"); reason != json.end() && reason->is_string()) result.reason = *reason;
  }
  if (auto details = json.find("result"); details != json.end() && !details->is_null()) {
    MNEME_ASSIGN(result.details, result_details_from_json(*details));
  }
  if (auto label = json.find("label"); label != json.end() && label->is_string()) result.label = *label;
  if (auto origin = json.find("origin"); origin != json.end() && origin->is_string()) {
    auto found = std::find(kOrigins.begin(), kOrigins.end(), origin->get<std::string>());
    if (found != kOrigins.end()) result.origin = static_cast<Origin>(found - kOrigins.begin());
  }
  if (auto with = json.find("shared_with"); with != json.end() && with->is_string()) {
    auto digest = Digest::from_hex(with->get<std::string>());
    if (!digest.ok()) return corrupt_result("'shared_with' is no digest");
    result.shared_with = *digest;
  }
  return result;
}

}  // namespace mneme
