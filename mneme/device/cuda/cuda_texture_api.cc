#include "mneme/device/cuda/cuda_texture_api.h"

#include <algorithm>

namespace mneme::cuda {
namespace {

using gpu::ResultCode;

CUarray own(gpu::ArrayHandle array) { return reinterpret_cast<CUarray>(array); }
CUmipmappedArray own(gpu::MipmappedHandle array) { return reinterpret_cast<CUmipmappedArray>(array); }

constexpr gpu::TextureWords kWords = {
    .create_array = "cuArray3DCreate",
    .create_mipmapped = "cuMipmappedArrayCreate",
    .level_of = "cuMipmappedArrayGetLevel",
    .create_texture = "cuTexObjectCreate",
    .create_surface = "cuSurfObjectCreate",
    .copy = "cuMemcpy3DAsync",
};

CUDA_ARRAY3D_DESCRIPTOR descriptor_of(const ArrayShape& shape) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  descriptor.Width = shape.width;
  descriptor.Height = shape.height;
  descriptor.Depth = shape.depth;
  descriptor.Format = static_cast<CUarray_format>(shape.texel.format);
  descriptor.NumChannels = shape.texel.channels;
  descriptor.Flags = shape.flags;
  return descriptor;
}

CUDA_TEXTURE_DESC descriptor_of(const TextureSampling& sampling) {
  CUDA_TEXTURE_DESC descriptor{};
  for (size_t i = 0; i < sampling.address.size(); ++i)
    descriptor.addressMode[i] = static_cast<CUaddress_mode>(sampling.address[i]);
  std::copy(sampling.border.begin(), sampling.border.end(), descriptor.borderColor);
  descriptor.filterMode = static_cast<CUfilter_mode>(sampling.filter);
  descriptor.flags = sampling.flags;
  descriptor.maxAnisotropy = sampling.anisotropy;
  descriptor.mipmapFilterMode = static_cast<CUfilter_mode>(sampling.level_filter);
  descriptor.mipmapLevelBias = sampling.level_bias;
  descriptor.minMipmapLevelClamp = sampling.least_level;
  descriptor.maxMipmapLevelClamp = sampling.greatest_level;
  return descriptor;
}

CUDA_RESOURCE_VIEW_DESC descriptor_of(const TextureView& view) {
  CUDA_RESOURCE_VIEW_DESC descriptor{};
  descriptor.format = static_cast<CUresourceViewFormat>(view.format);
  descriptor.width = view.width;
  descriptor.height = view.height;
  descriptor.depth = view.depth;
  descriptor.firstMipmapLevel = view.first_level;
  descriptor.lastMipmapLevel = view.last_level;
  descriptor.firstLayer = view.first_layer;
  descriptor.lastLayer = view.last_layer;
  return descriptor;
}

CUDA_RESOURCE_DESC descriptor_of(const gpu::TextureResource& what) {
  const TextureObject& object = what.object;
  CUDA_RESOURCE_DESC resource{};
  switch (object.source) {
    case TextureObject::Source::array:
      resource.resType = CU_RESOURCE_TYPE_ARRAY;
      resource.res.array.hArray = own(what.array);
      break;
    case TextureObject::Source::mipmapped:
      resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
      resource.res.mipmap.hMipmappedArray = own(what.mipmapped);
      break;
    case TextureObject::Source::linear:
      resource.resType = CU_RESOURCE_TYPE_LINEAR;
      resource.res.linear = {object.memory.address.address, static_cast<CUarray_format>(object.texel.format),
                             object.texel.channels, object.memory.size.count};
      break;
    case TextureObject::Source::pitched:
      resource.resType = CU_RESOURCE_TYPE_PITCH2D;
      resource.res.pitch2D = {object.memory.address.address,
                              static_cast<CUarray_format>(object.texel.format),
                              object.texel.channels,
                              object.width,
                              object.height,
                              object.pitch};
      break;
  }
  return resource;
}

}  // namespace

const gpu::TextureWords& CudaTextureApi::words() const { return kWords; }

ResultCode CudaTextureApi::create_array(gpu::ArrayHandle* array, const ArrayShape& shape) const {
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = descriptor_of(shape);
  return driver_.cuArray3DCreate(reinterpret_cast<CUarray*>(array), &descriptor);
}
void CudaTextureApi::destroy(gpu::ArrayHandle array) const { driver_.cuArrayDestroy(own(array)); }

ResultCode CudaTextureApi::create_mipmapped(gpu::MipmappedHandle* array, const ArrayShape& shape) const {
  const CUDA_ARRAY3D_DESCRIPTOR descriptor = descriptor_of(shape);
  return driver_.cuMipmappedArrayCreate(reinterpret_cast<CUmipmappedArray*>(array), &descriptor, shape.levels);
}
void CudaTextureApi::destroy(gpu::MipmappedHandle array) const { driver_.cuMipmappedArrayDestroy(own(array)); }
ResultCode CudaTextureApi::level_of(gpu::ArrayHandle* level, gpu::MipmappedHandle array, uint32_t number) const {
  return driver_.cuMipmappedArrayGetLevel(reinterpret_cast<CUarray*>(level), own(array), number);
}

ResultCode CudaTextureApi::copy(const gpu::ArrayCopy& what, gpu::StreamHandle stream) const {
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = what.level.row.count;
  copy.Height = what.level.height;
  copy.Depth = what.level.slices;
  if (what.direction == gpu::ArrayCopy::Direction::to_array) {
    copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = what.memory;
    copy.srcPitch = what.level.row.count;
    copy.srcHeight = what.level.height;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = own(what.array);
  } else {
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = own(what.array);
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = what.memory;
    copy.dstPitch = what.level.row.count;
    copy.dstHeight = what.level.height;
  }
  return driver_.cuMemcpy3DAsync(&copy, reinterpret_cast<CUstream>(stream));
}

ResultCode CudaTextureApi::create_object(uint64_t* handle, const gpu::TextureResource& what) const {
  const TextureObject& object = what.object;
  const CUDA_RESOURCE_DESC resource = descriptor_of(what);
  unsigned long long made = 0;
  CUresult result = CUDA_SUCCESS;
  if (object.kind == TextureObject::Kind::surface) {
    result = driver_.cuSurfObjectCreate(&made, &resource);
  } else {
    const CUDA_TEXTURE_DESC sampling = descriptor_of(object.sampling);
    const CUDA_RESOURCE_VIEW_DESC view = descriptor_of(object.view.value_or(TextureView()));
    result = driver_.cuTexObjectCreate(&made, &resource, &sampling, object.view ? &view : nullptr);
  }
  *handle = made;
  return result;
}

void CudaTextureApi::destroy_object(TextureObject::Kind kind, uint64_t handle) const {
  (void)(kind == TextureObject::Kind::surface ? driver_.cuSurfObjectDestroy(handle) : driver_.cuTexObjectDestroy(handle));
}

}  // namespace mneme::cuda
