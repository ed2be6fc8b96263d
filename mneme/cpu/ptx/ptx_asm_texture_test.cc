#include <gtest/gtest.h>

#include <bit>

#include "mneme/cpu/ptx/ptx_asm_jit_test.h"

namespace mneme::ptx {
namespace {

uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }

class Textures : public ::testing::Test {
 protected:
  void SetUp() override {
    jit.take_calls();
    jit.next_result = 100;
  }
  Jit& jit = Jit::instance();
  const mneme_cpu_texture_request& request() const { return jit.texture_request; }
};

TEST_F(Textures, FetchAtCoordinates) {
  const auto third = jit.run<uint32_t>("{ .reg .f32 a, b, d; tex.2d.v4.f32.f32 {a, b, $0, d}, [$1, {$2, $3}]; }", "=r,l,f,f",
                                       uint64_t{0x123456789}, 1.5f, 2.5f);
  EXPECT_EQ(third, 102u);
  EXPECT_EQ(
      jit.take_calls(),
      (std::vector<ServiceCall>{{"texture_fetch", {0x123456789, MNEME_CPU_IMAGE_2D, MNEME_CPU_LOOKUP_BASE, 0, 0, bits(1.5f)}}}));
  EXPECT_EQ(request().coordinates[1], bits(2.5f));
}

TEST_F(Textures, FetchByNumbersOfTexels) {
  jit.run<uint32_t>("{ .reg .b32 b, c, d; tex.1d.v4.u32.s32 {$0, b, c, d}, [$1, {$2}]; }", "=r,l,r", uint64_t{7}, -3);
  EXPECT_EQ(jit.take_calls(),
            (std::vector<ServiceCall>{{"texture_fetch", {7, MNEME_CPU_IMAGE_1D, MNEME_CPU_LOOKUP_BASE, 0, 1, uint32_t(-3)}}}));
}

// As clang's header writes them: layers first, and the last coordinate again where four are wanted.
TEST_F(Textures, FetchFromLayersAndCubes) {
  struct Case {
    const char* geometry;
    const char* coordinates;
    uint32_t shape;
    uint32_t layer;
    std::vector<float> at;
  };
  for (const Case& c : {Case{"a1d", "$2, $3", MNEME_CPU_IMAGE_1D, 5, {1}},
                        {"a2d", "$2, $3, $4, $4", MNEME_CPU_IMAGE_2D, 5, {1, 2}},
                        {"3d", "$3, $4, $5, $5", MNEME_CPU_IMAGE_3D, 0, {1, 2, 3}},
                        {"cube", "$3, $4, $5, $5", MNEME_CPU_IMAGE_CUBE, 0, {1, 2, 3}},
                        {"acube", "$2, $3, $4, $5", MNEME_CPU_IMAGE_CUBE, 5, {1, 2, 3}}}) {
    const std::string text =
        std::string("{ .reg .b32 b, c, d; tex.") + c.geometry + ".v4.f32.f32 {$0, b, c, d}, [$1, {" + c.coordinates + "}]; }";
    jit.run<uint32_t>(text, "=r,l,r,f,f,f", uint64_t{7}, 5, 1.0f, 2.0f, 3.0f);
    EXPECT_EQ(request().shape, c.shape) << c.geometry;
    EXPECT_EQ(request().layer, c.layer) << c.geometry;
    for (size_t i = 0; i < c.at.size(); ++i) EXPECT_EQ(request().coordinates[i], bits(c.at[i])) << c.geometry;
  }
}

TEST_F(Textures, FetchOfALevel) {
  jit.run<uint32_t>("{ .reg .b32 b, c, d; tex.level.2d.v4.f32.f32 {$0, b, c, d}, [$1, {$2, $2}], $3; }", "=r,l,f,f", uint64_t{7},
                    1.0f, 2.5f);
  EXPECT_EQ(request().lookup, uint32_t{MNEME_CPU_LOOKUP_LEVEL});
  EXPECT_EQ(request().level, 2.5f);
  jit.run<uint32_t>("{ .reg .b32 b, c, d; tex.grad.2d.v4.f32.f32 {$0, b, c, d}, [$1, {$2, $2}], {$2, $3}, {$3, $2}; }",
                    "=r,l,f,f", uint64_t{7}, 1.0f, 2.5f);
  EXPECT_EQ(request().lookup, uint32_t{MNEME_CPU_LOOKUP_GRADIENTS});
  EXPECT_EQ(request().gradient_x[0], 1.0f);
  EXPECT_EQ(request().gradient_x[1], 2.5f);
  EXPECT_EQ(request().gradient_y[0], 2.5f);
  EXPECT_EQ(request().gradient_y[1], 1.0f);
}

TEST_F(Textures, Gather) {
  jit.run<uint32_t>("{ .reg .b32 b, c, d; tld4.b.2d.v4.f32.f32 {$0, b, c, d}, [$1, {$2, $2}]; }", "=r,l,f", uint64_t{7}, 1.0f);
  EXPECT_EQ(request().lookup, uint32_t{MNEME_CPU_LOOKUP_GATHER});
  EXPECT_EQ(request().component, 2u);
}

TEST_F(Textures, AreAlwaysResident) {
  EXPECT_EQ(jit.run<uint32_t>("{ .reg .pred p; .reg .b32 a, b, c, d; tex.2d.v4.f32.f32 {a, b, c, d}|p, [$1, {$2, $2}]; "
                              "selp.u32 $0, 1, 0, p; }",
                              "=r,l,f", uint64_t{7}, 1.0f),
            1u);
}

TEST_F(Textures, WhatIsLackingIsRefused) {
  const auto refusal = [&](const std::string& text) {
    return jit.lower("{ .reg .b32 a, b, c, d; " + text + "; }", "=r,l,f,r", "rlfr").to_string();
  };
  EXPECT_EQ(refusal("tex.2dms.v4.f32.s32 {a, b, c, d}, [$1, {$3, $3, $3, $3}]"),
            "unsupported: inline PTX 'tex.2dms.v4.f32.s32': a geometry that is not available on the CPU device");
  EXPECT_EQ(
      refusal("tex.2d.v4.f32.f32 {a, b, c, d}, [$1, $1, {$2, $2}]"),
      "unsupported: inline PTX 'tex.2d.v4.f32.f32': a form with a separate sampler, which is not available on the CPU device");
  EXPECT_EQ(refusal("tex.2d.v4.f32.f32 {a, b, c, d}, [$1, {$2}]"),
            "unsupported: inline PTX 'tex.2d.v4.f32.f32': too few coordinates for its geometry");
  EXPECT_EQ(refusal("tex.2d.v4.f32.f32 {a, b}, [$1, {$2, $2}]"),
            "unsupported: inline PTX 'tex.2d.v4.f32.f32': four results in braces expected");
  EXPECT_EQ(refusal("tex.2d.v4.f16.f32 {a, b, c, d}, [$1, {$2, $2}]"),
            "unsupported: inline PTX 'tex.2d.v4.f16.f32': results of 16 bits are not available on the CPU device");
  EXPECT_EQ(refusal("tex.grad.2d.v4.f32.f32 {a, b, c, d}, [$1, {$2, $2}], {$2}, {$2}"),
            "unsupported: inline PTX 'tex.grad.2d.v4.f32.f32': too few elements in braces");
  EXPECT_EQ(refusal("tld4.r.cube.v4.f32.f32 {a, b, c, d}, [$1, {$2, $2, $2, $2}]"),
            "unsupported: inline PTX 'tld4.r.cube.v4.f32.f32': a form that is not available on the CPU device");
  EXPECT_EQ(
      refusal("suld.p.2d.v4.b32.trap {a, b, c, d}, [$1, {$3, $3}]"),
      "unsupported: inline PTX 'suld.p.2d.v4.b32.trap': formatted accesses to surfaces are not available on the CPU device");
  EXPECT_EQ(refusal("suld.b.cube.b32.trap {a}, [$1, {$3, $3, $3, $3}]"),
            "unsupported: inline PTX 'suld.b.cube.b32.trap': surfaces have no such geometry");
  EXPECT_EQ(refusal("suq.width.b32 a, [$1]"),
            "unsupported: inline PTX 'suq.width.b32': queries of surfaces are not available on the CPU device");
  EXPECT_EQ(refusal("sured.b.add.1d.u32.trap [$1, {$3}], $3"),
            "unsupported: inline PTX 'sured.b.add.1d.u32.trap': reductions in surfaces are not available on the CPU device");
}

class Surfaces : public Textures {};

TEST_F(Surfaces, AreReadAndWritten) {
  jit.next_result = 1;
  EXPECT_EQ(jit.run<uint32_t>("{ .reg .b32 b; suld.b.2d.v2.b32.clamp {b, $0}, [$1, {$2, $3}]; }", "=r,l,r,r", uint64_t{9}, 8, -2),
            0x08070605u);
  EXPECT_EQ(jit.take_calls(),
            (std::vector<ServiceCall>{{"surface_read", {9, MNEME_CPU_IMAGE_2D, MNEME_CPU_BOUNDARY_CLAMP, 0, 8}}}));
  EXPECT_EQ(jit.surface_request.position[0], 8);
  EXPECT_EQ(jit.surface_request.position[1], -2);
  jit.run<void>("sust.b.a2d.v4.b8.zero [$0, {$3, $1, $2, $2}], {$4, $4, $4, $4};", "l,r,r,r,h", uint64_t{9}, 4, 5, 6,
                uint16_t{0x1a2});
  EXPECT_EQ(jit.take_calls(),
            (std::vector<ServiceCall>{{"surface_write", {9, MNEME_CPU_IMAGE_2D, MNEME_CPU_BOUNDARY_ZERO, 6, 4}}}));
  EXPECT_EQ(jit.surface_data, (std::vector<uint8_t>{0xa2, 0xa2, 0xa2, 0xa2}));
  EXPECT_EQ(jit.surface_request.position[0], 4);
  EXPECT_EQ(jit.surface_request.position[1], 5);
  jit.run<void>("sust.b.3d.b64.trap [$0, {$1, $1, $1, $1}], {$2};", "l,r,l", uint64_t{9}, 4, uint64_t{0x1122334455667788});
  EXPECT_EQ(jit.surface_request.boundary, uint32_t{MNEME_CPU_BOUNDARY_TRAP});
  EXPECT_EQ(jit.surface_data.size(), 8u);
  EXPECT_EQ(jit.surface_data[7], 0x11);
}

}  // namespace
}  // namespace mneme::ptx
