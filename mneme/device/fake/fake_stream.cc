#include "mneme/device/fake/fake_stream.h"

#include <cstring>
#include <utility>

#include "mneme/device/fake/fake_module.h"
#include "mneme/device/host_pages.h"

namespace mneme::fake {
namespace {

std::byte* bytes_at(DevicePtr p) { return reinterpret_cast<std::byte*>(p.address); }

}  // namespace

Status FakeStream::copy_to_device(DevicePtr to, ByteSpan from) {
  MNEME_TRY(device_.begin("copy_to_device"));
  if (!from.empty()) std::memmove(bytes_at(to), from.data(), from.size());
  return {};
}

Status FakeStream::copy_to_host(MutableByteSpan to, DevicePtr from) {
  MNEME_TRY(device_.begin("copy_to_host"));
  if (!to.empty()) std::memmove(to.data(), bytes_at(from), to.size());
  return {};
}

Status FakeStream::copy(DevicePtr to, DevicePtr from, Bytes size) {
  MNEME_TRY(device_.begin("copy"));
  if (size.count != 0) std::memmove(bytes_at(to), bytes_at(from), size.count);
  return {};
}

Status FakeStream::fill(DevicePtr to, std::byte value, Bytes size) {
  MNEME_TRY(device_.begin("fill"));
  if (size.count != 0) std::memset(bytes_at(to), std::to_integer<int>(value), size.count);
  return {};
}

Result<Comparison> FakeStream::compare(DevicePtr a, DevicePtr b, Bytes size) {
  MNEME_TRY(device_.begin("compare"));
  return compare_host_bytes({bytes_at(a), size.count}, {bytes_at(b), size.count});
}

Status FakeStream::hash_pages(std::span<uint64_t> hashes, DevicePtr from, Bytes size, Bytes page) {
  MNEME_TRY(device_.begin("hash_pages"));
  MNEME_TRY(check_page_count(hashes.size(), size, page));
  for (uint64_t i = 0; i < hashes.size(); ++i) hashes[i] = hash_host_page({bytes_at(from), size.count}, page, i);
  return {};
}

Status FakeStream::hash_ranges(std::span<uint64_t> hashes, std::span<const MemoryRange> ranges, Bytes page) {
  MNEME_TRY(device_.begin("hash_ranges"));
  return Stream::hash_ranges(hashes, ranges, page);
}

Status FakeStream::gather_impl(MutableByteSpan to, std::span<const MemoryRange> from) {
  MNEME_TRY(device_.begin("gather"));
  return Stream::gather_impl(to, from);
}

Status FakeStream::copy_listed(DevicePtr list, uint64_t count) {
  MNEME_TRY(device_.begin("copy_listed"));
  const auto* copies = reinterpret_cast<const ListedCopy*>(bytes_at(list));
  for (uint64_t i = 0; i < count; ++i) std::memmove(bytes_at(copies[i].to), bytes_at(copies[i].from), copies[i].size.count);
  return {};
}

Status FakeStream::update_byte_set(ByteSetStep step, DevicePtr set, DevicePtr a, DevicePtr b, Bytes size) {
  MNEME_TRY(device_.begin("update_byte_set"));
  update_host_byte_set(step, bytes_at(set), bytes_at(a), bytes_at(b), size, 0, (size.count + 7) / 8);
  return {};
}

Status FakeStream::compare_later(DevicePtr a, DevicePtr b, Bytes size) {
  MNEME_TRY(device_.begin("compare_later"));
  comparisons_.push_back(compare_host_bytes({bytes_at(a), size.count}, {bytes_at(b), size.count}));
  return {};
}

Result<std::vector<Comparison>> FakeStream::take_comparisons() {
  std::vector<Comparison> comparisons = std::exchange(comparisons_, {});
  MNEME_TRY(device_.begin("take_comparisons"));
  return comparisons;
}

Status FakeStream::hash_pages_to(DevicePtr hashes, DevicePtr from, Bytes size, Bytes page) {
  MNEME_TRY(device_.begin("hash_pages_to"));
  MNEME_ASSIGN(uint64_t pages, pages_of(size, page));
  auto* to = reinterpret_cast<uint64_t*>(bytes_at(hashes));
  for (uint64_t i = 0; i < pages; ++i) to[i] = hash_host_page({bytes_at(from), size.count}, page, i);
  return {};
}

Status FakeStream::synchronize() { return device_.begin("synchronize"); }

Status FakeStream::launch_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) {
  MNEME_TRY(device_.begin("launch"));
  return run(kernel, shape, parameters);
}

Status FakeStream::launch_timed_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) {
  MNEME_TRY(device_.begin("launch_timed"));
  MNEME_TRY(run(kernel, shape, parameters));
  times_.push_back(static_cast<const FakeModuleKernel&>(kernel).definition().time);
  return {};
}

Result<std::vector<Nanoseconds>> FakeStream::take_times() {
  std::vector<Nanoseconds> times = std::exchange(times_, {});
  MNEME_TRY(device_.begin("take_times"));
  return times;
}

Status FakeStream::read_through(DevicePtr, Bytes) {
  if (device_.properties().l2_cache.count == 0)
    return error(Code::unsupported, "reading memory through the cache: the device fake was made without one");
  return device_.begin("read_through");
}

Result<element::Tally> FakeStream::tally_elements_impl(DevicePtr actual, DevicePtr recorded, uint64_t elements, ElementType type,
                                                       const element::Measure& measure) {
  MNEME_TRY(device_.begin("compare_elements"));
  const uint64_t size = elements * size_of(type).count;
  return tally_host_elements(type, {bytes_at(actual), size}, {bytes_at(recorded), size}, 0, measure);
}

Status FakeStream::find_pointers_impl(std::span<uint8_t> marks, std::span<const MemoryRange> targets,
                                      std::span<const MemoryRange> pieces) {
  MNEME_TRY(device_.begin("find_pointers"));
  for (const MemoryRange& piece : pieces) mark_host_pointers(marks, targets, {bytes_at(piece.address), piece.size.count});
  return {};
}

Status FakeStream::run(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) {
  const auto& fake = static_cast<const FakeModuleKernel&>(kernel);
  Status status = fake.definition().body(FakeLaunch{shape, parameters, fake.image()});
  if (status.code() == Code::device_fault) device_.poison(status);
  return status;
}

}  // namespace mneme::fake
