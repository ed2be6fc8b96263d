#include "mneme/snapshot/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>

namespace mneme {
namespace {

constexpr const char* kForm = "TYPE, THRESHOLD, absolute|relative|ulp[, L1|L2|Linf][, nan=recorded|any|none]";

TEST(Tolerance, IsWrittenAndReadBack) {
  const std::pair<const char*, Tolerance> texts[] = {
      {"f32, 1e-05, relative", {ElementType::f32, 1e-5, ErrorKind::relative}},
      {"bf16, 2, ulp, nan=any", {ElementType::bf16, 2, ErrorKind::ulp, Norm::none, NanPolicy::any}},
      {"f64, 1e-12, relative, L2", {ElementType::f64, 1e-12, ErrorKind::relative, Norm::l2}},
      {"complex64, 0.1, absolute, L1", {ElementType::complex64, 0.1, ErrorKind::absolute, Norm::l1}},
      {"f8e5m2, 0.25, absolute, Linf, nan=none", {ElementType::f8e5m2, 0.25, ErrorKind::absolute, Norm::linf, NanPolicy::none}},
      {"i64, 0, absolute", {ElementType::i64, 0, ErrorKind::absolute}},
  };
  for (const auto& [text, tolerance] : texts) {
    EXPECT_EQ(format_tolerance(tolerance), text);
    auto read = parse_tolerance(text);
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(*read, tolerance) << text;
  }
}

// A threshold that loses digits is another one.
TEST(Tolerance, AThresholdHasAllItsDigits) {
  for (double threshold : {0.1 + 0.2, 1.0 / 3, 1.2345678, 123456789.0, std::nextafter(1.0, 2.0), std::nextafter(1e-5, 1.0),
                           5e-324, 1.7976931348623157e308, 4503599627370497.5}) {
    const Tolerance tolerance{ElementType::f64, threshold, ErrorKind::relative};
    auto read = parse_tolerance(format_tolerance(tolerance));
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    EXPECT_EQ(read->threshold, threshold) << format_tolerance(tolerance);
    auto buffer = parse_buffer_tolerance(format_buffer_tolerance({"out", tolerance}));
    ASSERT_TRUE(buffer.ok()) << buffer.status().to_string();
    EXPECT_EQ(buffer->tolerance.threshold, threshold);
  }
}

TEST(Tolerance, IsReadInAnyOrderAndSpacing) {
  auto read = parse_tolerance("  f32 ,1e-3,  nan=recorded,L2,relative ");
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(*read, (Tolerance{ElementType::f32, 1e-3, ErrorKind::relative, Norm::l2}));
}

TEST(Tolerance, EveryTypeHasItsNameAndSize) {
  const std::pair<const char*, uint64_t> types[] = {
      {"f16", 2}, {"bf16", 2}, {"f8e4m3", 1}, {"f8e5m2", 1}, {"f32", 4}, {"f64", 8}, {"i8", 1},        {"i16", 2},
      {"i32", 4}, {"i64", 8},  {"u8", 1},     {"u16", 2},    {"u32", 4}, {"u64", 8}, {"complex64", 8}, {"complex128", 16}};
  for (const auto& [name, size] : types) {
    auto type = parse_element_type(name);
    ASSERT_TRUE(type.ok()) << name;
    EXPECT_EQ(to_string(*type), name);
    EXPECT_EQ(size_of(*type), Bytes(size)) << name;
  }
}

TEST(Tolerance, SaysWhatIsWrong) {
  auto message = [](const char* text) { return parse_tolerance(text).status().to_string(); };
  const std::string form = std::string("it is written ") + kForm;
  EXPECT_EQ(message("f32"), "invalid_argument: reading the tolerance 'f32': " + form);
  EXPECT_EQ(message("float, 1, absolute"),
            "invalid_argument: reading the tolerance 'float, 1, absolute': 'float' is no element type; there are f16, bf16, "
            "f8e4m3, f8e5m2, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64, complex64, complex128");
  EXPECT_EQ(message("f32, small, absolute"),
            "invalid_argument: reading the tolerance 'f32, small, absolute': 'small' is no threshold; " + form);
  EXPECT_EQ(message("f32, 1, about"),
            "invalid_argument: reading the tolerance 'f32, 1, about': 'about' is not understood; " + form);
  EXPECT_EQ(message("f32, 1, nan=maybe"),
            "invalid_argument: reading the tolerance 'f32, 1, nan=maybe': 'nan=maybe' is not understood; " + form);
  EXPECT_EQ(message("f32, 1, L2"),
            "invalid_argument: reading the tolerance 'f32, 1, L2': say absolute, relative or ulp; " + form);
  EXPECT_EQ(message("f32, -1, ulp"),
            "invalid_argument: reading the tolerance 'f32, -1, ulp': a tolerance's threshold is a finite number that is not "
            "negative, not -1");
  EXPECT_EQ(message("f32, nan, ulp"),
            "invalid_argument: reading the tolerance 'f32, nan, ulp': a tolerance's threshold is a finite number that is not "
            "negative, not nan");
  EXPECT_EQ(
      message("f32, inf, absolute"),
      "invalid_argument: reading the tolerance 'f32, inf, absolute': a tolerance's threshold is a finite number that is not "
      "negative, not inf");
  EXPECT_EQ(message("f32, 1, ulp, L1"),
            "invalid_argument: reading the tolerance 'f32, 1, ulp, L1': a tolerance with the norm L1 is absolute or relative: "
            "ulp is of single elements");
  EXPECT_EQ(message("i32, 1, absolute, nan=any"),
            "invalid_argument: reading the tolerance 'i32, 1, absolute, nan=any': a tolerance of i32 takes no 'nan=': the type "
            "has no NaN");
}

TEST(Tolerance, NamesItsBuffer) {
  auto read = parse_buffer_tolerance("ns::table: f32, 1, ulp");
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(*read, (BufferTolerance{"ns::table", {ElementType::f32, 1, ErrorKind::ulp}}));
  EXPECT_EQ(format_buffer_tolerance(*read), "ns::table: f32, 1, ulp");
  EXPECT_EQ(parse_buffer_tolerance("f32, 1, ulp").status().to_string(),
            std::string("invalid_argument: reading the tolerance 'f32, 1, ulp': it is written BUFFER: ") + kForm);
}

TEST(Tolerance, NothingGoesOnBehindTheThreshold) {
  for (const char* text : {"f32, 1x, absolute", "f32, 1 2, absolute", "f32, 1e, absolute"})
    EXPECT_EQ(parse_tolerance(text).status().code(), Code::invalid_argument) << text;
}

}  // namespace
}  // namespace mneme
