// Directed rounding is compared with the host's own under fesetround(), bit by bit, over values that meet every case; the other
// expected values are the PTX ISA's.
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <tuple>

#include "mneme/cpu/ptx/ptx_asm_jit_test.h"

namespace mneme::ptx {
namespace {

Jit& jit() { return Jit::instance(); }
constexpr uint32_t kNan = 0x7fc00000;
constexpr float kInf = std::numeric_limits<float>::infinity();

float f2(const std::string& ptx, float a, float b) { return jit().run<float>(ptx + " $0, $1, $2;", "=f,f,f", a, b); }
float f1(const std::string& ptx, float a) { return jit().run<float>(ptx + " $0, $1;", "=f,f", a); }
uint32_t bits(float value) { return std::bit_cast<uint32_t>(value); }
float real(uint32_t value) { return std::bit_cast<float>(value); }
uint32_t r2(const std::string& ptx, uint32_t a, uint32_t b) { return jit().run<uint32_t>(ptx + " $0, $1, $2;", "=r,r,r", a, b); }
uint16_t h2(const std::string& ptx, uint16_t a, uint16_t b) { return jit().run<uint16_t>(ptx + " $0, $1, $2;", "=h,h,h", a, b); }

struct Mode {
  const char* name;
  int host;
};
const Mode kModes[] = {{"rn", FE_TONEAREST}, {"rz", FE_TOWARDZERO}, {"rm", FE_DOWNWARD}, {"rp", FE_UPWARD}};

template <typename T, typename Function>
T rounded(int mode, Function function) {
  std::fesetround(mode);
  volatile T result = function();
  std::fesetround(FE_TONEAREST);
  return result;
}
template <typename T>
bool same(T a, T b) {
  return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
}

// Zeros, subnormals, neighbours of powers of two, the largest, infinities, NaN, and random bit patterns.
template <typename T, typename Bits>
std::vector<T> samples(size_t count) {
  using L = std::numeric_limits<T>;
  std::vector<T> values = {T(0),
                           -T(0),
                           T(1),
                           T(-1),
                           T(3),
                           L::min(),
                           L::denorm_min(),
                           -L::denorm_min(),
                           L::max(),
                           -L::max(),
                           L::infinity(),
                           -L::infinity(),
                           L::quiet_NaN(),
                           std::nextafter(T(1), T(2)),
                           std::nextafter(T(1), T(0)),
                           L::min() / 2,
                           -L::epsilon() / 2,
                           L::epsilon() / 4};
  std::mt19937_64 random(1);
  while (values.size() < count) {
    T value = std::bit_cast<T>(static_cast<Bits>(random()));
    values.push_back(value);
    values.push_back(T(std::ldexp(T(random() % 4096), static_cast<int>(random() % 60) - 30)));
  }
  return values;
}

template <typename T, typename Bits>
void check_binary(const std::string& opcode, const std::string& type, const std::string& constraints, T (*host)(T, T)) {
  auto values = samples<T, Bits>(60);
  for (const Mode& mode : kModes)
    for (T a : values)
      for (T b : values) {
        T got = jit().run<T>(opcode + "." + mode.name + "." + type + " $0, $1, $2;", constraints, a, b);
        volatile T x = a, y = b;
        T want = rounded<T>(mode.host, [&] { return host(x, y); });
        ASSERT_TRUE(same(got, want)) << opcode << "." << mode.name << "." << type << " of " << a << " and " << b << ": " << got
                                     << " for " << want;
      }
}

TEST(PtxRounding, SingleBinary) {
  check_binary<float, uint32_t>("add", "f32", "=f,f,f", [](float a, float b) { return a + b; });
  check_binary<float, uint32_t>("sub", "f32", "=f,f,f", [](float a, float b) { return a - b; });
  check_binary<float, uint32_t>("mul", "f32", "=f,f,f", [](float a, float b) { return a * b; });
  check_binary<float, uint32_t>("div", "f32", "=f,f,f", [](float a, float b) { return a / b; });
}
TEST(PtxRounding, DoubleBinary) {
  check_binary<double, uint64_t>("add", "f64", "=d,d,d", [](double a, double b) { return a + b; });
  check_binary<double, uint64_t>("sub", "f64", "=d,d,d", [](double a, double b) { return a - b; });
  check_binary<double, uint64_t>("mul", "f64", "=d,d,d", [](double a, double b) { return a * b; });
  check_binary<double, uint64_t>("div", "f64", "=d,d,d", [](double a, double b) { return a / b; });
}
TEST(PtxRounding, LeavesTheEnvironmentAsItWas) {
  jit().run<double>("add.rm.f64 $0, $1, $2;", "=d,d,d", 1.0, 0x1p-80);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

template <typename T, typename Bits>
void check_roots(const std::string& type, const std::string& constraints) {
  for (const Mode& mode : kModes)
    for (T a : samples<T, Bits>(400)) {
      volatile T x = a;
      T root = jit().run<T>("sqrt." + std::string(mode.name) + "." + type + " $0, $1;", constraints, a);
      ASSERT_TRUE(same(root, rounded<T>(mode.host, [&] { return std::sqrt(x); }))) << "sqrt." << mode.name << " " << a;
      T inverse = jit().run<T>("rcp." + std::string(mode.name) + "." + type + " $0, $1;", constraints, a);
      ASSERT_TRUE(same(inverse, rounded<T>(mode.host, [&] { return T(1) / x; }))) << "rcp." << mode.name << " " << a;
    }
}
TEST(PtxRounding, RootsAndReciprocals) {
  check_roots<float, uint32_t>("f32", "=f,f");
  check_roots<double, uint64_t>("f64", "=d,d");
}

template <typename T, typename Bits>
void check_fma(const std::string& type, const std::string& constraints) {
  auto values = samples<T, Bits>(26);
  for (const Mode& mode : kModes)
    for (T a : values)
      for (T b : values)
        for (T c : values) {
          volatile T x = a, y = b, z = c;
          T got = jit().run<T>("fma." + std::string(mode.name) + "." + type + " $0, $1, $2, $3;", constraints, a, b, c);
          ASSERT_TRUE(same(got, rounded<T>(mode.host, [&] { return std::fma(x, y, z); })))
              << "fma." << mode.name << " " << a << " " << b << " " << c;
        }
}
TEST(PtxRounding, FusedMultiplyAdd) {
  check_fma<float, uint32_t>("f32", "=f,f,f,f");
  check_fma<double, uint64_t>("f64", "=d,d,d,d");
}

TEST(PtxRounding, FromDoubleAndFromIntegers) {
  for (const Mode& mode : kModes) {
    std::string name = mode.name;
    for (double a : samples<double, uint64_t>(300)) {
      volatile double x = a;
      ASSERT_TRUE(same(jit().run<float>("cvt." + name + ".f32.f64 $0, $1;", "=f,d", a),
                       rounded<float>(mode.host, [&] { return static_cast<float>(x); })))
          << name << a;
    }
    std::mt19937_64 random(2);
    std::vector<uint64_t> values = {
        0, 1, ~uint64_t{0}, uint64_t{1} << 63, (uint64_t{1} << 63) - 1, (uint64_t{1} << 53) + 1, (uint64_t{1} << 24) + 1};
    while (values.size() < 200) values.push_back(random() >> random() % 60);
    for (uint64_t value : values) {
      volatile uint64_t u = value;
      volatile int64_t s = static_cast<int64_t>(value);
      ASSERT_EQ(bits(jit().run<float>("cvt." + name + ".f32.s64 $0, $1;", "=f,l", value)),
                bits(rounded<float>(mode.host, [&] { return static_cast<float>(s); })))
          << name << s;
      ASSERT_EQ(jit().run<double>("cvt." + name + ".f64.s64 $0, $1;", "=d,l", value),
                rounded<double>(mode.host, [&] { return static_cast<double>(s); }))
          << name << s;
      if (value >> 63) continue;  // the host's own conversion of larger unsigned values is done in software
      ASSERT_EQ(bits(jit().run<float>("cvt." + name + ".f32.u64 $0, $1;", "=f,l", value)),
                bits(rounded<float>(mode.host, [&] { return static_cast<float>(s); })))
          << name << u;
      volatile int32_t i = static_cast<int32_t>(value);
      ASSERT_EQ(bits(jit().run<float>("cvt." + name + ".f32.s32 $0, $1;", "=f,r", static_cast<uint32_t>(value))),
                bits(rounded<float>(mode.host, [&] { return static_cast<float>(i); })));
    }
    EXPECT_EQ(jit().run<double>("cvt." + name + ".f64.u64 $0, $1;", "=d,l", ~uint64_t{0}),
              name == "rn" || name == "rp" ? 0x1p64 : 0x1.fffffffffffffp63);
  }
}

// Against exact arithmetic in double, which holds every product and sum below.
uint16_t half_of(double value) { return jit().run<uint16_t>("cvt.rn.f16.f64 $0, $1;", "=h,d", value); }
double half_value(uint16_t value) { return jit().run<double>("cvt.f64.f16 $0, $1;", "=d,h", value); }

TEST(PtxHalf, FusedMultiplyAddRoundsOnce) {
  std::mt19937 random(3);
  for (int i = 0; i < 3000; ++i) {
    auto pick = [&] { return static_cast<uint16_t>((random() & 0x83ff) | (10 + random() % 10) << 10); };
    uint16_t a = pick(), b = pick(), c = pick();
    uint16_t got = jit().run<uint16_t>("fma.rn.f16 $0, $1, $2, $3;", "=h,h,h,h", a, b, c);
    ASSERT_EQ(got, half_of(half_value(a) * half_value(b) + half_value(c))) << a << " " << b << " " << c;
  }
  // 1 + 2^-11 + 2^-24: just above the middle, which twice to nearest would lose
  EXPECT_EQ(half_of(1 + 0x1p-11 + 0x1p-40), 0x3c01);
  EXPECT_EQ(half_of(1 + 0x1p-11), 0x3c00);
}

TEST(PtxHalf, ArithmeticAndPacking) {
  EXPECT_EQ(h2("add.f16", 0x3c00, 0x3c00), 0x4000);
  EXPECT_EQ(h2("add.rn.sat.f16", 0x3c00, 0x3c00), 0x3c00);
  EXPECT_EQ(r2("add.f16x2", 0x3c004000, 0x3c003c00), 0x40004200u);
  EXPECT_EQ(r2("mul.bf16x2", 0x3f804000, 0x40003f80), 0x40004000u);
  EXPECT_EQ(r2("sub.rn.bf16x2", 0x3f803f80, 0x3f800000), 0x00003f80u);
  EXPECT_EQ(jit().run<uint32_t>("fma.rn.relu.f16x2 $0, $1, $2, $3;", "=r,r,r,r", 0x3c00bc00u, 0x3c003c00u, 0u), 0x3c000000u);
  EXPECT_EQ(jit().run<uint32_t>("fma.rn.relu.bf16x2 $0, $1, $2, $3;", "=r,r,r,r", 0x3f80bf80u, 0x3f803f80u, 0u), 0x3f800000u);
  EXPECT_EQ(h2("add.ftz.f16", 0x0200, 0), 0);
  EXPECT_EQ(h2("add.ftz.f16", 0x0400, 0), 0x0400);
  EXPECT_EQ(h2("add.ftz.bf16", 0x0040, 0), 0);
  EXPECT_EQ(h2("add.ftz.bf16", 0x0080, 0), 0x0080);
  EXPECT_EQ(jit().run<uint32_t>("{neg.f16x2 $0,$1;}", "=r,r", 0x3c00bc00u), 0xbc003c00u);
  EXPECT_EQ(jit().run<uint32_t>("{abs.bf16x2 $0,$1;}", "=r,r", 0xbf80ff80u), 0x3f807f80u);
  EXPECT_EQ(jit().run<uint16_t>("ex2.approx.f16 $0, $1;", "=h,h", uint16_t{0x4000}), 0x4400);
  EXPECT_EQ(h2("min.f16", 0x7e00, 0x3c00), 0x3c00);
  EXPECT_EQ(h2("min.NaN.f16", 0x7e00, 0x3c00) & 0x7fff, 0x7e00);
  EXPECT_EQ(h2("max.bf16", 0x8000, 0x0000), 0x0000);
}

TEST(PtxHalf, BrainFusedMultiplyAddRoundsOnce) {
  // 1 + 2^-8 is the middle between two values; 2^-30 more goes up
  EXPECT_EQ(jit().run<uint16_t>("fma.rn.bf16 $0, $1, $2, $3;", "=h,h,h,h", uint16_t{0x3f80}, uint16_t{0x3b80}, uint16_t{0x3f80}),
            0x3f80);
  EXPECT_EQ(jit().run<uint16_t>("fma.rn.bf16 $0, $1, $2, $3;", "=h,h,h,h", uint16_t{0x3f81}, uint16_t{0x3b80}, uint16_t{0x3f80}),
            0x3f81);
}

TEST(PtxFloat, FlushToZero) {
  const float tiny = real(1), negative = real(0x80000001);
  EXPECT_EQ(bits(f2("add.ftz.f32", tiny, 0.0f)), 0u);
  EXPECT_EQ(bits(f2("mul.ftz.f32", negative, 1.0f)), 0x80000000u);
  EXPECT_EQ(bits(f2("mul.rn.f32", negative, 1.0f)), 0x80000001u);
  EXPECT_EQ(bits(f2("mul.ftz.f32", 0x1p-100f, 0x1p-40f)), 0u);
  EXPECT_EQ(f1("rcp.approx.ftz.f32", tiny), kInf);
  EXPECT_EQ(bits(f1("abs.ftz.f32", negative)), 0u);
  EXPECT_TRUE(std::isnan(f2("add.ftz.f32", real(kNan), 1.0f)));
  EXPECT_EQ(jit().run<double>("rcp.approx.ftz.f64 $0, $1;", "=d,d", 0x1p-1060), std::numeric_limits<double>::infinity());
}

TEST(PtxFloat, Saturation) {
  EXPECT_EQ(f2("add.sat.f32", 0.75f, 0.5f), 1.0f);
  EXPECT_EQ(bits(f2("add.sat.f32", -0.75f, 0.5f)), 0u);
  EXPECT_EQ(bits(f2("mul.sat.f32", real(kNan), 0.5f)), 0u);
  EXPECT_EQ(bits(f2("mul.sat.f32", -0.0f, 0.5f)), 0u);
  EXPECT_EQ(jit().run<float>("fma.rn.sat.f32 $0, $1, $2, $3;", "=f,f,f,f", kInf, 1.0f, 0.0f), 1.0f);
}

TEST(PtxFloat, MinMaxOfNanAndSignedZero) {
  EXPECT_EQ(f2("min.f32", real(kNan), 2.0f), 2.0f);
  EXPECT_EQ(f2("max.f32", 2.0f, real(kNan)), 2.0f);
  EXPECT_TRUE(std::isnan(f2("max.f32", real(kNan), real(kNan))));
  EXPECT_TRUE(std::isnan(f2("min.NaN.f32", real(kNan), 2.0f)));
  EXPECT_EQ(bits(f2("min.f32", 0.0f, -0.0f)), 0x80000000u);
  EXPECT_EQ(bits(f2("max.f32", -0.0f, 0.0f)), 0u);
  EXPECT_EQ(f2("min.xorsign.abs.f32", -3.0f, 2.0f), -2.0f);
  EXPECT_EQ(f2("max.xorsign.abs.f32", -3.0f, -2.0f), 3.0f);
  EXPECT_EQ(jit().run<double>("min.f64 $0, $1, $2;", "=d,d,d", -0.0, 0.0), 0.0);
  EXPECT_EQ(jit().run<float>("min.f32 $0, $1, $2, $3;", "=f,f,f,f", 3.0f, 2.0f, 1.0f), 1.0f);
  EXPECT_EQ(jit().run<float>("max.NaN.f32 $0, $1, $2, $3;", "=f,f,f,f", 3.0f, 2.0f, 4.0f), 4.0f);
}

TEST(PtxFloat, Approximations) {
  EXPECT_EQ(f1("ex2.approx.ftz.f32", 10.0f), 1024.0f);
  EXPECT_EQ(f1("lg2.approx.f32", 8.0f), 3.0f);
  EXPECT_EQ(f1("lg2.approx.f32", 0.0f), -kInf);
  EXPECT_EQ(f1("rsqrt.approx.f32", 4.0f), 0.5f);
  EXPECT_EQ(f1("rsqrt.approx.f32", -0.0f), -kInf);
  EXPECT_EQ(f1("sqrt.approx.f32", 9.0f), 3.0f);
  EXPECT_NEAR(f1("sin.approx.f32", 1.0f), 0.841471f, 1e-6);
  EXPECT_NEAR(f1("cos.approx.f32", 1.0f), 0.540302f, 1e-6);
  EXPECT_NEAR(f1("tanh.approx.f32", 0.5f), 0.462117f, 1e-6);
  EXPECT_EQ(f2("div.full.f32", 1.0f, 4.0f), 0.25f);
  EXPECT_EQ(jit().run<double>("rsqrt.approx.ftz.f64 $0, $1;", "=d,d", 16.0), 0.25);
}

TEST(PtxFloat, SignsAndClasses) {
  EXPECT_EQ(f2("copysign.f32", -1.0f, 3.0f), -3.0f);
  EXPECT_EQ(f1("neg.f32", 3.0f), -3.0f);
  const char* subnormal = "{ .reg .pred p; testp.subnormal.f32 p, $1; selp.u32 $0, 1, 0, p; }";
  EXPECT_EQ(jit().run<uint32_t>(subnormal, "=r,f", real(1)), 1u);
  EXPECT_EQ(jit().run<uint32_t>(subnormal, "=r,f", 1.0f), 0u);
  auto is = [](const char* what, float a) {
    return jit().run<uint32_t>(std::string("{ .reg .pred p; testp.") + what + ".f32 p, $1; selp.u32 $0, 1, 0, p; }", "=r,f", a);
  };
  const float signaling = real(0x7f800001), tiny = real(1);
  const std::tuple<const char*, std::vector<float>, std::vector<float>> classes[] = {
      {"finite", {0.0f, -1.0f, tiny}, {kInf, -kInf, real(kNan), signaling}},
      {"infinite", {kInf, -kInf}, {1.0f, real(kNan), signaling}},
      {"number", {0.0f, -1.0f, tiny, kInf, -kInf}, {real(kNan), signaling}},
      {"notanumber", {real(kNan), signaling}, {0.0f, 1.0f, kInf}},
      {"normal", {0.0f, 1.0f}, {tiny, kInf, real(kNan)}}};
  for (const auto& [what, yes, no] : classes) {
    for (float a : yes) EXPECT_EQ(is(what, a), 1u) << what << " " << a;
    for (float a : no) EXPECT_EQ(is(what, a), 0u) << what << " " << a;
  }
}

TEST(PtxSelect, ComparisonsWithNan) {
  auto compare = [](const char* how, float a, float b) {
    return jit().run<uint32_t>(std::string("{ .reg .pred p; setp.") + how + ".f32 p, $1, $2; selp.u32 $0, 1, 0, p; }", "=r,f,f",
                               a, b);
  };
  EXPECT_EQ(compare("lt", 1.0f, 2.0f), 1u);
  EXPECT_EQ(compare("lt", real(kNan), 2.0f), 0u);
  EXPECT_EQ(compare("ltu", real(kNan), 2.0f), 1u);
  EXPECT_EQ(compare("ne", real(kNan), 2.0f), 0u);
  EXPECT_EQ(compare("neu", real(kNan), 2.0f), 1u);
  EXPECT_EQ(compare("nan", 1.0f, real(kNan)), 1u);
  EXPECT_EQ(compare("num", 1.0f, real(kNan)), 0u);
  EXPECT_EQ(compare("eq.ftz", real(1), 0.0f), 1u);
  EXPECT_EQ(compare("eq.ftz", 0.0f, real(1)), 1u);
}

TEST(PtxSelect, EveryComparison) {
  auto is = [](const char* how, const char* type, const char* constraints, auto a, auto b) {
    return jit().run<uint32_t>(std::string("{ .reg .pred p; setp.") + how + "." + type + " p, $1, $2; selp.u32 $0, 1, 0, p; }",
                               constraints, a, b) != 0;
  };
  struct Row {
    const char* name;
    bool less, equal, greater;
  };
  const Row ordered[] = {{"eq", false, true, false}, {"ne", true, false, true},  {"lt", true, false, false},
                         {"le", true, true, false},  {"gt", false, false, true}, {"ge", false, true, true}};
  const Row unsigned_only[] = {
      {"lo", true, false, false}, {"ls", true, true, false}, {"hi", false, false, true}, {"hs", false, true, true}};
  const auto check = [&](const Row& row, const char* type, uint32_t low, uint32_t high) {
    EXPECT_EQ(is(row.name, type, "=r,r,r", low, high), row.less) << row.name << type;
    EXPECT_EQ(is(row.name, type, "=r,r,r", low, low), row.equal) << row.name << type;
    EXPECT_EQ(is(row.name, type, "=r,r,r", high, low), row.greater) << row.name << type;
  };
  for (const Row& row : ordered) {
    check(row, "u32", 1, ~0u);
    check(row, "s32", ~0u, 1);
    for (const std::string& name : {std::string(row.name), std::string(row.name) + "u"}) {
      EXPECT_EQ(is(name.c_str(), "f32", "=r,f,f", 1.0f, 2.0f), row.less) << name;
      EXPECT_EQ(is(name.c_str(), "f32", "=r,f,f", 2.0f, 2.0f), row.equal) << name;
      EXPECT_EQ(is(name.c_str(), "f32", "=r,f,f", 2.0f, 1.0f), row.greater) << name;
      EXPECT_EQ(is(name.c_str(), "f32", "=r,f,f", 2.0f, real(kNan)), name.size() == 3) << name;
    }
  }
  for (const Row& row : unsigned_only) check(row, "u32", 1, ~0u);
}

TEST(PtxSelect, PredicatesAndMasks) {
  const char* both = "{ .reg .pred p, q; setp.lt.and.s32 p|q, $1, $2, 1; selp.u32 $0, 1, 0, p; @q add.u32 $0, $0, 2; }";
  EXPECT_EQ(jit().run<uint32_t>(both, "=r,r,r", 1u, 2u), 1u);
  EXPECT_EQ(jit().run<uint32_t>(both, "=r,r,r", 2u, 1u), 2u);
  auto combined = [](const char* how, uint32_t a, uint32_t q) {
    return jit().run<uint32_t>(
        std::string("{ .reg .pred p, q; setp.ne.u32 q, $2, 0; setp.lt.") + how + ".s32 p, $1, 5, q; selp.u32 $0, 1, 0, p; }",
        "=r,r,r", a, q);
  };
  for (uint32_t less : {0u, 1u})
    for (uint32_t q : {0u, 1u}) {
      EXPECT_EQ(combined("and", less ? 1 : 9, q), less & q);
      EXPECT_EQ(combined("or", less ? 1 : 9, q), less | q);
      EXPECT_EQ(combined("xor", less ? 1 : 9, q), less ^ q);
    }
  EXPECT_EQ(r2("set.lt.u32.s32", ~0u, 0), ~0u);
  EXPECT_EQ(r2("set.lt.f32.u32", ~0u, 0), 0u);
  EXPECT_EQ(r2("set.eq.f16x2.f16x2", 0x3c000000, 0x3c004000), 0x3c000000u);
  EXPECT_EQ(r2("set.eq.u32.f16x2", 0x3c000000, 0x3c004000), 0xffff0000u);
  const char* lanes = "{ .reg .pred p, q; setp.gt.f16x2 p|q, $1, $2; selp.u32 $0, 1, 0, p; @q add.u32 $0, $0, 2; }";
  EXPECT_EQ(jit().run<uint32_t>(lanes, "=r,r,r", 0x3c000000u, 0x00003c00u), 2u);
  EXPECT_EQ(r2("set.eq.bf16x2.bf16x2", 0x3f800000, 0x3f804000), 0x3f800000u);
  EXPECT_EQ(jit().run<uint32_t>("slct.u32.s32 $0, $1, $2, $3;", "=r,r,r,r", 1u, 2u, 0u), 1u);
  EXPECT_EQ(jit().run<uint32_t>("slct.u32.s32 $0, $1, $2, $3;", "=r,r,r,r", 1u, 2u, ~0u), 2u);
  EXPECT_EQ(jit().run<uint32_t>("slct.u32.f32 $0, $1, $2, $3;", "=r,r,r,f", 1u, 2u, -0.0f), 1u);
  EXPECT_EQ(jit().run<uint32_t>("slct.u32.f32 $0, $1, $2, $3;", "=r,r,r,f", 1u, 2u, real(0x80000001)), 2u);
  EXPECT_EQ(jit().run<uint32_t>("slct.ftz.u32.f32 $0, $1, $2, $3;", "=r,r,r,f", 1u, 2u, real(0x80000001)), 1u);
  EXPECT_EQ(jit().run<uint32_t>("slct.u32.f32 $0, $1, $2, $3;", "=r,r,r,f", 1u, 2u, real(kNan)), 2u);
}

TEST(PtxSelect, MovesPackAndUnpack) {
  EXPECT_EQ(jit().run<uint64_t>("mov.b64 $0, {$1, $2};", "=l,r,r", 1u, 2u), 0x200000001u);
  EXPECT_EQ(jit().run<uint32_t>("{ .reg .b32 lo; mov.b64 {lo, $0}, $1; }", "=r,d", 1.0), 0x3ff00000u);
  EXPECT_EQ(jit().run<uint16_t>("{ .reg .b16 lo, hi; mov.b32 {lo, hi}, $1; mov.b16 $0, hi; }", "=h,r", 0x12345678u), 0x1234);
  EXPECT_EQ(jit().run<float>("mov.f32 $0, 0f40490fdb;", "=f"), 0x1.921fb6p1f);
  EXPECT_EQ(jit().run<uint32_t>("mov.u32 $0, -1;", "=r"), ~0u);
}

TEST(PtxSelect, ConstantsAreOfTheInstructionsType) {
  EXPECT_EQ(jit().run<float>("add.f32 $0, $1, 1.5;", "=f,f", 1.0f), 2.5f);
  EXPECT_EQ(jit().run<float>("add.f32 $0, $1, 2;", "=f,f", 1.0f), 3.0f);
  EXPECT_EQ(jit().run<double>("add.f64 $0, $1, 0f3fc00000;", "=d,d", 1.0), 2.5);
  EXPECT_EQ(jit().run<double>("add.f64 $0, $1, -1.5e+1;", "=d,d", 1.0), -14.0);
  EXPECT_EQ(jit().run<uint32_t>("add.s32 $0, $1, -$2;", "=r,r,r", 5u, 3u), 2u);
  EXPECT_EQ(jit().run<float>("add.f32 $0, $1, -$2;", "=f,f,f", 5.0f, 3.0f), 2.0f);
}

}  // namespace
}  // namespace mneme::ptx
