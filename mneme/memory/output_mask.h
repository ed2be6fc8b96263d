// OutputMask: the bytes of the recorded memory that the recorded kernel writes and does not read before.
//
// Where a launch was recorded when its output already held the right values, code that does nothing would pass. So runs start
// from masked memory: the bytes of the mask hold the complement of what is expected, and a kernel that leaves one of them out is
// found out. The mask is kept on the device, one bit a byte; PreparedMemory keeps the masked memory (keep_masked()).
#pragma once

#include <memory>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/memory/expected_memory.h"
#include "mneme/memory/memory_plan.h"

namespace mneme {

// Used by one thread at a time. Plan, stream and expected memory must outlive it.
class OutputMask {
 public:
  // Makes a mask of the bytes that were noted as written and not as read. `written` and `read` point to notes on the device, one
  // byte for each byte of the plan's copy of memory, which is not 0 where the memory was written or read; they are needed until
  // create() returns. Fails as the device does, and with exhausted where the device has no room for the mask.
  static Result<std::unique_ptr<OutputMask>> create(Device& device, Stream& stream, const MemoryPlan& plan,
                                                    ExpectedMemory& expected, DevicePtr written, DevicePtr read);
  ~OutputMask();
  OutputMask(const OutputMask&) = delete;
  OutputMask& operator=(const OutputMask&) = delete;

  // Makes the masked bytes of memory the complements of what is expected. Ordered in the stream; may return before it is done.
  Status apply();
  // Takes those bytes out of the mask that do not hold what is expected now, after a run from masked memory.
  Status drop_wrong();
  uint64_t size() const { return size_; }  // in bytes of memory
  // The blocks of memory that have a masked byte, in the plan's order.
  const std::vector<MemoryRange>& blocks() const { return blocks_; }

 private:
  OutputMask(Stream& stream, const MemoryPlan& plan, ExpectedMemory& expected)
      : stream_(stream), plan_(plan), expected_(expected) {}
  // For every block that has a masked byte: what is there, and what is expected.
  Status update(ByteSetStep step);
  Status count();
  DevicePtr bits_of(const MappedSpan& span, DevicePtr address) const;

  Stream& stream_;
  const MemoryPlan& plan_;
  ExpectedMemory& expected_;
  DeviceBuffer bits_;  // bit i of byte k stands for byte 8 * k + i of the spans, one behind the other
  std::vector<MemoryRange> blocks_;
  uint64_t size_ = 0;
};

}  // namespace mneme
