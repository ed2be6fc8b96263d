#include "mneme/cli/options/recorded_launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "mneme/store/instance_list.h"

namespace mneme::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

KernelDocument kernel(const std::string& name, size_t instances) {
  KernelDocument document;
  document.kernel.static_hash = digest_of(std::as_bytes(std::span(name)));
  document.kernel.name = "_Z" + name;
  document.kernel.demangled = name + "(int*)";
  document.kernel.target = "nvptx";
  document.kernel.arch = "sm_90";
  for (size_t i = 0; i < instances; ++i) {
    InstanceRecord instance;
    instance.static_hash = document.kernel.static_hash;
    const std::string text = name + std::to_string(i);
    instance.dynamic_hash = digest_of(std::as_bytes(std::span(text)));
    instance.device_kind = instance.device_name = "cpu";
    instance.space_base = DevicePtr(0x7a0000000000);
    instance.space_size = 1_GiB;
    instance.recorded_at = "2026-01-01T00:00:00Z";
    instance.mneme_version = "0.1.0";
    document.instances.push_back(instance);
  }
  return document;
}

// A database of two kernels, "scale" with three instances and "none" without any; only their files.
class RecordedOptionTest : public testing::Test {
 protected:
  RecordedOptionTest() {
    std::filesystem::create_directories(folder_ / "db");
    for (const KernelDocument& document : {scale_, none_}) {
      const Digest& hash = document.kernel.static_hash;
      std::ofstream(folder_ / "db" / kernel_file_name(hash)) << encode_kernel(document);
      std::ofstream(folder_ / "db" / list_file_name(hash)) << InstanceList::encode(hash, document.instances);
    }
  }
  ~RecordedOptionTest() override { std::filesystem::remove_all(folder_); }

  std::string db() const { return (folder_ / "db").string(); }
  std::string file() const { return db() + "/" + kernel_file_name(scale_.kernel.static_hash); }

  struct Parsed {
    std::string wrong{};  // the command line, and why
    std::vector<std::string> instances{};
    std::string failure{}, pipeline{};
  };
  Parsed parse(std::vector<std::string> words, RecordedOption::Launches launches = RecordedOption::Launches::several) const {
    CLI::App app;
    ConfigurationOptions configuration;
    RecordedOption recorded(launches);
    recorded.declare(app, &configuration);
    configuration.declare(app);
    std::reverse(words.begin(), words.end());
    try {
      app.parse(words);
    } catch (const CLI::ParseError& failure) {
      return {.wrong = failure.what()};
    }
    Parsed parsed{.pipeline = configuration.pipeline().value_or("none")};
    const auto found = recorded.launches();
    parsed.failure = found.status().message();
    if (found.ok())
      for (const Digest& instance : found->instances) parsed.instances.push_back(instance.hex());
    return parsed;
  }
  std::string hash(size_t i) const { return scale_.instances[i].dynamic_hash.hex(); }

  const KernelDocument scale_ = kernel("scale", 3), none_ = kernel("none", 0);
  const Path folder_ = std::filesystem::temp_directory_path() / fmt::format("mneme-recorded-option-{}", ::getpid());
};

TEST_F(RecordedOptionTest, WordsStandInTheirOrder) {
  const std::vector<std::vector<std::string>> kSame = {{db(), "scale#1", "gvn"},
                                                       {"-rdb", db(), "scale#1", "gvn"},
                                                       {"scale#1", "gvn", "--rdb", db()},
                                                       {file() + "#1", "gvn"},
                                                       {"--rdb", file() + "#1", "gvn"},
                                                       {db(), "scale", "gvn", "--rid", hash(1)},
                                                       {file(), "gvn", "--rid", hash(1).substr(0, 12)},
                                                       {db(), "--set", "passes=sroa", "_Zscale#1", "gvn"}};
  for (std::vector<std::string> words : kSame) {
    for (std::string& word : words)
      if (word == "-rdb") word = "--rdb";  // as the command's framework does
    const Parsed parsed = parse(words);
    EXPECT_EQ(parsed.wrong + parsed.failure, "");
    EXPECT_THAT(parsed.instances, ElementsAre(hash(1)));
    EXPECT_EQ(parsed.pipeline, "gvn");
  }
  EXPECT_EQ(parse({db(), "scale#1"}).pipeline, "none");
}

