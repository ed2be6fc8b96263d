// Publications that are committed together: what the disk is asked for, and what is left when it fails.
#include "mneme/store/commit_group.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "mneme/base/testing/forgetful_file_system.h"
#include "mneme/store/testing/lent.h"
#include "mneme/store/testing/two_packs.h"

namespace mneme {
namespace {

using ::testing::ElementsAre;
using ::testing::MatchesRegex;

bool changes(std::string_view operation) { return operation != "open" && operation != "read" && operation != "lock"; }

std::vector<Code> codes(const std::vector<Status>& statuses) {
  std::vector<Code> all;
  for (const Status& status : statuses) all.push_back(status.code());
  return all;
}

// Instances of several kernels, of which the first may be in the database already.
struct Together {
  Together(Database& database, const std::vector<KernelRecord>& kernels, uint32_t first_seed, unsigned threads = 2) {
    const auto writers = std::make_shared<WriterThreads>(threads, 64_MiB);
    group = database.begin_group();
    for (uint32_t i = 0; i < kernels.size(); ++i)
      all.push_back(std::make_unique<Lent>(database, writers, sample_memory(first_seed + i)));
    for (size_t i = 0; i < kernels.size(); ++i) {
      Status added = all[i]->status;
      if (added.ok()) added = group->add(*all[i]->publication, all[i]->as(kernels[i]));
      statuses.push_back(added);
    }
  }
  // The status of each.
  const std::vector<Status>& finish() {
    const std::vector<Status> finished = group->finish();
    auto next = finished.begin();
    for (Status& status : statuses)
      if (status.ok()) status = *next++;
    EXPECT_TRUE(next == finished.end());
    return statuses;
  }
  size_t committed() const {
    return static_cast<size_t>(std::ranges::count_if(statuses, [](const Status& status) { return status.ok(); }));
  }
  std::vector<std::unique_ptr<Lent>> all;
  std::vector<Status> statuses;
  std::unique_ptr<CommitGroup> group;  // before what was added
};

// How many instances are listed, all of which must be whole.
size_t count_whole(const Path& directory, const std::string& when) {
  auto database = Database::open(directory);
  if (!database.ok()) return 0;
  auto listing = database->list();
  EXPECT_TRUE(listing->damaged.empty()) << when << ": " << listing->damaged.front().message();
  size_t count = 0;
  for (const KernelDocument& document : listing->kernels)
    for (const InstanceRecord& instance : document.instances) {
      const Status whole = database->check_instance(instance.static_hash, instance.dynamic_hash);
      EXPECT_TRUE(whole.ok()) << when << ": " << whole.to_string();
      ++count;
    }
  return count;
}

size_t count_left_over(const Path& directory) {
  size_t count = 0;
  for (const Path& folder : {directory, directory / "pages"}) {
    const auto names = FileSystem::posix().list(folder);
    for (const std::string& name : *names) count += is_temporary(name);
  }
  return count;
}

void publish_one_before(const Path& directory) {
  auto database = Database::create(directory);
  ASSERT_TRUE(publish_sample(*database, sample_kernel("two"), sample_memory(50)).ok());
}

const std::vector<KernelRecord> kFiveOfThree = {sample_kernel("one"), sample_kernel("two"), sample_kernel("one"),
                                                sample_kernel("three"), sample_kernel("two")};

TEST(CommitGroup, ListsWhatWasAddedInItsOrder) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  Together together(*database, kFiveOfThree, 1);
  EXPECT_EQ(count_whole(directory.path(), "before the end"), 0u);
  together.finish();
  EXPECT_EQ(together.committed(), 5u);
  EXPECT_EQ(count_whole(directory.path(), "after it"), 5u);
  const auto document = database->load_document(sample_kernel("one").static_hash);
  ASSERT_EQ(document->instances.size(), 2u);
  EXPECT_EQ(document->instances[0].dynamic_hash, together.all[0]->instance);
  EXPECT_EQ(document->instances[1].dynamic_hash, together.all[2]->instance);
  EXPECT_EQ(count_left_over(directory.path()), 0u);
  EXPECT_TRUE(together.group->finish().empty());
  for (const auto& one : together.all) EXPECT_GT(one->publication->written(), Bytes(0));
}

// Each file is synced once, and a folder once for all of them.
TEST(CommitGroup, HasTheDiskTakeAFolderOnceForAll) {
  TemporaryDirectory directory;
  std::mutex mutex;  // files are made ahead
  std::map<std::string, int> done;
  bool counts = false;
  auto counting = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t) {
    const std::lock_guard lock(mutex);
    if (counts) ++done[std::string(operation)];
    return Status();
  });
  auto database = Database::create(directory.path(), *counting);
  const std::vector<KernelRecord> ten(10, sample_kernel());
  for (const bool is_new : {true, false}) {
    Together together(*database, ten, is_new ? 1 : 100, 1);
    for (const auto& one : together.all) ASSERT_TRUE(one->publication->is_settled());
    const auto count = [&](bool from_here) {
      const std::lock_guard lock(mutex);
      if (from_here) done.clear();
      counts = from_here;
    };
    count(true);
    together.finish();
    count(false);
    EXPECT_EQ(together.committed(), 10u);
    // Of each instance its pack and its two states; of the kernel its IR, its list and its JSON, or the list's lines and its
    // head.
    EXPECT_EQ(done["sync"], 30 + (is_new ? 3 : 2)) << is_new;
    EXPECT_EQ(done["sync_directory"], is_new ? 4 : 2) << is_new;
    EXPECT_EQ(done["lock"], 1);
  }
  EXPECT_EQ(count_whole(directory.path(), "at the end"), 20u);
}

