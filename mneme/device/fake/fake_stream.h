// The fake device's stream. The work of every call is done when the call returns.
#pragma once

#include "mneme/device/fake/fake_device.h"

namespace mneme::fake {

class FakeStream final : public Stream {
 public:
  explicit FakeStream(FakeDevice& device) : Stream(device.properties()), device_(device) {}

  Status copy_to_device(DevicePtr to, ByteSpan from) override;
  Status copy_to_host(MutableByteSpan to, DevicePtr from) override;
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

 protected:
  Status launch_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) override;
  Status launch_timed_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) override;
  Result<element::Tally> tally_elements_impl(DevicePtr actual, DevicePtr recorded, uint64_t elements, ElementType type,
                                             const element::Measure& measure) override;
  Status gather_impl(MutableByteSpan to, std::span<const MemoryRange> from) override;
  Status find_pointers_impl(std::span<uint8_t> marks, std::span<const MemoryRange> targets,
                            std::span<const MemoryRange> pieces) override;

 private:
  Status run(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters);
  FakeDevice& device_;
  std::vector<Nanoseconds> times_;
  std::vector<Comparison> comparisons_;
};

}  // namespace mneme::fake
