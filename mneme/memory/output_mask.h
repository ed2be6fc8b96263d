// OutputMask: the set of the bytes of recorded memory that the recorded kernel writes and does not read.
//
// If the output already held the right values when a launch was recorded, code that does nothing would pass verification. A
// verified run therefore starts from masked memory, in which every byte of the mask holds the complement of what is expected: a
// kernel that does not write such a byte leaves it wrong, and the check finds it. The mask lies on the device, one bit for a
// byte; PreparedMemory keeps the masked memory (keep_masked()).
#pragma once

#include <functional>
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
  // Makes the mask of the bytes that were noted as written and not as read. `written` and `read` point to notes on the device,
  // which have a byte for each byte of a copy of all mapped memory (MappedSpan::offset), not 0 where that memory was written,
  // or read. The notes are needed until create() returns. Failures are the device's, exhausted where it has no room for the
  // mask.
  static Result<std::unique_ptr<OutputMask>> create(Device& device, Stream& stream, const MemoryPlan& plan,
                                                    ExpectedMemory& expected, DevicePtr written, DevicePtr read);
  // Makes the mask that encode() has described, for the same plan. corrupt: `encoded` is not of this plan.
  static Result<std::unique_ptr<OutputMask>> decode(Device& device, Stream& stream, const MemoryPlan& plan,
                                                    ExpectedMemory& expected, ByteSpan encoded);
  // The mask as bytes, few where whole blocks are masked. Waits for the stream.
  Result<ByteVector> encode() const;
  ~OutputMask();
  OutputMask(const OutputMask&) = delete;
  OutputMask& operator=(const OutputMask&) = delete;

  // Sets every masked byte of memory to the complement of what is expected there. Ordered in the stream; may return before it
  // is done.
  Status apply();
  // To be called after a run from masked memory: takes those bytes out of the mask that do not hold what is expected. Waits for
  // the stream.
  Status drop_wrong();
  // How many bytes of memory are masked.
  uint64_t size() const { return size_; }
  // The blocks (mapped_copy.h) that have a masked byte, as runs in the order of addresses.
  const std::vector<MemoryRange>& blocks() const { return blocks_; }

 private:
  OutputMask(Stream& stream, const MemoryPlan& plan, ExpectedMemory& expected)
      : stream_(stream), plan_(plan), expected_(expected) {}
  // One step on the set for every block that has a masked byte: `a` is the memory, `b` what is expected there.
  Status update(ByteSetStep step);
  Status count();
  // Calls `see` for the bits of each block of every span, in their order.
  Status read_bits(const std::function<void(MemoryRange block, ByteSpan bits)>& see) const;
  DevicePtr bits_of(const MappedSpan& span, DevicePtr address) const;

  Stream& stream_;
  const MemoryPlan& plan_;
  ExpectedMemory& expected_;
  DeviceBuffer bits_;  // bit i of byte k stands for byte 8 * k + i of the spans, one behind the other
  std::vector<MemoryRange> blocks_;
  uint64_t size_ = 0;
};

}  // namespace mneme
