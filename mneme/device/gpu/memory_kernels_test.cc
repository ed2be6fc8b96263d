#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "mneme/device/gpu/memory_kernels_host.h"

namespace mneme::gpu {
namespace {

using host::u64;
using host::u8;

constexpr unsigned kThreads = 64;

std::vector<u8> random_bytes(size_t size, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::vector<u8> bytes(size);
  for (u8& byte : bytes) byte = static_cast<u8>(generator());
  return bytes;
}

// A copy of `bytes` that begins `offset` bytes after a multiple of 16.
struct Placed {
  Placed(const std::vector<u8>& bytes, unsigned offset) : memory(bytes.size() + 32) {
    data = memory.data() + (16 - reinterpret_cast<u64>(memory.data()) % 16) % 16 + offset;
    std::copy(bytes.begin(), bytes.end(), data);
  }
  std::vector<u8> memory;
  u8* data;
};

struct Compared {
  u64 bytes, first;
};

Compared compare(const u8* a, const u8* b, u64 size, unsigned blocks = 3) {
  u64 result[2] = {0, ~0ull};
  host::run(blocks, kThreads, [&] { host::mneme_compare(a, b, size, result, nullptr); });
  return {result[0], result[1]};
}

std::vector<u64> hash(const u8* from, u64 size, u64 page, unsigned blocks) {
  u64 pages = (size + page - 1) / page;
  std::vector<u64> hashes(pages, 1);  // whatever is there before
  host::run(blocks, kThreads,
            [&] { host::mneme_hash_pages(hashes.data(), from, size, page, pages, 0, nullptr, nullptr, nullptr); });
  return hashes;
}

TEST(MemoryKernels, CompareCountsAndPlacesDifferencesAtEveryAlignment) {
  for (size_t size : {1, 7, 8, 15, 16, 17, 100, 4096, 20011}) {
    std::vector<u8> bytes = random_bytes(size);
    for (unsigned offset_a : {0, 1, 4, 8, 13}) {
      for (unsigned offset_b : {0, 3, 4, 8}) {
        Placed a(bytes, offset_a), b(bytes, offset_b);
        // What stands around the ranges is not theirs.
        a.data[size] = 1;
        b.data[size] = 2;
        EXPECT_EQ(compare(a.data, b.data, size).bytes, 0u) << size << " " << offset_a << " " << offset_b;
        std::set<size_t> changed = {size - 1, size / 2, size / 3};
        for (size_t i : changed) b.data[i] ^= 0x10;
        Compared compared = compare(a.data, b.data, size);
        EXPECT_EQ(compared.bytes, changed.size()) << size << " " << offset_a << " " << offset_b;
        EXPECT_EQ(compared.first, *changed.begin()) << size << " " << offset_a << " " << offset_b;
      }
    }
  }
}

// What is told is of all launches since something was, and the next comparison begins anew.
TEST(MemoryKernels, WhatWasFoundIsToldByTheLastOfALaunch) {
  std::vector<u8> a = random_bytes(3000), b = a;
  for (size_t at : {5, 1700, 2999}) b[at] ^= 0x40;
  constexpr u64 kPage = 500, kPages = 6;
  std::vector<u64> hashes(kPages);
  const std::vector<u64> expected = hash(a.data(), a.size(), kPage, 2);
  u64 result[3] = {0, ~0ull, 0};
  for (unsigned blocks : {1u, 3u}) {
    for (int round = 0; round < 2; ++round) {
      u64 told[2] = {77, 77};
      const auto compare_half = [&](u64 begin, u64* tell) {
        host::run(blocks, kThreads, [&] { host::mneme_compare(a.data() + begin, b.data() + begin, 1500, result, tell); });
      };
      compare_half(0, nullptr);
      EXPECT_EQ(told[0], 77u);
      compare_half(1500, told);
      EXPECT_EQ(told[0], 3u);
      EXPECT_EQ(told[1], 5u);
      compare_half(1500, told);
      EXPECT_EQ(told[0], 2u);
      EXPECT_EQ(told[1], 200u);
      const auto check = [&](const std::vector<u8>& bytes) {
        host::run(blocks, kThreads, [&] {
          host::mneme_hash_pages(hashes.data(), bytes.data(), bytes.size(), kPage, kPages, 0, expected.data(), result, told);
        });
      };
      check(b);
      EXPECT_GT(told[0], 16u) << "of three hashes";
      EXPECT_EQ(told[1] / 8, 0u);
      check(a);
      EXPECT_EQ(told[0], 0u);
      EXPECT_EQ(told[1], ~0ull);
      EXPECT_EQ(std::vector<u64>(result, result + 3), (std::vector<u64>{0, ~0ull, 0}));
    }
  }
}

TEST(MemoryKernels, CompareCountsEveryBitPatternOfAByteOnce) {
  std::vector<u8> zeros(4096), all(4096);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<u8>(i);
  EXPECT_EQ(compare(zeros.data(), all.data(), all.size()).bytes, 4096u - 16u);
  EXPECT_EQ(compare(zeros.data(), all.data(), all.size()).first, 1u);
}

TEST(MemoryKernels, HashDependsOnTheBytesAndNotOnTheirAddressOrTheGrid) {
  std::vector<u8> bytes = random_bytes(40000);
  std::vector<u64> expected = hash(Placed(bytes, 0).data, bytes.size(), 4096, 2);
  for (unsigned offset : {1, 2, 7, 8, 12})
    EXPECT_EQ(hash(Placed(bytes, offset).data, bytes.size(), 4096, 10), expected) << offset;
  EXPECT_EQ(std::set<u64>(expected.begin(), expected.end()).size(), expected.size());
}

TEST(MemoryKernels, HashesAreComparedWithThoseThatAreExpected) {
  constexpr u64 kPage = 512, kPages = 20, kSize = kPages * kPage - 100;  // the last page is short
  std::vector<u8> bytes = random_bytes(kSize);
  const std::vector<u64> expected = hash(bytes.data(), kSize, kPage, 2);
  for (unsigned blocks : {1u, 3u, 20u}) {
    const auto check = [&](u64 first, u64 result[2]) {
      std::vector<u64> hashes(kPages, 1);
      host::run(blocks, kThreads, [&] {
        host::mneme_hash_pages(hashes.data(), bytes.data() + first * kPage, kSize - first * kPage, kPage, kPages - first, first,
                               expected.data(), result, nullptr);
      });
    };
    u64 equal[2] = {0, ~0ull};
    check(0, equal);
    check(3, equal);  // of the pages behind the third
    EXPECT_EQ(equal[0], 0u);
    EXPECT_EQ(equal[1], ~0ull);
    // Any bit of any page.
    for (u64 page = 0; page < kPages; ++page) {
      for (u64 bit : {u64{0}, u64{7}, 8 * 255 + 3 + page, u64{8 * 411}}) {
        bytes[page * kPage + bit / 8] ^= static_cast<u8>(1 << bit % 8);
        u64 different[2] = {0, ~0ull};
        check(0, different);
        EXPECT_GT(different[0], 0u) << page << " " << bit;
        EXPECT_LE(different[0], 8u) << page << " " << bit;
        EXPECT_EQ(different[1] / 8, page) << bit;
        u64 behind[2] = {0, ~0ull};
        check(3, behind);
        EXPECT_EQ(behind[0], page < 3 ? 0 : different[0]) << page << " " << bit;
        bytes[page * kPage + bit / 8] ^= static_cast<u8>(1 << bit % 8);
      }
    }
  }
}

TEST(MemoryKernels, HashSeesEveryByteAndEveryExchange) {
  constexpr size_t kSize = 4096 + 13;
  std::vector<u8> bytes = random_bytes(kSize);
  u64 before = hash(bytes.data(), kSize, kSize, 1)[0];
  std::set<u64> seen = {before};
  for (size_t i = 0; i < kSize; ++i) {
    bytes[i] ^= 1;
    EXPECT_TRUE(seen.insert(hash(bytes.data(), kSize, kSize, 1)[0]).second) << i;
    bytes[i] ^= 1;
  }
  for (size_t distance : {1, 8, 16, 1024, 2048}) {
    std::swap(bytes[5], bytes[5 + distance]);
    EXPECT_NE(hash(bytes.data(), kSize, kSize, 1)[0], before) << distance;
    std::swap(bytes[5], bytes[5 + distance]);
  }
}

TEST(MemoryKernels, HashTellsZerosOfDifferentLengthsApart) {
  std::vector<u8> zeros(8192);
  std::set<u64> seen;
  for (size_t size : {1, 2, 8, 16, 17, 4096, 8192}) EXPECT_TRUE(seen.insert(hash(zeros.data(), size, size, 1)[0]).second) << size;
}

// A page of the same number for every word, which nothing of its own sets apart.
std::vector<u64> equal_words(size_t count, u64 word) { return std::vector<u64>(count, word); }
u64 hash_words(const std::vector<u64>& words) {
  return hash(reinterpret_cast<const u8*>(words.data()), words.size() * 8, words.size() * 8, 1)[0];
}

// Variants of one page that differ from each other as wrong results do. Half of each hash must be as good as random: of n such
// halves some n * n / 2^33 pairs are equal by chance.
void expect_spread(const std::vector<std::vector<u64>>& variants, const char* what) {
  std::set<u64> low, high;
  for (const auto& words : variants) {
    const u64 h = hash_words(words);
    low.insert(h & 0xffffffff);
    high.insert(h >> 32);
  }
  const double n = static_cast<double>(variants.size()), chance = n * n / 8589934592.0;
  EXPECT_LE(n - static_cast<double>(low.size()), chance + 4) << what;
  EXPECT_LE(n - static_cast<double>(high.size()), chance + 4) << what;
}

TEST(MemoryKernels, HashTellsStructuredDifferencesApart) {
  constexpr size_t kWords = 512, kTop = 63;
  const u64 one = 0x3ff0000000000000ull;
  std::vector<std::vector<u64>> signs, pairs, exchanged, sums, rounded;
  for (size_t i = 0; i < kWords; ++i) {
    for (size_t j = i + 1; j < kWords; j += 7) {
      auto words = equal_words(kWords, one);
      words[i] ^= 1ull << kTop;
      words[j] ^= 1ull << kTop;
      signs.push_back(words);  // of two doubles
      words[i] ^= 1ull << 31;
      words[j] ^= 1ull << 31;
      pairs.push_back(words);  // of four floats
      words = equal_words(kWords, one);
      words[i] += 1;
      words[j] -= 1;
      sums.push_back(words);
      for (size_t k = 0; k < kWords; ++k) words[k] = k;
      std::swap(words[i], words[j]);
      exchanged.push_back(words);
    }
  }
  // Doubles that were made of floats have zeros in their lowest 29 bits.
  std::mt19937_64 random(3);
  for (int i = 0; i < 30000; ++i) {
    auto words = equal_words(kWords, one);
    words[2] ^= 1ull << kTop;
    words[3] = random() << 30;
    rounded.push_back(words);
  }
  expect_spread(signs, "signs of doubles");
  expect_spread(pairs, "signs of floats");
  expect_spread(sums, "one up, one down");
  expect_spread(exchanged, "two exchanged");
  expect_spread(rounded, "a sign, and a rounded word");
}

// What would cancel in a chain that does not mix words by themselves: after a sign, the next word is off by a constant that ends
// in 30 zeros.
TEST(MemoryKernels, NoConstantUndoesASign) {
  u64 inverse = 1;  // of kPrime2, by Newton's method
  for (int i = 0; i < 6; ++i) inverse *= 2 - host::kPrime2 * inverse;
  ASSERT_EQ(inverse * host::kPrime2, 1u);
  const u64 constant = (host::kPrime1 << 30) * inverse;
  for (u64 word : {u64{0}, u64{0x3ff0000000000000}, u64{0x4008000000000000}}) {
    const auto before = equal_words(512, word);
    for (u64 shift : {constant, 0 - constant}) {
      auto words = before;
      words[0] ^= 1ull << 63;
      words[1] += shift;
      EXPECT_NE(hash_words(words), hash_words(before));
    }
  }
}

TEST(MemoryKernels, ListedCopiesAreDoneAtAnyAlignment) {
  std::vector<u8> from = random_bytes(100000), to(100000), expected(100000);
  std::vector<host::ListedCopy> list;
  for (size_t i = 0, at = 0; at + 5000 < from.size(); ++i, at += 5000) {
    const size_t size = 97 * i + (i % 3) * 1000, shift = i % 4;
    list.push_back({to.data() + at + shift, from.data() + at, size});
    std::copy_n(from.begin() + static_cast<long>(at), size, expected.begin() + static_cast<long>(at + shift));
  }
  host::run(3, kThreads, [&] { host::mneme_copy_listed(list.data(), list.size()); });
  EXPECT_EQ(to, expected);
}

TEST(MemoryKernels, EveryWordOfEveryPieceIsLookedAtOnceAtLeast) {
  constexpr u64 kPointer = 0x7a0000000123;
  const host::AddressRange targets[] = {{0x10000, 8}, {0x7a0000000000, 0x1000}, {0x7b0000000000, 8}};
  for (size_t head : {0, 1}) {
    for (size_t count : {1, 2, 3, 63, 64, 127, 128, 129, 600, 1000}) {
      std::vector<u64> words(count + 4, 0);
      u64* first = words.data() + reinterpret_cast<u64>(words.data()) / 8 % 2 + head;
      first[count] = kPointer;  // behind the piece
      for (size_t i = 0; i < count; ++i) {
        u8 marks[3] = {};
        const host::AddressRange pieces[] = {{reinterpret_cast<u64>(first), 0}, {reinterpret_cast<u64>(first), count * 8}};
        const auto find = [&] { host::run(3, kThreads, [&] { host::mneme_find_pointers(marks, targets, 3, pieces, 2); }); };
        find();
        ASSERT_EQ(marks[0] + marks[1] + marks[2], 0) << count;
        first[i] = kPointer;
        find();
        first[i] = 0;
        ASSERT_EQ(marks[0] + marks[2], 0);
        ASSERT_EQ(marks[1], 1) << "word " << i << " of " << count << " behind " << head;
      }
    }
  }
}

TEST(MemoryKernels, TheLastPageMayBeShort) {
  std::vector<u8> bytes = random_bytes(10000);
  std::vector<u64> hashes = hash(bytes.data(), bytes.size(), 4096, 2);
  ASSERT_EQ(hashes.size(), 3u);
  EXPECT_EQ(hashes[2], hash(bytes.data() + 8192, 10000 - 8192, 4096, 1)[0]);
}

}  // namespace
}  // namespace mneme::gpu
