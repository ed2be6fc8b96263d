#include "mneme/cli/difference_picture.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace mneme::cli {
namespace {

constexpr Colour kPaper{250, 250, 250}, kInk{20, 20, 20}, kBehind{70, 70, 70}, kNoError{255, 255, 255};
constexpr unsigned kPlotWidth = 512;
constexpr unsigned kLeft = 136;  // of a plot: room for ten digits and a mark
constexpr unsigned kWidth = kLeft + kPlotWidth + 32;
constexpr unsigned kLine = Canvas::kLetterHeight + 6;
constexpr unsigned kTitle = 2 * kLine + 6;  // above a plot
constexpr unsigned kAxis = kLine + 10;      // below it
constexpr unsigned kMark = 5;               // length of one at an axis
constexpr unsigned kLegend = 6 * kLine + 40;
constexpr double kLeastError = 1e-16;

unsigned text_width(const std::string& text) { return static_cast<unsigned>(text.size()) * Canvas::kLetterWidth; }

// What does not fit ends in "...".
std::string fitting(std::string text, unsigned width) {
  const size_t letters = width / Canvas::kLetterWidth;
  return text.size() <= letters ? text : text.substr(0, letters - 3) + "...";
}

size_t cell_count(const RangeDifference& d) { return std::max<size_t>(d.cells.size(), 1); }

Colour colour_of_cell(const RangeDifference& d, size_t cell) {
  if (cell >= d.cells.size()) return kBehind;
  return cell < d.cells_not_written.size() && d.cells_not_written[cell] ? kNotWrittenColour : colour_of(d.cells[cell]);
}

void draw_title(Canvas& canvas, const Plot& plot, const RangeDifference& d) {
  const unsigned y = plot.area.y - kTitle;
  const std::string type = d.range.type ? std::string(to_string(d.type)) : "bytes";
  std::string what = fmt::format("{} differ", d.wrong());
  if (d.not_written != 0) what += fmt::format(", {} not written", d.not_written);
  if (d.cell != 1) what += fmt::format("; a cell is {}", d.cell);
  canvas.text(8, y, fitting(fmt::format("{}: {} {}", d.range.where, d.elements, type), kWidth - 16), kInk);
  canvas.text(8, y + kLine, fitting(what, kWidth - 16), kInk);
}

// Beside the rows the index of their first element, below them the distance from it.
void draw_axes(Canvas& canvas, const Plot& plot, const RangeDifference& d) {
  const auto& [x, y, width, height] = plot.area;
  canvas.fill({x - 1, y, 1, height + 1}, kInk);
  canvas.fill({x - 1, y + height, width + 1, 1}, kInk);
  const unsigned step = std::max(1u, (2 * kLine + plot.cell - 1) / plot.cell);  // rows between two indices
  for (unsigned row = 0; row < plot.rows; row += step) {
    const unsigned at = y + row * plot.cell;
    const std::string index = fitting(std::to_string(uint64_t{row} * plot.columns * d.cell), kLeft - 16);
    canvas.fill({x - 1 - kMark, at, kMark, 1}, kInk);
    canvas.text(x - 4 - kMark - text_width(index), at, index, kInk);
  }
  for (unsigned quarter = 0; quarter < 4; ++quarter) {
    const unsigned at = x + quarter * width / 4;
    canvas.fill({at, y + height, 1, kMark}, kInk);
    canvas.text(at, y + height + kMark + 3, fmt::format("+{}", uint64_t{plot.columns} * d.cell * quarter / 4), kInk);
  }
}

void draw_plot(Canvas& canvas, const Plot& plot, const RangeDifference& d) {
  draw_title(canvas, plot, d);
  for (size_t cell = 0; cell < size_t{plot.columns} * plot.rows; ++cell) {
    const auto column = static_cast<unsigned>(cell % plot.columns), row = static_cast<unsigned>(cell / plot.columns);
    canvas.fill({plot.area.x + column * plot.cell, plot.area.y + row * plot.cell, plot.cell, plot.cell}, colour_of_cell(d, cell));
  }
  draw_axes(canvas, plot, d);
}

void draw_legend(Canvas& canvas, unsigned y, size_t left_out) {
  canvas.text(8, y, "relative error (the largest in a cell)", kInk);
  y += kLine;
  for (unsigned x = 0; x < kPlotWidth; ++x)
    canvas.fill({8 + x, y, 1, kLine}, colour_of(kLeastError * std::pow(10, 16.0 * x / (kPlotWidth - 1))));
  y += kLine + 2;
  constexpr std::array<const char*, 5> kDecades = {"1e-16", "1e-12", "1e-8", "1e-4", "1"};
  for (unsigned i = 0; i < kDecades.size(); ++i) {
    const unsigned at = 8 + i * (kPlotWidth - 1) / 4;
    canvas.fill({at, y, 1, kMark}, kInk);
    canvas.text(at, y + kMark + 2, kDecades[i], kInk);
  }
  y += kLine + kMark + 6;
  const std::array<std::pair<Colour, const char*>, 4> classes = {{{colour_of(0), "equal"},
                                                                  {kNotWrittenColour, "not written by this configuration"},
                                                                  {kNoError, "no relative error: NaN, infinity, 0"},
                                                                  {kBehind, "behind the last element"}}};
  unsigned x = 8;
  for (const auto& [colour, words] : classes) {
    const unsigned width = 24 + text_width(words) + 24;
    if (x + width > kWidth) x = 8, y += kLine;
    canvas.fill({x, y, 16, Canvas::kLetterHeight}, kInk);
    canvas.fill({x + 1, y + 1, 14, Canvas::kLetterHeight - 2}, colour);
    canvas.text(x + 24, y, words, kInk);
    x += width;
  }
  if (left_out != 0) canvas.text(8, y + kLine, fmt::format("{} more buffers differ", left_out), kInk);
}

}  // namespace

