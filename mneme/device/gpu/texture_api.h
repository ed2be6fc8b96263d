// TextureApi: a vendor's functions for arrays, textures and surfaces, under names of neither vendor, as those of Api.
#pragma once

#include <string_view>

#include "mneme/base/textures.h"
#include "mneme/device/gpu/api.h"

namespace mneme::gpu {

using ArrayHandle = struct ArrayObject*;
using MipmappedHandle = struct MipmappedObject*;

// The names of the vendor's functions, for messages.
struct TextureWords {
  std::string_view create_array, create_mipmapped, level_of, create_texture, create_surface, copy;
};

// What a recorded object is of, on this device: an array, a mipmapped array, or else the memory that the object names.
struct TextureResource {
  const TextureObject& object;
  ArrayHandle array = nullptr;
  MipmappedHandle mipmapped = nullptr;
};

// A copy between an array and memory, where its texels lie as `level` says of one level.
struct ArrayCopy {
  enum class Direction { to_array, from_array };
  Direction direction;
  ArrayHandle array = nullptr;
  uint64_t memory = 0;
  const ArrayLevel& level;
};

class TextureApi {
 public:
  virtual ~TextureApi() = default;
  virtual const TextureWords& words() const = 0;
  // Whether the handle of an object points to descriptors that kernels read (descriptors_of()). Else it is a number,
  // and numbers are given in order.
  virtual bool handles_are_pointers() const = 0;

  virtual ResultCode create_array(ArrayHandle* array, const ArrayShape& shape) const = 0;
  virtual void destroy(ArrayHandle array) const = 0;
  virtual ResultCode create_mipmapped(MipmappedHandle* array, const ArrayShape& shape) const = 0;
  virtual void destroy(MipmappedHandle array) const = 0;
  // The level belongs to the mipmapped array.
  virtual ResultCode level_of(ArrayHandle* level, MipmappedHandle array, uint32_t number) const = 0;
  virtual ResultCode copy(const ArrayCopy& copy, StreamHandle stream) const = 0;
  // A texture or a surface, as the object of the resource says.
  virtual ResultCode create_object(uint64_t* handle, const TextureResource& resource) const = 0;
  virtual void destroy_object(TextureObject::Kind kind, uint64_t handle) const = 0;
};

}  // namespace mneme::gpu
