// Texture and surface objects, and the arrays that they are of.
#include "mneme/record/table.h"

namespace mneme {
namespace {

using Kind = TextureObject::Kind;
using Source = TextureObject::Source;

// CUarray_format, of channels that are all alike; 0 for others.
uint32_t format_of(const cudaChannelFormatDesc& description, uint32_t channels) {
  const auto by_bits = [&](uint32_t eight, uint32_t sixteen, uint32_t thirty_two) -> uint32_t {
    return description.x == 8 ? eight : description.x == 16 ? sixteen : description.x == 32 ? thirty_two : 0;
  };
  switch (description.f) {
    case cudaChannelFormatKindUnsigned: return by_bits(0x01, 0x02, 0x03);
    case cudaChannelFormatKindSigned: return by_bits(0x08, 0x09, 0x0a);
    case cudaChannelFormatKindFloat: return by_bits(0, 0x10, 0x20);
    default: break;
  }
  // CU_AD_FORMAT_UNORM_INT8X1 and those behind it: for each width and sign those with 1, 2 and 4 channels.
  const uint32_t position = channels == 4 ? 2 : channels - 1;
  const int kind = description.f;
  if (kind >= cudaChannelFormatKindUnsignedNormalized8X1 && kind <= cudaChannelFormatKindUnsignedNormalized16X4)
    return by_bits(0xc0, 0xc3, 0) + position;
  if (kind >= cudaChannelFormatKindSignedNormalized8X1 && kind <= cudaChannelFormatKindSignedNormalized16X4)
    return by_bits(0xc6, 0xc9, 0) + position;
  return 0;
}

TexelLayout layout_of(const cudaChannelFormatDesc& description) {
  const int bits[] = {description.x, description.y, description.z, description.w};
  uint32_t channels = 0;
  while (channels < 4 && bits[channels] != 0) ++channels;
  for (uint32_t i = 0; i < channels; ++i)
    if (bits[i] != bits[0]) return {};
  return {channels == 0 ? 0 : format_of(description, channels), channels};
}

ArrayShape shape_of(const cudaChannelFormatDesc& description, const cudaExtent& extent, unsigned flags, uint32_t levels) {
  return {extent.width, extent.height, extent.depth, layout_of(description), flags, levels};
}

TextureSampling sampling_of(const cudaTextureDesc& description) {
  TextureSampling sampling;
  for (size_t i = 0; i < sampling.address.size(); ++i) sampling.address[i] = static_cast<uint32_t>(description.addressMode[i]);
  for (size_t i = 0; i < sampling.border.size(); ++i) sampling.border[i] = description.borderColor[i];
  sampling.filter = static_cast<uint32_t>(description.filterMode);
  if (description.readMode == cudaReadModeElementType) sampling.flags |= TextureSampling::kReadAsInteger;
  if (description.normalizedCoords) sampling.flags |= TextureSampling::kNormalizedCoordinates;
  if (description.sRGB) sampling.flags |= TextureSampling::kSrgb;
  if (description.disableTrilinearOptimization) sampling.flags |= TextureSampling::kNoTrilinearOptimization;
  if (description.seamlessCubemap) sampling.flags |= TextureSampling::kSeamlessCubemap;
  sampling.anisotropy = description.maxAnisotropy;
  sampling.level_filter = static_cast<uint32_t>(description.mipmapFilterMode);
  sampling.level_bias = description.mipmapLevelBias;
  sampling.least_level = description.minMipmapLevelClamp;
  sampling.greatest_level = description.maxMipmapLevelClamp;
  return sampling;
}

TextureView view_of(const cudaResourceViewDesc& view) {
  return {static_cast<uint32_t>(view.format),
          view.width,
          view.height,
          view.depth,
          view.firstMipmapLevel,
          view.lastMipmapLevel,
          view.firstLayer,
          view.lastLayer};
}

// Errors leave the first device: no object is made there without one.
TexturePlace place_of(Table& table) {
  const auto place = table.current_place();
  return place.ok() ? *place : TexturePlace();
}

void set_array(Table& table, ProgramTextures::Object& made, cudaArray_t array) {
  made.object.source = Source::array;
  if (recorder()->textures().set_level(made, array)) return;
  cudaChannelFormatDesc description{};
  cudaExtent extent{};
  unsigned flags = 0;
  if (MNEME_NEXT(table, cudaArrayGetInfo)(&description, &extent, &flags, array) == cudaSuccess)
    made.array = {array, shape_of(description, extent, flags, 0)};
}

void set_resource(Table& table, ProgramTextures::Object& made, const cudaResourceDesc& resource) {
  TextureObject& object = made.object;
  switch (resource.resType) {
    case cudaResourceTypeArray: set_array(table, made, resource.res.array.array); break;
    case cudaResourceTypeMipmappedArray:
      object.source = Source::mipmapped;
      recorder()->textures().set_mipmapped(made, resource.res.mipmap.mipmap);
      break;
    case cudaResourceTypeLinear: {
      const auto& memory = resource.res.linear;
      object.source = Source::linear;
      object.memory = {DevicePtr(reinterpret_cast<uint64_t>(memory.devPtr)), Bytes(memory.sizeInBytes)};
      object.texel = layout_of(memory.desc);
      break;
    }
    case cudaResourceTypePitch2D: {
      const auto& memory = resource.res.pitch2D;
      object.source = Source::pitched;
      object.texel = layout_of(memory.desc);
      object.width = memory.width;
      object.height = memory.height;
      object.pitch = memory.pitchInBytes;
      const Bytes row(object.width * object.texel.texel_size().value_or(Bytes()).count);
      object.memory = {DevicePtr(reinterpret_cast<uint64_t>(memory.devPtr)), Bytes(object.pitch * (object.height - 1)) + row};
      break;
    }
  }
}

void remember(Table& table, Kind kind, uint64_t handle, const cudaResourceDesc& resource, const cudaTextureDesc* texture,
              const cudaResourceViewDesc* view) {
  ProgramTextures::Object made;
  made.object.kind = kind;
  made.object.handle = handle;
  set_resource(table, made, resource);
  if (texture) made.object.sampling = sampling_of(*texture);
  if (view) made.object.view = view_of(*view);
  made.place = place_of(table);
  recorder()->textures().add(std::move(made));
}

cudaError_t on_texture_create(Table& table, cudaTextureObject_t* out, const cudaResourceDesc* resource,
                              const cudaTextureDesc* texture, const cudaResourceViewDesc* view) {
  const cudaError_t code = MNEME_NEXT(table, cudaCreateTextureObject)(out, resource, texture, view);
  if (code == cudaSuccess) remember(table, Kind::texture, *out, *resource, texture, view);
  return code;
}
cudaError_t on_texture_destroy(Table& table, cudaTextureObject_t object) {
  recorder()->textures().remove(Kind::texture, object, place_of(table));
  return MNEME_NEXT(table, cudaDestroyTextureObject)(object);
}
cudaError_t on_surface_create(Table& table, cudaSurfaceObject_t* out, const cudaResourceDesc* resource) {
  const cudaError_t code = MNEME_NEXT(table, cudaCreateSurfaceObject)(out, resource);
  if (code == cudaSuccess) remember(table, Kind::surface, *out, *resource, nullptr, nullptr);
  return code;
}
cudaError_t on_surface_destroy(Table& table, cudaSurfaceObject_t object) {
  recorder()->textures().remove(Kind::surface, object, place_of(table));
  return MNEME_NEXT(table, cudaDestroySurfaceObject)(object);
}

cudaError_t on_malloc_mipmapped(Table& table, cudaMipmappedArray_t* out, const cudaChannelFormatDesc* description,
                                cudaExtent extent, unsigned levels, unsigned flags) {
  const cudaError_t code = MNEME_NEXT(table, cudaMallocMipmappedArray)(out, description, extent, levels, flags);
  if (code != cudaSuccess) return code;
  ArrayShape shape = shape_of(*description, extent, flags, levels);
  while (shape.levels > 1 && levels_of(shape).empty()) --shape.levels;  // the vendor makes no more than there can be
  recorder()->textures().add_mipmapped({*out, shape}, place_of(table));
  return code;
}
cudaError_t on_get_level(Table& table, cudaArray_t* out, cudaMipmappedArray_const_t mipmapped, unsigned level) {
  const cudaError_t code = MNEME_NEXT(table, cudaGetMipmappedArrayLevel)(out, mipmapped, level);
  if (code == cudaSuccess) recorder()->textures().add_level(*out, mipmapped, level, place_of(table));
  return code;
}
// A capture may be reading the array.
cudaError_t on_free_array(Table& table, cudaArray_t array) {
  Gate::Use use(recorder()->gate(), Gate::Effect::removes_memory);
  recorder()->textures().forget(array);
  return MNEME_NEXT(table, cudaFreeArray)(array);
}
cudaError_t on_free_mipmapped(Table& table, cudaMipmappedArray_t mipmapped) {
  Gate::Use use(recorder()->gate(), Gate::Effect::removes_memory);
  recorder()->textures().forget(mipmapped);
  return MNEME_NEXT(table, cudaFreeMipmappedArray)(mipmapped);
}

// Arrays of other interfaces: those of a resource of graphics go when it is unmapped.
cudaError_t on_graphics_array(Table& table, cudaArray_t* out, cudaGraphicsResource_t resource, unsigned index, unsigned level) {
  const cudaError_t code = MNEME_NEXT(table, cudaGraphicsSubResourceGetMappedArray)(out, resource, index, level);
  if (code == cudaSuccess) recorder()->textures().add_foreign(*out, resource, place_of(table));
  return code;
}
cudaError_t on_graphics_mipmapped(Table& table, cudaMipmappedArray_t* out, cudaGraphicsResource_t resource) {
  const cudaError_t code = MNEME_NEXT(table, cudaGraphicsResourceGetMappedMipmappedArray)(out, resource);
  if (code == cudaSuccess) recorder()->textures().add_foreign(*out, resource, place_of(table));
  return code;
}
cudaError_t on_graphics_unmap(Table& table, int count, cudaGraphicsResource_t* resources, cudaStream_t stream) {
  for (int i = 0; resources && i < count; ++i) recorder()->textures().forget(resources[i]);
  return MNEME_NEXT(table, cudaGraphicsUnmapResources)(count, resources, stream);
}
cudaError_t on_graphics_unregister(Table& table, cudaGraphicsResource_t resource) {
  recorder()->textures().forget(resource);
  return MNEME_NEXT(table, cudaGraphicsUnregisterResource)(resource);
}

using Hooks = HookList<
    Hook<MNEME_CALL_cudaCreateTextureObject, on_texture_create>, Hook<MNEME_CALL_cudaDestroyTextureObject, on_texture_destroy>,
    Hook<MNEME_CALL_cudaCreateSurfaceObject, on_surface_create>, Hook<MNEME_CALL_cudaDestroySurfaceObject, on_surface_destroy>,
    Hook<MNEME_CALL_cudaMallocMipmappedArray, on_malloc_mipmapped>, Hook<MNEME_CALL_cudaGetMipmappedArrayLevel, on_get_level>,
    Hook<MNEME_CALL_cudaFreeArray, on_free_array>, Hook<MNEME_CALL_cudaFreeMipmappedArray, on_free_mipmapped>,
    Hook<MNEME_CALL_cudaGraphicsSubResourceGetMappedArray, on_graphics_array>,
    Hook<MNEME_CALL_cudaGraphicsResourceGetMappedMipmappedArray, on_graphics_mipmapped>,
    Hook<MNEME_CALL_cudaGraphicsUnmapResources, on_graphics_unmap>,
    Hook<MNEME_CALL_cudaGraphicsUnregisterResource, on_graphics_unregister>>;

}  // namespace

void install_texture_hooks(Table& table) { Hooks::install(table); }

// All that the program has given the device is done, and the copy waits for the device.
Status Table::copy_array(DevicePtr to, const ProgramArray& array) {
  const std::vector<ArrayLevel> levels = levels_of(array.shape);
  for (uint32_t i = 0; i < levels.size(); ++i) {
    const ArrayLevel& level = levels[i];
    auto source = static_cast<cudaArray_t>(const_cast<void*>(array.handle));
    if (array.shape.levels != 0) {
      auto* const mipmapped = static_cast<cudaMipmappedArray_t>(const_cast<void*>(array.handle));
      if (cudaError_t code = MNEME_NEXT(*this, cudaGetMipmappedArrayLevel)(&source, mipmapped, i); code != cudaSuccess)
        return error(Code::device_fault, "cudaGetMipmappedArrayLevel returned {}", static_cast<int>(code));
    }
    cudaMemcpy3DParms copy{};
    copy.srcArray = source;
    copy.dstPtr = {reinterpret_cast<void*>(to.address + level.begin), level.row.count, level.width, level.height};
    copy.extent = {level.width, level.height, level.slices};
    copy.kind = cudaMemcpyDeviceToDevice;
    if (cudaError_t code = MNEME_NEXT(*this, cudaMemcpy3D)(&copy); code != cudaSuccess)
      return error(Code::device_fault, "cudaMemcpy3D from an array returned {}", static_cast<int>(code));
  }
  const cudaError_t code = MNEME_NEXT(*this, cudaDeviceSynchronize)();
  return code == cudaSuccess ? Status() : error(Code::device_fault, "cudaDeviceSynchronize returned {}", static_cast<int>(code));
}

}  // namespace mneme
