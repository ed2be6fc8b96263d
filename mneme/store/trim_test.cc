// What trimming does to the files of a database.
#include "mneme/store/trim.h"

#include <gmock/gmock.h>

#include "mneme/store/import.h"
#include "mneme/store/testing/store_testing.h"

namespace mneme {
namespace {

using testing::HasSubstr;

class Trim : public testing::Test {
 protected:
  Trim() {
    auto database = Database::create(db());
    old_ = *publish_sample(*database, kernel_, memory_);
    other_ = *publish_sample(*database, kernel_, sample_memory(2));
  }

  Path db() const { return directory_.path() / "db"; }
  Database open() const { return std::move(*Database::open(db())); }
  RecordedInstance recorded() const { return *open().load_instance(kernel_.static_hash, old_); }
  // Without its first page, which no other launch has, and its second.
  RecordedInstance trimmed() const { return without_pages(recorded(), kernel_.level, {{0, 0}, {0, 1}}); }

  static Status replace(Database& database, const RecordedInstance& trimmed, const Digest& old) {
    MNEME_TRY(store_dropped(database, trimmed));
    return replace_by_trimmed(database, trimmed.instance.static_hash, old, trimmed).status();
  }

  // All that is listed is whole; the hashes.
  std::vector<Digest> whole() const {
    const Database database = open();
    std::vector<Digest> hashes;
    const KernelDocument document = *database.load_document(kernel_.static_hash);
    for (const InstanceRecord& instance : document.instances) {
      const Status status = database.check_instance(instance.static_hash, instance.dynamic_hash);
      EXPECT_TRUE(status.ok()) << status.message();
      hashes.push_back(instance.dynamic_hash);
    }
    return hashes;
  }

