// FakeDevice: a scriptable device in host memory, for tests of the rooms above.
//
// Kernels are host functions registered by name; any call can be made to fail. It checks what the other devices check, and a
// kernel that returns device_fault poisons it as a trap poisons a CUDA context. A CodeImage for it is any text: kernels see it,
// so a test can let two images behave differently.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/device/device.h"
#include "mneme/device/host_memory.h"

namespace mneme::fake {

struct FakeLaunch {
  const LaunchShape& shape;
  ByteSpan parameters;     // the packed buffer of the launch
  std::string_view image;  // the text of the image that the kernel was loaded from
};
using KernelBody = std::function<Status(const FakeLaunch& launch)>;

struct FakeKernel {
  KernelBody body;
  KernelResources resources;
  Nanoseconds time{1000};                   // of a timed launch
  std::optional<uint32_t> active_blocks{};  // on a multiprocessor
};

// Called before each call of the device with its name: "load", "create_stream", "reserve", "allocate", "free", "kernel",
// "global", "copy_to_device", "copy_to_host", "copy", "fill", "read_through", "compare", "hash_pages", "launch", "launch_timed",
// "take_times", "synchronize", "clock", "copy_listed", "compare_later", "take_comparisons", "hash_pages_to", "allocate_shared",
// "import_shared".
// What it returns, unless ok, is the call's result and the call does nothing else.
using FailureScript = std::function<Status(std::string_view call)>;

// Thread-safe where Device promises it; kernels run in the launching thread.
class FakeDevice final : public Device {
 public:
  explicit FakeDevice(DeviceProperties properties = default_properties());
  ~FakeDevice() override;
  static DeviceProperties default_properties();

  // Before load(): modules resolve these by name at Module::kernel and Module::global.
  void define_kernel(const std::string& name, FakeKernel kernel);
  void define_kernel(const std::string& name, KernelBody body) {
    define_kernel(name, FakeKernel{std::move(body), {}, Nanoseconds(1000), {}});
  }
  Result<MemoryRange> define_global(const std::string& name, Bytes size);  // zeroed memory of the device's own

  void set_failures(FailureScript script);
  // What read_clocks() gives, one after the other, and then the last again.
  void set_clock_readings(std::vector<ClockReading> readings);
  // The calls made so far, in order, also those that failed.
  std::vector<std::string> calls() const;

  Result<std::unique_ptr<Module>> load(const CodeImage& image) override;
  Result<std::unique_ptr<Stream>> create_stream() override;
  Result<std::unique_ptr<AddressSpace>> reserve(DevicePtr base, Bytes size) override;
  Result<std::unique_ptr<HostMapping>> map_host(DevicePtr address, Bytes size) override;
  Result<DevicePtr> allocate(Bytes size) override;
  Status free(DevicePtr pointer) override;
  Result<std::unique_ptr<SharedMemory>> allocate_shared(Bytes size) override;
  Result<std::unique_ptr<SharedMemory>> import_shared(const Descriptor& descriptor, Bytes size) override;
  Result<DeviceClock> clock() override;
  std::optional<ClockReading> read_clocks() override;

 private:
  friend class FakeModule;
  friend class FakeStream;
  Status begin(std::string_view call);
  void poison(const Status& fault);

  mutable std::mutex mutex_;
  HostAllocator memory_;
  std::map<std::string, FakeKernel> kernels_;
  std::map<std::string, MemoryRange> globals_;
  FailureScript failures_;
  std::vector<ClockReading> clock_readings_;
  std::vector<std::string> calls_;
  Status fault_;
};

// A device with nothing defined; there is only ordinal 0.
Result<std::unique_ptr<Device>> open_device(int ordinal);

}  // namespace mneme::fake
