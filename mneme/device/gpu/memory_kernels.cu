// Kernels that compare, hash and copy device memory at the rate of its bandwidth, find the pointers in it, and work on sets of
// its bytes.
//
// Compiled at build time to PTX and to AMD's code objects, with no header of CUDA or ROCm, and embedded. All that depends on the
// device stands in kernel_target.h, so that tests can run the same code on the host: see memory_kernels_host.h.
#ifndef MNEME_MEMORY_KERNELS_ON_HOST
#include "mneme/device/gpu/kernel_target.h"
#endif

typedef unsigned long long u64;
typedef unsigned char u8;
struct alignas(16) Pair {
  u64 low, high;
};

// Word by word on AMD's GPUs, where LLVM keeps an array whose elements are copied whole in scratch memory.
#ifdef __AMDGCN__
MNEME_DEVICE Pair value_of(const Pair& pair) { return {pair.low, pair.high}; }
#else
MNEME_DEVICE const Pair& value_of(const Pair& pair) { return pair; }
#endif

// The 8 bytes at `p`, by aligned loads only: a load touches no 8-byte word of which no byte is wanted.
MNEME_DEVICE u64 load_word(const u8* p) {
  u64 address = (u64)p;
  unsigned shift = (unsigned)(address & 7) * 8;
  const u64* aligned = (const u64*)(address & ~7ull);
  if (shift == 0) return *aligned;
  return aligned[0] >> shift | aligned[1] << (64 - shift);
}

MNEME_DEVICE u64 load_bytes(const u8* p, unsigned count) {
  u64 word = 0;
  for (unsigned i = 0; i < count; ++i) word |= (u64)p[i] << (8 * i);
  return word;
}

struct Difference {
  u64 bytes = 0;
  u64 first = ~0ull;

  MNEME_MEMBER void see(u64 difference, u64 offset) {
    if (difference == 0) return;
    u64 here = offset + (unsigned)__builtin_ctzll(difference) / 8;
    if (here < first) first = here;
    // Fold each byte's bits onto its lowest one, and count those.
    difference |= difference >> 4;
    difference |= difference >> 2;
    difference |= difference >> 1;
    bytes += (unsigned)__builtin_popcountll(difference & 0x0101010101010101ull);
  }

  MNEME_MEMBER void add_to(u64* result) const {
    if (bytes == 0) return;
    add(&result[0], bytes);
    lower(&result[1], first);
    order_on_device();  // on AMD GPUs the fence of the thread that tells does not wait for what other waves have added
  }
};

// Moves what all threads of the launch have added to the result to `told`, where the host reads it, unless that is null. The next
// comparison finds the result as it is before one: 0, ~0 and 0.
MNEME_DEVICE void tell(u64* result, u64* told) {
  if (told == nullptr || !is_last_of_launch(&result[2])) return;
  told[1] = exchange(&result[1], ~0ull);
  told[0] = exchange(&result[0], 0);
}

// Adds to result[0] the number of bytes in which [a, a+size) and [b, b+size) differ and lowers result[1] to the offset of the
// first of them; then tell().
MNEME_KERNEL void mneme_compare(const u8* a, const u8* b, u64 size, u64* result, u64* told) {
  u64 thread = (u64)block_in_grid() * threads_in_block() + thread_in_block();
  u64 threads = (u64)blocks_in_grid() * threads_in_block();
  Difference difference;
  u64 whole;  // bytes that the vector loop takes
  if ((((u64)a | (u64)b) & 15) == 0) {
    u64 pairs = size / 16;
    const Pair* pa = (const Pair*)a;
    const Pair* pb = (const Pair*)b;
    u64 i = thread;
    for (; i + 3 * threads < pairs; i += 4 * threads) {
      Pair x[4], y[4];
      for (int k = 0; k < 4; ++k) {
        x[k] = pa[i + k * threads];
        y[k] = pb[i + k * threads];
      }
      for (int k = 0; k < 4; ++k) {
        difference.see(x[k].low ^ y[k].low, (i + k * threads) * 16);
        difference.see(x[k].high ^ y[k].high, (i + k * threads) * 16 + 8);
      }
    }
    for (; i < pairs; i += threads) {
      Pair x = pa[i], y = pb[i];
      difference.see(x.low ^ y.low, i * 16);
      difference.see(x.high ^ y.high, i * 16 + 8);
    }
    whole = pairs * 16;
  } else {
    u64 words = size / 8;
#pragma unroll 4
    for (u64 i = thread; i < words; i += threads) difference.see(load_word(a + i * 8) ^ load_word(b + i * 8), i * 8);
    whole = words * 8;
  }
  for (u64 i = whole + thread; i < size; i += threads) difference.see(a[i] ^ b[i], i);
  difference.add_to(result);
  tell(result, told);
}

