// Publications that share threads, and what is lent to them.
#include "mneme/store/writer_threads.h"

#include <gmock/gmock.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <filesystem>
#include <future>
#include <iterator>
#include <thread>

#include "mneme/base/idle_threads.h"
#include "mneme/base/processors.h"
#include "mneme/store/testing/lent.h"

namespace mneme {
namespace {

TEST(WriterThreads, WhatTheProgramWaitsForComesFirst) {
  WriterThreads threads(1);
  std::vector<int> done;
  threads.add(WriterThreads::Order::later, nullptr, [&] { done.push_back(2); });
  EXPECT_FALSE(threads.help(WriterThreads::Order::first));
  std::promise<void> all;
  std::promise<void> begun, may_go_on;
  threads.add(WriterThreads::Order::first, nullptr, [&] {
    begun.set_value();
    may_go_on.get_future().wait();
  });
  begun.get_future().wait();
  threads.add(WriterThreads::Order::later, nullptr, [&] { done.push_back(3), all.set_value(); });
  threads.add(WriterThreads::Order::first, nullptr, [&] { done.push_back(1); });
  may_go_on.set_value();
  all.get_future().wait();
  EXPECT_EQ(done, (std::vector{1, 2, 3}));
}

TEST(WriterThreads, MoreOfThemWorkWhenTheProgramOnlyWaits) {
  if (usable_processors() < 2) GTEST_SKIP() << "one processor has one thread";
  WriterThreads threads(1);
  std::atomic<int> begun = 0;
  std::promise<void> may_end;
  const std::shared_future<void> ends = may_end.get_future().share();
  for (int i = 0; i < 3; ++i) threads.add(WriterThreads::Order::later, nullptr, [&, ends] { ++begun, ends.wait(); });
  while (begun < 1) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(begun, 1);
  {
    const WriterThreads::Hurry hurry(threads);
    while (begun < 2) std::this_thread::yield();
  }
  may_end.set_value();
  while (begun < 3) std::this_thread::yield();
}

// Those that were started for a program that waited leave it the processors when it goes on.
TEST(WriterThreads, FewerWorkOnceTheProgramGoesOn) {
  if (usable_processors() < 2) GTEST_SKIP() << "one processor has one thread";
  WriterThreads threads(1);
  std::mutex mutex;
  std::condition_variable changed;
  int working = 0, most = 0, may_end = 0;
  const auto add = [&](int pieces) {
    for (int i = 0; i < pieces; ++i)
      threads.add(WriterThreads::Order::later, nullptr, [&] {
        std::unique_lock lock(mutex);
        most = std::max(most, ++working);
        changed.notify_all();
        changed.wait(lock, [&] { return may_end > 0; });
        --may_end;
        --working;
        changed.notify_all();
      });
  };
  const auto wait_for = [&](auto is_so) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(60), is_so);
  };
  {
    add(2);
    const WriterThreads::Hurry hurry(threads);
    ASSERT_TRUE(wait_for([&] { return working == 2; }));
  }
  const auto let_end = [&](int pieces) {
    const std::lock_guard lock(mutex);
    may_end += pieces;
    changed.notify_all();
  };
  let_end(2);
  ASSERT_TRUE(wait_for([&] { return working == 0; }));
  {
    const std::lock_guard lock(mutex);
    most = 0;
  }
  add(8);
  ASSERT_TRUE(wait_for([&] { return working == 1; }));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // for a second one to begin
  let_end(8);
  std::atomic<bool> is_last = false;
  threads.add(WriterThreads::Order::later, nullptr, [&] { is_last = true; });
  while (!is_last) std::this_thread::yield();
  EXPECT_EQ(most, 1);
}

// A program that waits for one launch waits for as long as its pages take, so many threads are to share them.
TEST(WriterThreads, PagesOfOneLaunchAreStoredInManyPieces) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  constexpr int kThreads = 4;  // which have other work
  const auto writers = std::make_shared<WriterThreads>(kThreads, 64_MiB);
  std::atomic<int> begun = 0;
  std::promise<void> may_go_on;
  const std::shared_future<void> goes_on = may_go_on.get_future().share();
  for (int i = 0; i < kThreads; ++i)
    writers->add(WriterThreads::Order::first, nullptr, [&, goes_on] { ++begun, goes_on.wait(); });
  ASSERT_TRUE(writers->start());
  while (begun < kThreads) std::this_thread::yield();
  Lent lent(*database, writers);
  constexpr size_t kPages = 16;
  SampleMemory memory{DevicePtr(0x7a0000000000), noise(kPages * kPageSize.count, 5), {}};
  for (std::byte& byte : memory.before) byte &= std::byte{15};  // half as large when compressed
  memory.after = memory.before;
  lent.put(memory);
  ASSERT_TRUE(lent.status.ok()) << lent.status.to_string();
  size_t pieces = 0;
  while (writers->help(WriterThreads::Order::later)) ++pieces;
  EXPECT_EQ(pieces, kPages / 2);
  may_go_on.set_value();
  const KernelRecord kernel = sample_kernel();
  ASSERT_TRUE(lent.commit(kernel).ok());
  EXPECT_LT(lent.publication->written().count, kPages * kPageSize.count * 3 / 4);
  const auto recorded = database->load_instance(kernel.static_hash, lent.instance);
  ASSERT_TRUE(recorded.ok()) << recorded.status().to_string();
  EXPECT_EQ(*read_region(*database, recorded->prologue.regions[0]), memory.before);
}

