// Texture and surface objects, and the arrays that they are of.
#include "mneme/record/driver/driver_front.h"

namespace mneme::driver {
namespace {

using Kind = TextureObject::Kind;
using Source = TextureObject::Source;

ArrayShape shape_of(const CUDA_ARRAY3D_DESCRIPTOR& descriptor, uint32_t levels) {
  return {descriptor.Width, descriptor.Height,
          descriptor.Depth, {static_cast<uint32_t>(descriptor.Format), descriptor.NumChannels},
          descriptor.Flags, levels};
}

TextureSampling sampling_of(const CUDA_TEXTURE_DESC& descriptor) {
  TextureSampling sampling;
  for (size_t i = 0; i < sampling.address.size(); ++i) sampling.address[i] = static_cast<uint32_t>(descriptor.addressMode[i]);
  for (size_t i = 0; i < sampling.border.size(); ++i) sampling.border[i] = descriptor.borderColor[i];
  sampling.filter = static_cast<uint32_t>(descriptor.filterMode);
  sampling.flags = descriptor.flags;
  sampling.anisotropy = descriptor.maxAnisotropy;
  sampling.level_filter = static_cast<uint32_t>(descriptor.mipmapFilterMode);
  sampling.level_bias = descriptor.mipmapLevelBias;
  sampling.least_level = descriptor.minMipmapLevelClamp;
  sampling.greatest_level = descriptor.maxMipmapLevelClamp;
  return sampling;
}

TextureView view_of(const CUDA_RESOURCE_VIEW_DESC& view) {
  return {static_cast<uint32_t>(view.format),
          view.width,
          view.height,
          view.depth,
          view.firstMipmapLevel,
          view.lastMipmapLevel,
          view.firstLayer,
          view.lastLayer};
}

// Without a context there is none, and nothing is made.
TexturePlace current_place() {
  const auto place = front().current_place();
  return place.ok() ? *place : TexturePlace();
}

void set_array(ProgramTextures::Object& made, CUarray array) {
  made.object.source = Source::array;
  if (recorder()->textures().set_level(made, array)) return;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  const auto describe = reinterpret_cast<decltype(&::cuArray3DGetDescriptor)>(front().find("cuArray3DGetDescriptor_v2"));
  if (describe && describe(&descriptor, array) == CUDA_SUCCESS) made.array = {array, shape_of(descriptor, 0)};
}

void set_resource(ProgramTextures::Object& made, const CUDA_RESOURCE_DESC& resource) {
  TextureObject& object = made.object;
  switch (resource.resType) {
    case CU_RESOURCE_TYPE_ARRAY: set_array(made, resource.res.array.hArray); break;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
      object.source = Source::mipmapped;
      recorder()->textures().set_mipmapped(made, resource.res.mipmap.hMipmappedArray);
      break;
    case CU_RESOURCE_TYPE_LINEAR: {
      const auto& memory = resource.res.linear;
      object.source = Source::linear;
      object.memory = {DevicePtr(memory.devPtr), Bytes(memory.sizeInBytes)};
      object.texel = {static_cast<uint32_t>(memory.format), memory.numChannels};
      break;
    }
    case CU_RESOURCE_TYPE_PITCH2D: {
      const auto& memory = resource.res.pitch2D;
      object.source = Source::pitched;
      object.texel = {static_cast<uint32_t>(memory.format), memory.numChannels};
      object.width = memory.width;
      object.height = memory.height;
      object.pitch = memory.pitchInBytes;
      const Bytes row(object.width * object.texel.texel_size().value_or(Bytes()).count);
      object.memory = {DevicePtr(memory.devPtr), Bytes(object.pitch * (object.height - 1)) + row};
      break;
    }
  }
}

void remember(Kind kind, uint64_t handle, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* texture,
              const CUDA_RESOURCE_VIEW_DESC* view) {
  ProgramTextures::Object made;
  made.object.kind = kind;
  made.object.handle = handle;
  if (resource) set_resource(made, *resource);
  if (texture) made.object.sampling = sampling_of(*texture);
  if (view) made.object.view = view_of(*view);
  made.place = current_place();
  recorder()->textures().add(std::move(made));
}

CUresult on_texture_create(CUtexObject* out, const CUDA_RESOURCE_DESC* resource, const CUDA_TEXTURE_DESC* texture,
                           const CUDA_RESOURCE_VIEW_DESC* view) {
  const CUresult code = MNEME_DRIVER(cuTexObjectCreate, cuTexObjectCreate)(out, resource, texture, view);
  if (code == CUDA_SUCCESS) remember(Kind::texture, *out, resource, texture, view);
  return code;
}
CUresult on_texture_destroy(CUtexObject object) {
  recorder()->textures().remove(Kind::texture, object, current_place());
  return MNEME_DRIVER(cuTexObjectDestroy, cuTexObjectDestroy)(object);
}
CUresult on_surface_create(CUsurfObject* out, const CUDA_RESOURCE_DESC* resource) {
  const CUresult code = MNEME_DRIVER(cuSurfObjectCreate, cuSurfObjectCreate)(out, resource);
  if (code == CUDA_SUCCESS) remember(Kind::surface, *out, resource, nullptr, nullptr);
  return code;
}
CUresult on_surface_destroy(CUsurfObject object) {
  recorder()->textures().remove(Kind::surface, object, current_place());
  return MNEME_DRIVER(cuSurfObjectDestroy, cuSurfObjectDestroy)(object);
}

CUresult on_mipmapped_create(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* descriptor, unsigned levels) {
  const CUresult code = MNEME_DRIVER(cuMipmappedArrayCreate, cuMipmappedArrayCreate)(out, descriptor, levels);
  if (code != CUDA_SUCCESS) return code;
  ArrayShape shape = shape_of(*descriptor, levels);
  while (shape.levels > 1 && levels_of(shape).empty()) --shape.levels;  // the driver makes no more than there can be
  recorder()->textures().add_mipmapped({*out, shape}, current_place());
  return code;
}
CUresult on_get_level(CUarray* out, CUmipmappedArray mipmapped, unsigned level) {
  const CUresult code = MNEME_DRIVER(cuMipmappedArrayGetLevel, cuMipmappedArrayGetLevel)(out, mipmapped, level);
  if (code == CUDA_SUCCESS) recorder()->textures().add_level(*out, mipmapped, level, current_place());
  return code;
}
// A capture may be reading the array.
CUresult on_array_destroy(CUarray array) {
  Gate::Use use(recorder()->gate(), Gate::Effect::removes_memory);
  recorder()->textures().forget(array);
  return MNEME_DRIVER(cuArrayDestroy, cuArrayDestroy)(array);
}
CUresult on_mipmapped_destroy(CUmipmappedArray mipmapped) {
  Gate::Use use(recorder()->gate(), Gate::Effect::removes_memory);
  recorder()->textures().forget(mipmapped);
  return MNEME_DRIVER(cuMipmappedArrayDestroy, cuMipmappedArrayDestroy)(mipmapped);
}

// Arrays of other interfaces: those of a resource of graphics go when it is unmapped.
CUresult on_graphics_array(CUarray* out, CUgraphicsResource resource, unsigned index, unsigned level) {
  const CUresult code =
      MNEME_DRIVER(cuGraphicsSubResourceGetMappedArray, cuGraphicsSubResourceGetMappedArray)(out, resource, index, level);
  if (code == CUDA_SUCCESS) recorder()->textures().add_foreign(*out, resource, current_place());
  return code;
}
CUresult on_graphics_mipmapped(CUmipmappedArray* out, CUgraphicsResource resource) {
  const CUresult code =
      MNEME_DRIVER(cuGraphicsResourceGetMappedMipmappedArray, cuGraphicsResourceGetMappedMipmappedArray)(out, resource);
  if (code == CUDA_SUCCESS) recorder()->textures().add_foreign(*out, resource, current_place());
  return code;
}
template <mneme_driver_call kSlot>
CUresult on_graphics_unmap(unsigned count, CUgraphicsResource* resources, CUstream stream) {
  for (unsigned i = 0; resources && i < count; ++i) recorder()->textures().forget(resources[i]);
  return next<kSlot, decltype(&::cuGraphicsUnmapResources)>(count, resources, stream);
}
CUresult on_graphics_unregister(CUgraphicsResource resource) {
  recorder()->textures().forget(resource);
  return MNEME_DRIVER(cuGraphicsUnregisterResource, cuGraphicsUnregisterResource)(resource);
}

// Deprecated functions are called as well.
#pragma clang diagnostic ignored "-Wdeprecated-declarations"

// What a kernel reads by a texture reference is set before, in its image.
CUresult on_get_reference(CUtexref* out, CUmodule module, const char* name) {
  recorder()->textures().see_reference();
  return MNEME_DRIVER(cuModuleGetTexRef, cuModuleGetTexRef)(out, module, name);
}
CUresult on_get_surface_reference(CUsurfref* out, CUmodule module, const char* name) {
  recorder()->textures().see_reference();
  return MNEME_DRIVER(cuModuleGetSurfRef, cuModuleGetSurfRef)(out, module, name);
}

#define MNEME_HOOK(name, ...) hook(MNEME_DRIVER_CALL_##name, &__VA_ARGS__)

}  // namespace

std::vector<DriverHook> texture_hooks() {
  return {
      MNEME_HOOK(cuTexObjectCreate, on_texture_create),
      MNEME_HOOK(cuTexObjectDestroy, on_texture_destroy),
      MNEME_HOOK(cuSurfObjectCreate, on_surface_create),
      MNEME_HOOK(cuSurfObjectDestroy, on_surface_destroy),
      MNEME_HOOK(cuMipmappedArrayCreate, on_mipmapped_create),
      MNEME_HOOK(cuMipmappedArrayGetLevel, on_get_level),
      MNEME_HOOK(cuArrayDestroy, on_array_destroy),
      MNEME_HOOK(cuMipmappedArrayDestroy, on_mipmapped_destroy),
      MNEME_HOOK(cuGraphicsSubResourceGetMappedArray, on_graphics_array),
      MNEME_HOOK(cuGraphicsResourceGetMappedMipmappedArray, on_graphics_mipmapped),
      MNEME_HOOK(cuGraphicsUnmapResources, on_graphics_unmap<MNEME_DRIVER_CALL_cuGraphicsUnmapResources>),
      MNEME_HOOK(cuGraphicsUnmapResources_ptsz, on_graphics_unmap<MNEME_DRIVER_CALL_cuGraphicsUnmapResources_ptsz>),
      MNEME_HOOK(cuGraphicsUnregisterResource, on_graphics_unregister),
      MNEME_HOOK(cuModuleGetTexRef, on_get_reference),
      MNEME_HOOK(cuModuleGetSurfRef, on_get_surface_reference),
  };
}

Status DriverFront::copy_array(DevicePtr to, const ProgramArray& array) {
  const std::vector<ArrayLevel> levels = levels_of(array.shape);
  for (uint32_t i = 0; i < levels.size(); ++i) {
    const ArrayLevel& level = levels[i];
    auto source = static_cast<CUarray>(const_cast<void*>(array.handle));
    if (array.shape.levels != 0) {
      auto* const mipmapped = static_cast<CUmipmappedArray>(const_cast<void*>(array.handle));
      if (CUresult code = MNEME_DRIVER(cuMipmappedArrayGetLevel, cuMipmappedArrayGetLevel)(&source, mipmapped, i);
          code != CUDA_SUCCESS)
        return error(Code::device_fault, "cuMipmappedArrayGetLevel returned {}", static_cast<int>(code));
    }
    CUDA_MEMCPY3D copy{};
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = source;
    copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.dstDevice = to.address + level.begin;
    copy.dstPitch = level.row.count;
    copy.dstHeight = level.height;
    copy.WidthInBytes = level.row.count;
    copy.Height = level.height;
    copy.Depth = level.slices;
    if (CUresult code = MNEME_DRIVER(cuMemcpy3D_v2, cuMemcpy3D)(&copy); code != CUDA_SUCCESS)
      return error(Code::device_fault, "cuMemcpy3D from an array returned {}", static_cast<int>(code));
  }
  MNEME_ASSIGN(const int device, current_device());
  return synchronize(device);
}

}  // namespace mneme::driver
