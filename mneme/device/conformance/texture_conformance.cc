// Arrays: what is in memory comes into them and out again, whatever their shape.
#include <random>

#include "mneme/device/conformance/conformance.h"

namespace mneme::conformance {
namespace {

constexpr uint32_t kByte = 0x01, kFloat = 0x20;
constexpr uint32_t kSurface = ArrayShape::kSurface;

class TextureConformance : public Conformance {
 protected:
  // A surface of an array of this shape, of which `copy` is the copy.
  static TextureSet surface_of(const ArrayShape& shape, DevicePtr copy) {
    TextureSet set;
    set.arrays = {{shape, copy}};
    set.objects.resize(1);
    set.objects[0].kind = TextureObject::Kind::surface;
    set.objects[0].handle = 5;
    return set;
  }

  // False: the device has no such arrays.
  bool goes_in_and_comes_out(const ArrayShape& shape) {
    std::vector<uint8_t> content(copy_size(shape).count);
    std::mt19937_64 random(content.size());
    for (uint8_t& byte : content) byte = static_cast<uint8_t>(random());
    const DevicePtr copy = upload(content);
    auto textures = device_->create_textures(surface_of(shape, copy));
    if (textures.status().code() == Code::unsupported) return false;
    EXPECT_TRUE(textures.ok()) << textures.status().to_string();
    if (!textures.ok()) return true;
    EXPECT_EQ((*textures)->handles().size(), 1u);
    EXPECT_TRUE((*textures)->fill_arrays(*stream_).ok());
    if (!target().arrays_are_memory) {
      EXPECT_TRUE(stream_->fill(copy, std::byte{0}, Bytes(content.size())).ok());
    }
    const Status copied = (*textures)->copy_arrays(*stream_);
    EXPECT_TRUE(copied.ok()) << copied.to_string();
    const std::vector<uint8_t> now = download<uint8_t>(copy, content.size());
    const std::vector<ArrayLevel> levels = levels_of(shape);
    for (size_t i = 0; i < levels.size(); ++i)
      EXPECT_EQ(std::memcmp(&now[levels[i].begin], &content[levels[i].begin], levels[i].size().count), 0) << "level " << i;
    return true;
  }
  void each_goes_in_and_comes_out(std::initializer_list<ArrayShape> shapes) {
    bool any = false;
    for (const ArrayShape& shape : shapes) {
      SCOPED_TRACE(fmt::format("{} x {} x {}, format {:#x} x {}, flags {}, {} levels", shape.width, shape.height, shape.depth,
                               shape.texel.format, shape.texel.channels, shape.flags, shape.levels));
      any = goes_in_and_comes_out(shape) || any;
    }
    if (!any) GTEST_SKIP() << "the device has no such arrays";
  }
};

TEST_F(TextureConformance, ArraysOfOneTwoAndThreeDimensions) {
  each_goes_in_and_comes_out({{1, 0, 0, {kFloat, 1}, kSurface, 0},
                              {1000, 0, 0, {kFloat, 1}, kSurface, 0},
                              {64, 64, 0, {kFloat, 1}, kSurface, 0},
                              {37, 5, 0, {kFloat, 2}, kSurface, 0},
                              {16, 8, 4, {kFloat, 4}, kSurface, 0},
                              {3, 3, 3, {kFloat, 1}, kSurface, 0}});
}
TEST_F(TextureConformance, ArraysOfBytes) {
  each_goes_in_and_comes_out({{64, 64, 0, {kByte, 1}, kSurface, 0}, {7, 3, 0, {kByte, 4}, kSurface, 0}});
}
TEST_F(TextureConformance, ArraysWithLayers) {
  each_goes_in_and_comes_out({{32, 16, 5, {kFloat, 1}, kSurface | ArrayShape::kLayered, 0}});
}
TEST_F(TextureConformance, ArraysOfTheFacesOfACube) {
  each_goes_in_and_comes_out({{16, 16, 6, {kFloat, 1}, kSurface | ArrayShape::kCubemap, 0}});
}
TEST_F(TextureConformance, ArraysWithLevels) { each_goes_in_and_comes_out({{32, 16, 0, {kFloat, 1}, kSurface, 4}}); }

}  // namespace
}  // namespace mneme::conformance
