#include "mneme/cpu/run/heap.h"

#include <gtest/gtest.h>

#include "mneme/cpu/run/testing/test_image.h"

namespace mneme::cpu {
namespace {

TEST(Heap, EndsAtItsLimit) {
  Heap heap;
  heap.set_limit(1_KiB);
  void* first = heap.allocate(500);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(heap.allocate(600), nullptr);
  void* second = heap.allocate(300);
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE(heap.free(first));
  first = heap.allocate(600);
  EXPECT_NE(first, nullptr) << "what was freed, and what was refused, is there again";
  EXPECT_TRUE(heap.free(first) && heap.free(second));
}

TEST(Heap, OneBlockMayTakeAllOfIt) {
  Heap heap;
  heap.set_limit(1_KiB);
  constexpr uint64_t kNoted = 16;  // before each block
  EXPECT_EQ(heap.allocate(1024 - kNoted + 1), nullptr);
  void* all = heap.allocate(1024 - kNoted);
  ASSERT_NE(all, nullptr);
  EXPECT_EQ(heap.allocate(1), nullptr);
  EXPECT_TRUE(heap.free(all));
}

TEST(Heap, RefusesWhatNoHeapHas) {
  Heap heap;
  EXPECT_EQ(heap.allocate(0), nullptr);
  EXPECT_EQ(heap.allocate(~uint64_t{0}), nullptr);
  EXPECT_EQ(heap.allocate(~uint64_t{0} - 16), nullptr);
  EXPECT_EQ(heap.allocate(Heap::kUsual.count), nullptr) << "what is noted of a block counts too";
  heap.set_limit(Bytes(8));
  EXPECT_EQ(heap.allocate(1), nullptr);
}

TEST(Heap, WhatTheMachineDoesNotHaveIsNotCounted) {
  Heap heap;
  heap.set_limit(Bytes(~uint64_t{0}));
  EXPECT_EQ(heap.allocate(uint64_t{1} << 62), nullptr);
  heap.set_limit(1_KiB);
  void* memory = heap.allocate(500);
  ASSERT_NE(memory, nullptr);
  EXPECT_TRUE(heap.free(memory));
}

TEST(Heap, WhatIsFreedIsThereAgainHoweverOften) {
  Heap heap;
  heap.set_limit(1_KiB);
  for (int i = 0; i < 1000; ++i) {
    void* block = heap.allocate(1000);
    ASSERT_NE(block, nullptr) << "the " << i << "th";
    EXPECT_TRUE(heap.free(block));
  }
}

TEST(Heap, FreesOnce) {
  Heap heap;
  alignas(16) char own[64] = {};
  EXPECT_FALSE(heap.free(own + 32));
}

TEST_F(ExecutorTest, AHeapIsNotMadeSmaller) {
  raise_heap(device_, 1_KiB);
  EXPECT_EQ(output("allocate_to_the_end", {.grid = {1, 1, 1}, .block = {1, 1, 1}}, 1, {.a = 1, .b = 1 << 20})[0], 1u);
}

// Nothing is touched, so that the machine need not have what would be allocated.
TEST_F(ExecutorTest, AKernelThatAllocatesWithoutEndGetsNoMore) {
  constexpr uint64_t kPiece = 256 << 20;
  auto allocated = [&] {
    return output("allocate_to_the_end", {.grid = {1, 1, 1}, .block = {1, 1, 1}}, 1, {.a = 100, .b = kPiece})[0];
  };
  EXPECT_EQ(allocated(), 3u);  // a GiB, less what is noted of each piece
  EXPECT_EQ(allocated(), 0u) << "what a kernel does not free stays";
  raise_heap(device_, 2_GiB);
  EXPECT_EQ(allocated(), 4u);
}

}  // namespace
}  // namespace mneme::cpu
