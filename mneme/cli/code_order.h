// What `mneme show` says of recorded code: which places make its result depend on more than memory.
#pragma once

#include <nlohmann/json.hpp>

#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::cli {

// Finds these places (ir/order_dependence.h). Returns a list of objects {"kind", "places", "first", "what"}. LLVM reads the
// bitcode in a child process, so that bytes which crash it are a failure here. SIGINT, SIGTERM, SIGHUP and SIGQUIT end the child
// and then this process. Failures: corrupt: it is no LLVM IR; those of explain() for how the child ended (guarded.h); those of
// run_guarded().
Result<nlohmann::json> order_dependences_in(ByteSpan bitcode, const std::string& name);

}  // namespace mneme::cli
