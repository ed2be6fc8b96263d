// What `mneme show` says of recorded code: what in it depends on more than memory.
#pragma once

#include <nlohmann/json.hpp>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::cli {

// A list of {"kind", "places", "first", "what"}; see ir/order_dependence.h. LLVM reads the bitcode in a child process, so that
// bytes which take it down are an error here. corrupt, and what a child's end says.
Result<nlohmann::json> order_dependences_in(ByteSpan bitcode, const std::string& name);

}  // namespace mneme::cli
