// The tests' HIP runtime: arrays, textures and surfaces.
#include <algorithm>
#include <cstring>
#include <deque>
#include <set>
#include <vector>

#include "mneme/device/hip/fake_hip.h"

using namespace mneme::hip;

namespace {

struct FakeArray {
  size_t texel = 0, width = 1, height = 1, depth = 1;
  std::vector<std::byte> texels;
};
struct FakeMipmapped {
  std::deque<FakeArray> levels;
};

// An object that was made where the test has memory for it stays there.
std::set<const FakeObject*> placed;

FakeArray* array_of(ArrayHandle handle) { return reinterpret_cast<FakeArray*>(handle); }
FakeMipmapped* mipmapped_of(MipmappedHandle handle) { return reinterpret_cast<FakeMipmapped*>(handle); }

FakeArray make_array(const ChannelDescription& channels, const Extent& extent) {
  FakeArray array{.texel = static_cast<size_t>(channels.x + channels.y + channels.z + channels.w) / 8,
                  .width = extent.width,
                  .height = std::max<size_t>(extent.height, 1),
                  .depth = std::max<size_t>(extent.depth, 1),
                  .texels = {}};
  array.texels.resize(array.texel * array.width * array.height * array.depth);
  return array;
}
bool is_possible(const ChannelDescription* channels, const Extent& extent) {
  return channels != nullptr && channels->x != 0 && extent.width != 0;
}

// Of one side of a copy: where row `y` of slice `z` begins.
std::byte* place(ArrayHandle array, const PitchedPointer& memory, size_t y, size_t z) {
  if (array == nullptr) return static_cast<std::byte*>(memory.pointer) + (z * memory.height + y) * memory.pitch;
  const FakeArray& texels = *array_of(array);
  return array_of(array)->texels.data() + (z * texels.height + y) * texels.width * texels.texel;
}

FakeImage image_of(const ResourceDescription& resource) {
  const auto whole = [](FakeArray& array) {
    return FakeImage{reinterpret_cast<float*>(array.texels.data()), array.texels.size() / 4};
  };
  switch (resource.type) {
    case ResourceType::array: return whole(*array_of(resource.array));
    case ResourceType::mipmapped: return whole(mipmapped_of(resource.mipmapped)->levels.front());
    case ResourceType::linear: return {static_cast<float*>(resource.linear.pointer), resource.linear.size / 4};
    case ResourceType::pitched: break;
  }
  return {static_cast<float*>(resource.pitched.pointer), resource.pitched.width};
}

template <typename Handle>
Error give(Handle* handle, const FakeObject& object) {
  FakeHipState& state = fake_hip_state();
  FakeObject* const given = state.next_object;
  state.next_object = nullptr;
  auto* const made = given != nullptr ? given : new FakeObject;
  if (given != nullptr) placed.insert(made);
  *made = object;
  made->image = image_of(object.resource);
  made->sampler.filter = static_cast<uint64_t>(object.description.filter);
  state.objects.insert(made);
  *handle = reinterpret_cast<Handle>(made);
  return 0;
}
template <typename Handle>
Error take(Handle handle, bool surface) {
  auto* const object = reinterpret_cast<FakeObject*>(handle);
  if (!fake_hip_state().objects.contains(object) || object->surface != surface) return kInvalidValue;
  fake_hip_state().objects.erase(object);
  if (placed.erase(object) == 0) delete object;
  return 0;
}

}  // namespace

void mneme::hip::fake_add_texels(const std::vector<std::byte>& parameters) {
  const FakeImage* image = nullptr;
  memcpy(&image, parameters.data(), sizeof image);
  for (uint64_t i = 0; i < image->count; ++i) image->texels[i] += 1;
}

#define ENTER() \
  if (const Error error = fake_hip_enter(__func__); error != 0) return error

// These two have names of C++, in which the runtime's types are.
Error hipCreateSurfaceObject(SurfaceHandle* surface, const ResourceDescription* resource) asm(
    "_Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc");
Error hipDestroySurfaceObject(SurfaceHandle surface) asm("_Z23hipDestroySurfaceObjectP13__hip_surface");

