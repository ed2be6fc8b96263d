#include "mneme/cpu/run/worker_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <iterator>
#include <thread>

#include "mneme/base/idle_threads.h"

namespace mneme::cpu {
namespace {

// The program's signals find its own threads; faults are those of the thread that makes them.
TEST(WorkerPool, ItsThreadsTakeNoSignalOfTheProgram) {
  WorkerPool pool(3);
  std::array<bool, 3> usual{}, fault{};
  pool.run(
      [&](unsigned worker) {
        sigset_t blocked;
        pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        usual[worker] = sigismember(&blocked, SIGTERM) != 0 && sigismember(&blocked, SIGUSR1) != 0;
        fault[worker] = sigismember(&blocked, SIGSEGV) != 0 || sigismember(&blocked, SIGFPE) != 0;
      },
      3, Join::all);
  EXPECT_EQ(usual, (std::array{false, true, true}));
  EXPECT_EQ(fault, (std::array{false, false, false}));
}

TEST(WorkerPool, EachWorkerTakesPartOnceWhereAllAreNeeded) {
  WorkerPool pool(4);
  EXPECT_EQ(pool.workers(), 4u);
  for (int i = 0; i < 100; ++i) {
    std::array<std::atomic<int>, 4> calls{};
    pool.run([&](unsigned worker) { ++calls[worker]; }, 1, Join::all);
    for (const auto& count : calls) ASSERT_EQ(count, 1);
  }
}

TEST(WorkerPool, EveryPieceIsDoneOnce) {
  WorkerPool pool(3);
  for (uint64_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> done(count);
    pool.for_each(count, [&](uint64_t i) { ++done[i]; });
    for (const auto& times : done) EXPECT_EQ(times, 1);
  }
}

size_t threads_of_process() {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
}

TEST(WorkerPool, IdleThreadsEndAndComeBackWithWork) {
  const size_t before = threads_of_process();
  WorkerPool pool(3);
  for (int i = 0; i < 3; ++i) {
    std::array<std::atomic<int>, 3> calls{};
    EXPECT_TRUE(pool.run([&](unsigned worker) { ++calls[worker]; }, 3, Join::all));
    for (const auto& count : calls) EXPECT_EQ(count, 1);
    while (threads_of_process() > before) std::this_thread::sleep_for(kIdleThreadsEnd / 10);
  }
}

// Work comes just when its threads end.
TEST(WorkerPool, NoWorkIsLostWhileThreadsEnd) {
  WorkerPool pool(3);
  for (int i = 0; i < 6; ++i) {
    std::array<std::atomic<int>, 3> calls{};
    pool.run([&](unsigned worker) { ++calls[worker]; }, 3, Join::all);
    for (const auto& count : calls) ASSERT_EQ(count, 1);
    std::this_thread::sleep_for(kIdleThreadsEnd - std::chrono::milliseconds(1) + std::chrono::microseconds(400 * i));
  }
}

TEST(WorkerPool, SaysSoWhereTheSystemStartsNoThreads) {
  const auto run = [](Join join) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NPROC, &none);
    [[maybe_unused]] const int ignored = ::setuid(65534);  // the limit is not root's
    int calls = 0;
    WorkerPool pool(3);
    const bool ran = pool.run([&](unsigned) { ++calls; }, 3, join);
    ::_exit(20 + 10 * static_cast<int>(ran) + calls);
  };
  EXPECT_EXIT(run(Join::all), ::testing::ExitedWithCode(20), "");
  EXPECT_EXIT(run(Join::in_time), ::testing::ExitedWithCode(31), "");
}

// Some threads are there and others are not, and the first work is for one worker.
TEST(WorkerPool, AThreadThatTiresBeforeTheFirstWorkTakesNoPartInIt) {
  const auto run = [] {
    const rlimit one_more{2, 2};
    ::setrlimit(RLIMIT_NPROC, &one_more);
    [[maybe_unused]] const int ignored = ::setuid(64321);  // the limit is not root's
    WorkerPool pool(3);
    int calls = 0;
    pool.run([&](unsigned) { ++calls; }, 3, Join::all);
    pool.run([&](unsigned) { std::this_thread::sleep_for(kIdleThreadsEnd * 3 / 2), ++calls; }, 1);
    ::_exit(20 + calls);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(21), "");
}

}  // namespace
}  // namespace mneme::cpu
