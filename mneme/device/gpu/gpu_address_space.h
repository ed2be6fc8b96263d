// An AddressSpace of a driver's virtual memory: one reservation, into which physical memory is mapped on demand.
#pragma once

#include <map>
#include <set>

#include "mneme/device/address_space.h"
#include "mneme/device/gpu/context.h"

namespace mneme::gpu {

class GpuAddressSpace final : public AddressSpace {
 public:
  // Reserves [base, base+size). `granularity` is the device's allocation_granularity. Where the driver places a small range
  // elsewhere a larger one is reserved, of which only `size` is used. invalid_argument: base or size is no multiple of
  // `granularity`, or the size is 0. unsupported: the device has no virtual memory management. unavailable: the driver refuses
  // or gives another address; the message names what lies in the range where the system tells.
  static Result<std::unique_ptr<AddressSpace>> reserve(const Context& context, DevicePtr base, Bytes size, Bytes granularity);
  ~GpuAddressSpace() override;

 private:
  GpuAddressSpace(const Context& context, DevicePtr base, Bytes size, Bytes granularity, Bytes reserved)
      : AddressSpace(base, size, granularity), context_(context), granule_(granularity), reserved_(reserved) {}

  Status map_impl(DevicePtr address, Bytes size) override;
  Status unmap_impl(DevicePtr address, Bytes size) override;
  Status share_impl(int ordinal) override;
  Status keep_from_impl(int ordinal) override;
  void make_exportable_impl() override { sharing_ = Sharing::descriptor; }
  bool can_export_impl(MemoryRange allocation) const override;
  Result<std::vector<ExportedMapping>> export_impl(MemoryRange allocation) override;
  Status set_access(uint64_t address, uint64_t size, int ordinal, MemoryAccess access = MemoryAccess::read_write);
  Status map_piece(uint64_t address, uint64_t size);
  Status unmap_piece(uint64_t address);

  const Context& context_;
  Bytes granule_;
  Bytes reserved_;  // what the driver reserved, at least size()
  // What new memory is made for: as it was asked for, until the driver refuses that.
  Sharing sharing_ = Sharing::none;
  // Of each mapping by its address. The driver unmaps whole mappings only.
  struct Piece {
    uint64_t size = 0;
    std::optional<MemoryHandle> handle;  // kept to export the memory, if that can be
  };
  std::map<uint64_t, Piece> pieces_;
  std::set<int> readers_;  // other devices that reach the range
};

// The first mapping of this process that overlaps [base, base+size), for messages: "0x7a…-0x7b… /dev/nvidiactl"; empty where
// there is none. (mappings_in() of host_memory.h names several.)
std::string mapping_in(DevicePtr base, Bytes size);

}  // namespace mneme::gpu
