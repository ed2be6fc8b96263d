#include "mneme/cpu/run/texture.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace mneme::cpu {
namespace {

constexpr int kFractionBits = 8;
constexpr float kFraction = 1 << kFractionBits;
constexpr float kFarthest = 0x1p+30f;  // no image reaches it, and it is a number of a texel in 64 bits
constexpr int64_t kOutside = -1;

// A coordinate as a number that can be rounded: not beyond the farthest texel, and a NaN is 0.
float sane(float coordinate) { return std::isnan(coordinate) ? 0 : std::clamp(coordinate, -kFarthest, kFarthest); }

// The greatest whole number that is not above a sane value.
int64_t whole(float value) {
  const auto truncated = static_cast<int64_t>(value);
  return truncated - (static_cast<float>(truncated) > value ? 1 : 0);
}

int64_t modulo(int64_t value, int64_t by) { return (value % by + by) % by; }

// The texel that a texel's number means along one axis, or kOutside.
int64_t place(int64_t texel, uint32_t size, AddressMode mode) {
  switch (mode) {
    case AddressMode::wrap: return modulo(texel, size);
    case AddressMode::mirror: {
      const int64_t twice = modulo(texel, 2 * int64_t{size});
      return std::min(twice, 2 * int64_t{size} - 1 - twice);
    }
    case AddressMode::clamp: return std::clamp<int64_t>(texel, 0, int64_t{size} - 1);
    case AddressMode::border: break;
  }
  return texel >= 0 && texel < size ? texel : kOutside;
}

// The one or two texels of an axis that a fetch mixes.
struct Tap {
  int64_t texels[2] = {0, 0};
  float fraction = 0;  // the share of the second
};

Tap point_tap(float coordinate, uint32_t size, AddressMode mode) {
  const int64_t texel = place(whole(coordinate), size, mode);
  return {{texel, texel}, 0};
}

Tap linear_tap(float coordinate, uint32_t size, AddressMode mode) {
  const int64_t fixed = whole((coordinate - 0.5f) * kFraction + 0.5f);
  const int64_t first = fixed >> kFractionBits;
  const auto fraction = static_cast<float>(fixed & ((1 << kFractionBits) - 1));
  return {{place(first, size, mode), place(first + 1, size, mode)}, fraction / kFraction};
}

// Where a fetch goes to on one level.
struct Taps {
  Tap x, y, z;
  uint32_t slice = 0;  // of images that are not three-dimensional
};

float coordinate_of(const mneme_cpu_texture_request& request, size_t axis) {
  return std::bit_cast<float>(request.coordinates[axis]);
}

// A direction in a cube, as a face and the place on it, from 0 to 1.
struct CubePlace {
  uint32_t face = 0;
  float x = 0, y = 0;
};

CubePlace on_cube(float x, float y, float z) {
  const float ax = std::fabs(x), ay = std::fabs(y), az = std::fabs(z);
  uint32_t face = 0;
  float s = 0, t = 0, m = 0;
  if (ax >= ay && ax >= az) {
    face = x < 0, m = ax, s = x < 0 ? z : -z, t = -y;
  } else if (ay >= az) {
    face = y < 0 ? 3 : 2, m = ay, s = x, t = y < 0 ? -z : z;
  } else {
    face = z < 0 ? 5 : 4, m = az, s = z < 0 ? -x : x, t = -y;
  }
  return {face, (s / m + 1) / 2, (t / m + 1) / 2};
}

Components read_texel_of(const Texture& texture, const std::byte* texel) {
  Components read = read_texel(texel, texture.format, texture.normalized_values);
  if (texture.srgb)
    for (size_t i = 0; i < 3; ++i) read[i] = std::bit_cast<uint32_t>(decode_srgb(std::bit_cast<float>(read[i])));
  return read;
}

class Fetch {
 public:
  Fetch(const Texture& texture, const mneme_cpu_texture_request& request) : texture_(texture), request_(request) {
    for (size_t axis = 0; axis < 3; ++axis) mode_[axis] = mode_of(axis);
    if (request.shape != MNEME_CPU_IMAGE_CUBE) {
      for (size_t axis = 0; axis < 3; ++axis) at_[axis] = coordinate_of(request, axis);
      return;
    }
    const CubePlace cube = on_cube(coordinate_of(request, 0), coordinate_of(request, 1), coordinate_of(request, 2));
    at_ = {cube.x, cube.y, 0};
    face_ = cube.face;
    mode_ = {AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
  }

  Components run() const {
    if (request_.lookup == MNEME_CPU_LOOKUP_GATHER) return gather();
    const auto last = static_cast<float>(texture_.levels.size() - 1);
    float level = detail() + texture_.level_bias;
    level = std::clamp(level, texture_.least_level, std::max(texture_.least_level, texture_.greatest_level));
    level = std::clamp(level, 0.0f, last);
    if (texture_.level_filter == FilterMode::point)
      return on_level(texture_.levels[static_cast<size_t>(std::floor(level + 0.5f))]);
    const float fixed = std::floor(level * kFraction + 0.5f) / kFraction;
    const auto finer = static_cast<size_t>(fixed);
    const float share = fixed - static_cast<float>(finer);
    const Components first = on_level(texture_.levels[finer]);
    return share == 0 ? first : mix(first, on_level(texture_.levels[finer + 1]), share);
  }

 private:
  AddressMode mode_of(size_t axis) const {
    const AddressMode mode = texture_.address[axis];
    const bool repeats = mode == AddressMode::wrap || mode == AddressMode::mirror;
    return repeats && !texture_.normalized_coordinates ? AddressMode::clamp : mode;
  }

  // The level of detail that the request asks for, 0 for the most detailed.
  float detail() const {
    if (request_.lookup == MNEME_CPU_LOOKUP_LEVEL) return sane(request_.level);
    if (request_.lookup != MNEME_CPU_LOOKUP_GRADIENTS) return 0;
    const TexelGrid& grid = texture_.levels[0];
    const float extents[3] = {static_cast<float>(grid.width), static_cast<float>(grid.height), static_cast<float>(grid.slices)};
    const auto length = [&](const float* gradient) {
      float sum = 0;
      for (uint32_t axis = 0; axis <= std::min<uint32_t>(request_.shape, MNEME_CPU_IMAGE_3D); ++axis) {
        const float texels = gradient[axis] * (texture_.normalized_coordinates ? extents[axis] : 1);
        sum += texels * texels;
      }
      return std::sqrt(sum);
    };
    return sane(std::log2(std::max(length(request_.gradient_x), length(request_.gradient_y))));
  }

  Tap tap(size_t axis, uint32_t size, FilterMode filter) const {
    if (request_.integer_coordinates) {
      const int64_t texel = place(static_cast<int32_t>(request_.coordinates[axis]), size, mode_[axis]);
      return {{texel, texel}, 0};
    }
    const bool is_scaled = texture_.normalized_coordinates || request_.shape == MNEME_CPU_IMAGE_CUBE;
    const float coordinate = sane(is_scaled ? at_[axis] * static_cast<float>(size) : at_[axis]);
    return filter == FilterMode::linear ? linear_tap(coordinate, size, mode_[axis]) : point_tap(coordinate, size, mode_[axis]);
  }

  Taps taps(const TexelGrid& grid, FilterMode filter) const {
    Taps taps;
    taps.x = tap(0, grid.width, filter);
    if (request_.shape != MNEME_CPU_IMAGE_1D) taps.y = tap(1, grid.height, filter);
    if (request_.shape == MNEME_CPU_IMAGE_3D) {
      taps.z = tap(2, grid.slices, filter);
      return taps;
    }
    const bool is_cube = request_.shape == MNEME_CPU_IMAGE_CUBE;
    const int64_t layers = std::max<int64_t>(grid.slices / (is_cube ? 6 : 1), 1);
    const int64_t layer = std::clamp<int64_t>(static_cast<int32_t>(request_.layer), 0, layers - 1);
    taps.slice = std::min<uint32_t>(static_cast<uint32_t>(is_cube ? 6 * layer + face_ : layer), grid.slices - 1);
    return taps;
  }

  Components texel(const TexelGrid& grid, int64_t x, int64_t y, int64_t slice) const {
    if (x == kOutside || y == kOutside || slice == kOutside) return texture_.border;
    const std::byte* row = grid.row(static_cast<uint32_t>(y), static_cast<uint32_t>(slice));
    return read_texel_of(texture_, row + x * texture_.format.bytes());
  }

  Components mix(const Components& a, const Components& b, float share) const {
    Components mixed{};
    for (size_t i = 0; i < texture_.format.components; ++i)
      mixed[i] = std::bit_cast<uint32_t>((1 - share) * std::bit_cast<float>(a[i]) + share * std::bit_cast<float>(b[i]));
    return mixed;
  }

  Components on_level(const TexelGrid& grid) const {
    const Taps at = taps(grid, texture_.filter);
    const bool is_volume = request_.shape == MNEME_CPU_IMAGE_3D;
    const auto in_row = [&](int64_t y, int64_t slice) {
      const Components first = texel(grid, at.x.texels[0], y, slice);
      return at.x.fraction == 0 ? first : mix(first, texel(grid, at.x.texels[1], y, slice), at.x.fraction);
    };
    const auto in_slice = [&](int64_t slice) {
      const Components first = in_row(at.y.texels[0], slice);
      return at.y.fraction == 0 ? first : mix(first, in_row(at.y.texels[1], slice), at.y.fraction);
    };
    if (!is_volume) return in_slice(at.slice);
    const Components first = in_slice(at.z.texels[0]);
    return at.z.fraction == 0 ? first : mix(first, in_slice(at.z.texels[1]), at.z.fraction);
  }

  // Counterclockwise from the texel at the lower left, as y goes up.
  Components gather() const {
    const TexelGrid& grid = texture_.levels[0];
    const Taps at = taps(grid, FilterMode::linear);
    const auto component = [&](int x, int y) {
      return texel(grid, at.x.texels[x], at.y.texels[y], at.slice)[request_.component];
    };
    return {component(0, 1), component(1, 1), component(1, 0), component(0, 0)};
  }

  const Texture& texture_;
  const mneme_cpu_texture_request& request_;
  std::array<float, 3> at_{};
  std::array<AddressMode, 3> mode_{};
  uint32_t face_ = 0;
};

// Null: outside of the image.
std::byte* texel_at(const TexelGrid& grid, const TexelFormat& format, const mneme_cpu_image_request& request) {
  const auto in = [&](size_t axis, uint32_t size) { return static_cast<uint32_t>(request.position[axis]) < size; };
  const uint32_t slice = request.shape == MNEME_CPU_IMAGE_3D ? static_cast<uint32_t>(request.position[2]) : request.layer;
  const uint32_t row = request.shape == MNEME_CPU_IMAGE_1D ? 0 : static_cast<uint32_t>(request.position[1]);
  if (!in(0, grid.width) || row >= grid.height || slice >= grid.slices) return nullptr;
  return grid.row(row, slice) + size_t{format.bytes()} * static_cast<uint32_t>(request.position[0]);
}

}  // namespace

Components fetch(const Texture& texture, const mneme_cpu_texture_request& request) { return Fetch(texture, request).run(); }

Components read_image(const Texture& texture, const mneme_cpu_image_request& request) {
  const std::byte* texel = texel_at(texture.levels[0], texture.format, request);
  return texel ? read_texel_of(texture, texel) : Components{};
}

Components read_image(const Surface& surface, const mneme_cpu_image_request& request) {
  const std::byte* texel = texel_at(surface.grid, surface.format, request);
  return texel ? read_texel(texel, surface.format, false) : Components{};
}

void write_image(const Surface& surface, const mneme_cpu_image_request& request, const Components& components) {
  if (std::byte* texel = texel_at(surface.grid, surface.format, request)) write_texel(texel, surface.format, components);
}

uint32_t image_property(const TexelFormat& format, uint32_t property) {
  if (property == MNEME_CPU_CHANNEL_ORDER) return format.components == 1 ? 1 : format.components == 2 ? 3 : 8;  // R, RG, RGBA
  const uint32_t width = format.bits == 8 ? 0 : format.bits == 16 ? 1 : 2;
  switch (format.kind) {
    case TexelKind::signed_integer: return 8 + width;     // SIGNED_INT8, …
    case TexelKind::unsigned_integer: return 11 + width;  // UNSIGNED_INT8, …
    case TexelKind::real: break;
  }
  return 13 + width;  // HALF_FLOAT, FLOAT
}

SurfaceElement locate(const Surface& surface, const mneme_cpu_surface_request& request) {
  const TexelGrid& grid = surface.grid;
  const int64_t row_bytes = int64_t{grid.width} * surface.format.bytes();
  const bool is_volume = request.shape == MNEME_CPU_IMAGE_3D;
  const int64_t most[] = {row_bytes - request.bytes, request.shape == MNEME_CPU_IMAGE_1D ? 0 : int64_t{grid.height} - 1,
                          int64_t{grid.slices} - 1};
  int64_t at[] = {request.position[0], request.shape == MNEME_CPU_IMAGE_1D ? 0 : request.position[1],
                  is_volume ? request.position[2] : static_cast<int32_t>(request.layer)};
  bool inside = most[0] >= 0;
  for (size_t axis = 0; axis < 3; ++axis) inside &= at[axis] >= 0 && at[axis] <= most[axis];
  if (!inside) {
    if (request.boundary == MNEME_CPU_BOUNDARY_ZERO) return {};
    if (request.boundary == MNEME_CPU_BOUNDARY_TRAP || most[0] < 0)
      return {nullptr, fmt::format("byte {} of row {} of slice {} of a surface that has {} bytes in a row, {} rows and {} slices",
                                   at[0], at[1], at[2], row_bytes, grid.height, grid.slices)};
    for (size_t axis = 0; axis < 3; ++axis) at[axis] = std::clamp<int64_t>(at[axis], 0, most[axis]);
  }
  return {grid.row(static_cast<uint32_t>(at[1]), static_cast<uint32_t>(at[2])) + at[0], std::nullopt};
}

}  // namespace mneme::cpu
