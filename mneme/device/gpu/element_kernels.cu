// Kernels that compare device memory element by element at the rate of copying it, one for each type of element.
//
// Compiled, embedded and tested as memory_kernels.cu is; see element_kernels_host.h.
#ifndef MNEME_ELEMENT_KERNELS_ON_HOST
#include "mneme/device/gpu/kernel_target.h"
#define MNEME_ELEMENT MNEME_MEMBER
#include "mneme/device/element_filter.h"
#include "mneme/device/element_math.h"

// Stores what the block's threads have seen, the same every time; every thread of the block calls it, once in a kernel.
MNEME_DEVICE void store_of_block(mneme::element::Tally* to, mneme::element::Tally tally, int sum) {
  for (int distance = threads_in_wave() / 2; distance > 0; distance /= 2) {
    mneme::element::Tally other;
    other.failing = from_lane(tally.failing, distance);
    other.first_failing = from_lane(tally.first_failing, distance);
    other.worst = from_lane(tally.worst, distance);
    other.worst_at = from_lane(tally.worst_at, distance);
    other.differences = from_lane(tally.differences, distance);
    other.magnitudes = from_lane(tally.magnitudes, distance);
    other.largest_difference = from_lane(tally.largest_difference, distance);
    other.largest_magnitude = from_lane(tally.largest_magnitude, distance);
    mneme::element::merge(tally, other, sum);
  }
  // Shared memory takes no type with initialisers.
  constexpr unsigned kSize = sizeof(mneme::element::Tally);
  constexpr unsigned kMostWaves = 32;
  static __attribute__((shared)) unsigned long long of_waves[kMostWaves * kSize / 8];
  const unsigned wave_size = threads_in_wave();
  if (thread_in_block() % wave_size == 0) __builtin_memcpy(&of_waves[thread_in_block() / wave_size * (kSize / 8)], &tally, kSize);
  wait_for_block();
  if (thread_in_block() != 0) return;
  for (unsigned wave = 1; wave < threads_in_block() / wave_size; ++wave) {
    mneme::element::Tally other;
    __builtin_memcpy(&other, &of_waves[wave * (kSize / 8)], kSize);
    mneme::element::merge(tally, other, sum);
  }
  *to = tally;
}
#endif

typedef unsigned long long u64;
typedef unsigned char u8;
struct alignas(16) Wide {
  u64 word[2];
};

MNEME_DEVICE u64 load_part(const u8* p, int bits) {
  if (bits == 8) return *p;
  if (bits == 16) return *(const unsigned short*)p;
  if (bits == 32) return *(const unsigned*)p;
  return *(const u64*)p;
}

// One element, by aligned loads of its parts.
template <class Format>
MNEME_DEVICE void see_one(mneme::element::Tally& tally, const u8* actual, const u8* recorded, u64 i,
                          const mneme::element::Measure& measure) {
  constexpr u64 kPart = Format::kBits / 8, kSize = kPart * Format::kParts;
  u64 a[2] = {}, r[2] = {};
  for (int part = 0; part < Format::kParts; ++part) {
    a[part] = load_part(actual + i * kSize + part * kPart, Format::kBits);
    r[part] = load_part(recorded + i * kSize + part * kPart, Format::kBits);
  }
  mneme::element::see<Format>(tally, a, r, i, measure);
}

MNEME_DEVICE bool equal(const Wide& x, const Wide& y) { return x.word[0] == y.word[0] && x.word[1] == y.word[1]; }

template <class Format>
MNEME_DEVICE void see_wides(mneme::element::Tally& tally, const Wide* a, const Wide* r, u64 wides, u64 index,
                            const mneme::element::Measure& measure) {
  constexpr u64 kInWide = 128 / (Format::kBits * Format::kParts);
  const bool skip_equal = mneme::element::equal_is_enough(measure);
  u64 threads = (u64)blocks_in_grid() * threads_in_block();
  u64 i = (u64)block_in_grid() * threads_in_block() + thread_in_block();
  for (; i + 3 * threads < wides; i += 4 * threads) {
    Wide x[4], y[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      x[k] = a[i + k * threads];
      y[k] = r[i + k * threads];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (skip_equal && equal(x[k], y[k])) continue;
      mneme::element::see_wide<Format>(tally, x[k].word, y[k].word, index + (i + k * threads) * kInWide, measure);
    }
  }
  for (; i < wides; i += threads) {
    Wide x = a[i], y = r[i];
    if (skip_equal && equal(x, y)) continue;
    mneme::element::see_wide<Format>(tally, x.word, y.word, index + i * kInWide, measure);
  }
}

template <int kBits>
MNEME_DEVICE unsigned element_of(const Wide& wide, int i) {
  const auto word = (unsigned)(wide.word[i * kBits / 64] >> (i * kBits % 64 / 32 * 32));
  return word >> (i * kBits % 32) & (unsigned)(~0ull >> (64 - kBits));
}

