#include "mneme/cpu/run/cpu_stream.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "mneme/cpu/run/cpu_module.h"
#include "mneme/device/host_pages.h"

namespace mneme::cpu {
namespace {

constexpr uint64_t kCopiesAPiece = 32;  // of a list

constexpr uint64_t kPiece = 2 << 20;  // what one worker does at a time; smaller work is not spread

std::byte* bytes_at(DevicePtr p) { return reinterpret_cast<std::byte*>(p.address); }

uint64_t pieces(uint64_t count, uint64_t piece) { return count / piece + (count % piece != 0); }

}  // namespace

void CpuStream::copy_bytes(std::byte* to, const std::byte* from, uint64_t count) {
  if (count == 0) return;
  // Ranges that overlap are copied as if all were read first.
  if (count <= kPiece || (to < from + count && from < to + count)) {
    std::memmove(to, from, count);
    return;
  }
  executor_.pool().for_each(pieces(count, kPiece), [=](uint64_t i) {
    const uint64_t begin = i * kPiece;
    std::memcpy(to + begin, from + begin, std::min(kPiece, count - begin));
  });
}

Status CpuStream::copy_to_device(DevicePtr to, ByteSpan from) {
  MNEME_TRY(executor_.usable());
  copy_bytes(bytes_at(to), from.data(), from.size());
  return {};
}

Status CpuStream::copy_to_host(MutableByteSpan to, DevicePtr from) {
  MNEME_TRY(executor_.usable());
  copy_bytes(to.data(), bytes_at(from), to.size());
  return {};
}

Status CpuStream::copy(DevicePtr to, DevicePtr from, Bytes size) {
  MNEME_TRY(executor_.usable());
  copy_bytes(bytes_at(to), bytes_at(from), size.count);
  return {};
}

Status CpuStream::fill(DevicePtr to, std::byte value, Bytes size) {
  MNEME_TRY(executor_.usable());
  executor_.pool().for_each(pieces(size.count, kPiece), [=](uint64_t i) {
    const uint64_t begin = i * kPiece;
    std::memset(bytes_at(to) + begin, std::to_integer<int>(value), std::min(kPiece, size.count - begin));
  });
  return {};
}

Result<Comparison> CpuStream::compare(DevicePtr a, DevicePtr b, Bytes size) {
  MNEME_TRY(executor_.usable());
  std::mutex mutex;
  Comparison total;
  executor_.pool().for_each(pieces(size.count, kPiece), [&](uint64_t i) {
    const uint64_t begin = i * kPiece;
    const uint64_t count = std::min(kPiece, size.count - begin);
    const Comparison piece = compare_host_bytes({bytes_at(a) + begin, count}, {bytes_at(b) + begin, count});
    if (piece.differing_bytes == 0) return;
    const uint64_t first = begin + *piece.first_difference;
    std::lock_guard lock(mutex);
    total.differing_bytes += piece.differing_bytes;
    total.first_difference = std::min(total.first_difference.value_or(first), first);
  });
  return total;
}

Status CpuStream::hash_pages(std::span<uint64_t> hashes, DevicePtr from, Bytes size, Bytes page) {
  MNEME_TRY(executor_.usable());
  MNEME_TRY(check_page_count(hashes.size(), size, page));
  const uint64_t pages_a_piece = std::max<uint64_t>(1, kPiece / page.count);
  executor_.pool().for_each(pieces(hashes.size(), pages_a_piece), [&](uint64_t piece) {
    const uint64_t end = std::min<uint64_t>((piece + 1) * pages_a_piece, hashes.size());
    for (uint64_t i = piece * pages_a_piece; i < end; ++i) hashes[i] = hash_host_page({bytes_at(from), size.count}, page, i);
  });
  return {};
}

Result<element::Tally> CpuStream::tally_elements_impl(DevicePtr actual, DevicePtr recorded, uint64_t elements, ElementType type,
                                                      const element::Measure& measure) {
  MNEME_TRY(executor_.usable());
  const uint64_t element = size_of(type).count, size = elements * element;
  // Merged in the order of the pieces, so that sums are the same every time.
  std::vector<element::Tally> tallies(pieces(size, kPiece));
  executor_.pool().for_each(tallies.size(), [&](uint64_t i) {
    const uint64_t begin = i * kPiece;
    const uint64_t count = std::min(kPiece, size - begin);
    tallies[i] = tally_host_elements(type, {bytes_at(actual) + begin, count}, {bytes_at(recorded) + begin, count},
                                     begin / element, measure);
  });
  element::Tally total;
  for (const element::Tally& tally : tallies) element::merge(total, tally, measure.sum);
  return total;
}

Status CpuStream::copy_listed(DevicePtr list, uint64_t count) {
  MNEME_TRY(executor_.usable());
  const auto* copies = reinterpret_cast<const ListedCopy*>(bytes_at(list));
  executor_.pool().for_each(pieces(count, kCopiesAPiece), [=](uint64_t piece) {
    for (uint64_t i = piece * kCopiesAPiece; i < std::min((piece + 1) * kCopiesAPiece, count); ++i)
      std::memcpy(bytes_at(copies[i].to), bytes_at(copies[i].from), copies[i].size.count);
  });
  return {};
}

Status CpuStream::update_byte_set(ByteSetStep step, DevicePtr set, DevicePtr a, DevicePtr b, Bytes size) {
  MNEME_TRY(executor_.usable());
  const uint64_t bytes = pieces(size.count, 8), piece = kPiece / 8;
  executor_.pool().for_each(pieces(bytes, piece), [=](uint64_t i) {
    update_host_byte_set(step, bytes_at(set), bytes_at(a), bytes_at(b), size, i * piece, std::min((i + 1) * piece, bytes));
  });
  return {};
}

Status CpuStream::compare_later(DevicePtr a, DevicePtr b, Bytes size) {
  MNEME_ASSIGN(Comparison comparison, compare(a, b, size));
  comparisons_.push_back(comparison);
  return {};
}

Result<std::vector<Comparison>> CpuStream::take_comparisons() {
  std::vector<Comparison> comparisons = std::exchange(comparisons_, {});
  MNEME_TRY(executor_.usable());
  return comparisons;
}

Status CpuStream::hash_pages_to(DevicePtr hashes, DevicePtr from, Bytes size, Bytes page) {
  MNEME_ASSIGN(uint64_t pages, pages_of(size, page));
  return hash_pages({reinterpret_cast<uint64_t*>(bytes_at(hashes)), pages}, from, size, page);
}

Status CpuStream::find_pointers_impl(std::span<uint8_t> marks, std::span<const MemoryRange> targets,
                                     std::span<const MemoryRange> pieces) {
  MNEME_TRY(executor_.usable());
  // A part of a piece begins with a word of it, as kPiece is a number of words.
  std::vector<MemoryRange> parts;
  for (const MemoryRange& piece : pieces)
    for (uint64_t begin = 0; begin < piece.size.count; begin += kPiece)
      parts.push_back({piece.address + Bytes(begin), Bytes(std::min(kPiece, piece.size.count - begin))});
  executor_.pool().for_each(
      parts.size(), [&](uint64_t i) { mark_host_pointers(marks, targets, {bytes_at(parts[i].address), parts[i].size.count}); });
  return {};
}

Status CpuStream::synchronize() { return executor_.usable(); }

Status CpuStream::launch_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) {
  return executor_.run(static_cast<const CpuKernel&>(kernel), shape, parameters);
}

Status CpuStream::launch_timed_impl(const Kernel& kernel, const LaunchShape& shape, ByteSpan parameters) {
  const auto begin = std::chrono::steady_clock::now();
  MNEME_TRY(launch_impl(kernel, shape, parameters));
  times_.emplace_back(std::chrono::steady_clock::now() - begin);
  return {};
}

Result<std::vector<Nanoseconds>> CpuStream::take_times() {
  std::vector<Nanoseconds> times = std::exchange(times_, {});
  MNEME_TRY(executor_.usable());
  return times;
}

Status CpuStream::read_through(DevicePtr, Bytes) {
  return error(Code::unsupported, "reading memory through the cache: the device cpu has none that a kernel's blocks share");
}

}  // namespace mneme::cpu
