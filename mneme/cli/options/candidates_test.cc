#include "mneme/cli/options/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <span>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/cli/options/command.h"
#include "mneme/store/instance_list.h"

namespace mneme::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kHash[] = "2860ab17c62173867bb5cfae93fbb671";
constexpr char kInstance[] = "59779c44a50d4083720688bc55d52bf9";

class PickCommand : public Command {
 public:
  void add_options(CLI::App& app) override {
    app.add_option("DB,--rdb", text_, "database");
    app.add_option("KERNEL", text_, "kernel");
    app.add_option("--device", text_, "where")->check(CLI::IsMember({"auto", "cuda", "cpu"}));
    app.add_option("--rid", text_, "instance");
    app.add_option("--max", number_, "most");
    app.add_flag("--json", flag_, "as JSON");
    app.add_option("--iterations", number_, "of others")->group(kWithoutEffect);
  }
  int run() override { return 0; }

 private:
  std::string text_;
  int number_ = 0;
  bool flag_ = false;
};

const Registration pick({.name = "pick", .summary = "a test", .visibility = Visibility::hidden},
                        [] { return std::make_unique<PickCommand>(); });

std::vector<std::string> words(const std::vector<std::string>& line) {
  std::vector<std::string> texts;
  for (const Candidate& candidate : candidates(line).words) texts.push_back(candidate.text);
  return texts;
}

TEST(Candidates, AreCommandsFirst) {
  EXPECT_THAT(words({""}), Contains("echo"));
  EXPECT_THAT(words({"hel"}), ElementsAre("help"));
  EXPECT_THAT(words({"help", "ech"}), ElementsAre("echo"));
  EXPECT_THAT(words({""}), Not(Contains("pick"))) << "hidden";
  EXPECT_THAT(candidates({}).words, IsEmpty());
}

TEST(Candidates, AreTheOptionsThatHaveAnEffect) {
  EXPECT_THAT(words({"pick", "--"}), Contains("--device"));
  EXPECT_THAT(words({"pick", "--de"}), ElementsAre("--device"));
  EXPECT_THAT(words({"pick", "--iter"}), IsEmpty());
  EXPECT_THAT(candidates({"pick", "--js"}).words, ElementsAre(Candidate{"--json", "as JSON"}));
}

TEST(Candidates, AreTheValuesOfAnOption) {
  EXPECT_THAT(words({"pick", "--device", "c"}), ElementsAre("cuda", "cpu"));
  EXPECT_THAT(words({"pick", "-device", ""}), ElementsAre("auto", "cuda", "cpu"));
  EXPECT_THAT(words({"pick", "--device=cu"}), ElementsAre("--device=cuda"));
  const Candidates number = candidates({"pick", "--max", ""});
  EXPECT_THAT(number.words, IsEmpty());
  EXPECT_EQ(number.paths, PathCandidates::none);
  EXPECT_EQ(candidates({"pick", "--rdb", ""}).paths, PathCandidates::files);
}

TEST(Candidates, AreTheKernelsOfTheDatabase) {
  EXPECT_EQ(candidates({"pick", ""}).paths, PathCandidates::files);
  EXPECT_THAT(words({"pick", MNEME_TEST_CORPUS, ""}), ElementsAre("scale", kHash));
  EXPECT_THAT(words({"pick", "--json", MNEME_TEST_CORPUS, "28"}), ElementsAre(kHash));
  EXPECT_EQ(candidates({"pick", MNEME_TEST_CORPUS, "sc"}).words[0].about, "scale(int*, int, int)");
  EXPECT_THAT(words({"pick", "--rdb", MNEME_TEST_CORPUS, "sc"}), ElementsAre("scale"));
  EXPECT_THAT(words({"pick", MNEME_TEST_CORPUS, "scale#"}), ElementsAre("scale#0"));
  EXPECT_THAT(words({"pick", MNEME_TEST_CORPUS, "cale#"}), ElementsAre("cale#0"));
  EXPECT_THAT(words({"pick", "/nonexistent", ""}), IsEmpty());
  EXPECT_THAT(words({"pick", "--device=cpu", MNEME_TEST_CORPUS, "sc"}), ElementsAre("scale")) << "its value is there already";
  EXPECT_THAT(words({"pick", std::string("--rdb=") + MNEME_TEST_CORPUS, "sc"}), ElementsAre("scale"));
}

