// The picture of `mneme diff --png`, of where memory differs: a plot for each buffer that does, with its name and axes, and a
// legend.
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
// The colour of a cell whose largest relative error is this; 0 for equal, infinite where it cannot be told.
Colour colour_of(double relative_error);

// Where a plot's cells are drawn, its axes beside them.
struct Plot {
  unsigned columns = 0, rows = 0;  // of cells
  unsigned cell = 0;               // pixels in each direction
  Rectangle area;
};
inline constexpr size_t kMostPlots = 64;
// Where the plots are, one below the other from the top of the picture on: of the first kMostPlots differences. A plot is 512
// pixels wide, and has 64, 128, 256 or 512 columns.
std::vector<Plot> layout(const std::vector<RangeDifference>& differences);

// Draws the picture. `differences` are those of at least one buffer; the picture has the first kMostPlots.
Canvas draw(const std::vector<RangeDifference>& differences);
// Draws the picture and writes it as PNG. io.
Status write_picture(const std::vector<RangeDifference>& differences, const Path& file);

}  // namespace mneme::cli