TEST(WriterThreads, IdleThreadsEndAndWorkStartsOthers) {
  const auto count = [] { return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}); };
  const auto before = count();
  WriterThreads threads(2);
  for (int i = 0; i < 2; ++i) {
    std::atomic<int> done = 0;
    for (int piece = 0; piece < 10; ++piece) threads.add(WriterThreads::Order::later, nullptr, [&] { ++done; });
    EXPECT_TRUE(threads.start());
    while (done < 10) std::this_thread::yield();
    while (count() > before) std::this_thread::sleep_for(kIdleThreadsEnd / 10);
  }
}

// The system may have been short of processes for a moment.
TEST(WriterThreads, TheyStartWhenTheSystemHasRefusedItBefore) {
  const auto run = [] {
    rlimit limit{1, 100};
    ::setrlimit(RLIMIT_NPROC, &limit);
    [[maybe_unused]] const int ignored = ::setuid(64323);  // the limit is not root's
    WriterThreads threads(2);
    if (threads.start()) ::_exit(20);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NPROC, &limit);
    std::promise<void> done;
    for (int piece = 0; piece < 2; ++piece)
      threads.add(WriterThreads::Order::later, nullptr, [&, piece] {
        if (piece == 1) done.set_value();
      });
    ::_exit(done.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready ? 0 : 21);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

// Threads may come to the content of a later publication first.
TEST(WriterThreads, AnEarlierPublicationTakesContentFromALaterOne) {
  WriterThreads threads(1);
  const uint64_t earlier = threads.next_place(), later = threads.next_place();
  const Digest content = digest_of(noise(10, 1)), other = digest_of(noise(10, 2));
  const auto claim = [&](uint64_t place, std::vector<Digest> contents) { return threads.claim(contents, place); };
  EXPECT_EQ(claim(later, {content}), std::vector({true}));
  EXPECT_EQ(claim(earlier, {content}), std::vector({true}));
  EXPECT_EQ(claim(earlier, {content}), std::vector({false}));
  EXPECT_EQ(claim(later, {content, other, other}), std::vector({false, true, false}));
  threads.release_claims(later, {content, other});
  EXPECT_EQ(claim(later, {content, other}), std::vector({false, true}));
  threads.release_claims(earlier, {content});
  EXPECT_EQ(claim(later, {content}), std::vector({true}));
}

TEST(WriterThreads, MemoryIsGivenUpToTheBoundAndAgain) {
  WriterThreads threads(1, Bytes(3 * WriterThreads::kBlock.count + 1));
  std::vector<WriterThreads::Block> blocks;
  for (int i = 0; i < 3; ++i) {
    blocks.push_back(threads.take_block());
    ASSERT_NE(blocks.back(), nullptr);
    std::fill_n(blocks.back().get(), WriterThreads::kBlock.count, std::byte{1});
  }
  EXPECT_EQ(threads.take_block(), nullptr);
  blocks.pop_back();
  EXPECT_NE(threads.take_block(), nullptr);
}

// Memory is not cleared, nor is it in use, for what is not there.
TEST(WriterThreads, WhatIsKeptSharesBlocksUntilAllOfOneIsLetGoOf) {
  WriterThreads threads(1, WriterThreads::kBlock);
  const ByteVector half = noise(WriterThreads::kBlock.count / 2, 1), quarter = noise(WriterThreads::kBlock.count / 4, 2);
  const std::vector<ByteSpan> two = {quarter, ByteSpan(half).first(quarter.size())}, one = {half};
  auto first = threads.keep(two), second = threads.keep(one);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(std::ranges::equal(ByteSpan(first.get(), quarter.size()), quarter));
  EXPECT_TRUE(std::ranges::equal(ByteSpan(first.get() + quarter.size(), quarter.size()), ByteSpan(half).first(quarter.size())));
  EXPECT_TRUE(std::ranges::equal(ByteSpan(second.get(), half.size()), half));
  EXPECT_EQ(threads.keep(two), nullptr) << "all of it is in use";
  first = nullptr;
  EXPECT_EQ(threads.keep(two), nullptr) << "something is still there";
  EXPECT_TRUE(std::ranges::equal(ByteSpan(second.get(), half.size()), half));
  second = nullptr;
  const std::vector<ByteSpan> whole = {half, half}, more = {half, half, ByteSpan(half).first(1)};
  EXPECT_EQ(threads.keep(more), nullptr) << "more than a block";
  EXPECT_NE(threads.keep(whole), nullptr);
}

// Of sizes that leave a rest which nothing fits: memory that is not used any more is not held for it.
TEST(WriterThreads, BlocksOfWhichARestIsLeftAreGivenBack) {
  constexpr int kBlocks = 40;
  WriterThreads threads(1, Bytes(kBlocks * WriterThreads::kBlock.count));
  const ByteVector most(WriterThreads::kBlock.count - 1);
  const std::vector<ByteSpan> one = {most};
  for (int round = 0; round < 2; ++round) {
    std::vector<std::shared_ptr<std::byte>> kept;
    for (int i = 0; i < kBlocks; ++i) ASSERT_NE(kept.emplace_back(threads.keep(one)), nullptr) << round << ' ' << i;
    EXPECT_EQ(threads.keep(one), nullptr);
  }
}

TEST(WriterThreads, ThreadsKeepAndLetGoAtTheSameTime) {
  WriterThreads threads(1, 16_MiB);
  const auto work = [&](uint64_t seed) {
    const ByteVector mine = noise(100'000, seed);
    const std::vector<ByteSpan> one = {mine};
    std::deque<std::shared_ptr<std::byte>> kept;
    for (int i = 0; i < 100; ++i) {
      kept.push_back(threads.keep(one));
      if (kept.size() > 10 || !kept.back()) {
        if (kept.front() && !std::ranges::equal(ByteSpan(kept.front().get(), mine.size()), mine)) return false;
        kept.pop_front();
      }
    }
    return true;
  };
  std::vector<std::future<bool>> all;
  for (uint64_t seed = 1; seed <= 4; ++seed) all.push_back(std::async(std::launch::async, work, seed));
  for (auto& one : all) EXPECT_TRUE(one.get());
}

// With memory for the pages and without: in either case what is lent is let go of, and what was put is stored.
TEST(WriterThreads, LentPagesAreLetGoOfBeforeTheyAreStored) {
  for (Bytes memory : {Bytes(0), 2_MiB, 64_MiB}) {
    TemporaryDirectory directory;
    std::promise<void> may_write;
    std::shared_future<void> written = may_write.get_future().share();
    const bool has_room = memory.count != 0;
    auto slow = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) {
      if (has_room && operation == "append" && path.filename().string().starts_with("pack")) written.wait();
      return Status();
    });
    auto database = Database::create(directory.path(), *slow);
    auto writers = std::make_shared<WriterThreads>(2, memory);
    const KernelRecord kernel = sample_kernel();
    const SampleMemory sample = sample_memory(1, 10 * kPageSize.count);
    Region region = sample_region(sample), after = region;
    PublicationOptions options;
    options.writers = writers;
    auto publication = std::move(*database->begin_publication(options));
    PageBatch batch = lent(batch_of(sample.before, region));
    std::weak_ptr<std::byte[]> bytes = batch.bytes;
    ASSERT_TRUE(publication->put(std::move(batch)).ok());
    ASSERT_TRUE(publication->wait().ok());
    EXPECT_TRUE(bytes.expired());
    EXPECT_EQ(region.pages[0], digest_of(ByteSpan(sample.before).first(kPageSize.count)));
    may_write.set_value();
    Recording recording{kernel, noise(500, 7), sample_instance(kernel), {{region}}, {{region}}, {}};
    recording.instance.dynamic_hash = dynamic_hash(recording.instance, recording.prologue, kernel.level);
    const Status committed = publication->commit(recording);
    ASSERT_TRUE(committed.ok()) << committed.to_string();
    EXPECT_TRUE(Database::open(directory.path())->check_instance(kernel.static_hash, recording.instance.dynamic_hash).ok());
  }
}