// Neither the kernel's JSON nor its list is written anew.
TEST(CommitGroup, WhatAnInstanceTakesDoesNotGrowWithThoseBefore) {
  TemporaryDirectory directory;
  std::map<std::string, uint64_t> done;
  auto counting = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path&, uint64_t bytes) {
    ++done[std::string(operation)];
    done["bytes"] += changes(operation) ? bytes : 0;
    return Status();
  });
  auto database = Database::create(directory.path(), *counting);
  std::map<std::string, uint64_t> of_the_tenth;
  for (uint32_t i = 1; i <= 300; ++i) {
    done.clear();
    const auto dynamic = publish_sample(*database, sample_kernel(), sample_memory(i, 300));
    EXPECT_FALSE(*database->has_instance(sample_kernel().static_hash, Digest{}));
    ASSERT_TRUE(dynamic.ok());
    if (i == 10) of_the_tenth = done;
  }
  EXPECT_LT(done["bytes"], of_the_tenth["bytes"] + 100);
  done.erase("bytes"), of_the_tenth.erase("bytes");
  EXPECT_EQ(done, of_the_tenth);
}

// What one file takes too slowly is written to several. Whichever operation fails, what is listed is whole, and none keeps a
// temporary name.
TEST(CommitGroup, WritesSeveralPacksOfOnePublicationAtOnce) {
  const SampleMemory memory = memory_of_two_packs();
  bool done = false;
  for (int operations = 0; !done; ++operations) {
    ASSERT_LT(operations, 200);
    TemporaryDirectory directory;
    TwoPacks two;
    std::atomic<int> left = 1 << 20;
    std::atomic<bool> came = true;
    auto disk =
        faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t size) -> Status {
          if (changes(operation) && left-- == 0) {
            two.fail();
            return error(Code::exhausted, "{} {}: No space left on device", operation, path.string());
          }
          if (!two.before(operation, path, size)) came = false;
          return {};
        });
    const std::string when = fmt::format("where operation {} failed", operations);
    auto database = Database::create(directory.path(), *disk);
    ASSERT_TRUE(database.ok());
    left = operations;
    {
      Lent lent(*database, std::make_shared<WriterThreads>(2, 64_MiB), memory);
      done = lent.commit(sample_kernel("one")).ok();
      EXPECT_TRUE(came) << when;
      if (done) {
        EXPECT_EQ(lent.publication->new_content(), kTwoPacks + kPageSize);
        EXPECT_GE(FileSystem::posix().list(directory.path() / "pages")->size(), 2u);
      }
    }
    const size_t listed = count_whole(directory.path(), when);
    EXPECT_GE(listed, done ? 1u : 0u) << when;
    EXPECT_EQ(count_left_over(directory.path()), 0u) << when;
    left = 1 << 20;
    EXPECT_TRUE(publish_sample(*database, sample_kernel("one"), sample_memory(9)).ok()) << when;
    EXPECT_GE(count_whole(directory.path(), when), listed + 1) << when;
  }
}

