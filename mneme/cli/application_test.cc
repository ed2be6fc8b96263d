#include "mneme/cli/application.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>

#include "mneme/cli/installation.h"

namespace mneme::cli {
namespace {

struct ProgramFile : ::testing::Test {
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / fmt::format("mneme-application-test-{}", ::getpid());
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  Path write(const std::string& name, const std::string& content, mode_t mode) {
    std::ofstream(folder / name) << content;
    ::chmod((folder / name).c_str(), mode);
    return folder / name;
  }
  Path folder;
};

TEST_F(ProgramFile, IsFoundOnThePathOrWhereItIsNamed) {
  Path script = write("script", "#!/bin/sh\n", 0755);
  EXPECT_EQ(*find_program(script.string()), script);
  EXPECT_EQ(find_program("sh")->filename(), "sh");
  Path plain = write("plain", "text", 0644);
  EXPECT_EQ(find_program(plain.string()).status().to_string(),
            fmt::format("invalid_argument: running {}: it is not executable (chmod +x {})", plain.string(), plain.string()));
  EXPECT_EQ(find_program("./nothing-here").status().to_string(), "not_found: running ./nothing-here: No such file or directory");
  EXPECT_EQ(find_program("no-such-program").status().to_string(),
            "not_found: running no-such-program: there is no such program on the PATH");
  EXPECT_EQ(find_program(folder.string() + "/").status().to_string(),
            fmt::format("invalid_argument: running {}/: it is not a file", folder.string()));
}

TEST_F(ProgramFile, OnThePathIsTheFirstThatIsExecutable) {
  for (const char* name : {"first", "second", "second/tool", "third"}) std::filesystem::create_directories(folder / name);
  write("first/tool", "text", 0644);
  const Path script = write("third/tool", "#!/bin/sh\n", 0755);
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", fmt::format("{0}/first:{0}/second::{0}/third:/bin", folder.string()).c_str(), 1);
  const Result<Path> found = find_program("tool");
  ::setenv("PATH", before.c_str(), 1);
  EXPECT_EQ(*found, script);
}

TEST_F(ProgramFile, IsCheckedBeforeItRuns) {
  EXPECT_TRUE(check_recordable(write("script", "#!/bin/sh\n", 0755)).ok());
  EXPECT_TRUE(check_recordable(MNEME_TEST_RECORDABLE).ok());
  EXPECT_EQ(check_recordable(MNEME_TEST_CUDA_ONLY).to_string(),
            "invalid_argument: " MNEME_TEST_CUDA_ONLY
            " uses CUDA but was not built for Mneme: build it with `$(mneme config cxx) $(mneme config cxxflags) app.cu -o app "
            "$(mneme config "
            "ldflags)`, or in CMake with find_package(mneme) and add_mneme(app)");
  Path unlinked = folder / "unlinked";
  std::filesystem::copy_file(MNEME_TEST_CUDA_ONLY, unlinked);
  std::ofstream(unlinked, std::ios::app) << "__mneme_segment_0";
  EXPECT_EQ(check_recordable(unlinked).to_string(),
            "invalid_argument: " + unlinked.string() +
                " was compiled for Mneme but not linked for it: link it with `mneme config ldflags` behind its objects");
  EXPECT_EQ(check_recordable(MNEME_TEST_DROPPED).to_string(),
            "invalid_argument: " MNEME_TEST_DROPPED
            " was linked without its device code: with -fgpu-rdc the linker step needs --offload-link too");
  ::testing::internal::CaptureStderr();
  EXPECT_TRUE(check_recordable("/bin/true").ok());
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "mneme: warning: /bin/true holds no recordable code itself; programs that it starts, and shared libraries that it "
            "loads while it runs, may\n");
}

TEST_F(ProgramFile, IsRecordedAtTheDriverWhereItCanBe) {
  constexpr auto kAuto = std::nullopt;
  const Path rebuilt = MNEME_TEST_RECORDABLE, plain = MNEME_TEST_CUDA_ONLY;
  EXPECT_EQ(*choose_front(rebuilt, DeviceKind::cuda, kAuto, Front::driver), Front::driver);
  EXPECT_EQ(*choose_front(rebuilt, DeviceKind::cuda, kAuto, Front::linked), Front::linked);
  EXPECT_EQ(*choose_front(rebuilt, DeviceKind::cuda, Front::linked, Front::driver), Front::linked);
  EXPECT_EQ(*choose_front(rebuilt, DeviceKind::cpu, kAuto, Front::driver), Front::linked);
  EXPECT_EQ(*choose_front(rebuilt, DeviceKind::hip, kAuto, Front::driver), Front::linked);
  EXPECT_EQ(*choose_front(plain, DeviceKind::cuda, kAuto, Front::linked), Front::driver);
  EXPECT_FALSE(choose_front(plain, DeviceKind::cpu, kAuto, Front::driver).ok());
}

TEST_F(ProgramFile, ThatNothingCanBePreloadedIntoIsRecordedByItsLinkedCalls) {
  const Path rebuilt = folder / "rebuilt", plain = folder / "plain";
  std::filesystem::copy_file(MNEME_TEST_RECORDABLE, rebuilt);
  std::filesystem::copy_file(MNEME_TEST_CUDA_ONLY, plain);
  ASSERT_EQ(::chmod(rebuilt.c_str(), 04755), 0);
  ASSERT_EQ(::chmod(plain.c_str(), 04755), 0);
  EXPECT_EQ(*choose_front(rebuilt, DeviceKind::cuda, std::nullopt, Front::driver), Front::linked);
  const std::string refused =
      "invalid_argument: {} runs with the rights of its owner (setuid), where the dynamic loader preloads no library: run a copy "
      "of it";
  EXPECT_EQ(choose_front(rebuilt, DeviceKind::cuda, Front::driver, Front::driver).status().to_string(),
            fmt::format(fmt::runtime(refused), rebuilt.string()));
  EXPECT_EQ(choose_front(plain, DeviceKind::cuda, std::nullopt, Front::driver).status().to_string(),
            fmt::format(fmt::runtime(refused), plain.string()));
}

}  // namespace
}  // namespace mneme::cli
