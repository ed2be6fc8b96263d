#include "mneme/pool/result_details.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace mneme {
namespace {

using Json = nlohmann::json;

// What never came to a device: "false" and 0 would say that something had been tried.
Json without_verdict(Json json) {
  for (auto member = json.begin(); member != json.end();) {
    const Json& value = *member;
    const bool untried = value == false || value == 0 || (value.is_array() && value.empty());
    member = untried ? json.erase(member) : std::next(member);
  }
  if (json.value("stage", "") == "preparing") json.erase("stage");
  return json;
}

Json of_several(const ResultDetails& details) {
  const Json all = to_brief_json(details.together);
  Json json = Json::object(), instances = Json::array();
  if (details.together.stage == ReplayStage::compiled) json["stage"] = all["stage"];
  for (const char* key : {"verified", "executed", "exec_time", "times"})
    if (all.contains(key)) json[key] = all[key];
  for (const InstanceResult& one : details.instances) {
    Json result = to_brief_json(one.result);
    instances.push_back({{"record_id", one.record_id.hex()}, {"result", std::move(result)}});
  }
  json["instances"] = std::move(instances);
  return json;
}

Result<std::vector<SpecialisationReport>> reports_from_json(const Json& json) {
  std::vector<SpecialisationReport> reports;
  for (const Json& one : json) {
    MNEME_ASSIGN(SpecialisationReport report, specialisation_report_from_json(one));
    reports.push_back(std::move(report));
  }
  return reports;
}

Result<std::vector<StageTime>> times_from_json(const Json& json) {
  if (!json.is_object()) return corrupt_result("'times' is no object");
  std::vector<StageTime> times;
  for (const auto& [stage, time] : json.items()) {
    if (!time.is_number()) return corrupt_result("'times' has what is no number");
    times.push_back({stage, Nanoseconds(time.get<double>())});
  }
  return times;
}

Result<std::vector<InstanceResult>> instances_from_json(const Json& json) {
  if (!json.is_array()) return corrupt_result("'instances' is no list");
  std::vector<InstanceResult> instances;
  for (const Json& one : json) {
    const bool whole = one.is_object() && one.contains("record_id") && one["record_id"].is_string() && one.contains("result");
    const auto record_id = whole ? Digest::from_hex(one["record_id"].get<std::string>()) : Result<Digest>(Digest());
    if (!whole || !record_id.ok()) return corrupt_result("'instances' has what lacks 'record_id' or 'result'");
    MNEME_ASSIGN(ReplayResult result, replay_result_from_json(one["result"]));
    instances.push_back({*record_id, std::move(result)});
  }
  return instances;
}

}  // namespace

std::vector<const ReplayResult*> ResultDetails::each() const {
  if (instances.empty()) return {&together};
  std::vector<const ReplayResult*> all;
  for (const InstanceResult& instance : instances) all.push_back(&instance.result);
  return all;
}

std::optional<Nanoseconds> ResultDetails::compile_time() const {
  Nanoseconds total = mneme::compile_time(together);
  bool known = !together.times.empty();
  for (const InstanceResult& instance : instances) {
    total += mneme::compile_time(instance.result);
    known = known || !instance.result.times.empty();
  }
  return known ? std::optional(total) : std::nullopt;
}

Json to_json(const ResultDetails& details) {
  Json json;
  if (!details.instances.empty())
    json = of_several(details);
  else if (details.together.stage < ReplayStage::compiled)
    json = without_verdict(to_brief_json(details.together));
  else
    json = to_brief_json(details.together);
  for (const SpecialisationReport& report : details.specialised) json["specialised"].push_back(to_json(report));
  return json;
}

Status corrupt_result(std::string_view what) { return error(Code::corrupt, "a result of a pool: {}", what); }

Result<ResultDetails> result_details_from_json(const Json& json) {
  if (!json.is_object()) return corrupt_result("it is no object");
  ResultDetails details;
  const auto specialised = json.find("specialised"), instances = json.find("instances");
  const bool of_several = specialised != json.end() && specialised->is_array();
  if (of_several) {
    MNEME_ASSIGN(details.specialised, reports_from_json(*specialised));
    Json rest = json;
    rest.erase("specialised");
    MNEME_ASSIGN(details.together, replay_result_from_json(rest));
  } else {
    MNEME_ASSIGN(details.together, replay_result_from_json(json));
  }
  if (instances != json.end()) {
    MNEME_ASSIGN(details.instances, instances_from_json(*instances));
  }
  return details;
}

Status add_compilation(ResultDetails& details, const Json& about) {
  if (!about.is_object()) return {};
  std::vector<SpecialisationReport> reports;
  if (const auto specialised = about.find("specialised"); specialised != about.end() && !specialised->is_null()) {
    if (!specialised->is_array()) return corrupt_result("'specialised' is no list");
    MNEME_ASSIGN(reports, reports_from_json(*specialised));
  }
  std::vector<StageTime> compiled;
  if (const auto times = about.find("times"); times != about.end()) {
    MNEME_ASSIGN(compiled, times_from_json(*times));
  }
  std::vector<StageTime>& known = details.together.times;
  for (const StageTime& stage : compiled) {
    std::erase_if(known, [&](const StageTime& other) { return other.stage == stage.stage; });
    known.push_back(stage);
  }
  if (reports.size() == 1)
    details.together.specialised = std::move(reports.front());
  else
    details.specialised = std::move(reports);
  return {};
}

}  // namespace mneme
