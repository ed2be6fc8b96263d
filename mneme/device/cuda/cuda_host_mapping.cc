#include "mneme/device/cuda/cuda_host_mapping.h"

#include "mneme/device/host_memory.h"

namespace mneme::cuda {
namespace {

void* pointer_to(DevicePtr address) { return reinterpret_cast<void*>(address.address); }

}  // namespace

Result<std::unique_ptr<HostMapping>> CudaHostMapping::map(const Context& context, DevicePtr address, Bytes size) {
  MNEME_ASSIGN(auto memory, map_host_range(address, size));
  ContextScope scope(context);
  MNEME_TRY(scope.status());
  const Driver& driver = context.driver();
  MNEME_TRY(context.check(
      driver.cuMemHostRegister(pointer_to(address), size.count, CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE),
      "cuMemHostRegister({} at {})", size, address));
  std::unique_ptr<CudaHostMapping> mapping(new CudaHostMapping(context, std::move(memory)));
  CUdeviceptr seen = 0;
  MNEME_TRY(
      context.check(driver.cuMemHostGetDevicePointer(&seen, pointer_to(address), 0), "cuMemHostGetDevicePointer({})", address));
  if (seen != address.address)
    return error(Code::unsupported, "mapping {} of host memory at {}: the device sees it at {:#x}", size, address, seen);
  return std::unique_ptr<HostMapping>(std::move(mapping));
}

CudaHostMapping::~CudaHostMapping() {
  ContextScope scope(context_);
  if (scope.status().ok()) context_.driver().cuMemHostUnregister(pointer_to(address()));
}

}  // namespace mneme::cuda
