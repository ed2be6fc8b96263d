#include "mneme/cli/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "mneme/base/file_system.h"
#include "mneme/base/testing/temporary_folder.h"

namespace mneme::cli {
namespace {

using ::testing::HasSubstr;

// A variable of the environment, as it was again after the test.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

class Diagnosis : public testing::Test {
 protected:
  void script(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    ::chmod((folder_ / name).c_str(), 0755);
  }
  static Finding of(const std::string& what, const std::vector<Finding>& findings) {
    for (const Finding& finding : findings)
      if (finding.what == what) return finding;
    return {"nothing of " + what, Health::good, "", ""};
  }

  const TemporaryDirectory directory_;
  const Path& folder_ = directory_.path();
};

TEST_F(Diagnosis, TellsWhatMendsIt) {
  {
    const Variable variable("TMPDIR", "/nonexistent");
    const Finding finding = of("temporary files", diagnose_system());
    EXPECT_EQ(finding.health, Health::broken);
    EXPECT_EQ(finding.remedy, "export TMPDIR=/tmp");
  }
  {
    const Variable variable("MNEME_PTX_ASSEMBLER", "nonsense");
    const Finding finding = of("PTX assembler", diagnose_tools());
    EXPECT_EQ(finding.health, Health::broken);
    EXPECT_THAT(finding.detail, HasSubstr("nonsense"));
    EXPECT_EQ(finding.remedy, "unset MNEME_PTX_ASSEMBLER");
  }
  {
    const Variable variable("CUDA_HOME", folder_.string());
    const Finding finding = of("CUDA toolkit", diagnose_tools());
    EXPECT_EQ(finding.health, Health::absent);
    EXPECT_THAT(finding.detail, HasSubstr("programs cannot be built for Mneme here: CUDA_HOME is " + folder_.string()));
  }
  EXPECT_EQ(of("temporary files", diagnose_system()).health, Health::good);
}

TEST_F(Diagnosis, ACacheThatCannotBeMadeIsDoneWithout) {
  script("file", "");
  const Variable variable("MNEME_CACHE_DIR", "/proc/nonexistent/cache");
  const Finding finding = of("cache", diagnose_system());
  if (::geteuid() != 0) EXPECT_EQ(finding.health, Health::absent);
  const Variable size("MNEME_CACHE_SIZE", "much");
  EXPECT_EQ(of("cache", diagnose_system()).health, Health::absent);
}

TEST_F(Diagnosis, AGpuThatIsNotThereIsBrokenOnlyWhereOneIsWanted) {
  if (std::filesystem::exists("/dev/nvidiactl")) GTEST_SKIP() << "there is a GPU";
  EXPECT_TRUE(is_sound(diagnose_gpu(Health::absent)));
  EXPECT_FALSE(is_sound(diagnose_gpu(Health::broken)));
}

TEST_F(Diagnosis, AnAmdGpuThatIsNotThereIsToldAndNotMissed) {
  if (std::filesystem::exists("/dev/kfd")) GTEST_SKIP() << "there is AMD's driver";
  const std::vector<Finding> findings = diagnose_amd_gpu();
  EXPECT_TRUE(is_sound(findings));
  if (findings.empty()) GTEST_SKIP() << "built without HIP";
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].what, "AMD driver");
  EXPECT_EQ(findings[0].health, Health::absent);
  EXPECT_THAT(findings[0].detail, HasSubstr("there is no /dev/kfd"));
}

TEST_F(Diagnosis, APythonPackageThatIsNotThereIsToldHowToGet) {
  const Variable path("PATH", folder_.string());
  const std::vector<Finding> findings = diagnose_python();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].health, Health::absent);
  EXPECT_THAT(findings[0].remedy, HasSubstr("pip install"));
}

TEST_F(Diagnosis, NamesThePackagesThatAPythonLacks) {
  script("python", "#!/bin/sh\nfor m do case $m in optuna|yaml) printf '%s ' $m ;; esac; done\necho end\n");
  script("mneme-tune", "#!" + folder_.string() + "/python\n");
  const Variable path("PATH", folder_.string() + ":/usr/bin:/bin");
  const std::vector<Finding> findings = diagnose_python();
  EXPECT_EQ(of("Python package", findings).health, Health::good);
  EXPECT_EQ(of("mneme report", findings).health, Health::good);
  const Finding tune = of("mneme tune", findings);
  EXPECT_EQ(tune.health, Health::absent);
  EXPECT_EQ(tune.detail, "lacks Python packages: optuna pyyaml");
  EXPECT_EQ(tune.remedy, folder_.string() + "/python -m pip install optuna pyyaml");
}

TEST_F(Diagnosis, FindsTheInterpreterHoweverItsScriptNamesIt) {
  script("python", "#!/bin/sh\necho end\n");
  const Variable path("PATH", folder_.string() + ":/usr/bin:/bin");
  for (const std::string& text : {std::string("#!/usr/bin/env python\n"), "#!" + folder_.string() + "/python -I\n",
                                  "#!/bin/sh\n'''exec' \"" + folder_.string() + "/python\" \"$0\" \"$@\"\n' '''\n"}) {
    script("mneme-tune", text);
    for (const Finding& finding : diagnose_python()) EXPECT_EQ(finding.health, Health::good) << text << finding.detail;
  }
  script("mneme-tune", "#!" + folder_.string() + "/gone\n");
  EXPECT_EQ(of("Python package", diagnose_python()).health, Health::broken);
}

TEST(Findings, AreALineEachWithTheRemedyBelow) {
  const std::vector<Finding> findings = {{"one", Health::good, "is there", ""}, {"two", Health::broken, "a\x1b[2Jb", "mend it"}};
  EXPECT_EQ(format_findings(findings),
            "ok      one                   is there\n"
            "broken  two                   a\\x1b[2Jb\n"
            "                              -> mend it\n");
  EXPECT_FALSE(is_sound(findings));
  EXPECT_EQ(to_json(findings[0]).dump(), R"({"detail":"is there","health":"ok","remedy":null,"what":"one"})");
}

}  // namespace
}  // namespace mneme::cli
