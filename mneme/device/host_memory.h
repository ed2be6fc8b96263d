// Host memory at addresses of choice, and buffers of it. Devices of the kinds cpu and fake hand it out as device memory.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/device/address_space.h"
#include "mneme/device/host_mapping.h"
#include "mneme/device/pinned_memory.h"

namespace mneme {

inline constexpr Bytes kHostGranularity = 2_MiB;

// Reserves [base, base+size) exactly there. No memory is behind it at first: allocations get theirs, zeroed, in granules of
// `granularity`. The range is unreserved when the object is destroyed. invalid_argument: base or size is no multiple of the
// granularity, or the size is 0. unavailable: another mapping holds a part of the range (the message names it), or the system
// refuses.
Result<std::unique_ptr<AddressSpace>> reserve_host_range(DevicePtr base, Bytes size, Bytes granularity = kHostGranularity);

// Zeroed memory exactly there. Failures are those of Device::map_host().
Result<std::unique_ptr<HostMapping>> map_host_range(DevicePtr address, Bytes size);

// What Device::allocate_pinned() promises, where device memory is host memory.
Result<std::unique_ptr<PinnedMemory>> allocate_pinned_host_memory(Bytes size);

// The mappings of this process that overlap the range, for a message: "0x…-0x… /lib/x.so, …". It names the first three and
// counts the others; empty when there are none.
std::string mappings_in(DevicePtr base, Bytes size);

// Allocates zeroed buffers of whole pages, at any address. Its destructor frees those that are left. Thread-safe.
class HostAllocator {
 public:
  HostAllocator() = default;
  ~HostAllocator();
  HostAllocator(const HostAllocator&) = delete;
  HostAllocator& operator=(const HostAllocator&) = delete;

  Result<DevicePtr> allocate(Bytes size);  // exhausted; invalid_argument for 0
  Status free(DevicePtr pointer);          // invalid_argument when it was not allocated here

 private:
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> sizes_;
};

}  // namespace mneme