TEST(CommitGroup, HasAnInstanceOnceAndAKernelWithOneCode) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  Together together(*database, {sample_kernel("one")}, 1);
  Lent other(*database, std::make_shared<WriterThreads>(1), sample_memory(9));
  EXPECT_FALSE(together.group->fits(together.all[0]->recording));
  EXPECT_TRUE(together.group->fits(other.as(sample_kernel("one"))));
  EXPECT_TRUE(together.group->fits(other.as(sample_kernel("two"))));
  KernelRecord rebuilt = sample_kernel("one");
  rebuilt.arch = "sm_80";
  EXPECT_FALSE(together.group->fits(other.as(rebuilt)));
  together.finish();
  EXPECT_TRUE(together.group->fits(other.as(rebuilt)));
}

// Every operation on a file fails in turn, alone or with all after it. What was said to be committed is listed and whole.
TEST(CommitGroup, AtEveryOperationWhatIsListedIsWhole) {
  for (const bool all_after : {true, false}) {
    size_t committed = 0;
    for (int operations = 0; committed < kFiveOfThree.size(); ++operations) {
      ASSERT_LT(operations, 300);
      TemporaryDirectory directory;
      publish_one_before(directory.path());
      std::atomic<int> left = 1 << 20;
      auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) -> Status {
        const int before = changes(operation) ? left-- : 1;
        if (before > 0 || (!all_after && before < 0)) return {};
        return error(Code::exhausted, "{} {}: No space left on device", operation, path.string());
      });
      const std::string when = fmt::format("after {} operations{}", operations, all_after ? "" : ", of which one failed");
      {
        auto database = Database::create(directory.path(), *disk);
        ASSERT_TRUE(database.ok());
        left = operations;
        Together together(*database, kFiveOfThree, 1);
        together.finish();
        committed = together.committed();
        if (!all_after) EXPECT_GE(count_whole(directory.path(), when), committed + 1);
      }
      const size_t listed = count_whole(directory.path(), when);
      EXPECT_GE(listed, committed + 1) << when;
      // The next recording into it goes on.
      auto again = Database::create(directory.path());
      Together together(*again, kFiveOfThree, 1);
      together.finish();
      EXPECT_EQ(together.committed(), kFiveOfThree.size()) << when << ": " << together.statuses[0].to_string();
      EXPECT_EQ(count_whole(directory.path(), when), kFiveOfThree.size() + 1) << when;
      EXPECT_EQ(count_left_over(directory.path()), 0u) << when;
    }
  }
}

