#include "mneme/verify/typed_ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme {
namespace {

using testing::ElementsAre;

constexpr uint64_t kData = 0x7a0000000000, kTable = 0x7b0000000000;

// f(ptr x, ptr y) with an allocation of 64 bytes and a global of 32.
class TypedRangesTest : public testing::Test {
 protected:
  TypedRangesTest() {
    kernel_.parameters = {{Parameter::Kind::pointer, "x", "ptr", 0, 8, 8}, {Parameter::Kind::pointer, "y", "ptr", 8, 8, 8}};
    for (const Region& region : {Region{Region::Kind::allocation, DevicePtr(kData), Bytes(64), "", {}},
                                 Region{Region::Kind::global, DevicePtr(kTable), Bytes(32), "table", {}}}) {
      PlannedRegion planned;
      planned.prologue = planned.epilogue = region;
      plan_.regions.push_back(planned);
    }
    accesses_.parameters = {ElementType::f32, std::nullopt};
    accesses_.globals = {{"table", ElementType::i16}};
    point_to(kData, 0);
  }
  void point_to(uint64_t x, uint64_t y) {
    const auto bytes = std::as_bytes(std::span(pointers_ = {x, y}));
    instance_.parameters.assign(bytes.begin(), bytes.end());
  }
  std::vector<TypedRange> ranges(const std::vector<BufferType>& types = {}, const std::vector<ToleratedRange>& tolerances = {}) {
    auto found = typed_ranges_of(kernel_, instance_, plan_, tolerances, accesses_, types);
    EXPECT_TRUE(found.ok()) << found.status().to_string();
    return found.ok() ? *found : std::vector<TypedRange>();
  }
  static std::vector<std::string> shown(const std::vector<TypedRange>& all) {
    std::vector<std::string> texts;
    for (const TypedRange& r : all)
      texts.push_back(fmt::format("{}: {} {}+{}", r.where, r.type ? to_string(*r.type) : "bytes", r.region, r.offset) +
                      fmt::format(" {}", r.size.count));
    return texts;
  }

  std::array<uint64_t, 2> pointers_{};
  KernelRecord kernel_;
  InstanceRecord instance_;
  MemoryPlan plan_;
  ir::AccessTypes accesses_;
};

TEST_F(TypedRangesTest, AreNamedByArgumentsBeforeGlobals) {
  EXPECT_THAT(shown(ranges()), ElementsAre("argument 'x': f32 0+0 64", "global table: i16 1+0 32"));
  point_to(kTable, kData + 16);
  EXPECT_THAT(shown(ranges()),
              ElementsAre("allocation 0x7a0000000000: bytes 0+0 16", "argument 'y': bytes 0+16 48", "argument 'x': f32 1+0 32"))
      << "where an argument points to the begin of a global too";
  point_to(kTable + 8, kData);
  EXPECT_THAT(shown(ranges()), ElementsAre("argument 'y': bytes 0+0 64", "global table: i16 1+0 8", "argument 'x': f32 1+8 24"));
}

TEST_F(TypedRangesTest, ATypeThatDoesNotFitThePlaceIsNone) {
  const auto typed = [&](const char* buffer, ElementType type) {
    for (const TypedRange& range : ranges({{buffer, type}}))
      if (range.where == std::string("range ") + buffer) return range.type;
    ADD_FAILURE() << buffer;
    return std::optional<ElementType>();
  };
  EXPECT_EQ(typed("0x7a0000000008+32", ElementType::complex128), ElementType::complex128) << "its parts lie at multiples of 8";
  EXPECT_EQ(typed("0x7a0000000004+32", ElementType::complex128), std::nullopt);
  EXPECT_EQ(typed("0x7a0000000004+8", ElementType::f64), std::nullopt);
  EXPECT_EQ(typed("0x7a0000000008+8", ElementType::f64), ElementType::f64);
}

TEST_F(TypedRangesTest, ATypeThatTheUserGivesGoesBeforeThatOfATolerance) {
  const ToleratedRange tolerated{"argument 'x'", 0, 0, Bytes(64), {ElementType::f64, 1, ErrorKind::ulp}};
  EXPECT_EQ(ranges({}, {tolerated}).front().type, ElementType::f64);
  EXPECT_EQ(ranges({}, {tolerated}).front().buffer, "0x7a0000000000+64");
  EXPECT_EQ(ranges({{"x", ElementType::u8}}, {tolerated}).front().type, ElementType::u8);
}

// Whatever overlaps, and whatever is no whole element.
TEST_F(TypedRangesTest, TogetherTheyAreAllMemoryOnce) {
  for (uint64_t begin = 0; begin < 20; ++begin)
    for (uint64_t size = 1; size < 24; ++size) {
      const auto all = ranges({{fmt::format("0x{:x}+16", kData + 8), ElementType::u16},
                               {fmt::format("0x{:x}+{}", kData + begin, size), ElementType::u32}});
      uint64_t at = 0, of_last = 0;
      for (const TypedRange& range : all) {
        if (range.region != 0) continue;
        ASSERT_EQ(range.offset, at) << "from " << begin << ", " << size << " B";
        const uint64_t element = range.type ? size_of(*range.type).count : 1;
        EXPECT_EQ(range.size.count % element, 0u);
        EXPECT_EQ(range.offset % element, 0u);
        at += range.size.count;
        if (range.where == fmt::format("range 0x{:x}+{}", kData + begin, size)) of_last += range.size.count;
      }
      ASSERT_EQ(at, 64u) << "from " << begin << ", " << size << " B";
      ASSERT_EQ(of_last, size);
    }
}

TEST_F(TypedRangesTest, ABufferThatThereIsNotIsRefused) {
  EXPECT_EQ(typed_ranges_of(kernel_, instance_, plan_, {}, accesses_, {{"z", ElementType::f32}}).status().code(),
            Code::not_found);
}

TEST(BufferType, IsOfABuffer) {
  EXPECT_EQ(parse_buffer_type("ns::table:f32")->buffer, "ns::table");
  EXPECT_EQ(parse_buffer_type(":f32").status().to_string(),
            "invalid_argument: reading the type ':f32': it is written BUFFER:TYPE");
  EXPECT_EQ(parse_buffer_type("x").status().code(), Code::invalid_argument);
}

}  // namespace
}  // namespace mneme
