#include "mneme/cpu/run/texture.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace mneme::cpu {
namespace {

float as_float(uint32_t bits) { return std::bit_cast<float>(bits); }

// 4 x 3 x 12 floats, each its place: x + 10 y + 100 z.
struct Places {
  static constexpr uint32_t kWidth = 4, kHeight = 3, kSlices = 12;
  std::vector<float> texels;
  Texture texture;

  Places() : texels(kWidth * kHeight * kSlices) {
    for (uint32_t z = 0; z < kSlices; ++z)
      for (uint32_t y = 0; y < kHeight; ++y)
        for (uint32_t x = 0; x < kWidth; ++x) texels[(z * kHeight + y) * kWidth + x] = static_cast<float>(x + 10 * y + 100 * z);
    texture.levels = {grid()};
    texture.border = {std::bit_cast<uint32_t>(-7.0f), 0, 0, 0};
  }
  TexelGrid grid() {
    return {reinterpret_cast<std::byte*>(texels.data()), kWidth, kHeight, kSlices, 4 * kWidth, uint64_t{4} * kWidth * kHeight};
  }
  void set_modes(AddressMode mode) { texture.address[0] = texture.address[1] = texture.address[2] = mode; }
  static mneme_cpu_texture_request at(uint32_t shape, float x, float y = 0, float z = 0, uint32_t layer = 0) {
    mneme_cpu_texture_request request{};
    request.shape = shape;
    request.layer = layer;
    const float all[] = {x, y, z};
    for (int i = 0; i < 3; ++i) request.coordinates[i] = std::bit_cast<uint32_t>(all[i]);
    return request;
  }
  float fetch_at(uint32_t shape, float x, float y = 0, float z = 0, uint32_t layer = 0) {
    return as_float(fetch(texture, at(shape, x, y, z, layer))[0]);
  }
};

TEST(TextureFetch, TakesTheTexelThatHoldsThePoint) {
  Places places;
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_1D, 2.9f), 2);
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_2D, 2.0f, 1.5f), 12);
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_3D, 1, 2, 3), 321);
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_2D, 3, 1, 0, 5), 513) << "of a layer";
}

TEST(TextureFetch, MixesTexelsByEighthBitsOfFraction) {
  Places places;
  places.texture.filter = FilterMode::linear;
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_1D, 1.5f), 1);
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_1D, 2.0f), 1.5f);
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_2D, 2.0f, 1.0f), 1.5f + 5);
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_3D, 2.0f, 1.0f, 1.0f), 1.5f + 5 + 50);
  // A fraction has 8 bits: the nearest of 256 steps is taken.
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_1D, 1.5f + 0.0019f), 1);
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_1D, 1.5f + 0.0020f), 1 + 1.0f / 256);
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_1D, 1.5f - 0.0019f), 1);
}

TEST(TextureFetch, FollowsTheAddressMode) {
  Places places;
  const auto row = [&](AddressMode mode, bool normalized) {
    places.set_modes(mode);
    places.texture.normalized_coordinates = normalized;
    std::vector<float> values;
    for (float x : {-4.5f, -1.5f, -0.5f, 0.5f, 3.5f, 4.5f, 5.5f, 8.5f})
      values.push_back(places.fetch_at(MNEME_CPU_IMAGE_1D, normalized ? x / 4 : x));
    return values;
  };
  using Row = std::vector<float>;
  const Row clamped = {0, 0, 0, 0, 3, 3, 3, 3};
  EXPECT_EQ(row(AddressMode::clamp, false), clamped);
  EXPECT_EQ(row(AddressMode::clamp, true), clamped);
  EXPECT_EQ(row(AddressMode::border, false), (Row{-7, -7, -7, 0, 3, -7, -7, -7}));
  EXPECT_EQ(row(AddressMode::wrap, true), (Row{3, 2, 3, 0, 3, 0, 1, 0}));
  EXPECT_EQ(row(AddressMode::mirror, true), (Row{3, 1, 0, 0, 3, 3, 2, 0}));
  EXPECT_EQ(row(AddressMode::wrap, false), clamped) << "only normalised coordinates wrap";
  EXPECT_EQ(row(AddressMode::mirror, false), clamped);
}

