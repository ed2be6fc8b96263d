// Folders that a user has named, written file by file.
#include "mneme/base/output_folder.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "mneme/base/testing/temporary_folder.h"

namespace mneme {
namespace {

class OutputFolders : public testing::Test {
 protected:
  Path path() const { return directory_.path() / "out"; }
  std::string content(const std::string& name) const {
    std::ifstream file(path() / name);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> names() const { return *FileSystem::posix().list(directory_.path()); }

  static Status write(const Path& path, FileSystem& files = FileSystem::posix()) {
    MNEME_ASSIGN(const auto folder, OutputFolder::create(path, files));
    MNEME_TRY(folder->write("first", "one"));
    MNEME_TRY(folder->write("within/second", "two"));
    return folder->finish();
  }

  TemporaryDirectory directory_;
};

TEST_F(OutputFolders, HasItsNameWhenItIsWhole) {
  {
    const auto folder = OutputFolder::create(path());
    ASSERT_TRUE(folder.ok()) << folder.status().to_string();
    ASSERT_TRUE((*folder)->write("first", "half").ok());
    EXPECT_FALSE(FileSystem::posix().exists(path()));
  }
  EXPECT_THAT(names(), testing::IsEmpty()) << "nothing is left of what was not finished";
  ASSERT_TRUE(write(path()).ok());
  EXPECT_THAT(names(), testing::ElementsAre("out"));
  EXPECT_EQ(content("first"), "one");
  EXPECT_EQ(content("within/second"), "two");
  EXPECT_EQ(std::filesystem::last_write_time(path() / "first"), std::filesystem::last_write_time(path() / "within/second"));
}

TEST_F(OutputFolders, WhatIsThereStays) {
  const std::string message = path().string() + " is there already: name a folder that is not";
  for (const std::string kind : {"folder", "file", "link"}) {
    std::filesystem::remove_all(path());
    if (kind == "folder") std::filesystem::create_directory(path());
    if (kind == "file") std::ofstream(path()) << "before";
    if (kind == "link") std::filesystem::create_symlink("nowhere", path());
    for (const Path& named : {path(), path() / ""}) {
      if (kind != "folder" && named != path()) continue;
      const Status status = write(named);
      EXPECT_EQ(status.code(), Code::invalid_argument) << kind;
      EXPECT_EQ(status.message(), message) << kind;
    }
    EXPECT_THAT(names(), testing::ElementsAre("out"));
  }
  // What comes by that name meanwhile stays, too.
  std::filesystem::remove_all(path());
  const auto folder = OutputFolder::create(path());
  std::filesystem::create_directory(path());
  EXPECT_EQ((*folder)->finish().message(), message);
}

TEST_F(OutputFolders, WhicheverOperationFailsNothingIsLeft) {
  for (const std::string failing : {"create", "append", "sync"}) {
    auto faulty = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& at, uint64_t) {
      return operation == failing && at.filename() == "second" ? error(Code::exhausted, "{}: No space left on device", operation)
                                                               : Status();
    });
    EXPECT_EQ(write(path(), *faulty).code(), Code::exhausted) << failing;
    EXPECT_THAT(names(), testing::IsEmpty()) << failing;
  }
  const Status status = write(directory_.path() / "no" / "out");
  EXPECT_EQ(status.code(), Code::not_found);
}

TEST_F(OutputFolders, WhatAProcessThatWasKilledHasLeftIsRemoved) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto folder = OutputFolder::create(path());
    [[maybe_unused]] const Status ignored = (*folder)->write("first", "half");
    ::_exit(0);  // as SIGKILL would end it: no destructor runs
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_EQ(names().size(), 1u);
  std::filesystem::create_directory(directory_.path() / "other.tmp.0123456789abcdef");
  {
    const auto at_work = OutputFolder::create(path());
    ASSERT_TRUE(at_work.ok());
    EXPECT_EQ(names().size(), 2u) << "the one that was left is gone, and another one's stays";
    ASSERT_TRUE(write(path()).ok());
    EXPECT_EQ(names().size(), 3u) << "what somebody is writing stays";
  }
  EXPECT_THAT(names(), testing::ElementsAre("other.tmp.0123456789abcdef", "out"));
}

}  // namespace
}  // namespace mneme
