// Processes of a pool that are killed or stopped: on the CPU device in mneme_pool_test, on a GPU in mneme_pool_gpu_test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <functional>

#include "mneme/pool/pool.h"
#include "mneme/pool/testing/processes.h"
#include "mneme/pool/testing/scaled.h"

namespace mneme {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using testing_replay::scaling_ir;

#ifdef MNEME_TEST_ON_GPU
constexpr DeviceKind kDevice = DeviceKind::cuda;
#else
constexpr DeviceKind kDevice = DeviceKind::cpu;
#endif

constexpr uint32_t kCount = 1000;  // elements

class LostProcessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (kDevice == DeviceKind::cuda && ::access("/dev/nvidiactl", F_OK) != 0) GTEST_SKIP() << "there is no NVIDIA GPU here";
    auto instance = database_.publish(testing_replay::scaled(kCount, 3));
    ASSERT_TRUE(instance.ok()) << instance.status().to_string();
    options_.database = database_.directory();
    options_.static_hash = instance->static_hash;
    options_.instances = {instance->dynamic_hash};
    options_.device_kind = kDevice;
    options_.compile_workers = 2;
    options_.command = "/proc/self/exe";
    options_.command_arguments = {"--recorded-worker"};
    fault_ = database_.directory() / "outside.ll";
    std::ofstream(fault_) << scaling_ir("  store float %scaled, ptr inttoptr (i64 64 to ptr)\n  br label %end\n");
  }

  void open() {
    auto pool = Pool::open(options_);
    ASSERT_TRUE(pool.ok()) << pool.status().to_string();
    pool_ = std::move(*pool);
  }

  // Of another launch each time, so that it is measured.
  Configuration right() {
    Configuration configuration;
    configuration.block.x = 32 + launches_++;
    configuration.grid.x = (kCount + *configuration.block.x - 1) / *configuration.block.x;
    return configuration;
  }
  Configuration fault() {
    Configuration configuration = right();
    configuration.ir.path = fault_;
    return configuration;
  }
  void expect_right() {
    const PoolResult result = pool_->submit(right()).get();
    EXPECT_FALSE(result.failed()) << to_string(result.failure) << ": " << result.reason;
  }

  // The device worker and then the keeper, once both are there.
  std::vector<pid_t> device_worker_and_keeper() {
    std::vector<pid_t> found;
    wait_for([&] { return (found = testing_pool::workers_with_a_device()).size() == 2; });
    EXPECT_THAT(found, SizeIs(2));
    return found;
  }

  static void wait_for(const std::function<bool()>& there) {
    for (int i = 0; i < 6000 && !there(); ++i) ::usleep(10'000);
  }

  static void expect_no_child() { EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left"; }

  testing_replay::MadeDatabase database_;
  PoolOptions options_;
  Path fault_;
  std::unique_ptr<Pool> pool_;
  uint32_t launches_ = 0;
};

// What it kept is given to the one that replaces it.
TEST_F(LostProcessTest, AKeeperThatIsKilledIsReplaced) {
  open();
  expect_right();
  const pid_t keeper = device_worker_and_keeper().back();
  for (const auto& page : std::filesystem::recursive_directory_iterator(database_.directory() / "pages"))
    if (page.is_regular_file()) std::filesystem::resize_file(page.path(), 0);
  ASSERT_EQ(::kill(keeper, SIGKILL), 0);
  wait_for([&] { return !testing_pool::runs(keeper); });
  EXPECT_NE(device_worker_and_keeper().back(), keeper);
  expect_right();
  EXPECT_EQ(pool_->submit(fault()).get().failure, Failure::device_fault);
  expect_right();  // by a worker that could not read the recording
  EXPECT_TRUE(pool_->status().ok()) << pool_->status().to_string();
}

TEST_F(LostProcessTest, WithoutAKeeperWorkersReadTheRecordingAgain) {
  open();
  expect_right();
  device_worker_and_keeper();
  for (int i = 0; i < 4; ++i) {
    const std::vector<pid_t> both = testing_pool::workers_with_a_device();
    if (both.size() < 2) break;
    ::kill(both.back(), SIGKILL);
    wait_for([&] { return !testing_pool::runs(both.back()); });
    if (i < 2) device_worker_and_keeper();
    expect_right();
  }
  EXPECT_THAT(testing_pool::workers_with_a_device(), SizeIs(1)) << "after three that were lost there is no keeper any more";
  EXPECT_EQ(pool_->submit(fault()).get().failure, Failure::device_fault);
  expect_right();
  EXPECT_TRUE(pool_->status().ok()) << pool_->status().to_string();
}

TEST_F(LostProcessTest, AKeeperAndADeviceWorkerThatAreKilledTogetherAreReplaced) {
  open();
  expect_right();
  for (pid_t process : device_worker_and_keeper()) ASSERT_EQ(::kill(process, SIGKILL), 0);
  wait_for([&] { return pool_->progress().workers_replaced == 1; });
  expect_right();
  EXPECT_TRUE(pool_->status().ok()) << pool_->status().to_string();
}

// Work goes on without it, until a worker is to be ended.
TEST_F(LostProcessTest, AZygoteThatIsStoppedEndsThePoolWhenItIsNeeded) {
  options_.limits.running = std::chrono::seconds(3);
  open();
  expect_right();
  // A result may come before the zygote has forked the keeper, which it must have done before it is stopped.
  const std::vector<pid_t> with_a_device = device_worker_and_keeper();
  ASSERT_THAT(with_a_device, SizeIs(2));
  const std::vector<pid_t> workers = testing_pool::workers();
  ASSERT_EQ(::kill(testing_pool::zygote(), SIGSTOP), 0);
  expect_right();
  ASSERT_EQ(::kill(with_a_device.front(), SIGSTOP), 0);
  const PoolResult result = pool_->submit(right()).get();
  EXPECT_EQ(result.failure, Failure::worker_lost);
  EXPECT_EQ(pool_->status().message(), "the process that forks the pool's workers did not end one of them within 20 s");
  pool_.reset();
  expect_no_child();
  for (pid_t process : workers) {
    wait_for([&] { return !testing_pool::runs(process); });
    EXPECT_FALSE(testing_pool::runs(process));
  }
}

TEST_F(LostProcessTest, AZygoteThatIsStoppedDoesNotHoldUpTheEnd) {
  const size_t files = testing_pool::open_files();
  open();
  expect_right();
  const std::vector<pid_t> workers = testing_pool::workers();
  ASSERT_EQ(::kill(testing_pool::zygote(), SIGSTOP), 0);
  pool_.reset();
  expect_no_child();
  for (pid_t process : workers) {
    wait_for([&] { return !testing_pool::runs(process); });
    EXPECT_FALSE(testing_pool::runs(process));
  }
  EXPECT_EQ(testing_pool::open_files(), files);
  EXPECT_EQ(testing_pool::shared_mappings(), 0u);
}

}  // namespace
}  // namespace mneme
