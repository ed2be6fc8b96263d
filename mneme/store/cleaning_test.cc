// Removing what is in a database, and checking and repairing all of it.
#include "mneme/store/cleaning.h"

#include <gmock/gmock.h>

#include "mneme/snapshot/container.h"
#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

using testing::HasSubstr;

class Cleaning : public testing::Test {
 protected:
  Cleaning() {
    auto database = Database::create(db());
    first_.push_back(*publish_sample(*database, one_, sample_memory(1)));
    first_.push_back(*publish_sample(*database, one_, sample_memory(2)));
    second_ = *publish_sample(*database, two_, sample_memory(2, 5 * kPageSize.count));
  }

  Path db() const { return directory_.path() / "db"; }
  Database open() const { return std::move(*Database::open(db())); }

  // The kernel `one` with these instances.
  std::vector<KernelDocument> chosen(const std::vector<Digest>& instances) const {
    KernelDocument document = *open().load_document(one_.static_hash);
    std::erase_if(document.instances, [&](const InstanceRecord& each) {
      return std::find(instances.begin(), instances.end(), each.dynamic_hash) == instances.end();
    });
    return {document};
  }

  void expect_whole(size_t instances) const {
    const Database database = open();
    auto listing = database.list();
    ASSERT_TRUE(listing.ok());
    EXPECT_TRUE(listing->damaged.empty());
    size_t count = 0;
    for (const KernelDocument& document : listing->kernels)
      for (const InstanceRecord& instance : document.instances) {
        ++count;
        const Status whole = database.check_instance(instance.static_hash, instance.dynamic_hash);
        EXPECT_TRUE(whole.ok()) << whole.message();
      }
    EXPECT_EQ(count, instances);
  }

  std::vector<Path> files() const {
    std::vector<Path> found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(db()))
      if (entry.is_regular_file() && !entry.path().filename().string().starts_with(".")) found.push_back(entry.path());
    std::sort(found.begin(), found.end());
    return found;
  }

  static void flip(const Path& path, std::streamoff at) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(at);
    const auto byte = static_cast<char>(file.get() ^ 0xff);
    file.seekp(at);
    file.put(byte);
  }

  TemporaryDirectory directory_;
  const KernelRecord one_ = sample_kernel("one"), two_ = sample_kernel("two");
  std::vector<Digest> first_;
  Digest second_;
};

TEST_F(Cleaning, AnInstanceGoesWithThePagesThatItAloneHad) {
  const Bytes before = *open().disk_size();
  auto plan = open().clean(chosen({first_[0]}), Deed::tell);
  ASSERT_TRUE(plan.ok()) << plan.status().to_string();
  expect_whole(3);
  EXPECT_EQ(*open().disk_size(), before) << "telling changes nothing";
  auto done = open().clean(chosen({first_[0]}), Deed::remove);
  ASSERT_TRUE(done.ok()) << done.status().to_string();
  EXPECT_EQ(done->bytes(), plan->bytes());
  expect_whole(2);
  EXPECT_GT(plan->bytes(), kPageSize) << "of the page of noise";
  EXPECT_TRUE(open().check_all(Deed::tell)->sound());
}

TEST_F(Cleaning, AKernelGoesWithAllItsFiles) {
  ASSERT_TRUE(open().clean(chosen(first_), Deed::remove).ok());
  expect_whole(1);
  for (const Path& path : files()) EXPECT_EQ(path.string().find(one_.static_hash.hex()), std::string::npos) << path;
  EXPECT_TRUE(open().check_all(Deed::tell)->sound());
}

TEST_F(Cleaning, TheWholeDatabaseGoesAndNothingElse) {
  auto plan = open().remove_all(Deed::tell);
  ASSERT_TRUE(plan.ok());
  EXPECT_GE(plan->bytes(), kPageSize);
  auto done = open().remove_all(Deed::remove);
  ASSERT_TRUE(done.ok()) << done.status().to_string();
  EXPECT_TRUE(done->left.empty());
  EXPECT_FALSE(std::filesystem::exists(db()));
}

