// Files that a user has named, written piece by piece.
#include "mneme/base/output_file.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <iterator>

#include "mneme/base/testing/temporary_folder.h"

namespace mneme {
namespace {

class Output : public testing::Test {
 protected:
  Path path() const { return directory_.path() / "out"; }
  std::string content() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  size_t files() const { return FileSystem::posix().list(directory_.path())->size(); }

  static Status write(const Path& path, FileSystem& files = FileSystem::posix()) {
    MNEME_ASSIGN(auto output, OutputFile::open(path, files));
    MNEME_TRY(output->file().append(std::as_bytes(std::span("one ", 4))));
    MNEME_TRY(output->file().append(std::as_bytes(std::span("two", 3))));
    return output->finish();
  }

  TemporaryDirectory directory_;
};

TEST_F(Output, HasItsNameWhenItIsWhole) {
  std::ofstream(path()) << "before";
  {
    auto output = OutputFile::open(path());
    ASSERT_TRUE((*output)->file().append(std::as_bytes(std::span("half", 4))).ok());
    EXPECT_EQ(content(), "before");
  }
  EXPECT_EQ(content(), "before");
  EXPECT_EQ(files(), 1u) << "nothing is left of what was not finished";
  ASSERT_TRUE(write(path()).ok());
  EXPECT_EQ(content(), "one two");
  EXPECT_EQ(files(), 1u);
}

TEST_F(Output, WhicheverOperationFailsTheFileFromBeforeStays) {
  for (const std::string failing : {"create", "append", "sync", "rename"}) {
    std::ofstream(path()) << "before";
    auto faulty = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t) {
      return operation == failing ? error(Code::exhausted, "{}: No space left on device", operation) : Status();
    });
    EXPECT_EQ(write(path(), *faulty).code(), Code::exhausted) << failing;
    EXPECT_EQ(content(), "before") << failing;
    EXPECT_EQ(files(), 1u) << failing;
  }
}

TEST_F(Output, WhatAProcessThatWasKilledHasLeftIsRemoved) {
  std::ofstream(path().string() + ".tmp.0123456789abcdef") << "half";
  std::ofstream(directory_.path() / "other.tmp.0123456789abcdef") << "another's";
  ASSERT_TRUE(write(path()).ok());
  EXPECT_EQ(files(), 2u);
}

TEST_F(Output, GoesThroughLinksAndIntoDevices) {
  std::filesystem::create_symlink(path(), directory_.path() / "link");
  ASSERT_TRUE(write(directory_.path() / "link").ok());
  EXPECT_EQ(content(), "one two");
  EXPECT_TRUE(std::filesystem::is_symlink(directory_.path() / "link"));
  EXPECT_TRUE(write("/dev/null").ok());
  EXPECT_EQ(write("/dev/full").code(), Code::exhausted);
  EXPECT_THAT(write(directory_.path()).message(), testing::HasSubstr("Is a directory"));
}

// Before the work as behind it, and nothing is left.
TEST_F(Output, WhatCannotBeAFileIsTold) {
  const Path folder = directory_.path() / "folder";
  std::filesystem::create_directory(folder);
  const auto refusal = [&](const Path& path) {
    const std::string before = check_output_file(path).to_string();
    EXPECT_EQ(write(path).to_string(), before);
    EXPECT_EQ(write_output_file(path, {}).to_string(), before);
    return before;
  };
  EXPECT_EQ(refusal(""), "invalid_argument: no file to write is named");
  for (const Path& path : {folder, folder / ""})
    EXPECT_EQ(refusal(path),
              "invalid_argument: writing " + path.string() + ": Is a directory: name a file in it, or another one");
  const Path nowhere = folder / "nowhere";
  EXPECT_EQ(refusal(nowhere / "file"),
            "not_found: writing " + (nowhere / "file").string() + ": there is no folder " + nowhere.string());
  EXPECT_EQ(files(), 1u);
  if (::geteuid() != 0) return;
  // As somebody who may not write there.
  std::filesystem::permissions(directory_.path(), std::filesystem::perms(0755));
  ASSERT_EQ(::seteuid(65534), 0);
  const std::string denied = check_output_file(folder / "file").to_string();
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(denied, "io: writing " + (folder / "file").string() + ": the folder " + folder.string() + ": Permission denied");
}

}  // namespace
}  // namespace mneme
