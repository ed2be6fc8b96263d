#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "mneme/device/cuda/memory_kernels_host.h"

namespace mneme::cuda {
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
  host::run(blocks, kThreads, [&] { host::mneme_compare(a, b, size, result); });
  return {result[0], result[1]};
}

std::vector<u64> hash(const u8* from, u64 size, u64 page, unsigned blocks) {
  u64 pages = (size + page - 1) / page;
  std::vector<u64> hashes(pages, 0);
  host::run(blocks, kThreads, [&] { host::mneme_hash_pages(hashes.data(), from, size, page, pages); });
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

TEST(MemoryKernels, TheLastPageMayBeShort) {
  std::vector<u8> bytes = random_bytes(10000);
  std::vector<u64> hashes = hash(bytes.data(), bytes.size(), 4096, 2);
  ASSERT_EQ(hashes.size(), 3u);
  EXPECT_EQ(hashes[2], hash(bytes.data() + 8192, 10000 - 8192, 4096, 1)[0]);
}

}  // namespace
}  // namespace mneme::cuda
