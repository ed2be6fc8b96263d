#include "mneme/cpu/run/worker_pool.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <csignal>

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

}  // namespace
}  // namespace mneme::cpu
