#include "mneme/replay/facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <nlohmann/json.hpp>

namespace mneme {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr uint64_t kA = 0x7a0000000000, kB = kA + 0x10000, kC = kA + 0x20200, kVariable = 0x7b0000001000;

// k(ptr a, ptr b, i32 n, struct { i64; ptr } s, ptr), whose last parameter has no name.
class FactsTest : public testing::Test {
 protected:
  FactsTest() {
    kernel_.name = "_Z1k";
    kernel_.demangled = "k(float*, float*, int, S, float*)";
    kernel_.parameters = {{Parameter::Kind::pointer, "a", "ptr", 0, 8, 8},
                          {Parameter::Kind::pointer, "b", "ptr", 8, 8, 8},
                          {Parameter::Kind::integer, "count", "i32", 16, 4, 4},
                          {Parameter::Kind::aggregate, "s", "%s", 24, 16, 8},
                          {Parameter::Kind::pointer, "", "ptr", 40, 8, 8}};
    instance_.parameters.resize(48);
    set(0, kA);
    set(8, kB + 8);
    set(16, 1000);
    set(32, kC);
    set(40, kC);
    region(kA, 0x10000);
    region(kB, 0x1000);
    region(kC, 0x100);
    region(kVariable, 64, "table");
    shape_ = {{5, 1, 1}, {128, 2, 1}};
  }

  void set(size_t offset, uint64_t value) { std::memcpy(instance_.parameters.data() + offset, &value, sizeof value); }
  void region(uint64_t address, uint64_t size, const std::string& name = "") {
    PlannedRegion planned;
    planned.prologue = {
        name.empty() ? Region::Kind::allocation : Region::Kind::global, DevicePtr(address), Bytes(size), name, {}};
    plan_.regions.push_back(planned);
  }
  static PointerRoot root(unsigned parameter, const char* access) {
    return {.parameter = parameter, .read = access[0] == 'r', .written = std::strchr(access, 'w') != nullptr};
  }

  Result<SpecialisedLaunch> resolve(const SpecialiseOptions& options, const Result<PointerUse>& use = PointerUse()) {
    return resolve_facts(options, {kernel_, instance_, plan_, shape_}, use);
  }
  // Of a's no-alias: empty where it is proven.
  std::string doubt(const Result<PointerUse>& use, unsigned parameter = 0) {
    auto launch = resolve({.no_alias = true}, use);
    EXPECT_TRUE(launch.ok()) << launch.status().to_string();
    bool proven = false;
    for (const PointerFacts& facts : launch->values.pointers) proven |= facts.parameter == parameter && facts.no_alias;
    std::string reason;
    for (const UnprovenParameter& p : launch->may_alias)
      if (p.parameter == parameter) reason = p.reason;
    EXPECT_EQ(proven, reason.empty());
    return reason;
  }