// Of a name that several kernels may have it is not known whose instances are meant.
TEST(Candidates, AreNoInstancesOfSeveralKernels) {
  TemporaryDirectory folder;
  for (const char* name : {"upscale", "downscale"}) {
    KernelDocument document;
    document.kernel.name = document.kernel.demangled = name;
    document.kernel.static_hash = digest_of(std::as_bytes(std::span(std::string_view(name))));
    document.kernel.target = "nvptx";
    document.kernel.arch = "sm_90";
    InstanceRecord instance;
    instance.static_hash = document.kernel.static_hash;
    instance.dynamic_hash = document.kernel.static_hash;
    instance.device_kind = instance.device_name = "cpu";
    instance.space_base = DevicePtr(0x7a0000000000);
    instance.space_size = 1_GiB;
    instance.recorded_at = "2026-01-01T00:00:00Z";
    instance.mneme_version = "0.1.0";
    const Digest& hash = document.kernel.static_hash;
    std::ofstream(folder.path() / kernel_file_name(hash)) << encode_kernel(document);
    std::ofstream(folder.path() / list_file_name(hash)) << InstanceList::encode(hash, {instance});
  }
  EXPECT_THAT(words({"pick", folder.path().string(), "up"}), ElementsAre("upscale"));
  EXPECT_THAT(words({"pick", folder.path().string(), "upscale#"}), ElementsAre("upscale#0"));
  EXPECT_THAT(words({"pick", folder.path().string(), "scale#"}), IsEmpty());
}

TEST(Candidates, AreTheInstancesOfTheKernel) {
  const std::string file = std::string(MNEME_TEST_CORPUS) + "/" + kHash + ".json";
  EXPECT_THAT(words({"pick", file, "--rid", ""}), ElementsAre(kInstance));
  EXPECT_THAT(words({"pick", "--rdb", file, "--rid", "59"}), ElementsAre(kInstance));
  EXPECT_THAT(words({"pick", file, "--rid", "6"}), IsEmpty());
  EXPECT_THAT(words({"pick", file, "default<O1>", "--rid", ""}), ElementsAre(kInstance))
      << "no kernel stands behind a kernel's file";
  EXPECT_THAT(words({"pick", MNEME_TEST_CORPUS, "scale", "--rid", ""}), ElementsAre(kInstance));
  EXPECT_THAT(words({"pick", MNEME_TEST_CORPUS, "--rid", ""}), ElementsAre(kInstance)) << "the only kernel";
}

TEST(Candidates, AreFilesForAProgramAndForWhatIsNotKnown) {
  EXPECT_EQ(candidates({"launch", "--", "./a"}).paths, PathCandidates::files);
  EXPECT_EQ(candidates({"launch", "--", "./app", "--dev"}).paths, PathCandidates::files);
  EXPECT_EQ(candidates({"probe", "x"}).paths, PathCandidates::files);
}

// What the commands of the Python package say of themselves.
TEST(Candidates, AreThoseOfACommandOfPython) {
  TemporaryDirectory folder;
  const std::filesystem::path program = folder.path() / "mneme-tune";
  std::ofstream(program)
      << "#!/bin/sh\n[ \"$1\" = --list-options ] || exit 1\n"
         "printf 'DB\\tDB\\t\\tthe database\\nKERNEL\\tKERNEL\\t\\tthe kernel\\n'\n"
         "printf -- '--device\\tNAME\\tauto,cpu\\twhere\\n--rid\\tHASH\\t\\tinstance\\n--resume\\t\\t\\tgo on\\n'\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const std::string before = getenv("PATH");
  setenv("PATH", (folder.path().string() + ":" + before).c_str(), 1);
  EXPECT_THAT(candidates({"tune", "--res"}).words, ElementsAre(Candidate{"--resume", "go on"}));
  EXPECT_THAT(words({"tune", MNEME_TEST_CORPUS, "sc"}), ElementsAre("scale"));
  EXPECT_THAT(words({"tune", MNEME_TEST_CORPUS, "scale", "--rid", ""}), ElementsAre(kInstance));
  EXPECT_THAT(words({"tune", MNEME_TEST_CORPUS, "--device", ""}), ElementsAre("auto", "cpu"));
  EXPECT_THAT(words({"tune", "--resume", "--device=c"}), ElementsAre("--device=cpu"));
  setenv("PATH", before.c_str(), 1);
}

TEST(Candidates, AreALineEach) {
  EXPECT_EQ(format_candidates({{{"a", "what"}, {"b", ""}}, PathCandidates::files}), "a\twhat\nb\n:files\n");
  EXPECT_EQ(format_candidates({{}, PathCandidates::folders}), ":folders\n");
  EXPECT_EQ(format_candidates({}), "");
}

}  // namespace
}  // namespace mneme::cli
