#include "mneme/device/gpu/gpu_textures.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "mneme/base/texture_descriptors.h"
#include "mneme/device/gpu/gpu_host_mapping.h"
#include "mneme/device/gpu/gpu_stream.h"

namespace mneme::gpu {

Result<std::unique_ptr<DeviceTextures>> GpuTextures::create(const Context& context, std::unique_ptr<const TextureApi> api,
                                                            const TextureSet& textures) {
  std::unique_ptr<GpuTextures> made(new GpuTextures(context, std::move(api)));
  ContextScope scope(context);
  MNEME_TRY(scope.status());
  MNEME_TRY(made->make_arrays(textures));
  MNEME_TRY(made->make_objects(textures));
  if (made->api_->handles_are_pointers()) MNEME_TRY(made->place_descriptors(textures));
  return std::unique_ptr<DeviceTextures>(std::move(made));
}

GpuTextures::~GpuTextures() {
  if (context_.poisoned()) return;
  ContextScope scope(context_);
  destroy(objects_);
  for (const Array& array : arrays_) {
    if (array.mipmapped)
      api_->destroy(array.mipmapped);
    else if (!array.texels.empty())
      api_->destroy(array.texels.front());
  }
}

Status GpuTextures::make_arrays(const TextureSet& textures) {
  for (size_t i = 0; i < textures.arrays.size(); ++i) {
    Array& array = arrays_.emplace_back(Array{.recorded = textures.arrays[i],
                                              .levels = levels_of(textures.arrays[i].shape),
                                              .written = textures.writes(i),
                                              .mipmapped = nullptr,
                                              .texels = {}});
    MNEME_TRY(make_array(array));
  }
  return {};
}

// A level is asked for once: HIP's runtime makes an array for each answer.
Status GpuTextures::make_array(Array& array) const {
  const ArrayShape& shape = array.recorded.shape;
  const auto check = [&](ResultCode result, std::string_view call) {
    return context_.check_call(result, call, "({} x {} x {} texels of format {:#x} with {} channels, flags {:#x}, {} levels)",
                               shape.width, shape.height, shape.depth, shape.texel.format, shape.texel.channels, shape.flags,
                               array.levels.size());
  };
  ArrayHandle texels = nullptr;
  if (shape.levels == 0) {
    MNEME_TRY(check(api_->create_array(&texels, shape), api_->words().create_array));
    array.texels.push_back(texels);
    return {};
  }
  MNEME_TRY(check(api_->create_mipmapped(&array.mipmapped, shape), api_->words().create_mipmapped));
  for (uint32_t level = 0; level < shape.levels; ++level) {
    MNEME_TRY(context_.check_call(api_->level_of(&texels, array.mipmapped, level), api_->words().level_of, "({})", level));
    array.texels.push_back(texels);
  }
  return {};
}

// In the order of the recorded handles, since a number that was passed is not given again.
Status GpuTextures::make_objects(const TextureSet& textures) {
  std::vector<size_t> order(textures.objects.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return textures.objects[a].handle < textures.objects[b].handle; });
  handles_.resize(order.size());
  const size_t most_tries = api_->handles_are_pointers() ? 1 : kMostTries;
  Handles passed;
  Status status;
  for (size_t i : order) {
    const TextureObject& object = textures.objects[i];
    Handles tries;
    while (tries.size() < most_tries && (tries.empty() || tries.back().second != object.handle)) {
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

Result<uint64_t> GpuTextures::make_object(const TextureObject& object) const {
  TextureResource resource{object};
  if (object.source == TextureObject::Source::array) resource.array = arrays_[object.array].texels[object.level];
  if (object.source == TextureObject::Source::mipmapped) resource.mipmapped = arrays_[object.array].mipmapped;
  const bool is_surface = object.kind == TextureObject::Kind::surface;
  uint64_t handle = 0;
  MNEME_TRY(context_.check_call(api_->create_object(&handle, resource),
                                is_surface ? api_->words().create_surface : api_->words().create_texture,
                                ", of the recorded {:#x}", object.handle));
  return handle;
}

// Kernels read nothing else through a handle, and no descriptor says where it lies itself.
Status GpuTextures::place_descriptors(const TextureSet& textures) {
  MNEME_TRY(map_recorded_pages(textures));
  const Api& api = context_.api();
  for (size_t i = 0; i < textures.objects.size(); ++i) {
    const TextureObject& object = textures.objects[i];
    const auto place = descriptors_of(object);
    if (!place || handles_[i] == object.handle) continue;
    ByteVector descriptors(place->size.count);
    MNEME_TRY(context_.check_call(api.copy_to_host(descriptors.data(), handles_[i], descriptors.size(), nullptr),
                                  context_.words().copy_to_host, "({}, the descriptors of a {})", place->size,
                                  to_string(object.kind)));
    MNEME_TRY(context_.check_call(api.synchronize(nullptr), context_.words().synchronize));
    std::memcpy(reinterpret_cast<void*>(place->address.address), descriptors.data(), descriptors.size());
    handles_[i] = object.handle;
  }
  return {};
}

Status GpuTextures::map_recorded_pages(const TextureSet& textures) {
  std::set<uint64_t> pages;
  for (size_t i = 0; i < textures.objects.size(); ++i) {
    const auto place = descriptors_of(textures.objects[i]);
    if (!place || handles_[i] == textures.objects[i].handle) continue;
    pages.insert(place->address.address / kHostPage.count);
    pages.insert((place->end().address - 1) / kHostPage.count);
  }
  for (const uint64_t page : pages) {
    const MemoryRange range{DevicePtr(page * kHostPage.count), kHostPage};
    loans_.emplace_back(range);
    auto mapping = GpuHostMapping::map(context_, range.address, range.size);
    if (!mapping.ok()) {
      const Status status = mapping.status().with_context("mapping the page of a recorded texture's descriptors");
      if (status.code() != Code::unavailable) return status;
      return error(Code::unavailable, "{}: try again, since the system places what a process has elsewhere each time",
                   status.message());
    }
    recorded_.push_back(std::move(*mapping));
  }
  return {};
}

void GpuTextures::destroy(const Handles& objects) const {
  for (const auto& [kind, handle] : objects) api_->destroy_object(kind, handle);
}

Status GpuTextures::copy(const Array& array, ArrayCopy::Direction direction, Stream& stream) const {
  const StreamHandle handle = static_cast<GpuStream&>(stream).handle();
  for (uint32_t i = 0; i < array.levels.size(); ++i) {
    const ArrayLevel& level = array.levels[i];
    const ArrayCopy copy{direction, array.texels[i], array.recorded.copy.address + level.begin, level};
    MNEME_TRY(context_.check_call(api_->copy(copy, handle), api_->words().copy, "({}, {} an array)", level.size(),
                                  direction == ArrayCopy::Direction::to_array ? "to" : "from"));
  }
  return {};
}

Status GpuTextures::fill_arrays(Stream& stream) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  for (const Array& array : arrays_)
    if (array.written || !filled_) MNEME_TRY(copy(array, ArrayCopy::Direction::to_array, stream));
  filled_ = true;
  return {};
}

Status GpuTextures::copy_arrays(Stream& stream) {
  ContextScope scope(context_);
  MNEME_TRY(scope.status());
  for (const Array& array : arrays_)
    if (array.written) MNEME_TRY(copy(array, ArrayCopy::Direction::from_array, stream));
  return {};
}

}  // namespace mneme::gpu
