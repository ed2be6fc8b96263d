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
#include <vector>

#include "mneme/base/memory_range.h"
#include "mneme/base/status.h"
#include "mneme/device/code_image.h"
#include "mneme/device/element_comparison.h"
#include "mneme/device/host_mapping.h"
#include "mneme/device/shared_memory.h"

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
  Bytes l2_cache;                 // shared by the whole device; zero where a replay cannot choose what is in it
  uint32_t max_threads_per_multiprocessor = 0;  // zero: not known
  std::string hardware_id;  // of the one piece of hardware that processes share, fit for a file name; empty: not to be locked
};

// What elapsed times come from.
struct DeviceClock {
  std::string source;  // "cupti_activity", "cuda_event", "steady_clock"
  std::string remark;  // why it is not a better one; empty when it is the best
  // By how much the first launch of an object is longer than the others; nothing where nobody has measured it.
  std::optional<Nanoseconds> first_launch = {};
};

// The clocks of the hardware at one moment.
struct ClockReading {
  uint32_t sm_mhz = 0;
  std::vector<std::string> throttled;  // what holds them down: "power cap", "thermal slowdown"
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
  // How many blocks of this shape a multiprocessor runs at once; nothing where the device has no such limit.
  virtual Result<std::optional<uint32_t>> active_blocks(const LaunchShape& shape) const;

 protected:
  std::string name_;
  KernelResources resources_;
};

// A loaded code image. Destroying it unloads the image; nothing of it may be running then.
class Module {
 public:
  virtual ~Module() = default;
  virtual Result<Kernel*> kernel(const std::string& name) = 0;      // not_found
  virtual Result<MemoryRange> global(const std::string& name) = 0;  // not_found
};

// A range of device addresses at a fixed place, and the allocations in it. Physical memory is there only under allocations
// and is created on demand in granules. Thread-safe. See address_space.h.
class AddressSpace;

// The pages of two buffers that differ, found on the device.
struct Comparison {
  uint64_t differing_bytes = 0;
  std::optional<uint64_t> first_difference;  // offset in the range
};

// One piece of a copy by list.
struct ListedCopy {
  DevicePtr to, from;
  Bytes size;
};

// A set of the bytes of a range has a bit for each byte: bit i of its byte k stands for byte 8 * k + i of the range. A step
// changes the set, or `a`, by two ranges `a` and `b` of the range's size.
enum class ByteSetStep {
  select,      // the set becomes that of the bytes where `a` is not zero and `b` is zero
  drop_wrong,  // bytes where `a` and `b` differ leave the set
  complement,  // `a` becomes the complement of `b` where the set has the byte; the set stays
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
  // The copies of a list of ListedCopy that lies in device memory, by one call; no two of them write the same byte. As ordered as
  // `copy`. Fast where each is of some ten KiB.
  virtual Status copy_listed(DevicePtr list, uint64_t count) = 0;
  // One step on the set of `size` bytes, (size + 7) / 8 of its own, that lies at `set`; as ordered as `copy`.
  virtual Status update_byte_set(ByteSetStep step, DevicePtr set, DevicePtr a, DevicePtr b, Bytes size) = 0;
  // Reads a range through the device's caches, without effect on memory; as ordered as `copy`. unsupported on a device whose
  // l2_cache is zero.
  virtual Status read_through(DevicePtr from, Bytes size) = 0;
  // Compares [a, a+size) with [b, b+size) on the device, right for any size. Complete on return.
  virtual Result<Comparison> compare(DevicePtr a, DevicePtr b, Bytes size) = 0;
  // Starts such a comparison; ordered in the stream, may return before it is done.
  virtual Status compare_later(DevicePtr a, DevicePtr b, Bytes size) = 0;
  // Waits for the stream, and gives the result of each compare_later since the last call, in their order. On failure they are
  // lost.
  virtual Result<std::vector<Comparison>> take_comparisons() = 0;
  // Compares elements of [actual, actual+size) with those recorded, on the device, right for any number. invalid_argument for a
  // size that is no multiple of the element's, or an address that is none of its part's. Complete on return.
  Result<ElementDifferences> compare_elements(DevicePtr actual, DevicePtr recorded, Bytes size, const ElementComparison& how);
  // A 64-bit hash of each page of `page` bytes of [from, from+size) (the last may be short), made on the device, to find
  // pages that changed: comparable only with hashes of the same device kind and Mneme. Two pages that differ
  // have the same with a probability of some 2^-64, whatever the difference. Complete on return.
  virtual Status hash_pages(std::span<uint64_t> hashes, DevicePtr from, Bytes size, Bytes page) = 0;
  // The same into device memory, 8 bytes a page; ordered in the stream, may return before it is done.
  virtual Status hash_pages_to(DevicePtr hashes, DevicePtr from, Bytes size, Bytes page) = 0;

