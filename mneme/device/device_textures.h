// DeviceTextures: the arrays, textures and surfaces of a recorded launch, made anew on a device. Device::create_textures() makes
// them.
//
// What an array holds, the device keeps in an order of its own, or reads from the memory of the array's copy. Memory and arrays
// are brought together by the two calls below; where the device reads the copy itself they do nothing.
//
// Used by one thread at a time. Device, and the memory that the textures and the copies lie in, must outlive the object, and no
// kernel that uses it may be running when it goes.
#pragma once

#include <cstdint>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/base/textures.h"

namespace mneme {

class Stream;

class DeviceTextures {
 public:
  virtual ~DeviceTextures() = default;
  // The handle of each object, by which kernels are to be given it: the recorded one where the device could give it that.
  const std::vector<uint64_t>& handles() const { return handles_; }
  // Copies what the memory of the copies holds into the arrays that kernels can write, and the first time into all of them.
  // Ordered in the stream; may return before it is done.
  virtual Status fill_arrays(Stream& stream) = 0;
  // Copies the arrays that kernels can write back to the memory of their copies. Ordered in the stream likewise.
  virtual Status copy_arrays(Stream& stream) = 0;

 protected:
  std::vector<uint64_t> handles_;
};

}  // namespace mneme
