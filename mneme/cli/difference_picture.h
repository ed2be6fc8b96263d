// A picture of where memory differs: PNG, a band for each buffer that does.
//
// A pixel is a run of elements, in rows from left to right and top to bottom; a band has at most 512 rows of 512 pixels, and
// bands are parted by a light line. Black: equal. Blue to yellow: the largest relative error in the run, on a logarithmic scale
// from 1e-16 to 1. White: no relative error can be told (a NaN, an infinity, or zero was recorded). Dark grey: behind the last
// element.
#pragma once

#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"
#include "mneme/replay/difference.h"

namespace mneme::cli {

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
};
// Of a run whose largest relative error is this.
Colour colour_of(double relative_error);

// At least one difference. io.
Status write_picture(const std::vector<SegmentDifference>& differences, const Path& file);

}  // namespace mneme::cli
