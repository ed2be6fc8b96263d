// Device, Stream, Module, AddressSpace: the one interface over every kind of device.
//
// A Device is opened once and outlives everything made from it. Whoever gets a unique_ptr owns the object; a Kernel belongs to
// its Module. Unless a class or method says otherwise an object is used by one thread at a time; different objects of one
// device may be used by different threads. Methods that are not virtual check what is common to all devices, and then call the
// backend's *_impl.
//
// Failures: unavailable (no driver, no device, range taken), exhausted (out of device memory), invalid_argument (a launch shape
// the device cannot run), device_fault (a kernel trapped; the device object is then of no further use), unsupported.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mneme/base/cluster.h"
#include "mneme/base/memory_range.h"
#include "mneme/base/status.h"
#include "mneme/device/code_image.h"
#include "mneme/device/device_textures.h"
#include "mneme/device/element_comparison.h"
#include "mneme/device/host_mapping.h"
#include "mneme/device/pinned_memory.h"
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
  Bytes allocation_granularity;   // of physical memory in an AddressSpace, and of its base and size
  Bytes reservation_granularity;  // what base and size of a small AddressSpace must be multiples of to lie where it is asked for
  bool clusters = false;          // whether launches may have a cluster shape
  Bytes l2_cache;                 // the cache of the whole device; zero where a replay cannot choose what it holds
  uint32_t max_threads_per_multiprocessor = 0;  // zero: not known
  std::string hardware_id;  // names the hardware that processes share, fit for a file name; empty: it is not to be locked
};

// The clock that times of launches come from.
struct DeviceClock {
  std::string source;  // "cupti_activity", "cuda_event", "rocprofiler_dispatch", "hip_event", "steady_clock"
  std::string remark;  // why no better clock is used; empty when this is the best
  // How much longer the first launch of a loaded object takes than later ones; nothing where that was not measured.
  std::optional<Nanoseconds> first_launch = {};
};

// The clocks of the hardware at one moment.
struct ClockReading {
  uint32_t sm_mhz = 0;
  std::vector<std::string> throttled;  // what keeps them low: "power cap", "thermal slowdown"
};

struct LaunchShape {
  Dim3 grid;
  Dim3 block;
  Bytes dynamic_shared_memory{};
  bool cooperative = false;
  Dim3 cluster = kNoCluster;  // in blocks
  friend bool operator==(const LaunchShape&, const LaunchShape&) = default;
};

// Where an argument lies in packed parameters.
struct PackedPlace {
  uint64_t offset = 0;
  uint64_t size = 0;
  friend bool operator==(const PackedPlace&, const PackedPlace&) = default;
};

// One kernel of a loaded module. Lives as long as its module.
class Kernel {
 public:
  virtual ~Kernel() = default;
  const std::string& name() const { return name_; }
  const KernelResources& resources() const { return resources_; }
  // How many blocks of this shape a multiprocessor runs at once (occupancy); nothing where the device has no such limit.
  virtual Result<std::optional<uint32_t>> active_blocks(const LaunchShape& shape) const;
  // Says where each argument lies in the packed parameters of all launches from now on. Where the loaded code has them elsewhere,
  // which depends on the architecture that it was made for, they are moved at each launch. Before this is said, and where the
  // code does not take arguments of these sizes, parameters are given as they are.
  virtual Status expect_arguments(std::span<const PackedPlace> places);

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

// How two ranges of memory differ.
struct Comparison {
  uint64_t differing_bytes = 0;
  std::optional<uint64_t> first_difference;  // offset in bytes; nothing where they are equal
};

// One copy of a list for Stream::copy_listed().
struct ListedCopy {
  DevicePtr to, from;
  Bytes size;
};

// Steps of Stream::update_byte_set(). They work on a set of the bytes of a range, and on two ranges `a` and `b` of the same
// size. The set has a bit for each byte: bit i of its byte k stands for byte 8 * k + i of the range.
enum class ByteSetStep {
  select,      // makes the set: it has the bytes where `a` is not zero and `b` is zero
  drop_wrong,  // takes bytes where `a` and `b` differ out of the set
  complement,  // sets those bytes of `a` that are in the set to the complement of `b`; the set stays as it is
};

// An ordered queue of work on a device. Destroying it waits for the work.
//
// "Ordered in the stream" means: after all work that was given to the stream before, and before all that is given to it later.
// Some of these calls may return before their work is done; a failure of the work is then reported by a later call.
class Stream {
 public:
  virtual ~Stream() = default;

