// An AddressSpace of the CUDA driver's virtual memory: one reservation, physical memory mapped into it on demand.
#pragma once

#include <map>

#include "mneme/device/address_space.h"
#include "mneme/device/cuda/context.h"

namespace mneme::cuda {

class CudaAddressSpace final : public AddressSpace {
 public:
  // invalid_argument: base or size is not a multiple of `granularity`. unsupported: the device has no virtual memory
  // management. unavailable: the driver gave another address; names what stands in the range where the system tells.
  static Result<std::unique_ptr<AddressSpace>> reserve(const Context& context, DevicePtr base, Bytes size, Bytes granularity);
  ~CudaAddressSpace() override;

 private:
  CudaAddressSpace(const Context& context, DevicePtr base, Bytes size, Bytes granularity, Bytes reserved)
      : AddressSpace(base, size, granularity), context_(context), granule_(granularity), reserved_(reserved) {}

  Status map_impl(DevicePtr address, Bytes size) override;
  Status unmap_impl(DevicePtr address, Bytes size) override;
  Status map_piece(uint64_t address, uint64_t size);
  Status unmap_piece(uint64_t address);

  const Context& context_;
  Bytes granule_;
  Bytes reserved_;  // what the driver reserved, at least size()
  // Address → size of each mapping. The driver unmaps whole mappings only.
  std::map<uint64_t, uint64_t> pieces_;
};

// Who holds memory in [base, base+size) of this process, for messages: "0x7a…-0x7b… /dev/nvidiactl", or empty.
std::string mapping_in(DevicePtr base, Bytes size);

}  // namespace mneme::cuda
