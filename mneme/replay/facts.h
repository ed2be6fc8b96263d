// Facts: what a recorded launch proves, as a specialisation with which its code may be compiled.
//
// No-alias is proven of a pointer parameter when all of this holds:
//   - the kernel reaches memory only from its parameters, from pointers in structures passed by value, and from variables;
//   - the kernel accesses memory through the parameter, which points into a recorded allocation or variable of the device;
//   - none of the others points into that allocation or variable, or the kernel does not write there;
//   - the kernel does not write through the parameter, or its threads do not wait for each other: a compiler takes no-alias for a
//     promise that holds across barriers too.
// A parameter that becomes a constant gets no such fact. One thing is assumed: accesses that start from a pointer stay in the
// allocation that the pointer points into. Where they do not, a replay shows a wrong result.
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
  const LaunchShape& shape;  // with which it will be launched
};

// A pointer parameter of which no-alias is not proven.
struct UnprovenParameter {
  unsigned parameter = 0;  // index
  std::string reason;      // "it points to host memory"
  friend bool operator==(const UnprovenParameter&, const UnprovenParameter&) = default;
};

// A specialisation, and what is said about it in a result.
struct SpecialisedLaunch {
  Specialisation values;
  std::vector<std::string> parameters;       // what each parameter is called: its name, or its index where it has none
  std::vector<UnprovenParameter> may_alias;  // where no-alias was asked for

  friend bool operator==(const SpecialisedLaunch&, const SpecialisedLaunch&) = default;
};

// Finds the values of the facts that `options` asks for. `use` is how the kernel that is compiled reaches memory, or why that
// cannot be told; it is looked at only for no_alias, of which nothing is proven then.
// invalid_argument: `options` names a parameter that the kernel does not have (the message has the nearest name and lists all),
// or a block of the launch has more threads than max_threads. corrupt: a parameter lies outside of the recorded parameters.
Result<SpecialisedLaunch> resolve_facts(const SpecialiseOptions& options, const LaunchFacts& launch,
                                        const Result<PointerUse>& use);

// The region that a pointer points into, or just behind; null where there is none.
const Region* region_at(const MemoryPlan& plan, DevicePtr pointer);

// What a result says of a specialisation: what was asked for and no more, with parameters by their names. Each member is the key
// of the same name in JSON, except that the members of `bounds` stand beside the others.
struct SpecialisationReport {
  std::vector<std::string> arguments;            // parameters that are constants
  std::optional<LaunchDimensions> dimensions;    // grid and block, where they are constants
  std::optional<LaunchDimensions> ranges;        // grid and block, where they bound indices and dimensions
  std::map<std::string, uint64_t> alignment;     // of each pointer that is aligned to more than a byte, in bytes
  std::vector<std::string> no_alias;             // pointers that are proven to alias nothing
  std::map<std::string, std::string> may_alias;  // the other pointers, each with the reason
  LaunchBounds bounds;
  friend bool operator==(const SpecialisationReport&, const SpecialisationReport&) = default;
};
SpecialisationReport report_of(const SpecialisedLaunch& launch);

nlohmann::json to_json(const SpecialisationReport& report);
// corrupt, naming the key: it is not what to_json() wrote.
Result<SpecialisationReport> specialisation_report_from_json(const nlohmann::json& json);

}  // namespace mneme