TEST(TextureFetch, FiltersAcrossTheEdge) {
  Places places;
  places.texture.filter = FilterMode::linear;
  places.texture.normalized_coordinates = true;
  places.set_modes(AddressMode::wrap);
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_1D, 0), 1.5f) << "the first and the last";
  places.set_modes(AddressMode::mirror);
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_1D, 0), 0);
  places.set_modes(AddressMode::border);
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_1D, 0), -3.5f);
}

TEST(TextureFetch, EveryCoordinateIsSomewhere) {
  Places places;
  const float infinity = std::numeric_limits<float>::infinity();
  for (FilterMode filter : {FilterMode::point, FilterMode::linear}) {
    places.texture.filter = filter;
    EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_1D, infinity), 3);
    EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_1D, -infinity), 0);
    EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_1D, std::nanf("")), 0);
    EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_2D, 1, 1, 0, 99) - places.fetch_at(MNEME_CPU_IMAGE_2D, 1, 1), 1100)
        << "layers end with the last";
    EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_2D, 1, 1, 0, uint32_t(-1)), places.fetch_at(MNEME_CPU_IMAGE_2D, 1, 1));
  }
}

TEST(TextureFetch, ByNumbersOfTexels) {
  Places places;
  auto request = Places::at(MNEME_CPU_IMAGE_1D, 0);
  request.integer_coordinates = 1;
  request.coordinates[0] = 2;
  EXPECT_EQ(as_float(fetch(places.texture, request)[0]), 2);
  request.coordinates[0] = 4;
  places.set_modes(AddressMode::border);
  EXPECT_EQ(as_float(fetch(places.texture, request)[0]), -7);
}

TEST(TextureFetch, GathersOneComponentOfFourTexels) {
  Places places;
  auto request = Places::at(MNEME_CPU_IMAGE_2D, 2, 1);
  request.lookup = MNEME_CPU_LOOKUP_GATHER;
  const Components four = fetch(places.texture, request);
  EXPECT_EQ(as_float(four[0]), 11);
  EXPECT_EQ(as_float(four[1]), 12);
  EXPECT_EQ(as_float(four[2]), 2);
  EXPECT_EQ(as_float(four[3]), 1);
}

TEST(TextureFetch, TakesTheFaceThatADirectionMeets) {
  Places places;
  places.texture.normalized_coordinates = true;
  const auto face = [&](float x, float y, float z, uint32_t layer = 0) {
    return std::floor(places.fetch_at(MNEME_CPU_IMAGE_CUBE, x, y, z, layer) / 100);
  };
  EXPECT_EQ(face(2, 1, 1), 0);
  EXPECT_EQ(face(-2, 1, 1), 1);
  EXPECT_EQ(face(1, 2, 1), 2);
  EXPECT_EQ(face(1, -2, 1), 3);
  EXPECT_EQ(face(1, 1, 2), 4);
  EXPECT_EQ(face(1, 1, -2), 5);
  EXPECT_EQ(face(1, 1, -2, 1), 11) << "of the second cube";
  // On the face +x, z goes to the left and y up.
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_CUBE, 1, 0.9f, 0.9f), 0);
  EXPECT_EQ(places.fetch_at(MNEME_CPU_IMAGE_CUBE, 1, -0.9f, -0.9f), 3 + 20);
}

