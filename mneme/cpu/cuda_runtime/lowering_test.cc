#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "mneme/abi/call_table.h"
#include "mneme/cpu/cuda_runtime/images.h"

namespace mneme::emulation {
namespace {

struct LoweringTest : ::testing::Test {
  void SetUp() override {
    cache = std::filesystem::temp_directory_path() / fmt::format("mneme-lowering-test-{}", ::getpid());
    std::filesystem::create_directories(cache);
    ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
    ::unsetenv("MNEME_CACHE_DIR");
    ::setenv(MNEME_ENV_COMMAND, MNEME_TEST_LOWER_COMMAND, 1);
    ::unsetenv("MNEME_TEST_LOWER_CRASHES");
    request.kernels = {"kernel"};
  }
  void TearDown() override {
    ::unsetenv("MNEME_TEST_LOWER_CRASHES");
    std::filesystem::remove_all(cache);
  }
  std::vector<Path> cached() const {
    std::vector<Path> files;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(cache / "mneme" / "objects"))
      if (entry.path().filename().string().size() == 32) files.push_back(entry.path());
    return files;
  }
  Path cache;
  LowerRequest request;
};

TEST_F(LoweringTest, ASecondRunTakesTheAnswerOfTheFirst) {
  ASSERT_TRUE(lower(request).ok());
  ASSERT_EQ(cached().size(), 1u);
  ::setenv("MNEME_TEST_LOWER_CRASHES", "1", 1);
  EXPECT_TRUE(lower(request).ok());
  request.bindings = {{"state", DevicePtr(1)}};
  EXPECT_EQ(lower(request).status().code(), Code::internal);  // another address is another question
}

// Another version may lower in another way.
TEST_F(LoweringTest, AnAnswerIsThatOfItsCommand) {
  const Path command = cache / "command";
  std::filesystem::copy_file(MNEME_TEST_LOWER_COMMAND, command);
  const auto before = std::filesystem::last_write_time(command);
  ::setenv(MNEME_ENV_COMMAND, command.c_str(), 1);
  ASSERT_TRUE(lower(request).ok());
  ::setenv("MNEME_TEST_LOWER_CRASHES", "1", 1);
  EXPECT_TRUE(lower(request).ok());
  std::filesystem::last_write_time(command, before + std::chrono::microseconds(1));
  EXPECT_EQ(lower(request).status().code(), Code::internal) << "it was made anew";
  std::filesystem::last_write_time(command, before + std::chrono::seconds(1));
  EXPECT_EQ(lower(request).status().code(), Code::internal);
  std::filesystem::last_write_time(command, before);
  EXPECT_TRUE(lower(request).ok());
}

TEST_F(LoweringTest, ADamagedAnswerIsMadeAgain) {
  ASSERT_TRUE(lower(request).ok());
  std::filesystem::resize_file(cached()[0], 20);
  EXPECT_TRUE(lower(request).ok());
}

TEST_F(LoweringTest, SaysHowACommandThatLeavesNoAnswerEnded) {
  ::setenv(MNEME_ENV_COMMAND, "/bin/false", 1);
  EXPECT_EQ(lower(request).status().to_string(),
            "internal: lowering kernels for the CPU device: /bin/false lower ended with exit status 1 and left no answer");
}

// The test's command fails where it finds any of them.
TEST_F(LoweringTest, WhatIsLoadedIntoTheProgramIsNotLoadedIntoTheCommand) {
  for (const char* name : {"LD_PRELOAD", MNEME_ENV_INTERPOSERS}) ::setenv(name, "", 1);
  EXPECT_TRUE(lower(request).ok());
  ::unsetenv("LD_PRELOAD");
}

TEST_F(LoweringTest, WorksWithoutACacheFolder) {
  ::setenv("XDG_CACHE_HOME", "/proc/nothing-can-be-made-here", 1);
  EXPECT_TRUE(lower(request).ok());
}

TEST_F(LoweringTest, WorksWhereTheProgramIgnoresItsChildren) {
  ::signal(SIGCHLD, SIG_IGN);
  EXPECT_TRUE(lower(request).ok());
  ::signal(SIGCHLD, SIG_DFL);
}

TEST_F(LoweringTest, LeavesNothingInTheTemporaryFolderWhileItGoesOn) {
  const Path folder = cache / "temporary";
  std::filesystem::create_directories(folder);
  const char* before = std::getenv("TMPDIR");
  const std::string kept = before ? before : "";
  ::setenv("TMPDIR", folder.c_str(), 1);
  ::setenv("MNEME_TEST_LOWER_FOLDER", folder.c_str(), 1);
  EXPECT_TRUE(lower(request).ok());
  ::unsetenv("MNEME_TEST_LOWER_FOLDER");
  before ? ::setenv("TMPDIR", kept.c_str(), 1) : ::unsetenv("TMPDIR");
}

TEST_F(LoweringTest, NoFileOfTheProgramReachesTheChild) {
  int file = ::open("/dev/null", O_RDONLY);  // without O_CLOEXEC; the command fails when it finds one open
  EXPECT_TRUE(lower(request).ok());
  ::close(file);
}

}  // namespace
}  // namespace mneme::emulation
