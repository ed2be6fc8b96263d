// Members of JSON by their path: "block.x", "codegen.level".
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace mneme {

// The value that a person wrote on a command line: JSON where it reads as JSON, and else a text. 64 is a number, O1 a text.
nlohmann::json json_value(std::string_view text);

// Sets the member at `path`, and makes the objects on the way to it that are missing. A null takes the member out. False: the
// path leads through a member that is no object, as "passes.x".
bool set_member(nlohmann::json& object, std::string_view path, const nlohmann::json& value);

}  // namespace mneme
