// What a configuration's code assumes of the launches in a program, as rule and conditions.
#pragma once

#include "mneme/compile/specialisation.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/replay/configuration.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/tuned/tuned_file.h"

namespace mneme {

// Which launches the code covers: those of any shape where nothing of it depends on the shape, those of the recorded block where
// only the block was changed and the threads are kept, and else those of the recorded shape. `shape` is what was verified.
LaunchRule rule_of(const Configuration& configuration, const InstanceRecord& instance, const LaunchShape& shape);

// Adds the conditions under which `specialisation` is true. A pointer that was proven to alias nothing has the condition that
// no other pointer among the arguments leads into its allocation, but for those that did when it was proven.
void add_conditions(const Specialisation& specialisation, const KernelRecord& kernel, const InstanceRecord& instance,
                    const MemoryPlan& plan, TunedKernel& out);

}  // namespace mneme
