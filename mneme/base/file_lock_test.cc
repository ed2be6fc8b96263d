// Temporary files and locks between those who do not see each other's process ids.
#include "mneme/base/file_lock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <fstream>
#include <set>

#include "mneme/base/testing/failing_system_calls.h"
#include "mneme/base/testing/temporary_folder.h"

namespace mneme {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

class FileLockTest : public testing::Test {
 protected:
  // Holds the lock as somebody does who may only read the folder.
  Descriptor hold(const Path& path) {
    std::ofstream(path, std::ios::app).close();
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    EXPECT_EQ(::flock(file.number(), LOCK_EX), 0);
    return file;
  }

  const TemporaryDirectory directory_;
  const Path& folder_ = directory_.path();
  FileSystem& files_ = FileSystem::posix();
};

TEST_F(FileLockTest, TemporaryNamesAreNobodyElses) {
  std::set<Path> names;
  std::vector<TemporaryFile> open;
  for (int i = 0; i < 20; ++i) {
    auto temporary = files_.create_temporary(folder_ / "x.json");
    ASSERT_TRUE(temporary.ok()) << temporary.status().message();
    EXPECT_THAT(temporary->path.filename().string(), MatchesRegex("x\\.json\\.tmp\\.[0-9a-f]{16}"));
    EXPECT_TRUE(names.insert(temporary->path).second);
    open.push_back(std::move(*temporary));
  }
}

TEST_F(FileLockTest, AFileThatIsThereIsNeverTakenForATemporaryOne) {
  const Path path = folder_ / "taken";
  std::ofstream(path) << "another's";
  auto file = files_.create_new(path);
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(*file, nullptr);
  std::filesystem::create_symlink("taken", folder_ / "link");
  auto link = files_.create_new(folder_ / "link");
  ASSERT_TRUE(link.ok());
  EXPECT_EQ(*link, nullptr);
  EXPECT_EQ(std::filesystem::file_size(path), 9u);
}

TEST_F(FileLockTest, WhatIsBeingWrittenIsNotRemoved) {
  auto temporary = files_.create_temporary(folder_ / "x");
  ASSERT_TRUE(temporary.ok());
  EXPECT_TRUE(files_.remove_unused(temporary->path).ok());
  EXPECT_TRUE(files_.exists(temporary->path));
  ASSERT_TRUE(temporary->file->close().ok());
  EXPECT_TRUE(files_.remove_unused(temporary->path).ok());
  EXPECT_FALSE(files_.exists(temporary->path));
  EXPECT_EQ(files_.remove_unused(temporary->path).code(), Code::not_found);
}

TEST_F(FileLockTest, AnotherProcessSeesTheLockToo) {
  auto temporary = files_.create_temporary(folder_ / "x");
  ASSERT_TRUE(temporary.ok());
  const pid_t child = ::fork();
  if (child == 0) ::_exit(files_.remove_unused(temporary->path).ok() && files_.exists(temporary->path) ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

// Some network file systems have no locks: what is written there is as good, and nobody can tell that it is left over.
TEST_F(FileLockTest, WhereThereAreNoLocksFilesAreMadeAndNoneIsRemoved) {
  const pid_t child = ::fork();
  if (child == 0) {
    testing_base::fail_system_calls({SYS_flock}, ENOLCK);
    auto temporary = files_.create_temporary(folder_ / "x");
    if (!temporary.ok()) ::_exit(1);
    if (!files_.remove_unused(temporary->path).ok() || !files_.exists(temporary->path)) ::_exit(2);
    if (!files_.write_atomically(folder_ / "y", {}).ok()) ::_exit(3);
    ::_exit(files_.lock(folder_ / ".lock").status().to_string() ==
                    "io: locking " + (folder_ / ".lock").string() + ": No locks available"
                ? 0
                : 4);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WEXITSTATUS(status) == testing_base::kCannotFail) GTEST_SKIP() << "no system call can be made to fail here";
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

// Whoever removes left-overs may be faster than the one who locks what he has made.
TEST_F(FileLockTest, AFileWithoutANameIsKnown) {
  std::ofstream(folder_ / "x").close();
  const Descriptor file(::open((folder_ / "x").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(is_removed(file));
  std::filesystem::rename(folder_ / "x", folder_ / "y");
  EXPECT_FALSE(is_removed(file));
  std::filesystem::remove(folder_ / "y");
  EXPECT_TRUE(is_removed(file));
}

TEST_F(FileLockTest, SaysWhoHoldsTheLockAndEndsWaiting) {
  const Path path = folder_ / ".lock";
  Descriptor held = hold(path);
  testing::internal::CaptureStderr();
  auto lock = files_.lock(path, {.notice = std::chrono::milliseconds(1), .limit = std::chrono::milliseconds(30)});
  const std::string said = testing::internal::GetCapturedStderr(), holder = fmt::format("process {} (", ::getpid());
  ASSERT_EQ(lock.status().code(), Code::timeout);
  EXPECT_THAT(lock.status().message(), HasSubstr("locking " + path.string() + ": "));
  EXPECT_THAT(lock.status().message(), HasSubstr(" s: wait for it or end it, or name another folder"));
  EXPECT_THAT(said, testing::StartsWith("mneme: warning: waiting for " + path.string() + ", which "));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
  // Where the system's list of locks is there.
  if (std::ifstream("/proc/locks").good()) {
    EXPECT_THAT(said, HasSubstr(holder));
    EXPECT_THAT(lock.status().message(), HasSubstr(holder));
  }
  held.close();
  EXPECT_TRUE(files_.lock(path).ok());
}

TEST_F(FileLockTest, AForkedProcessDoesNotKeepTheLock) {
  const Path path = folder_ / ".lock";
  int go[2];
  ASSERT_EQ(::pipe(go), 0);
  auto lock = files_.lock(path);
  ASSERT_TRUE(lock.ok());
  auto closed = files_.create_temporary(folder_ / "closed"), dropped = files_.create_temporary(folder_ / "dropped");
  ASSERT_TRUE(closed.ok() && dropped.ok());
  const pid_t child = ::fork();
  if (child == 0) {  // lives until the parent closes its end
    ::close(go[1]);
    char byte = 0;
    ::_exit(::read(go[0], &byte, 1) == 0 ? 0 : 1);
  }
  lock->reset();
  EXPECT_TRUE(closed->file->close().ok());
  dropped->file.reset();
  for (const Path& temporary : {closed->path, dropped->path}) {
    EXPECT_TRUE(files_.remove_unused(temporary).ok());
    EXPECT_FALSE(files_.exists(temporary)) << temporary;
  }
  EXPECT_TRUE(files_.lock(path, {.limit = std::chrono::milliseconds(50)}).ok());
  ::close(go[1]);
  ::close(go[0]);
  ::waitpid(child, nullptr, 0);
}

TEST_F(FileLockTest, SeveralMayShareALockAndNobodyHasItBesideOne) {
  const Path path = folder_ / ".lock";
  const LockPatience none{.limit = {}};
  auto one = files_.lock(path, none, LockKind::shared), other = files_.lock(path, none, LockKind::shared);
  ASSERT_TRUE(one.ok() && other.ok());
  EXPECT_EQ(files_.lock(path, none).status().code(), Code::timeout);
  one->reset();
  other->reset();
  auto alone = files_.lock(path, none);
  ASSERT_TRUE(alone.ok());
  EXPECT_EQ(files_.lock(path, none, LockKind::shared).status().code(), Code::timeout);
}

}  // namespace
}  // namespace mneme
