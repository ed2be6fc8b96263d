// What a configuration's code assumes of the launches in a program, as rule and conditions.
#pragma once

#include "mneme/compile/specialisation.h"
#include "mneme/ir/module.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/replay/configuration.h"
#include "mneme/snapshot/snapshot.h"
#include "mneme/tuned/tuned_file.h"
#include "mneme/verify/buffers.h"

namespace mneme {

// What is known of a kernel beside one recorded launch.
enum class BlockUse {
  unknown,
  none,  // its threads do not know how they are divided into blocks (ir::ignores_blocks())
};

// Which launches the code covers. Those of any shape, where it is the recorded code, only compiled otherwise: a compiler keeps
// what code does. Those of the recorded block with as many threads in other blocks, where beside that the kernel makes no use of
// blocks. All else was seen for the recorded shape alone, and covers that: other extents, facts of the shape, IR that somebody
// has written, passes of a plugin, and arithmetic that may round otherwise. `shape` is what was verified.
LaunchRule rule_of(const Configuration& configuration, const InstanceRecord& instance, const LaunchShape& shape, BlockUse blocks);

// By what the code's output may differ and is right: of `tolerated`, what lies in one of the code's `variables`, or behind a
// pointer among the arguments. The rest is compared by its bytes.
std::vector<TunedTolerance> tolerances_of(const std::vector<ToleratedRange>& tolerated, const KernelRecord& kernel,
                                          const InstanceRecord& instance, const MemoryPlan& plan,
                                          const std::vector<std::string>& variables);

// Whether the kernel can be run twice from the same memory and does the same. `code` is its IR; null: there is only the machine
// code `image`, which is searched for the names of functions that do more than change memory.
Repeatable repeatable(const ir::Module* code, ByteSpan image, const TextureSet& textures);

// Adds the conditions under which `specialisation` is true. A pointer that was proven to alias nothing has the condition that
// no other pointer among the arguments leads into its allocation, but for those that did when it was proven.
void add_conditions(const Specialisation& specialisation, const KernelRecord& kernel, const InstanceRecord& instance,
                    const MemoryPlan& plan, TunedKernel& out);

// Whether the code of `one` may take the place of every launch for which the pointers are as `other` asks.
bool asks_no_more(const TunedKernel& one, const TunedKernel& other);

}  // namespace mneme
