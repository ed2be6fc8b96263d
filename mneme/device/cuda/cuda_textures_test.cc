// Textures on the CUDA backend, over the driver made for tests.
#include "mneme/device/cuda/cuda_device.h"
#include "mneme/device/cuda/fake_driver.h"
#include "mneme/device/gpu/testing/textures_test.h"

namespace mneme::cuda {
namespace {

constexpr const char* kFakeLibrary = MNEME_FAKE_CUDA_LIBRARY;

class CudaTexturesTest : public gpu::TexturesTest<FakeDriverState> {
 protected:
  CudaTexturesTest() : TexturesTest(kFakeLibrary, "mneme_fake_driver_state") {}

  void SetUp() override {
    TexturesTest::SetUp();
    use(open_device(0, {kFakeLibrary, {}, "libnvidia-ml-that-is-not-there.so"}));
    begin(79, 81);
  }
  void TearDown() override {
    TexturesTest::TearDown();
    EXPECT_TRUE(state->textures.empty());
  }
  float* texels(size_t object) override {
    return reinterpret_cast<float*>(state->textures.at(textures->handles().at(object)).texels->data());
  }
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
  arrays_are_filled_and_what_surfaces_write_is_copied_back();
}

TEST_F(CudaTexturesTest, AnArrayThatNoSurfaceWritesIsFilledOnce) { an_array_that_no_surface_writes_is_filled_once(); }

TEST_F(CudaTexturesTest, LevelsHaveTheirPlacesInTheCopy) {
  make_with_two_levels();
  EXPECT_EQ(state->textures.at(79).resource.resType, CU_RESOURCE_TYPE_MIPMAPPED_ARRAY);
  ASSERT_TRUE(textures->fill_arrays(*stream).ok());
  EXPECT_EQ(texels(1)[1], 129);
}

TEST_F(CudaTexturesTest, ReadMemoryWhereItLies) {
  make_of_memory();
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
