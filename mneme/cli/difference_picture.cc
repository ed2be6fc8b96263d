#include "mneme/cli/difference_picture.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace mneme::cli {
namespace {

constexpr unsigned kWidth = 512;
constexpr unsigned kLine = 3;  // rows between bands
constexpr Colour kBehind{40, 40, 40}, kBetween{200, 200, 200};

}  // namespace

Colour colour_of(double relative_error) {
  if (relative_error == 0) return {};
  if (!std::isfinite(relative_error)) return {255, 255, 255};
  constexpr std::array<Colour, 5> kScale = {{{40, 60, 190}, {30, 150, 200}, {60, 180, 90}, {240, 140, 40}, {255, 230, 60}}};
  const double place = std::clamp((std::log10(relative_error) + 16) / 16, 0.0, 1.0) * (kScale.size() - 1);
  const auto below = std::min(static_cast<size_t>(place), kScale.size() - 2);
  const double part = place - static_cast<double>(below);
  auto mix = [&](uint8_t a, uint8_t b) { return static_cast<uint8_t>(std::lround(a + (b - a) * part)); };
  const Colour &a = kScale[below], &b = kScale[below + 1];
  return {mix(a.red, b.red), mix(a.green, b.green), mix(a.blue, b.blue)};
}

Status write_picture(const std::vector<SegmentDifference>& differences, const Path& file) {
  std::vector<Colour> pixels;
  for (const SegmentDifference& difference : differences) {
    if (!pixels.empty()) pixels.insert(pixels.end(), kLine * kWidth, kBetween);
    for (double cell : difference.cells) pixels.push_back(colour_of(cell));
    pixels.resize((pixels.size() + kWidth - 1) / kWidth * kWidth, kBehind);
  }
  png_image image;
  std::memset(&image, 0, sizeof image);
  image.version = PNG_IMAGE_VERSION;
  image.width = kWidth;
  image.height = static_cast<png_uint_32>(pixels.size() / kWidth);
  image.format = PNG_FORMAT_RGB;
  static_assert(sizeof(Colour) == 3);
  if (png_image_write_to_file(&image, file.c_str(), 0, pixels.data(), 0, nullptr) != 0) return {};
  return error(Code::io, "writing the picture {}: {}", file.string(), image.message);
}

}  // namespace mneme::cli