  KernelRecord kernel_;
  InstanceRecord instance_;
  MemoryPlan plan_;
  LaunchShape shape_;
};

TEST_F(FactsTest, NothingAskedIsNothingSpecialised) { EXPECT_EQ(resolve({})->values, Specialisation()); }

TEST_F(FactsTest, ArgumentsAreFoundByNameAndIndex) {
  auto launch = resolve({.arguments = {"count", "1", "count", "4"}});
  ASSERT_TRUE(launch.ok()) << launch.status().to_string();
  EXPECT_EQ(launch->values.kernel, "_Z1k");
  ASSERT_EQ(launch->values.arguments.size(), 3u);
  EXPECT_EQ(launch->values.arguments[1], (ArgumentValue{2, {std::byte{0xe8}, std::byte{3}, {}, {}}}));
  EXPECT_EQ(to_json(report_of(*launch)), (Json{{"arguments", {"b", "count", "4"}}}));
  EXPECT_EQ(resolve({.arguments = {"*"}})->values.arguments.size(), 5u);
  EXPECT_EQ(resolve({.arguments = {"*"}})->values.arguments[3].bytes.size(), 16u);
}

TEST_F(FactsTest, AnUnknownArgumentIsRefusedWithThoseThereAre) {
  EXPECT_EQ(resolve({.arguments = {"coumt"}}).status().to_string(),
            "invalid_argument: specialise.arguments: k(float*, float*, int, S, float*) has no parameter 'coumt'; did you mean "
            "'count'?; it has\n  0  ptr a\n  1  ptr b\n  2  i32 count\n  3  %s s\n  4  ptr");
  EXPECT_THAT(resolve({.arguments = {"5"}}).status().message(), HasSubstr("has no parameter '5'; it has\n"));
  kernel_.parameters.clear();
  EXPECT_EQ(resolve({.arguments = {"x"}}).status().to_string(),
            "invalid_argument: specialise.arguments: k(float*, float*, int, S, float*) has no parameter 'x'; it has none");
}

TEST_F(FactsTest, DimensionsAreThoseThatAreLaunched) {
  auto launch = resolve({.dimensions = true, .ranges = true, .bounds = {.max_threads = 256, .min_blocks = 2}});
  ASSERT_TRUE(launch.ok()) << launch.status().to_string();
  const Json shape = {{"grid", {{"x", 5}, {"y", 1}, {"z", 1}}}, {"block", {{"x", 128}, {"y", 2}, {"z", 1}}}};
  EXPECT_EQ(to_json(report_of(*launch)),
            (Json{{"dimensions", shape}, {"ranges", shape}, {"max_threads", 256}, {"min_blocks", 2}}));
  EXPECT_EQ(resolve({.bounds = {.max_threads = 255}}).status().to_string(),
            "invalid_argument: specialise.max_threads is 255, and a block of the launch has 256 threads");
}

TEST_F(FactsTest, AlignmentIsThatOfTheRecordedPointers) {
  EXPECT_EQ(to_json(report_of(*resolve({.alignment = true}))), (Json{{"alignment", {{"a", 4096}, {"b", 8}, {"4", 512}}}}));
  set(0, 0);
  EXPECT_EQ(to_json(report_of(*resolve({.arguments = {"b"}, .alignment = true}))),
            (Json{{"arguments", {"b"}}, {"alignment", {{"4", 512}}}}));
}

TEST_F(FactsTest, PointersIntoDistinctAllocationsDoNotAlias) {
  const PointerUse use{.roots = {root(0, "r"), root(1, "w")}, .other = ""};
  auto launch = resolve({.no_alias = true}, use);
  EXPECT_EQ(to_json(report_of(*launch)),
            (Json{{"no_alias", {"a", "b"}}, {"may_alias", {{"4", "the kernel accesses no memory through it"}}}}));
}

TEST_F(FactsTest, WhatSharesWrittenMemoryMayAlias) {
  set(8, kA + 16);
  EXPECT_EQ(doubt({{.roots = {root(0, "r"), root(1, "w")}, .other = ""}}),
            "b points into the same memory, which the kernel writes to");
  EXPECT_EQ(doubt({{.roots = {root(0, "r"), root(1, "r")}, .other = ""}}), "") << "nobody writes there";
  // One that points behind an allocation was made from it.
  set(8, kB + 0x1000);
  set(0, kB);
  EXPECT_NE(doubt({{.roots = {root(0, "r"), root(1, "w")}, .other = ""}}), "");
}

TEST_F(FactsTest, PointersInStructuresAndVariablesCount) {
  PointerRoot member{.kind = PointerRoot::Kind::member, .parameter = 3, .offset = 8, .written = true};
  EXPECT_EQ(doubt({{.roots = {root(4, "r"), member}, .other = ""}}, 4),
            "a pointer in s (at byte 8) points into the same memory, which the kernel writes to");
  EXPECT_EQ(doubt({{.roots = {root(0, "r"), member}, .other = ""}}), "");
  PointerRoot variable{.kind = PointerRoot::Kind::variable, .variable = "table", .written = true};
  EXPECT_EQ(doubt({{.roots = {root(0, "rw"), variable}, .other = ""}}), "");
  set(0, kVariable + 4);
  EXPECT_EQ(doubt({{.roots = {root(0, "rw"), variable}, .other = ""}}),
            "the variable table points into the same memory, which the kernel writes to");
}

TEST_F(FactsTest, AcrossBarriersOnlyWhatIsNotWrittenDoesNotAlias) {
  const PointerUse use{.roots = {root(0, "r"), root(1, "w")}, .other = "", .synchronises = true};
  EXPECT_EQ(doubt(use, 0), "");
  EXPECT_EQ(doubt(use, 1), "the kernel writes through it, and its threads wait for each other");
}

TEST_F(FactsTest, WhatIsNotUnderstoodProvesNothing) {
  EXPECT_EQ(doubt({{.roots = {root(0, "r")}, .other = "a pointer that is loaded from memory"}}),
            "the kernel also reaches memory through a pointer that is loaded from memory");
  EXPECT_EQ(doubt(error(Code::internal, "LLVM reported a fatal error: x")), "LLVM reported a fatal error: x");
  plan_.regions[0].prologue.kind = Region::Kind::host;
  EXPECT_EQ(doubt({{.roots = {root(0, "r")}, .other = ""}}), "it points to host memory");
  set(0, 0x1234);
  EXPECT_EQ(doubt({{.roots = {root(0, "r")}, .other = ""}}), "it points to no recorded memory");
  auto launch = resolve({.arguments = {"a"}, .no_alias = true}, PointerUse{.roots = {root(0, "r")}, .other = ""});
  EXPECT_EQ(launch->may_alias.front().reason, "it is a constant");
}

TEST_F(FactsTest, DamagedParametersAreRefused) {
  instance_.parameters.resize(20);
  EXPECT_EQ(
      resolve({.arguments = {"a"}}).status().to_string(),
      "corrupt: k(float*, float*, int, S, float*): its parameter at 24 has 16 bytes, and 20 bytes of parameters were recorded");
}

TEST_F(FactsTest, AVariableThatIsWrittenIsWrittenMemory) {
  region(kVariable + 0x1000, 64, "other");
  PointerRoot variable{.kind = PointerRoot::Kind::variable, .variable = "other", .written = true};
  set(0, kVariable + 0x1000);
  EXPECT_EQ(doubt({{.roots = {root(0, "r"), variable}, .other = ""}}),
            "the variable other points into the same memory, which the kernel writes to")
      << "and nothing else writes there";
  set(0, kVariable);
  EXPECT_EQ(doubt({{.roots = {root(0, "rw"), variable}, .other = ""}}), "") << "it is of another variable";
}

TEST_F(FactsTest, ParametersEndWhereTheRecordedOnesDo) {
  EXPECT_TRUE(resolve({.arguments = {"4"}}).ok());
  instance_.parameters.resize(47);
  EXPECT_EQ(
      resolve({.arguments = {"a"}}).status().to_string(),
      "corrupt: k(float*, float*, int, S, float*): its parameter at 40 has 8 bytes, and 47 bytes of parameters were recorded");
}

}  // namespace
}  // namespace mneme
