// Parts of a recorded launch that everything made of it has: its tolerances, and names and types of its memory.
#pragma once

#include <vector>

#include "mneme/base/status.h"
#include "mneme/ir/access_types.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/replay/configuration.h"
#include "mneme/verify/typed_ranges.h"

namespace mneme {

// The tolerances that are asked for become the recording's own. Failures: those of resolve_tolerances().
Result<std::vector<Annotation>> annotations_of(const Configuration& configuration, const KernelRecord& kernel,
                                               const InstanceRecord& instance, const MemoryPlan& plan);

// All memory of the plan in pieces of one name, one type and one tolerance, that of the recording. Failures: as before.
struct LaunchPieces {
  std::vector<TypedRange> ranges;
  std::vector<ToleratedRange> tolerated;
};
Result<LaunchPieces> pieces_of(const KernelRecord& kernel, const InstanceRecord& instance, const MemoryPlan& plan,
                               const ir::AccessTypes& accesses);

// unsupported: the launch needs limits of the context that only a replay raises.
Status check_limits(const InstanceRecord& instance);

}  // namespace mneme
