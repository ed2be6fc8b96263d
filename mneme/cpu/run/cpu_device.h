// The CPU device: runs images that cpu/lower makes from device IR (see image.h) on all cores.
//
// Its memory is the process's own. Launches are done when they return; kernels of several streams take turns. A kernel's memory
// fault, failed assertion, trap or deadlock ends its launch with device_fault; after one the device refuses further work, as a
// poisoned CUDA context does, and last_fault() says what it was.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "mneme/base/status.h"
#include "mneme/cpu/run/executor.h"
#include "mneme/cpu/run/fault.h"
#include "mneme/cpu/run/image.h"
#include "mneme/device/device.h"
#include "mneme/device/host_memory.h"

namespace mneme::cpu {

class CpuDevice final : public Device {
 public:
  // `workers` counts the launching thread.
  explicit CpuDevice(unsigned workers);

  Result<std::unique_ptr<Module>> load(const CodeImage& image) override;
  Result<std::unique_ptr<Stream>> create_stream() override;
  Result<std::unique_ptr<AddressSpace>> reserve(DevicePtr base, Bytes size) override;
  Result<std::unique_ptr<HostMapping>> map_host(DevicePtr address, Bytes size) override;
  Result<DevicePtr> allocate(Bytes size) override;
  Status free(DevicePtr pointer) override;
  Result<std::unique_ptr<SharedMemory>> allocate_shared(Bytes size) override;
  Result<std::unique_ptr<SharedMemory>> import_shared(const Descriptor& descriptor, Bytes size) override;
  Result<DeviceClock> clock() override { return DeviceClock{"steady_clock", ""}; }

  Executor& executor() { return executor_; }

 private:
  Executor executor_;
  HostAllocator memory_;
};

// unavailable on a processor older than x86-64-v3, and for any ordinal but 0.
Result<std::unique_ptr<Device>> open_device(int ordinal);

// The fault that poisoned a device of kind cpu; nothing for a sound one.
std::optional<Fault> last_fault(Device& device);

// Lets kernels on a device of kind cpu allocate `size` in all, where that is more than they may as it is.
void raise_heap(Device& device, Bytes size);

// What mneme::order_blocks() does; false for a device that is no CpuDevice.
bool order_blocks(Device& device, std::optional<uint64_t> seed);

// The globals of a module that a device of kind cpu has loaded, with their initialisers: for who owns the memory that they are
// bound to. Lives as long as the module.
std::span<const mneme_cpu_global> globals_of(const Module& module);

}  // namespace mneme::cpu
