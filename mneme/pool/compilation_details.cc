#include "mneme/pool/compilation_details.h"

namespace mneme {

using Json = nlohmann::json;

void add_assembly(Json& about, const Json& description) {
  if (description.contains("times")) about["times"].update(description["times"]);
}

void add_compilation(PoolResult& result, const Json& about) {
  if (!about.is_object()) return;
  if (about.contains("times")) result.details["times"].update(about["times"]);
  const Json& specialised = about.value("specialised", Json::array());
  if (!specialised.empty()) result.details["specialised"] = specialised.size() == 1 ? specialised[0] : specialised;
}

std::optional<std::string> measured_object(const PoolResult& result) {
  const auto object = result.details.find("obj_hash");
  if (object == result.details.end() || !object->is_string()) return std::nullopt;
  return object->get<std::string>();
}

}  // namespace mneme
