// Canvas: pixels to draw rectangles and text on, and to write as PNG.
//
// Text has a fixed font of our own, 5 by 7 dots with one between letters, for printable ASCII; anything else is drawn as '?'. A
// dot is two pixels wide and high.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "mneme/base/file_system.h"
#include "mneme/base/status.h"

namespace mneme::cli {

struct Colour {
  uint8_t red = 0, green = 0, blue = 0;
  friend bool operator==(const Colour&, const Colour&) = default;
};

struct Rectangle {
  unsigned x = 0, y = 0, width = 0, height = 0;
};

class Canvas {
 public:
  static constexpr unsigned kLetterWidth = 12, kLetterHeight = 14;  // pixels, with the gap to the next letter of a line

  Canvas(unsigned width, unsigned height, Colour background) : width_(width), pixels_(size_t{width} * height, background) {}

  unsigned width() const { return width_; }
  unsigned height() const { return static_cast<unsigned>(pixels_.size() / width_); }
  // Which must be on the canvas.
  Colour at(unsigned x, unsigned y) const { return pixels_[size_t{y} * width_ + x]; }

  // What lies beyond the canvas is left out.
  void fill(const Rectangle& area, Colour colour);
  // From its upper left corner on, in one line.
  void text(unsigned x, unsigned y, std::string_view text, Colour colour);

  // io.
  Status write_png(const Path& file) const;

 private:
  unsigned width_;
  std::vector<Colour> pixels_;
};

}  // namespace mneme::cli
