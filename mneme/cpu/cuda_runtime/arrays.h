// CUDA arrays: images that textures and surfaces are made of. Rows follow each other without gaps, and slices too.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <optional>
#include <vector>

#include "mneme/cpu/run/texel.h"

namespace mneme::emulation {

// What a channel description says of a texel.
struct TexelChannels {
  cpu::TexelFormat format;
  bool normalized = false;  // of a format whose integers are always read as floats
};
// Nothing for a description that the CPU device has no texels for; standard error then says so, once.
std::optional<TexelChannels> read_channels(const cudaChannelFormatDesc& description);

// Handles are pointers to these objects. Its memory is the array's own.
struct Array {
  cudaChannelFormatDesc description{};
  cudaExtent extent{};  // as the program gave it: 0 for an axis that the array does not have
  unsigned flags = 0;
  TexelChannels channels;
  cpu::TexelGrid grid;

  static Array* of(cudaArray_const_t handle) { return reinterpret_cast<Array*>(const_cast<cudaArray*>(handle)); }
  cudaArray_t handle() { return reinterpret_cast<cudaArray_t>(this); }
  size_t bytes() const { return grid.slice_pitch * grid.slices; }
};

struct MipmappedArray {
  std::vector<std::shared_ptr<Array>> levels;  // the most detailed first
};

// Null for a handle of none, or of one that was freed.
std::shared_ptr<Array> find_array(cudaArray_const_t handle);
std::shared_ptr<MipmappedArray> find_mipmapped_array(cudaMipmappedArray_const_t handle);

}  // namespace mneme::emulation
