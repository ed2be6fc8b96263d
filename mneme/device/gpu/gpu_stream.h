// A stream of a GPU.
#pragma once

#include <memory>
#include <vector>

#include "mneme/device/device.h"
#include "mneme/device/gpu/context.h"
#include "mneme/device/gpu/launch_clock.h"
#include "mneme/device/gpu/memory_kernels.h"
#include "mneme/device/gpu/staging.h"

namespace mneme::gpu {

// A non-blocking stream: it does not wait for work of the legacy default stream, nor does that wait for this one.
class GpuStream final : public Stream {
 public:
  static Result<std::unique_ptr<GpuStream>> create(const Context& context, const DeviceProperties& properties,
                                                   LazyMemoryKernels& kernels, LazyLaunchClock& clock);
  ~GpuStream() override;

  StreamHandle handle() const { return handle_; }

  Status copy_to_device(DevicePtr to, ByteSpan from) override;
  Status copy_to_host(MutableByteSpan to, DevicePtr from) override;
  Status copy_to_device_later(DevicePtr to, ByteSpan from) override;
  Status copy(DevicePtr to, DevicePtr from, Bytes size) override;
  Status fill(DevicePtr to, std::byte value, Bytes size) override;
  Result<Comparison> compare(DevicePtr a, DevicePtr b, Bytes size) override;
  Status hash_pages(std::span<uint64_t> hashes, DevicePtr from, Bytes size, Bytes page) override;
  Status hash_ranges(std::span<uint64_t> hashes, std::span<const MemoryRange> ranges, Bytes page) override;
  Status synchronize() override;
  Status read_through(DevicePtr from, Bytes size) override;
  Status copy_listed(DevicePtr list, uint64_t count) override;
  Status update_byte_set(ByteSetStep step, DevicePtr set, DevicePtr a, DevicePtr b, Bytes size) override;
  Status compare_later(DevicePtr a, DevicePtr b, Bytes size) override;
  Result<std::vector<Comparison>> take_comparisons() override;
  Status end_comparisons() override;
  Status hash_pages_to(DevicePtr hashes, DevicePtr from, Bytes size, Bytes page) override;
  Status compare_hashes_later(DevicePtr hashes, DevicePtr expected, std::span<const MemoryRange> ranges, Bytes page) override;
  Result<std::vector<Nanoseconds>> take_times() override;

 private:
  GpuStream(const Context& context, const DeviceProperties& properties, LazyMemoryKernels& kernels, LazyLaunchClock& clock,
            StreamHandle handle)
      : Stream(properties), context_(context), kernels_(kernels), clock_(clock), handle_(handle), staging_(context, handle) {}

  Status launch_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) override;
  Status launch_timed_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) override;
  Result<element::Tally> tally_elements_impl(DevicePtr actual, DevicePtr recorded, uint64_t elements, ElementType type,
                                             const element::Measure& measure) override;
  Status gather_impl(MutableByteSpan to, std::span<const MemoryRange> from) override;
  Status find_pointers_impl(std::span<uint8_t> marks, std::span<const MemoryRange> targets,
                            std::span<const MemoryRange> pieces) override;

  Status launch_packed(const GpuKernel& kernel, const LaunchShape& shape, ByteSpan parameters);
  Status launch_own(FunctionHandle function, const char* name, uint32_t blocks, void** arguments);
  Status reserve_scratch(uint64_t size);
  // Where a comparison gathers what its blocks find, and where the last of them tells it. 0: they do not tell, and what they have
  // gathered stays.
  struct Findings {
    uint64_t gathered = 0, told = 0;
  };
  Status launch_compare(DevicePtr a, DevicePtr b, Bytes size, Findings findings);
  // Where a range's hashes go: those of its pages begin with number `first`. Where `expected` is not null they are compared with
  // those there, which have the same numbers.
  struct PageHashes {
    DevicePtr hashes, expected;
    uint64_t first = 0;
    Findings findings;
  };
  Status launch_hash(const PageHashes& to, const MemoryRange& range, Bytes page);
  Status launch_hashes(const PageHashes& to, std::span<const MemoryRange> ranges, Bytes page);
  Result<Findings> next_findings();
  Status prepare_results();
  Status collect_results();
  Result<size_t> prepare_events();
  Status launch_between_events(const GpuKernel& kernel, const LaunchShape& shape, ByteSpan parameters);
  Result<std::vector<Nanoseconds>> elapsed_between_events(size_t count);
  Status hash_some(std::span<uint64_t> hashes, std::span<const MemoryRange> ranges, Bytes page);

  const Context& context_;
  LazyMemoryKernels& kernels_;
  LazyLaunchClock& clock_;
  StreamHandle handle_;
  Staging staging_;
  uint64_t scratch_ = 0;  // results of our own kernels
  uint64_t scratch_size_ = 0;
  LaunchTimer* activity_ = nullptr;  // once a launch was timed by it
  std::vector<LaunchTag> timed_;     // by the activity clock, not taken yet
  uint64_t gathered_ = 0;        // on the device: what a comparison that was started finds, and behind it what that is before one
  uint64_t* results_ = nullptr;  // on the host, pinned: what comparisons have told, two words each
  uint64_t results_used_ = 0;
  std::vector<Comparison> collected_;
  EventHandle compared_ = nullptr;  // recorded behind the last comparison, if `ended_`
  bool ended_ = false;
  struct EventPair {
    EventHandle start = nullptr, end = nullptr;
  };
  std::vector<EventPair> events_;  // the first events_used_ are of launches not taken yet
  size_t events_used_ = 0;
};

}  // namespace mneme::gpu
