// Host memory that devices of the kinds cpu and fake hand out as device memory.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/device/address_space.h"
#include "mneme/device/host_mapping.h"

namespace mneme {

inline constexpr Bytes kHostGranularity = 2_MiB;

// Reserves [base, base+size) exactly there without memory behind it; memory comes zeroed, on demand, under allocations.
// Unreserved when destroyed. invalid_argument unless both are multiples of the granularity, in which memory comes and goes;
// unavailable when another mapping holds a part of the range (the message names it) or the system refuses.
Result<std::unique_ptr<AddressSpace>> reserve_host_range(DevicePtr base, Bytes size, Bytes granularity = kHostGranularity);

// Zeroed memory exactly there, as Device::map_host.
Result<std::unique_ptr<HostMapping>> map_host_range(DevicePtr address, Bytes size);

// The mappings of this process that overlap the range, as one line: "0x…-0x… /lib/x.so, …"; empty when there are none.
std::string mappings_in(DevicePtr base, Bytes size);

// Zeroed buffers anywhere, in whole pages. Thread-safe. What is left when it is destroyed is given back.
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