// The process ends at any operation, and the power goes with it.
TEST(CommitGroup, WhenThePowerGoesWhatIsListedIsWhole) {
  size_t committed = 0;
  for (int operations = 0; committed < kFiveOfThree.size(); ++operations) {
    ASSERT_LT(operations, 300);
    TemporaryDirectory directory;
    publish_one_before(directory.path());
    testing_base::ForgetfulFileSystem disk;
    std::atomic<int> left = 1 << 20;
    auto ending = faulty_file_system(disk, [&](std::string_view operation, const Path&, uint64_t) {
      return changes(operation) && left-- <= 0 ? error(Code::io, "the process is gone") : Status();
    });
    auto database = Database::create(directory.path(), *ending);
    ASSERT_TRUE(database.ok());
    const auto group = database->begin_group();
    std::vector<std::unique_ptr<Lent>> all;
    const auto writers = std::make_shared<WriterThreads>(1, Bytes(0));  // one after another
    for (uint32_t i = 0; i < kFiveOfThree.size(); ++i)
      all.push_back(std::make_unique<Lent>(*database, writers, sample_memory(1 + i, kPageSize.count)));
    left = operations;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i]->status.ok()) (void)group->add(*all[i]->publication, all[i]->as(kFiveOfThree[i])).ok();
    const std::vector<Status> statuses = group->finish();
    committed = static_cast<size_t>(std::ranges::count_if(statuses, [](const Status& status) { return status.ok(); }));
    disk.forget();
    EXPECT_GE(count_whole(directory.path(), fmt::format("after {} operations", operations)), committed + 1);
  }
}

TEST(CommitGroup, AKernelThatCannotBeWrittenFailsAlone) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  const Digest one = sample_kernel("one").static_hash;
  for (const std::string& name : {ir_file_name(one), list_file_name(one), kernel_file_name(one)}) {
    ASSERT_TRUE(std::filesystem::create_directory(directory.path() / name));
    Together together(*database, kFiveOfThree, 1);
    EXPECT_THAT(codes(together.finish()), ElementsAre(Code::io, Code::ok, Code::io, Code::ok, Code::ok)) << name;
    EXPECT_EQ(count_left_over(directory.path()), 0u);
    ASSERT_TRUE(std::filesystem::remove(directory.path() / name));
  }
  EXPECT_EQ(count_whole(directory.path(), "at the end"), 3u);
}

// Content that is to be stored by one of a group is stored by no other one of it.
// Which of two comes to a content first is not theirs to say: where it is the later one, both write it.
TEST(CommitGroup, AContentThatTwoHaveWrittenIsNewOnce) {
  const SampleMemory memory = sample_memory(1);
  const uint64_t distinct = 2 * kPageSize.count + 200;  // the tail before and after it
  for (const bool later_is_first : {false, true}) {
    TemporaryDirectory directory;
    auto database = Database::create(directory.path());
    const auto writers = std::make_shared<WriterThreads>(1, 64_MiB);
    Lent one(*database, writers), other(*database, writers);
    for (Lent* next : {later_is_first ? &other : &one, later_is_first ? &one : &other}) next->put(memory);
    const auto group = database->begin_group();
    ASSERT_TRUE(group->add(*one.publication, one.as(sample_kernel("one"))).ok());
    ASSERT_TRUE(group->add(*other.publication, other.as(sample_kernel("two"))).ok());
    EXPECT_EQ(one.publication->new_content() + other.publication->new_content(), Bytes(0));
    EXPECT_THAT(codes(group->finish()), ElementsAre(Code::ok, Code::ok));
    EXPECT_EQ(one.publication->new_content(), Bytes(distinct));
    EXPECT_EQ(other.publication->new_content(), Bytes(0));
  }
}

