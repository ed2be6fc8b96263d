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
#include "mneme/verify/typed_ranges.h"

namespace mneme {

// One element that differs.
struct ElementSample {
  uint64_t index = 0;            // in its range
  std::string recorded, actual;  // as format_element() shows them
  ElementError error;
};

// How one range differs. An element that differs was either not written by the run, and then has no error, or it was written
// and is wrong. The samples, the errors and the counts below `first_not_written` are about wrong elements alone.
struct RangeDifference {
  TypedRange range;
  DevicePtr address;                          // where the range is now
  ElementType type = ElementType::u8;         // u8 where the range has no type
  uint64_t elements = 0, differing = 0;       // `differing`: whose bytes differ
  uint64_t not_written = 0;                   // of those that differ: they still hold the masked bytes that the run started from
  std::optional<uint64_t> first_not_written;  // the index of the first of these

  uint64_t unfit = 0;   // there is a NaN or infinity that was not recorded, or one that was recorded is missing
  ElementSample first;  // the wrong element with the smallest index; no sample means anything where wrong() is 0
  // The elements with the largest error of each kind, the first where several have it. Unfit ones count only where all are unfit.
  ElementSample worst_absolute, worst_relative, worst_ulp;
  // A histogram of the relative errors: decades[n] elements have one in [10^n, 10^(n+1)). Elements without a relative error are
  // not in it (zero was recorded, or the element is unfit), nor are those whose error is 0 though their bytes differ (-0 and 0).
  std::map<int, uint64_t> decades;
  uint64_t from_zero = 0;  // another number stands where zero was recorded
  // For a picture: the range is divided into runs of `cell` elements, at most kPictureCells of them. cells[i] is the largest
  // relative error in run i: 0 where no element is wrong, infinite where one has no relative error.
  uint64_t cell = 1;
  std::vector<double> cells;
  std::vector<bool> cells_not_written;  // whether at least one element of the run was not written

  uint64_t wrong() const { return differing - not_written; }  // elements that were written, and differ
};

// "32768 of 65536 f32 of argument 'out' were not written"; "bytes" instead of the type where there is none.
std::string describe_not_written(const std::string& where, std::optional<ElementType> type, uint64_t elements,
                                 uint64_t not_written);

inline constexpr uint64_t kPictureCells = 512 * 512;

// How each of the ranges differs that does, in their order. Failures are the device's.
Result<std::vector<RangeDifference>> find_differences(const RunMemory& memory, const std::vector<TypedRange>& ranges);

// As `mneme diff --json` prints it. Samples are null where wrong() is 0, and errors that are not finite are text.
nlohmann::json to_json(const RangeDifference& difference);

}  // namespace mneme
