#include "mneme/device/hip/hip_texture_api.h"

#include <algorithm>
#include <optional>

namespace mneme::hip {
namespace {

using gpu::ResultCode;

ArrayHandle own(gpu::ArrayHandle array) { return reinterpret_cast<ArrayHandle>(array); }
MipmappedHandle own(gpu::MipmappedHandle array) { return reinterpret_cast<MipmappedHandle>(array); }
void* pointer(uint64_t address) { return reinterpret_cast<void*>(address); }

constexpr gpu::TextureWords kWords = {
    .create_array = "hipMalloc3DArray",
    .create_mipmapped = "hipMallocMipmappedArray",
    .level_of = "hipGetMipmappedArrayLevel",
    .create_texture = "hipCreateTextureObject",
    .create_surface = "hipCreateSurfaceObject",
    .copy = "hipMemcpy3DAsync",
};

// Nothing for formats that only CUDA has.
std::optional<ChannelDescription> channels_of(const TexelLayout& texel) {
  ChannelDescription channels;
  switch (texel.format) {
    case 0x01:
    case 0x02:
    case 0x03: channels.kind = ChannelKind::unsigned_integer; break;
    case 0x08:
    case 0x09:
    case 0x0a: channels.kind = ChannelKind::signed_integer; break;
    case 0x10:
    case 0x20: channels.kind = ChannelKind::real; break;
    default: return std::nullopt;
  }
  const auto size = texel.texel_size();
  if (!size) return std::nullopt;
  const int bits = static_cast<int>(size->count / texel.channels * 8);
  channels.x = bits;
  channels.y = texel.channels > 1 ? bits : 0;
  channels.z = channels.w = texel.channels > 2 ? bits : 0;
  return channels;
}

Extent extent_of(const ArrayShape& shape) { return {shape.width, shape.height, shape.depth}; }

// Nothing likewise.
std::optional<ResourceDescription> resource_of(const gpu::TextureResource& what) {
  const TextureObject& object = what.object;
  ResourceDescription resource{};
  if (object.source == TextureObject::Source::array) {
    resource.type = ResourceType::array;
    resource.array = own(what.array);
    return resource;
  }
  if (object.source == TextureObject::Source::mipmapped) {
    resource.type = ResourceType::mipmapped;
    resource.mipmapped = own(what.mipmapped);
    return resource;
  }
  const auto channels = channels_of(object.texel);
  if (!channels) return std::nullopt;
  void* const memory = pointer(object.memory.address.address);
  if (object.source == TextureObject::Source::linear) {
    resource.type = ResourceType::linear;
    resource.linear = {memory, *channels, object.memory.size.count};
  } else {
    resource.type = ResourceType::pitched;
    resource.pitched = {memory, *channels, object.width, object.height, object.pitch};
  }
  return resource;
}

// What it says of levels is left out where there are none: the runtime refuses all but zeros there, and nothing reads it.
TextureDescription description_of(const TextureObject& object) {
  const TextureSampling& sampling = object.sampling;
  const auto has = [&](uint32_t flag) { return (sampling.flags & flag) != 0; };
  TextureDescription description;
  std::copy(sampling.address.begin(), sampling.address.end(), description.address);
  description.filter = static_cast<int>(sampling.filter);
  description.read = has(TextureSampling::kReadAsInteger) ? kReadAsElements : kReadAsNormalized;
  description.srgb = has(TextureSampling::kSrgb) ? 1 : 0;
  std::copy(sampling.border.begin(), sampling.border.end(), description.border);
  description.normalized_coordinates = has(TextureSampling::kNormalizedCoordinates) ? 1 : 0;
  description.anisotropy = sampling.anisotropy;
  if (object.source != TextureObject::Source::mipmapped) return description;
  description.level_filter = static_cast<int>(sampling.level_filter);
  description.level_bias = sampling.level_bias;
  description.least_level = sampling.least_level;
  description.greatest_level = sampling.greatest_level;
  return description;
}

ViewDescription description_of(const TextureView& view) {
  return {static_cast<int>(view.format),
          view.width,
          view.height,
          view.depth,
          view.first_level,
          view.last_level,
          view.first_layer,
          view.last_layer};
}

}  // namespace

const gpu::TextureWords& HipTextureApi::words() const { return kWords; }

ResultCode HipTextureApi::create_array(gpu::ArrayHandle* array, const ArrayShape& shape) const {
  const auto channels = channels_of(shape.texel);
  if (!channels) return kNotSupported;
  return driver_.hipMalloc3DArray(reinterpret_cast<ArrayHandle*>(array), &*channels, extent_of(shape), shape.flags);
}
void HipTextureApi::destroy(gpu::ArrayHandle array) const { driver_.hipFreeArray(own(array)); }

ResultCode HipTextureApi::create_mipmapped(gpu::MipmappedHandle* array, const ArrayShape& shape) const {
  const auto channels = channels_of(shape.texel);
  if (!channels) return kNotSupported;
  return driver_.hipMallocMipmappedArray(reinterpret_cast<MipmappedHandle*>(array), &*channels, extent_of(shape), shape.levels,
                                         shape.flags);
}
void HipTextureApi::destroy(gpu::MipmappedHandle array) const { driver_.hipFreeMipmappedArray(own(array)); }
ResultCode HipTextureApi::level_of(gpu::ArrayHandle* level, gpu::MipmappedHandle array, uint32_t number) const {
  return driver_.hipGetMipmappedArrayLevel(reinterpret_cast<ArrayHandle*>(level), own(array), number);
}

ResultCode HipTextureApi::copy(const gpu::ArrayCopy& what, gpu::StreamHandle stream) const {
  const ArrayLevel& level = what.level;
  const PitchedPointer memory{pointer(what.memory), level.row.count, level.width, level.height};
  Copy3d copy;
  copy.extent = {level.width, level.height, level.slices};
  if (what.direction == gpu::ArrayCopy::Direction::to_array) {
    copy.from = memory;
    copy.to_array = own(what.array);
  } else {
    copy.from_array = own(what.array);
    copy.to = memory;
  }
  return driver_.hipMemcpy3DAsync(&copy, reinterpret_cast<StreamHandle>(stream));
}

ResultCode HipTextureApi::create_object(uint64_t* handle, const gpu::TextureResource& what) const {
  const TextureObject& object = what.object;
  const auto resource = resource_of(what);
  if (!resource) return kNotSupported;
  if (object.kind == TextureObject::Kind::surface) {
    SurfaceHandle surface = nullptr;
    const Error error = driver_.hipCreateSurfaceObject(&surface, &*resource);
    *handle = reinterpret_cast<uint64_t>(surface);
    return error;
  }
  const TextureDescription description = description_of(object);
  const ViewDescription view = description_of(object.view.value_or(TextureView()));
  TextureHandle texture = nullptr;
  const Error error = driver_.hipCreateTextureObject(&texture, &*resource, &description, object.view ? &view : nullptr);
  *handle = reinterpret_cast<uint64_t>(texture);
  return error;
}

void HipTextureApi::destroy_object(TextureObject::Kind kind, uint64_t handle) const {
  if (kind == TextureObject::Kind::surface)
    driver_.hipDestroySurfaceObject(reinterpret_cast<SurfaceHandle>(handle));
  else
    driver_.hipDestroyTextureObject(reinterpret_cast<TextureHandle>(handle));
}

}  // namespace mneme::hip
