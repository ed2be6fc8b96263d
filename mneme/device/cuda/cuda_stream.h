// A stream of the CUDA driver.
#pragma once

#include <memory>
#include <vector>

#include "mneme/device/cuda/context.h"
#include "mneme/device/cuda/launch_clock.h"
#include "mneme/device/cuda/memory_kernels.h"
#include "mneme/device/cuda/staging.h"
#include "mneme/device/device.h"

namespace mneme::cuda {

// A non-blocking stream: it does not wait for work of the legacy default stream, nor does that wait for this one.
class CudaStream final : public Stream {
 public:
  static Result<std::unique_ptr<CudaStream>> create(const Context& context, const DeviceProperties& properties,
                                                    LazyMemoryKernels& kernels, LazyLaunchClock& clock);
  ~CudaStream() override;

  CUstream handle() const { return handle_; }

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
  Status hash_pages_to(DevicePtr hashes, DevicePtr from, Bytes size, Bytes page) override;
  Result<std::vector<Nanoseconds>> take_times() override;

 private:
  CudaStream(const Context& context, const DeviceProperties& properties, LazyMemoryKernels& kernels, LazyLaunchClock& clock,
             CUstream handle)
      : Stream(properties), context_(context), kernels_(kernels), clock_(clock), handle_(handle), staging_(context, handle) {}

  Status launch_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) override;
  Status launch_timed_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) override;
  Result<element::Tally> tally_elements_impl(DevicePtr actual, DevicePtr recorded, uint64_t elements, ElementType type,
                                             const element::Measure& measure) override;
  Status gather_impl(MutableByteSpan to, std::span<const MemoryRange> from) override;
  Status find_pointers_impl(std::span<uint8_t> marks, std::span<const MemoryRange> targets,
                            std::span<const MemoryRange> pieces) override;

  Status launch_packed(const CudaKernel& kernel, const LaunchShape& shape, ByteSpan parameters);
  Status launch_own(CUfunction function, const char* name, uint32_t blocks, void** arguments);
  Status reserve_scratch(uint64_t size);
  Status launch_compare(DevicePtr a, DevicePtr b, Bytes size, CUdeviceptr result);
  Status prepare_results();
  Status collect_results();
  Result<size_t> prepare_events();
  Status launch_between_events(const CudaKernel& kernel, const LaunchShape& shape, ByteSpan parameters);
  Result<std::vector<Nanoseconds>> elapsed_between_events(size_t count);
  Status hash_some(std::span<uint64_t> hashes, std::span<const MemoryRange> ranges, Bytes page);

  const Context& context_;
  LazyMemoryKernels& kernels_;
  LazyLaunchClock& clock_;
  CUstream handle_;
  Staging staging_;
  CUdeviceptr scratch_ = 0;  // results of our own kernels
  uint64_t scratch_size_ = 0;
  ActivityClock* activity_ = nullptr;  // once a launch was timed by it
  std::vector<LaunchTag> timed_;       // by the activity clock, not taken yet
  // On the device: the results of comparisons that were started, and behind them the values to set them back to. On the host,
  // pinned: where the results are copied to.
  CUdeviceptr results_ = 0;
  uint64_t* host_results_ = nullptr;
  uint64_t results_used_ = 0;
  std::vector<Comparison> collected_;
  struct EventPair {
    CUevent start = nullptr, end = nullptr;
  };
  std::vector<EventPair> events_;  // the first events_used_ are of launches not taken yet
  size_t events_used_ = 0;
};

}  // namespace mneme::cuda
