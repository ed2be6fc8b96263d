// States with textures and surfaces.
#include "mneme/snapshot/textures_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "mneme/snapshot/codec.h"
#include "mneme/snapshot/testing/each_member.h"

namespace mneme {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kFloat = 0x20;  // CU_AD_FORMAT_FLOAT

Region region_of(Region::Kind kind, uint64_t address, Bytes size) {
  Region region{kind, DevicePtr(address), size, "", {}};
  region.pages.resize(page_count(region.range()));
  return region;
}

// A surface of a level of a mipmapped array, and a texture of rows of memory.
StateDocument document_with_textures() {
  StateDocument document;
  TextureSet& textures = document.state.textures;
  const ArrayShape shape{16, 8, 0, {kFloat, 1}, ArrayShape::kSurface, 3};
  textures.arrays.push_back({shape, DevicePtr(0x20000)});
  TextureObject surface;
  surface.kind = TextureObject::Kind::surface;
  surface.handle = 5;
  surface.level = 2;
  TextureObject texture;
  texture.handle = 6;
  texture.source = TextureObject::Source::pitched;
  texture.memory = {DevicePtr(0x10000), Bytes(100)};
  texture.texel = {kFloat, 1};
  texture.width = texture.height = 4;
  texture.pitch = 16;
  texture.view.emplace().width = 3;
  textures.objects = {texture, surface};
  document.state.regions = {region_of(Region::Kind::allocation, 0x10000, Bytes(128)),
                            region_of(Region::Kind::array, 0x20000, copy_size(shape))};
  return document;
}

std::string refusal_of(const std::function<void(TextureSet&)>& change) {
  StateDocument document = document_with_textures();
  change(document.state.textures);
  return decode_state(encode_state(document), "s.mneme").status().message();
}

TEST(TexturesCodec, AStateWithThemIsOfANewerVersion) {
  const StateDocument document = document_with_textures();
  const ByteVector bytes = encode_state(document);
  EXPECT_EQ((FormatVersion{static_cast<uint16_t>(bytes[8]), static_cast<uint16_t>(bytes[10])}), (FormatVersion{5, 0}));
  EXPECT_EQ(*decode_state(bytes, "s.mneme"), document);
}

TEST(TexturesCodec, EveryMemberIsWrittenAndRead) {
  StateDocument document = document_with_textures();
  const ByteVector usual = encode_state(document);
  const auto see = [&](const std::string& name) {
    const ByteVector bytes = encode_state(document);
    EXPECT_NE(bytes, usual) << name << " is not written";
    auto decoded = decode_state(bytes, "s.mneme");
    ASSERT_TRUE(decoded.ok()) << name << ": " << decoded.status().message();
    EXPECT_EQ(*decoded, document) << name << " is not read";
  };
  auto& [arrays, objects] = document.state.textures;
  auto& [shape, copy] = arrays.at(0);
  auto& [width, height, depth, texel, flags, levels] = shape;
  testing_members::change(flags, ArrayShape::kSurface | ArrayShape::kGather, "flags", see);
  testing_members::change(depth, uint64_t{1}, "depth", see);
  testing_members::change(texel.format, 0x0au, "format", see);
  auto& size = document.state.regions[1].size;
  const auto with_size = [&](const std::string& name) {
    size = copy_size(shape);
    see(name);
  };
  testing_members::change(width, uint64_t{17}, "width", with_size);
  testing_members::change(height, uint64_t{9}, "height", with_size);
  testing_members::change(texel.channels, 2u, "channels", with_size);
  testing_members::change(levels, 4u, "levels", with_size);
  size = copy_size(shape);
  testing_members::change_each(objects.at(0), see);
  auto& [kind, handle, source, array, level, memory, of_memory, w, h, pitch, sampling, view] = objects.at(1);
  testing_members::change(kind, TextureObject::Kind::texture, "kind", see);
  testing_members::change(level, 1u, "level", see);
}

TEST(TexturesCodec, NoticesEveryTruncation) {
  const MemoryState state = document_with_textures().state;
  const ByteVector bytes = encode_textures(state.textures);
  for (size_t size = 0; size < bytes.size(); ++size) {
    MemoryState read{state.regions, {}};
    ByteReader in(ByteSpan(bytes).first(size), "s.mneme");
    EXPECT_EQ(decode_textures(in, read).code(), Code::corrupt) << size;
  }
}

TEST(TexturesCodec, RefusesWhatNoProgramHas) {
  EXPECT_EQ(refusal_of([](TextureSet&) {}), "");
  EXPECT_THAT(refusal_of([](TextureSet& t) { t.arrays[0].shape.width = 0; }),
              HasSubstr("an array has a size or a format that no array has"));
  EXPECT_THAT(refusal_of([](TextureSet& t) { t.arrays[0].shape.levels = 6; }), HasSubstr("an array has a size or a format"));
  EXPECT_THAT(refusal_of([](TextureSet& t) { t.arrays[0].shape.texel.format = 0x91; }),
              HasSubstr("an array has a size or a format"));
  EXPECT_THAT(refusal_of([](TextureSet& t) { t.arrays[0].shape.height = 9; }),
              HasSubstr("no region holds the array of 1.53 KiB that is copied to 0x20000"));
  EXPECT_THAT(refusal_of([](TextureSet& t) { t.arrays[0].copy = DevicePtr(0x10000); }),
              HasSubstr("no region holds the array of"));
  EXPECT_THAT(refusal_of([](TextureSet& t) { t.objects[1].array = 1; }), HasSubstr("an object is of array 1, and there are 1"));
  EXPECT_THAT(refusal_of([](TextureSet& t) { t.objects[1].level = 3; }),
              HasSubstr("an object is of a level that its array does not have"));
  EXPECT_THAT(refusal_of([](TextureSet& t) { t.objects[1].source = TextureObject::Source::mipmapped; }),
              HasSubstr("an object is of a mipmapped array that is none"));
  EXPECT_THAT(refusal_of([](TextureSet& t) { t.objects[0].kind = TextureObject::Kind::surface; }),
              HasSubstr("a surface is of no array"));
  EXPECT_THAT(refusal_of([](TextureSet& t) { t.objects[0].kind = static_cast<TextureObject::Kind>(3); }),
              HasSubstr("an object is no texture and no surface"));
  EXPECT_THAT(refusal_of([](TextureSet& t) { t.objects[0].source = static_cast<TextureObject::Source>(5); }),
              HasSubstr("a texture has an unknown source"));
  EXPECT_THAT(refusal_of([](TextureSet& t) { t.objects[0].memory.size = Bytes(); }),
              HasSubstr("a texture has memory or a format that no texture has"));
  EXPECT_THAT(refusal_of([](TextureSet& t) { t.objects[0].height = 9; }),
              HasSubstr("the rows of a texture do not lie in its memory"));
}

TEST(TexturesCodec, TexturesTellLaunchesApart) {
  MemoryState state = document_with_textures().state;
  const Digest usual = dynamic_hash({}, state);
  state.textures.objects[0].sampling.filter = 1;
  EXPECT_NE(dynamic_hash({}, state), usual);
}

}  // namespace
}  // namespace mneme
