#include "mneme/process/wait_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace mneme {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(WaitSet, TellsWhatCanBeReadAndForNoTimeDoesNotWait) {
  auto set = WaitSet::create();
  ASSERT_TRUE(set.ok()) << set.status().to_string();
  std::array<Descriptor, 2> readers, writers;
  for (size_t i = 0; i < 2; ++i) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    readers[i] = Descriptor(ends[0]), writers[i] = Descriptor(ends[1]);
    ASSERT_TRUE(set->add(ends[0], uint64_t{7} << 40 | i).ok());
  }
  constexpr std::chrono::milliseconds kNone{0};
  std::vector<uint64_t> tags = {1, 2, 3};
  set->wait(kNone, tags);
  EXPECT_THAT(tags, IsEmpty());
  ASSERT_EQ(::write(writers[1].number(), "x", 1), 1);
  set->wait(std::nullopt, tags);
  EXPECT_THAT(tags, ElementsAre(uint64_t{7} << 40 | 1));
  set->remove(readers[1].number());
  set->wait(kNone, tags);
  EXPECT_THAT(tags, IsEmpty());
  writers[0].close();
  set->wait(std::nullopt, tags);
  EXPECT_THAT(tags, ElementsAre(uint64_t{7} << 40)) << "the other end is closed";
  EXPECT_EQ(set->add(-1, 0).code(), Code::io);
}

}  // namespace
}  // namespace mneme
