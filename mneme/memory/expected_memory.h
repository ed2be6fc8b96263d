// ExpectedMemory: gives the memory as it was recorded after the launch, at an address on the device.
//
// It puts that memory together from up to three places. What the recorded kernel changed lies in a copy of its own (`changed`).
// The rest is as it was before the launch: it comes from the copy of all memory before the launch (`before`) where the device
// has room for one, and is else read from the database and copied to the device when it is asked for.
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

// The value of every byte of slack, the mapped memory between regions. A kernel that writes there changes it, which a check
// finds.
inline constexpr std::byte kSlack{0xa7};

// The uploads that bring the recorded pages which [address, address + size) touches, as they were before the launch. Each page
// goes to its own address plus `moved` bytes (modulo 2^64).
std::vector<PageUpload> prologue_pages(const MemoryPlan& plan, DevicePtr address, Bytes size, uint64_t moved = 0);

// Used by one thread at a time. Failures of its methods are the database's and the device's.
class ExpectedMemory {
 public:
  // `changed` holds what the recorded kernel changes, as it was after the launch; `before` holds all memory before the launch,
  // and is null where the device has no room for that. All of them must outlive this object.
  ExpectedMemory(const Database& database, const MemoryPlan& plan, Device& device, Stream& stream, const MappedCopy& changed,
                 const MappedCopy* before)
      : database_(database), plan_(plan), device_(device), stream_(stream), changed_(changed), before_(before) {}

  // Calls `see` for the pieces that [address, address + size) consists of, by rising address: `expected` is where the device
  // has what is expected at `address`. The range lies in one span. What lies at `expected` is valid until `see` returns, and
  // for work that `see` has put into the stream. A failure of `see` ends the loop and is returned.
  using See = std::function<Status(DevicePtr address, Bytes size, DevicePtr expected)>;
  Status for_each(DevicePtr address, Bytes size, const See& see);
  // Where the device has all of that range in one piece; valid until the next call of whole() or for_each(). exhausted: the
  // device lacks the room to put it together.
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
