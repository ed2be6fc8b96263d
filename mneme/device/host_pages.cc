#include "mneme/device/host_pages.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

namespace mneme {

Comparison compare_host_bytes(ByteSpan a, ByteSpan b) {
  // memcmp skips what is equal; only pieces that differ are counted byte by byte.
  constexpr size_t kPiece = 4096;
  Comparison result;
  for (size_t begin = 0; begin < a.size(); begin += kPiece) {
    const size_t length = std::min(kPiece, a.size() - begin);
    if (std::memcmp(a.data() + begin, b.data() + begin, length) == 0) continue;
    for (size_t i = begin; i < begin + length; ++i) {
      if (a[i] == b[i]) continue;
      ++result.differing_bytes;
      if (!result.first_difference) result.first_difference = i;
    }
  }
  return result;
}

uint64_t hash_host_page(ByteSpan range, Bytes page, uint64_t index) {
  const uint64_t begin = index * page.count;
  return XXH3_64bits(range.data() + begin, std::min(page.count, range.size() - begin));
}

Result<uint64_t> pages_of(Bytes size, Bytes page) {
  if (page.count == 0) return error(Code::invalid_argument, "hashing {} B in pages of 0 B", size.count);
  return size.count / page.count + (size.count % page.count != 0);
}

Status check_page_count(uint64_t hashes, Bytes size, Bytes page) {
  const uint64_t pages = page.count == 0 ? 0 : size.count / page.count + (size.count % page.count != 0);
  if (page.count != 0 && hashes == pages) return {};
  return error(Code::invalid_argument, "hashing {} B in pages of {} B: there are {} pages, room is for {} hashes", size.count,
               page.count, pages, hashes);
}

Status check_page_count(uint64_t hashes, std::span<const MemoryRange> ranges, Bytes page) {
  uint64_t pages = 0;
  for (const MemoryRange& range : ranges) {
    MNEME_ASSIGN(const uint64_t some, pages_of(range.size, page));
    pages += some;
  }
  if (hashes == pages) return {};
  return error(Code::invalid_argument, "hashing {} ranges in pages of {} B: there are {} pages, room is for {} hashes",
               ranges.size(), page.count, pages, hashes);
}

void mark_host_pointers(std::span<uint8_t> marks, std::span<const MemoryRange> targets, ByteSpan words) {
  if (targets.empty()) return;
  const uint64_t first = targets.front().address.address, size = targets.back().end().address - first;
  const auto see = [&](uint64_t word) {
    if (word - first >= size) return;
    const auto after = std::upper_bound(targets.begin(), targets.end(), DevicePtr(word),
                                        [](DevicePtr place, const MemoryRange& target) { return place < target.address; });
    const auto target = static_cast<size_t>(after - targets.begin()) - 1;
    const std::atomic_ref mark(marks[target]);
    if (targets[target].contains(DevicePtr(word)) && mark.load(std::memory_order_relaxed) == 0)
      mark.store(1, std::memory_order_relaxed);
  };
  // Most words are no addresses: several are looked at together.
  std::array<uint64_t, 16> some;
  for (; words.size() >= sizeof some; words = words.subspan(sizeof some)) {
    std::memcpy(some.data(), words.data(), sizeof some);
    unsigned inside = 0;
    for (uint64_t word : some) inside += word - first < size;
    if (inside == 0) continue;
    for (uint64_t word : some) see(word);
  }
  for (; words.size() >= sizeof(uint64_t); words = words.subspan(sizeof(uint64_t))) {
    uint64_t word;
    std::memcpy(&word, words.data(), sizeof word);
    see(word);
  }
}

void update_host_byte_set(ByteSetStep step, std::byte* set, std::byte* a, const std::byte* b, Bytes size, uint64_t begin,
                          uint64_t end) {
  for (uint64_t k = begin; k < end; ++k) {
    std::byte bits = set[k];
    for (unsigned i = 0; i < 8 && 8 * k + i < size.count; ++i) {
      const uint64_t at = 8 * k + i;
      const std::byte bit{static_cast<uint8_t>(1u << i)};
      switch (step) {
        case ByteSetStep::select: bits = a[at] != std::byte{0} && b[at] == std::byte{0} ? bits | bit : bits & ~bit; break;
        case ByteSetStep::drop_wrong:
          if (a[at] != b[at]) bits &= ~bit;
          break;
        case ByteSetStep::complement:
          if ((bits & bit) != std::byte{0}) a[at] = ~b[at];
          break;
      }
    }
    if (step != ByteSetStep::complement) set[k] = bits;
  }
}

}  // namespace mneme
