// Texture and Surface: how kernels read images, and write them.
//
// A fetch does what the CUDA Programming Guide says in "Texture Fetching": coordinates, address modes and filters, with the
// fractions of a linear filter in 8 bits.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mneme/cpu/run/image.h"
#include "mneme/cpu/run/texel.h"

namespace mneme::cpu {

// What a coordinate outside of the image means. Wrapping and mirroring need normalised coordinates; without them they clamp.
enum class AddressMode { wrap, clamp, mirror, border };
enum class FilterMode { point, linear };

// Values, and images in memory that somebody else owns.
struct Texture {
  TexelFormat format;
  std::vector<TexelGrid> levels;  // the most detailed first; at least one
  AddressMode address[3] = {AddressMode::clamp, AddressMode::clamp, AddressMode::clamp};
  FilterMode filter = FilterMode::point;  // linear: the texture yields floats
  FilterMode level_filter = FilterMode::point;
  bool normalized_coordinates = false;
  bool normalized_values = false;  // integers are read as floats
  bool srgb = false;               // the first three components are encoded so
  Components border{};             // what lies outside, with AddressMode::border
  float level_bias = 0, least_level = 0, greatest_level = 0;

  bool yields_floats() const { return normalized_values || format.kind == TexelKind::real; }
};

Components fetch(const Texture& texture, const mneme_cpu_texture_request& request);

struct Surface {
  TexelFormat format;
  TexelGrid grid;
};

// Single texels, as AMD's instructions have them: of the most detailed level, zeros outside. A texture's are as it yields them.
Components read_image(const Texture& texture, const mneme_cpu_image_request& request);
Components read_image(const Surface& surface, const mneme_cpu_image_request& request);
void write_image(const Surface& surface, const mneme_cpu_image_request& request, const Components& components);
// A property by its number (enum mneme_cpu_image_property), which HSA has a number for.
uint32_t image_property(const TexelFormat& format, uint32_t property);

struct SurfaceElement {
  std::byte* address = nullptr;  // null: outside of the surface, with MNEME_CPU_BOUNDARY_ZERO
  std::optional<std::string> fault;
};

// Where the element of a request lies, after its boundary mode. fault: what the kernel has done, in words.
SurfaceElement locate(const Surface& surface, const mneme_cpu_surface_request& request);

}  // namespace mneme::cpu
