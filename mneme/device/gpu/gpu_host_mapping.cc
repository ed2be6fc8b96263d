#include "mneme/device/gpu/gpu_host_mapping.h"

#include "mneme/device/host_memory.h"

namespace mneme::gpu {
namespace {

void* pointer_to(DevicePtr address) { return reinterpret_cast<void*>(address.address); }

}  // namespace

Result<std::unique_ptr<HostMapping>> GpuHostMapping::map(const Context& context, DevicePtr address, Bytes size) {
  MNEME_ASSIGN(auto memory, map_host_range(address, size));
  ContextScope scope(context);
  MNEME_TRY(scope.status());
  const Api& api = context.api();
  MNEME_TRY(context.check_call(api.register_host(pointer_to(address), size.count), context.words().register_host, "({} at {})",
                               size, address));
  std::unique_ptr<GpuHostMapping> mapping(new GpuHostMapping(context, std::move(memory)));
  uint64_t seen = 0;
  MNEME_TRY(context.check_call(api.host_address(&seen, pointer_to(address)), context.words().host_address, "({})", address));
  if (seen != address.address)
    return error(Code::unsupported, "mapping {} of host memory at {}: the device sees it at {:#x}", size, address, seen);
  return std::unique_ptr<HostMapping>(std::move(mapping));
}

GpuHostMapping::~GpuHostMapping() {
  ContextScope scope(context_);
  if (scope.status().ok()) context_.api().unregister_host(pointer_to(address()));
}

}  // namespace mneme::gpu
