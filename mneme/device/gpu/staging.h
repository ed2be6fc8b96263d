// Staging: copies between host memory of any kind and the device, as fast as the bus allows.
//
// Small copies go to the driver as they are. Large ones pass through pinned buffers, which several host threads fill or empty
// while the bus works: one core copies slower than the bus.
#pragma once

#include <vector>

#include "mneme/base/types.h"
#include "mneme/device/gpu/context.h"

namespace mneme::gpu {

// Belongs to one stream, and is used by one thread at a time. A large copy starts threads, which end with it and block all
// signals. The buffers are pinned on first use, and freed with the object; the stream must be idle then.
class Staging {
 public:
  static constexpr uint64_t kDirectBytes = 8 << 20;  // the driver copies up to this size by itself
  static constexpr uint64_t kChunkBytes = 4 << 20;   // size of a pinned buffer
  static constexpr unsigned kLanes = 4;              // most host threads of a copy; each has two buffers

  Staging(const Context& context, StreamHandle stream) : context_(context), stream_(stream) {}
  ~Staging();

  // Both are ordered in the stream and complete on return.
  Status to_device(DevicePtr to, ByteSpan from);
  Status to_host(MutableByteSpan to, DevicePtr from);

 private:
  struct Buffer {
    std::byte* host = nullptr;
    EventHandle done = nullptr;  // the bus has let go of the buffer
    uint64_t offset = 0;         // what stands in it, while `busy`
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
  StreamHandle stream_;
  std::vector<Lane> lanes_;
};

}  // namespace mneme::gpu