static constexpr u64 kPrime1 = 0x9e3779b185ebca87ull;
static constexpr u64 kPrime2 = 0xc2b2ae3d27d4eb4full;
static constexpr u64 kPrime3 = 0x165667b19e3779f9ull;

// A word is mixed by itself before it meets the state: else a difference of its highest bits alone (a sign) would become one of a
// few high bits of the state, which the next word could cancel.
MNEME_DEVICE u64 round_of(u64 state, u64 word) {
  word *= kPrime2;
  word ^= word >> 32;
  state += word;
  state = state << 31 | state >> 33;
  return state * kPrime1;
}

MNEME_DEVICE u64 avalanche(u64 h) {
  h ^= h >> 33;
  h *= kPrime2;
  h ^= h >> 29;
  h *= kPrime3;
  return h ^ h >> 32;
}

// hashes[first + i] becomes the hash of page i of [from, from+size). Where `expected` is not null it is compared with
// expected[first + i], and differences go to the result as those of the two arrays would by mneme_compare(). The words of a page
// are dealt to the block's threads two by two; each thread's sequence runs through its own state, which starts from the thread's
// number and ends in an avalanche, so that both the place and the order of every word count. The sum of the states is the hash:
// it depends on the page's bytes, its length and the block size, and not on its address.
MNEME_KERNEL void mneme_hash_pages(u64* hashes, const u8* from, u64 size, u64 page, u64 pages, u64 first, const u64* expected,
                                   u64* result, u64* told) {
  u64 thread = thread_in_block();
  u64 step = threads_in_block();
  for (u64 p = block_in_grid(); p < pages; p += blocks_in_grid()) {
    const u8* begin = from + p * page;
    u64 bytes = size - p * page < page ? size - p * page : page;
    u64 pairs = bytes / 16;
    u64 state = avalanche((thread + 1) * kPrime1) + bytes;
    if (((u64)begin & 15) == 0) {
      const Pair* source = (const Pair*)begin;
      u64 i = thread;
      for (; i + 3 * step < pairs; i += 4 * step) {
        Pair x[4];
        for (int k = 0; k < 4; ++k) x[k] = source[i + k * step];
        for (int k = 0; k < 4; ++k) state = round_of(round_of(state, x[k].low), x[k].high);
      }
      for (; i < pairs; i += step) {
        Pair x = source[i];
        state = round_of(round_of(state, x.low), x.high);
      }
    } else {
#pragma unroll 4
      for (u64 i = thread; i < pairs; i += step)
        state = round_of(round_of(state, load_word(begin + i * 16)), load_word(begin + i * 16 + 8));
    }
    if (thread == 0) {
      unsigned rest = (unsigned)(bytes % 16);
      unsigned low = rest < 8 ? rest : 8;
      if (rest != 0)
        state = round_of(round_of(state, load_bytes(begin + pairs * 16, low)), load_bytes(begin + pairs * 16 + low, rest - low));
    }
    u64 index = first + p;
    if (!store_block_sum(&hashes[index], avalanche(state)) || expected == nullptr) continue;
    Difference difference;
    difference.see(hashes[index] ^ expected[index], index * 8);
    difference.add_to(result);
  }
  tell(result, told);
}

struct ListedCopy {
  u8* to;
  const u8* from;
  u64 size;
};

// The copies of a list, each by one block at a time.
MNEME_KERNEL void mneme_copy_listed(const ListedCopy* list, u64 count) {
  u64 thread = thread_in_block();
  u64 step = threads_in_block();
  for (u64 c = block_in_grid(); c < count; c += blocks_in_grid()) {
    ListedCopy copy = list[c];
    u64 whole = 0;  // bytes that the vector loop takes
    if ((((u64)copy.to | (u64)copy.from) & 15) == 0) {
      u64 pairs = copy.size / 16;
      Pair* to = (Pair*)copy.to;
      const Pair* from = (const Pair*)copy.from;
      u64 i = thread;
      for (; i + 3 * step < pairs; i += 4 * step) {
        Pair x[4];
        for (int k = 0; k < 4; ++k) x[k] = value_of(from[i + k * step]);
        for (int k = 0; k < 4; ++k) to[i + k * step] = value_of(x[k]);
      }
      for (; i < pairs; i += step) to[i] = from[i];
      whole = pairs * 16;
    }
    for (u64 i = whole + thread; i < copy.size; i += step) copy.to[i] = copy.from[i];
  }
}

struct AddressRange {
  u64 begin, size;
};

