#include "mneme/device/gpu/gpu_device.h"

#include <algorithm>

#include "mneme/device/gpu/gpu_address_space.h"
#include "mneme/device/gpu/gpu_host_mapping.h"
#include "mneme/device/gpu/gpu_pinned_memory.h"
#include "mneme/device/gpu/gpu_shared_memory.h"
#include "mneme/device/gpu/gpu_stream.h"

namespace mneme::gpu {

GpuDevice::GpuDevice(std::unique_ptr<Context> context, const DeviceProperties& properties, LoadKernels load,
                     std::unique_ptr<LazyLaunchClock> clock)
    : context_(std::move(context)), kernels_(*context_, properties.multiprocessors, std::move(load)), clock_(std::move(clock)) {
  properties_ = properties;
}

Result<std::unique_ptr<Module>> GpuDevice::load(const CodeImage& image) {
  if (image.device != properties_.kind) {
    return error(Code::incompatible, "loading a code image made for {} on {}, a {} device", to_string(image.device),
                 properties_.name, to_string(properties_.kind));
  }
  MNEME_ASSIGN(std::unique_ptr<Module> module, load_module(image));
  return module;
}

Result<std::unique_ptr<Stream>> GpuDevice::create_stream() {
  MNEME_ASSIGN(std::unique_ptr<Stream> stream, GpuStream::create(*context_, properties_, kernels_, *clock_));
  return stream;
}

Result<std::unique_ptr<AddressSpace>> GpuDevice::reserve(DevicePtr base, Bytes size) {
  return GpuAddressSpace::reserve(*context_, base, size, properties_.allocation_granularity);
}

Result<DevicePtr> GpuDevice::allocate(Bytes size) {
  ContextScope scope(*context_);
  MNEME_TRY(scope.status());
  uint64_t pointer = 0;
  // The driver refuses zero bytes, for which callers want an address all the same.
  MNEME_TRY(context_->check_call(context_->api().allocate(&pointer, std::max<uint64_t>(size.count, 1)),
                                 context_->words().allocate, "({}), of {} on {}", size, properties_.total_memory,
                                 properties_.name));
  return DevicePtr(pointer);
}

Status GpuDevice::free(DevicePtr pointer) {
  ContextScope scope(*context_);
  MNEME_TRY(scope.status());
  return context_->check_call(context_->api().free(pointer.address), context_->words().free, "({})", pointer);
}

Result<std::unique_ptr<SharedMemory>> GpuDevice::allocate_shared(Bytes size) {
  return GpuSharedMemory::allocate(*context_, size, properties_.allocation_granularity);
}

Result<std::unique_ptr<SharedMemory>> GpuDevice::import_shared(const Descriptor& descriptor, Bytes size) {
  return GpuSharedMemory::import(*context_, descriptor, size, properties_.allocation_granularity);
}

Result<std::unique_ptr<HostMapping>> GpuDevice::map_host(DevicePtr address, Bytes size) {
  return GpuHostMapping::map(*context_, address, size);
}

Result<std::unique_ptr<PinnedMemory>> GpuDevice::allocate_pinned_impl(Bytes size) {
  return GpuPinnedMemory::allocate(*context_, size);
}

Result<DeviceClock> GpuDevice::clock() {
  ContextScope scope(*context_);
  MNEME_TRY(scope.status());
  MNEME_ASSIGN(LaunchClock clock, clock_->get());
  return clock.name;
}

LaunchObserver* GpuDevice::launch_observer() {
  auto clock = clock_->get();
  return clock.ok() ? clock->activity : nullptr;
}

}  // namespace mneme::gpu
