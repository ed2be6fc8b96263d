#include "mneme/replay/json_text.h"

#include <nlohmann/json.hpp>

namespace mneme {

std::string json_text(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

nlohmann::json json_in(std::string_view text) { return nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false); }

std::string valid_utf8(const std::string& text) { return json_in(json_text(text)).get<std::string>(); }

bool is_utf8(const nlohmann::json& text) { return json_in(json_text(text)) == text; }

Status check_texts(const nlohmann::json& json, std::string_view what) {
  const nlohmann::json flat = json.flatten();
  for (const auto& [place, value] : flat.items())
    if (value.is_string() && !is_utf8(value))
      return error(Code::invalid_argument, "{}: {} at {} is no UTF-8, and results are JSON, which is: spell it otherwise", what,
                   json_text(value), place);
  return {};
}

}  // namespace mneme
