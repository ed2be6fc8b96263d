// CudaTextures: recorded arrays, textures and surfaces on a GPU.
//
// The driver chooses the handles of objects. It gives small numbers in order, so that objects are made until one has the recorded
// handle; what was made besides goes away again.
#pragma once

#include <memory>
#include <vector>

#include "mneme/device/cuda/cuda_api.h"
#include "mneme/device/device_textures.h"

namespace mneme::cuda {

class CudaTextures final : public DeviceTextures {
 public:
  static constexpr size_t kMostTries = 1024;  // objects that are made for one with the recorded handle

  // `context` must outlive the result.
  static Result<std::unique_ptr<CudaTextures>> create(const gpu::Context& context, const TextureSet& textures);
  ~CudaTextures() override;

  Status fill_arrays(Stream& stream) override;
  Status copy_arrays(Stream& stream) override;

 private:
  struct Array {
    TextureSet::Array recorded;
    std::vector<ArrayLevel> levels;
    bool written = false;     // by kernels
    CUarray plain = nullptr;  // one of these is null
    CUmipmappedArray mipmapped = nullptr;
  };
  using Handles = std::vector<std::pair<TextureObject::Kind, uint64_t>>;

  explicit CudaTextures(const gpu::Context& context) : context_(context) {}
  Status make_arrays(const TextureSet& textures);
  Status make_objects(const TextureSet& textures);
  Result<uint64_t> make_object(const TextureObject& object) const;
  void destroy(const Handles& objects) const;
  Result<CUarray> level_of(const Array& array, uint32_t level) const;
  Result<CUDA_RESOURCE_DESC> resource_of(const TextureObject& object) const;
  enum class Direction { to_arrays, from_arrays };
  Status copy(const Array& array, Direction direction, CUstream stream) const;

  const gpu::Context& context_;
  std::vector<Array> arrays_;
  Handles objects_;
  bool filled_ = false;
};

}  // namespace mneme::cuda
