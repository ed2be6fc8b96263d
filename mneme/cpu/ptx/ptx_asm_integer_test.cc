// Expected values are the PTX ISA's, worked out by hand; where it leaves something open, those of an H200.
#include <gtest/gtest.h>

#include "mneme/cpu/ptx/ptx_asm_jit_test.h"

namespace mneme::ptx {
namespace {

Jit& jit() { return Jit::instance(); }
uint32_t r1(const std::string& ptx, uint32_t a) { return jit().run<uint32_t>(ptx + " $0, $1;", "=r,r", a); }
uint32_t r2(const std::string& ptx, uint32_t a, uint32_t b) { return jit().run<uint32_t>(ptx + " $0, $1, $2;", "=r,r,r", a, b); }
uint32_t r3(const std::string& ptx, uint32_t a, uint32_t b, uint32_t c) {
  return jit().run<uint32_t>(ptx + " $0, $1, $2, $3;", "=r,r,r,r", a, b, c);
}
uint32_t r4(const std::string& ptx, uint32_t a, uint32_t b, uint32_t c, uint32_t d) {
  return jit().run<uint32_t>(ptx + " $0, $1, $2, $3, $4;", "=r,r,r,r,r", a, b, c, d);
}
uint64_t l2(const std::string& ptx, uint64_t a, uint64_t b) { return jit().run<uint64_t>(ptx + " $0, $1, $2;", "=l,l,l", a, b); }
constexpr uint32_t kMin = 0x80000000, kMax = 0x7fffffff, kOnes = 0xffffffff;

TEST(PtxInteger, AddSubtractSaturate) {
  EXPECT_EQ(r2("add.u32", kOnes, 2), 1u);
  EXPECT_EQ(r2("add.sat.s32", kMax, 1), kMax);
  EXPECT_EQ(r2("sub.sat.s32", kMin, 1), kMin);
  EXPECT_EQ(r2("add.u16x2", 0x0001ffff, 0x00010001), 0x00020000u);
  EXPECT_EQ(l2("sub.s64", 0, 1), ~uint64_t{0});
}

TEST(PtxInteger, CarryGoesFromOneStatementToTheNext) {
  const std::string sum =
      "{ .reg .u32 a,b,c,d,lo,hi; mov.b64 {a,b}, $1; mov.b64 {c,d}, $2; add.cc.u32 lo,a,c; addc.u32 hi,b,d; mov.b64 $0,{lo,hi}; "
      "}";
  EXPECT_EQ(jit().run<uint64_t>(sum, "=l,l,l", uint64_t{0xffffffff}, uint64_t{1}), 0x100000000u);
  EXPECT_EQ(jit().run<uint64_t>(sum, "=l,l,l", ~uint64_t{0}, uint64_t{1}), 0u);
  const std::string difference =
      "{ .reg .u32 a,b,c,d,lo,hi; mov.b64 {a,b}, $1; mov.b64 {c,d}, $2; sub.cc.u32 lo,a,c; subc.u32 hi,b,d; mov.b64 $0,{lo,hi}; "
      "}";
  EXPECT_EQ(jit().run<uint64_t>(difference, "=l,l,l", uint64_t{0x100000000}, uint64_t{1}), 0xffffffffu);
  EXPECT_EQ(jit().run<uint64_t>(difference, "=l,l,l", uint64_t{0}, uint64_t{1}), ~uint64_t{0});
  // 96 bits, and carry out of a middle word that is all ones
  EXPECT_EQ(jit().run<uint32_t>("{ .reg .u32 t; add.cc.u32 t, $1, 1; addc.cc.u32 t, $1, 0; addc.u32 $0, 0, 0; }", "=r,r", kOnes),
            1u);
  EXPECT_EQ(jit().run<uint32_t>("{ .reg .u32 t; sub.cc.u32 t, $1, 1; subc.cc.u32 t, $1, 0; subc.u32 $0, 0, 0; }", "=r,r", 0u),
            kOnes);
}

TEST(PtxInteger, TheFlagOfASubtractionSaysThatNothingWasBorrowed) {
  const char* sub_add = "{ .reg .u32 t; sub.cc.u32 t, $1, $2; addc.u32 $0, $1, $2; }";
  EXPECT_EQ(jit().run<uint32_t>(sub_add, "=r,r,r", 9u, 8u), 18u);
  EXPECT_EQ(jit().run<uint32_t>(sub_add, "=r,r,r", 8u, 9u), 17u);
  const char* add_sub = "{ .reg .u32 t; add.cc.u32 t, $1, $2; subc.u32 $0, $1, $2; }";
  EXPECT_EQ(jit().run<uint32_t>(add_sub, "=r,r,r", 15u, 8u), 6u);
}

TEST(PtxInteger, CarryOutlivesOneInlineAssembly) {
  const char* ir = R"(
    define i64 @f(i32 %a, i32 %b, ptr %thread) {
      %lo = call i32 asm sideeffect "add.cc.u32 $0, $1, $2;", "=r,r,r"(i32 %a, i32 %b)
      %hi = call i32 asm sideeffect "addc.u32 $0, 0, 0;", "=r"()
      %l = zext i32 %lo to i64
      %h = zext i32 %hi to i64
      %s = shl i64 %h, 32
      %r = or i64 %s, %l
      ret i64 %r
    })";
  EXPECT_EQ(jit().run_ir<uint64_t>(ir, kOnes, 2u), 0x100000001u);
}

TEST(PtxInteger, WideMultiplicationByParts) {
  // libdevice's 64 x 64 -> 128 bits
  const std::string text =
      "{ .reg .u32 r0,r1,r2,r3,alo,ahi,blo,bhi; mov.b64 {alo,ahi},$1; mov.b64 {blo,bhi},$2; mul.lo.u32 r0,alo,blo; mul.hi.u32 "
      "r1,alo,blo;"
      " mad.lo.cc.u32 r1,alo,bhi,r1; madc.hi.u32 r2,alo,bhi,0; mad.lo.cc.u32 r1,ahi,blo,r1; madc.hi.cc.u32 r2,ahi,blo,r2;"
      " madc.hi.u32 r3,ahi,bhi,0; mad.lo.cc.u32 r2,ahi,bhi,r2; addc.u32 r3,r3,0; mov.b64 $0,{r2,r3}; }";
  for (uint64_t a : {uint64_t{0}, ~uint64_t{0}, uint64_t{0x123456789abcdef0}, uint64_t{1} << 63})
    for (uint64_t b : {uint64_t{3}, ~uint64_t{0}, uint64_t{0xfedcba9876543210}})
      EXPECT_EQ(jit().run<uint64_t>(text, "=l,l,l", a, b), static_cast<uint64_t>(static_cast<unsigned __int128>(a) * b >> 64));
}

TEST(PtxInteger, Multiply) {
  EXPECT_EQ(r2("mul.lo.s32", 0x10000, 0x10000), 0u);
  EXPECT_EQ(r2("mul.hi.s32", kOnes, 2), kOnes);
  EXPECT_EQ(r2("mul.hi.u32", kOnes, 2), 1u);
  EXPECT_EQ(jit().run<uint64_t>("mul.wide.s32 $0, $1, $2;", "=l,r,r", kOnes, 2u), ~uint64_t{1});
  EXPECT_EQ(jit().run<uint64_t>("mad.wide.u32 $0, $1, $2, $3;", "=l,r,r,l", kOnes, kOnes, uint64_t{1}), 0xfffffffe00000002u);
  EXPECT_EQ(jit().run<uint32_t>("mul.wide.s16 $0, $1, $2;", "=r,h,h", uint16_t{0xffff}, uint16_t{2}), 0xfffffffeu);
  EXPECT_EQ(r3("mad.hi.sat.s32", kMin, kMin, kMax), kMax);
  EXPECT_EQ(r2("mul24.lo.u32", 0x01ffffff, 2), 0x1fffffeu);
  EXPECT_EQ(r2("mul24.lo.s32", 0x00ffffff, 2), 0xfffffffeu);
  EXPECT_EQ(r2("mul24.hi.u32", 0xffffff, 0xffffff), 0xfffffe00u);
  EXPECT_EQ(r3("mad24.lo.s32", 3, 0x00ffffff, 5), 2u);
  EXPECT_EQ(r3("mad24.hi.s32", 0x7fffff, 0x7fffff, 1), 0x3fffff01u);
  EXPECT_EQ(r3("mad24.hi.sat.s32", 0x7fffff, 0x7fffff, kMax), kMax);
  EXPECT_EQ(l2("mul.hi.s64", ~uint64_t{0}, 5), ~uint64_t{0});
}

TEST(PtxInteger, DivisionNeverTraps) {
  EXPECT_EQ(r2("div.s32", static_cast<uint32_t>(-7), 2), static_cast<uint32_t>(-3));
  EXPECT_EQ(r2("rem.s32", static_cast<uint32_t>(-7), 2), static_cast<uint32_t>(-1));
  EXPECT_EQ(r2("div.u32", 7, 0), kOnes);
  EXPECT_EQ(r2("rem.u32", 7, 0), 7u);
  EXPECT_EQ(r2("div.s32", kMin, kOnes), kMin);
  EXPECT_EQ(r2("rem.s32", kMin, kOnes), 0u);
}

TEST(PtxInteger, MinMaxAbsSad) {
  EXPECT_EQ(r2("min.s32", kOnes, 1), kOnes);
  EXPECT_EQ(r2("min.u32", kOnes, 1), 1u);
  EXPECT_EQ(r2("max.relu.s32", kMin, kOnes), 0u);
  EXPECT_EQ(r2("min.relu.s32", kOnes, 3), 0u);
  EXPECT_EQ(r2("max.s16x2", 0x7fff8000, 0x8000ffff), 0x7fffffffu);
  EXPECT_EQ(r1("abs.s32", kMin), kMin);
  EXPECT_EQ(r1("neg.s32", 5), static_cast<uint32_t>(-5));
  EXPECT_EQ(r3("sad.s32", kOnes, 1, 10), 12u);
  EXPECT_EQ(r3("sad.u32", 1, 5, 10), 14u);
}

TEST(PtxInteger, DotProducts) {
  EXPECT_EQ(r3("dp4a.u32.u32", 0x01020304, 0x05060708, 1), 1u + 5 + 12 + 21 + 32);
  EXPECT_EQ(r3("dp4a.s32.s32", 0xff020304, 0x01010101, 0), static_cast<uint32_t>(-1 + 2 + 3 + 4));
  EXPECT_EQ(r3("dp4a.s32.u32", 0xffffffff, 0xffffffff, 0), static_cast<uint32_t>(-4 * 255));
  EXPECT_EQ(r3("dp2a.lo.s32.s32", 0xffff0002, 0x0403ff02, 0), static_cast<uint32_t>(4 + 1));
  EXPECT_EQ(r3("dp2a.hi.s32.s32", 0xffff0002, 0x0403ff02, 0), static_cast<uint32_t>(6 - 4));
  EXPECT_EQ(r3("dp2a.lo.s32.u32", 0xffff0002, 0x0000ff01, 0), static_cast<uint32_t>(2 - 255));
  EXPECT_EQ(r3("dp2a.lo.u32.s32", 0xffff0002, 0x0000ff01, 0), static_cast<uint32_t>(2 - 65535));
}

TEST(PtxBits, LogicAndLop3) {
  EXPECT_EQ(r2("and.b32", 0xff00ff00, 0x0ff00ff0), 0x0f000f00u);
  EXPECT_EQ(r1("cnot.b32", 0), 1u);
  EXPECT_EQ(r1("cnot.b32", 8), 0u);
  auto lop3 = [](const char* table) {
    return jit().run<uint32_t>(std::string("lop3.b32 $0, $1, $2, $3, ") + table + ";", "=r,r,r,r", 0xf0u, 0xccu, 0xaau);
  };
  // These three inputs make the result the table itself.
  for (uint32_t table : {0x00u, 0x96u, 0xe8u, 0xcau, 0x1eu, 0xffu}) EXPECT_EQ(lop3(std::to_string(table).c_str()) & 0xff, table);
  const char* with_predicate = "{ .reg .pred p; lop3.or.b32 $0|p, $1, $2, $3, 0x80, 0; selp.u32 $0, 1, 0, p; }";
  EXPECT_EQ(jit().run<uint32_t>(with_predicate, "=r,r,r,r", 1u, 1u, 1u), 1u);
  EXPECT_EQ(jit().run<uint32_t>(with_predicate, "=r,r,r,r", 1u, 2u, 1u), 0u);
  auto combined = [](const char* with, uint32_t a) {
    return jit().run<uint32_t>(std::string("{ .reg .pred p; lop3.") + with + "; selp.u32 $0, 1, 0, p; }", "=r,r", a);
  };
  EXPECT_EQ(combined("and.b32 $0|p, $1, $1, $1, 0x80, 0", 1), 0u);
  EXPECT_EQ(combined("and.b32 $0|p, $1, $1, $1, 0x80, 1", 1), 1u);
  EXPECT_EQ(combined("xor.b32 $0|p, $1, $1, $1, 0x80, 1", 1), 0u);
  EXPECT_EQ(combined("xor.b32 $0|p, $1, $1, $1, 0x80, 1", 0), 1u);
}

TEST(PtxBits, ShiftsByTheWidthAndMore) {
  EXPECT_EQ(r2("shl.b32", 1, 31), kMin);
  EXPECT_EQ(r2("shl.b32", 1, 32), 0u);
  EXPECT_EQ(r2("shl.b32", 1, kOnes), 0u);
  EXPECT_EQ(r2("shr.u32", kOnes, 32), 0u);
  EXPECT_EQ(r2("shr.s32", kMin, 200), kOnes);
  EXPECT_EQ(r2("shr.b32", kMin, 31), 1u);
  EXPECT_EQ(jit().run<uint64_t>("shl.b64 $0, $1, $2;", "=l,l,r", uint64_t{1}, 64u), 0u);
  EXPECT_EQ(jit().run<uint64_t>("shr.s64 $0, $1, $2;", "=l,l,r", uint64_t{1} << 63, 64u), ~uint64_t{0});
  EXPECT_EQ(jit().run<uint16_t>("shl.b16 $0, $1, $2;", "=h,h,r", uint16_t{1}, 16u), 0u);
}

TEST(PtxBits, FunnelShiftsClampAndWrap) {
  EXPECT_EQ(r3("shf.l.clamp.b32", 0x89abcdef, 0x01234567, 8), 0x23456789u);
  EXPECT_EQ(r3("shf.l.clamp.b32", 0x89abcdef, 0x01234567, 40), 0x89abcdefu);
  EXPECT_EQ(r3("shf.l.wrap.b32", 0x89abcdef, 0x01234567, 40), 0x23456789u);
  EXPECT_EQ(r3("shf.r.clamp.b32", 0x89abcdef, 0x01234567, 8), 0x6789abcdu);
  EXPECT_EQ(r3("shf.r.clamp.b32", 0x89abcdef, 0x01234567, 33), 0x01234567u);
  EXPECT_EQ(r3("shf.r.wrap.b32", 0x89abcdef, 0x01234567, 32), 0x89abcdefu);
}

TEST(PtxBits, FieldExtractAndInsert) {
  EXPECT_EQ(r3("bfe.u32", 0x12345678, 8, 8), 0x56u);
  EXPECT_EQ(r3("bfe.s32", 0x00008000, 8, 8), 0xffffff80u);
  EXPECT_EQ(r3("bfe.u32", kOnes, 28, 8), 0xfu);
  EXPECT_EQ(r3("bfe.s32", kMin, 28, 8), 0xfffffff8u);  // beyond the top: the value's sign
  EXPECT_EQ(r3("bfe.s32", kMin, 40, 3), kOnes);
  EXPECT_EQ(r3("bfe.s32", kOnes, 4, 0), 0u);
  EXPECT_EQ(r3("bfe.u32", 0x12345678, 0x108, 0x108), 0x56u);  // only 8 bits of each count
  EXPECT_EQ(jit().run<uint64_t>("bfe.u64 $0, $1, $2, $3;", "=l,l,r,r", ~uint64_t{0}, 0x100u, 8u), 0u);
  EXPECT_EQ(jit().run<uint64_t>("bfe.s64 $0, $1, $2, $3;", "=l,l,r,r", uint64_t{1} << 63, 0xc4524d3bu, 0x80000000u),
            ~uint64_t{0});
  EXPECT_EQ(jit().run<uint64_t>("bfi.b64 $0, $1, $2, $3, $4;", "=l,l,l,r,r", uint64_t{1}, uint64_t{6}, 0x3f800000u, 4u), 6u);
  EXPECT_EQ(r4("bfi.b32", 0xab, 0x12345678, 8, 8), 0x1234ab78u);
  EXPECT_EQ(r4("bfi.b32", 0xab, 0x12345678, 28, 8), 0xb2345678u);
  EXPECT_EQ(r4("bfi.b32", 0xab, 0x12345678, 32, 8), 0x12345678u);
  EXPECT_EQ(r4("bfi.b32", 0xab, 0x12345678, 8, 0), 0x12345678u);
  EXPECT_EQ(r4("bfi.b32", 0xab, 0x12345678, 0, 40), 0xabu);
}

TEST(PtxBits, CountAndFind) {
  EXPECT_EQ(r1("clz.b32", 0), 32u);
  EXPECT_EQ(jit().run<uint32_t>("clz.b64 $0, $1;", "=r,l", uint64_t{1}), 63u);
  EXPECT_EQ(jit().run<uint32_t>("popc.b64 $0, $1;", "=r,l", ~uint64_t{0}), 64u);
  EXPECT_EQ(r1("brev.b32", 1), kMin);
  EXPECT_EQ(r1("bfind.u32", 0), kOnes);
  EXPECT_EQ(r1("bfind.u32", 0x100), 8u);
  EXPECT_EQ(r1("bfind.s32", kOnes), kOnes);
  EXPECT_EQ(r1("bfind.s32", 0xfffffeff), 8u);
  EXPECT_EQ(r1("bfind.shiftamt.u32", 0x100), 23u);
  EXPECT_EQ(r1("bfind.shiftamt.u32", 0), kOnes);
  EXPECT_EQ(jit().run<uint32_t>("bfind.u64 $0, $1;", "=r,l", uint64_t{1} << 40), 40u);
  EXPECT_EQ(jit().run<uint32_t>("bfind.s64 $0, $1;", "=r,l", ~(uint64_t{1} << 40)), 40u);
  EXPECT_EQ(r3("fns.b32", 0x0000f0f0, 13, static_cast<uint32_t>(-1)), 13u);
  EXPECT_EQ(r3("fns.b32", 0x0000f0f0, 0, 1), 4u);
  EXPECT_EQ(r3("fns.b32", 0x0000f0f0, 5, 4), 12u);
  EXPECT_EQ(r3("fns.b32", 0x0000f0f0, 13, static_cast<uint32_t>(-3)), 7u);
  EXPECT_EQ(r3("fns.b32", 0x0000f0f0, 5, 0), 5u);
  EXPECT_EQ(r3("fns.b32", 0x0000f0f0, 0, 0), kOnes);
  EXPECT_EQ(r3("fns.b32", 0x0000f0f0, 0, 9), kOnes);
}

TEST(PtxBits, PermuteInEveryMode) {
  const uint32_t a = 0x33221100, b = 0x77665544;
  EXPECT_EQ(r3("prmt.b32", a, b, 0x7531), 0x77553311u);
  EXPECT_EQ(r3("prmt.b32", 0x00008000, 0, 0x9991), 0xffffff80u);  // bit 3 replicates the sign
  EXPECT_EQ(r3("prmt.b32", 0x00007f00, 0, 0x9991), 0x0000007fu);
  EXPECT_EQ(r3("prmt.b32.f4e", a, b, 1), 0x44332211u);
  EXPECT_EQ(r3("prmt.b32.b4e", a, b, 0), 0x55667700u);
  EXPECT_EQ(r3("prmt.b32.rc8", a, b, 2), 0x22222222u);
  EXPECT_EQ(r3("prmt.b32.ecl", a, b, 1), 0x33221111u);
  EXPECT_EQ(r3("prmt.b32.ecr", a, b, 1), 0x11111100u);
  EXPECT_EQ(r3("prmt.b32.ecr", a, b, 3), a);
  EXPECT_EQ(r3("prmt.b32.rc16", a, b, 1), 0x33223322u);
}

TEST(PtxBits, ExtendAndMask) {
  EXPECT_EQ(r2("szext.clamp.s32", 0x80, 8), 0xffffff80u);
  EXPECT_EQ(r2("szext.clamp.u32", 0xfff, 8), 0xffu);
  EXPECT_EQ(r2("szext.clamp.s32", 0x80, 0), 0u);
  EXPECT_EQ(r2("szext.clamp.s32", kMin, 40), kMin);
  EXPECT_EQ(r2("szext.wrap.u32", 0xfff, 40), 0xffu);
  EXPECT_EQ(r2("bmsk.clamp.b32", 4, 8), 0xff0u);
  EXPECT_EQ(r2("bmsk.clamp.b32", 28, 40), 0xf0000000u);
  EXPECT_EQ(r2("bmsk.wrap.b32", 36, 40), 0xff0u);
  EXPECT_EQ(r2("bmsk.clamp.b32", 36, 8), 0u);
  EXPECT_EQ(r2("szext.wrap.s32", 0x80, 40), 0xffffff80u);
}

TEST(PtxSimd, PackedVideo) {
  EXPECT_EQ(r3("vadd4.u32.u32.u32", 0xff010203, 0x01010101, 0), 0x00020304u);
  EXPECT_EQ(r3("vadd4.u32.u32.u32.sat", 0xff010203, 0x01010101, 0), 0xff020304u);
  EXPECT_EQ(r3("vsub2.s32.s32.s32.sat", 0x80000005, 0x00010003, 0), 0x80000002u);
  EXPECT_EQ(r3("vabsdiff4.u32.u32.u32.add", 0x01020304, 0x04030201, 10), 10u + 3 + 1 + 1 + 3);
  EXPECT_EQ(r3("vavrg4.u32.u32.u32", 0x00000103, 0x00000102, 0), 0x00000103u);
  EXPECT_EQ(r3("vmax2.s32.s32.s32", 0xffff0001, 0x00000002, 0), 0x00000002u);
  EXPECT_EQ(r3("vset4.u32.u32.lt", 0x01020304, 0x02020205, 0), 0x01000001u);
  EXPECT_EQ(r3("vavrg4.s32.s32.s32", 0x000000fd, 0x000000fe, 0), 0x000000fdu);  // -2.5 away from zero
  EXPECT_EQ(r3("vsub4.u32.u32.u32.sat", 0x01020304, 0x02020101, 0), 0x00000203u);
  EXPECT_EQ(r3("vmin4.s32.s32.s32", 0xff010280, 0x0101ff01, 0), 0xff01ff80u);
}

TEST(PtxSimd, ScalarVideo) {
  EXPECT_EQ(r3("vshr.u32.u32.u32.clamp.add", 0xf0, 4, 100), 115u);
  EXPECT_EQ(r3("vshr.u32.u32.u32.clamp.add", 0xf0, 400, 100), 100u);
  EXPECT_EQ(r2("vshl.u32.u32.u32.wrap", 1, 33), 2u);
  EXPECT_EQ(r2("vadd.s32.u32.u32.sat", kOnes, 1), kMax);
  EXPECT_EQ(r2("vabsdiff.u32.s32.s32", static_cast<uint32_t>(-3), 4), 7u);
  EXPECT_EQ(r3("vmad.u32.u32.u32.sat", kOnes, 2, 3), kOnes);
  EXPECT_EQ(r3("vset.s32.u32.lt.max", kOnes, 1, 0), 1u);
  EXPECT_EQ(r2("vmin.s32.s32.s32", kOnes, 1), kOnes);
  EXPECT_EQ(r2("vmin.u32.u32.u32", kOnes, 1), 1u);
  EXPECT_EQ(r3("vadd.u32.u32.u32.min", 1, 1, kOnes), 2u);
  EXPECT_EQ(r3("vadd.s32.s32.s32.min", 1, 1, kOnes), kOnes);
  EXPECT_EQ(r3("vmad.s32.s32.s32.sat", 1, 1, static_cast<uint32_t>(-5)), static_cast<uint32_t>(-4));
}

}  // namespace
}  // namespace mneme::ptx
