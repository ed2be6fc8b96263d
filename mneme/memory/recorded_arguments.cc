#include "mneme/memory/recorded_arguments.h"

#include <vector>

namespace mneme {

Status expect_recorded_arguments(Kernel& kernel, const KernelRecord& recorded) {
  std::vector<PackedPlace> places;
  for (const Parameter& parameter : recorded.parameters) places.push_back({parameter.offset, parameter.size});
  return kernel.expect_arguments(places);
}

}  // namespace mneme
