// GpuDevice: what the devices of all GPU vendors have in common. A vendor's device derives from it.
#pragma once

#include <memory>

#include "mneme/device/gpu/context.h"
#include "mneme/device/gpu/gpu_module.h"
#include "mneme/device/gpu/launch_clock.h"
#include "mneme/device/gpu/memory_kernels.h"

namespace mneme::gpu {

class GpuDevice : public Device {
 public:
  Result<std::unique_ptr<Module>> load(const CodeImage& image) final;
  Result<std::unique_ptr<Stream>> create_stream() final;
  Result<std::unique_ptr<AddressSpace>> reserve(DevicePtr base, Bytes size) final;
  Result<DevicePtr> allocate(Bytes size) final;
  Status free(DevicePtr pointer) final;
  Result<std::unique_ptr<SharedMemory>> allocate_shared(Bytes size) final;
  Result<std::unique_ptr<SharedMemory>> import_shared(const Descriptor& descriptor, Bytes size) final;
  Result<std::unique_ptr<HostMapping>> map_host(DevicePtr address, Bytes size) final;
  Result<std::unique_ptr<PinnedMemory>> allocate_pinned_impl(Bytes size) final;
  Result<DeviceClock> clock() final;
  LaunchObserver* launch_observer() final;

 protected:
  GpuDevice(std::unique_ptr<Context> context, const DeviceProperties& properties, LoadKernels load,
            std::unique_ptr<LazyLaunchClock> clock);
  // The image is of this kind of device.
  virtual Result<std::unique_ptr<GpuModule>> load_module(const CodeImage& image) = 0;
  const Context& context() const { return *context_; }

 private:
  std::unique_ptr<Context> context_;
  LazyMemoryKernels kernels_;  // destroyed before the context
  std::unique_ptr<LazyLaunchClock> clock_;
};

}  // namespace mneme::gpu