  // Copy between host and device memory. Ordered in the stream; complete on return.
  virtual Status copy_to_device(DevicePtr to, ByteSpan from) = 0;
  virtual Status copy_to_host(MutableByteSpan to, DevicePtr from) = 0;
  // Copies device memory, one range after another, to memory of Device::allocate_pinned(). Ordered in the stream; complete on
  // return. Any number of ranges is copied at the rate of the bus. invalid_argument: `to` does not have the size of all ranges.
  Status gather(MutableByteSpan to, std::span<const MemoryRange> from);
  // Copies from a part of what Device::allocate_pinned() gave, which must stay as it is until the stream has been waited
  // for. Ordered in the stream; may return before it is done.
  virtual Status copy_to_device_later(DevicePtr to, ByteSpan from) { return copy_to_device(to, from); }
  // Copy, or fill, device memory. Ordered in the stream; may return before it is done.
  virtual Status copy(DevicePtr to, DevicePtr from, Bytes size) = 0;
  virtual Status fill(DevicePtr to, std::byte value, Bytes size) = 0;
  // Makes `count` copies. `list` is the address of an array of ListedCopy in device memory; no two of them may write the same
  // byte. Ordered in the stream; may return before it is done. Faster than single copies where each has some ten KiB.
  virtual Status copy_listed(DevicePtr list, uint64_t count) = 0;
  // Makes one step on a set of the bytes of a range. The range, `a` and `b` have `size` bytes; the set lies at `set` and has
  // (size + 7) / 8 bytes. Ordered in the stream; may return before it is done.
  virtual Status update_byte_set(ByteSetStep step, DevicePtr set, DevicePtr a, DevicePtr b, Bytes size) = 0;
  // Reads a range, so that the device's caches hold as much of it as they have room for; memory stays as it is. Ordered in the
  // stream; may return before it is done. unsupported: the device's l2_cache is zero.
  virtual Status read_through(DevicePtr from, Bytes size) = 0;
  // Compares [a, a+size) with [b, b+size) on the device; any size and alignment is right. Complete on return.
  virtual Result<Comparison> compare(DevicePtr a, DevicePtr b, Bytes size) = 0;
  // Starts the same comparison. Ordered in the stream; may return before it is done. take_comparisons() gives the result.
  virtual Status compare_later(DevicePtr a, DevicePtr b, Bytes size) = 0;
  // Waits for the stream, and returns the result of each compare_later() since the last call, in their order. On failure the
  // results are lost.
  virtual Result<std::vector<Comparison>> take_comparisons() = 0;
  // The next take_comparisons() need not wait for what the stream is given from here on, unless that is another comparison.
  virtual Status end_comparisons() { return {}; }
  // Compares the elements of [actual, actual+size) with those of [recorded, recorded+size), on the device. Complete on return.
  // invalid_argument: the size is no multiple of an element's, or an address no multiple of an element's (of a complex number:
  // of its real part's).
  Result<ElementDifferences> compare_elements(DevicePtr actual, DevicePtr recorded, Bytes size, const ElementComparison& how);
  // Hashes each page of `page` bytes of [from, from+size) on the device, to find pages that changed; the last page may be
  // short. A hash has 64 bits. It may be compared only with hashes that the same kind of device and the same Mneme have made.
  // Two different pages have the same hash with a probability of some 2^-64, whatever the difference. Complete on return.
  // invalid_argument: `page` is 0, or `hashes` does not have one element for each page.
  virtual Status hash_pages(std::span<uint64_t> hashes, DevicePtr from, Bytes size, Bytes page) = 0;
  // The same for several ranges, each of which begins with a page: the hashes of the first, of the second, and so on. Waits for
  // the device once for a million pages, however many ranges they are of.
  virtual Status hash_ranges(std::span<uint64_t> hashes, std::span<const MemoryRange> ranges, Bytes page);
  // The same as hash_pages(), but the hashes go to device memory, 8 bytes for each page. Ordered in the stream; may return before
  // it is done.
  virtual Status hash_pages_to(DevicePtr hashes, DevicePtr from, Bytes size, Bytes page) = 0;
  // hash_pages_to() for several ranges, each of which begins with a page, and one compare_later() of all their hashes with those
  // at `expected`, in fewer steps where the device can.
  virtual Status compare_hashes_later(DevicePtr hashes, DevicePtr expected, std::span<const MemoryRange> ranges, Bytes page);