extern "C" {

Error hipMalloc3DArray(ArrayHandle* array, const ChannelDescription* channels, Extent extent, unsigned flags) {
  ENTER();
  if (!is_possible(channels, extent)) return kInvalidValue;
  fake_hip_state().array_requests.push_back({*channels, extent, 0, flags});
  *array = reinterpret_cast<ArrayHandle>(new FakeArray(make_array(*channels, extent)));
  ++fake_hip_state().arrays;
  return 0;
}
Error hipFreeArray(ArrayHandle array) {
  ENTER();
  delete array_of(array);
  --fake_hip_state().arrays;
  return 0;
}
Error hipMallocMipmappedArray(MipmappedHandle* array, const ChannelDescription* channels, Extent extent, unsigned levels,
                              unsigned flags) {
  ENTER();
  if (!is_possible(channels, extent) || levels == 0) return kInvalidValue;
  fake_hip_state().array_requests.push_back({*channels, extent, levels, flags});
  auto* const made = new FakeMipmapped;
  for (unsigned i = 0; i < levels; ++i) {
    made->levels.push_back(make_array(*channels, extent));
    for (size_t* size : {&extent.width, &extent.height, &extent.depth})
      if (*size != 0) *size = std::max<size_t>(*size / 2, 1);
  }
  *array = reinterpret_cast<MipmappedHandle>(made);
  ++fake_hip_state().arrays;
  return 0;
}
Error hipGetMipmappedArrayLevel(ArrayHandle* level, MipmappedHandle array, unsigned number) {
  ENTER();
  auto& levels = mipmapped_of(array)->levels;
  if (number >= levels.size()) return kInvalidValue;
  *level = reinterpret_cast<ArrayHandle>(&levels[number]);
  return 0;
}
Error hipFreeMipmappedArray(MipmappedHandle array) {
  ENTER();
  delete mipmapped_of(array);
  --fake_hip_state().arrays;
  return 0;
}

// An extent is in texels where an array takes part, and it has to lie in the array.
Error hipMemcpy3DAsync(const Copy3d* copy, StreamHandle) {
  ENTER();
  const ArrayHandle array = copy->from_array != nullptr ? copy->from_array : copy->to_array;
  if (array == nullptr || copy->kind != kDeviceToDevice) return kInvalidValue;
  const FakeArray& texels = *array_of(array);
  const Extent& extent = copy->extent;
  if (extent.width > texels.width || extent.height > texels.height || extent.depth > texels.depth) return kInvalidValue;
  fake_hip_finish_copies();
  for (size_t z = 0; z < extent.depth; ++z)
    for (size_t y = 0; y < extent.height; ++y)
      memcpy(place(copy->to_array, copy->to, y, z), place(copy->from_array, copy->from, y, z), extent.width * texels.texel);
  return 0;
}

Error hipCreateTextureObject(TextureHandle* texture, const ResourceDescription* resource, const TextureDescription* description,
                             const ViewDescription* view) {
  ENTER();
  // Both as the runtime has it.
  const bool has_levels = resource->type == ResourceType::mipmapped;
  if (!has_levels && (description->level_bias != 0 || description->least_level != 0 || description->greatest_level != 0))
    return kNotSupported;
  if (view != nullptr && resource->type != ResourceType::array && !has_levels) return kInvalidValue;
  FakeObject object;
  object.resource = *resource;
  object.description = *description;
  if (view != nullptr) object.view = *view;
  return give(texture, object);
}
Error hipDestroyTextureObject(TextureHandle texture) {
  ENTER();
  return take(texture, false);
}

}  // extern "C"

Error hipCreateSurfaceObject(SurfaceHandle* surface, const ResourceDescription* resource) {
  ENTER();
  if (resource->type != ResourceType::array) return kInvalidValue;
  FakeObject object;
  object.surface = true;
  object.resource = *resource;
  return give(surface, object);
}
Error hipDestroySurfaceObject(SurfaceHandle surface) {
  ENTER();
  return take(surface, true);
}