TEST(WriterThreads, ContentThatAnotherPublicationIsToStoreIsStoredOnce) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  auto writers = std::make_shared<WriterThreads>(2, 64_MiB);
  const SampleMemory memory = sample_memory(1);
  Lent first(*database, writers, memory), second(*database, writers, memory);
  ASSERT_TRUE(first.commit(sample_kernel("one")).ok());
  ASSERT_TRUE(second.commit(sample_kernel("two")).ok());
  EXPECT_EQ(FileSystem::posix().list(directory.path() / "pages")->size(), 1u);
  auto reader = Database::open(directory.path());
  EXPECT_TRUE(reader->check_instance(sample_kernel("one").static_hash, first.instance).ok());
  EXPECT_TRUE(reader->check_instance(sample_kernel("two").static_hash, second.instance).ok());
}

// Nothing is listed whose pages are not there.
TEST(WriterThreads, APublicationFailsWithTheOneThatWasToStoreItsPages) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  auto writers = std::make_shared<WriterThreads>(2, 64_MiB);
  const SampleMemory memory = sample_memory(1);
  auto first = std::make_unique<Lent>(*database, writers, memory);
  Lent second(*database, writers, memory);
  first.reset();
  const Status status = second.commit(sample_kernel());
  EXPECT_EQ(status.code(), Code::unavailable);
  EXPECT_THAT(status.message(),
              testing::MatchesRegex(".*/pages: page [0-9a-f]+ is not stored, since the recording that was to store "
                                    "it has failed"));
  EXPECT_TRUE(Database::open(directory.path())->list()->kernels.empty());
  // What comes after them stores the pages itself.
  Lent third(*database, writers, memory);
  EXPECT_TRUE(third.commit(sample_kernel()).ok());
  EXPECT_TRUE(Database::open(directory.path())->check_instance(sample_kernel().static_hash, third.instance).ok());
}