TEST_F(Cleaning, FilesThatAreNoDatabasesStay) {
  std::ofstream(db() / "notes.txt") << "mine";
  std::ofstream(db() / "Instances_notahash.mneme") << "mine";
  auto done = open().remove_all(Deed::remove);
  ASSERT_TRUE(done.ok()) << done.status().to_string();
  ASSERT_EQ(done->left.size(), 1u);
  EXPECT_THAT(done->left[0], HasSubstr("it holds files that are no database's"));
  EXPECT_TRUE(std::filesystem::exists(db() / "notes.txt"));
  EXPECT_TRUE(std::filesystem::exists(db() / "Instances_notahash.mneme"));
}

TEST_F(Cleaning, NothingIsRemovedBehindLinks) {
  const Path elsewhere = directory_.path() / "elsewhere";
  std::filesystem::rename(db() / "pages", elsewhere);
  std::filesystem::create_directory_symlink(elsewhere, db() / "pages");
  for (const Status& status : {open().clean(chosen(first_), Deed::remove).status(), open().remove_all(Deed::remove).status(),
                               open().check_all(Deed::remove).status()})
    EXPECT_EQ(status.to_string(),
              fmt::format("io: {} is a symbolic link: nothing is removed behind it", (db() / "pages").string()));
  expect_whole(3);
  // A file that is a link goes, and not what it leads to.
  std::filesystem::remove(db() / "pages");
  std::filesystem::rename(elsewhere, db() / "pages");
  const Path state = db() / state_file_name(Moment::prologue, one_.static_hash, first_[0]), real = directory_.path() / "state";
  std::filesystem::rename(state, real);
  std::filesystem::create_symlink(real, state);
  ASSERT_TRUE(open().clean(chosen(first_), Deed::remove).ok());
  EXPECT_FALSE(std::filesystem::is_symlink(state));
  EXPECT_TRUE(std::filesystem::exists(real));
}

// Whenever it is stopped, what is listed is whole, and cleaning again ends it.
TEST_F(Cleaning, StoppedAtEveryOperation) {
  const Path whole = directory_.path() / "whole";
  std::filesystem::copy(db(), whole, std::filesystem::copy_options::recursive);
  bool done = false;
  for (int allowed = 0; !done; ++allowed) {
    ASSERT_LT(allowed, 200);
    const auto failing = full_after(allowed);
    auto cleaned = Database::open(db(), *failing)->clean(chosen({first_[0]}), Deed::remove);
    done = cleaned.ok();
    const size_t instances = open().load_document(one_.static_hash)->instances.size();
    expect_whole(1 + instances);
    if (instances == 2) ASSERT_TRUE(open().clean(chosen({first_[0]}), Deed::remove).ok());
    auto repaired = open().check_all(Deed::remove);
    EXPECT_TRUE(repaired.ok() && repaired->damage.empty());
    expect_whole(2);
    std::filesystem::remove_all(db());
    std::filesystem::copy(whole, db(), std::filesystem::copy_options::recursive);
  }
}

// A recorder that has the database open records what was removed again, and readers find pages that were moved.
TEST_F(Cleaning, ThoseWhoHaveTheDatabaseOpenNoticeIt) {
  auto recorder = Database::create(db());
  const Database reader = open();
  ASSERT_TRUE(*recorder->has_instance(one_.static_hash, first_[0]));
  ASSERT_TRUE(reader.check_instance(one_.static_hash, first_[1]).ok());
  ASSERT_TRUE(open().clean(chosen({first_[0]}), Deed::remove).ok());
  EXPECT_FALSE(*recorder->has_instance(one_.static_hash, first_[0]));
  EXPECT_TRUE(reader.check_instance(one_.static_hash, first_[1]).ok());
  ASSERT_TRUE(publish_sample(*recorder, one_, sample_memory(1)).ok());
  expect_whole(3);
}

TEST_F(Cleaning, WaitsForPublicationsAndNamesWhoPublishes) {
  auto recorder = Database::create(db());
  auto publication = recorder->begin_publication();
  ASSERT_TRUE(publication.ok());
  auto use = FileSystem::posix().lock(db() / ".in-use", {.limit = std::chrono::milliseconds(10)});
  EXPECT_EQ(use.status().code(), Code::timeout);
  auto checked = open().check_all(Deed::tell);
  ASSERT_TRUE(checked.ok());
  ASSERT_EQ(checked->repair.left.size(), 1u);
  EXPECT_THAT(checked->repair.left[0], HasSubstr("somebody records into the database"));
  auto other = recorder->begin_publication();
  EXPECT_TRUE(other.ok()) << "several may publish at once";
}