Colour colour_of(double relative_error) {
  if (relative_error == 0) return {};
  if (!std::isfinite(relative_error)) return kNoError;
  constexpr std::array<Colour, 5> kScale = {{{40, 60, 190}, {30, 150, 200}, {60, 180, 90}, {240, 140, 40}, {255, 230, 60}}};
  const double place = std::clamp((std::log10(relative_error) + 16) / 16, 0.0, 1.0) * (kScale.size() - 1);
  const auto below = std::min(static_cast<size_t>(place), kScale.size() - 2);
  const double part = place - static_cast<double>(below);
  auto mix = [&](uint8_t a, uint8_t b) { return static_cast<uint8_t>(std::lround(a + (b - a) * part)); };
  const Colour &a = kScale[below], &b = kScale[below + 1];
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

std::vector<Plot> layout(const std::vector<RangeDifference>& differences) {
  std::vector<Plot> plots;
  unsigned y = 8;
  for (size_t i = 0; i < std::min(differences.size(), kMostPlots); ++i) {
    const size_t cells = cell_count(differences[i]);
    unsigned columns = 64;
    while (columns < kPlotWidth && size_t{columns} * columns < cells) columns *= 2;
    const auto rows = static_cast<unsigned>((cells + columns - 1) / columns);
    const unsigned cell = kPlotWidth / columns;
    y += kTitle;
    plots.push_back({columns, rows, cell, {kLeft, y, kPlotWidth, rows * cell}});
    y += rows * cell + kAxis + kLine;
  }
  return plots;
}

Canvas draw(const std::vector<RangeDifference>& differences) {
  const std::vector<Plot> plots = layout(differences);
  const unsigned end = plots.back().area.y + plots.back().area.height + kAxis + kLine;
  Canvas canvas(kWidth, end + kLegend, kPaper);
  for (size_t i = 0; i < plots.size(); ++i) draw_plot(canvas, plots[i], differences[i]);
  draw_legend(canvas, end, differences.size() - plots.size());
  return canvas;
}

Status write_picture(const std::vector<RangeDifference>& differences, const Path& file) {
  return draw(differences).write_png(file);
}

}  // namespace mneme::cli
