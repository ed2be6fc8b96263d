// JSON as Python's own values, and back.
#pragma once

#include <nanobind/nanobind.h>

#include <nlohmann/json.hpp>
#include <string>

namespace mneme::python {

// None, bool, int, float, str, list, tuple, dict, a path, and what NumPy has of these. Raises InvalidArgumentError for anything
// else, which `what` and the path of the member name: "configuration: 'block.x' cannot be a set: …".
nlohmann::json json_of(nanobind::handle value, const std::string& what);

nanobind::object python_of(const nlohmann::json& json);

}  // namespace mneme::python
