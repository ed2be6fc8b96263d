#include "mneme/device/element_error.h"

#include <gtest/gtest.h>

#include <limits>

namespace mneme {
namespace {

template <class T>
ByteSpan span_of(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

TEST(ElementError, IsToldInEveryKind) {
  const float recorded = 2, actual = 2.5f;
  ElementError e = element_error(ElementType::f32, span_of(actual), span_of(recorded));
  EXPECT_EQ(e.absolute, 0.5);
  EXPECT_EQ(e.relative, 0.25);
  EXPECT_EQ(e.ulp, 1 << 21);
  EXPECT_FALSE(e.unfit);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  e = element_error(ElementType::f32, span_of(nan), span_of(recorded));
  EXPECT_TRUE(e.unfit);
  EXPECT_EQ(e.ulp, std::numeric_limits<double>::infinity());
}

TEST(ElementError, ElementsAreWrittenByTheirType) {
  EXPECT_EQ(format_element(ElementType::f32, span_of(0.1f)), "0.1");
  EXPECT_EQ(format_element(ElementType::f64, span_of(0.1)), "0.1");
  EXPECT_EQ(format_element(ElementType::f16, span_of(uint16_t{0x3555})), "0.33325");
  EXPECT_EQ(format_element(ElementType::bf16, span_of(uint16_t{0xff80})), "-inf");
  EXPECT_EQ(format_element(ElementType::f8e4m3, span_of(uint8_t{0x7f})), "nan");
  EXPECT_EQ(format_element(ElementType::i8, span_of(uint8_t{0xff})), "-1");
  EXPECT_EQ(format_element(ElementType::u8, span_of(uint8_t{0xff})), "255");
  EXPECT_EQ(format_element(ElementType::i64, span_of(INT64_MIN)), "-9223372036854775808");
  const float complex[2] = {1, -2};
  EXPECT_EQ(format_element(ElementType::complex64, span_of(complex)), "(1, -2)");
}

TEST(ElementError, OfAComplexNumberEitherPartMayBeUnfit) {
  const float recorded[2] = {1, 2}, nan = std::numeric_limits<float>::quiet_NaN();
  const float of_real[2] = {nan, 2}, of_imaginary[2] = {1, nan};
  for (const auto* actual : {&of_real, &of_imaginary}) {
    const ElementError e = element_error(ElementType::complex64, span_of(*actual), span_of(recorded));
    EXPECT_TRUE(e.unfit);
    EXPECT_EQ(e.absolute, std::numeric_limits<double>::infinity());
  }
  EXPECT_EQ(element_error(ElementType::complex64, span_of(of_real), span_of(of_real)).absolute, 0);
}

}  // namespace
}  // namespace mneme
