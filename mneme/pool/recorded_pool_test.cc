// A pool over a recorded kernel: the compiler, the device and all processes. The workers' program is this test, in
// mneme_pool_test on the CPU device and in mneme_pool_gpu_test on a GPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "mneme/pool/pool.h"
#include "mneme/pool/result_log.h"
#include "mneme/pool/testing/scaled.h"
#include "mneme/replay/testing/only_optimised.h"

namespace mneme {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing_replay::scaled;
using testing_replay::scaling_ir;

#ifdef MNEME_TEST_ON_GPU
constexpr DeviceKind kDevice = DeviceKind::cuda;
#else
constexpr DeviceKind kDevice = DeviceKind::cpu;
#endif

class RecordedPoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kDevice == DeviceKind::cuda && ::access("/dev/nvidiactl", F_OK) != 0) GTEST_SKIP() << "there is no NVIDIA GPU here";
  }

  PoolOptions options(unsigned instances = 1) {
    if (options_.instances.empty()) {
      for (unsigned i = 0; i < instances; ++i) {
        testing_replay::MadeRecording made = scaled(1000 + 500 * i, static_cast<float>(3 + i));
        made.ir = ir_;
        auto instance = database_.publish(made);
        EXPECT_TRUE(instance.ok()) << instance.status().to_string();
        options_.static_hash = instance->static_hash;
        options_.instances.push_back(instance->dynamic_hash);
      }
      options_.database = database_.directory();
      options_.device_kind = kDevice;
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
  std::string ir_ = scaling_ir();
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
    unsigned shared = 0, compiled = 0;
    for (const Future& future : futures) {
      PoolResult result = future.get();
      EXPECT_FALSE(result.failed()) << to_string(result.failure) << ": " << result.reason;
      EXPECT_THAT(result.exec_time(), SizeIs(3));
      EXPECT_EQ(result.details.together.shape->block.x, *result.configuration.block.x);
      const nlohmann::json times = to_json(result.details)["times"];
      EXPECT_TRUE(times.contains("run")) << times.dump();
      compiled += result.origin == Origin::measured && times.contains("optimise");
      EXPECT_EQ(result.origin == Origin::shared, result.shared_with.has_value());
      shared += result.origin == Origin::shared;
    }
    EXPECT_GE(compiled, 1u);
    EXPECT_LE(compiled, 5u) << "a pipeline's code serves every block size";
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

#ifndef MNEME_TEST_ON_GPU
TEST_F(RecordedPoolTest, CompilesForAnArchitectureAndRunsNothing) {
  PoolOptions only = options();
  only.compile_for = "x86-64-v3";
  only.device_kind = DeviceKind::cuda;  // of which nothing is asked
  only.devices = {5};
  only.log = database_.directory() / "run.jsonl";
  {
    auto pool = open(only);
    std::vector<Future> futures;
    for (const Configuration& configuration : twenty()) futures.push_back(pool->submit(configuration));
    Configuration wrong;
    wrong.passes = "default<O9>";
    const PoolResult refused = pool->submit(wrong).get();
    EXPECT_EQ(refused.failure, Failure::compile_error);
    EXPECT_THAT(refused.reason, HasSubstr("pass pipeline 'default<O9>' does not parse"));
    for (const Future& future : futures) {
      const PoolResult result = future.get();
      EXPECT_FALSE(result.failed()) << to_string(result.failure) << ": " << result.reason;
      const ReplayResult& code = result.details.together;
      EXPECT_EQ(code.stage, ReplayStage::compiled);
      EXPECT_FALSE(code.verified || code.executed);
      EXPECT_TRUE(result.exec_time().empty());
      EXPECT_EQ(code.device, "x86-64-v3");
      EXPECT_GT(*code.instructions, 0u);
      EXPECT_EQ(code.shape->block.x, *result.configuration.block.x);
    }
    EXPECT_EQ(pool->progress().done, 21u);
    EXPECT_TRUE(pool->status().ok()) << pool->status().to_string();
  }
  only.resume = true;
  auto pool = open(only);
  EXPECT_EQ(pool->submit(twenty()[0]).get().origin, Origin::resumed);
}

TEST_F(RecordedPoolTest, CompilesEachInstanceForAnArchitecture) {
  PoolOptions only = options(2);
  only.compile_for = "x86-64-v3";
  auto pool = open(only);
  Configuration configuration;
  configuration.specialise.arguments = {"factor"};
  const PoolResult result = pool->submit(configuration).get();
  EXPECT_FALSE(result.failed()) << result.reason;
  ASSERT_THAT(result.details.instances, SizeIs(2));
  EXPECT_NE(result.details.instances[0].result.obj_hash, result.details.instances[1].result.obj_hash) << "each has its factor";
  EXPECT_EQ(result.details.together.stage, ReplayStage::compiled);
}

TEST_F(RecordedPoolTest, AnArchitectureThatNoCompilerKnowsIsThePoolsProblem) {
  PoolOptions only = options();
  only.compile_for = "gfx9999";
  auto pool = open(only);
  const PoolResult result = pool->submit({}).get();
  EXPECT_EQ(result.failure, Failure::worker_lost);
  EXPECT_THAT(pool->status().to_string(), HasSubstr("does not know the architecture"));
}
#endif

TEST_F(RecordedPoolTest, AConfigurationMustBeRightOnEveryInstance) {
  auto pool = open(options(2));
  Configuration recorded, narrow, special;
  narrow.grid.x = 16;  // enough threads for the first
  special.specialise.arguments = {"factor"};
  Future a = pool->submit(recorded), b = pool->submit(narrow), c = pool->submit(special);
  EXPECT_FALSE(a.get().failed()) << a.get().reason;
  EXPECT_EQ(a.get().details.instances.size(), 2u);
  EXPECT_EQ(b.get().failure, Failure::wrong_result);
  EXPECT_THAT(b.get().reason, HasSubstr("instance " + options().instances[1].hex() + ": memory differs in 1 place"));
  EXPECT_FALSE(c.get().failed()) << c.get().reason;
  EXPECT_EQ(c.get().details.specialised.size(), 2u);
  EXPECT_EQ(pool->progress().workers_replaced, 0u);
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

TEST_F(RecordedPoolTest, TimesComeMeanwhileAndTheRestCanBeGivenUp) {
  auto pool = open(options());
  Configuration fixed, by_time;
  fixed.execution.iterations = 900'000;
  by_time.passes = "default<O1>";
  by_time.execution.stop = StopWhen::time;
  by_time.execution.max_time = 3000;
  by_time.execution.max_iterations = 900'000;
  for (const Configuration& configuration : {fixed, by_time}) {
    Future future = pool->submit(configuration);
    while (future.times_so_far().empty() && !future.done()) future.wait_for(std::chrono::milliseconds(5));
    future.cancel();
    PoolResult result = future.get();
    EXPECT_EQ(result.failure, Failure::cancelled) << result.reason;
    EXPECT_EQ(result.reason, "given up while it was timed");
    EXPECT_GE(result.exec_time().size(), 1u);
    EXPECT_LT(result.exec_time().size(), 900'000u);
  }
  // What was given up is known in part only: the same is measured again for whoever asks.
  fixed.execution.iterations = 3;
  EXPECT_EQ(pool->submit(fixed).get().origin, Origin::measured);
}

TEST_F(RecordedPoolTest, SeveralDevicesHaveASessionEach) {
  PoolOptions several = options();
  several.devices = {0, 0};  // two workers on the one device that is there
  auto pool = open(several);
  std::vector<Future> futures;
  for (const Configuration& configuration : twenty()) futures.push_back(pool->submit(configuration));
  for (const Future& future : futures) EXPECT_FALSE(future.get().failed()) << future.get().reason;
}

TEST_F(RecordedPoolTest, AFaultFailsItsConfigurationAlone) {
  const Path file = database_.directory() / "outside.ll";
  PoolOptions with_files = options();
  std::ofstream(file) << scaling_ir("  store float %scaled, ptr inttoptr (i64 64 to ptr)\n  br label %end\n");
  auto pool = open(with_files);
  Configuration outside;
  outside.ir.path = file;
  Future fault = pool->submit(outside), after = pool->submit({});
  EXPECT_EQ(to_string(fault.get().failure), "device_fault") << fault.get().reason;
  EXPECT_FALSE(after.get().failed()) << after.get().reason;
}

// The second worker could not read the recording any more.
TEST_F(RecordedPoolTest, AWorkerThatReplacesALostOneTakesItsMemoryOver) {
  const Path file = database_.directory() / "outside.ll";
  const PoolOptions usual = options();
  std::ofstream(file) << scaling_ir("  store float %scaled, ptr inttoptr (i64 64 to ptr)\n  br label %end\n");
  auto pool = open(usual);
  EXPECT_FALSE(pool->submit({}).get().failed());
  for (const auto& page : std::filesystem::recursive_directory_iterator(database_.directory() / "pages"))
    if (page.is_regular_file()) std::filesystem::resize_file(page.path(), 0);
  for (unsigned round = 1; round <= 2; ++round) {
    Configuration outside, other;
    outside.ir.path = file;
    outside.passes = other.passes = fmt::format("default<O{}>", round);
    outside.block.x = other.block.x = 32 * round;  // so that it is no measurement that there is
    outside.grid.x = other.grid.x = (1000 + 32 * round - 1) / (32 * round);
    EXPECT_EQ(pool->submit(outside).get().failure, Failure::device_fault);
    PoolResult after = pool->submit(other).get();
    EXPECT_FALSE(after.failed()) << after.reason;
    EXPECT_EQ(after.details.together.mask, "the kernel writes no byte that it does not also read");
  }
  EXPECT_EQ(pool->progress().workers_replaced, 2u);
}

// Which takes the device of each first worker along.
TEST_F(RecordedPoolTest, CodeThatFaultsWhileAMaskIsLookedForIsMeasuredWithoutOne) {
  ir_ = testing_replay::only_optimised(ir_, "%scaled");
  PoolOptions several = options(2);
  several.devices = {0, 0};
  const std::string why = "looking for it ended in a device fault: ";
  {
    auto pool = open(several);
    Configuration narrow;
    narrow.grid.x = 16;
    Future a = pool->submit({}), b = pool->submit(narrow);
    EXPECT_FALSE(a.get().failed()) << a.get().reason;
    EXPECT_EQ(b.get().failure, Failure::wrong_result) << b.get().reason;
    ASSERT_EQ(a.get().details.instances.size(), 2u);
    for (const InstanceResult& instance : a.get().details.instances) EXPECT_THAT(instance.result.mask, StartsWith(why));
    EXPECT_EQ(pool->progress().workers_replaced, 0u);
    EXPECT_TRUE(pool->status().ok()) << pool->status().to_string();
  }
  several.instances.resize(1);
  auto pool = open(several);
  for (const Configuration& configuration : twenty()) {
    if (configuration.passes == "default<O0>") continue;  // which faults too
    PoolResult result = pool->submit(configuration).get();
    EXPECT_FALSE(result.failed()) << result.reason;
    EXPECT_THAT(result.details.together.mask, StartsWith(why));
  }
}

TEST_F(RecordedPoolTest, WhatCannotBeLoadedEndsThePoolWithTheReason) {
  PoolOptions wrong = options();
  wrong.weights = {1, 2};
  EXPECT_EQ(Pool::open(wrong).status().message(),
            "opening a pool: there must be a weight for each of 1 instances, and there are 2");
  wrong.weights.clear();
  wrong.instances = {Digest()};  // a kernel that is not there is refused as the pool is opened
  auto pool = open(wrong);
  PoolResult result = pool->submit({}).get();
  EXPECT_EQ(result.failure, Failure::worker_lost);
  EXPECT_THAT(result.reason, HasSubstr("the pool's workers have ended: not_found: "));
  EXPECT_EQ(pool->status().code(), Code::unavailable);
}

}  // namespace
}  // namespace mneme