  // Launches a kernel. `parameters` is the packed parameter buffer: each argument at its offset by the device's ABI.
  // invalid_argument, with the device's limit in the message, for a shape it cannot run. A fault of the kernel is reported by
  // this call or by the next synchronize.
  Status launch(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters);
  // Launches as `launch` does and notes the launch for take_times().
  Status launch_timed(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters);
  // Waits for the stream, and gives the device time of each timed launch since the last call, in their order, by the clock that
  // Device::clock() names. On failure those times are lost. Asking costs some hundred microseconds on some devices: ask for many.
  virtual Result<std::vector<Nanoseconds>> take_times() = 0;

  virtual Status synchronize() = 0;

 protected:
  explicit Stream(const DeviceProperties& properties) : properties_(properties) {}
  virtual Status launch_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) = 0;
  virtual Status launch_timed_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) = 0;
  virtual Result<element::Tally> tally_elements_impl(DevicePtr actual, DevicePtr recorded, uint64_t elements, ElementType type,
                                                     const element::Measure& measure) = 0;

 private:
  Status check_shape(const Kernel& kernel, const LaunchShape& shape) const;
  const DeviceProperties& properties_;
};

// Times launches that others make through the vendor's runtime in this process. Thread-safe.
using LaunchTag = uint64_t;
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  // The launch that this thread makes between begin and end is timed; `launched` is whether it was made.
  virtual LaunchTag begin() = 0;
  virtual void end(LaunchTag tag, bool launched) = 0;
  // Fetches the times of launches that are done.
  virtual Status flush() = 0;
  // The time, once: when it has been fetched.
  virtual std::optional<Nanoseconds> take(LaunchTag tag) = 0;
};

class Device {
 public:
  // Opens device `ordinal` of a kind. unavailable, with the reason and advice, when there is none.
  static Result<std::unique_ptr<Device>> open(DeviceKind kind, int ordinal = 0);
  // The device that "auto" stands for: of the first backend in the order of the table (backend.h) that opens.
  static Result<std::unique_ptr<Device>> open_best();
  virtual ~Device() = default;

  const DeviceProperties& properties() const { return properties_; }

  virtual Result<std::unique_ptr<Module>> load(const CodeImage& image) = 0;  // incompatible for another device's image
  virtual Result<std::unique_ptr<Stream>> create_stream() = 0;
  // Reserves [base, base+size) exactly there; unavailable, with the owner where the system tells, when it is taken.
  virtual Result<std::unique_ptr<AddressSpace>> reserve(DevicePtr base, Bytes size) = 0;
  // Zeroed host memory that kernels, and the streams' copies, fills, comparisons and hashes, reach at exactly that address; both
  // multiples of kHostPage. unavailable, with the owner, when it is taken in this process.
  virtual Result<std::unique_ptr<HostMapping>> map_host(DevicePtr address, Bytes size) = 0;
  // Device memory anywhere, for the caller's own buffers (pristine copies, epilogues).
  virtual Result<DevicePtr> allocate(Bytes size) = 0;
  virtual Status free(DevicePtr pointer) = 0;
  // Such memory that other processes can have too.
  virtual Result<std::unique_ptr<SharedMemory>> allocate_shared(Bytes size) = 0;
  // Has what allocate_shared(size) made in another process, or this one. Kernels can read it; one that writes there faults.
  virtual Result<std::unique_ptr<SharedMemory>> import_shared(const Descriptor& descriptor, Bytes size) = 0;

  // The clock of timed launches, made ready by the first call or the first timed launch. unavailable when the environment asks
  // for one (MNEME_CLOCK) that cannot be had, with the reason.
  virtual Result<DeviceClock> clock() = 0;
  // Nothing where the hardware's clocks cannot be read.
  virtual std::optional<ClockReading> read_clocks() { return std::nullopt; }
  // Null where other's launches can be timed by the vendor's events only. Lives as long as the process.
  virtual LaunchObserver* launch_observer() { return nullptr; }

 protected:
  DeviceProperties properties_;
};

}  // namespace mneme