// Ranges of addresses that words may point into: in the order of their addresses, at least one, not overlapping.
struct Targets {
  const AddressRange* ranges;
  u64 count;
  u8* marks;
  u64 first, size;  // of all of them, with what lies between

  // Most words are no addresses, and end at the first comparison.
  MNEME_MEMBER void see(u64 word) const {
    if (word - first >= size) return;
    u64 low = 0, high = count;  // the last range that begins at or before the word is in [low, high)
    while (high - low > 1) {
      u64 middle = low + (high - low) / 2;
      if (ranges[middle].begin <= word)
        low = middle;
      else
        high = middle;
    }
    if (word - ranges[low].begin < ranges[low].size && marks[low] == 0) marks[low] = 1;
  }
};

// marks[i] becomes 1 where a word of the pieces is an address in targets[i]. A piece begins and ends at multiples of 8, and is
// read by one block.
MNEME_KERNEL void mneme_find_pointers(u8* marks, const AddressRange* targets, u64 target_count, const AddressRange* pieces,
                                      u64 piece_count) {
  u64 first = targets[0].begin;
  Targets all{targets, target_count, marks, first, targets[target_count - 1].begin + targets[target_count - 1].size - first};
  u64 thread = thread_in_block();
  u64 step = threads_in_block();
  for (u64 p = block_in_grid(); p < piece_count; p += blocks_in_grid()) {
    const u64* words = (const u64*)pieces[p].begin;
    u64 count = pieces[p].size / 8;
    u64 head = pieces[p].begin / 8 % 2;  // words before the first pair
    const Pair* source = (const Pair*)(words + head);
    u64 pairs = count == 0 ? 0 : (count - head) / 2;
    u64 i = thread;
    for (; i + 3 * step < pairs; i += 4 * step) {
      Pair x[4];
      for (int k = 0; k < 4; ++k) x[k] = source[i + k * step];
      for (int k = 0; k < 4; ++k) {
        all.see(x[k].low);
        all.see(x[k].high);
      }
    }
    for (; i < pairs; i += step) {
      Pair x = source[i];
      all.see(x.low);
      all.see(x.high);
    }
    if (thread == 0 && count != 0) {
      all.see(words[0]);
      all.see(words[count - 1]);
    }
  }
}

// A set of the bytes of a range has a bit for each: bit i of its byte k stands for byte 8 * k + i. `step` is given each byte
// of the set, where the bytes that it stands for begin in the range and how many there are, and gives the byte that replaces it.
template <typename Step>
MNEME_DEVICE void for_each_of_set(u8* set, u64 size, Step step) {
  u64 thread = (u64)block_in_grid() * threads_in_block() + thread_in_block();
  u64 threads = (u64)blocks_in_grid() * threads_in_block();
  for (u64 k = thread; 8 * k < size; k += threads) {
    u64 rest = size - 8 * k;
    set[k] = step(set[k], 8 * k, rest < 8 ? (unsigned)rest : 8);
  }
}

struct SelectBytes {
  const u8 *written, *read;
  MNEME_MEMBER u8 operator()(u8 bits, u64 begin, unsigned count) const {
    for (unsigned i = 0; i < count; ++i) {
      bool chosen = written[begin + i] != 0 && read[begin + i] == 0;
      bits = (u8)(chosen ? bits | 1u << i : bits & ~(1u << i));
    }
    return bits;
  }
};

struct DropWrongBytes {
  const u8 *actual, *expected;
  MNEME_MEMBER u8 operator()(u8 bits, u64 begin, unsigned count) const {
    for (unsigned i = 0; i < count; ++i)
      if (actual[begin + i] != expected[begin + i]) bits = (u8)(bits & ~(1u << i));
    return bits;
  }
};

struct ComplementBytes {
  u8* to;
  const u8* expected;
  MNEME_MEMBER u8 operator()(u8 bits, u64 begin, unsigned count) const {
    for (unsigned i = 0; i < count; ++i)
      if (bits >> i & 1) to[begin + i] = (u8)~expected[begin + i];
    return bits;
  }
};

// Each kernel is one ByteSetStep of device.h.
MNEME_KERNEL void mneme_select_bytes(u8* set, const u8* written, const u8* read, u64 size) {
  for_each_of_set(set, size, SelectBytes{written, read});
}
MNEME_KERNEL void mneme_drop_wrong_bytes(u8* set, const u8* actual, const u8* expected, u64 size) {
  for_each_of_set(set, size, DropWrongBytes{actual, expected});
}
MNEME_KERNEL void mneme_complement_bytes(u8* set, u8* to, const u8* expected, u64 size) {
  for_each_of_set(set, size, ComplementBytes{to, expected});
}
