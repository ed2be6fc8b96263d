#include "mneme/cpu/run/texture_table.h"

#include <gtest/gtest.h>

namespace mneme::cpu {
namespace {

TEST(TextureTable, FindsWhatIsInIt) {
  TextureTable table;
  Texture texture;
  texture.level_bias = 3;
  const uint64_t first = table.add(texture), second = table.add(Surface{{}, {.width = 5}});
  EXPECT_NE(first, 0u);
  EXPECT_NE(first, second);
  EXPECT_EQ(std::get<Texture>(*table.find(first)).level_bias, 3);
  EXPECT_EQ(std::get<Surface>(*table.find(second)).grid.width, 5u);
  EXPECT_TRUE(table.remove(first));
  EXPECT_FALSE(table.remove(first));
  EXPECT_EQ(table.find(first), nullptr);
  EXPECT_NE(table.find(second), nullptr);
  for (uint64_t nothing : {uint64_t{0}, second + 1, TextureTable::kMost, ~uint64_t{0}}) {
    EXPECT_EQ(table.find(nothing), nullptr);
    EXPECT_FALSE(table.remove(nothing));
  }
}

TEST(TextureTable, HasRoomAgainForWhatWasRemoved) {
  TextureTable table;
  std::vector<uint64_t> handles;
  for (int i = 0; i < 3000; ++i) handles.push_back(table.add(Surface{{}, {.width = static_cast<uint32_t>(i)}}));
  EXPECT_EQ(std::get<Surface>(*table.find(handles[2999])).grid.width, 2999u);
  for (uint64_t handle : handles) EXPECT_TRUE(table.remove(handle));
  EXPECT_LE(table.add(Surface{}), 3000u);
}

TEST(TextureTable, GivesTheHandleThatIsWantedIfItIsFree) {
  TextureTable table;
  EXPECT_EQ(table.add(Surface{}, 5), 5u);
  const uint64_t other = table.add(Surface{}, 5);
  EXPECT_NE(other, 5u);
  EXPECT_NE(other, 0u);
  EXPECT_EQ(table.add(Surface{}, 3), 3u);
  EXPECT_LT(table.add(Surface{}, TextureTable::kMost), 10u) << "what is no handle cannot be had";
  std::set<uint64_t> rest;
  for (int i = 0; i < 10; ++i) rest.insert(table.add(Surface{}));
  EXPECT_EQ(rest.size(), 10u);
  EXPECT_TRUE(table.remove(5));
  EXPECT_EQ(table.add(Surface{}, 5), 5u);
}

}  // namespace
}  // namespace mneme::cpu
