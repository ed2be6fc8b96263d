#include "mneme/record/commit_queue.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <future>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mneme/base/idle_threads.h"

namespace mneme {
namespace {

TEST(CommitQueue, WorkIsDoneInItsOrderWhileTheCallerGoesOn) {
  std::vector<int> done;
  CommitQueue queue(1_MiB);
  std::promise<void> may_go_on;
  queue.add(1_KiB, [&, waits = may_go_on.get_future().share()] {
    waits.wait();
    done.push_back(0);
  });
  for (int i = 1; i < 10; ++i) queue.add(1_KiB, [&, i] { done.push_back(i); });
  queue.wait_for_room();  // which there is
  may_go_on.set_value();
  queue.wait();
  EXPECT_EQ(done, (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(CommitQueue, WhoAddsWaitsForRoom) {
  CommitQueue queue(3_KiB);
  std::promise<void> may_go_on;
  std::atomic<int> done = 0;
  queue.add(1_KiB, [&, waits = may_go_on.get_future().share()] { waits.wait(), ++done; });
  for (int i = 0; i < 5; ++i) queue.add(1_KiB, [&] { ++done; });
  auto room = std::async(std::launch::async, [&] {
    queue.wait_for_room();
    return done.load();
  });
  EXPECT_EQ(room.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  may_go_on.set_value();
  EXPECT_GE(room.get(), 3);
}

// Each launch that waits has files open.
TEST(CommitQueue, WhoAddsWaitsWhereTooMuchWaits) {
  std::promise<void> may_go_on;
  CommitQueue queue(1_GiB, [] {}, {.waiting = 3, .in_group = 1});
  std::atomic<int> done = 0;
  queue.add({}, [&, waits = may_go_on.get_future().share()] { waits.wait(), ++done; });
  for (int i = 0; i < 5; ++i) queue.add({}, [&] { ++done; });
  auto room = std::async(std::launch::async, [&] {
    queue.wait_for_room();
    return done.load();
  });
  EXPECT_EQ(room.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  may_go_on.set_value();
  EXPECT_GE(room.get(), 2);
}

// What is being done counts, which the queue has no more.
TEST(CommitQueue, WhoAddsWaitsForWorkThatIsNotDone) {
  std::promise<void> first, second, begun;
  CommitQueue queue(1_GiB, [] {}, {.waiting = 100, .in_group = 10, .not_done = 1});
  queue.add({}, [&, waits = first.get_future().share()] { begun.set_value(), waits.wait(); });
  begun.get_future().wait();  // by the queue's thread: who waits for room would do both
  EXPECT_TRUE(queue.has_room());
  queue.wait_for_room();
  queue.add({}, [waits = second.get_future().share()] { waits.wait(); }, [] { return true; });
  EXPECT_FALSE(queue.has_room());
  auto room = std::async(std::launch::async, [&] { queue.wait_for_room(); });
  EXPECT_EQ(room.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  first.set_value();  // of one group with the second, which goes on
  EXPECT_EQ(room.wait_for(std::chrono::seconds(20)), std::future_status::ready);
  EXPECT_TRUE(queue.has_room());
  second.set_value();
}

TEST(CommitQueue, LittleWaitsWhereAProcessMayOpenFewFiles) {
  const auto most = [](uint64_t files) {
    const auto found = CommitQueue::Most::of(files);
    return std::pair(found.waiting, found.in_group);
  };
  EXPECT_EQ(most(1 << 20), std::pair(size_t{128}, size_t{32}));
  EXPECT_EQ(most(1024), std::pair(size_t{128}, size_t{32}));
  EXPECT_EQ(most(256), std::pair(size_t{32}, size_t{8}));
  EXPECT_EQ(most(0), std::pair(size_t{4}, size_t{1}));
}

TEST(CommitQueue, WorkThatIsReadyIsOfOneGroupAndDoneWhenThatHasEnded) {
  std::vector<std::string> done;
  std::promise<void> may_go_on;
  CommitQueue queue(1_MiB, [&] { done.emplace_back("end"); }, {.waiting = 100, .in_group = 3});
  queue.add(1_KiB, [&, waits = may_go_on.get_future().share()] { waits.wait(), done.emplace_back("0"); });
  for (int i = 1; i < 8; ++i) queue.add(1_KiB, [&, i] { done.push_back(std::to_string(i)); }, [i] { return i != 5; });
  may_go_on.set_value();
  queue.wait();
  EXPECT_EQ(done, (std::vector<std::string>{"0", "1", "2", "end", "3", "4", "end", "5", "6", "7", "end"}));
}

TEST(CommitQueue, WithoutMemoryAllIsDoneByWhoWaits) {
  CommitQueue queue({});
  std::thread::id by;
  queue.add({}, [&] { by = std::this_thread::get_id(); });
  queue.wait_for_room();
  EXPECT_EQ(by, std::this_thread::get_id());
}

TEST(CommitQueue, AfterTheEndNothingIsLeft) {
  CommitQueue queue(1_MiB);
  int done = 0;
  queue.add(1_KiB, [&] { ++done; });
  queue.finish();
  EXPECT_EQ(done, 1);
  queue.add({}, [&] { ++done; });
  queue.wait_for_room();
  EXPECT_EQ(done, 2);
}

TEST(CommitQueue, NothingBeginsWhileItIsPaused) {
  std::atomic<int> done = 0;
  CommitQueue queue(1_MiB);
  queue.add(1_KiB, [&] { ++done; });
  queue.pause();
  EXPECT_EQ(done, 1);
  auto added = std::async(std::launch::async, [&] {
    queue.add(1_KiB, [&] { ++done; });
    queue.wait();
  });
  EXPECT_EQ(added.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  EXPECT_EQ(done, 1);
  queue.resume();
  added.wait();
  EXPECT_EQ(done, 2);
}

// The program may have ended meanwhile, all but this thread.
TEST(CommitQueue, AnIdleThreadEndsAndWorkStartsAnother) {
  CommitQueue queue(1_MiB);
  for (int i = 0; i < 2; ++i) {
    std::promise<pid_t> done;
    queue.add(1_KiB, [&] { done.set_value(::gettid()); });
    const std::string folder = "/proc/self/task/" + std::to_string(done.get_future().get());
    while (std::filesystem::exists(folder)) std::this_thread::sleep_for(kIdleThreadsEnd / 10);
  }
}

// A group takes longer than an idle thread lives, and is run by who waited for room, who goes on when there is some.
TEST(CommitQueue, WhatIsAddedWhileAnotherThreadRunsAGroupIsDone) {
  for (bool was_helped = false; !was_helped;) {  // the queue's thread may be there first
    std::promise<void> done;
    CommitQueue queue(1_KiB);
    queue.add(2_KiB, [&, helper = std::this_thread::get_id()] {
      was_helped = std::this_thread::get_id() == helper;
      if (!was_helped) return;
      queue.add(1_KiB, [&] { done.set_value(); });
      std::this_thread::sleep_for(kIdleThreadsEnd * 3 / 2);
    });
    queue.wait_for_room();
    if (was_helped) EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  }
}

// The system may have been short of processes for a moment.
TEST(CommitQueue, WhoAddsDoesTheWorkOnlyWhileTheSystemStartsNoThread) {
  const auto run = [] {
    rlimit limit{1, 100};
    ::setrlimit(RLIMIT_NPROC, &limit);
    [[maybe_unused]] const int ignored = ::setuid(64322);  // the limit is not root's
    CommitQueue queue(1_MiB);
    std::thread::id by;
    queue.add(1_KiB, [&] { by = std::this_thread::get_id(); });
    queue.wait_for_room();
    if (by != std::this_thread::get_id()) ::_exit(20);
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NPROC, &limit);
    std::promise<std::thread::id> another;
    queue.add(1_KiB, [&] { another.set_value(std::this_thread::get_id()); });
    auto done = another.get_future();
    ::_exit(done.wait_for(std::chrono::seconds(20)) == std::future_status::ready && done.get() != by ? 0 : 21);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

TEST(CommitQueue, ItsThreadBlocksTheProgramsSignals) {
  CommitQueue queue(1_MiB);
  std::promise<bool> blocks;
  queue.add(1_KiB, [&] {
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    blocks.set_value(sigismember(&blocked, SIGUSR1) == 1);
  });
  EXPECT_TRUE(blocks.get_future().get());
}

}  // namespace
}  // namespace mneme