TEST(TextureFetch, ChoosesAndMixesLevels) {
  float fine[4] = {1, 1, 1, 1}, middle[2] = {2, 2}, coarse = 3;
  Texture texture;
  const auto level = [](float* texels, uint32_t width) {
    return TexelGrid{reinterpret_cast<std::byte*>(texels), width, 1, 1, 4 * uint64_t{width}, 4 * uint64_t{width}};
  };
  texture.levels = {level(fine, 4), level(middle, 2), level(&coarse, 1)};
  texture.normalized_coordinates = true;
  texture.greatest_level = 10;
  auto request = Places::at(MNEME_CPU_IMAGE_1D, 0.5f);
  const auto at_level = [&](float detail) {
    request.lookup = MNEME_CPU_LOOKUP_LEVEL;
    request.level = detail;
    return as_float(fetch(texture, request)[0]);
  };
  EXPECT_EQ(at_level(-1), 1);
  EXPECT_EQ(at_level(0.4f), 1);
  EXPECT_EQ(at_level(0.6f), 2);
  EXPECT_EQ(at_level(9), 3);
  texture.level_filter = FilterMode::linear;
  EXPECT_EQ(at_level(0.25f), 1.25f);
  EXPECT_EQ(at_level(9), 3);
  texture.level_bias = 0.5f;
  EXPECT_EQ(at_level(0.25f), 1.75f);
  texture.least_level = 1.5f;
  EXPECT_EQ(at_level(0), 2.5f);
  texture.least_level = 0, texture.greatest_level = 0.75f;
  EXPECT_EQ(at_level(2), 1.75f);
  texture.level_bias = 0, texture.greatest_level = 10;
  request.lookup = MNEME_CPU_LOOKUP_GRADIENTS;
  request.gradient_x[0] = 0.5f;  // two texels
  EXPECT_EQ(as_float(fetch(texture, request)[0]), 2);
}

TEST(Texels, AreReadByTheirFormat) {
  const uint8_t bytes[] = {0xff, 0x80, 0x7f, 0x01, 0x00, 0x3c, 0x00, 0xc0};
  const auto* texel = reinterpret_cast<const std::byte*>(bytes);
  using enum TexelKind;
  EXPECT_EQ(read_texel(texel, {unsigned_integer, 8, 4}, false), (Components{0xff, 0x80, 0x7f, 1}));
  EXPECT_EQ(read_texel(texel, {signed_integer, 8, 2}, false), (Components{0xffffffff, 0xffffff80, 0, 0}));
  EXPECT_EQ(read_texel(texel, {signed_integer, 16, 1}, false), (Components{0xffff80ff, 0, 0, 0}));
  EXPECT_EQ(read_texel(texel, {unsigned_integer, 32, 1}, false), (Components{0x017f80ff, 0, 0, 0}));
  const Components part = read_texel(texel, {unsigned_integer, 8, 4}, true);
  EXPECT_EQ(as_float(part[0]), 1);
  EXPECT_EQ(as_float(part[1]), 128 / 255.0f);
  const Components sign = read_texel(texel, {signed_integer, 8, 4}, true);
  EXPECT_EQ(as_float(sign[0]), -1 / 127.0f);
  EXPECT_EQ(as_float(sign[1]), -1) << "-128 is no less than -127";
  EXPECT_EQ(as_float(sign[2]), 1);
  const Components half = read_texel(texel + 4, {real, 16, 2}, false);
  EXPECT_EQ(as_float(half[0]), 1);
  EXPECT_EQ(as_float(half[1]), -2);
  EXPECT_EQ(half[3], 0u) << "there is no fourth";
}

TEST(Texels, OfHalfPrecisionAreExact) {
  for (const auto& [bits, value] : {std::pair<uint16_t, float>{0x0001, 0x1p-24f},
                                    {0x83ff, -0x1.ff8p-15f},
                                    {0x0400, 0x1p-14f},
                                    {0x7bff, 65504},
                                    {0xfc00, -std::numeric_limits<float>::infinity()},
                                    {0x8000, -0.0f}}) {
    const Components read = read_texel(reinterpret_cast<const std::byte*>(&bits), {TexelKind::real, 16, 1}, false);
    EXPECT_EQ(read[0], std::bit_cast<uint32_t>(value)) << bits;
  }
}

