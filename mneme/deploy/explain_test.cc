// What a configuration is made of, what a person writes for each, and what of it is left without each.
#include "mneme/deploy/explain.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

namespace mneme {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Launched {
  KernelRecord kernel;
  InstanceRecord instance;
  Launched() {
    kernel.parameters = {{Parameter::Kind::pointer, "out", "ptr", 0, 8, 8}, {Parameter::Kind::integer, "", "i32", 8, 4, 4}};
    instance.grid = {10, 1, 1};
    instance.block = {256, 1, 1};
  }
};

std::vector<Ingredient> ingredients(const Configuration& configuration, const std::vector<std::string>& no_alias = {}) {
  const Launched launched;
  return ingredients_of(configuration, launched.kernel, launched.instance, no_alias);
}

std::vector<std::string> keys(const std::vector<Ingredient>& all) {
  std::vector<std::string> keys;
  for (const Ingredient& one : all) keys.push_back(one.key);
  return keys;
}

TEST(IngredientsOf, TheLaunchAsRecordedHasNone) { EXPECT_TRUE(ingredients({}).empty()); }

TEST(IngredientsOf, WhatIsJudgedAndTimedIsNone) {
  Configuration configuration;
  configuration.execution.iterations = 3;
  configuration.verdict.mask = false;
  EXPECT_TRUE(ingredients(configuration).empty());
}

TEST(IngredientsOf, EachIsTakenBackAlone) {
  Configuration all;
  all.passes = "default<O1>";
  all.linkage = Linkage::internal;
  all.ir.path = "other.ll";
  all.block.x = 128;
  all.keep_threads = true;
  all.specialise.arguments = {"out", "1"};
  all.specialise.dimensions = all.specialise.ranges = all.specialise.alignment = all.specialise.no_alias = true;
  all.specialise.bounds.max_threads = 512;
  all.codegen = {1, "sm_90a", "+ptx87", {"afn"}, FlushDenormals::on, Contraction::fast};
  all.assembler = {2, {"--foo"}, 32, LoadCache::cg, StoreCache::wt};
  const std::vector<Ingredient> found = ingredients(all, {"out"});
  EXPECT_THAT(
      keys(found),
      ElementsAre("block", "specialise.bounds", "specialise.arguments", "specialise.arguments", "specialise.dimensions",
                  "specialise.ranges", "specialise.alignment", "specialise.no_alias", "passes", "linkage", "ir", "codegen.level",
                  "codegen.target", "codegen.fast_math", "codegen.ftz", "codegen.contraction", "assembler.level",
                  "assembler.max_registers", "assembler.load_cache", "assembler.store_cache", "assembler.options"));
  for (const Ingredient& one : found) {
    EXPECT_NE(one.without, all) << one.key;
    // Without all others, too, nothing of it is left.
    const std::vector<std::string> left = keys(ingredients(one.without));
    EXPECT_EQ(left.size() + 1, found.size()) << one.key;
  }
  EXPECT_EQ(found[2].without.specialise.arguments, std::vector<std::string>{"1"});
  EXPECT_EQ(found[3].without.specialise.arguments, std::vector<std::string>{"out"});
  EXPECT_EQ(found[7].in_source, "__restrict__ for out");
  EXPECT_EQ(found[17].in_source, "ptxas --maxrregcount=32");
  EXPECT_EQ(found[18].in_source, "ptxas -dlcm=cg");
}

TEST(IngredientsOf, BlocksAndBoundsAreAsTheyAreWritten) {
  Configuration configuration;
  configuration.block.x = 128;
  configuration.keep_threads = true;
  configuration.specialise.bounds.max_threads = 128;
  configuration.specialise.bounds.min_blocks = 8;
  const std::vector<Ingredient> found = ingredients(configuration);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].in_source, "<<<20x1x1, 128x1x1, 0>>> where 10x1x1, 256x1x1, 0 was recorded");
  EXPECT_EQ(found[1].in_source, "__launch_bounds__(128, 8) at the kernel");
  EXPECT_EQ(found[0].without, Configuration()) << "the recorded block has more threads than the bounds allow";
  EXPECT_EQ(found[1].without.block.x, 128u);
}

