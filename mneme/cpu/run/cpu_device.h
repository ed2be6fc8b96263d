// CpuDevice: runs images that cpu/lower makes from device IR (image.h), on all cores.
//
// Its memory is the process's own. A launch is done when it returns; launches of several streams take turns. A fault of a
// kernel (a wild access, a failed assertion, a trap, a deadlock) ends its launch with device_fault. After it the device refuses
// further work, as a poisoned CUDA context does, and last_fault() says what it was.
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
  // `workers` is how many threads run kernels, the launching thread included.
  explicit CpuDevice(unsigned workers);

  Result<std::unique_ptr<Module>> load(const CodeImage& image) override;
  Result<std::unique_ptr<Stream>> create_stream() override;
  Result<std::unique_ptr<AddressSpace>> reserve(DevicePtr base, Bytes size) override;
  Result<std::unique_ptr<HostMapping>> map_host(DevicePtr address, Bytes size) override;
  Result<DevicePtr> allocate(Bytes size) override;
  Status free(DevicePtr pointer) override;
  Result<std::unique_ptr<SharedMemory>> allocate_shared(Bytes size) override;
  Result<std::unique_ptr<SharedMemory>> import_shared(const Descriptor& descriptor, Bytes size) override;
  Result<std::unique_ptr<DeviceTextures>> create_textures(const TextureSet& textures) override;
  Result<DeviceClock> clock() override { return DeviceClock{"steady_clock", ""}; }

  Executor& executor() { return executor_; }

 private:
  Executor executor_;
  HostAllocator memory_;
};

// unavailable: the processor is older than x86-64-v3, or the ordinal is not 0.
Result<std::unique_ptr<Device>> open_device(int ordinal);

// The fault that has poisoned a device; nothing for a sound one, or one of another kind.
std::optional<Fault> last_fault(Device& device);

// Sets how much kernels on a device may allocate in all, by malloc: `size`, or Heap::kUsual if that is more. Does nothing for a
// device of another kind.
void raise_heap(Device& device, Bytes size);

// Where a device's kernels find textures and surfaces. The device must be a CpuDevice.
TextureTable& textures(Device& device);

// Does the work of mneme::order_blocks(); false for a device that is no CpuDevice.
bool order_blocks(Device& device, std::optional<uint64_t> seed);

// How the parameters of a kernel of a CpuDevice lie in the packed parameters, which have packed_bytes().
std::span<const mneme_cpu_parameter> parameters_of(const Kernel& kernel);
Bytes packed_bytes(const Kernel& kernel);

// The globals of a module that a CpuDevice has loaded, with their initialisers. Whoever owns the memory that globals are bound
// to initialises it by these. They live as long as the module.
std::span<const mneme_cpu_global> globals_of(const Module& module);

}  // namespace mneme::cpu
