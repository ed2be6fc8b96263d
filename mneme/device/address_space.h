// AddressSpace: device memory at addresses that stay the same from recording to replay.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "mneme/base/range_map.h"
#include "mneme/base/status.h"

namespace mneme {

// Where the recorder reserves its range. Free in a process under CUDA, and on the host also under ASan, TSan and MSan.
inline constexpr DevicePtr kDefaultAddressSpaceBase{0x7a0000000000};
inline constexpr Bytes kDefaultAddressSpaceSize = Bytes(uint64_t{256} << 30);
// Where the emulation places device globals: above every range that the recorder may reserve (at most 1 TiB).
inline constexpr DevicePtr kEmulatedGlobalsBase{0x7b0000000000};

// Where the recorder puts the host memory that the program allocates for the device (cudaHostAlloc): above those.
inline constexpr DevicePtr kHostMemoryBase{0x7c0000000000};

// First fit by address over [base, base+size); allocations are aligned to kAlignment and never overlap. Physical memory is
// mapped a granule at a time while at least one allocation touches the granule. Thread-safe.
class AddressSpace {
 public:
  static constexpr Bytes kAlignment{512};

  virtual ~AddressSpace() = default;
  DevicePtr base() const { return range_.address; }
  Bytes size() const { return range_.size; }

  // exhausted: the range or the device's memory is used up; the message says which and how large both are.
  Result<DevicePtr> allocate(Bytes size);
  // The same at a given address (replay). invalid_argument when outside of the range or overlapping.
  Status allocate_at(DevicePtr address, Bytes size);
  // invalid_argument when no allocation starts at `address`. The device must not be using it.
  Status free(DevicePtr address);

  bool contains(DevicePtr address) const { return range_.contains(address); }
  std::vector<MemoryRange> allocations() const;  // by address
  // The allocation that holds an address.
  std::optional<MemoryRange> find(DevicePtr address) const;
  Bytes allocated() const;

 protected:
  AddressSpace(DevicePtr base, Bytes size, Bytes granularity) : range_{base, size}, granularity_(granularity) {}
  // Creates or gives up physical memory for whole granules. Called under the lock. New memory reads as zero on the CPU device
  // and as anything on the others.
  virtual Status map_impl(DevicePtr address, Bytes size) = 0;
  virtual Status unmap_impl(DevicePtr address, Bytes size) = 0;

 private:
  Status insert(MemoryRange allocation);
  Status map_granules(MemoryRange allocation);
  Status unmap_granules(MemoryRange allocation);

  mutable std::mutex mutex_;
  MemoryRange range_;
  Bytes granularity_;
  RangeMap<> allocations_;
  std::map<uint64_t, uint32_t> granule_users_;  // granule address → allocations that touch it
};

}  // namespace mneme
