// Finds pass pipelines that LLVM cannot parse, before anything is compiled with them. LLVM is asked in processes of its own
// (isolated.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"

namespace mneme {

struct RefusedPipeline {
  size_t place = 0;  // its index in `pipelines`
  Status why;        // invalid_argument, in the words of run_passes()
};
// The first of the pipelines that does not parse with these plugins for the target ("nvptx", "amdgcn"), which has passes of its
// own. The pipelines are tried on an empty module, so that a failure later than in parsing (in a plugin, or in a pass that finds
// no function) says nothing of the code to be compiled, and is ignored; and so is a pipeline that takes longer than ten seconds.
std::optional<RefusedPipeline> find_refused_pipeline(const std::vector<std::string>& pipelines,
                                                     const std::vector<std::string>& plugins, std::string_view target);

}  // namespace mneme
