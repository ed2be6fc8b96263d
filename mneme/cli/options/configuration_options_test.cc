#include "mneme/cli/options/configuration_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "mneme/cli/options/command.h"
#include "mneme/replay/pipeline_file.h"

namespace mneme::cli {
namespace {

// A file of the test's own, removed after it.
class File {
 public:
  explicit File(std::string_view content) { std::ofstream(path_) << content; }
  ~File() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ =
      fmt::format("{}/mneme-options-{}-{}", std::filesystem::temp_directory_path().string(), ::getpid(), ++count_);
  static inline int count_ = 0;
};

Result<Configuration> configure(std::vector<std::string> arguments) {
  CLI::App app;
  ConfigurationOptions options;
  options.declare(app);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& failure) {
    return error(Code::invalid_argument, "{}", failure.what());
  }
  return options.configuration();
}

TEST(ConfigurationOptions, NothingGivenIsTheDefault) { EXPECT_EQ(*configure({}), Configuration()); }

TEST(ConfigurationOptions, EachIsSeenInTheConfiguration) {
  Configuration wanted;
  wanted.passes = "sroa,gvn";
  wanted.grid = {7, {}, 2};
  wanted.block = {{}, 4, {}};
  wanted.shared_memory = Bytes(128);
  wanted.codegen.level = 1;
  wanted.execution = {3, 2, StopWhen::relative_error, 7, 77, 0.25, 1.5, CacheState::cold, true};
  wanted.tolerance = {{"out", {ElementType::f32, 1e-5, ErrorKind::relative}}, {"3", {ElementType::f16, 2, ErrorKind::ulp}}};
  EXPECT_EQ(*configure({"--warm-up=2", "--stop=relative_error", "--min-iterations=7", "--max-iterations=77",
                        "--relative-error=0.25", "--max-time=1.5", "--l2=cold", "--shared-device", "sroa,gvn", "--grid-dim-x",
                        "7", "--grid-dim-z=2", "--block-dim-y=4", "--shared-mem=128", "--codegen-opt=1", "--iterations=3",
                        "--tolerance", "out: f32, 1e-5, relative", "--tolerance=3: f16, 2, ulp"}),
            wanted);
}

TEST(ConfigurationOptions, OfWhatDoesNotRepeatTheLastHolds) {
  Configuration wanted;
  wanted.passes = "gvn";
  wanted.block.x = 64;
  wanted.codegen.level = 2;
  EXPECT_EQ(*configure({"--block-dim-x", "32", "--passes=sroa", "--codegen-opt=1", "--block-dim-x=64", "--passes", "gvn",
                        "--codegen-opt", "2"}),
            wanted);
}

TEST(ConfigurationOptions, AToleranceTakesOnlyWhatIsBehindIt) {
  Configuration wanted;
  wanted.passes = "sroa";
  wanted.tolerance = {{"a", {ElementType::i32, 1}}, {"b", {ElementType::i32, 2}}};
  EXPECT_EQ(*configure({"--tolerance", "a: i32, 1, absolute", "sroa", "--tolerance", "b: i32, 2, absolute"}), wanted);
  EXPECT_EQ(configure({"--tolerance", "a: i32"}).status().message().find("reading the tolerance 'i32': it is written TYPE, "),
            0u);
}

TEST(ConfigurationOptions, CodeGeneration) {
  Configuration wanted;
  wanted.codegen = {.level = 2,
                    .target = "sm_90a",
                    .features = "+ptx83,-fma",
                    .fast_math = {"nnan", "afn", "nsz"},
                    .ftz = FlushDenormals::off,
                    .contraction = Contraction::fast};
  EXPECT_EQ(*configure({"--codegen-opt=2", "--target", "sm_90a", "--mattr=+ptx83,-fma", "--fast-math", "nnan,afn",
                        "--fast-math=nsz", "--ftz=off", "--contraction", "fast"}),
            wanted);
}

TEST(ConfigurationOptions, ThePipelineMayStandInAFile) {
  File file("# what inlines\ndefault<O1>,  # LLVM's own\n  function(\n    sroa,\n    gvn<no-pre> )\n");
  for (std::vector<std::string> arguments : {std::vector<std::string>{"@" + file.path()}, {"--passes-file", file.path()}})
    EXPECT_EQ(configure(arguments)->passes, "default<O1>,function(sroa,gvn<no-pre>)");
  EXPECT_EQ(fold_pipeline("sroa\n gvn"), "sroa gvn") << "no pass has that name";
  EXPECT_EQ(configure({"@/nonexistent/passes"}).status().to_string(),
            "not_found: reading the pass pipeline: opening /nonexistent/passes: No such file or directory");
  File empty("# nothing\n");
  EXPECT_EQ(configure({"@" + empty.path()}).status().to_string(),
            "invalid_argument: there is no pass pipeline in " + empty.path());
  EXPECT_EQ(configure({"gvn", "--passes-file", file.path()}).status().message(),
            "PIPELINE and --passes-file both give the pass pipeline: leave one of the two out");
  EXPECT_EQ(configure({"--passes-file", file.path(), "--passes=gvn"}).status().message(),
            "--passes and --passes-file both give the pass pipeline: leave one of the two out");
}

TEST(ConfigurationOptions, PassPluginsAreKeptByTheirWholePaths) {
  Configuration wanted;
  wanted.pass_plugins = {"/a,b.so", std::filesystem::absolute("c.so").string()};
  wanted.passes = "gvn";
  EXPECT_EQ(*configure({"--load-pass-plugin", "/a,b.so", "--load-pass-plugin=c.so", "gvn"}), wanted);
}

TEST(ConfigurationOptions, AListTakesOneArgument) {
  EXPECT_EQ(configure({"--fast-math", "nnan", "default<O1>"})->passes, "default<O1>");
}

TEST(ConfigurationOptions, ThoseOfTheAssembler) {
  Configuration wanted;
  wanted.passes = "sroa,gvn";
  wanted.assembler = {.level = 2,
                      .options = {"-w", "--fmad=false"},
                      .max_registers = 40,
                      .load_cache = LoadCache::cv,
                      .store_cache = StoreCache::cs};
  EXPECT_EQ(*configure({"--assembler-option", "-w", "sroa,gvn", "--assembler-level=2", "--assembler-option=--fmad=false",
                        "--max-registers=40", "--load-cache=cv", "--store-cache", "cs"}),
            wanted);
}

TEST(ConfigurationOptions, LaunchAndSpecialisation) {
  Configuration wanted;
  wanted.keep_threads = true;
  wanted.specialise = {{"n", "2", "s"}, true, true, true, true, {256, 2, 4, 64}};
  EXPECT_EQ(*configure({"--keep-threads", "--specialise", "n,2", "--specialize=s", "--specialise-dims", "--specialise-ranges",
                        "--align", "--no-alias", "--launch-bounds=256,2", "--max-cluster=4", "--maxnreg=64"}),
            wanted);
}

TEST(ConfigurationOptions, SpecialiseTakesNoMoreThanItsList) {
  Configuration wanted;
  wanted.passes = "sroa";
  wanted.specialise.arguments = {"*"};
  EXPECT_EQ(*configure({"--specialise", "all", "sroa"}), wanted);
}

TEST(ConfigurationOptions, IrIsKnownByItsContent) {
  File one("one"), other("other"), same("one");
  const Configuration a = *configure({"--ir", one.path()});
  EXPECT_EQ(a.ir.path, one.path());
  EXPECT_EQ(a.digest(), configure({"--ir", same.path()})->digest());
  EXPECT_NE(a.digest(), configure({"--ir", other.path()})->digest());
  File file(to_json(a).dump());
  EXPECT_EQ(*configure({"--config", file.path()}), a);
  EXPECT_EQ(configure({"--config", file.path(), "--ir", other.path()})->ir.path, other.path());
  EXPECT_EQ(configure({"--ir", "/nonexistent.ll"}).status().to_string(),
            "not_found: reading the IR in place of the recorded one: opening /nonexistent.ll: No such file or directory");
}

TEST(ConfigurationOptions, TheCommandLineOverridesTheFile) {
  File file(R"({"passes": "default<O1>", "block": {"x": 32}, "codegen": {"level": 2}})");
  Configuration wanted;
  wanted.passes = "default<O1>";
  wanted.block.x = 64;
  wanted.codegen.level = 2;
  EXPECT_EQ(*configure({"--block-dim-x=64", "--config", file.path()}), wanted);
}

TEST(ConfigurationOptions, TakesWhatReplayPrints) {
  File file(R"({"configuration": {"passes": "default<O2>"}, "result": {"verified": true}})");
  Configuration wanted;
  wanted.passes = "default<O2>";
  EXPECT_EQ(*configure({"--config", file.path()}), wanted);
}

TEST(ConfigurationOptions, RefusesFilesThatAreNoConfiguration) {
  File unknown(R"({"pases": "default<O1>"})");
  EXPECT_EQ(configure({"--config", unknown.path()}).status().to_string(),
            "invalid_argument: " + unknown.path() + ": configuration: unknown key 'pases'; the nearest is 'passes'");
  File broken("{\"passes\": ");
  EXPECT_EQ(configure({"--config", broken.path()}).status().to_string(),
            "invalid_argument: the configuration " + broken.path() + " is no JSON: byte 12");
  File endless(R"({"execution": {"max_time": 1e999}})");
  EXPECT_EQ(configure({"--config", endless.path()}).status().to_string(),
            "invalid_argument: the configuration " + endless.path() +
                ": the number 1e999 at byte 28 is larger than any that can be read");
  EXPECT_EQ(configure({"--config", "/nonexistent/c.json"}).status().to_string(),
            "not_found: reading the configuration: opening /nonexistent/c.json: No such file or directory");
}

TEST(ConfigurationOptions, RefusesValuesOutOfRange) {
  EXPECT_FALSE(configure({"--codegen-opt=4"}).ok());
  EXPECT_FALSE(configure({"--iterations=-1"}).ok());
  EXPECT_FALSE(configure({"--grid-dim-x=0"}).ok());
  EXPECT_FALSE(configure({"--fast-math=nnan,quick"}).ok());
  EXPECT_FALSE(configure({"--ftz=perhaps"}).ok());
  EXPECT_FALSE(configure({"--assembler-level=5"}).ok());
  EXPECT_FALSE(configure({"--max-registers=0"}).ok());
  EXPECT_FALSE(configure({"--load-cache=wt"}).ok());
  for (const char* bounds : {"0", "1025", "256,", "256,0", "256,2,1", "x", "256 2"})
    EXPECT_EQ(configure({"--launch-bounds", bounds}).status().message(),
              fmt::format("--launch-bounds: MAX or MAX,MIN is expected, each from 1 to 1024, not {}", bounds));
  EXPECT_FALSE(configure({"--max-cluster=0"}).ok());
  EXPECT_FALSE(configure({"--maxnreg=256"}).ok());
}

std::vector<std::string> without_effect(ConfigurationUse use) {
  CLI::App app;
  ConfigurationOptions options;
  options.declare(app, use);
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    if (option->get_group() == kWithoutEffect) names.push_back(option->get_name());
  return names;
}

TEST(ConfigurationOptions, WhatACommandDoesNotUseIsWithoutEffectThere) {
  using testing::Contains;
  using testing::Not;
  EXPECT_THAT(without_effect(ConfigurationUse::replay), testing::IsEmpty());
  for (const ConfigurationUse use : {ConfigurationUse::one_run, ConfigurationUse::many_runs}) {
    EXPECT_THAT(without_effect(use), Contains("--iterations"));
    EXPECT_THAT(without_effect(use), Contains("--l2"));
    EXPECT_THAT(without_effect(use), Not(Contains("--tolerance")));
  }
  EXPECT_THAT(without_effect(ConfigurationUse::one_run), Not(Contains("--no-mask")));
  EXPECT_THAT(without_effect(ConfigurationUse::many_runs), Contains("--no-mask"));
  EXPECT_THAT(without_effect(ConfigurationUse::code), Contains("--iterations"));
  EXPECT_THAT(without_effect(ConfigurationUse::code), Contains("--tolerance"));
  EXPECT_THAT(without_effect(ConfigurationUse::code), Not(Contains("--block-dim-x"))) << "it may become a constant";
}

TEST(ConfigurationOptions, AFormerNameIsTakenAndNotShown) {
  Configuration plain;
  plain.verdict.mask = false;
  EXPECT_EQ(*configure({"--no-poison"}), plain);
  EXPECT_EQ(*configure({"--no-poison", "--no-mask"}), plain);
  CLI::App app;
  ConfigurationOptions options;
  options.declare(app);
  EXPECT_THAT(app.help(), testing::HasSubstr("--no-mask"));
  EXPECT_THAT(app.help(), testing::Not(testing::HasSubstr("--no-poison")));
}

TEST(ConfigurationOptions, TheHelpHasAHeadingForEachSection) {
  CLI::App app;
  ConfigurationOptions options;
  options.declare(app);
  for (const char* heading : {"Launch:\n", "Specialisation:\n", "Code generation:\n", "Assembler:\n", "Execution:\n"})
    EXPECT_THAT(app.help(), testing::HasSubstr(heading));
  EXPECT_THAT(app.help(), testing::HasSubstr("as-built"));
}

}  // namespace
}  // namespace mneme::cli
