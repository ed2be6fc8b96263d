// AddressSpace: device memory at addresses that stay the same from recording to replay.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "mneme/base/descriptor.h"
#include "mneme/base/range_map.h"
#include "mneme/base/status.h"

namespace mneme {

// The range that the recorder reserves by default. Nothing else lies there in a process that uses CUDA, nor in one that runs
// under ASan, TSan or MSan.
inline constexpr DevicePtr kDefaultAddressSpaceBase{0x7a0000000000};
inline constexpr Bytes kDefaultAddressSpaceSize = Bytes(uint64_t{256} << 30);
// Each device of a process has a range of its own, of at most 1 TiB: that of device 1 is reserved 1 TiB below that of device 0,
// and so on.
inline constexpr Bytes kAddressSpaceStride = Bytes(uint64_t{1} << 40);
inline constexpr int kMostAddressSpaces = 16;
constexpr DevicePtr address_space_base(int ordinal, DevicePtr first = kDefaultAddressSpaceBase) {
  return DevicePtr(first.address - static_cast<uint64_t>(ordinal) * kAddressSpaceStride.count);
}
// From here on the emulation places device globals: above every range that the recorder may reserve, which has at most 1 TiB.
inline constexpr DevicePtr kEmulatedGlobalsBase{0x7b0000000000};

// From here on the recorder places address ranges that a program reserves itself (cuMemAddressReserve), up to kHostMemoryBase, in
// steps of this size. It is where the emulation has its globals: it has no such function.
inline constexpr DevicePtr kReservationsBase{0x7b0000000000};
inline constexpr Bytes kReservationStep = 32_MiB;

// From here on the recorder places the host memory that the program allocates for the device (cudaHostAlloc): above the
// globals.
inline constexpr DevicePtr kHostMemoryBase{0x7c0000000000};

// Physical memory that is mapped at `range`, and a descriptor by which another process maps it too. It is there as long as either
// process has it mapped or has a descriptor of it.
struct ExportedMapping {
  MemoryRange range;
  Descriptor descriptor;
};

// A reserved range of addresses, [base, base+size), and the allocations in it, which never overlap. Physical memory is mapped
// in granules: a granule has memory while at least one allocation touches it. Thread-safe.
class AddressSpace {
 public:
  static constexpr Bytes kAlignment{512};

  virtual ~AddressSpace() = default;
  DevicePtr base() const { return range_.address; }
  Bytes size() const { return range_.size; }

  // Allocates at the lowest address that has room, a multiple of `alignment`. Allocations do not touch: the address one behind
  // the last byte of one lies in no other, so that a pointer tells of which it is. exhausted: the range has no gap that large, or
  // the device no memory left; the message says which. invalid_argument: `size` is 0.
  Result<DevicePtr> allocate(Bytes size, Bytes alignment = kAlignment);
  // Allocates at `address`, which need not be aligned: a replay takes the addresses of the recording. invalid_argument: `size`
  // is 0, the allocation would reach out of the range, or it overlaps another one. exhausted: the device has no memory left.
  Status allocate_at(DevicePtr address, Bytes size);
  // Lets kernels of device `ordinal` reach the range too: what is allocated there, and what will be. Where devices reach all
  // memory there is nothing to do.
  Status share_with(int ordinal);
  // Takes that away again.
  Status keep_from(int ordinal);
  // From now on memory is made so that other processes can have it, as far as the device has such memory.
  void make_exportable();
  // The mappings in which the allocation at `address` lies, by address and without gaps, at most kMostExportedMappings: they may
  // hold parts of its neighbours, too. invalid_argument: no allocation starts there. unsupported: the memory was not made so that
  // other processes can have it.
  static constexpr size_t kMostExportedMappings = 5;  // two that are shared with neighbours, and a run that is mapped as three
  Result<std::vector<ExportedMapping>> export_allocation(DevicePtr address);
  // Whether the memory of the allocation that starts at `address` was made for that.
  bool can_export(DevicePtr address) const;
  // Frees the allocation that starts at `address`; the device must not be using it. invalid_argument: none starts there.
  Status free(DevicePtr address);

  bool contains(DevicePtr address) const { return range_.contains(address); }
  std::vector<MemoryRange> allocations() const;  // by address
  // The allocation that holds an address; nothing where none does.
  std::optional<MemoryRange> find(DevicePtr address) const;
  // The sum of the sizes of all allocations.
  Bytes allocated() const;

 protected:
  AddressSpace(DevicePtr base, Bytes size, Bytes granularity) : range_{base, size}, granularity_(granularity) {}
  // Map creates physical memory for a run of granules, unmap gives it up. Both are called under the lock. New memory reads as
  // zero where device memory is host memory, and as anything on a GPU.
  virtual Status map_impl(DevicePtr address, Bytes size) = 0;
  virtual Status unmap_impl(DevicePtr address, Bytes size) = 0;
  virtual Status share_impl([[maybe_unused]] int ordinal) { return {}; }
  virtual Status keep_from_impl([[maybe_unused]] int ordinal) { return {}; }
  virtual void make_exportable_impl() {}
  virtual bool can_export_impl([[maybe_unused]] MemoryRange allocation) const { return false; }
  virtual Result<std::vector<ExportedMapping>> export_impl(MemoryRange allocation);

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
