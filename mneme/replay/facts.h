// Facts: what a recorded launch proves, as a specialisation that its code may be made with.
//
// No-alias is proven of a parameter when the kernel reaches memory only from its parameters, from pointers in structures that it
// is given by value and from variables; each of them points into another recorded allocation or variable, or nobody writes to the
// one they share; and, where the kernel writes through it, threads do not wait for each other, since a compiler takes no-alias
// for a promise across barriers too. One thing is assumed: accesses that start from a pointer stay in the allocation that the
// pointer points into. A replay would show the opposite as a wrong result.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/compile/pointer_use.h"
#include "mneme/compile/specialisation.h"
#include "mneme/device/device.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/replay/specialise_options.h"
#include "mneme/snapshot/snapshot.h"

namespace mneme {

// What is known of one launch.
struct LaunchFacts {
  const KernelRecord& kernel;
  const InstanceRecord& instance;
  const MemoryPlan& plan;
  const LaunchShape& shape;  // that is launched
};

struct UnprovenParameter {
  unsigned parameter = 0;
  std::string reason;
  friend bool operator==(const UnprovenParameter&, const UnprovenParameter&) = default;
};

// A specialisation, and what is said about it in a result.
struct SpecialisedLaunch {
  Specialisation values;
  std::vector<std::string> parameters;       // by index: their names, or their indices
  std::vector<UnprovenParameter> may_alias;  // pointers of which no-alias was asked and is not proven

  friend bool operator==(const SpecialisedLaunch&, const SpecialisedLaunch&) = default;
};

// `use` is how the kernel that is compiled reaches memory, or why that cannot be told; it is looked at only for no_alias.
// invalid_argument: there is no such parameter; the message has the nearest and lists them all; a block of the launch has more
// threads than max_threads. corrupt: a parameter lies outside of the recorded parameters.
Result<SpecialisedLaunch> resolve_facts(const SpecialiseOptions& options, const LaunchFacts& launch,
                                        const Result<PointerUse>& use);

// What a result says of it: only what was asked for, and parameters by their names. Each member is the key of the same name in
// JSON; those of `bounds` stand beside the others.
struct SpecialisationReport {
  std::vector<std::string> arguments;            // that are constants
  std::optional<LaunchDimensions> dimensions;    // the launch that was meant, where its extents are constants
  std::optional<LaunchDimensions> ranges;        // the same where indices and dimensions have ranges
  std::map<std::string, uint64_t> alignment;     // of each pointer
  std::vector<std::string> no_alias;             // pointers that are proven to alias nothing
  std::map<std::string, std::string> may_alias;  // the others, each with the reason
  LaunchBounds bounds;
  friend bool operator==(const SpecialisationReport&, const SpecialisationReport&) = default;
};
SpecialisationReport report_of(const SpecialisedLaunch& launch);

nlohmann::json to_json(const SpecialisationReport& report);
// corrupt, naming the key.
Result<SpecialisationReport> specialisation_report_from_json(const nlohmann::json& json);

}  // namespace mneme
