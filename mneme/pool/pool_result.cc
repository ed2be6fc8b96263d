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

// What an older version wrote, each member under the name that it has now.
Json under_current_names(Json result) {
  const auto rename = [](Json& object, const char* former, const char* now) {
    const auto member = object.find(former);
    if (member == object.end()) return;
    if (!object.contains(now)) object[now] = *member;
    object.erase(former);
  };
  if (!result.is_object()) return result;
  rename(result, "poison", "mask");
  rename(result, "poisoned_bytes", "masked_bytes");
  if (auto times = result.find("times"); times != result.end() && times->is_object()) rename(*times, "poison", "mask");
  if (auto instances = result.find("instances"); instances != result.end() && instances->is_array())
    for (Json& instance : *instances)
      if (instance.is_object() && instance.contains("result")) instance["result"] = under_current_names(instance["result"]);
  return result;
}

Status corrupt(std::string_view what) { return error(Code::corrupt, "a result of a pool: {}", what); }

}  // namespace

std::string_view to_string(Failure failure) { return kFailures[static_cast<size_t>(failure)]; }
std::string_view to_string(Origin origin) { return kOrigins[static_cast<size_t>(origin)]; }

std::optional<Failure> parse_failure(std::string_view name) {
  auto found = std::find(kFailures.begin(), kFailures.end(), name);
  if (found == kFailures.end()) return std::nullopt;
  return static_cast<Failure>(found - kFailures.begin());
}

std::vector<Nanoseconds> PoolResult::exec_time() const {
  std::vector<Nanoseconds> times;
  auto member = details.find("exec_time");
  if (member == details.end() || !member->is_array()) return times;
  for (const Json& time : *member)
    if (time.is_number()) times.emplace_back(time.get<double>());
  return times;
}

std::optional<Nanoseconds> PoolResult::best_time() const {
  std::vector<Nanoseconds> times = exec_time();
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
               {"result", result.details}};
  json["failure"] = result.failed() ? Json(to_string(result.failure)) : Json();
  if (result.failed()) json["reason"] = result.reason;
  if (result.shared_with) json["shared_with"] = result.shared_with->hex();
  if (!result.label.empty()) json["label"] = result.label;
  return json;
}

Result<PoolResult> pool_result_from_json(const Json& json) {
  if (!json.is_object() || !json.contains("configuration") || !json.contains("failure")) return corrupt("members are missing");
  PoolResult result;
  MNEME_ASSIGN(result.configuration, configuration_from_json(json["configuration"]));
  if (json["failure"].is_string()) {
    auto failure = parse_failure(json["failure"].get<std::string>());
    if (!failure) return corrupt("an unknown failure");
    result.failure = *failure;
    if (auto reason = json.find("reason"); reason != json.end() && reason->is_string()) result.reason = *reason;
  }
  if (auto details = json.find("result"); details != json.end() && details->is_object())
    result.details = under_current_names(*details);
  if (auto label = json.find("label"); label != json.end() && label->is_string()) result.label = *label;
  if (auto origin = json.find("origin"); origin != json.end() && origin->is_string()) {
    auto found = std::find(kOrigins.begin(), kOrigins.end(), origin->get<std::string>());
    if (found != kOrigins.end()) result.origin = static_cast<Origin>(found - kOrigins.begin());
  }
  if (auto with = json.find("shared_with"); with != json.end() && with->is_string()) {
    auto digest = Digest::from_hex(with->get<std::string>());
    if (!digest.ok()) return corrupt("'shared_with' is no digest");
    result.shared_with = *digest;
  }
  return result;
}

}  // namespace mneme
