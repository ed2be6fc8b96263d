// JSON as text and back, where texts in it come from elsewhere and may be no UTF-8: names out of modules, messages of compilers,
// what a user typed. Call these and not dump() and parse() of nlohmann::json: each source that does has a serialiser or a parser
// of its own compiled, which takes seconds.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "mneme/base/status.h"

namespace mneme {

// The JSON as text. Never fails: bytes that are no UTF-8 become U+FFFD. `indent` as in nlohmann::json::dump().
std::string json_text(const nlohmann::json& json, int indent = -1);

// The JSON that the text is. Never throws: where the text is no JSON, is_discarded() of what is returned is true, and it is of no
// type that one asks for.
nlohmann::json json_in(std::string_view text);

// The text with every byte that is no UTF-8 replaced by U+FFFD.
std::string valid_utf8(const std::string& text);

// Whether every text in it is UTF-8. JSON with a text that is not can be in no log, and no digest can be taken of it.
bool is_utf8(const nlohmann::json& text);

// invalid_argument: a value in it is a text that is no UTF-8; the message has its place. `what` names the whole in the message:
// "the configuration".
Status check_texts(const nlohmann::json& json, std::string_view what);

}  // namespace mneme