// The same by a filter. Few wides have an element that it does not know; they are read once more.
template <class Format, int kError>
MNEME_DEVICE void filter_wides(mneme::element::Tally& tally, const Wide* a, const Wide* r, u64 wides, u64 index,
                               mneme::element::Measure measure) {
  constexpr int kBits = Format::kBits, kInWide = 128 / kBits;
  measure.error = kError, measure.sum = mneme::element::kNoSum;  // which they are, as the compiler then knows
  const bool skip_equal = mneme::element::equal_is_enough(measure);
  mneme::element::Filter<Format, kError> filter(measure, tally);
  u64 threads = (u64)blocks_in_grid() * threads_in_block();
  for (u64 i = (u64)block_in_grid() * threads_in_block() + thread_in_block(); i < wides; i += 4 * threads) {
    Wide x[4], y[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const u64 at = i + k * threads < wides ? i + k * threads : i;
      x[k] = a[at];
      y[k] = r[at];
    }
    unsigned unknown = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      if (i + k * threads >= wides || (skip_equal && equal(x[k], y[k]))) continue;
      typename mneme::element::Filter<Format, kError>::Several several;
#pragma unroll
      for (int e = 0; e < kInWide; ++e) filter.look(several, element_of<kBits>(x[k], e), element_of<kBits>(y[k], e));
      if (!several.known())
        unknown |= 1u << k;
      else if (several.fail)
        tally.failing += kInWide;
    }
#pragma unroll 1
    for (u64 at = i * kInWide; unknown != 0; unknown >>= 1, at += threads * kInWide) {
      if ((unknown & 1) == 0) continue;
#pragma unroll 1
      for (u64 e = at; e < at + kInWide; ++e) {
        const auto actual = (unsigned)load_part((const u8*)a + e * (kBits / 8), kBits);
        const auto recorded = (unsigned)load_part((const u8*)r + e * (kBits / 8), kBits);
        const auto look = filter.look(actual, recorded);
        tally.failing += look.known & look.fails;
        if (look.known) continue;
        mneme::element::see<Format>(tally, {actual, 0}, {recorded, 0}, index + e, measure);
        filter.learn(tally, index + e, actual, recorded);
      }
    }
  }
}

// This thread's part of `wides`; `index` is that of the first one's first element.
template <class Format>
MNEME_DEVICE void take_wides(mneme::element::Tally& tally, const Wide* a, const Wide* r, u64 wides, u64 index,
                             const mneme::element::Measure& measure) {
  using namespace mneme::element;
  if constexpr (IsFiltered<Format>::value) {
    if (can_filter(measure)) {
      if (measure.error == kAbsolute) return filter_wides<Format, kAbsolute>(tally, a, r, wides, index, measure);
      if (measure.error == kRelative) return filter_wides<Format, kRelative>(tally, a, r, wides, index, measure);
      return filter_wides<Format, kUlp>(tally, a, r, wides, index, measure);
    }
  }
  see_wides<Format>(tally, a, r, wides, index, measure);
}

// tallies[b] becomes what block b saw of `elements` elements, whose parts are aligned. The block has a multiple of 64 threads.
template <class Format>
MNEME_DEVICE void compare_elements(const u8* actual, const u8* recorded, u64 elements, const mneme::element::Measure& measure,
                                   mneme::element::Tally* tallies) {
  constexpr u64 kSize = Format::kBits * Format::kParts / 8, kInWide = 16 / kSize;
  u64 thread = (u64)block_in_grid() * threads_in_block() + thread_in_block();
  u64 threads = (u64)blocks_in_grid() * threads_in_block();
  mneme::element::Tally tally;
  // Elements before the first multiple of 16, where both can be aligned at once, and those behind the last.
  u64 head = (16 - ((u64)actual & 15)) % 16;
  bool together = (((u64)actual ^ (u64)recorded) & 15) == 0 && head % kSize == 0;
  head = !together || head / kSize > elements ? elements : head / kSize;
  for (u64 i = thread; i < head; i += threads) see_one<Format>(tally, actual, recorded, i, measure);
  u64 wides = (elements - head) / kInWide;
  take_wides<Format>(tally, (const Wide*)(actual + head * kSize), (const Wide*)(recorded + head * kSize), wides, head, measure);
  for (u64 rest = head + wides * kInWide + thread; rest < elements; rest += threads)
    see_one<Format>(tally, actual, recorded, rest, measure);
  store_of_block(&tallies[block_in_grid()], tally, measure.sum);
}

#define MNEME_ELEMENT_KERNEL(name, format)                                                                                     \
  MNEME_KERNEL void mneme_elements_##name(const u8* actual, const u8* recorded, u64 elements, mneme::element::Measure measure, \
                                          mneme::element::Tally* tallies) {                                                    \
    compare_elements<mneme::element::format>(actual, recorded, elements, measure, tallies);                                    \
  }
MNEME_ELEMENT_FORMATS(MNEME_ELEMENT_KERNEL)