TEST(WriterThreads, PagesThatAreKeptServeThoseThatComeAfter) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  auto writers = std::make_shared<WriterThreads>(2, 64_MiB);
  const SampleMemory memory = sample_memory(1);
  auto first = std::make_unique<Lent>(*database, writers, memory);
  Lent second(*database, writers, memory);
  ASSERT_TRUE(first->publication->keep_pages().ok());
  first.reset();
  ASSERT_TRUE(second.commit(sample_kernel()).ok());
  EXPECT_TRUE(Database::open(directory.path())->check_instance(sample_kernel().static_hash, second.instance).ok());
}

TEST(WriterThreads, WhatIsGivenUpIsNotWritten) {
  TemporaryDirectory directory;
  auto database = Database::create(directory.path());
  auto writers = std::make_shared<WriterThreads>(1, 64_MiB);
  for (int i = 0; i < 20; ++i) {
    Lent given_up(*database, writers, sample_memory(static_cast<uint32_t>(i), 30 * kPageSize.count));
    EXPECT_TRUE(given_up.status.ok());
  }
  auto left = FileSystem::posix().list(directory.path() / "pages");
  EXPECT_TRUE(!left.ok() || left->empty());
}

// Every operation on a file fails in turn, and those after it: two instances in flight, of which what is listed is whole.
TEST(WriterThreads, AtEveryOperationWhatIsListedIsWhole) {
  bool all = false;
  for (int operations = 0; !all; ++operations) {
    ASSERT_LT(operations, 200);
    TemporaryDirectory directory;
    std::atomic<int> allowed = 1 << 20;
    auto disk = faulty_file_system(FileSystem::posix(), [&](std::string_view operation, const Path& path, uint64_t) -> Status {
      const bool changes = operation != "open" && operation != "read" && operation != "lock";
      if (changes && allowed-- <= 0) return error(Code::exhausted, "{} {}: No space left on device", operation, path.string());
      return {};
    });
    auto database = Database::create(directory.path(), *disk);
    auto writers = std::make_shared<WriterThreads>(2, 64_MiB);
    allowed = operations;
    size_t committed = 0;
    {
      Lent first(*database, writers, sample_memory(1)), second(*database, writers, sample_memory(2));
      committed += first.commit(sample_kernel()).ok();
      committed += second.commit(sample_kernel()).ok();
    }
    all = committed == 2;
    auto reader = Database::open(directory.path());
    if (!reader.ok()) {
      EXPECT_EQ(committed, 0u);
      continue;
    }
    auto listing = reader->list();
    EXPECT_TRUE(listing->damaged.empty());
    for (const KernelDocument& document : listing->kernels) {
      EXPECT_GE(document.instances.size(), committed);
      for (const InstanceRecord& instance : document.instances) {
        const Status whole = reader->check_instance(instance.static_hash, instance.dynamic_hash);
        EXPECT_TRUE(whole.ok()) << "after " << operations << " operations: " << whole.message();
      }
    }
  }
}

}  // namespace
}  // namespace mneme
