// Members of JSON by their path: "block.x", "codegen.level".
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace mneme {

// What a person wrote: JSON where it reads as JSON, and text where it does not.
nlohmann::json json_value(std::string_view text);

// Sets the member, and makes the objects that lead to it; null takes it out. False: the path leads through a member that has no
// members.
bool set_member(nlohmann::json& object, std::string_view path, const nlohmann::json& value);

}  // namespace mneme
