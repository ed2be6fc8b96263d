// JSON that holds words of others as text: names out of modules, messages of compilers, what a user typed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "mneme/base/status.h"

namespace mneme {

// Never fails: what is no UTF-8 becomes U+FFFD. `indent` as in nlohmann::json::dump().
inline std::string json_text(const nlohmann::json& json, int indent = -1) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The same of a text alone.
inline std::string valid_utf8(const std::string& text) { return nlohmann::json::parse(json_text(text)).get<std::string>(); }

// Else no log and no digest could hold it.
inline bool is_utf8(const nlohmann::json& text) { return nlohmann::json::parse(json_text(text)) == text; }

// invalid_argument: a text in it is no UTF-8, which no result and no log could hold; `what` says where the texts are from.
inline Status check_texts(const nlohmann::json& json, std::string_view what) {
  const nlohmann::json flat = json.flatten();
  for (const auto& [place, value] : flat.items())
    if (value.is_string() && !is_utf8(value))
      return error(Code::invalid_argument, "{}: {} at {} is no UTF-8, and results are JSON, which is: spell it otherwise", what,
                   json_text(value), place);
  return {};
}

}  // namespace mneme
