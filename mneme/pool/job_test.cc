// What configurations share, by their keys: whatever the code, the launch or the verdict depends on is in one of them.
#include "mneme/pool/job.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/replay/testing/each_member.h"

namespace mneme {
namespace {

using testing_members::change_each;
using testing_members::section_of;

const std::set<std::string> kOfCode = {"passes",    "linkage",    "pass_plugins", "ir",
                                       "ir_digest", "specialise", "codegen",      "assembler"};
// What the code depends on only where it is made for the launch.
const std::set<std::string> kOfShape = {"grid", "block", "keep_threads", "shared_memory"};

struct Keys {
  std::string compile, launch;
};

Keys keys_of(const Configuration& configuration) {
  Job job{.configuration = configuration, .future = {}};
  identify(job);
  return {job.compile_key, job.launch_key};
}

TEST(JobKeys, WhatTheVerdictDependsOnIsInTheLaunchsKeyAndWhatTheCodeDoesIsInTheCompilersKey) {
  for (bool for_the_launch : {false, true}) {
    Configuration configuration;
    if (for_the_launch) configuration.specialise.alignment = true;
    const Keys usual = keys_of(configuration);
    std::map<std::string, std::string> compile{{usual.compile, "none"}}, launch{{usual.launch, "none"}};
    change_each(configuration, [&](const std::string& name) {
      if (name == "specialise.alignment") return;  // as it is, or what makes the difference
      const Keys keys = keys_of(configuration);
      const std::string section = section_of(name);
      const bool of_code = kOfCode.contains(section) || section == "specialise";
      const bool is_specialised = !configuration.specialise.empty();
      EXPECT_EQ(compile.try_emplace(keys.compile, name).second, of_code || (is_specialised && kOfShape.contains(section)))
          << name;
      EXPECT_EQ(launch.try_emplace(keys.launch, name).second, !of_code) << name;
    });
  }
}

TEST(JobKeys, ATranslationIsAllThatTheCompilerIsAskedButTheAssemblersOptions) {
  Configuration configuration;
  const auto translation_of = [](const Configuration& of) {
    Job job{.configuration = of, .future = {}};
    identify(job);
    return job.translation;
  };
  std::map<std::string, uint64_t> translations{{keys_of(configuration).compile, translation_of(configuration)}};
  change_each(configuration, [&](const std::string& name) {
    const auto [known, fresh] = translations.try_emplace(keys_of(configuration).compile, translation_of(configuration));
    EXPECT_EQ(known->second == translation_of({}), !fresh || section_of(name) == "assembler") << name;
  });
}

TEST(JobKeys, ATranslationHasTheShapeWhereTheCodeIsMadeForIt) {
  struct Case {
    std::function<void(SpecialiseOptions&)> specialise;
    bool has_shape;
  };
  const Case kCases[] = {{[](auto&) {}, false},
                         {[](auto& asked) { asked.arguments = {"*"}; }, false},
                         {[](auto& asked) { asked.bounds.max_threads = 256; }, false},
                         {[](auto& asked) { asked.dimensions = true; }, true},
                         {[](auto& asked) { asked.ranges = true; }, true}};
  for (const Case& c : kCases) {
    Job one{.configuration = {}, .future = {}}, other = one;
    other.configuration.block.x = 64;
    for (Job* job : {&one, &other}) {
      c.specialise(job->configuration.specialise);
      identify(*job);
    }
    EXPECT_EQ(one.translation != other.translation, c.has_shape) << one.compile_key;
    EXPECT_EQ(one.compile_key != other.compile_key, !one.configuration.specialise.empty()) << one.compile_key;
  }
}

// One that is built anew while the pool is open is asked anew.
TEST(JobKeys, APluginIsWhatLiesInItsFile) {
  const TemporaryDirectory folder;
  const std::filesystem::path file = folder.path() / "passes.so";
  std::ofstream(file) << "one";
  Configuration configuration;
  configuration.pass_plugins = {file};
  const Keys before = keys_of(configuration);
  EXPECT_EQ(keys_of(configuration).compile, before.compile);
  std::ofstream(file) << "another";
  EXPECT_NE(keys_of(configuration).compile, before.compile);
  EXPECT_EQ(keys_of(configuration).launch, before.launch);
}

TEST(JobKeys, TheDigestHasEveryMember) {
  Configuration configuration;
  std::map<Digest, std::string> seen{{whole_digest(configuration), "none"}};
  change_each(configuration, [&](const std::string& name) {
    EXPECT_TRUE(seen.try_emplace(whole_digest(configuration), name).second)
        << name << ", as " << seen.at(whole_digest(configuration));
  });
}

TEST(JobKeys, IrIsWhatLiesInItsFile) {
  const TemporaryDirectory folder;
  const std::filesystem::path file = folder.path() / "code.ll";
  std::ofstream(file) << "one";
  Configuration configuration;
  configuration.ir.path = file;
  const Keys before = keys_of(configuration);
  EXPECT_EQ(keys_of(configuration).compile, before.compile);
  std::ofstream(file) << "another";
  EXPECT_NE(keys_of(configuration).compile, before.compile);
}

}  // namespace
}  // namespace mneme
