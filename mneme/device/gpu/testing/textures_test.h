// TexturesTest: what the tests of textures on the devices of GPU vendors have in common: an array of 4 x 2 floats with a texture
// and a surface, and memory with its copy.
#pragma once

#include <numeric>

#include "mneme/device/device_textures.h"
#include "mneme/device/gpu/testing/device_test.h"

namespace mneme::gpu {

template <typename State>
class TexturesTest : public DeviceTest<State> {
 protected:
  static constexpr uint32_t kFloat = 0x20;

  using DeviceTest<State>::DeviceTest;

  // Once the device is in use. The handles are those that were recorded.
  void begin(uint64_t texture, uint64_t surface) {
    copy = *this->device->allocate(Bytes(4096));
    set_texels(std::vector<float>(8, 1));
    set.arrays = {{{4, 2, 0, {kFloat, 1}, ArrayShape::kSurface, 0}, copy}};
    set.objects.resize(2);
    set.objects[0].handle = texture;
    set.objects[1].handle = surface;
    set.objects[1].kind = TextureObject::Kind::surface;
  }
  void TearDown() override {
    textures.reset();
    EXPECT_EQ(this->state->arrays, 0);
    ASSERT_TRUE(this->device->free(copy).ok());
  }

  virtual void make() {
    auto made = this->device->create_textures(set);
    ASSERT_TRUE(made.ok()) << made.status().message();
    textures = std::move(*made);
  }
  void set_texels(const std::vector<float>& texels) {
    ASSERT_TRUE(this->stream->copy_to_device(copy, std::as_bytes(std::span(texels))).ok());
  }
  std::vector<float> copied(size_t count = 8) {
    std::vector<float> texels(count);
    EXPECT_TRUE(this->stream->copy_to_host(std::as_writable_bytes(std::span(texels)), copy).ok());
    return texels;
  }
  // What the array of an object holds.
  virtual float* texels(size_t object) = 0;

  void arrays_are_filled_and_what_surfaces_write_is_copied_back() {
    make();
    ASSERT_TRUE(textures->fill_arrays(*this->stream).ok());
    EXPECT_EQ(texels(0)[7], 1);
    texels(1)[7] = 5;
    ASSERT_TRUE(textures->copy_arrays(*this->stream).ok());
    EXPECT_EQ(copied()[7], 5);
    set_texels(std::vector<float>(8, 2));
    ASSERT_TRUE(textures->fill_arrays(*this->stream).ok());
    EXPECT_EQ(texels(0)[7], 2);
  }

  void an_array_that_no_surface_writes_is_filled_once() {
    set.objects.pop_back();
    make();
    ASSERT_TRUE(textures->fill_arrays(*this->stream).ok());
    set_texels(std::vector<float>(8, 2));
    ASSERT_TRUE(textures->fill_arrays(*this->stream).ok());
    EXPECT_EQ(texels(0)[0], 1);
    texels(0)[0] = 5;
    ASSERT_TRUE(textures->copy_arrays(*this->stream).ok());
    EXPECT_EQ(copied()[0], 2);
  }

  // The surface is of the second level. Each element of the copy is its number.
  void make_with_two_levels() {
    set.arrays[0].shape.levels = 2;
    set.objects[0].source = TextureObject::Source::mipmapped;
    set.objects[1].level = 1;
    std::vector<float> all(128 + 2);
    std::iota(all.begin(), all.end(), 0.0f);
    set_texels(all);
    make();
  }

  // Textures of the copy: of 8 elements, and of 3 x 2 in rows of 16 bytes.
  void make_of_memory() {
    for (TextureObject& object : set.objects) {
      object.kind = TextureObject::Kind::texture;
      object.memory = {copy, Bytes(32)};
      object.texel = {kFloat, 1};
    }
    set.objects[0].source = TextureObject::Source::linear;
    set.objects[1].source = TextureObject::Source::pitched;
    set.objects[1].width = 3, set.objects[1].height = 2, set.objects[1].pitch = 16;
    set.arrays.clear();
    make();
  }

  DevicePtr copy;
  TextureSet set;
  std::unique_ptr<DeviceTextures> textures;
};

}  // namespace mneme::gpu
