// What `mneme show` says of recorded code: which places make its result depend on more than memory.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>

#include "mneme/base/disk_cache.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme::cli {

// Finds these places (ir/order_dependence.h). Returns a list of objects {"kind", "places", "first", "what"}. LLVM reads the
// bitcode in a child process, so that bytes which crash it are a failure here. SIGINT, SIGTERM, SIGHUP and SIGQUIT end the child
// and then this process. Failures: corrupt: it is no LLVM IR; those of explain() for how the child ended (guarded.h); those of
// run_guarded().
//
// What is found is kept in `cache`, where that is not null, by the digest of the bitcode: of the same bitcode LLVM is not asked
// again, nor is it loaded.
Result<nlohmann::json> order_dependences_in(ByteSpan bitcode, const std::string& name, const std::shared_ptr<DiskCache>& cache);

}  // namespace mneme::cli
