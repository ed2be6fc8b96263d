// A pool over a recorded kernel: the compiler, the CPU device and all processes. The workers' program is this test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/pool/pool.h"
#include "mneme/pool/result_log.h"
#include "mneme/pool/testing/scaled.h"

namespace mneme {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing_replay::scaled;
using testing_replay::scaling_ir;

class RecordedPoolTest : public ::testing::Test {
 protected:
  PoolOptions options() {
    if (options_.instances.empty()) {
      auto instance = database_.publish(scaled(1000, 3));
      EXPECT_TRUE(instance.ok()) << instance.status().to_string();
      options_.database = database_.directory();
      options_.static_hash = instance->static_hash;
      options_.instances = {instance->dynamic_hash};
      options_.device_kind = DeviceKind::cpu;
      options_.compile_workers = 2;
      options_.command = "/proc/self/exe";
      options_.command_arguments = {"--recorded-worker"};
    }
    return options_;
  }
  std::unique_ptr<Pool> open(const PoolOptions& options) {
    auto pool = Pool::open(options);
    EXPECT_TRUE(pool.ok()) << pool.status().to_string();
    return std::move(*pool);
  }

  testing_replay::MadeDatabase database_;
  PoolOptions options_;
};

std::vector<Configuration> twenty() {
  std::vector<Configuration> configurations;
  for (const char* passes : {"default<O0>", "default<O1>", "default<O2>", "default<O3>", "default<O3>,verify"})
    for (uint32_t block : {32u, 64u, 128u, 256u}) {
      Configuration& c = configurations.emplace_back();
      c.passes = passes;
      c.block.x = block;
      c.grid.x = (1000 + block - 1) / block;
      c.execution.iterations = 3;
    }
  return configurations;
}

TEST_F(RecordedPoolTest, MeasuresConfigurationsAndResumes) {
  PoolOptions logged = options();
  logged.log = database_.directory() / "run.jsonl";
  {
    auto pool = open(logged);
    std::vector<Future> futures;
    for (const Configuration& configuration : twenty()) futures.push_back(pool->submit(configuration));
    unsigned shared = 0;
    for (const Future& future : futures) {
      PoolResult result = future.get();
      EXPECT_FALSE(result.failed()) << to_string(result.failure) << ": " << result.reason;
      EXPECT_THAT(result.exec_time(), SizeIs(3));
      EXPECT_EQ(result.details["block"]["x"], *result.configuration.block.x);
      EXPECT_TRUE(result.details["times"].contains("optimise") && result.details["times"].contains("run"))
          << result.details["times"].dump();
      EXPECT_EQ(result.origin == Origin::shared, result.shared_with.has_value());
      shared += result.origin == Origin::shared;
    }
    EXPECT_GE(shared, 4u) << "'verify' changes nothing";
    PoolProgress progress = pool->progress();
    EXPECT_EQ(progress.done, 20u);
    EXPECT_EQ(progress.measured + progress.shared, 20u);
    EXPECT_LE(progress.distinct_objects, 4u);
    EXPECT_GT(progress.device_busy.count(), 0);
  }
  logged.resume = true;
  auto pool = open(logged);
  for (const Configuration& configuration : twenty()) EXPECT_EQ(pool->submit(configuration).get().origin, Origin::resumed);
}

TEST_F(RecordedPoolTest, FailuresHaveTheirReason) {
  auto pool = open(options());
  Configuration none, wide, narrow;
  none.passes = "no-such-pass";
  wide.block.x = 2000;
  narrow.grid.x = 1;
  Future a = pool->submit(none), b = pool->submit(wide), c = pool->submit(narrow);
  EXPECT_EQ(a.get().failure, Failure::compile_error);
  EXPECT_THAT(a.get().reason, HasSubstr("no-such-pass"));
  EXPECT_EQ(b.get().failure, Failure::invalid_launch);
  EXPECT_EQ(c.get().failure, Failure::wrong_result);
  EXPECT_THAT(c.get().reason, HasSubstr("memory differs in 1 place"));
  EXPECT_EQ(pool->progress().workers_replaced, 0u);
}

TEST_F(RecordedPoolTest, WhatCannotBeLoadedEndsThePoolWithTheReason) {
  PoolOptions wrong = options();
  wrong.static_hash = Digest();
  auto pool = open(wrong);
  PoolResult result = pool->submit({}).get();
  EXPECT_EQ(result.failure, Failure::worker_lost);
  EXPECT_THAT(result.reason, HasSubstr("the pool's workers have ended: not_found: "));
  EXPECT_EQ(pool->status().code(), Code::unavailable);
}

}  // namespace
}  // namespace mneme
