// A picture of where memory differs: a plot for each buffer that does, with its name, its axes, and one legend.
//
// A cell of a plot is a run of elements, in rows from left to right and top to bottom; beside the rows stands the index of their
// first element. Black: equal. Blue to yellow: the largest relative error in the run, on a logarithmic scale from 1e-16 to 1.
// White: no relative error can be told (a NaN, an infinity, or zero was recorded). Magenta: elements that were not written. Dark
// grey: behind the last element.
#pragma once

#include <vector>

#include "mneme/cli/picture_canvas.h"
#include "mneme/verify/difference.h"

namespace mneme::cli {

inline constexpr Colour kNotWrittenColour{215, 40, 185};
// Of a run whose largest relative error is this.
Colour colour_of(double relative_error);

// Where a plot's cells are drawn, its axes beside them.
struct Plot {
  unsigned columns = 0, rows = 0;  // of cells
  unsigned cell = 0;               // pixels in each direction
  Rectangle area;
};
// From the top of the picture on, one below the other. A plot is 512 pixels wide, of 64, 128, 256 or 512 columns. The picture has
// at most 64.
inline constexpr size_t kMostPlots = 64;
std::vector<Plot> layout(const std::vector<SegmentDifference>& differences);

// At least one difference.
Canvas draw(const std::vector<SegmentDifference>& differences);
// io.
Status write_picture(const std::vector<SegmentDifference>& differences, const Path& file);

}  // namespace mneme::cli
