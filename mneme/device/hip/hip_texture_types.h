// The types of HIP's binary interface that regard arrays, textures and surfaces, as AMD documents them: those of the runtime's
// functions, which are the same from ROCm 5.2 to 7. (HIP_MEMCPY3D and hipMemoryType, which the driver's functions take, became
// others in ROCm 6.) A test compares them with the headers that are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mneme::hip {

using ArrayHandle = struct hipArray*;
using MipmappedHandle = struct hipMipmappedArray*;
// Both point to what kernels read (descriptors_of()).
using TextureHandle = struct __hip_texture*;
using SurfaceHandle = struct __hip_surface*;

// Bits of each channel, and what they are.
enum class ChannelKind : int { signed_integer = 0, unsigned_integer = 1, real = 2 };
struct ChannelDescription {
  int x = 0, y = 0, z = 0, w = 0;
  ChannelKind kind = ChannelKind::real;
};

struct Extent {
  size_t width = 0, height = 0, depth = 0;  // the width in texels where an array takes part
};
struct Position {
  size_t x = 0, y = 0, z = 0;
};
struct PitchedPointer {
  void* pointer = nullptr;
  size_t pitch = 0;              // in bytes
  size_t width = 0, height = 0;  // in texels, and rows
};
inline constexpr int kDeviceToDevice = 3;
// hipMemcpy3DParms: each side is an array or a pointer.
struct Copy3d {
  ArrayHandle from_array = nullptr;
  Position from_position;
  PitchedPointer from;
  ArrayHandle to_array = nullptr;
  Position to_position;
  PitchedPointer to;
  Extent extent;
  int kind = kDeviceToDevice;
};

enum class ResourceType : int { array = 0, mipmapped = 1, linear = 2, pitched = 3 };
struct LinearResource {
  void* pointer;
  ChannelDescription channels;
  size_t size;
};
struct PitchedResource {
  void* pointer;
  ChannelDescription channels;
  size_t width, height, pitch;
};
struct ResourceDescription {
  ResourceType type = ResourceType::array;
  union {
    ArrayHandle array;
    MipmappedHandle mipmapped;
    LinearResource linear;
    PitchedResource pitched;
  };
};

inline constexpr int kReadAsElements = 0, kReadAsNormalized = 1;
// Modes of addressing and of filters have the numbers of CUDA's.
struct TextureDescription {
  int address[3] = {};
  int filter = 0, read = kReadAsElements, srgb = 0;
  float border[4] = {};
  int normalized_coordinates = 0;
  unsigned anisotropy = 0;
  int level_filter = 0;
  float level_bias = 0, least_level = 0, greatest_level = 0;
};

// Formats have the numbers of CUDA's.
struct ViewDescription {
  int format = 0;
  size_t width = 0, height = 0, depth = 0;
  unsigned first_level = 0, last_level = 0, first_layer = 0, last_layer = 0;
};

}  // namespace mneme::hip
