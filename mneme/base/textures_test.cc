#include "mneme/base/textures.h"

#include <gtest/gtest.h>

#include <cstring>

namespace mneme {
namespace {

constexpr uint32_t kFloat = 0x20, kHalf = 0x10, kByte = 0x01, kCompressed = 0x91;

TEST(Textures, TexelsHaveTheSizeOfTheirChannels) {
  EXPECT_EQ((TexelLayout{kFloat, 4}.texel_size()), Bytes(16));
  EXPECT_EQ((TexelLayout{kHalf, 2}.texel_size()), Bytes(4));
  EXPECT_EQ((TexelLayout{kByte, 1}.texel_size()), Bytes(1));
  EXPECT_EQ((TexelLayout{kFloat, 3}.texel_size()), std::nullopt);
  EXPECT_EQ((TexelLayout{kCompressed, 4}.texel_size()), std::nullopt);
}

TEST(Textures, LevelsFollowEachOtherInACopy) {
  const std::vector<ArrayLevel> levels = levels_of({10, 4, 0, {kFloat, 1}, 0, 3});
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_EQ(levels[0].row, Bytes(40));
  EXPECT_EQ(levels[0].size(), Bytes(160));
  EXPECT_EQ(levels[1].width, 5u);
  EXPECT_EQ(levels[1].begin, 512u);
  EXPECT_EQ(levels[2].height, 1u);
  EXPECT_EQ(levels[2].begin, 1024u);
  EXPECT_EQ(copy_size({10, 4, 0, {kFloat, 1}, 0, 3}), Bytes(1024 + 8));
}

TEST(Textures, LayersAreNotHalved) {
  EXPECT_EQ(levels_of({8, 8, 6, {kByte, 1}, ArrayShape::kCubemap, 2})[1].slices, 6u);
  EXPECT_EQ(levels_of({8, 8, 6, {kByte, 1}, 0, 2})[1].slices, 3u);
  EXPECT_EQ(levels_of({8, 0, 5, {kByte, 1}, ArrayShape::kLayered, 0})[0].size(), Bytes(40));
}

TEST(Textures, WhatIsNoArrayHasNoLevels) {
  EXPECT_TRUE(levels_of({}).empty());
  EXPECT_TRUE(levels_of({uint64_t{1} << 40, 1, 1, {kFloat, 1}, 0, 0}).empty());
  EXPECT_TRUE(levels_of({8, 8, 0, {kFloat, 1}, 0, 5}).empty());
  EXPECT_TRUE(levels_of({8, 8, 0, {kFloat, 1}, 0x40, 0}).empty()) << "sparse";
}

TEST(Textures, OnlyASurfaceWritesAnArray) {
  TextureSet textures;
  textures.arrays.resize(2);
  textures.objects.resize(2);
  textures.objects[1].kind = TextureObject::Kind::surface;
  textures.objects[1].array = 1;
  EXPECT_FALSE(textures.writes(0));
  EXPECT_TRUE(textures.writes(1));
}

TEST(Textures, HandlesAreReplacedWhereTheyStand) {
  TextureSet textures;
  textures.objects.resize(2);
  textures.objects[0].handle = 3;
  textures.objects[1].handle = 4;
  const std::vector<uint64_t> before = {4, 7, 3, 3};
  ByteVector parameters(36);
  std::memcpy(parameters.data(), before.data(), 32);
  parameters[32] = std::byte{3};  // of four bytes
  ASSERT_TRUE(replace_handles(parameters, textures, {30, 40}).ok());
  std::vector<uint64_t> after(4);
  std::memcpy(after.data(), parameters.data(), 32);
  EXPECT_EQ(after, (std::vector<uint64_t>{40, 7, 30, 30}));
  EXPECT_EQ(parameters[32], std::byte{3});
}

TEST(Textures, AHandleOfTwoKindsIsReplacedWhereThatIsOneValue) {
  TextureSet textures;
  textures.objects.resize(2);
  for (TextureObject& object : textures.objects) object.handle = 3;
  textures.objects[1].kind = TextureObject::Kind::surface;
  const uint64_t before[] = {7, 3};
  ByteVector parameters(16);
  std::memcpy(parameters.data(), before, 16);
  EXPECT_TRUE(replace_handles(parameters, textures, {30, 30}).ok());
  std::memcpy(parameters.data(), before, 16);
  const Status status = replace_handles(parameters, textures, {30, 40});
  EXPECT_EQ(status.code(), Code::unsupported);
  EXPECT_EQ(
      status.message(),
      "the parameter at byte 8 is 3, the handle of a texture and of a surface, which are 30 and 40 in this process: which of "
      "them it is, the recording does not tell; another process may get the recorded ones");
}

}  // namespace
}  // namespace mneme
