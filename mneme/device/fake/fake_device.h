// FakeDevice: a scriptable device in host memory, for tests of the rooms above.
//
// Its kernels are host functions that a test registers by name, and a test can make any call fail. The device checks what other
// devices check. A kernel that returns device_fault poisons it, as a trap poisons a CUDA context. A CodeImage for it is any
// text, which kernels are given, so that a test can let two images behave differently.
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

// Called before each call of the device, with the call's name. If it does not return ok, the call does nothing and returns
// that. The names are those of the methods: of the device "load", "create_stream", "reserve", "map_host", "allocate", "free",
// "allocate_pinned", "allocate_shared", "import_shared" and "clock"; of a module "kernel" and "global"; of a stream
// "copy_to_device", "copy_to_host", "copy", "fill", "gather", "hash_ranges", "copy_listed", "update_byte_set", "read_through",
// "compare", "compare_later", "take_comparisons", "compare_elements", "hash_pages", "hash_pages_to", "find_pointers", "launch",
// "launch_timed", "take_times" and "synchronize".
using FailureScript = std::function<Status(std::string_view call)>;

// Kernels run in the thread that launches them. The methods of Device itself may be called by several threads.
class FakeDevice : public Device {
 public:
  explicit FakeDevice(DeviceProperties properties = default_properties());
  ~FakeDevice() override;
  static DeviceProperties default_properties();

  // Modules find these by name in Module::kernel() and Module::global(). A module keeps the definition of a kernel that it has
  // found.
  void define_kernel(const std::string& name, FakeKernel kernel);
  void define_kernel(const std::string& name, KernelBody body) {
    define_kernel(name, FakeKernel{std::move(body), {}, Nanoseconds(1000), {}});
  }
  Result<MemoryRange> define_global(const std::string& name, Bytes size);  // zeroed memory of the device's own

  // Replaces the script; an empty one lets every call through.
  void set_failures(FailureScript script);
  // What read_clocks() gives, one after the other; the last is given again and again. Nothing where there are none.
  void set_clock_readings(std::vector<ClockReading> readings);
  // The names of the calls so far, as the FailureScript gets them, in order; those that failed are among them.
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

 protected:
  Result<std::unique_ptr<PinnedMemory>> allocate_pinned_impl(Bytes size) override;

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
