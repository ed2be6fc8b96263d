#include "mneme/replay/configuration_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace mneme {
namespace {

class ConfigurationFile : public testing::Test {
 protected:
  ConfigurationFile() { std::filesystem::create_directory(folder_); }
  ~ConfigurationFile() override { std::filesystem::remove_all(folder_); }

  Result<Configuration> read(std::string_view content, const std::string& name = "c.json") {
    std::ofstream(folder_ / name) << content;
    return read_configuration((folder_ / name).string(), FileSystem::posix());
  }
  std::string refusal(std::string_view content, const std::string& name = "c.json") {
    return read(content, name).status().message();
  }
  std::string at(const std::string& name) const { return (folder_ / name).string(); }

  const Path folder_ = std::filesystem::temp_directory_path() / fmt::format("mneme-configuration-file-{}", ::getpid());
};

TEST_F(ConfigurationFile, IsAConfigurationAloneOrUnderItsName) {
  Configuration wanted;
  wanted.passes = "default<O1>";
  for (const char* content : {R"({"passes": "default<O1>"})", R"({"configuration": {"passes": "default<O1>"}, "result": {}})",
                              R"({"configuration": {"passes": "default<O1>"}, "time": 1000, "speed_up": 1.5})",
                              R"({"digest": "0", "configuration": {"passes": "default<O1>"}, "failure": null})"})
    EXPECT_EQ(*read(content), wanted) << content;
}

TEST_F(ConfigurationFile, MayBeAnOlderVersions) {
  Configuration wanted;
  wanted.passes = "default<O3>";
  wanted.verdict.mask = false;
  for (const char* content :
       {R"({"passes": "default<O3>", "verdict": {"poison": false}})",
        R"({"configuration": {"passes": "default<O3>", "verdict": {"poison": false}}, "result": {"poison": "off"}})"})
    EXPECT_EQ(*read(content), wanted) << content;
}

TEST_F(ConfigurationFile, FilesThatItNamesAreLookedForByThemselves) {
  std::ofstream(folder_ / "code.ll") << "";
  std::ofstream(folder_ / "plugin.so") << "";
  Configuration configuration;
  EXPECT_TRUE(check_files(configuration, FileSystem::posix()).ok());
  configuration.ir.path = at("code.ll");
  configuration.pass_plugins = {at("plugin.so")};
  EXPECT_TRUE(check_files(configuration, FileSystem::posix()).ok());
  configuration.pass_plugins.push_back(at("plugni.so"));
  EXPECT_EQ(check_files(configuration, FileSystem::posix()).to_string(),
            "not_found: loading the pass plugin " + at("plugni.so") + ": there is no such file; did you mean 'plugin.so'?");
  configuration.ir.path = at("code.bc");
  EXPECT_EQ(check_files(configuration, FileSystem::posix()).to_string(),
            "not_found: reading the IR in place of the recorded one: opening " + at("code.bc") + ": No such file or directory");
}

TEST_F(ConfigurationFile, OneNestedDeeplyIsRefused) {
  EXPECT_THAT(read(std::string(200'000, '[') + std::string(200'000, ']')).status().message(),
              testing::EndsWith("is nested deeper than 32"));
  EXPECT_THAT(read(std::string(200'000, '[')).status().message(), testing::HasSubstr("is no JSON: byte "));
}

TEST_F(ConfigurationFile, WhatASweepOrASearchLeavesIsToldApart) {
  const std::string best = "; the best one that was found is in " + at("best.json");
  std::ofstream(folder_ / "best.json") << "{}";
  EXPECT_EQ(refusal(R"({"mneme_sweep": 1, "configuration": {}, "grid": []})", "sweep.json"),
            at("sweep.json") + " is what a sweep was asked for, and no configuration" + best);
  EXPECT_EQ(refusal(R"({"mneme_tune": 1, "configuration": {}})", "tune.json"),
            at("tune.json") + " is what a search was asked for, and no configuration" + best);
  const std::string header = R"({"mneme_log": 1, "about": {}})";
  for (const std::string& lines : {header, header + "\n", header + "\n" + R"({"configuration": {}})" + "\n"})
    EXPECT_EQ(refusal(lines, "results.jsonl"),
              at("results.jsonl") + " is a log of results, with a configuration on each line, and no configuration" + best);
  EXPECT_EQ(refusal("{\"configuration\": {}}\n{\"configuration\": {}}\n", "trials.jsonl"),
            at("trials.jsonl") + " is a log, with a JSON object on each line, and no configuration" + best);
  EXPECT_EQ(refusal(R"({"best": {"config": {}}, "trials": 3})", "summary.json"),
            at("summary.json") + " is what a sweep or a search came to, and no configuration" + best);
  std::filesystem::remove(folder_ / "best.json");
  EXPECT_EQ(refusal(R"({"best": [], "total": 3})"), at("c.json") + " is what a sweep or a search came to, and no configuration");
  EXPECT_EQ(refusal(R"({"space": "launch", "configuration": {}})"),
            at("c.json") + " describes a search ('space'), and no configuration: `mneme tune --search` takes it");
}

TEST_F(ConfigurationFile, AFolderHintsAtItsBest) {
  const auto refused = [&] { return read_configuration(folder_.string(), FileSystem::posix()).status().message(); };
  EXPECT_EQ(refused(), "reading the configuration: " + folder_.string() + " is a folder, and has no best.json: name a file");
  std::ofstream(folder_ / "best.json") << "{}";
  EXPECT_EQ(refused(), "reading the configuration: " + folder_.string() + " is a folder; the best one that was found is in " +
                           at("best.json"));
}

TEST_F(ConfigurationFile, ThirtyTwoLevelsAreNotTooDeep) {
  const auto nested = [&](size_t depth) {
    return read(R"({"passes": )" + std::string(depth, '[') + std::string(depth, ']') + "}").status().message();
  };
  EXPECT_THAT(nested(31), testing::HasSubstr("'passes' must be a string"));
  EXPECT_THAT(nested(33), testing::EndsWith("is nested deeper than 32"));
}

TEST_F(ConfigurationFile, ANumberThatCannotBeReadIsNamedByItsPlace) {
  EXPECT_THAT(read(R"({"grid": {"x": 1e999}})").status().message(),
              testing::HasSubstr("the number 1e999 at byte 16 is larger than any that can be read"));
}

TEST_F(ConfigurationFile, WhatHasAnyMemberOfASearchDescribesOne) {
  for (const std::string key : {"space", "parameters", "constraints", "sampler"})
    EXPECT_THAT(refusal("{\"" + key + "\": {}}"), testing::HasSubstr("describes a search ('" + key + "')"));
}

TEST_F(ConfigurationFile, AFileOfIrThatHasChangedIsRefused) {
  std::ofstream(folder_ / "code.ll") << "one";
  Configuration configuration;
  configuration.ir.path = at("code.ll");
  ASSERT_TRUE(pin(configuration.ir, FileSystem::posix()).ok());
  EXPECT_TRUE(check_files(configuration, FileSystem::posix()).ok());
  std::ofstream(folder_ / "code.ll") << "other";
  EXPECT_EQ(check_files(configuration, FileSystem::posix()).code(), Code::incompatible);
}

}  // namespace
}  // namespace mneme
