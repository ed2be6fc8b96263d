// Writing JSON whose texts come from elsewhere and may be no UTF-8: names out of modules, messages of compilers, what a user
// typed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "mneme/base/status.h"

namespace mneme {

// The JSON as text. Never fails: bytes that are no UTF-8 become U+FFFD. `indent` as in nlohmann::json::dump().
inline std::string json_text(const nlohmann::json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The text with every byte that is no UTF-8 replaced by U+FFFD.
inline std::string valid_utf8(const std::string& text) { return nlohmann::json::parse(json_text(text)).get<std::string>(); }

// Whether every text in it is UTF-8. JSON with a text that is not can be in no log, and no digest can be taken of it.
inline bool is_utf8(const nlohmann::json& text) { return nlohmann::json::parse(json_text(text)) == text; }

// invalid_argument: a value in it is a text that is no UTF-8; the message has its place. `what` names the whole in the message:
// "the configuration".
inline Status check_texts(const nlohmann::json& json, std::string_view what) {
  const nlohmann::json flat = json.flatten();
  for (const auto& [place, value] : flat.items())
    if (value.is_string() && !is_utf8(value))
      return error(Code::invalid_argument, "{}: {} at {} is no UTF-8, and results are JSON, which is: spell it otherwise", what,
                   json_text(value), place);
  return {};
}

}  // namespace mneme
