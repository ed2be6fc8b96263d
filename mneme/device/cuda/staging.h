// Copies between host memory of any kind and the device at the bus's rate.
//
// Small copies go to the driver as they are. Large ones pass through pinned buffers, several host threads filling or emptying
// them while the bus works, since one core copies slower than the bus.
#pragma once

#include <vector>

#include "mneme/base/types.h"
#include "mneme/device/cuda/context.h"

namespace mneme::cuda {

// Belongs to one stream and is used by one thread at a time; a large copy starts threads that end with it and that take no
// signals. The buffers are pinned on first use and freed with the object, when the stream is idle.
class Staging {
 public:
  static constexpr uint64_t kDirectBytes = 8 << 20;  // up to here the driver's own path
  static constexpr uint64_t kChunkBytes = 4 << 20;
  static constexpr unsigned kLanes = 4;  // host threads

  Staging(const Context& context, CUstream stream) : context_(context), stream_(stream) {}
  ~Staging();

  // Both are ordered in the stream and complete on return.
  Status to_device(DevicePtr to, ByteSpan from);
  Status to_host(MutableByteSpan to, DevicePtr from);

 private:
  struct Buffer {
    std::byte* host = nullptr;
    CUevent done = nullptr;  // the bus has let go of the buffer
    uint64_t offset = 0;     // what stands in it, while `busy`
    uint64_t size = 0;
    bool busy = false;
  };
  struct Lane {
    Buffer buffers[2];
  };
  struct Transfer;

  Status prepare(unsigned lanes);
  Status run(Transfer& transfer);
  Status run_lane(Lane& lane, Transfer& transfer);
  Status start(Buffer& buffer, Transfer& transfer, uint64_t offset, uint64_t size);
  Status finish(Buffer& buffer, Transfer& transfer);

  const Context& context_;
  CUstream stream_;
  std::vector<Lane> lanes_;
};

}  // namespace mneme::cuda
