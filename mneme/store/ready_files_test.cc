#include "mneme/store/ready_files.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/store/text.h"

namespace mneme {
namespace {

class ReadyFilesTest : public testing::Test {
 protected:
  using Kind = ReadyFiles::Kind;
  std::unique_ptr<FileSystem> files_ =
      faulty_file_system(FileSystem::posix(), [this](std::string_view operation, const Path&, uint64_t) {
        if (operation != "create") return Status();
        if (fails_) return error(Code::exhausted, "No space left on device");
        ++made_;
        return Status();
      });
  std::unique_ptr<ReadyFiles> ready() {
    return std::make_unique<ReadyFiles>(
        *files_, std::array{directory_.path() / "pack", directory_.path() / "one", directory_.path() / "other"});
  }
  size_t count() const { return FileSystem::posix().list(directory_.path())->size(); }
  // Until so many were made, which a thread does.
  void wait_for(size_t made) const {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (made_ < made && std::chrono::steady_clock::now() < end) std::this_thread::yield();
    EXPECT_GE(made_, made);
  }

  TemporaryDirectory directory_;
  std::atomic<size_t> made_ = 0;
  std::atomic<bool> fails_ = false;
};

TEST_F(ReadyFilesTest, MakesNoneAheadForAFewAndLeavesNone) {
  auto ready = this->ready();
  for (int i = 0; i < 7; ++i) {
    auto file = ready->take(Kind::pack);
    ASSERT_TRUE(file.ok());
    EXPECT_TRUE(is_temporary_of(file->path.filename().string(), "pack"));
    EXPECT_TRUE(file->file->append(bytes_of("mine")).ok());
  }
  ready.reset();
  EXPECT_EQ(made_, 7u);
  EXPECT_EQ(count(), 7u) << "what was taken stays";
}

TEST_F(ReadyFilesTest, MakesThoseOfEachKindAheadAndRemovesWhatNobodyTakes) {
  auto ready = this->ready();
  std::set<Path> taken;
  const auto take = [&](Kind kind) {
    auto file = ready->take(kind);
    while (!file.ok()) file = ready->take(kind);  // the last one is just being made
    EXPECT_TRUE(is_temporary_of(file->path.filename().string(), kind == Kind::prologue ? "one" : "other"));
    EXPECT_TRUE(taken.insert(file->path).second);
  };
  for (int i = 0; i < 8; ++i)
    for (const Kind kind : {Kind::prologue, Kind::epilogue}) take(kind);
  wait_for(2 * 8 + 2 * 2);  // a quarter of those that were taken
  EXPECT_EQ(made_, 20u) << "none of a kind that nobody takes";
  fails_ = true;  // they are there
  for (int i = 0; i < 2; ++i)
    for (const Kind kind : {Kind::prologue, Kind::epilogue}) take(kind);
  ready.reset();
  EXPECT_EQ(count(), 20u);
}

TEST_F(ReadyFilesTest, MakesMoreAheadOfManyAndRemovesThem) {
  auto ready = this->ready();
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(ready->take(Kind::pack).ok());
  wait_for(40 + 10);
  ready.reset();
  EXPECT_EQ(count(), 40u);
}

// Who takes one is told why there is none, and gets one when there is room again.
TEST_F(ReadyFilesTest, TellsWhyAFileCannotBeMade) {
  auto ready = this->ready();
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(ready->take(Kind::pack).ok());
  fails_ = true;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(ready->take(Kind::pack).status().code(), Code::exhausted);
  fails_ = false;
  EXPECT_TRUE(ready->take(Kind::pack).ok());
}

TEST_F(ReadyFilesTest, IsTakenFromByManyThreads) {
  auto ready = this->ready();
  std::mutex mutex;
  std::set<Path> taken;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        auto file = ready->take(Kind::pack);
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(file.ok() && taken.insert(file->path).second);
      }
    });
  for (std::thread& thread : threads) thread.join();
  ready.reset();
  EXPECT_EQ(taken.size(), 200u);
  EXPECT_EQ(count(), 200u);
}

// A process that may open few files keeps none for later.
TEST_F(ReadyFilesTest, MakesNoneAheadWhereFewMayBeOpen) {
  rlimit usual{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &usual), 0);
  const rlimit few{63, usual.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  auto ready = this->ready();
  ::setrlimit(RLIMIT_NOFILE, &usual);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(ready->take(Kind::pack).ok());
  ready.reset();
  EXPECT_EQ(made_, 40u);
}

}  // namespace
}  // namespace mneme