TEST(Texels, WithTheSrgbEncodingAreDecoded) {
  uint8_t bytes[] = {0, 10, 255, 128};
  Texture texture;
  texture.format = {TexelKind::unsigned_integer, 8, 4};
  texture.levels = {{reinterpret_cast<std::byte*>(bytes), 1, 1, 1, 4, 4}};
  texture.normalized_values = texture.srgb = true;
  const Components read = fetch(texture, Places::at(MNEME_CPU_IMAGE_1D, 0.5f));
  EXPECT_EQ(as_float(read[0]), 0);
  EXPECT_NEAR(as_float(read[1]), 10 / 255.0 / 12.92, 1e-7);
  EXPECT_EQ(as_float(read[2]), 1);
  EXPECT_EQ(as_float(read[3]), 128 / 255.0f) << "the fourth is not encoded";
}

TEST(SurfaceElements, LieInTheirSurfaceOrFollowItsBoundary) {
  std::vector<std::byte> memory(4 * 3 * 2 * 8);
  const Surface surface{{TexelKind::real, 32, 2}, {memory.data(), 4, 3, 2, 32, 96}};
  const auto find = [&](uint32_t boundary, int32_t x, int32_t y, uint32_t layer) {
    mneme_cpu_surface_request request{};
    request.shape = MNEME_CPU_IMAGE_2D;
    request.boundary = boundary;
    request.layer = layer;
    request.bytes = 8;
    request.position[0] = x, request.position[1] = y;
    return locate(surface, request);
  };
  EXPECT_EQ(find(MNEME_CPU_BOUNDARY_TRAP, 24, 2, 1).address, memory.data() + 24 + 64 + 96);
  EXPECT_EQ(find(MNEME_CPU_BOUNDARY_ZERO, 25, 2, 1).address, nullptr) << "it would go beyond the row";
  EXPECT_FALSE(find(MNEME_CPU_BOUNDARY_ZERO, 25, 2, 1).fault);
  EXPECT_EQ(find(MNEME_CPU_BOUNDARY_CLAMP, 99, -1, 7).address, memory.data() + 24 + 96);
  EXPECT_EQ(find(MNEME_CPU_BOUNDARY_TRAP, -8, 1, 0).fault,
            "byte -8 of row 1 of slice 0 of a surface that has 32 bytes in a row, 3 rows and 2 slices");
}

// --- single texels ------------------------------------------------------------------------------------------------------------

mneme_cpu_image_request texel_at(uint32_t shape, int32_t x, int32_t y = 0, int32_t z = 0, uint32_t layer = 0) {
  return {.object = 0, .shape = shape, .layer = layer, .position = {x, y, z}, .reserved = 0};
}

TEST(ImageTexels, AreReadWhereTheImageIsAndZeroOutside) {
  Places places;
  const auto read = [&](const mneme_cpu_image_request& request) { return as_float(read_image(places.texture, request)[0]); };
  EXPECT_EQ(read(texel_at(MNEME_CPU_IMAGE_1D, 3)), 3);
  EXPECT_EQ(read(texel_at(MNEME_CPU_IMAGE_2D, 1, 2, 9)), 21);
  EXPECT_EQ(read(texel_at(MNEME_CPU_IMAGE_3D, 1, 2, 3)), 321);
  EXPECT_EQ(read(texel_at(MNEME_CPU_IMAGE_2D, 1, 2, 0, 11)), 1121);
  for (const auto& outside :
       {texel_at(MNEME_CPU_IMAGE_1D, 4), texel_at(MNEME_CPU_IMAGE_1D, -1), texel_at(MNEME_CPU_IMAGE_2D, 1, 3),
        texel_at(MNEME_CPU_IMAGE_2D, 1, -1), texel_at(MNEME_CPU_IMAGE_3D, 1, 1, 12), texel_at(MNEME_CPU_IMAGE_2D, 1, 1, 0, 12)})
    EXPECT_EQ(read(outside), 0) << "not the border";
}