// Every byte of every file is covered: one that is changed is found, and repairing leaves a sound database.
TEST_F(Cleaning, EachPlantedDamageIsFoundAndRepaired) {
  const Path whole = directory_.path() / "whole";
  std::filesystem::copy(db(), whole, std::filesystem::copy_options::recursive);
  ASSERT_TRUE(open().check_all(Deed::tell)->sound());
  for (const Path& path : files()) {
    const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path));
    for (const std::streamoff at : {std::streamoff{0}, size / 2, size - 2}) {
      SCOPED_TRACE(fmt::format("{} at {}", path.filename().string(), at));
      flip(path, at);
      auto found = open().check_all(Deed::tell);
      ASSERT_TRUE(found.ok()) << found.status().to_string();
      EXPECT_FALSE(found->damage.empty());
      EXPECT_FALSE(found->lost.empty());
      EXPECT_FALSE(found->repair.files.empty());
      auto repaired = open().check_all(Deed::remove);
      ASSERT_TRUE(repaired.ok()) << repaired.status().to_string();
      auto again = open().check_all(Deed::tell);
      ASSERT_TRUE(again.ok()) << again.status().to_string();
      EXPECT_TRUE(again->sound()) << (again->damage.empty() ? again->repair.files.front().name : again->damage.front());
      if (found->lost.front().starts_with("instance")) EXPECT_EQ(again->instances, 3 - found->lost.size());
      std::filesystem::remove_all(db());
      std::filesystem::copy(whole, db(), std::filesystem::copy_options::recursive);
    }
    std::filesystem::remove(path);
    EXPECT_FALSE(open().check_all(Deed::tell)->sound()) << path << " is missing";
    std::filesystem::remove_all(db());
    std::filesystem::copy(whole, db(), std::filesystem::copy_options::recursive);
  }
}

TEST_F(Cleaning, LookingWritesNothing) {
  std::filesystem::remove(db() / ".in-use");
  EXPECT_TRUE(open().check_all(Deed::tell)->sound());
  EXPECT_FALSE(std::filesystem::exists(db() / ".in-use"));
}

TEST_F(Cleaning, WhatNoInstanceNeedsIsFound) {
  const Digest none = digest_of({});
  std::ofstream(db() / state_file_name(Moment::prologue, one_.static_hash, none)) << "x";
  std::ofstream(db() / ir_file_name(none)) << "x";
  std::ofstream(db() / "notes.txt") << "mine";
  auto found = open().check_all(Deed::tell);
  ASSERT_TRUE(found.ok());
  EXPECT_TRUE(found->damage.empty());
  EXPECT_EQ(found->repair.files.size(), 2u);
  ASSERT_TRUE(open().check_all(Deed::remove).ok());
  EXPECT_TRUE(open().check_all(Deed::tell)->sound());
  EXPECT_TRUE(std::filesystem::exists(db() / "notes.txt"));
  expect_whole(3);
}

TEST_F(Cleaning, ADamagedKernelsFilesStayWhenOthersAreCleaned) {
  flip(db() / kernel_file_name(two_.static_hash), 40);
  auto done = open().clean(chosen(first_), Deed::remove);
  ASSERT_TRUE(done.ok()) << done.status().to_string();
  ASSERT_EQ(done->left.size(), 1u);
  EXPECT_THAT(done->left[0], HasSubstr("pages and images are left: "));
  flip(db() / kernel_file_name(two_.static_hash), 40);
  expect_whole(1);
}

// A format of the future is no damage, and nothing is removed for it.
TEST_F(Cleaning, ANewerFormatIsNotRepaired) {
  const Path path = db() / state_file_name(Moment::prologue, two_.static_hash, second_);
  ByteVector prologue = *FileSystem::posix().read(path);
  prologue[8] = std::byte{9};  // the major version
  seal_container(prologue);
  ASSERT_TRUE(FileSystem::posix().write_atomically(path, prologue).ok());
  EXPECT_EQ(open().check_all(Deed::remove).status().code(), Code::incompatible);
  EXPECT_TRUE(std::filesystem::exists(db() / state_file_name(Moment::epilogue, two_.static_hash, second_)));
}

}  // namespace
}  // namespace mneme
