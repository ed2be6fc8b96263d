#include "mneme/pool/fairness.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

const PoolTime kNow(std::chrono::seconds(1000));

// Workers that serve, with so many jobs each, whose ids begin with 1.
PoolWorkers workers_of(WorkerRole role, std::initializer_list<JobId> jobs) {
  PoolWorkers workers;
  for (JobId count : jobs) {
    const WorkerId id = workers.size() + 1;
    PoolWorker& worker = workers.try_emplace(id, id, role, 0, kNever).first->second;
    worker.become_ready();
    for (JobId job = 0; job < count; ++job) worker.give(100 * id + job, kNow);
  }
  return workers;
}

TEST(Fairness, TheNextJobIsForWhoHasTheFewestAndStartedFirst) {
  PoolWorkers workers = workers_of(WorkerRole::device, {2, 1, 1});
  EXPECT_EQ(next_receiver(workers, WorkerRole::device)->id(), 2u);
  EXPECT_EQ(next_receiver(workers, WorkerRole::compile), nullptr);
  workers.at(2).give(7, kNow);
  EXPECT_EQ(next_receiver(workers, WorkerRole::device)->id(), 3u);
  workers = workers_of(WorkerRole::compile, {2, 2});
  EXPECT_EQ(next_receiver(workers, WorkerRole::compile), nullptr) << "each has as many as it may have";
  EXPECT_EQ(count_at_compilers(workers), 4u);
  EXPECT_EQ(count_at_compilers(workers_of(WorkerRole::device, {2, 1})), 0u);
}

TEST(Fairness, CompilersMayBeAheadOfEachDevice) {
  EXPECT_EQ(most_ahead_of_devices(1, 1), 5u);
  EXPECT_EQ(most_ahead_of_devices(4, 1), 11u);
  EXPECT_EQ(most_ahead_of_devices(4, 8), 32u);
}

TEST(Fairness, CompilersHaveMoreAtHandTheMoreThereIsWhereADeviceWaits) {
  PoolWorkers workers = workers_of(WorkerRole::device, {3, 3});
  EXPECT_EQ(compile_depth(320, 15, workers), 2u) << "no device has begun";
  PoolWorker& device = workers.at(1);
  device.begin(device.jobs()[0], kNow);
  device.begin(device.jobs()[1], kNow + std::chrono::milliseconds(1));
  EXPECT_EQ(compile_depth(0, 15, workers), 2u);
  EXPECT_EQ(compile_depth(29, 15, workers), 2u);
  EXPECT_EQ(compile_depth(80, 15, workers), 4u);
  EXPECT_EQ(compile_depth(320, 15, workers), 8u) << "as many as are assembled together";
  EXPECT_EQ(most_ahead_of_devices(15, 1, 8), 123u);
  for (JobId job = 1000; device.has_room(); ++job) device.give(job, kNow);
  EXPECT_EQ(compile_depth(320, 15, workers), 2u) << "the devices have enough";
}

TEST(Fairness, ACompilerHasWhatItWillAssembleAtHandToo) {
  PoolWorkers workers = workers_of(WorkerRole::compile, {3, 2});
  PoolWorker& first = workers.at(1);
  first.begin(first.jobs()[2], kNow);
  EXPECT_EQ(first.jobs().size(), 1u);
  EXPECT_EQ(next_receiver(workers, WorkerRole::compile, 4)->id(), 2u);
  EXPECT_EQ(count_at_compilers(workers), 5u);
}

}  // namespace
}  // namespace mneme
