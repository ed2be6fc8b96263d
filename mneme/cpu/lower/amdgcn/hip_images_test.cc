// Textures and surfaces of HIP on the CPU device.
#include <gmock/gmock.h>

#include <array>
#include <bit>

#include "mneme/cpu/lower/amdgcn/image_functions.h"
#include "mneme/cpu/lower/amdgcn/testing/hip_test.h"
#include "mneme/cpu/run/cpu_device.h"

namespace mneme::cpu::amdgcn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class HipImages : public HipTest {
 protected:
  // A handle as HIP's headers take it, which is a pointer.
  uint64_t add(ImageObject object) { return textures(*device_).add(std::move(object)); }
};
INSTANTIATE_TEST_SUITE_P(Targets, HipImages, testing::ValuesIn(hip_targets()), target_name);

// 4 x 3 x 12 floats, each its place: x + 10 y + 100 z; and a level of less detail, all of which is -1.
struct Places {
  std::vector<float> texels, coarse = std::vector<float>(12, -1.0f);
  Texture texture;

  Places() {
    for (int z = 0; z < 12; ++z)
      for (int y = 0; y < 3; ++y)
        for (int x = 0; x < 4; ++x) texels.push_back(static_cast<float>(x + 10 * y + 100 * z));
    texture.levels = {{reinterpret_cast<std::byte*>(texels.data()), 4, 3, 12, 16, 48},
                      {reinterpret_cast<std::byte*>(coarse.data()), 1, 1, 12, 4, 4}};
    texture.greatest_level = 1;
  }
};

TEST_P(HipImages, AreSampledInEveryGeometry) {
  Places places;
  load("samples");
  std::vector<float> out(20, -7.0f);
  ASSERT_OK(run("samples", {}, add(places.texture), address(out.data())));
  EXPECT_THAT(std::vector(out.begin(), out.begin() + 5), ElementsAre(2, 21, 321, 203, 1113));
  EXPECT_EQ(out[5], 112) << "the middle of the second face";
  EXPECT_EQ(out[6], 1012) << "of the fifth face of the second cube";
  EXPECT_THAT(std::vector(out.begin() + 7, out.begin() + 17), testing::Each(-1.0f)) << "of the coarse level";
  EXPECT_THAT(std::vector(out.begin() + 17, out.end()), ElementsAre(3, 0, 0));
}

TEST_P(HipImages, GatherGivesAComponentOfFourTexels) {
  std::vector<std::array<float, 4>> texels;
  for (int i = 0; i < 12; ++i) texels.push_back({float(i), 100.0f + i, 200.0f + i, 300.0f + i});
  Texture texture;
  texture.format = {TexelKind::real, 32, 4};
  texture.levels = {{reinterpret_cast<std::byte*>(texels.data()), 4, 3, 1, 64, 192}};
  load("gathers");
  std::vector<std::array<float, 4>> out(4);
  ASSERT_OK(run("gathers", {}, add(texture), address(out.data())));
  EXPECT_THAT(out[0], ElementsAre(5, 6, 2, 1));
  EXPECT_THAT(out[3], ElementsAre(305, 306, 302, 301));
}

TEST_P(HipImages, SurfacesAreReadAndWrittenByTexels) {
  std::vector<std::array<float, 4>> texels(24);
  for (size_t i = 0; i < texels.size(); ++i) texels[i].fill(static_cast<float>(i));
  const Surface surface{{TexelKind::real, 32, 4}, {reinterpret_cast<std::byte*>(texels.data()), 4, 3, 2, 64, 192}};
  load("surfaces");
  std::vector<std::array<float, 4>> out(5, {-7, -7, -7, -7});
  ASSERT_OK(run("surfaces", {}, add(surface), address(out.data())));
  EXPECT_EQ(out[0][3], 9);
  EXPECT_EQ(out[1][0], 0) << "outside";
  EXPECT_EQ(out[2][0], 16);
  EXPECT_THAT(out[3], ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(out[4][0], 16) << "a face is a layer";
  EXPECT_THAT(texels[10], ElementsAre(18, 18, 18, 18));
  EXPECT_THAT(texels[7], testing::Each(7.0f)) << "a write outside of a row is none";
  EXPECT_THAT(texels[20], ElementsAre(7, 8, 9, 10));
  EXPECT_EQ(texels[19][0], 5);
}

TEST_P(HipImages, ThePlaceInARowIsInBytesOfTheFormat) {
  std::vector<std::array<uint16_t, 2>> pairs = {{0, 0}, {0, 0}, {0x3c00, 0xc000}, {0, 0}};  // 1 and -2
  const Surface surface{{TexelKind::real, 16, 2}, {reinterpret_cast<std::byte*>(pairs.data()), 4, 1, 1, 16, 16}};
  load("surface_of_pairs");
  std::array<float, 2> out{};
  ASSERT_OK(run("surface_of_pairs", {}, add(surface), address(&out)));
  EXPECT_THAT(out, ElementsAre(1, -2));
}

TEST_P(HipImages, ATextureThatThereIsNotEndsTheLaunch) {
  load("samples");
  std::vector<float> out(20);
  EXPECT_THAT(run("samples", {}, uint64_t{12345}, address(out.data())).to_string(),
              HasSubstr("a use of texture object 0x3039, which there is not"));
}

TEST_P(HipImages, SoDoesASurface) {
  load("surface_of_pairs");
  std::array<float, 2> out{};
  EXPECT_THAT(run("surface_of_pairs", {}, uint64_t{12345}, address(&out)).to_string(),
              HasSubstr("a use of image 0x3039, which there is not"));
}

// The headers take the layer of a surface for a level.
TEST_P(HipImages, LoadsOfALevelAreRefused) {
  EXPECT_THAT(compile("not_there").status().to_string(), HasSubstr("intrinsic 'llvm.amdgcn.image.load.mip.2d"));
}

TEST(ImageFunctions, AreKnownByNameAndType) {
  llvm::LLVMContext context;
  auto* const pointer = llvm::PointerType::get(context, 4);
  auto* const number = llvm::Type::getFloatTy(context);
  auto* const four = llvm::FixedVectorType::get(number, 4);
  const auto type = [](llvm::Type* result, std::vector<llvm::Type*> parameters) {
    return llvm::FunctionType::get(result, parameters, false);
  };
  EXPECT_TRUE(is_image_function("__ockl_image_sample_1D", *type(four, {pointer, pointer, number})));
  EXPECT_FALSE(is_image_function("__ockl_image_sample_2D", *type(four, {pointer, pointer, number})));
  EXPECT_FALSE(is_image_function("__ockl_image_sample_1D", *type(four, {pointer, pointer, pointer})));
  EXPECT_FALSE(is_image_function("__ockl_image_sample_1D", *type(four, {pointer, pointer})));
  EXPECT_FALSE(is_image_function("__ockl_image_sample_1D", *type(number, {pointer, pointer, number})));
  EXPECT_FALSE(is_image_function("__ockl_image_sampleh_1D", *type(four, {pointer, pointer, number})));
  EXPECT_FALSE(is_image_function("ockl_image_sample_1D", *type(four, {pointer, pointer, number})));
  EXPECT_FALSE(is_image_function("__ockl_image_", *type(four, {})));
}

}  // namespace
}  // namespace mneme::cpu::amdgcn
