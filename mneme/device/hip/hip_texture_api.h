// HipTextureApi: the HIP runtime's functions as those of TextureApi.
#pragma once

#include "mneme/device/gpu/texture_api.h"
#include "mneme/device/hip/driver.h"

namespace mneme::hip {

class HipTextureApi final : public gpu::TextureApi {
 public:
  explicit HipTextureApi(const Driver& driver) : driver_(driver) {}
  const gpu::TextureWords& words() const override;
  bool handles_are_pointers() const override { return true; }

  gpu::ResultCode create_array(gpu::ArrayHandle* array, const ArrayShape& shape) const override;
  void destroy(gpu::ArrayHandle array) const override;
  gpu::ResultCode create_mipmapped(gpu::MipmappedHandle* array, const ArrayShape& shape) const override;
  void destroy(gpu::MipmappedHandle array) const override;
  gpu::ResultCode level_of(gpu::ArrayHandle* level, gpu::MipmappedHandle array, uint32_t number) const override;
  gpu::ResultCode copy(const gpu::ArrayCopy& copy, gpu::StreamHandle stream) const override;
  gpu::ResultCode create_object(uint64_t* handle, const gpu::TextureResource& resource) const override;
  void destroy_object(TextureObject::Kind kind, uint64_t handle) const override;

 private:
  const Driver& driver_;
};

}  // namespace mneme::hip
