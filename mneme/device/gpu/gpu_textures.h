// GpuTextures: recorded arrays, textures and surfaces on a GPU.
//
// The driver chooses the handles of objects. Where it gives small numbers in order, objects are made until one has the recorded
// handle; what was made besides goes away again. Where a handle points to descriptors, the new ones are copied to where the
// recorded ones were, so that kernels find them by the recorded handle, wherever they have it from.
#pragma once

#include <memory>
#include <vector>

#include "mneme/device/device_textures.h"
#include "mneme/device/gpu/context.h"
#include "mneme/device/gpu/texture_api.h"
#include "mneme/device/held_addresses.h"
#include "mneme/device/host_mapping.h"

namespace mneme::gpu {

class GpuTextures final : public DeviceTextures {
 public:
  static constexpr size_t kMostTries = 1024;  // objects that are made for one with the recorded handle

  // `context` must outlive the result. unavailable: memory of something else is where descriptors were.
  static Result<std::unique_ptr<DeviceTextures>> create(const Context& context, std::unique_ptr<const TextureApi> api,
                                                        const TextureSet& textures);
  ~GpuTextures() override;

  Status fill_arrays(Stream& stream) override;
  Status copy_arrays(Stream& stream) override;

 private:
  struct Array {
    TextureSet::Array recorded;
    std::vector<ArrayLevel> levels;
    bool written = false;                 // by kernels
    MipmappedHandle mipmapped = nullptr;  // null: it is plain
    std::vector<ArrayHandle> texels;      // of each level
  };
  using Handles = std::vector<std::pair<TextureObject::Kind, uint64_t>>;

  GpuTextures(const Context& context, std::unique_ptr<const TextureApi> api) : context_(context), api_(std::move(api)) {}
  Status make_arrays(const TextureSet& textures);
  Status make_array(Array& array) const;
  Status make_objects(const TextureSet& textures);
  Result<uint64_t> make_object(const TextureObject& object) const;
  Status place_descriptors(const TextureSet& textures);
  Status map_recorded_pages(const TextureSet& textures);
  void destroy(const Handles& objects) const;
  Status copy(const Array& array, ArrayCopy::Direction direction, Stream& stream) const;

  const Context& context_;
  std::unique_ptr<const TextureApi> api_;
  std::vector<Array> arrays_;
  Handles objects_;
  std::vector<AddressLoan> loans_;                      // they end when what is below has gone
  std::vector<std::unique_ptr<HostMapping>> recorded_;  // the pages of recorded descriptors
  bool filled_ = false;
};

}  // namespace mneme::gpu