TEST(ImageTexels, OfATextureAreAsItYieldsThem) {
  const uint8_t bytes[] = {255, 51, 0, 102};
  Texture texture;
  texture.format = {TexelKind::unsigned_integer, 8, 4};
  texture.levels = {{reinterpret_cast<std::byte*>(const_cast<uint8_t*>(bytes)), 1, 1, 1, 4, 4}};
  EXPECT_EQ(read_image(texture, texel_at(MNEME_CPU_IMAGE_1D, 0)), (Components{255, 51, 0, 102}));
  texture.normalized_values = true;
  EXPECT_EQ(as_float(read_image(texture, texel_at(MNEME_CPU_IMAGE_1D, 0))[1]), 0.2f);
}

TEST(ImageTexels, WhatAFormatCannotHoldBecomesTheNearest) {
  std::array<std::byte, 8> memory{};
  const auto write = [&](TexelKind kind, uint32_t bits, uint32_t value) {
    const Surface surface{{kind, bits, 1}, {memory.data(), 1, 1, 1, 8, 8}};
    write_image(surface, texel_at(MNEME_CPU_IMAGE_1D, 0), {value, 9, 9, 9});
    write_image(surface, texel_at(MNEME_CPU_IMAGE_1D, 1), {1, 1, 1, 1});
    return read_image(surface, texel_at(MNEME_CPU_IMAGE_1D, 0))[0];
  };
  EXPECT_EQ(write(TexelKind::unsigned_integer, 8, 300), 255u);
  EXPECT_EQ(write(TexelKind::unsigned_integer, 16, 70000), 65535u);
  EXPECT_EQ(write(TexelKind::unsigned_integer, 32, ~0u), ~0u);
  EXPECT_EQ(write(TexelKind::signed_integer, 8, static_cast<uint32_t>(-300)), static_cast<uint32_t>(-128));
  EXPECT_EQ(write(TexelKind::signed_integer, 16, 40000), 32767u);
  EXPECT_EQ(write(TexelKind::signed_integer, 32, static_cast<uint32_t>(-5)), static_cast<uint32_t>(-5));
  const auto half = [&](float value) { return as_float(write(TexelKind::real, 16, std::bit_cast<uint32_t>(value))); };
  for (float exact : {0.0f, 1.0f, -2.5f, 65504.0f, 0x1p-14f, 0x1p-24f, -0x1.8p-20f}) EXPECT_EQ(half(exact), exact);
  EXPECT_EQ(half(1 + 0x1p-11f), 1) << "to the even one of two as near";
  EXPECT_EQ(half(1 + 0x1.8p-10f), 1 + 0x1p-9f);
  EXPECT_EQ(half(0x1.8p-24f), 0x1p-23f);
  EXPECT_EQ(half(65519), 65504);
  EXPECT_EQ(half(65520), std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(half(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_EQ(memory[2], std::byte{0xff}) << "of the last one of four bytes: nothing is written behind a texel";
}

TEST(ImageTexels, PropertiesHaveTheNumbersOfHsa) {
  const auto type = [](TexelKind kind, uint32_t bits) { return image_property({kind, bits, 1}, MNEME_CPU_CHANNEL_TYPE); };
  EXPECT_EQ(type(TexelKind::signed_integer, 8), 8u);
  EXPECT_EQ(type(TexelKind::signed_integer, 32), 10u);
  EXPECT_EQ(type(TexelKind::unsigned_integer, 16), 12u);
  EXPECT_EQ(type(TexelKind::real, 16), 14u);
  EXPECT_EQ(type(TexelKind::real, 32), 15u);
  const auto order = [](uint32_t components) {
    return image_property({TexelKind::real, 32, components}, MNEME_CPU_CHANNEL_ORDER);
  };
  EXPECT_EQ(order(1), 1u);
  EXPECT_EQ(order(2), 3u);
  EXPECT_EQ(order(4), 8u);
}

}  // namespace
}  // namespace mneme::cpu
