// What a result says of the compilation of its object, which the compile worker tells and the device worker does not know.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "mneme/pool/pool_result.h"

namespace mneme {

// Adds to what a translation said of itself (CodeTranslated::about) the stages of assembling (CodeAssembled::description).
void add_assembly(nlohmann::json& about, const nlohmann::json& description);
// Adds that to a result: "times" by stage, and "specialised", of one instance alone where there is one.
void add_compilation(PoolResult& result, const nlohmann::json& about);
// The digest of the object that was measured; nothing where there was none, or one for each of several instances.
std::optional<std::string> measured_object(const PoolResult& result);

}  // namespace mneme