  // Finds which of some ranges of addresses memory points into: marks[i] becomes 1 where a word of `memory` is an address in
  // targets[i], and other marks stay as they are. A word has 8 bytes, which lie at a multiple of 8 and whole in one range of
  // `memory`. Ordered in the stream; complete on return. invalid_argument: `targets` overlap or are not in the order of their
  // addresses, or `marks` does not have one element for each.
  Status find_pointers(std::span<uint8_t> marks, std::span<const MemoryRange> targets, std::span<const MemoryRange> memory);

  // Launches a kernel; ordered in the stream. `parameters` is the packed parameter buffer: each argument where the kernel was
  // told by expect_arguments(), or else at its offset by the device's ABI. invalid_argument: the device cannot run the shape; the
  // message has the limit. unsupported: the shape has clusters, which the device does not. A fault of the kernel (device_fault)
  // is reported by this call, or by a later one that waits for the stream.
  Status launch(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters);
  // Launches as launch() does, and times the launch for take_times().
  Status launch_timed(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters);
  // Waits for the stream, and returns the device time of each launch_timed() since the last call, in their order, by the clock
  // that Device::clock() names. On failure those times are lost. A call costs some hundred microseconds on some devices: ask
  // for many times at once.
  virtual Result<std::vector<Nanoseconds>> take_times() = 0;

  // Waits until all work of the stream is done, and reports a fault that it had.
  virtual Status synchronize() = 0;

 protected:
  explicit Stream(const DeviceProperties& properties) : properties_(properties) {}
  virtual Status launch_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) = 0;
  virtual Status launch_timed_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) = 0;
  virtual Result<element::Tally> tally_elements_impl(DevicePtr actual, DevicePtr recorded, uint64_t elements, ElementType type,
                                                     const element::Measure& measure) = 0;
  // There is at least one range, and `to` has their size. This one copies range by range.
  virtual Status gather_impl(MutableByteSpan to, std::span<const MemoryRange> from);
  // `pieces` are words, at most kPointerPiece of them each. There is at least one piece and one target.
  static constexpr Bytes kPointerPiece{256 << 10};
  virtual Status find_pointers_impl(std::span<uint8_t> marks, std::span<const MemoryRange> targets,
                                    std::span<const MemoryRange> pieces) = 0;

 private:
  Status check_shape(const Kernel& kernel, const LaunchShape& shape) const;
  const DeviceProperties& properties_;
};

// Stands for one launch that a LaunchObserver times.
using LaunchTag = uint64_t;
// Times launches that other code makes through the vendor's runtime in this process. Thread-safe.
class LaunchObserver {
 public:
  virtual ~LaunchObserver() = default;
  // Times the launch that the calling thread makes between begin() and end(). `launched` says whether it was made; if not, the
  // tag is of no further use.
  virtual LaunchTag begin() = 0;
  virtual void end(LaunchTag tag, bool launched) = 0;
  // Fetches the times of launches that are done, for take().
  virtual Status flush() = 0;
  // The time of a launch, which is given once; nothing before flush() has fetched it.
  virtual std::optional<Nanoseconds> take(LaunchTag tag) = 0;
};

