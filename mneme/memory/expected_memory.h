// ExpectedMemory: what was recorded after the launch, wherever the device has it, or brought there when it is asked for.
//
// What the kernel changed lies in a copy of its own; the rest is as it was before the launch: in the copy of all of that where
// there is one, else in the database.
#pragma once

#include <functional>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/memory/device_buffer.h"
#include "mneme/memory/mapped_copy.h"
#include "mneme/memory/memory_plan.h"
#include "mneme/memory/page_upload.h"
#include "mneme/store/database.h"

namespace mneme {

// What stands between allocations, so that a write to it is seen.
inline constexpr std::byte kSlack{0xa7};

// The pages of the prologue that [address, address + size) of mapped memory touches, each to its own address moved by `moved`.
std::vector<PageUpload> prologue_pages(const MemoryPlan& plan, DevicePtr address, Bytes size, uint64_t moved = 0);

class ExpectedMemory {
 public:
  // `before`, null where there is none: all of the memory before the launch. All must outlive this.
  ExpectedMemory(const Database& database, const MemoryPlan& plan, Device& device, Stream& stream, const MappedCopy& changed,
                 const MappedCopy* before)
      : database_(database), plan_(plan), device_(device), stream_(stream), changed_(changed), before_(before) {}

  // Pieces of [address, address + size), which lies in one span, in their order. What `see` is given stays until it returns.
  using See = std::function<Status(DevicePtr address, Bytes size, DevicePtr expected)>;
  Status for_each(DevicePtr address, Bytes size, const See& see);
  // The same in one piece, until the next call of either. exhausted: the device lacks the room.
  Result<DevicePtr> whole(DevicePtr address, Bytes size);

 private:
  Result<DevicePtr> bring(DevicePtr address, Bytes size);

  const Database& database_;
  const MemoryPlan& plan_;
  Device& device_;
  Stream& stream_;
  const MappedCopy& changed_;
  const MappedCopy* before_;
  DeviceBuffer brought_, assembled_;
};

}  // namespace mneme
