#include "mneme/device/cuda/cuda_textures.h"

#include <algorithm>
#include <numeric>

#include "mneme/device/gpu/gpu_stream.h"

namespace mneme::cuda {
namespace {

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

CUstream handle_of(Stream& stream) { return reinterpret_cast<CUstream>(static_cast<gpu::GpuStream&>(stream).handle()); }

}  // namespace

Result<std::unique_ptr<CudaTextures>> CudaTextures::create(const gpu::Context& context, const TextureSet& textures) {
  std::unique_ptr<CudaTextures> made(new CudaTextures(context));
  gpu::ContextScope scope(context);
  MNEME_TRY(scope.status());
  MNEME_TRY(made->make_arrays(textures));
  MNEME_TRY(made->make_objects(textures));
  return made;
}

CudaTextures::~CudaTextures() {
  if (context_.poisoned()) return;
  gpu::ContextScope scope(context_);
  destroy(objects_);
  for (const Array& array : arrays_) {
    if (array.plain) (void)driver_of(context_).cuArrayDestroy(array.plain);
    if (array.mipmapped) (void)driver_of(context_).cuMipmappedArrayDestroy(array.mipmapped);
  }
}

Status CudaTextures::make_arrays(const TextureSet& textures) {
  for (size_t i = 0; i < textures.arrays.size(); ++i) {
    const ArrayShape& shape = textures.arrays[i].shape;
    Array& array = arrays_.emplace_back(Array{textures.arrays[i], levels_of(shape), textures.writes(i)});
    const CUDA_ARRAY3D_DESCRIPTOR descriptor = descriptor_of(shape);
    const Driver& driver = driver_of(context_);
    const CUresult code = shape.levels == 0 ? driver.cuArray3DCreate(&array.plain, &descriptor)
                                            : driver.cuMipmappedArrayCreate(&array.mipmapped, &descriptor, shape.levels);
    MNEME_TRY(context_.check(code, "{}({} x {} x {} texels of format {:#x} with {} channels, flags {:#x}, {} levels)",
                             shape.levels == 0 ? "cuArray3DCreate" : "cuMipmappedArrayCreate", shape.width, shape.height,
                             shape.depth, shape.texel.format, shape.texel.channels, shape.flags, array.levels.size()));
  }
  return {};
}

// In the order of the recorded handles, since a number that was passed is not given again.
Status CudaTextures::make_objects(const TextureSet& textures) {
  std::vector<size_t> order(textures.objects.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return textures.objects[a].handle < textures.objects[b].handle; });
  handles_.resize(order.size());
  Handles passed;
  Status status;
  for (size_t i : order) {
    const TextureObject& object = textures.objects[i];
    Handles tries;
    while (tries.size() < kMostTries && (tries.empty() || tries.back().second != object.handle)) {
      auto made = make_object(object);
      if (!made.ok()) status = made.status();
      if (!made.ok()) break;
      tries.emplace_back(object.kind, *made);
    }
    if (tries.empty()) break;
    status = {};
    const bool has_handle = tries.back().second == object.handle;
    if (!has_handle) std::swap(tries.front(), tries.back());
    handles_[i] = tries.back().second;
    objects_.push_back(tries.back());
    tries.pop_back();
    if (has_handle)
      passed.insert(passed.end(), tries.begin(), tries.end());
    else
      destroy(tries);  // among them may be the next one's handle
  }
  destroy(passed);
  return status;
}

Result<uint64_t> CudaTextures::make_object(const TextureObject& object) const {
  MNEME_ASSIGN(const CUDA_RESOURCE_DESC resource, resource_of(object));
  unsigned long long handle = 0;
  if (object.kind == TextureObject::Kind::surface) {
    MNEME_TRY(context_.check(driver_of(context_).cuSurfObjectCreate(&handle, &resource),
                             "cuSurfObjectCreate, of the recorded {:#x}", object.handle));
    return uint64_t{handle};
  }
  const CUDA_TEXTURE_DESC sampling = descriptor_of(object.sampling);
  const CUDA_RESOURCE_VIEW_DESC view = descriptor_of(object.view.value_or(TextureView()));
  MNEME_TRY(context_.check(driver_of(context_).cuTexObjectCreate(&handle, &resource, &sampling, object.view ? &view : nullptr),
                           "cuTexObjectCreate, of the recorded {:#x}", object.handle));
  return uint64_t{handle};
}

void CudaTextures::destroy(const Handles& objects) const {
  for (const auto& [kind, handle] : objects) {
    const Driver& driver = driver_of(context_);
    (void)(kind == TextureObject::Kind::surface ? driver.cuSurfObjectDestroy(handle) : driver.cuTexObjectDestroy(handle));
  }
}

Result<CUarray> CudaTextures::level_of(const Array& array, uint32_t level) const {
  if (array.plain) return array.plain;
  CUarray found = nullptr;
  MNEME_TRY(context_.check(driver_of(context_).cuMipmappedArrayGetLevel(&found, array.mipmapped, level),
                           "cuMipmappedArrayGetLevel({})", level));
  return found;
}

Result<CUDA_RESOURCE_DESC> CudaTextures::resource_of(const TextureObject& object) const {
  CUDA_RESOURCE_DESC resource{};
  switch (object.source) {
    case TextureObject::Source::array: {
      resource.resType = CU_RESOURCE_TYPE_ARRAY;
      MNEME_ASSIGN(resource.res.array.hArray, level_of(arrays_[object.array], object.level));
      break;
    }
    case TextureObject::Source::mipmapped:
      resource.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
      resource.res.mipmap.hMipmappedArray = arrays_[object.array].mipmapped;
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

Status CudaTextures::copy(const Array& array, Direction direction, CUstream stream) const {
  for (uint32_t i = 0; i < array.levels.size(); ++i) {
    const ArrayLevel& level = array.levels[i];
    MNEME_ASSIGN(CUarray const texels, level_of(array, i));
    const CUdeviceptr memory = array.recorded.copy.address + level.begin;
    CUDA_MEMCPY3D copy{};
    copy.WidthInBytes = level.row.count;
    copy.Height = level.height;
    copy.Depth = level.slices;
    if (direction == Direction::to_arrays) {
      copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
      copy.srcDevice = memory;
      copy.srcPitch = level.row.count;
      copy.srcHeight = level.height;
      copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
      copy.dstArray = texels;
    } else {
      copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
      copy.srcArray = texels;
      copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
      copy.dstDevice = memory;
      copy.dstPitch = level.row.count;
      copy.dstHeight = level.height;
    }
    MNEME_TRY(context_.check(driver_of(context_).cuMemcpy3DAsync(&copy, stream), "cuMemcpy3DAsync({}, {} an array)", level.size(),
                             direction == Direction::to_arrays ? "to" : "from"));
  }
  return {};
}

Status CudaTextures::fill_arrays(Stream& stream) {
  gpu::ContextScope scope(context_);
  MNEME_TRY(scope.status());
  for (const Array& array : arrays_)
    if (array.written || !filled_) MNEME_TRY(copy(array, Direction::to_arrays, handle_of(stream)));
  filled_ = true;
  return {};
}

Status CudaTextures::copy_arrays(Stream& stream) {
  gpu::ContextScope scope(context_);
  MNEME_TRY(scope.status());
  for (const Array& array : arrays_)
    if (array.written) MNEME_TRY(copy(array, Direction::from_arrays, handle_of(stream)));
  return {};
}

}  // namespace mneme::cuda