class Device {
 public:
  // Opens device `ordinal` of a kind. unavailable, with the reason and advice: there is none. invalid_argument: the kind has no
  // backend.
  static Result<std::unique_ptr<Device>> open(DeviceKind kind, int ordinal = 0);
  // Opens the device that "auto" stands for: device 0 of the first backend for users, in the order of the table (backend.h),
  // that opens. unavailable, with the reason of each: none does.
  static Result<std::unique_ptr<Device>> open_best();
  virtual ~Device() = default;

  const DeviceProperties& properties() const { return properties_; }

  // Loads a code image. incompatible: it was made for another device. corrupt: it is cut short, where the backend can tell.
  virtual Result<std::unique_ptr<Module>> load(const CodeImage& image) = 0;
  virtual Result<std::unique_ptr<Stream>> create_stream() = 0;
  // Reserves [base, base+size) exactly there. unavailable: the range is taken; the message names the owner where the system
  // tells it. invalid_argument: base or size is no multiple of allocation_granularity, or the size is 0. unsupported: the
  // device has no virtual memory management.
  virtual Result<std::unique_ptr<AddressSpace>> reserve(DevicePtr base, Bytes size) = 0;
  // Maps zeroed host memory at exactly that address, where kernels, and the streams' copies, fills, comparisons and hashes,
  // reach it too. invalid_argument: address or size is no multiple of kHostPage, or the size is 0. unavailable, with the owner:
  // the range is taken in this process. unsupported: the device sees the memory at another address.
  virtual Result<std::unique_ptr<HostMapping>> map_host(DevicePtr address, Bytes size) = 0;
  // Allocates host memory for Stream::gather() and copy_to_device_later(), which kernels reach at the same address. Not zeroed.
  // It takes some half a second a GiB on a GPU. exhausted: there is not enough, or the system lets none be pinned.
  // invalid_argument: the size is 0.
  Result<std::unique_ptr<PinnedMemory>> allocate_pinned(Bytes size);
  // Allocates device memory at any address, for the caller's own buffers, such as copies of recorded memory. exhausted: there
  // is not enough. Memory of 0 bytes has an address of its own on a GPU, and is invalid_argument where device memory is host
  // memory.
  virtual Result<DevicePtr> allocate(Bytes size) = 0;
  virtual Status free(DevicePtr pointer) = 0;
  // Allocates device memory that other processes can have too. invalid_argument: the size is 0.
  virtual Result<std::unique_ptr<SharedMemory>> allocate_shared(Bytes size) = 0;
  // Maps the memory that allocate_shared(size) has made in another process, or in this one, by a descriptor of it
  // (SharedMemory::share()). Kernels can read it; a kernel that writes there faults.
  virtual Result<std::unique_ptr<SharedMemory>> import_shared(const Descriptor& descriptor, Bytes size) = 0;

  // Makes arrays, textures and surfaces of a recording. The memory that they are of, and that of the arrays' copies, is there
  // already. unsupported: the device has no such objects, or not of these kinds.
  virtual Result<std::unique_ptr<DeviceTextures>> create_textures(const TextureSet& textures);

  // The clock of timed launches. The first call, or the first timed launch, makes it ready. unavailable, with the reason: the
  // clock that the environment asks for (MNEME_CLOCK) cannot be had. invalid_argument: there is no clock of that name.
  virtual Result<DeviceClock> clock() = 0;
  // Reads the hardware's clocks; nothing where they cannot be read.
  virtual std::optional<ClockReading> read_clocks() { return std::nullopt; }
  // What times launches of other code in this process; null where only the vendor's events can time them. It lives as long as
  // the process.
  virtual LaunchObserver* launch_observer() { return nullptr; }

 protected:
  // This one is for devices whose memory is host memory.
  virtual Result<std::unique_ptr<PinnedMemory>> allocate_pinned_impl(Bytes size);
  DeviceProperties properties_;
};

}  // namespace mneme