TEST_F(RecordedOptionTest, SeveralLaunchesAreNamedAtOnce) {
  EXPECT_THAT(parse({db(), "scale#2,0"}).instances, ElementsAre(hash(2), hash(0)));
  EXPECT_THAT(parse({db(), "scale", "--all-instances"}).instances, ElementsAre(hash(0), hash(1), hash(2)));
  EXPECT_THAT(parse({db(), "scale", "--rid", hash(2), "--rid", hash(0)}).instances, ElementsAre(hash(2), hash(0)));
  EXPECT_THAT(parse({db(), "scale", "--rid", hash(2), "--rid", hash(0), "--rid", hash(2).substr(0, 12)}).instances,
              ElementsAre(hash(2), hash(0)))
      << "each once";
  EXPECT_EQ(parse({db(), "scale#2,0"}, RecordedOption::Launches::one).failure,
            "scale(int*): one instance is taken, and 2 are named");
}

TEST_F(RecordedOptionTest, WhatIsMissingOrTooMuchIsSaid) {
  EXPECT_THAT(parse({}).wrong, HasSubstr("no recorded kernel: give DB KERNEL, as `mneme ls DB` lists them"));
  EXPECT_EQ(parse({file(), "gvn", "sroa"}).wrong, "unexpected argument 'sroa'");
  EXPECT_EQ(parse({db(), "scale", "gvn", "--passes", "sroa"}).wrong,
            "PIPELINE and --passes both give the pass pipeline: leave one of the two out");
  EXPECT_THAT(parse({db()}).failure, HasSubstr("has 2 kernels: name one behind it"));
  EXPECT_THAT(parse({db(), "scale"}).failure, HasSubstr("scale(int*) has 3 instances: choose one by its number"));
  EXPECT_EQ(parse({db(), "scale#0", "--all-instances"}).failure,
            "scale(int*): #N names instances, and --all-instances does: leave one of the two out");
  EXPECT_THAT(parse({db(), "default<O1>"}).failure,
              testing::AllOf(HasSubstr("no kernel in " + db() + " matches 'default<O1>'; there are\n"),
                             HasSubstr("\n  a pass pipeline stands behind the kernel's name: DB KERNEL PIPELINE")));
}

TEST_F(RecordedOptionTest, AFolderMayHaveANumberInItsName) {
  std::filesystem::rename(folder_ / "db", folder_ / "db#7,8");
  CLI::App app;
  RecordedOption recorded(RecordedOption::Launches::several);
  recorded.declare(app);
  app.parse(std::vector<std::string>{"scale#1", db() + "#7,8"});  // the last word first
  EXPECT_TRUE(recorded.names_instances());
  EXPECT_FALSE(recorded.several());
  EXPECT_EQ(recorded.launches()->instances[0].hex(), hash(1));
  CLI::App other;
  RecordedOption without(RecordedOption::Launches::several);
  without.declare(other);
  other.parse(std::vector<std::string>{"scale", db() + "#7,8"});
  EXPECT_FALSE(without.names_instances() || without.several());
  CLI::App alone;
  RecordedOption of_folder(RecordedOption::Launches::several);
  of_folder.declare(alone);
  alone.parse(std::vector<std::string>{db() + "#7,8"});
  EXPECT_FALSE(of_folder.names_instances() || of_folder.several());
}

// Where there are several, each has a result of its own.
TEST_F(RecordedOptionTest, SeveralAreSeveralHoweverTheyAreNamed) {
  const auto several = [&](std::vector<std::string> words) {
    CLI::App app;
    RecordedOption recorded(RecordedOption::Launches::several);
    recorded.declare(app);
    std::reverse(words.begin(), words.end());
    app.parse(words);
    return recorded.several();
  };
  EXPECT_TRUE(several({db(), "scale#2,0"}));
  EXPECT_TRUE(several({file() + "#2,0"}));
  EXPECT_TRUE(several({db(), "scale", "--all-instances"}));
  EXPECT_TRUE(several({db(), "scale", "--rid", hash(1), "--rid", hash(0)}));
  EXPECT_FALSE(several({db(), "scale#2"}));
  EXPECT_FALSE(several({db(), "scale", "--rid", hash(1)}));
}

TEST_F(RecordedOptionTest, AKernelWithoutInstancesHasNoneToBeRight) {
  for (const char* option : {"--all-instances", "--set=keep_threads=true"})
    EXPECT_EQ(parse({db(), "none", option}).failure, "none(int*) has no recorded instance") << option;
}

}  // namespace
}  // namespace mneme::cli
