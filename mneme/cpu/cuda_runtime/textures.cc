// Texture and surface objects.
#include <algorithm>
#include <bit>
#include <map>
#include <mutex>
#include <optional>

#include "mneme/base/log.h"
#include "mneme/cpu/cuda_runtime/arrays.h"
#include "mneme/cpu/cuda_runtime/context.h"
#include "mneme/cpu/cuda_runtime/slots.h"
#include "mneme/cpu/run/cpu_device.h"

namespace mneme::emulation {
namespace {

constexpr size_t kMostLinearTexels = size_t{1} << 28;

cpu::TextureTable& table() { return cpu::textures(Context::get().device()); }

// What an object was made of, which programs can ask for. The arrays live as long as it does.
struct Description {
  cudaResourceDesc resource{};
  cudaTextureDesc texture{};
  std::vector<std::shared_ptr<const Array>> arrays;
};

class Descriptions {
 public:
  void add(uint64_t handle, Description description) {
    std::lock_guard lock(mutex_);
    descriptions_[handle] = std::move(description);
  }
  std::optional<Description> find(uint64_t handle) const {
    std::lock_guard lock(mutex_);
    auto found = descriptions_.find(handle);
    return found == descriptions_.end() ? std::nullopt : std::optional(found->second);
  }
  bool remove(uint64_t handle) {
    std::lock_guard lock(mutex_);
    return descriptions_.erase(handle) == 1;
  }

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, Description> descriptions_;
};

Descriptions& textures() {
  static Descriptions* descriptions = new Descriptions;
  return *descriptions;
}
Descriptions& surfaces() {
  static Descriptions* descriptions = new Descriptions;
  return *descriptions;
}

cudaError_t not_available(const char* what) {
  log::warning("{} are not available on the CPU device", what);
  return cudaErrorNotSupported;
}

// --- where the texels are -----------------------------------------------------------------------------------------------------

struct Image {
  TexelChannels channels;
  std::vector<cpu::TexelGrid> levels;
  std::vector<std::shared_ptr<const Array>> arrays;
  bool is_linear = false;
};

void add_level(Image& image, std::shared_ptr<const Array> array) {
  image.channels = array->channels;
  image.levels.push_back(array->grid);
  image.arrays.push_back(std::move(array));
}

cudaError_t add_memory(Image& image, void* pointer, const cudaChannelFormatDesc& description, cpu::TexelGrid grid) {
  const auto channels = read_channels(description);
  if (!channels) return cudaErrorNotSupported;
  image.channels = *channels;
  grid.texels = static_cast<std::byte*>(pointer);
  grid.slice_pitch = grid.row_pitch * grid.height;
  image.levels.push_back(grid);
  return pointer ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t find_image(const cudaResourceDesc& resource, Image& image) {
  switch (resource.resType) {
    case cudaResourceTypeArray: {
      const auto array = find_array(resource.res.array.array);
      if (!array) return cudaErrorInvalidValue;
      add_level(image, array);
      return cudaSuccess;
    }
    case cudaResourceTypeMipmappedArray: {
      const auto mipmapped = find_mipmapped_array(resource.res.mipmap.mipmap);
      if (!mipmapped) return cudaErrorInvalidValue;
      for (const auto& level : mipmapped->levels) add_level(image, level);
      return cudaSuccess;
    }
    case cudaResourceTypeLinear: {
      const auto& memory = resource.res.linear;
      const auto channels = read_channels(memory.desc);
      if (!channels) return cudaErrorNotSupported;
      const size_t texels = memory.sizeInBytes / channels->format.bytes();
      if (texels > kMostLinearTexels) return cudaErrorInvalidValue;
      image.is_linear = true;
      return add_memory(image, memory.devPtr, memory.desc,
                        {.width = static_cast<uint32_t>(texels), .row_pitch = memory.sizeInBytes});
    }
    case cudaResourceTypePitch2D: {
      const auto& memory = resource.res.pitch2D;
      return add_memory(image, memory.devPtr, memory.desc,
                        {.width = static_cast<uint32_t>(memory.width),
                         .height = static_cast<uint32_t>(memory.height),
                         .row_pitch = memory.pitchInBytes});
    }
  }
  return cudaErrorInvalidValue;
}

// --- textures -----------------------------------------------------------------------------------------------------------------

cpu::AddressMode address_mode(cudaTextureAddressMode mode) {
  switch (mode) {
    case cudaAddressModeWrap: return cpu::AddressMode::wrap;
    case cudaAddressModeMirror: return cpu::AddressMode::mirror;
    case cudaAddressModeBorder: return cpu::AddressMode::border;
    case cudaAddressModeClamp: break;
  }
  return cpu::AddressMode::clamp;
}
cpu::FilterMode filter_mode(cudaTextureFilterMode mode) {
  return mode == cudaFilterModeLinear ? cpu::FilterMode::linear : cpu::FilterMode::point;
}

// What the CPU device's textures do not do.
cudaError_t refuse(const cudaTextureDesc& description, const cudaResourceViewDesc* view, const Image& image) {
  if (view) return not_available("views of a texture's resource");
  if (description.seamlessCubemap != 0) return not_available("seamless cubemaps");
  if (description.maxAnisotropy > 1 && image.levels.size() > 1) return not_available("anisotropic filters");
  return cudaSuccess;
}

void set_border(cpu::Texture& texture, const cudaTextureDesc& description) {
  for (size_t i = 0; i < texture.format.components; ++i) {
    const float value = description.borderColor[i];
    texture.border[i] =
        texture.yields_floats() ? std::bit_cast<uint32_t>(value) : static_cast<uint32_t>(static_cast<int64_t>(value));
  }
}

cudaError_t make_texture(const Image& image, const cudaTextureDesc& description, cpu::Texture& texture) {
  texture.format = image.channels.format;
  texture.levels = image.levels;
  const bool is_integer = texture.format.kind != cpu::TexelKind::real;
  texture.normalized_values = is_integer && (image.channels.normalized || description.readMode == cudaReadModeNormalizedFloat);
  if (texture.normalized_values && texture.format.bits == 32) return cudaErrorInvalidValue;
  texture.filter = filter_mode(description.filterMode);
  texture.level_filter = image.levels.size() > 1 ? filter_mode(description.mipmapFilterMode) : cpu::FilterMode::point;
  if (texture.filter == cpu::FilterMode::linear && !texture.yields_floats()) return cudaErrorInvalidValue;
  texture.srgb = description.sRGB != 0 && texture.normalized_values && texture.format.bits == 8 &&
                 texture.format.kind == cpu::TexelKind::unsigned_integer;
  texture.normalized_coordinates = description.normalizedCoords != 0;
  std::transform(std::begin(description.addressMode), std::end(description.addressMode), texture.address, address_mode);
  texture.level_bias = description.mipmapLevelBias;
  texture.least_level = description.minMipmapLevelClamp;
  texture.greatest_level = description.maxMipmapLevelClamp;
  set_border(texture, description);
  if (!image.is_linear) return cudaSuccess;
  // A fetch outside of linear memory is 0.
  texture.filter = cpu::FilterMode::point;
  texture.address[0] = cpu::AddressMode::border;
  texture.border = {};
  return cudaSuccess;
}

cudaError_t create_texture(cudaTextureObject_t* object, const cudaResourceDesc* resource, const cudaTextureDesc* description,
                           const cudaResourceViewDesc* view) {
  if (!object || !resource || !description) return cudaErrorInvalidValue;
  Image image;
  if (cudaError_t result = find_image(*resource, image); result != cudaSuccess) return result;
  if (cudaError_t result = refuse(*description, view, image); result != cudaSuccess) return result;
  cpu::Texture texture;
  if (cudaError_t result = make_texture(image, *description, texture); result != cudaSuccess) return result;
  const uint64_t handle = table().add(std::move(texture));
  if (handle == 0) return cudaErrorMemoryAllocation;
  textures().add(handle, {*resource, *description, std::move(image.arrays)});
  *object = handle;
  return cudaSuccess;
}

cudaError_t destroy_texture(cudaTextureObject_t object) {
  if (object == 0) return cudaSuccess;
  return textures().remove(object) && table().remove(object) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t get_texture_resource(cudaResourceDesc* resource, cudaTextureObject_t object) {
  const auto found = textures().find(object);
  if (!resource || !found) return cudaErrorInvalidValue;
  *resource = found->resource;
  return cudaSuccess;
}
cudaError_t get_texture_description(cudaTextureDesc* description, cudaTextureObject_t object) {
  const auto found = textures().find(object);
  if (!description || !found) return cudaErrorInvalidValue;
  *description = found->texture;
  return cudaSuccess;
}

cudaError_t get_linear_width(size_t* texels, const cudaChannelFormatDesc* description, int device) {
  if (!texels || !description) return cudaErrorInvalidValue;
  if (device != 0) return cudaErrorInvalidDevice;
  *texels = kMostLinearTexels;
  return cudaSuccess;
}

// --- surfaces -----------------------------------------------------------------------------------------------------------------

cudaError_t create_surface(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  if (!object || !resource || resource->resType != cudaResourceTypeArray) return cudaErrorInvalidValue;
  const auto array = find_array(resource->res.array.array);
  if (!array || (array->flags & cudaArraySurfaceLoadStore) == 0) return cudaErrorInvalidValue;
  const uint64_t handle = table().add(cpu::Surface{array->channels.format, array->grid});
  if (handle == 0) return cudaErrorMemoryAllocation;
  surfaces().add(handle, {*resource, {}, {array}});
  *object = handle;
  return cudaSuccess;
}

cudaError_t destroy_surface(cudaSurfaceObject_t object) {
  if (object == 0) return cudaSuccess;
  return surfaces().remove(object) && table().remove(object) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t get_surface_resource(cudaResourceDesc* resource, cudaSurfaceObject_t object) {
  const auto found = surfaces().find(object);
  if (!resource || !found) return cudaErrorInvalidValue;
  *resource = found->resource;
  return cudaSuccess;
}

}  // namespace

void fill_textures(Slots& slots) {
  MNEME_EMULATE(cudaCreateTextureObject, create_texture);
  MNEME_EMULATE(cudaDestroyTextureObject, destroy_texture);
  MNEME_EMULATE(cudaGetTextureObjectResourceDesc, get_texture_resource);
  MNEME_EMULATE(cudaGetTextureObjectTextureDesc, get_texture_description);
  MNEME_EMULATE(cudaDeviceGetTexture1DLinearMaxWidth, get_linear_width);
  MNEME_EMULATE(cudaCreateSurfaceObject, create_surface);
  MNEME_EMULATE(cudaDestroySurfaceObject, destroy_surface);
  MNEME_EMULATE(cudaGetSurfaceObjectResourceDesc, get_surface_resource);
}

}  // namespace mneme::emulation
