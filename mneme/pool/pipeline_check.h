// Whether LLVM can parse pass pipelines: asked in processes of their own (isolated.h), before anything begins with them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mneme/base/status.h"

namespace mneme {

struct RefusedPipeline {
  size_t place = 0;  // among those that were asked about
  Status why;        // invalid_argument, in the words of run_passes()
};
// The first that does not parse with these plugins. What goes wrong later than in parsing, as in a plugin or in a pass that finds
// no function, says nothing of what is compiled, and refuses none.
std::optional<RefusedPipeline> find_refused_pipeline(const std::vector<std::string>& pipelines,
                                                     const std::vector<std::string>& plugins);

}  // namespace mneme
