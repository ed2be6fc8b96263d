#include "mneme/replay/knobs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

namespace mneme {
namespace {

Result<Configuration> set(const std::vector<std::pair<std::string, std::string>>& given, const Configuration& base = {}) {
  std::vector<KnobChange> changes;
  for (const auto& [name, text] : given) {
    const Knob* knob = find_knob(name);
    if (!knob) return error(Code::not_found, "{}", name);
    changes.push_back({knob, {text}});
    MNEME_TRY(check_change(changes.back()));
  }
  return changed(base, changes, FileSystem::posix());
}

std::string refusal(const std::string& name, const std::string& text) { return set({{name, text}}).status().to_string(); }

TEST(Knobs, EveryMemberOfAConfigurationHasAnOption) {
  std::set<std::string> reached{"ir_digest",               // follows from "ir"
                                "specialise.min_blocks"};  // behind MAX of --launch-bounds
  for (const Knob& knob : knobs()) reached.insert(knob.key);
  for (const ConfigurationField& field : configuration_fields()) EXPECT_TRUE(reached.contains(field.key)) << field.key;
}

TEST(Knobs, EveryOptionIsOfAMemberAndIsKnownByItsNames) {
  std::set<std::string> keys, names;
  for (const ConfigurationField& field : configuration_fields()) keys.insert(field.key);
  for (const Knob& knob : knobs()) {
    EXPECT_TRUE(knob.key.empty() || keys.contains(knob.key)) << knob.key;
    EXPECT_EQ(knob.takes_value(), !knob.value_name().empty());
    for (const std::string& name : knob.names) {
      EXPECT_TRUE(names.insert(name).second) << name;
      EXPECT_EQ(find_knob(name), &knob);
    }
  }
  EXPECT_EQ(find_knob("--no-such-option"), nullptr);
}

TEST(Knobs, AnOptionIsAnotherSpellingOfItsMember) {
  const std::pair<const char*, const char*> kValues[] = {
      {"--grid-dim-x", "7"},       {"--block-dim-z", "2"},    {"--shared-mem", "128"},
      {"--codegen-opt", "1"},      {"--target", "sm_90a"},    {"--ftz", "on"},
      {"--max-registers", "40"},   {"--load-cache", "cv"},    {"--stop", "relative_error"},
      {"--relative-error", "0.5"}, {"--iterations", "3"},     {"--l2", "cold"},
      {"--max-cluster", "4"},      {"--maxnreg", "64"},       {"--assembler-level", "2"},
      {"--max-time", "1.5"},       {"--contraction", "fast"}, {"--mattr", "+ptx87"},
      {"--store-cache", "cs"},     {"--warm-up", "2"},        {"--min-iterations", "7"},
      {"--max-iterations", "77"},  {"--passes", "gvn"},
  };
  for (const auto& [name, text] : kValues) {
    const auto by_option = set({{name, text}}), by_member = set({{"--set", find_knob(name)->key + "=" + text}});
    ASSERT_TRUE(by_option.ok() && by_member.ok()) << name << by_option.status().message() << by_member.status().message();
    EXPECT_EQ(*by_option, *by_member) << name;
    EXPECT_NE(*by_option, Configuration()) << name;
  }
  for (const char* name :
       {"--keep-threads", "--specialise-dims", "--specialise-ranges", "--align", "--no-alias", "--shared-device"})
    EXPECT_EQ(*set({{name, ""}}), *set({{"--set", find_knob(name)->key + "=true"}})) << name;
  EXPECT_EQ(*set({{"--no-mask", ""}}), *set({{"--set", "verdict.mask=false"}}));
  for (const auto& former :
       std::vector<std::pair<std::string, std::string>>{{"--no-poison", ""}, {"--set", "verdict.poison=false"}})
    EXPECT_EQ(*set({former}), *set({{"--no-mask", ""}})) << former.first;
  EXPECT_EQ(*set({{"--no-mask", ""}, {"--set", "verdict.poison=null"}}), Configuration());
  EXPECT_EQ(*set({{"--specialise", "n,all"}}), *set({{"--set", R"(specialise.arguments=["n", "*"])"}}));
  EXPECT_EQ(*set({{"--launch-bounds", "256,2"}}),
            *set({{"--set", "specialise.max_threads=256"}, {"--set", "specialise.min_blocks=2"}}));
}

// By hand: an option that sets another member would measure something else than was asked.
TEST(Knobs, EachOptionIsOfTheMemberThatItNames) {
  const std::pair<const char*, const char*> kKeys[] = {
      {"--set", ""},
      {"--grid-dim-x", "grid.x"},
      {"--grid-dim-y", "grid.y"},
      {"--grid-dim-z", "grid.z"},
      {"--block-dim-x", "block.x"},
      {"--block-dim-y", "block.y"},
      {"--block-dim-z", "block.z"},
      {"--shared-mem", "shared_memory"},
      {"--keep-threads", "keep_threads"},
      {"--passes", "passes"},
      {"--passes-file", "passes"},
      {"--linkage", "linkage"},
      {"--load-pass-plugin", "pass_plugins"},
      {"--ir", "ir"},
      {"--specialise", "specialise.arguments"},
      {"--specialise-dims", "specialise.dimensions"},
      {"--specialise-ranges", "specialise.ranges"},
      {"--align", "specialise.alignment"},
      {"--no-alias", "specialise.no_alias"},
      {"--launch-bounds", "specialise.max_threads"},
      {"--max-cluster", "specialise.max_cluster"},
      {"--maxnreg", "specialise.max_registers"},
      {"--waves-per-eu", "specialise.waves_per_eu"},
      {"--codegen-opt", "codegen.level"},
      {"--target", "codegen.target"},
      {"--mattr", "codegen.features"},
      {"--fast-math", "codegen.fast_math"},
      {"--ftz", "codegen.ftz"},
      {"--contraction", "codegen.contraction"},
      {"--code-object", "codegen.code_object"},
      {"--assembler-level", "assembler.level"},
      {"--assembler-option", "assembler.options"},
      {"--max-registers", "assembler.max_registers"},
      {"--load-cache", "assembler.load_cache"},
      {"--store-cache", "assembler.store_cache"},
      {"--iterations", "execution.iterations"},
      {"--warm-up", "execution.warm_up"},
      {"--stop", "execution.stop"},
      {"--relative-error", "execution.relative_error"},
      {"--max-time", "execution.max_time"},
      {"--min-iterations", "execution.min_iterations"},
      {"--max-iterations", "execution.max_iterations"},
      {"--l2", "execution.l2"},
      {"--shared-device", "execution.shared_device"},
      {"--tolerance", "tolerance"},
      {"--no-mask", "verdict.mask"},
  };
  ASSERT_EQ(knobs().size(), std::size(kKeys));
  for (const auto& [name, key] : kKeys) {
    ASSERT_NE(find_knob(name), nullptr) << name;
    EXPECT_EQ(find_knob(name)->names.front(), name);
    EXPECT_EQ(find_knob(name)->key, key) << name;
  }
}

TEST(Knobs, AMemberIsSetAndTakenOut) {
  Configuration base;
  base.block.x = 32;
  base.codegen.level = 1;
  EXPECT_EQ(set({{"--set", "block.y=4"}}, base)->block, (ExtentOverride{32, 4, {}}));
  EXPECT_EQ(set({{"--set", "block.x=null"}}, base)->block, ExtentOverride());
  EXPECT_EQ(set({{"--set", "block=8"}}, base)->block, (ExtentOverride{8, {}, {}}));
  EXPECT_EQ(set({{"--set", "codegen=null"}}, base)->codegen, CodegenOptions());
  EXPECT_EQ(set({{"--set", "passes=\"gvn\""}})->passes, "gvn");
  EXPECT_EQ(set({{"--set", "codegen.target=90"}})->codegen.target, "90") << "a text, though it reads as a number";
}

TEST(Knobs, ATextThatIsNoneIsRefusedInWords) {
  EXPECT_EQ(refusal("--block-dim-x", "0"), "invalid_argument: '0' is not a whole number from 1 to 4294967295");
  EXPECT_EQ(refusal("--codegen-opt", "high"), "invalid_argument: 'high' is not a whole number from 0 to 3");
  EXPECT_EQ(refusal("--relative-error", "2"), "invalid_argument: '2' is not a number from 1e-06 to 1");
  EXPECT_EQ(refusal("--ftz", "perhaps"), "invalid_argument: 'perhaps' is none of recorded, on, off");
  EXPECT_THAT(refusal("--fast-math", "nnan,quick"), testing::HasSubstr("'quick' is none of "));
  EXPECT_EQ(refusal("--launch-bounds", "256,0"), "invalid_argument: MAX or MAX,MIN is expected, each from 1 to 1024, not 256,0");
  EXPECT_EQ(refusal("--set", "x"), "invalid_argument: --set x: KEY=VALUE is expected, as in --set block.x=64");
  EXPECT_EQ(refusal("--set", "blok.x=1"), "invalid_argument: configuration: unknown key 'blok'; the nearest is 'block'");
  EXPECT_EQ(refusal("--set", "blok.x=null"), "invalid_argument: configuration: unknown key 'blok'; the nearest is 'block'");
  EXPECT_EQ(refusal("--set", "passes.x=1"), "invalid_argument: configuration: 'passes' must be a string, not {\"x\":1}");
}

TEST(Knobs, FilesAreKeptByTheirWholePathsAndDigests) {
  const std::string path = std::filesystem::temp_directory_path() / fmt::format("mneme-knobs-{}.ll", ::getpid());
  std::ofstream(path) << "one";
  Configuration pinned = *set({{"--ir", path}});
  EXPECT_EQ(pinned.ir.path, path);
  EXPECT_EQ(pinned.ir.digest, digest_of(std::as_bytes(std::span("one", 3))).hex());
  EXPECT_EQ(*set({{"--set", "ir=" + path}}), pinned);
  std::ofstream(path) << "other";
  EXPECT_EQ(set({}, pinned).status().code(), Code::incompatible);
  EXPECT_NE(set({{"--ir", path}}, pinned)->ir.digest, pinned.ir.digest) << "it is given anew";
  std::filesystem::remove(path);
  EXPECT_EQ(set({{"--load-pass-plugin", "p.so"}})->pass_plugins[0], std::filesystem::absolute("p.so").string());
}

TEST(Knobs, WhatStandsBehindANumberIsRefused) {
  EXPECT_EQ(refusal("--block-dim-x", "64x"), "invalid_argument: '64x' is not a whole number from 1 to 4294967295");
  EXPECT_EQ(refusal("--block-dim-x", "4294967296"), "invalid_argument: '4294967296' is not a whole number from 1 to 4294967295");
  EXPECT_EQ(refusal("--relative-error", "0"), "invalid_argument: '0' is not a number from 1e-06 to 1");
  EXPECT_EQ(refusal("--max-time", "1s"), "invalid_argument: '1s' is not a number from 1e-06 to 1000000");
  for (const char* wrong : {"256;2", "256,2,3", "256,", "1025", "0", ""})
    EXPECT_EQ(refusal("--launch-bounds", wrong),
              fmt::format("invalid_argument: MAX or MAX,MIN is expected, each from 1 to 1024, not {}", wrong));
}

TEST(Knobs, AMemberThatThereIsNotCannotBeTakenOutEither) {
  for (const char* wrong : {"blok=null", "bloc=null", "block.w=null"})
    EXPECT_THAT(refusal("--set", wrong), testing::HasSubstr("configuration: unknown key '")) << wrong;
  EXPECT_EQ(set({{"--set", "grid=8"}})->grid, (ExtentOverride{8, {}, {}}));
  Configuration base;
  base.codegen.target = "sm_90a";
  EXPECT_EQ(set({{"--set", "codegen.target=null"}}, base)->codegen.target, "") << "no text, though the member is one";
}

TEST(Knobs, WhatIsNoUtf8IsSaidOfTheWholeConfiguration) {
  EXPECT_TRUE(check_change({find_knob("--passes"), {"\xff"}}).ok());
  EXPECT_EQ(refusal("--passes", "\xff"),
            "invalid_argument: the configuration: \"\xef\xbf\xbd\" at /passes is no UTF-8, and results are JSON, which is: "
            "spell it otherwise");
}

// Only words have commas between them.
TEST(Knobs, AFileMayHaveACommaInItsName) {
  EXPECT_EQ(set({{"--load-pass-plugin", "/a,b.so"}})->pass_plugins, std::vector<std::string>{"/a,b.so"});
  EXPECT_EQ(set({{"--assembler-option", "-a,-b"}})->assembler.options, std::vector<std::string>{"-a,-b"});
  EXPECT_EQ(set({{"--assembler-option", "all"}})->assembler.options, std::vector<std::string>{"all"}) << "as of arguments alone";
}

TEST(Knobs, AChangeIsCheckedWithoutItsFile) {
  for (const auto& [name, text] :
       {std::pair("--passes", "@/nowhere/pipeline"), std::pair("--passes-file", "/nowhere/pipeline")}) {
    EXPECT_TRUE(check_change({find_knob(name), {text}}).ok()) << name;
    EXPECT_EQ(set({{name, text}}).status().code(), Code::not_found) << name;
  }
}

TEST(Knobs, OfAnOptionThatIsGivenTwiceTheLastCounts) {
  EXPECT_EQ(changed({}, {{find_knob("--block-dim-x"), {"32", "64"}}}, FileSystem::posix())->block.x, 64u);
}

}  // namespace
}  // namespace mneme
