// How the memory that a run left differs from the recorded one, element by element.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/element_error.h"
#include "mneme/replay/run_memory.h"
#include "mneme/replay/segments.h"

namespace mneme {

struct ElementSample {
  uint64_t index = 0;
  std::string recorded, actual;
  ElementError error;
};

struct SegmentDifference {
  Segment segment;
  DevicePtr address;
  ElementType type = ElementType::u8;  // u8 where the segment has none
  uint64_t elements = 0, differing = 0;
  uint64_t unfit = 0;  // a NaN or infinity that was not recorded, or the other way
  ElementSample first;
  ElementSample worst_absolute, worst_relative, worst_ulp;  // the first that has it; of those that fit, if any does
  // Of relative errors: how many lie in [10^n, 10^(n+1)). Those that have none (zero was recorded, or unfit) are not in it.
  std::map<int, uint64_t> decades;
  uint64_t from_zero = 0;  // differ where zero was recorded
  // For a picture: the segment in runs of `cell` elements, each with its largest relative error: 0 for equal, infinite for what
  // has none.
  uint64_t cell = 1;
  std::vector<double> cells;
};

inline constexpr uint64_t kPictureCells = 512 * 512;

// Of each segment that differs, in their order.
Result<std::vector<SegmentDifference>> find_differences(const RunMemory& memory, const std::vector<Segment>& segments);

nlohmann::json to_json(const SegmentDifference& difference);

}  // namespace mneme