TEST(CommitGroup, WhatCountsOnPagesOfOneThatFailedFailsWithIt) {
  TemporaryDirectory directory;
  bool fails = false;
  auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
    const bool of_a_pack = operation == "sync" && path.parent_path().filename() == "pages";
    return of_a_pack && std::exchange(fails, false) ? error(Code::io, "the disk is broken") : Status();
  });
  auto database = Database::create(directory.path(), *disk);
  const auto writers = std::make_shared<WriterThreads>(1, 64_MiB);
  Lent first(*database, writers, sample_memory(1)), second(*database, writers, sample_memory(1)),
      third(*database, writers, sample_memory(3));
  const auto group = database->begin_group();
  ASSERT_TRUE(group->add(*first.publication, first.as(sample_kernel("one"))).ok());
  ASSERT_TRUE(group->add(*second.publication, second.as(sample_kernel("two"))).ok());
  ASSERT_TRUE(group->add(*third.publication, third.as(sample_kernel("three"))).ok());
  fails = true;
  const std::vector<Status> statuses = group->finish();
  EXPECT_THAT(codes(statuses), ElementsAre(Code::io, Code::unavailable, Code::ok));
  EXPECT_THAT(statuses[1].message(),
              MatchesRegex(".*/pages: page [0-9a-f]+ is not stored, since the recording that was to store it has failed"));
  EXPECT_EQ(count_whole(directory.path(), "at the end"), 1u);
}

TEST(CommitGroup, WhatCountsOnPagesOfOneThatCouldNotBeAddedFailsUnlessTheyAreKept) {
  for (const bool kept : {true, false}) {
    TemporaryDirectory directory;
    bool fails = true;
    auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
      const bool of_a_state = operation == "append" && path.filename().string().starts_with("DeviceState.epilogue");
      return of_a_state && std::exchange(fails, false) ? error(Code::io, "the disk is broken") : Status();
    });
    auto database = Database::create(directory.path(), *disk);
    const auto writers = std::make_shared<WriterThreads>(1, 64_MiB);
    auto first = std::make_unique<Lent>(*database, writers, sample_memory(1));
    Lent second(*database, writers, sample_memory(1));
    first->as(sample_kernel("one"));
    const auto group = database->begin_group();
    EXPECT_EQ(group->add(*first->publication, first->recording).code(), Code::io);
    if (kept) EXPECT_TRUE(first->publication->keep_pages().ok());
    first.reset();
    ASSERT_TRUE(group->add(*second.publication, second.as(sample_kernel("two"))).ok());
    EXPECT_THAT(codes(group->finish()), ElementsAre(kept ? Code::ok : Code::unavailable));
    EXPECT_EQ(count_whole(directory.path(), "at the end"), kept ? 1u : 0u);
  }
}

// It is not replaced, and what counts on the pages is stored with them.
TEST(CommitGroup, SomethingElseThanAFileInThePlaceOfAStateFailsThatInstance) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  const auto writers = std::make_shared<WriterThreads>(1, 64_MiB);
  Lent first(*database, writers, sample_memory(1)), second(*database, writers, sample_memory(1));
  first.as(sample_kernel("one"));
  const Path state = directory.path() /
                     state_file_name(Moment::epilogue, sample_kernel("one").static_hash, first.recording.instance.dynamic_hash);
  ASSERT_EQ(::mkfifo(state.c_str(), 0600), 0);
  const auto group = database->begin_group();
  ASSERT_TRUE(group->add(*first.publication, first.recording).ok());
  ASSERT_TRUE(group->add(*second.publication, second.as(sample_kernel("two"))).ok());
  const std::vector<Status> statuses = group->finish();
  EXPECT_THAT(codes(statuses), ElementsAre(Code::io, Code::ok));
  EXPECT_THAT(statuses[0].message(), testing::HasSubstr(state.string()));
  EXPECT_TRUE(std::filesystem::is_fifo(state));
  EXPECT_EQ(count_whole(directory.path(), "at the end"), 1u);
}

// Another process may list instances of the same kernel between the steps.
TEST(CommitGroup, KeepsWhatOthersHaveListedMeanwhile) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  Together together(*database, {sample_kernel("one"), sample_kernel("one")}, 1);
  auto other = Database::create(directory.path());
  ASSERT_TRUE(publish_sample(*other, sample_kernel("one"), sample_memory(9)).ok());
  together.finish();
  EXPECT_EQ(together.committed(), 2u);
  EXPECT_EQ(count_whole(directory.path(), "at the end"), 3u);
}

}  // namespace
}  // namespace mneme
