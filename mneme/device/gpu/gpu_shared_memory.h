// Device memory of a GPU that other processes import by a file descriptor.
#pragma once

#include <memory>

#include "mneme/device/gpu/context.h"
#include "mneme/device/shared_memory.h"

namespace mneme::gpu {

class GpuSharedMemory final : public SharedMemory {
 public:
  // What Device::allocate_shared() promises. Takes whole granules: `granularity` is the device's allocation_granularity.
  // unsupported: the device has no virtual memory management.
  static Result<std::unique_ptr<SharedMemory>> allocate(const Context& context, Bytes size, Bytes granularity);
  // What Device::import_shared() promises: kernels can read the memory and not write it.
  static Result<std::unique_ptr<SharedMemory>> import(const Context& context, const Descriptor& descriptor, Bytes size,
                                                      Bytes granularity);
  ~GpuSharedMemory() override;
  Result<Descriptor> share() const override;

 private:
  GpuSharedMemory(const Context& context, MemoryHandle handle, DevicePtr address, Bytes size, Bytes mapped)
      : SharedMemory(address, size), context_(context), handle_(handle), mapped_(mapped) {}
  // Owns the handle from here on: a failure releases it.
  static Result<std::unique_ptr<GpuSharedMemory>> map(const Context& context, MemoryHandle handle, Bytes size, Bytes mapped,
                                                      MemoryAccess access);

  const Context& context_;
  MemoryHandle handle_;
  Bytes mapped_;
  Descriptor imported_;  // by which it was imported: share() duplicates it, since the driver exports only what was allocated here
};

}  // namespace mneme::gpu
