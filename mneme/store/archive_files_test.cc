// The files of an archive that is a part of another file.
#include "mneme/store/archive_files.h"

#include <gmock/gmock.h>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/store/archive.h"
#include "mneme/store/testing/bytes.h"
#include "mneme/store/testing/made_recording.h"
#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

using testing::ElementsAre;

ByteSpan bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// A file with seven bytes, an archive and nine bytes.
class AnArchive : public testing::Test {
 protected:
  void SetUp() override {
    BytesWritten tar;
    TarWriter writer(tar);
    ASSERT_TRUE(writer.add("one.json", bytes_of("first")).ok());
    ASSERT_TRUE(writer.add("pages/two.mneme", bytes_of("the second")).ok());
    ASSERT_TRUE(writer.finish().ok());
    size_ = tar.bytes.size();
    ByteVector whole(7);
    whole.insert(whole.end(), tar.bytes.begin(), tar.bytes.end());
    whole.resize(whole.size() + 9);
    ASSERT_TRUE(FileSystem::posix().write_atomically(path(), whole).ok());
  }
  Path path() const { return folder_.path() / "program"; }
  Result<std::unique_ptr<ArchiveFiles>> open(uint64_t offset, uint64_t size) const {
    return ArchiveFiles::open(*FileSystem::posix().open(path()), offset, Bytes(size), "x/recording");
  }

  TemporaryDirectory folder_;
  uint64_t size_ = 0;
};

TEST_F(AnArchive, HasItsFilesBelowTheFolder) {
  const auto files = open(7, size_);
  ASSERT_TRUE(files.ok()) << files.status().to_string();
  EXPECT_THAT(*(*files)->list("x/recording"), ElementsAre("one.json", "pages"));
  EXPECT_THAT(*(*files)->list("x/recording/pages"), ElementsAre("two.mneme"));
  EXPECT_TRUE((*files)->exists("x/recording/pages"));
  EXPECT_FALSE((*files)->exists("x/recording/page"));
  EXPECT_EQ(*(*files)->size("x/recording/one.json"), Bytes(5));
  const auto second = (*files)->read("x/recording/pages/two.mneme");
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(*second, ByteVector(bytes_of("the second").begin(), bytes_of("the second").end()));
  EXPECT_EQ((*files)->read("x/recording/three").status().code(), Code::not_found);
  EXPECT_EQ((*files)->list("x").ok(), true);
  EXPECT_EQ((*files)->list("x/recording/three").status().message(), "the archive has no folder x/recording/three");
  ByteVector more(6);
  EXPECT_EQ((*(*files)->open("x/recording/one.json"))->read(0, more).message(),
            "x/recording/one.json: offset 5: the file ends before");
}

TEST_F(AnArchive, IsNotChanged) {
  const auto files = open(7, size_);
  ASSERT_TRUE(files.ok());
  for (const Status& status : {(*files)->create("x/recording/one.json").status(), (*files)->remove("x/recording/one.json"),
                               (*files)->write_atomically("x/recording/one.json", {}), (*files)->lock("x/recording/l").status()})
    EXPECT_EQ(status.code(), Code::unsupported) << status.to_string();
}

TEST_F(AnArchive, IsRefusedWhereItIsCutShortOrNone) {
  for (uint64_t size = 0; size + 1024 < size_; ++size) EXPECT_EQ(open(7, size).status().code(), Code::corrupt) << size;
  EXPECT_EQ(open(6, size_).status().message(), "x/recording: offset 6: this is no archive of recordings, or it was damaged");
}

}  // namespace
}  // namespace mneme