TEST(IngredientsOf, OfAmdsKernelsBoundsAreAsHipHasThem) {
  Launched launched;
  launched.kernel.target = "amdgcn";
  const auto in_source = [&](const LaunchBounds& bounds) {
    Configuration configuration;
    configuration.specialise.bounds = bounds;
    const std::vector<Ingredient> found = ingredients_of(configuration, launched.kernel, launched.instance, {});
    return found.size() == 1 ? found[0].in_source : "";
  };
  EXPECT_EQ(in_source({.waves_per_eu = 4}), "__launch_bounds__(256, 4) at the kernel");
  EXPECT_EQ(in_source({.max_threads = 128}), "__launch_bounds__(128) at the kernel");
  EXPECT_EQ(in_source({.max_registers = 64}), "__attribute__((amdgpu_num_vgpr(64))) at the kernel");
  EXPECT_EQ(in_source({.max_registers = 64, .waves_per_eu = 2}),
            "__launch_bounds__(256, 2) __attribute__((amdgpu_num_vgpr(64))) at the kernel");
  Configuration configuration;
  configuration.codegen.code_object = 6;
  const std::vector<Ingredient> found = ingredients_of(configuration, launched.kernel, launched.instance, {});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].in_source, "clang -mcode-object-version=6");
  EXPECT_EQ(found[0].without, Configuration());
}

TEST(IngredientsOf, EveryArgumentIsEachOfThem) {
  Configuration configuration;
  configuration.specialise.arguments = {"*"};
  const std::vector<Ingredient> found = ingredients(configuration);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_THAT(found[0].in_source, HasSubstr("out: a template parameter"));
  EXPECT_EQ(found[0].without.specialise.arguments, std::vector<std::string>{"1"});
}

TEST(Explanation, IsToldWithWhatWasNotMeasured) {
  Explanation one{"found", "add(float*)", Digest(), "CPU", {}, {2, 1.5, 2.5}, {}};
  one.ingredients = {{"block", "a block", {}, {1.5, 1.4, 1.6}, 0.58},
                     {"passes", "opt", {}, {1.0, 0.9, 1.1}, 0.0},
                     {"linkage", "static", {}, {0.9, 0.8, 0.95}, -0.15},
                     {"ir", "what x changes", Status(Code::unsupported, "not verified: 3 bytes"), {}, {}}};
  EXPECT_EQ(
      describe(one),
      "add(float*), 00000000000000000000000000000000: 2.000 times as fast (1.500 to 2.500, 95 %), all of it together\n"
      "  block: a block\n    1.500 times as fast (1.400 to 1.600, 95 %), beside what is left without it, 58 % of the gain\n"
      "  passes: opt\n    1.000 times as fast (0.900 to 1.100, 95 %), beside what is left without it, 0 % of the gain: "
      "nothing shown, "
      "leave it out\n"
      "  linkage: static\n    0.900 times as fast (0.800 to 0.950, 95 %), beside what is left without it, -15 % of the gain: "
      "slower with it, leave it out\n"
      "  ir: what x changes\n    not measured without it: not verified: 3 bytes\n");
  const nlohmann::json json = to_json(std::vector{one}, {});
  EXPECT_EQ(json["mneme_explained"], 1);
  EXPECT_EQ(json["instances"][0]["ingredients"][3]["verified"], false);
  EXPECT_EQ(json["instances"][0]["ingredients"][0]["share"], 0.58);
  one.failure = Status(Code::not_found, "gone");
  EXPECT_EQ(describe(one), "add(float*), 00000000000000000000000000000000: cannot be explained: gone\n");
}

}  // namespace
}  // namespace mneme
