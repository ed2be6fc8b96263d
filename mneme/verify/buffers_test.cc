#include "mneme/verify/buffers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

namespace mneme {
namespace {

Region region(Region::Kind kind, uint64_t address, uint64_t size, std::string name = "") {
  return {kind, DevicePtr(address), Bytes(size), std::move(name), {}};
}

struct Launch {
  KernelRecord kernel;
  InstanceRecord instance;
  MemoryPlan plan;
};

// f(float* x, S s) with a pointer 8 bytes into s; x points 400 bytes into an allocation of 1003.
Launch launch() {
  Launch l;
  l.kernel.parameters = {{Parameter::Kind::pointer, "x", "ptr", 0, 8, 8},
                         {Parameter::Kind::aggregate, "s", "struct.S", 8, 16, 8},
                         {Parameter::Kind::pointer, "", "ptr", 24, 8, 8}};
  const uint64_t words[] = {0x7a0000000190, 0, 0x7a0000001000, 0};
  auto bytes = std::as_bytes(std::span(words));
  l.instance.parameters.assign(bytes.begin(), bytes.end());
  for (const Region& r :
       {region(Region::Kind::allocation, 0x7a0000000000, 1003), region(Region::Kind::allocation, 0x7a0000001000, 64),
        region(Region::Kind::global, 0x7b0000000000, 32, "table")}) {
    PlannedRegion planned;
    planned.prologue = planned.epilogue = r;
    l.plan.regions.push_back(planned);
  }
  return l;
}

Annotation annotation(uint64_t address, uint64_t size, const char* tag) {
  return {DevicePtr(address), Bytes(size), tag, {ElementType::f32, 1, ErrorKind::ulp}};
}

Result<std::vector<ToleratedRange>> resolve(const std::vector<std::string>& texts) {
  Launch l = launch();
  std::vector<BufferTolerance> tolerances;
  for (const std::string& text : texts) tolerances.push_back(*parse_buffer_tolerance(text));
  return resolve_tolerances(tolerances, l.kernel, l.instance, l.plan);
}

std::vector<std::string> shown(const std::vector<std::string>& texts) {
  auto ranges = resolve(texts);
  EXPECT_TRUE(ranges.ok()) << ranges.status().to_string();
  std::vector<std::string> result;
  if (ranges.ok())
    for (const ToleratedRange& r : *ranges)
      result.push_back(fmt::format("{}: {} from {} in {}", r.name, r.size.count, r.offset, r.region));
  return result;
}

using testing::ElementsAre;

TEST(Buffers, AnArgumentIsTheMemoryFromItsPointerToTheEnd) {
  EXPECT_THAT(shown({"x: f32, 1, ulp"}), ElementsAre("argument 'x': 600 from 400 in 0"));  // 603 bytes: 150 floats
  EXPECT_THAT(shown({"0: u8, 1, ulp"}), ElementsAre("argument 'x': 603 from 400 in 0"));
  EXPECT_THAT(shown({"s+8: f64, 1, ulp"}), ElementsAre("argument 's+8': 64 from 0 in 1"));
  EXPECT_THAT(shown({"table: complex128, 1, ulp"}), ElementsAre("global table: 32 from 0 in 2"));
}

TEST(Buffers, AnAddressRangeIsGivenBySizeOrEnd) {
  EXPECT_THAT(shown({"0x7a0000000004+8: f32, 1, ulp"}), ElementsAre("range 0x7a0000000004+8: 8 from 4 in 0"));
  EXPECT_THAT(shown({"0x7a0000000004-0x7a000000000c: f32, 1, ulp"}),
              ElementsAre("range 0x7a0000000004-0x7a000000000c: 8 from 4 in 0"));
  for (const char* wrong : {"0x7a0000000004-8: f32, 1, ulp", "0x7a0000000004: f32, 1, ulp", "0xzz+4: f32, 1, ulp"})
    EXPECT_EQ(resolve({wrong}).status().code(), Code::not_found) << wrong;
  EXPECT_EQ(resolve({"0x7a0000000004+0: f32, 1, ulp"}).status().code(), Code::invalid_argument);
}

TEST(Buffers, ARangeMayGoToTheEndAndNoFurther) {
  EXPECT_THAT(shown({"0x7a0000001010+48: u8, 1, absolute"}), ElementsAre("range 0x7a0000001010+48: 48 from 16 in 1"));
  EXPECT_EQ(resolve({"0x7a0000001010+49: u8, 1, absolute"}).status().code(), Code::invalid_argument);
  Launch l = launch();
  l.instance.annotations = {annotation(0x7a0000001010, 48, "rest")};
  EXPECT_TRUE(resolve_tolerances({}, l.kernel, l.instance, l.plan).ok());
  l.instance.annotations = {annotation(0x7a0000001010, 49, "rest")};
  EXPECT_EQ(resolve_tolerances({}, l.kernel, l.instance, l.plan).status().code(), Code::corrupt);
  const Status empty = find_buffers("0x7a0000001010-0x7a0000001010", l.kernel, l.instance, l.plan).status();
  EXPECT_EQ(empty.to_string(),
            "invalid_argument: the range '0x7a0000001010-0x7a0000001010' lies in no recorded allocation or "
            "global: allocation 0x7a0000001000 has 48 B from there");
  EXPECT_EQ(resolve({"0x7a0000000004-134140418588684: f32, 1, ulp"}).status().code(), Code::not_found) << "no address";
}

TEST(Buffers, ElementsLieAtMultiplesOfTheirParts) {
  EXPECT_THAT(shown({"0x7a0000001008+32: complex128, 1, absolute"}), ElementsAre("range 0x7a0000001008+32: 32 from 8 in 1"));
  EXPECT_THAT(resolve({"0x7a0000001004+32: complex128, 1, absolute"}).status().message(),
              testing::HasSubstr("hold no complex128, which lies at a multiple of 8 B"));
  EXPECT_EQ(resolve({"0x7a0000001002+8: f32, 1, ulp"}).status().code(), Code::invalid_argument);
}

TEST(Buffers, ANumberIsThatOfTheParameter) {
  EXPECT_THAT(shown({"1: f64, 1, ulp"}), ElementsAre("argument 's+8': 64 from 0 in 1"));
  EXPECT_EQ(resolve({"2: f64, 1, ulp"}).status().code(), Code::not_found) << "it points nowhere";
}

TEST(Buffers, WhatHasNoTagHasNoName) {
  Launch l = launch();
  l.instance.annotations = {annotation(0x7a0000001000, 16, ""), annotation(0x7a0000001010, 16, "named")};
  std::vector<std::string> names;
  for (const Buffer& buffer : buffers_of(l.kernel, l.instance, l.plan))
    if (buffer.kind == Buffer::Kind::annotation) names.push_back(buffer.name);
  EXPECT_THAT(names, ElementsAre("named"));
}

TEST(Buffers, ALaterToleranceReplacesWhatItOverlaps) {
  EXPECT_THAT(shown({"x: f32, 1, ulp", "x: f64, 1, ulp"}), ElementsAre("argument 'x': 600 from 400 in 0"));
  EXPECT_THAT(
      shown({"s+8: f64, 1, ulp", "0x7a0000001014+4: f32, 1, ulp"}),
      ElementsAre("argument 's+8': 16 from 0 in 1", "range 0x7a0000001014+4: 4 from 20 in 1", "argument 's+8': 40 from 24 in 1"));
}

// Against a model, element by element: the later one has its place, and of the earlier one every whole element beside it stays.
TEST(Buffers, WhateverOverlapsLeavesWholeElements) {
  constexpr uint64_t kBase = 0x7a0000001000, kSize = 32;
  const std::pair<const char*, uint64_t> types[] = {{"u8", 1}, {"u16", 2}, {"f32", 4}};
  for (const auto& [one, width] : types)
    for (const auto& [other, other_width] : types)
      for (uint64_t begin = 8; begin <= 24; begin += other_width)
        for (uint64_t size = other_width; begin + size <= kSize; ++size) {
          auto ranges = resolve({fmt::format("0x{:x}+16: {}, 1, absolute", kBase + 8, one),
                                 fmt::format("0x{:x}+{}: {}, 1, absolute", kBase + begin, size, other)});
          ASSERT_TRUE(ranges.ok()) << ranges.status().to_string();
          std::vector<std::string> found(kSize), expected(kSize);
          for (const ToleratedRange& range : *ranges)
            for (uint64_t i = 0; i < range.size.count; ++i) {
              std::string& byte = found.at(range.offset + i);
              EXPECT_TRUE(byte.empty()) << "two tolerances of one byte";
              byte = fmt::format("{} {}", to_string(range.tolerance.type), i % size_of(range.tolerance.type).count);
            }
          for (uint64_t element = 8; element < 24; element += width)
            for (uint64_t i = 0; i < width && (element + width <= begin || element >= begin + size); ++i)
              expected[element + i] = fmt::format("{} {}", one, i);
          for (uint64_t i = 0; i < size / other_width * other_width; ++i)
            expected[begin + i] = fmt::format("{} {}", other, i % other_width);
          ASSERT_EQ(found, expected) << one << " from 8 to 24, then " << other << " from " << begin << ", " << size << " B";
        }
}

TEST(Buffers, AnnotationsOfTheRecordingAreToleratedAndNamedByTheirTag) {
  Launch l = launch();
  l.instance.annotations = {annotation(0x7a0000000000, 8, "ends"), annotation(0x7a0000000100, 8, ""),
                            annotation(0x7a0000001000, 16, "ends")};
  auto ranges = resolve_tolerances({}, l.kernel, l.instance, l.plan);
  ASSERT_TRUE(ranges.ok()) << ranges.status().to_string();
  ASSERT_EQ(ranges->size(), 3u);
  EXPECT_EQ((*ranges)[0].name, "annotation ends");
  EXPECT_EQ((*ranges)[1].name, "annotation");
  EXPECT_EQ((*ranges)[2].size, Bytes(16));
  ranges = resolve_tolerances({{"ends", {ElementType::f64, 2, ErrorKind::absolute}}}, l.kernel, l.instance, l.plan);
  ASSERT_TRUE(ranges.ok()) << ranges.status().to_string();
  ASSERT_EQ(ranges->size(), 3u);
  EXPECT_EQ((*ranges)[0].tolerance.type, ElementType::f64);
  EXPECT_EQ((*ranges)[1].tolerance.type, ElementType::f32);
  EXPECT_EQ((*ranges)[2].tolerance.type, ElementType::f64);
  l.instance.annotations = {annotation(0x10, 8, "lost")};
  EXPECT_EQ(resolve_tolerances({}, l.kernel, l.instance, l.plan).status().message(),
            "the recorded annotation 'lost' of 8 B at 0x10 lies in no recorded allocation or global");
}

TEST(Buffers, APlaceHasTheNameOfTheNearestArgumentBeforeIt) {
  Launch l = launch();
  l.kernel.parameters.push_back({Parameter::Kind::pointer, "y", "ptr", 32, 8, 8});      // 100 bytes behind x
  l.kernel.parameters.push_back({Parameter::Kind::pointer, "again", "ptr", 40, 8, 8});  // where y is
  l.kernel.parameters.push_back({Parameter::Kind::pointer, "of_table", "ptr", 48, 8, 8});
  const uint64_t words[] = {0x7a0000000190, 0, 0x7a0000001000, 0, 0x7a00000001f4, 0x7a00000001f4, 0x7b0000000010};
  const auto bytes = std::as_bytes(std::span(words));
  l.instance.parameters.assign(bytes.begin(), bytes.end());
  l.instance.annotations = {annotation(0x7a0000000190, 400, "noted"), annotation(0x7b0000000000, 32, "noted")};
  const std::pair<uint64_t, const char*> kPlaces[] = {
      {0x7a0000000000, ""},  // before the first that points there
      {0x7a000000018f, ""},
      {0x7a0000000190, "argument 'x'"},
      {0x7a00000001f3, "argument 'x'"},
      {0x7a00000001f4, "argument 'again'"},
      {0x7a00000003ea, "argument 'again'"},
      {0x7a00000003eb, ""},  // behind the allocation
      {0x7a0000001020, "argument 's+8'"},
      {0x7b0000000000, "global table"},
      {0x7b000000000f, "global table"},
      {0x7b0000000010, "argument 'of_table'"},
      {0x7b000000001f, "argument 'of_table'"},
      {0x7b0000000020, ""},
  };
  for (const auto& [address, name] : kPlaces)
    EXPECT_EQ(name_of(DevicePtr(address), l.kernel, l.instance, l.plan), name) << std::hex << address;
}

TEST(Buffers, MappedSpansHoldWholeGranulesAndTheirRegions) {
  Launch l = launch();
  l.plan.regions[2].placement = Placement::module_symbol;
  PlannedRegion far;
  far.prologue = region(Region::Kind::allocation, 0x7a0000600100, 0x200000);
  l.plan.regions.push_back(far);
  map_spans(l.plan, 2_MiB);
  ASSERT_EQ(l.plan.spans.size(), 2u);
  EXPECT_EQ(l.plan.spans[0].address, DevicePtr(0x7a0000000000));
  EXPECT_EQ(l.plan.spans[0].size, 2_MiB);
  EXPECT_THAT(l.plan.spans[0].regions, ElementsAre(0, 1));
  EXPECT_EQ(l.plan.spans[1].address, DevicePtr(0x7a0000600000));
  EXPECT_EQ(l.plan.spans[1].size, 4_MiB);
  EXPECT_EQ(l.plan.regions[1].offset, 0x1000u);
  EXPECT_EQ(l.plan.regions[3].offset, (2u << 20) + 0x100);
  EXPECT_EQ(l.plan.copy_size, 6_MiB);
}

TEST(Buffers, ARangeDoesNotEndBeforeItBegins) {
  EXPECT_EQ(resolve({"0x7a0000000010-0x7a0000000008: u8, 1, absolute"}).status().code(), Code::not_found);
}

// Where an allocation begins is of no concern: what the device loads has an address.
TEST(Buffers, ElementsLieAtMultiplesOfTheirAddress) {
  Launch l = launch();
  l.plan.regions[0].prologue.address = l.plan.regions[0].epilogue.address = DevicePtr(0x7a0000000002);
  const auto resolved = [&](const char* text) {
    return resolve_tolerances({*parse_buffer_tolerance(text)}, l.kernel, l.instance, l.plan).status().code();
  };
  EXPECT_EQ(resolved("0x7a0000000004+8: f32, 1, ulp"), Code::ok);
  EXPECT_EQ(resolved("0x7a0000000002+8: f32, 1, ulp"), Code::invalid_argument);
}

TEST(Buffers, ThoseThatThereAreAreListedWithTheirPlaces) {
  EXPECT_EQ(resolve({"z: f32, 1, ulp"}).status().message(),
            "the tolerance 'z: f32, 1, ulp': there is no buffer 'z' in the recorded launch; there are\n"
            "  argument 'x'  0x7a0000000190, 603 B\n"
            "  argument 's+8'  0x7a0000001000, 64 B\n"
            "  global table  0x7b0000000000, 32 B\n"
            "or name a range of recorded memory: 0xADDRESS+SIZE");
}

TEST(Buffers, ARegionSaysOfWhatKindItIs) {
  EXPECT_EQ(describe(region(Region::Kind::allocation, 0x7a0000000000, 8)), "allocation 0x7a0000000000");
  EXPECT_EQ(describe(region(Region::Kind::host, 0x7c0000000000, 8)), "host memory 0x7c0000000000");
  EXPECT_EQ(describe(region(Region::Kind::global, 0x7b0000000000, 8, "table")), "global table");
}

TEST(Buffers, ABufferSmallerThanAnElementHoldsNone) {
  EXPECT_THAT(shown({"0x7a0000001000+4: f32, 1, ulp"}), ElementsAre("range 0x7a0000001000+4: 4 from 0 in 1"));
  EXPECT_THAT(resolve({"0x7a0000001000+3: f32, 1, ulp"}).status().message(),
              testing::HasSubstr("its 3 B at 0x7a0000001000 hold no f32, which lies at a multiple of 4 B"));
}

// Of a launch that was recorded with fewer bytes of arguments than its kernel has, what is behind them is no pointer.
TEST(Buffers, AnArgumentThatWasNotRecordedPointsNowhere) {
  Launch l = launch();
  const auto names = [&] {
    std::vector<std::string> all;
    for (const Buffer& buffer : buffers_of(l.kernel, l.instance, l.plan)) all.push_back(describe(buffer));
    return all;
  };
  l.instance.parameters.resize(24);
  EXPECT_THAT(names(), ElementsAre("argument 'x'", "argument 's+8'", "global table"));
  l.instance.parameters.resize(23);
  EXPECT_THAT(names(), ElementsAre("argument 'x'", "global table"));
}

// As a program gives them, which has not written them as text.
TEST(Buffers, AToleranceThatCannotBeIsRefused) {
  Launch l = launch();
  const Tolerance negative{ElementType::f32, -1, ErrorKind::absolute};
  EXPECT_EQ(resolve_tolerances({{"x", negative}}, l.kernel, l.instance, l.plan).status().to_string(),
            "invalid_argument: the tolerance for 'x': a tolerance's threshold is a finite number that is not negative, not -1");
}

// Machine code says only where arguments are and how large: any of their words may be a pointer.
TEST(Buffers, AnOpaqueArgumentIsAPointerOrHasSomeInIt) {
  Launch l = launch();
  for (Parameter& parameter : l.kernel.parameters)
    parameter = {Parameter::Kind::opaque, "", "", parameter.offset, parameter.size, 1};
  std::vector<std::string> names;
  for (const Buffer& buffer : buffers_of(l.kernel, l.instance, l.plan)) names.push_back(describe(buffer));
  EXPECT_THAT(names, testing::ElementsAre("argument '0'", "argument '1+8'", "global table"));
}

}  // namespace
}  // namespace mneme