  TemporaryDirectory directory_;
  const KernelRecord kernel_ = sample_kernel();
  const SampleMemory memory_ = sample_memory(1);
  Digest old_, other_;
};

TEST_F(Trim, DroppedPagesHaveOneContentBeforeAndAfter) {
  const RecordedInstance before = recorded(), after = trimmed();
  ASSERT_TRUE(after.instance.trimmed);
  EXPECT_EQ(*after.instance.trimmed, (Trimming{{old_}, 2, Bytes(2 * kPageSize.count)}));
  EXPECT_NE(after.instance.dynamic_hash, old_);
  EXPECT_EQ(after.instance.dynamic_hash, dynamic_hash(after.instance, after.prologue));
  const std::vector<Digest>&prologue = after.prologue.regions[0].pages, &epilogue = after.epilogue.regions[0].pages;
  EXPECT_EQ(prologue[0], digest_of(ByteVector(kPageSize.count, kDropped)));
  EXPECT_EQ(prologue[0], prologue[1]);
  EXPECT_EQ(prologue[0], epilogue[0]);
  EXPECT_EQ(prologue[2], before.prologue.regions[0].pages[2]);
  EXPECT_EQ(epilogue[3], before.epilogue.regions[0].pages[3]);
  EXPECT_EQ(without_pages(after, kernel_.level, {{0, 0}}).instance, after.instance) << "what is dropped is not dropped again";
  const RecordedInstance more = without_pages(after, kernel_.level, {{0, 1}, {0, 2}});
  EXPECT_EQ(*more.instance.trimmed, (Trimming{{old_}, 3, Bytes(3 * kPageSize.count)}));
}

TEST_F(Trim, TheTrimmedInstanceTakesThePlaceOfTheOld) {
  const Bytes before = *open().disk_size();
  Database database = std::move(*Database::create(db()));
  const RecordedInstance next = trimmed();
  ASSERT_TRUE(replace(database, next, old_).ok());
  EXPECT_EQ(whole(), (std::vector{other_, next.instance.dynamic_hash}));
  EXPECT_LT(*open().disk_size() + Bytes(kPageSize.count / 2), before) << "the page of noise";
  EXPECT_TRUE(open().check_all(Deed::tell)->sound());
  const ByteVector bytes = *read_region(open(), open().load_instance(kernel_.static_hash, old_)->prologue.regions[0]);
  EXPECT_EQ(bytes[0], kDropped);
  EXPECT_TRUE(std::equal(bytes.begin() + 2 * kPageSize.count, bytes.end(), memory_.before.begin() + 2 * kPageSize.count));
}

TEST_F(Trim, ItIsFoundByTheHashThatItWasRecordedWith) {
  Database database = std::move(*Database::create(db()));
  const RecordedInstance next = trimmed();
  ASSERT_TRUE(replace(database, next, old_).ok());
  EXPECT_TRUE(*database.has_instance(kernel_.static_hash, old_)) << "a recorder does not record it again";
  EXPECT_TRUE(*open().has_instance(kernel_.static_hash, old_));
  EXPECT_EQ(open().load_instance(kernel_.static_hash, old_)->instance, next.instance);
  EXPECT_TRUE(open().check_instance(kernel_.static_hash, old_).ok());
  ASSERT_TRUE(database.set_recorded_times(kernel_.static_hash, {{old_, RecordedTime{"steady_clock", 7.0, 0, 0, 0}}}).ok());
  ASSERT_TRUE(database.set_shape_launches({{kernel_.static_hash, {{old_, ShapeLaunches{3, std::nullopt}}}}}).ok());
  EXPECT_EQ(open().load_instance(kernel_.static_hash, old_)->instance.shape_launches->count, 3u);
  EXPECT_EQ(whole().size(), 2u);
}

// Where the trimmed one is damaged, recording again brings the whole launch.
TEST_F(Trim, DamageIsHealedByRecordingAgain) {
  Database database = std::move(*Database::create(db()));
  const RecordedInstance next = trimmed();
  ASSERT_TRUE(replace(database, next, old_).ok());
  std::filesystem::resize_file(db() / state_file_name(Moment::epilogue, kernel_.static_hash, next.instance.dynamic_hash), 50);
  Database recorder = std::move(*Database::create(db()));
  ASSERT_FALSE(*recorder.has_instance(kernel_.static_hash, old_));
  ASSERT_TRUE(publish_sample(recorder, kernel_, memory_).ok());
  EXPECT_EQ(open().load_instance(kernel_.static_hash, old_)->instance.dynamic_hash, old_);
  EXPECT_TRUE(open().check_instance(kernel_.static_hash, old_).ok());
}

// Launches that differ in nothing but what they do not touch become one.
TEST_F(Trim, OneStandsForLaunchesThatDifferInDroppedMemoryAlone) {
  Database database = std::move(*Database::create(db()));
  SampleMemory alike = memory_;
  alike.before[5] ^= std::byte{1};
  alike.after[5] ^= std::byte{1};
  const Digest twin = *publish_sample(database, kernel_, alike);
  ASSERT_NE(twin, old_);
  ASSERT_TRUE(replace(database, trimmed(), old_).ok());
  const RecordedInstance second =
      without_pages(*open().load_instance(kernel_.static_hash, twin), kernel_.level, {{0, 0}, {0, 1}});
  EXPECT_EQ(second.instance.dynamic_hash, trimmed().instance.dynamic_hash);
  ASSERT_TRUE(replace(database, second, twin).ok());
  EXPECT_EQ(whole().size(), 2u);
  for (const Digest& hash : {old_, twin})
    EXPECT_EQ(open().load_instance(kernel_.static_hash, hash)->instance.trimmed->of, (std::vector{old_, twin}));
}

TEST_F(Trim, AWholeLaunchIsNotImportedOverIt) {
  std::filesystem::copy(db(), directory_.path() / "whole", std::filesystem::copy_options::recursive);
  Database database = std::move(*Database::create(db()));
  ASSERT_TRUE(replace(database, trimmed(), old_).ok());
  std::vector<ImportedInstance> told;
  DatabaseImport import(database, [&](const ImportedInstance& instance) { told.push_back(instance); });
  const Database from = std::move(*Database::open(directory_.path() / "whole"));
  ASSERT_TRUE(from.send(from.list()->kernels, import).ok());
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].outcome, ImportedInstance::Outcome::refused);
  EXPECT_EQ(told[0].difference, "what they keep of the memory: one of them was trimmed");
  EXPECT_EQ(told[1].outcome, ImportedInstance::Outcome::there_already);
}

// Whenever it is stopped, the old instance or the new one is there, and whole; trimming again ends it.
TEST_F(Trim, StoppedAtEveryOperation) {
  const Path before = directory_.path() / "before";
  std::filesystem::copy(db(), before, std::filesystem::copy_options::recursive);
  const RecordedInstance next = trimmed();
  bool done = false;
  for (int allowed = 0; !done; ++allowed) {
    ASSERT_LT(allowed, 200);
    const auto failing = full_after(allowed);
    auto database = Database::open(db(), *failing);
    const Status status = replace(*database, next, old_);
    done = status.ok();
    if (!done) EXPECT_THAT(status.message(), HasSubstr("No space left on device"));
    const std::vector<Digest> hashes = whole();
    const auto has = [&](const Digest& hash) { return std::find(hashes.begin(), hashes.end(), hash) != hashes.end(); };
    EXPECT_TRUE(has(other_)) << allowed;
    EXPECT_TRUE(has(old_) || has(next.instance.dynamic_hash)) << allowed;
    EXPECT_TRUE(open().load_instance(kernel_.static_hash, old_).ok()) << allowed;
    auto again = Database::create(db());
    ASSERT_TRUE(replace(*again, next, old_).ok()) << allowed;
    EXPECT_EQ(whole().size(), 2u);
    EXPECT_TRUE(open().check_all(Deed::remove)->damage.empty());
    std::filesystem::remove_all(db());
    std::filesystem::copy(before, db(), std::filesystem::copy_options::recursive);
  }
}

}  // namespace
}  // namespace mneme
