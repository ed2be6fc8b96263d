#include "mneme/device/device.h"

#include <algorithm>

#include "mneme/device/backend.h"
#include "mneme/device/host_memory.h"
#include "mneme/device/host_pages.h"

namespace mneme {
namespace {

// An extent of 0 divides nothing.
bool divides(const Dim3& part, const Dim3& whole) {
  return part.volume() != 0 && whole.x % part.x == 0 && whole.y % part.y == 0 && whole.z % part.z == 0;
}

bool exceeds(const Dim3& extent, const Dim3& limit) { return extent.x > limit.x || extent.y > limit.y || extent.z > limit.z; }

}  // namespace

Result<std::optional<uint32_t>> Kernel::active_blocks(const LaunchShape&) const { return std::optional<uint32_t>(); }
Status Kernel::expect_arguments(std::span<const PackedPlace>) { return {}; }

Result<ElementDifferences> Stream::compare_elements(DevicePtr actual, DevicePtr recorded, Bytes size,
                                                    const ElementComparison& how) {
  const uint64_t element = size_of(how.type).count;
  const bool is_complex = how.type == ElementType::complex64 || how.type == ElementType::complex128;
  const uint64_t alignment = is_complex ? element / 2 : element;
  if (size.count % element != 0 || actual.address % alignment != 0 || recorded.address % alignment != 0) {
    return error(Code::invalid_argument, "comparing {} B at {} and {} as {}: an element has {} B and lies at a multiple of {}",
                 size.count, actual, recorded, to_string(how.type), element, alignment);
  }
  const uint64_t elements = size.count / element;
  element::Measure measure = measure_of(how);
  if (elements == 0) return judge(how, measure, {}, 0);
  MNEME_ASSIGN(element::Tally tally, tally_elements_impl(actual, recorded, elements, how.type, measure));
  if (auto again = rescaled(measure, tally)) {
    measure = *again;
    MNEME_ASSIGN(tally, tally_elements_impl(actual, recorded, elements, how.type, measure));
  }
  return judge(how, measure, tally, elements);
}

Status Stream::find_pointers(std::span<uint8_t> marks, std::span<const MemoryRange> targets,
                             std::span<const MemoryRange> memory) {
  const auto clash = std::adjacent_find(targets.begin(), targets.end(),
                                        [](const MemoryRange& a, const MemoryRange& b) { return b.address < a.end(); });
  if (marks.size() != targets.size() || clash != targets.end())
    return error(Code::invalid_argument, "finding pointers: {} marks for {} targets{}", marks.size(), targets.size(),
                 clash == targets.end() ? "" : fmt::format(", of which one overlaps or follows that at {}", clash[1].address));
  std::vector<MemoryRange> pieces;
  for (const MemoryRange& range : memory) {
    constexpr uint64_t kWord = sizeof(uint64_t);
    const uint64_t end = range.end().address / kWord * kWord;
    for (uint64_t at = (range.address.address + kWord - 1) / kWord * kWord; at < end; at += kPointerPiece.count)
      pieces.push_back({DevicePtr(at), std::min(kPointerPiece, Bytes(end - at))});
  }
  return targets.empty() || pieces.empty() ? Status() : find_pointers_impl(marks, targets, pieces);
}

Status Stream::gather(MutableByteSpan to, std::span<const MemoryRange> from) {
  Bytes size;
  for (const MemoryRange& range : from) size += range.size;
  if (size != Bytes(to.size()))
    return error(Code::invalid_argument, "gathering {} of {} ranges into {}", size, from.size(), Bytes(to.size()));
  return from.empty() ? Status() : gather_impl(to, from);
}

Status Stream::gather_impl(MutableByteSpan to, std::span<const MemoryRange> from) {
  for (const MemoryRange& range : from) {
    MNEME_TRY(copy_to_host(to.first(range.size.count), range.address));
    to = to.subspan(range.size.count);
  }
  return {};
}

Status Stream::hash_ranges(std::span<uint64_t> hashes, std::span<const MemoryRange> ranges, Bytes page) {
  MNEME_TRY(check_page_count(hashes.size(), ranges, page));
  for (const MemoryRange& range : ranges) {
    MNEME_ASSIGN(const uint64_t pages, pages_of(range.size, page));
    MNEME_TRY(hash_pages(hashes.first(pages), range.address, range.size, page));
    hashes = hashes.subspan(pages);
  }
  return {};
}

Status Stream::compare_hashes_later(DevicePtr hashes, DevicePtr expected, std::span<const MemoryRange> ranges, Bytes page) {
  Bytes done;
  for (const MemoryRange& range : ranges) {
    MNEME_ASSIGN(const uint64_t pages, pages_of(range.size, page));
    MNEME_TRY(hash_pages_to(hashes + done, range.address, range.size, page));
    done += Bytes(8 * pages);
  }
  return compare_later(hashes, expected, done);
}

Result<std::unique_ptr<PinnedMemory>> Device::allocate_pinned(Bytes size) {
  if (size.count == 0) return error(Code::invalid_argument, "allocating 0 B of pinned memory");
  return allocate_pinned_impl(size);
}

Result<std::unique_ptr<PinnedMemory>> Device::allocate_pinned_impl(Bytes size) { return allocate_pinned_host_memory(size); }

Status Stream::launch(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) {
  MNEME_TRY(check_shape(kernel, shape));
  return launch_impl(kernel, shape, parameters);
}

Status Stream::launch_timed(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) {
  MNEME_TRY(check_shape(kernel, shape));
  return launch_timed_impl(kernel, shape, parameters);
}

Result<std::unique_ptr<DeviceTextures>> Device::create_textures(const TextureSet&) {
  return error(Code::unsupported, "the {} ({}) has no textures and no surfaces", backend_of(properties_.kind).title,
               properties_.name);
}

Status Stream::check_shape(const Kernel& kernel, const LaunchShape& shape) const {
  const DeviceProperties& device = properties_;
  const std::string what = fmt::format("launching '{}' with grid {} and block {}", kernel.name(), shape.grid, shape.block);
  if (shape.grid.volume() == 0 || shape.block.volume() == 0) return error(Code::invalid_argument, "{}: an extent is zero", what);
  if (exceeds(shape.grid, device.max_grid)) {
    return error(Code::invalid_argument, "{}: the device's largest grid is {}", what, device.max_grid);
  }
  if (exceeds(shape.block, device.max_block)) {
    return error(Code::invalid_argument, "{}: the device's largest block is {}", what, device.max_block);
  }
  const uint64_t threads = shape.block.volume();
  if (threads > device.max_threads_per_block) {
    return error(Code::invalid_argument, "{}: the block has {} threads, the device runs at most {}", what, threads,
                 device.max_threads_per_block);
  }
  const KernelResources& needs = kernel.resources();
  if (needs.max_threads_per_block && threads > *needs.max_threads_per_block) {
    return error(Code::invalid_argument, "{}: the block has {} threads, this kernel runs with at most {} on the device", what,
                 threads, *needs.max_threads_per_block);
  }
  if (shape.cluster != kNoCluster && !device.clusters) {
    return error(Code::unsupported, "{}: the launch has clusters of {} blocks, which the {} ({}) does not run", what,
                 shape.cluster, backend_of(device.kind).title, device.name);
  }
  if (shape.cluster != kNoCluster && !divides(shape.cluster, shape.grid)) {
    return error(Code::invalid_argument, "{}: clusters of {} blocks do not divide the grid", what, shape.cluster);
  }
  const Bytes fixed = needs.static_shared_memory.value_or(Bytes(0));
  if (shape.dynamic_shared_memory > device.max_shared_memory_per_block ||
      fixed + shape.dynamic_shared_memory > device.max_shared_memory_per_block) {
    return error(Code::invalid_argument, "{}: {} B static and {} B dynamic shared memory exceed the device's {} B for a block",
                 what, fixed.count, shape.dynamic_shared_memory.count, device.max_shared_memory_per_block.count);
  }
  return {};
}

}  // namespace mneme
