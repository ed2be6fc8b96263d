#include "mneme/base/texture_descriptors.h"

namespace mneme {

// Numbers stay below 4 GiB, and pointers are of a process.
std::optional<MemoryRange> descriptors_of(const TextureObject& object) {
  constexpr Bytes kImage(48), kSampler(32);
  if (object.handle >> 32 == 0 || object.handle >> 47 != 0) return std::nullopt;
  return MemoryRange{DevicePtr(object.handle), object.kind == TextureObject::Kind::texture ? kImage + kSampler : kImage};
}

}  // namespace mneme
