#include "mneme/replay/json_member.h"

#include <nlohmann/json.hpp>
#include <string>

#include "mneme/replay/json_text.h"

namespace mneme {

using Json = nlohmann::json;

Json json_value(std::string_view text) {
  Json value = json_in(text);
  return value.is_discarded() ? Json(text) : value;
}

bool set_member(Json& object, std::string_view path, const Json& value) {
  Json* at = &object;
  for (size_t dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    at = &(*at)[std::string(path.substr(0, dot))];
    if (!at->is_object() && !at->is_null()) return false;
    path.remove_prefix(dot + 1);
  }
  if (!value.is_null())
    (*at)[std::string(path)] = value;
  else if (at->is_object())
    at->erase(std::string(path));
  if (at->is_null()) *at = Json::object();
  return true;
}

}  // namespace mneme
