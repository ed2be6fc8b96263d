#include "mneme/reproducer/launch_parts.h"

#include <algorithm>

#include "mneme/snapshot/launch_limits.h"

namespace mneme {

Result<std::vector<Annotation>> annotations_of(const Configuration& configuration, const KernelRecord& kernel,
                                               const InstanceRecord& instance, const MemoryPlan& plan) {
  MNEME_ASSIGN(const std::vector<ToleratedRange> ranges, resolve_tolerances(configuration.tolerance, kernel, instance, plan));
  constexpr std::string_view kPrefix = "annotation ";
  std::vector<Annotation> annotations;
  for (const ToleratedRange& range : ranges) {
    const std::string tag = range.name.starts_with(kPrefix) ? range.name.substr(kPrefix.size()) : range.name;
    const DevicePtr region = plan.regions[range.region].prologue.address;
    annotations.push_back({region + Bytes(range.offset), range.size, tag, range.tolerance});
  }
  std::ranges::sort(annotations, {}, &Annotation::address);
  return annotations;
}

Result<LaunchPieces> pieces_of(const KernelRecord& kernel, const InstanceRecord& instance, const MemoryPlan& plan,
                               const ir::AccessTypes& accesses) {
  LaunchPieces pieces;
  MNEME_ASSIGN(pieces.tolerated, resolve_tolerances({}, kernel, instance, plan));
  MNEME_ASSIGN(pieces.ranges, typed_ranges_of(kernel, instance, plan, pieces.tolerated, accesses, {}));
  return pieces;
}

Status check_limits(const InstanceRecord& instance) {
  MNEME_ASSIGN(const LaunchLimits limits, limits_in(instance.attributes));
  if (limits == LaunchLimits()) return {};
  return Status(Code::unsupported,
                "the program has raised limits of the device for the launch (cudaDeviceSetLimit), which only a replay does too");
}

}  // namespace mneme
