#include "mneme/record/program_textures.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

using Object = ProgramTextures::Object;

class ProgramTexturesTest : public ::testing::Test {
 protected:
  static const void* handle(uintptr_t number) { return reinterpret_cast<const void*>(number); }
  static Object at(const TexturePlace& place) {
    Object object;
    object.place = place;
    return object;
  }
  const ArrayShape shape_{4, 2, 0, {0x20, 1}, ArrayShape::kSurface, 2};
  const void* const context_ = handle(0x100);
  const TexturePlace here_{0, context_}, there_{0, handle(0x200)}, elsewhere_{1, handle(0x300)};
  ProgramTextures textures_;
};

TEST_F(ProgramTexturesTest, ALevelIsOfItsMipmappedArray) {
  textures_.add_mipmapped({handle(1), shape_}, here_);
  textures_.add_level(handle(2), handle(1), 1, here_);
  Object object;
  ASSERT_TRUE(textures_.set_level(object, handle(2)));
  EXPECT_EQ(object.array.handle, handle(1));
  EXPECT_EQ(object.array.shape, shape_);
  EXPECT_EQ(object.object.level, 1u);
  EXPECT_FALSE(textures_.set_level(object, handle(3)));
}

TEST_F(ProgramTexturesTest, ArraysGoWithTheirContextAndDevice) {
  for (bool whole_device : {false, true}) {
    textures_.add_mipmapped({handle(1), shape_}, here_);
    textures_.add_level(handle(2), handle(1), 1, here_);
    textures_.add_foreign(handle(3), handle(4), here_);
    textures_.add_mipmapped({handle(5), shape_}, elsewhere_);
    textures_.add_level(handle(6), handle(5), 1, elsewhere_);
    whole_device ? textures_.forget_device(0) : textures_.forget_context(context_);
    Object object;
    EXPECT_FALSE(textures_.set_level(object, handle(2))) << "which may be another array by now";
    EXPECT_FALSE(textures_.set_level(object, handle(3)));
    textures_.set_mipmapped(object, handle(1));
    EXPECT_FALSE(object.is_recordable());
    EXPECT_TRUE(textures_.set_level(object, handle(6)));
    EXPECT_TRUE(object.is_recordable());
  }
}

TEST_F(ProgramTexturesTest, OneHandleIsAnObjectOfItsOwnInEachContext) {
  for (const TexturePlace& place : {here_, there_}) {
    Object object = at(place);
    object.object.handle = 7;
    textures_.add(object);
  }
  textures_.remove(TextureObject::Kind::texture, 7, there_);
  EXPECT_EQ(textures_.at(here_).size(), 1u);
  EXPECT_EQ(textures_.at(there_).size(), 0u);
}

TEST_F(ProgramTexturesTest, OnlyALaunchOfTheSameContextIsForbidden) {
  Object object = at(here_);
  object.object.kind = TextureObject::Kind::surface;
  ASSERT_FALSE(object.is_recordable());
  textures_.add(object);
  EXPECT_TRUE(textures_.forbids({}, here_));
  EXPECT_FALSE(textures_.forbids({}, there_));
}

TEST_F(ProgramTexturesTest, WhatIsOfAnotherInterfaceIsNotRecordableAndGoesWithIt) {
  textures_.add_foreign(handle(1), handle(9), here_);
  textures_.add_level(handle(2), handle(1), 0, here_);
  Object object = at(here_);
  ASSERT_TRUE(textures_.set_level(object, handle(2)));
  EXPECT_FALSE(object.is_recordable());
  textures_.add(object);
  textures_.forget(handle(9));
  EXPECT_TRUE(textures_.at(here_).empty());
  EXPECT_FALSE(textures_.set_level(object, handle(2)));
}

}  // namespace
}  // namespace mneme
