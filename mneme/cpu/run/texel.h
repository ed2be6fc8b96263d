// Texel: one element of an image that textures and surfaces are made of, and how the images lie in memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace mneme::cpu {

enum class TexelKind { unsigned_integer, signed_integer, real };

struct TexelFormat {
  TexelKind kind = TexelKind::real;
  uint32_t bits = 32;       // of a component: 8, 16 or 32; real numbers have 16 or 32
  uint32_t components = 1;  // 1, 2 or 4

  uint32_t bytes() const { return bits / 8 * components; }
  friend bool operator==(const TexelFormat&, const TexelFormat&) = default;
};

// An image in memory that somebody else owns: slices of rows of texels. Layers and faces are slices.
struct TexelGrid {
  std::byte* texels = nullptr;
  uint32_t width = 0, height = 1, slices = 1;  // in texels; rows; slices
  uint64_t row_pitch = 0, slice_pitch = 0;     // bytes from one to the next

  std::byte* row(uint32_t y, uint32_t slice) const { return texels + slice * slice_pitch + y * row_pitch; }
};

// The components of a texel, each in 32 bits: as floats, or as integers.
using Components = std::array<uint32_t, 4>;

// Reads a texel. Real numbers become floats; integers are extended to 32 bits or, `normalized`, become floats from 0 to 1, signed
// ones from -1 to 1. Components that the format lacks are 0.
Components read_texel(const std::byte* texel, const TexelFormat& format, bool normalized);

// Writes a texel, whose components are as read_texel() gives them without `normalized`. What a format cannot hold becomes the
// nearest that it can; components that it lacks are left out.
void write_texel(std::byte* texel, const TexelFormat& format, const Components& components);

// The value that is stored as `value` (from 0 to 1) in an image with the sRGB encoding.
float decode_srgb(float value);

}  // namespace mneme::cpu
