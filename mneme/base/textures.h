// Textures: the arrays of a program, and the texture and surface objects by which kernels read and write them, as plain values.
//
// Formats, modes and flags have the numbers of CUDA's driver (CUarray_format, CUaddress_mode, CUDA_ARRAY3D_LAYERED, …), which are
// part of its binary interface.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "mneme/base/memory_range.h"
#include "mneme/base/status.h"
#include "mneme/base/types.h"

namespace mneme {

struct TexelLayout {
  uint32_t format = 0;    // CUarray_format
  uint32_t channels = 1;  // 1, 2 or 4
  // Nothing for a format whose texels are no whole number of equal channels, such as a compressed one.
  std::optional<Bytes> texel_size() const;
  friend bool operator==(const TexelLayout&, const TexelLayout&) = default;
};

struct ArrayShape {
  static constexpr uint32_t kLayered = 1, kSurface = 2, kCubemap = 4, kGather = 8, kColorAttachment = 0x20;

  uint64_t width = 0, height = 0, depth = 0;  // in texels; 0 for an axis that it does not have; layers and faces are its depth
  TexelLayout texel;
  uint32_t flags = 0;
  uint32_t levels = 0;  // of a mipmapped array; 0 of any other
  friend bool operator==(const ArrayShape&, const ArrayShape&) = default;
};

// One level of an array. Copied to memory its rows follow each other without gaps, and so do its slices.
struct ArrayLevel {
  uint64_t width = 1, height = 1, slices = 1;
  Bytes row;           // of one row
  uint64_t begin = 0;  // in a copy of the whole array, in which levels follow each other, each at a multiple of 512
  Bytes size() const { return Bytes(row.count * height * slices); }
};
// The levels of an array, the most detailed first; one where it is not mipmapped. None: a size that is not possible, a format
// without a texel_size(), or an array that is sparse or has other memory than its own.
std::vector<ArrayLevel> levels_of(const ArrayShape& shape);
// The size of a copy.
Bytes copy_size(const ArrayShape& shape);

// How a texture object is read (CUDA_TEXTURE_DESC).
struct TextureSampling {
  static constexpr uint32_t kReadAsInteger = 1, kNormalizedCoordinates = 2, kSrgb = 0x10, kNoTrilinearOptimization = 0x20,
                            kSeamlessCubemap = 0x40;

  std::array<uint32_t, 3> address{};
  uint32_t filter = 0, flags = 0, anisotropy = 0, level_filter = 0;
  float level_bias = 0, least_level = 0, greatest_level = 0;
  std::array<float, 4> border{};
  friend bool operator==(const TextureSampling&, const TextureSampling&) = default;
};

// Which part of its array a texture object reads, and as what (CUDA_RESOURCE_VIEW_DESC).
struct TextureView {
  uint32_t format = 0;
  uint64_t width = 0, height = 0, depth = 0;
  uint32_t first_level = 0, last_level = 0, first_layer = 0, last_layer = 0;
  friend bool operator==(const TextureView&, const TextureView&) = default;
};

// A texture object, or a surface object.
struct TextureObject {
  enum class Kind : uint32_t { texture = 1, surface = 2 };
  // What it reads: one level of an array, a mipmapped array, memory, or rows of memory.
  enum class Source : uint32_t { array = 1, mipmapped = 2, linear = 3, pitched = 4 };
  Kind kind = Kind::texture;
  uint64_t handle = 0;  // what the program gives its kernels
  Source source = Source::array;
  uint32_t array = 0;                         // index of the array
  uint32_t level = 0;                         // of Source::array
  MemoryRange memory;                         // of the other sources
  TexelLayout texel;                          // likewise
  uint64_t width = 0, height = 0, pitch = 0;  // of rows of memory
  TextureSampling sampling;                   // of textures
  std::optional<TextureView> view;

  bool reads_array() const { return source == Source::array || source == Source::mipmapped; }
  friend bool operator==(const TextureObject&, const TextureObject&) = default;
};

std::string_view to_string(TextureObject::Kind kind);  // "texture", "surface"

// What a launch is recorded with of these.
struct TextureSet {
  struct Array {
    ArrayShape shape;
    DevicePtr copy;  // where a copy of it lies
    friend bool operator==(const Array&, const Array&) = default;
  };
  std::vector<Array> arrays;
  std::vector<TextureObject> objects;

  bool empty() const { return objects.empty(); }
  // Whether kernels can write the array: there is a surface of it.
  bool writes(size_t array) const;
  friend bool operator==(const TextureSet&, const TextureSet&) = default;
};

// Writes over handles of objects in the parameters of a launch: wherever eight of their bytes, at a multiple of 8, are
// objects[i].handle, they become handles[i]. unsupported: a value is the handle of a texture and of a surface, which become
// different ones; which of the two a parameter is, nothing tells.
Status replace_handles(MutableByteSpan parameters, const TextureSet& textures, const std::vector<uint64_t>& handles);

}  // namespace mneme
