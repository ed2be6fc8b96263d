#include "mneme/cpu/run/cpu_textures.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>

namespace mneme::cpu {
namespace {

constexpr uint32_t kFloat = 0x20, kUnsigned8 = 0x01, kSigned16 = 0x09, kHalf = 0x10, kNormalized8 = 0xc2, kCompressed = 0x91;
constexpr uint32_t kWrap = 0, kMirror = 2, kBorder = 3, kLinear = 1;

// An array of 4 x 4 floats with two levels, each texel its number, with a texture of it, and what else is of it.
struct Made {
  std::vector<float> copy = std::vector<float>(128 + 4);
  TextureSet textures;
  TextureTable table;
  std::unique_ptr<CpuTextures> made;

  Made() {
    for (size_t i = 0; i < copy.size(); ++i) copy[i] = static_cast<float>(i);
    textures.arrays = {{{4, 4, 0, {kFloat, 1}, 0, 2}, DevicePtr(reinterpret_cast<uint64_t>(copy.data()))}};
    textures.objects.resize(1);
    textures.objects[0].handle = 7;
    textures.objects[0].sampling.flags = TextureSampling::kReadAsInteger;
  }
  TextureObject& object() { return textures.objects[0]; }
  Status make() {
    auto result = CpuTextures::create(table, textures);
    if (result.ok()) made = std::move(*result);
    return result.status();
  }
  Texture texture() { return std::get<Texture>(*table.find(7)); }
};

TEST(CpuTextures, HaveTheRecordedHandles) {
  Made made;
  ASSERT_TRUE(made.make().ok());
  EXPECT_EQ(made.made->handles(), std::vector<uint64_t>{7});
  auto others = CpuTextures::create(made.table, made.textures);
  EXPECT_NE((*others)->handles().front(), 7u) << "it is another's";
  others->reset();
  made.made.reset();
  EXPECT_EQ(made.table.find(7), nullptr);
}

TEST(CpuTextures, AnArrayIsTheMemoryOfItsCopy) {
  Made made;
  TextureObject surface = made.object();
  surface.kind = TextureObject::Kind::surface;
  surface.handle = 8;
  surface.level = 1;
  made.textures.objects.push_back(surface);
  made.object().source = TextureObject::Source::mipmapped;
  ASSERT_TRUE(made.make().ok());
  const Texture texture = made.texture();
  ASSERT_EQ(texture.levels.size(), 2u);
  EXPECT_EQ(texture.levels[0].row(1, 0), reinterpret_cast<std::byte*>(&made.copy[4]));
  EXPECT_EQ(texture.levels[1].row(1, 0), reinterpret_cast<std::byte*>(&made.copy[128 + 2]));
  EXPECT_EQ(std::get<Surface>(*made.table.find(8)).grid.texels, texture.levels[1].texels);
}

TEST(CpuTextures, AreSampledAsDescribed) {
  Made made;
  made.object().sampling = {
      {kWrap, kMirror, kBorder}, kLinear, TextureSampling::kNormalizedCoordinates, 0, kLinear, 1, 2, 3, {5, 6, 7, 8}};
  made.object().source = TextureObject::Source::mipmapped;
  ASSERT_TRUE(made.make().ok());
  const Texture texture = made.texture();
  EXPECT_EQ(texture.address[0], AddressMode::wrap);
  EXPECT_EQ(texture.address[1], AddressMode::mirror);
  EXPECT_EQ(texture.address[2], AddressMode::border);
  EXPECT_EQ(texture.filter, FilterMode::linear);
  EXPECT_EQ(texture.level_filter, FilterMode::linear);
  EXPECT_TRUE(texture.normalized_coordinates);
  EXPECT_FALSE(texture.normalized_values);
  EXPECT_EQ(texture.level_bias, 1);
  EXPECT_EQ(texture.least_level, 2);
  EXPECT_EQ(texture.greatest_level, 3);
  EXPECT_EQ(texture.border[0], std::bit_cast<uint32_t>(5.0f));
}

TEST(CpuTextures, KnowTheFormatsThatTheDeviceHas) {
  const auto format_of = [](TexelLayout layout, uint32_t flags) {
    Made made;
    made.object().source = TextureObject::Source::linear;
    made.object().memory = {made.textures.arrays[0].copy, Bytes(64)};
    made.object().texel = layout;
    made.object().sampling.flags = flags;
    EXPECT_TRUE(made.make().ok());
    return made.texture();
  };
  EXPECT_EQ(format_of({kUnsigned8, 4}, 0).format, (TexelFormat{TexelKind::unsigned_integer, 8, 4}));
  EXPECT_EQ(format_of({kSigned16, 2}, 0).format, (TexelFormat{TexelKind::signed_integer, 16, 2}));
  EXPECT_EQ(format_of({kHalf, 1}, 0).format, (TexelFormat{TexelKind::real, 16, 1}));
  EXPECT_EQ(format_of({kUnsigned8, 4}, 0).levels[0].width, 16u);
  EXPECT_TRUE(format_of({kUnsigned8, 1}, 0).normalized_values);
  EXPECT_FALSE(format_of({kUnsigned8, 1}, TextureSampling::kReadAsInteger).normalized_values);
  EXPECT_TRUE(format_of({kNormalized8, 4}, TextureSampling::kReadAsInteger).normalized_values);
  EXPECT_TRUE(format_of({kUnsigned8, 4}, TextureSampling::kSrgb).srgb);
  EXPECT_FALSE(format_of({kFloat, 4}, TextureSampling::kSrgb).srgb);
}

TEST(CpuTextures, ReadRowsOfMemory) {
  Made made;
  made.object().source = TextureObject::Source::pitched;
  made.object().memory = {made.textures.arrays[0].copy, Bytes(64)};
  made.object().texel = {kFloat, 1};
  made.object().width = 3, made.object().height = 2, made.object().pitch = 16;
  ASSERT_TRUE(made.make().ok());
  const TexelGrid grid = made.texture().levels.at(0);
  EXPECT_EQ(grid.width, 3u);
  EXPECT_EQ(grid.height, 2u);
  EXPECT_EQ(grid.row(1, 0), reinterpret_cast<std::byte*>(&made.copy[4]));
}

TEST(CpuTextures, RefuseWhatTheDeviceDoesNotHave) {
  const auto refusal = [](const std::function<void(TextureObject&)>& change) {
    Made made;
    change(made.object());
    const Status status = made.make();
    EXPECT_EQ(made.table.find(7), nullptr);
    return status.to_string();
  };
  const std::string refused =
      "unsupported: views of a texture's resource, seamless cubemaps and anisotropic filters are not available on the CPU device";
  EXPECT_EQ(refusal([](TextureObject& o) { o.view.emplace(); }), refused);
  EXPECT_EQ(refusal([](TextureObject& o) { o.sampling.flags = TextureSampling::kSeamlessCubemap; }), refused);
  EXPECT_EQ(refusal([](TextureObject& o) { o.source = TextureObject::Source::mipmapped, o.sampling.anisotropy = 2; }), refused);
  EXPECT_EQ(refusal([](TextureObject& o) { o.source = TextureObject::Source::linear, o.texel = {kCompressed, 4}; }),
            "unsupported: texels of format 0x91 are not available on the CPU device");
}

}  // namespace
}  // namespace mneme::cpu
