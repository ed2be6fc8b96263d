// How the memory that a run left differs from the recorded one, element by element.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/element_error.h"
#include "mneme/memory/run_memory.h"
#include "mneme/verify/segments.h"

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
  // Of those: the run started from masked memory there, and that is still what they hold. Nothing below is about them.
  uint64_t not_written = 0;
  std::optional<uint64_t> first_not_written;  // its index
  uint64_t unfit = 0;                         // a NaN or infinity that was not recorded, or the other way
  ElementSample first;                        // of those that were written, as all samples; there is one where wrong() is not 0
  ElementSample worst_absolute, worst_relative, worst_ulp;  // the first that has it; of those that fit, if any does
  // Of relative errors: how many lie in [10^n, 10^(n+1)). Those that have none (zero was recorded, or unfit) are not in it.
  std::map<int, uint64_t> decades;
  uint64_t from_zero = 0;  // differ where zero was recorded
  // For a picture: the segment in runs of `cell` elements, each with its largest relative error: 0 for equal, infinite for what
  // has none.
  uint64_t cell = 1;
  std::vector<double> cells;
  std::vector<bool> cells_not_written;  // at least one of the run was not

  uint64_t wrong() const { return differing - not_written; }  // were written, and differ
};

// "32768 of 65536 f32 of argument 'out' were not written"
std::string describe_not_written(const std::string& where, std::optional<ElementType> type, uint64_t elements,
                                 uint64_t not_written);

inline constexpr uint64_t kPictureCells = 512 * 512;

// Of each segment that differs, in their order.
Result<std::vector<SegmentDifference>> find_differences(const RunMemory& memory, const std::vector<Segment>& segments);

nlohmann::json to_json(const SegmentDifference& difference);

}  // namespace mneme
