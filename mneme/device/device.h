// Device, Stream, Module, AddressSpace: the one interface over every kind of device.
//
// A Device is opened once and outlives everything made from it. Objects are owned by their unique_ptr. Unless a method says
// otherwise an object is used by one thread at a time; different objects of one device may be used by different threads.
// The public methods check what is common to all devices and then call the backend's *_impl.
//
// Failures: unavailable (no driver, no device, range taken), exhausted (out of device memory), invalid_argument (a launch
// shape the device cannot run), device_fault (a kernel trapped; the device object is then of no further use), unsupported.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "mneme/base/status.h"
#include "mneme/base/types.h"
#include "mneme/device/code_image.h"

namespace mneme {

using Nanoseconds = std::chrono::duration<double, std::nano>;

struct DeviceProperties {
  DeviceKind kind = DeviceKind::fake;
  std::string name;          // "NVIDIA H200", or the processor's name
  std::string architecture;  // "sm_90", "x86-64-v3"
  uint32_t warp_size = 32;
  uint32_t multiprocessors = 1;
  uint32_t max_threads_per_block = 1024;
  Dim3 max_block{1024, 1024, 64};
  Dim3 max_grid{2147483647, 65535, 65535};
  Bytes max_shared_memory_per_block;  // with opt-in, where the device has one
  Bytes total_memory;
  Bytes allocation_granularity;   // of physical memory in an AddressSpace
  Bytes reservation_granularity;  // what base and size of a small AddressSpace must be multiples of to lie where it is asked for
  std::string clock_source;       // what elapsed times come from: "cuda_event", "steady_clock"
};

struct LaunchShape {
  Dim3 grid;
  Dim3 block;
  Bytes dynamic_shared_memory{};
  bool cooperative = false;
  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

// One kernel of a loaded module. Lives as long as its module.
class Kernel {
 public:
  virtual ~Kernel() = default;
  const std::string& name() const { return name_; }
  const KernelResources& resources() const { return resources_; }

 protected:
  std::string name_;
  KernelResources resources_;
};

struct GlobalAddress {
  DevicePtr address;
  Bytes size;
};

// A loaded code image. Destroying it unloads the image; nothing of it may be running then.
class Module {
 public:
  virtual ~Module() = default;
  virtual Result<Kernel*> kernel(const std::string& name) = 0;        // not_found
  virtual Result<GlobalAddress> global(const std::string& name) = 0;  // not_found
};

// A range of device addresses at a fixed place, and the allocations in it. Physical memory is there only under allocations
// and is created on demand in granules. Thread-safe. See address_space.h.
class AddressSpace;

// The pages of two buffers that differ, found on the device.
struct Comparison {
  uint64_t differing_bytes = 0;
  std::optional<uint64_t> first_difference;  // offset in the range
};

// An ordered queue of work. Destroying it waits for the work.
class Stream {
 public:
  virtual ~Stream() = default;

  // Copies between host and device memory; ordered in the stream, complete on return.
  virtual Status copy_to_device(DevicePtr to, ByteSpan from) = 0;
  virtual Status copy_to_host(MutableByteSpan to, DevicePtr from) = 0;
  // Ordered in the stream; may return before it is done.
  virtual Status copy(DevicePtr to, DevicePtr from, Bytes size) = 0;
  virtual Status fill(DevicePtr to, std::byte value, Bytes size) = 0;
  // Compares [a, a+size) with [b, b+size) on the device, right for any size. Complete on return.
  virtual Result<Comparison> compare(DevicePtr a, DevicePtr b, Bytes size) = 0;
  // A 64-bit hash of each page of `page` bytes of [from, from+size) (the last may be short), made on the device, to find
  // pages that changed: comparable only with hashes of the same device kind and process. Complete on return.
  virtual Status hash_pages(std::span<uint64_t> hashes, DevicePtr from, Bytes size, Bytes page) = 0;

  // Launches a kernel. `parameters` is the packed parameter buffer: each argument at its offset by the device's ABI.
  // invalid_argument, with the device's limit in the message, for a shape it cannot run. A fault of the kernel is reported by
  // this call or by the next synchronize.
  Status launch(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters);
  // Launches and measures: `elapsed` is the kernel's device time by the clock that DeviceProperties names. Complete on return.
  Result<Nanoseconds> launch_timed(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters);

  virtual Status synchronize() = 0;

 protected:
  explicit Stream(const DeviceProperties& properties) : properties_(properties) {}
  virtual Status launch_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) = 0;
  virtual Result<Nanoseconds> launch_timed_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) = 0;

 private:
  Status check_shape(const Kernel& kernel, const LaunchShape& shape) const;
  const DeviceProperties& properties_;
};

class Device {
 public:
  // Opens device `ordinal` of a kind. unavailable, with the reason and advice, when there is none.
  static Result<std::unique_ptr<Device>> open(DeviceKind kind, int ordinal = 0);
  // The first of cuda, hip, cpu that opens.
  static Result<std::unique_ptr<Device>> open_best();
  virtual ~Device() = default;

  const DeviceProperties& properties() const { return properties_; }

  virtual Result<std::unique_ptr<Module>> load(const CodeImage& image) = 0;  // incompatible for another device's image
  virtual Result<std::unique_ptr<Stream>> create_stream() = 0;
  // Reserves [base, base+size) exactly there; unavailable, with the owner where the system tells, when it is taken.
  virtual Result<std::unique_ptr<AddressSpace>> reserve(DevicePtr base, Bytes size) = 0;
  // Device memory anywhere, for the caller's own buffers (pristine copies, epilogues).
  virtual Result<DevicePtr> allocate(Bytes size) = 0;
  virtual Status free(DevicePtr pointer) = 0;

 protected:
  DeviceProperties properties_;
};

}  // namespace mneme
