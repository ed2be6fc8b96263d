// Textures on the CUDA backend, over the driver made for tests.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "mneme/device/cuda/cuda_device.h"
#include "mneme/device/cuda/fake_driver.h"

namespace mneme::cuda {
namespace {

constexpr const char* kFakeLibrary = MNEME_FAKE_CUDA_LIBRARY;
constexpr uint32_t kFloat = 0x20;

// An array of 4 x 2 floats with a texture and a surface, and memory with its copy.
class CudaTexturesTest : public testing::Test {
 protected:
  void SetUp() override {
    void* handle = dlopen(kFakeLibrary, RTLD_NOW);
    ASSERT_NE(handle, nullptr) << dlerror();
    state = reinterpret_cast<FakeDriverStateFunction>(dlsym(handle, "mneme_fake_driver_state"))();
    *state = FakeDriverState();
    device = *open_device(0, {kFakeLibrary, {}, "libnvidia-ml-that-is-not-there.so"});
    stream = *device->create_stream();
    copy = *device->allocate(Bytes(4096));
    set_texels(std::vector<float>(8, 1));
    set.arrays = {{{4, 2, 0, {kFloat, 1}, ArrayShape::kSurface, 0}, copy}};
    set.objects.resize(2);
    set.objects[0].handle = 79;
    set.objects[1].handle = 81;
    set.objects[1].kind = TextureObject::Kind::surface;
  }
  void TearDown() override {
    textures.reset();
    EXPECT_EQ(state->arrays, 0);
    EXPECT_TRUE(state->textures.empty());
    ASSERT_TRUE(device->free(copy).ok());
  }

  void make() {
    auto made = device->create_textures(set);
    ASSERT_TRUE(made.ok()) << made.status().message();
    textures = std::move(*made);
  }
  void set_texels(const std::vector<float>& texels) {
    ASSERT_TRUE(stream->copy_to_device(copy, std::as_bytes(std::span(texels))).ok());
  }
  std::vector<float> copied() {
    std::vector<float> texels(8);
    EXPECT_TRUE(stream->copy_to_host(std::as_writable_bytes(std::span(texels)), copy).ok());
    return texels;
  }
  // What the array of an object holds.
  float* texels(uint64_t handle) { return reinterpret_cast<float*>(state->textures.at(handle).texels->data()); }

  FakeDriverState* state = nullptr;
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  DevicePtr copy;
  TextureSet set;
  std::unique_ptr<DeviceTextures> textures;
};

TEST_F(CudaTexturesTest, HaveTheRecordedHandlesWhereTheDriverGivesThem) {
  make();
  EXPECT_EQ(textures->handles(), (std::vector<uint64_t>{79, 81}));
  EXPECT_EQ(state->textures.size(), 2u) << "those that were passed are gone";
  EXPECT_TRUE(state->textures.at(81).surface);
}

TEST_F(CudaTexturesTest, HaveOthersWhereTheDriverDoesNot) {
  state->first_texture = 80;
  make();
  EXPECT_EQ(textures->handles(), (std::vector<uint64_t>{80, 81}));
  EXPECT_EQ(state->textures.size(), 2u);
}

TEST_F(CudaTexturesTest, ArraysAreFilledAndWhatSurfacesWriteIsCopiedBack) {
  make();
  ASSERT_TRUE(textures->fill_arrays(*stream).ok());
  EXPECT_EQ(texels(79)[7], 1);
  texels(81)[7] = 5;
  ASSERT_TRUE(textures->copy_arrays(*stream).ok());
  EXPECT_EQ(copied()[7], 5);
  set_texels(std::vector<float>(8, 2));
  ASSERT_TRUE(textures->fill_arrays(*stream).ok());
  EXPECT_EQ(texels(79)[7], 2);
}

TEST_F(CudaTexturesTest, AnArrayThatNoSurfaceWritesIsFilledOnce) {
  set.objects.pop_back();
  make();
  ASSERT_TRUE(textures->fill_arrays(*stream).ok());
  set_texels(std::vector<float>(8, 2));
  ASSERT_TRUE(textures->fill_arrays(*stream).ok());
  EXPECT_EQ(texels(79)[0], 1);
  texels(79)[0] = 5;
  ASSERT_TRUE(textures->copy_arrays(*stream).ok());
  EXPECT_EQ(copied()[0], 2);
}

TEST_F(CudaTexturesTest, LevelsHaveTheirPlacesInTheCopy) {
  set.arrays[0].shape.levels = 2;
  set.objects[0].source = TextureObject::Source::mipmapped;
  set.objects[1].level = 1;
  std::vector<float> all(128 + 2);
  std::iota(all.begin(), all.end(), 0.0f);
  set_texels(all);
  make();
  EXPECT_EQ(state->textures.at(79).resource.resType, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
  ASSERT_TRUE(textures->fill_arrays(*stream).ok());
  EXPECT_EQ(texels(81)[1], 129);
}

TEST_F(CudaTexturesTest, ReadMemoryWhereItLies) {
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
  EXPECT_EQ(state->textures.at(79).resource.res.linear.devPtr, copy.address);
  EXPECT_EQ(state->textures.at(79).resource.res.linear.sizeInBytes, 32u);
  const auto& rows = state->textures.at(81).resource.res.pitch2D;
  EXPECT_EQ(rows.width, 3u);
  EXPECT_EQ(rows.height, 2u);
  EXPECT_EQ(rows.pitchInBytes, 16u);
}

TEST_F(CudaTexturesTest, WhatTheDriverRefusesLeavesNothing) {
  const auto refusal = [&](const char* function) {
    state->fail_function = function;
    state->fail_after = 0;
    state->fail_result = CUDA_ERROR_INVALID_VALUE;
    return device->create_textures(set).status().to_string();
  };
  EXPECT_EQ(refusal("cuArray3DCreate_v2"),
            "invalid_argument: cuArray3DCreate(4 x 2 x 0 texels of format 0x20 with 1 channels, flags 0x2, 1 levels): "
            "CUDA_ERROR_INVALID_VALUE (words of the driver)");
  EXPECT_EQ(refusal("cuSurfObjectCreate"),
            "invalid_argument: cuSurfObjectCreate, of the recorded 0x51: CUDA_ERROR_INVALID_VALUE (words of the driver)");
  set.arrays[0].shape.levels = 2;
  EXPECT_EQ(refusal("cuMipmappedArrayGetLevel"),
            "invalid_argument: cuMipmappedArrayGetLevel(0): CUDA_ERROR_INVALID_VALUE (words of the driver)");
}

}  // namespace
}  // namespace mneme::cuda
