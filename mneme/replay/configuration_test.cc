#include "mneme/replay/configuration.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "mneme/replay/testing/each_member.h"

namespace mneme {
namespace {

using Json = nlohmann::json;

Configuration everything() {
  Configuration c;
  c.passes = "function(instcombine<max-iterations=2>),default<O2>";
  c.codegen = {.level = 1,
               .target = "sm_90a",
               .features = "+ptx83",
               .fast_math = {"nnan", "afn"},
               .ftz = FlushDenormals::on,
               .contraction = Contraction::off};
  c.assembler = {.level = 1,
                 .options = {"--allow-expensive-optimizations=true"},
                 .max_registers = 32,
                 .load_cache = LoadCache::cg,
                 .store_cache = StoreCache::wt};
  c.grid.x = 7;
  c.block.y = 4;
  c.keep_threads = true;
  c.shared_memory = Bytes(4096);
  c.ir = {"other.ll", "00112233445566778899aabbccddeeff"};
  c.specialise = {{"n", "2", "*"}, true, true, true, true, {256, 2, 4, 64}};
  c.execution = {3, 2, StopWhen::time, 7, 77, 0.25, 1.5, CacheState::cold, true};
  c.tolerance = {{"out", {ElementType::f32, 1e-5, ErrorKind::relative, Norm::l2, NanPolicy::any}}, {"2", {ElementType::i64, 3}}};
  return c;
}

TEST(Configuration, GoesThroughJsonUnchanged) {
  for (const Configuration& c : {Configuration(), everything()}) EXPECT_EQ(*configuration_from_json(to_json(c)), c);
}

TEST(Configuration, EveryMemberIsWrittenReadComparedAndCountsWhereItIsOfTheCode) {
  const Configuration usual;
  Configuration c;
  std::map<Digest, std::string> digests{{usual.digest(), "none"}};
  testing_members::change_each(c, [&](const std::string& name) {
    EXPECT_FALSE(c == usual) << name;
    auto read = configuration_from_json(to_json(c));
    ASSERT_TRUE(read.ok()) << name << ": " << read.status().to_string();
    EXPECT_EQ(*read, c) << name;
    EXPECT_NE(to_json(c), to_json(usual)) << name;
    const std::string section = testing_members::section_of(name);
    const bool of_code = section != "execution" && section != "tolerance" && section != "verdict";
    EXPECT_EQ(digests.try_emplace(c.digest(), name).second, of_code) << name << ", and " << digests.at(c.digest());
  });
}

TEST(Configuration, WritesWhatIsNotAsByDefault) {
  EXPECT_EQ(to_json(Configuration()), (Json{{"passes", "as-built"}}));
  Configuration c;
  c.block.x = 32;
  EXPECT_EQ(to_json(c), (Json{{"passes", "as-built"}, {"block", {{"x", 32}}}}));
}

TEST(Configuration, DigestTellsCodeAndShapeApartButNotIterations) {
  Configuration a = everything(), b = everything();
  b.execution.iterations = 99;
  b.tolerance.pop_back();
  EXPECT_EQ(a.digest(), b.digest());
  b.block.y = 8;
  EXPECT_NE(a.digest(), b.digest());
}

TEST(Configuration, APassPluginCountsByItsContent) {
  auto write = [](const std::string& name, const char* content) {
    std::string path = fmt::format("{}/mneme-{}-{}", std::filesystem::temp_directory_path().string(), name, ::getpid());
    std::ofstream(path) << content;
    return path;
  };
  Configuration a, b;
  a.pass_plugins = {write("a", "one")};
  b.pass_plugins = {write("b", "one")};
  EXPECT_EQ(*configuration_from_json(to_json(a)), a);
  EXPECT_EQ(a.digest(), b.digest());
  EXPECT_NE(a.digest(), Configuration().digest());
  write("b", "two");
  EXPECT_NE(a.digest(), b.digest());
  std::filesystem::remove(a.pass_plugins[0]);
  std::filesystem::remove(b.pass_plugins[0]);
  EXPECT_NE(a.digest(), b.digest()) << "by their paths";
}

TEST(Configuration, DigestIsOfIrAndNotOfItsPath) {
  Configuration a = everything(), b = everything();
  b.ir.path = "moved.ll";
  EXPECT_EQ(a.digest(), b.digest());
  b.ir.digest[0] = 'f';
  EXPECT_NE(a.digest(), b.digest());
}

TEST(Configuration, DigestTellsSpecialisationsApart) {
  Configuration a = everything();
  for (auto change :
       {+[](SpecialiseOptions& s) { s.arguments.pop_back(); }, +[](SpecialiseOptions& s) { s.dimensions = false; },
        +[](SpecialiseOptions& s) { s.ranges = false; }, +[](SpecialiseOptions& s) { s.alignment = false; },
        +[](SpecialiseOptions& s) { s.no_alias = false; }, +[](SpecialiseOptions& s) { s.bounds.max_threads = 8; },
        +[](SpecialiseOptions& s) { s.bounds.min_blocks = 8; }, +[](SpecialiseOptions& s) { s.bounds.max_cluster = 8; },
        +[](SpecialiseOptions& s) { s.bounds.max_registers = 8; }}) {
    Configuration b = everything();
    change(b.specialise);
    EXPECT_NE(a.digest(), b.digest());
  }
}

InstanceRecord recorded_launch() {
  InstanceRecord instance;
  instance.grid = {10, 2, 1};
  instance.block = {64, 3, 1};
  return instance;
}

TEST(Configuration, KeepsThreadsInEachDirection) {
  Configuration c;
  c.keep_threads = true;
  c.block.x = 128;
  c.block.y = 1;
  LaunchShape shape = *c.launch_shape(recorded_launch());
  EXPECT_EQ(shape.grid, (Dim3{5, 6, 1}));
  EXPECT_EQ(shape.block, (Dim3{128, 1, 1}));
}

TEST(Configuration, RefusesToKeepThreadsThatNoGridKeeps) {
  Configuration c;
  c.keep_threads = true;
  c.block.x = 100;
  EXPECT_EQ(
      c.launch_shape(recorded_launch()).status().to_string(),
      "invalid_argument: keep_threads: the launch has 640 threads in x (10 blocks of 64), which blocks of 100 do not divide; "
      "choose a block.x that does, or give grid.x");
  c.block.x = 0;
  EXPECT_EQ(c.launch_shape(recorded_launch()).status().code(), Code::invalid_argument);
  c.block.x = 32;
  c.grid.y = 2;
  EXPECT_EQ(c.launch_shape(recorded_launch()).status().to_string(),
            "invalid_argument: keep_threads computes grid.y, which is given as 2: leave one of the two out");
  InstanceRecord huge = recorded_launch();
  huge.grid.x = 2147483647;
  c = {};
  c.keep_threads = true;
  c.block.x = 1;
  EXPECT_EQ(c.launch_shape(huge).status().to_string(),
            "invalid_argument: keep_threads: 137438953408 threads in x are 137438953408 blocks of 1, more than any grid has");
}

TEST(Configuration, AGridHasFewerThanTwoToTheThirtySecondBlocksInADirection) {
  InstanceRecord huge = recorded_launch();
  Configuration c;
  c.keep_threads = true;
  c.block.x = 1;
  huge.block.x = 1;
  huge.grid.x = UINT32_MAX;
  const auto most = c.launch_shape(huge);
  ASSERT_TRUE(most.ok()) << most.status().to_string();
  EXPECT_EQ(most->grid.x, UINT32_MAX);
  huge.block.x = 2;
  huge.grid.x = uint32_t{1} << 31;
  EXPECT_EQ(c.launch_shape(huge).status().code(), Code::invalid_argument);
}

TEST(Configuration, KeepsWhatIsNotOverridden) {
  InstanceRecord instance;
  instance.grid = {10, 2, 1};
  instance.block = {64, 1, 2};
  instance.dynamic_shared_memory = Bytes(16);
  Configuration c;
  c.block.x = 32;
  LaunchShape shape = *c.launch_shape(instance);
  EXPECT_EQ(shape.grid, (Dim3{10, 2, 1}));
  EXPECT_EQ(shape.block, (Dim3{32, 1, 2}));
  EXPECT_EQ(shape.dynamic_shared_memory, Bytes(16));
}

std::string refusal(const char* json) { return configuration_from_json(Json::parse(json)).status().message(); }

TEST(Configuration, RefusesWithTheReason) {
  EXPECT_EQ(refusal(R"({"pases": "x"})"), "configuration: unknown key 'pases'; the nearest is 'passes'");
  EXPECT_TRUE(refusal(R"({"foo": 1})").starts_with("configuration: unknown key 'foo'; there are: passes, "));
  EXPECT_EQ(refusal(R"({"passes": 3})"), "configuration: 'passes' must be a string, not 3");
  EXPECT_EQ(configuration_from_json({{"passes", "\xff"}}).status().message(),
            "configuration: 'passes' must be UTF-8, not \"\xef\xbf\xbd\"");
  EXPECT_EQ(configuration_from_json({{"pass_plugins", {"d\xff/p.so"}}}).status().message(),
            "configuration: 'pass_plugins' must be UTF-8, not [\"d\xef\xbf\xbd/p.so\"]");
  EXPECT_EQ(refusal(R"({"codegen": {"level": 9}})"), "configuration: 'codegen.level' must be a whole number from 0 to 3, not 9");
  EXPECT_EQ(refusal(R"({"grid": {"x": -1}})"), "configuration: 'grid.x' must be a whole number from 0 to 4294967295, not -1");
  EXPECT_EQ(refusal(R"({"grid": {"w": 1}})"), "configuration: unknown key 'grid.w'; there are: grid.x, grid.y, grid.z");
  EXPECT_EQ(refusal(R"({"shared_memory": 1e300})"),
            "configuration: 'shared_memory' must be a whole number from 0 to 4294967295, not 1e+300");
  EXPECT_EQ(refusal(R"({"grid": 3})"), "configuration: 'grid' must be an object, not 3");
  EXPECT_EQ(
      refusal(R"({"tolerance": [{"buffer": "x", "type": "float"}]})"),
      "configuration: 'tolerance[0].type' must be one of f16, bf16, f8e4m3, f8e5m2, f32, f64, i8, i16, i32, i64, u8, u16, u32, "
      "u64, complex64, complex128, not \"float\"");
  EXPECT_EQ(
      refusal(R"({"tolerance": [{"buffer": "x", "error": "ulp", "norm": "L1"}]})"),
      "configuration: the tolerance for 'x': a tolerance with the norm L1 is absolute or relative: ulp is of single elements");
  EXPECT_EQ(refusal(R"({"assembler": {"level": 5}})"),
            "configuration: 'assembler.level' must be a whole number from 0 to 4, not 5");
  EXPECT_EQ(refusal(R"({"assembler": {"load_cache": "wt"}})"),
            "configuration: 'assembler.load_cache' must be one of default, ca, cg, cs, lu, cv, not \"wt\"");
  EXPECT_EQ(refusal(R"({"specialise": {"min_registers": 1}})"),
            "configuration: unknown key 'specialise.min_registers'; the nearest is 'specialise.max_registers'");
  EXPECT_EQ(refusal(R"({"specialise": {"max_threads": 2048}})"),
            "configuration: 'specialise.max_threads' must be a whole number from 1 to 1024, not 2048");
  EXPECT_EQ(refusal("[]"), "configuration: an object is expected, not []");
}

TEST(Configuration, WhatOlderVersionsWroteIsRead) {
  Configuration plain;
  plain.passes = "default<O3>";
  plain.verdict.mask = false;
  const Json older = {{"passes", "default<O3>"}, {"verdict", {{"poison", false}}}};
  const auto read = configuration_from_json(older);
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_EQ(*read, plain);
  EXPECT_EQ(to_json(*read), (Json{{"passes", "default<O3>"}, {"verdict", {{"mask", false}}}})) << "and written as it is now";
  EXPECT_EQ(configuration_from_json({{"verdict", {{"poison", true}}}}).value(), Configuration());
  EXPECT_EQ(refusal(R"({"verdict": {"poison": 1}})"), "configuration: 'verdict.mask' must be true or false, not 1");
  EXPECT_EQ(refusal(R"({"verdict": {"poison": false, "mask": false}})"),
            "configuration: 'verdict.poison' is the former name of 'verdict.mask', and both are given: leave it out");
  EXPECT_EQ(refusal(R"({"poison": false})").substr(0, 40), "configuration: unknown key 'poison'; the") << "of its section alone";
  EXPECT_EQ(current_name("verdict.poison"), "verdict.mask");
  EXPECT_EQ(current_name("block.x"), "block.x");
}

TEST(Configuration, ItsTextForDigestsHasTheFirstNameOfEachMember) {
  Configuration plain;
  plain.passes = "default<O3>";
  plain.verdict.mask = false;
  const std::string first = R"({"passes":"default<O3>","verdict":{"poison":false}})";
  EXPECT_EQ(text_under_first_names(to_json(plain)), first);
  EXPECT_EQ(text_under_first_names(Json::parse(first)), first);
  EXPECT_EQ(text_under_first_names(to_json(Configuration())), R"({"passes":"as-built"})");
}

// By hand, for each number the least and the largest value: what is let through here is given to compilers and devices.
TEST(Configuration, EachNumberHasItsBounds) {
  constexpr uint64_t kMost = UINT32_MAX, kLaunches = 1'000'000;
  const std::tuple<const char*, const char*, uint64_t, uint64_t> kNumbers[] = {
      {"grid", "x", 0, kMost},
      {"grid", "y", 0, kMost},
      {"grid", "z", 0, kMost},
      {"block", "x", 0, kMost},
      {"block", "y", 0, kMost},
      {"block", "z", 0, kMost},
      {"specialise", "max_threads", 1, 1024},
      {"specialise", "min_blocks", 1, 1024},
      {"specialise", "max_cluster", 1, 1024},
      {"specialise", "max_registers", 1, 255},
      {"codegen", "level", 0, 3},
      {"assembler", "level", 0, 4},
      {"assembler", "max_registers", 1, kMost},
      {"execution", "iterations", 0, kLaunches},
      {"execution", "warm_up", 0, kLaunches},
      {"execution", "min_iterations", 1, kLaunches},
      {"execution", "max_iterations", 1, kLaunches},
  };
  const auto takes = [](const char* section, const char* key, const Json& value) {
    return configuration_from_json({{section, {{key, value}}}}).ok();
  };
  for (const auto& [section, key, least, most] : kNumbers) {
    EXPECT_TRUE(takes(section, key, least)) << section << "." << key;
    EXPECT_TRUE(takes(section, key, most)) << section << "." << key;
    EXPECT_FALSE(takes(section, key, static_cast<int64_t>(least) - 1)) << section << "." << key;
    EXPECT_FALSE(takes(section, key, most + 1)) << section << "." << key;
    EXPECT_FALSE(takes(section, key, (uint64_t{1} << 32) + least + 1)) << section << "." << key << " is not cut to 32 bits";
  }
  for (const auto& [key, least, most] : {std::tuple("relative_error", 1e-6, 1.0), std::tuple("max_time", 1e-6, 1e6)}) {
    EXPECT_TRUE(takes("execution", key, least)) << key;
    EXPECT_TRUE(takes("execution", key, most)) << key;
    EXPECT_FALSE(takes("execution", key, least * 0.999)) << key;
    EXPECT_FALSE(takes("execution", key, 0)) << key;
    EXPECT_FALSE(takes("execution", key, most * 1.001)) << key;
    EXPECT_FALSE(takes("execution", key, std::numeric_limits<double>::quiet_NaN())) << key;
  }
}

TEST(Configuration, KeepsThreadsBeyondThirtyTwoBits) {
  InstanceRecord instance;
  instance.grid = {1u << 26, 1, 1};
  instance.block = {128, 1, 1};
  Configuration c;
  c.keep_threads = true;
  c.block.x = 64;
  EXPECT_EQ(c.launch_shape(instance)->grid.x, 1u << 27);
}

TEST(Configuration, APartOfANumberIsNoWholeOne) {
  EXPECT_EQ(refusal(R"({"block": {"x": 64.5}})"),
            "configuration: 'block.x' must be a whole number from 0 to 4294967295, not 64.5");
  EXPECT_EQ(refusal(R"({"execution": {"iterations": 3.0}})"),
            "configuration: 'execution.iterations' must be a whole number from 0 to 1000000, not 3.0");
}

}  // namespace
}  // namespace mneme
