// Pinned host memory at a given address, which kernels reach at the same address.
#pragma once

#include <memory>

#include "mneme/device/gpu/context.h"
#include "mneme/device/host_mapping.h"

namespace mneme::gpu {

class GpuHostMapping final : public HostMapping {
 public:
  // What Device::map_host() promises.
  static Result<std::unique_ptr<HostMapping>> map(const Context& context, DevicePtr address, Bytes size);
  ~GpuHostMapping() override;

 private:
  GpuHostMapping(const Context& context, std::unique_ptr<HostMapping> memory)
      : HostMapping(memory->address(), memory->size()), context_(context), memory_(std::move(memory)) {}

  const Context& context_;
  std::unique_ptr<HostMapping> memory_;
};

}  // namespace mneme::gpu
