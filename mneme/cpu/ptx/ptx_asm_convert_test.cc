// Expected values are the PTX ISA's.
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "mneme/cpu/ptx/ptx_asm_jit_test.h"

namespace mneme::ptx {
namespace {

Jit& jit() { return Jit::instance(); }
float real(uint32_t value) { return std::bit_cast<float>(value); }
const float kNan = real(0x7fc00000);
const float kInf = real(0x7f800000);
uint32_t to_int(const std::string& cvt, float a) { return jit().run<uint32_t>(cvt + " $0, $1;", "=r,f", a); }

TEST(PtxConvert, FloatToIntegerRoundsAndSaturates) {
  EXPECT_EQ(to_int("cvt.rni.s32.f32", 2.5f), 2u);
  EXPECT_EQ(to_int("cvt.rni.s32.f32", 3.5f), 4u);
  EXPECT_EQ(to_int("cvt.rzi.s32.f32", -2.7f), static_cast<uint32_t>(-2));
  EXPECT_EQ(to_int("cvt.rmi.s32.f32", -2.1f), static_cast<uint32_t>(-3));
  EXPECT_EQ(to_int("cvt.rpi.s32.f32", 2.1f), 3u);
  EXPECT_EQ(to_int("cvt.rzi.s32.f32", 3e9f), 0x7fffffffu);
  EXPECT_EQ(to_int("cvt.rzi.s32.f32", -kInf), 0x80000000u);
  EXPECT_EQ(to_int("cvt.rzi.u32.f32", -1.0f), 0u);
  EXPECT_EQ(to_int("cvt.rzi.u32.f32", 1e10f), 0xffffffffu);
  EXPECT_EQ(to_int("cvt.rpi.ftz.s32.f32", real(1)), 0u);
  EXPECT_EQ(to_int("cvt.rpi.s32.f32", real(1)), 1u);
  EXPECT_EQ(jit().run<uint16_t>("cvt.rni.s16.f32 $0, $1;", "=h,f", 1e6f), 0x7fff);
  EXPECT_EQ(to_int("cvt.rzi.u8.f32", 300.0f), 255u);
  EXPECT_EQ(to_int("cvt.rzi.s8.f32", -300.0f), 0xffffff80u);
}

TEST(PtxConvert, NanToInteger) {
  EXPECT_EQ(to_int("cvt.rzi.s32.f32", kNan), 0u);
  EXPECT_EQ(to_int("cvt.rzi.u32.f32", kNan), 0u);
  EXPECT_EQ(jit().run<uint64_t>("cvt.rzi.s64.f32 $0, $1;", "=l,f", kNan), uint64_t{1} << 63);
  EXPECT_EQ(jit().run<uint64_t>("cvt.rzi.u64.f32 $0, $1;", "=l,f", kNan), uint64_t{1} << 63);
  EXPECT_EQ(jit().run<uint32_t>("cvt.rzi.s32.f64 $0, $1;", "=r,d", std::numeric_limits<double>::quiet_NaN()), 0x80000000u);
  EXPECT_EQ(jit().run<uint64_t>("cvt.rzi.s64.f64 $0, $1;", "=l,d", 1e300), ~uint64_t{0} >> 1);
}

TEST(PtxConvert, IntegersOfOtherWidths) {
  EXPECT_EQ(jit().run<uint64_t>("cvt.s64.s32 $0, $1;", "=l,r", 0x80000000u), 0xffffffff80000000u);
  EXPECT_EQ(jit().run<uint64_t>("cvt.u64.u32 $0, $1;", "=l,r", 0x80000000u), 0x80000000u);
  EXPECT_EQ(jit().run<uint32_t>("cvt.s32.s8 $0, $1;", "=r,r", 0x1ffu), ~0u);
  EXPECT_EQ(jit().run<uint32_t>("cvt.u32.u16 $0, $1;", "=r,h", uint16_t{0xffff}), 0xffffu);
  EXPECT_EQ(jit().run<uint32_t>("cvt.sat.s8.s32 $0, $1;", "=r,r", 1000u), 127u);
  EXPECT_EQ(jit().run<uint32_t>("cvt.sat.u8.s32 $0, $1;", "=r,r", static_cast<uint32_t>(-5)), 0u);
  EXPECT_EQ(jit().run<uint32_t>("cvt.sat.s32.u32 $0, $1;", "=r,r", 0xffffffffu), 0x7fffffffu);
  EXPECT_EQ(jit().run<uint32_t>("cvt.pack.sat.u8.s32.b32 $0, $1, $2, $3;", "=r,r,r,r", 300u, static_cast<uint32_t>(-1), 0x1234u),
            0x1234ff00u);
  EXPECT_EQ(jit().run<uint32_t>("cvt.pack.sat.s16.s32 $0, $1, $2;", "=r,r,r", 1u, ~0u), 0x0001ffffu);
  EXPECT_EQ(jit().run<uint32_t>("cvt.pack.sat.u16.s32 $0, $1, $2;", "=r,r,r", 70000u, ~0u), 0xffff0000u);
}

TEST(PtxConvert, FloatToIntegralFloat) {
  auto round = [](const char* how, float a) {
    return jit().run<float>(std::string("cvt.") + how + ".f32.f32 $0, $1;", "=f,f", a);
  };
  EXPECT_EQ(round("rni", 2.5f), 2.0f);
  EXPECT_EQ(round("rmi", -2.5f), -3.0f);
  EXPECT_EQ(round("rpi", -2.5f), -2.0f);
  EXPECT_EQ(round("rzi", -2.5f), -2.0f);
  EXPECT_EQ(round("sat", 3.0f), 1.0f);
  EXPECT_EQ(round("sat", kNan), 0.0f);
  EXPECT_EQ(jit().run<float>("cvt.rn.sat.f32.s32 $0, $1;", "=f,r", 5u), 1.0f);
  EXPECT_EQ(jit().run<float>("cvt.rz.f32.u32 $0, $1;", "=f,r", ~0u), 0x1.fffffep31f);
  EXPECT_EQ(jit().run<float>("cvt.rp.f32.u32 $0, $1;", "=f,r", ~0u), 0x1p32f);
  EXPECT_EQ(std::bit_cast<uint32_t>(round("ftz", real(0x80000001))), 0x80000000u);
}

TEST(PtxConvert, HalfWithEveryRounding) {
  auto half = [](const char* how, float a) {
    return jit().run<uint16_t>(std::string("cvt.") + how + ".f16.f32 $0, $1;", "=h,f", a);
  };
  const float above = 1 + 0x1p-11f + 0x1p-20f, middle = 1 + 0x1p-11f;
  EXPECT_EQ(half("rn", middle), 0x3c00);
  EXPECT_EQ(half("rn", above), 0x3c01);
  EXPECT_EQ(half("rz", above), 0x3c00);
  EXPECT_EQ(half("rm", -above), 0xbc01);
  EXPECT_EQ(half("rp", above), 0x3c01);
  EXPECT_EQ(half("rn", 70000.0f), 0x7c00);
  EXPECT_EQ(half("rz", 70000.0f), 0x7bff);
  EXPECT_EQ(half("rn.satfinite", 70000.0f), 0x7bff);
  EXPECT_EQ(half("rn.satfinite", -70000.0f), 0xfbff);
  EXPECT_GT(half("rn.satfinite", kNan) & 0x7fff, 0x7c00);
  EXPECT_GT(half("rn.relu", kNan) & 0x7fff, 0x7c00);
  EXPECT_EQ(half("rn.relu", -1.0f), 0);
  EXPECT_EQ(half("rn", 0x1p-25f), 0);
  EXPECT_EQ(half("rp", 0x1p-30f), 1);
  EXPECT_EQ(jit().run<float>("cvt.f32.f16 $0, $1;", "=f,h", uint16_t{1}), 0x1p-24f);
  EXPECT_EQ(jit().run<uint16_t>("cvt.rn.f16.s32 $0, $1;", "=h,r", 2049u), 0x6800);
  EXPECT_EQ(jit().run<uint16_t>("cvt.rz.f16.u64 $0, $1;", "=h,l", ~uint64_t{0}), 0x7bff);
  EXPECT_EQ(jit().run<uint32_t>("cvt.rn.f16x2.f32 $0, $1, $2;", "=r,f,f", 1.0f, 2.0f), 0x3c004000u);
}

TEST(PtxConvert, BrainAndTensorFloat) {
  auto brain = [](const char* how, float a) {
    return jit().run<uint16_t>(std::string("cvt.") + how + ".bf16.f32 $0, $1;", "=h,f", a);
  };
  EXPECT_EQ(brain("rn", 1 + 0x1p-8f), 0x3f80);
  EXPECT_EQ(brain("rn", 1 + 0x1p-8f + 0x1p-20f), 0x3f81);
  EXPECT_EQ(brain("rz", 1 + 0x1p-8f + 0x1p-20f), 0x3f80);
  EXPECT_EQ(brain("rn", kNan), 0x7fff);
  EXPECT_EQ(brain("rn", real(0x7f7fffff)), 0x7f80);
  EXPECT_EQ(brain("rn", kInf), 0x7f80);
  EXPECT_EQ(brain("rn.satfinite", kInf), 0x7f7f);
  const float above = 1 + 0x1p-20f;
  EXPECT_EQ(brain("rp", 1.0f), 0x3f80);
  EXPECT_EQ(brain("rp", above), 0x3f81);
  EXPECT_EQ(brain("rp", -above), 0xbf80);
  EXPECT_EQ(brain("rm", above), 0x3f80);
  EXPECT_EQ(brain("rm", -above), 0xbf81);
  EXPECT_EQ(brain("rna", 1 + 0x1p-8f), 0x3f81);
  EXPECT_EQ(jit().run<uint16_t>("cvt.rn.bf16.f64 $0, $1;", "=h,d", 1 + 0x1p-8 + 0x1p-40), 0x3f81);
  EXPECT_EQ(jit().run<float>("cvt.f32.bf16 $0, $1;", "=f,h", uint16_t{0xbf80}), -1.0f);
  EXPECT_EQ(jit().run<uint32_t>("cvt.rn.relu.bf16x2.f32 $0, $1, $2;", "=r,f,f", -1.0f, 2.0f), 0x00004000u);
  EXPECT_EQ(jit().run<uint16_t>("cvt.rn.bf16.s32 $0, $1;", "=h,r", static_cast<uint32_t>(-3)), 0xc040);
  EXPECT_EQ(to_int("cvt.rna.tf32.f32", real(0x3f801000)), 0x3f802000u);
  EXPECT_EQ(to_int("cvt.rn.tf32.f32", real(0x3f801000)), 0x3f800000u);
  EXPECT_EQ(to_int("cvt.rz.tf32.f32", real(0x3f801fff)), 0x3f800000u);
  EXPECT_EQ(to_int("cvt.rna.tf32.f32", kInf), 0x7f800000u);
  EXPECT_EQ(to_int("cvt.rn.tf32.f32", real(0x3f803000)), 0x3f804000u);
  EXPECT_EQ(to_int("cvt.rna.satfinite.tf32.f32", real(0xff7fffff)), 0xff7fe000u);
  EXPECT_EQ(to_int("cvt.rn.relu.tf32.f32", -1.0f), 0u);
  EXPECT_EQ(to_int("cvt.rn.relu.tf32.f32", 1.0f), 0x3f800000u);
}

TEST(PtxConvert, EightBitFloats) {
  auto pair = [](const char* type, float high, float low) {
    return jit().run<uint16_t>(std::string("cvt.rn.satfinite.") + type + ".f32 $0, $1, $2;", "=h,f,f", high, low);
  };
  EXPECT_EQ(pair("e4m3x2", 1.0f, -2.0f), 0x38c0);
  EXPECT_EQ(pair("e4m3x2", 1000.0f, -kInf), 0x7efe);
  EXPECT_EQ(pair("e4m3x2", kNan, 0x1p-9f), 0x7f01);
  EXPECT_EQ(pair("e4m3x2", 0x1p-10f, 1.0625f), 0x0038);  // ties to even
  EXPECT_EQ(pair("e4m3x2", 0x1.8p-10f, 1.1875f), 0x013a);
  EXPECT_EQ(pair("e5m2x2", 1.0f, 1e6f), 0x3c7b);
  EXPECT_EQ(pair("e5m2x2", 0x1p-16f, 0x1p-17f), 0x0100);
  auto back = [](const char* type, uint16_t a) {
    return jit().run<uint32_t>(std::string("cvt.rn.f16x2.") + type + " $0, $1;", "=r,h", a);
  };
  EXPECT_EQ(back("e4m3x2", 0x38c0), 0x3c00c000u);
  EXPECT_EQ(back("e4m3x2", 0x017e), 0x18005f00u);
  EXPECT_EQ(back("e5m2x2", 0x7c01), 0x7c000100u);
  EXPECT_EQ(jit().run<uint16_t>("cvt.rn.satfinite.e4m3x2.f16x2 $0, $1;", "=h,r", 0x3c00c000u), 0x38c0);
  EXPECT_EQ(jit().run<uint16_t>("cvt.rn.satfinite.relu.e4m3x2.f32 $0, $1, $2;", "=h,f,f", -1.0f, 2.0f), 0x0040);
  EXPECT_EQ(jit().run<uint32_t>("cvt.rn.relu.f16x2.e4m3x2 $0, $1;", "=r,h", uint16_t{0xb838}), 0x00003c00u);
  // Every value goes there and back.
  for (uint32_t byte = 0; byte < 256; ++byte) {
    if ((byte & 0x7f) == 0x7f) continue;
    uint32_t halves = back("e4m3x2", static_cast<uint16_t>(byte));
    ASSERT_EQ(jit().run<uint16_t>("cvt.rn.satfinite.e4m3x2.f16x2 $0, $1;", "=h,r", halves), byte);
  }
}

}  // namespace
}  // namespace mneme::ptx
