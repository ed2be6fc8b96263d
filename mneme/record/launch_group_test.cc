// Launches that one call makes together, of which none is recorded: they are counted as one by one.
#include "mneme/record/launch_group.h"

#include <gtest/gtest.h>

#include "mneme/record/testing/fake_runtime.h"

namespace mneme::testing {
namespace {

class NoVendor final : public Vendor {
 public:
  DeviceKind device_kind() const override { return DeviceKind::fake; }
  Status prepare() override { return {}; }
  Result<int> current_device() override { return 0; }
  Status synchronize(int) override { return {}; }
  Result<MemoryRange> find_global(const RecordableKernel&, const std::string&) override { return Status(Code::not_found, ""); }
  Result<MemoryRange> find_variable(const RegisteredVariable&, uint32_t) override { return Status(Code::not_found, ""); }
};

class LaunchGroupTest : public ::testing::Test {
 protected:
  // Two launches of one kernel, and one of a kernel that cannot be recorded.
  std::shared_ptr<LaunchGroup> look_at_each(FakeProgram& program) {
    int n = 1;
    void* arguments[] = {&data_, &n};
    const auto group = recorder()->begin_group();
    for (const void* kernel : {program.increment, program.plain, program.increment}) {
      const Launch launch{
          .vendor = vendor_, .function = kernel, .grid = {1, 1, 1}, .block = {32, 1, 1}, .shared = {}, .arguments = arguments};
      if (auto selected = recorder()->select_launch(launch, group.get()))
        recorder()->pass(std::move(selected), NotRecorded::launch_failed);
    }
    return recorder()->keep_group(group, vendor_);
  }
  void begin(FakeProgram& program) {
    data_ = program.allocate<int>(100);
    EXPECT_EQ(program.launch(program.increment, data_, 100), cudaSuccess);
  }
  RecordingOptions options_;
  int* data_ = nullptr;
  NoVendor vendor_;
};

TEST_F(LaunchGroupTest, IsCountedAsItsLaunchesWereOneByOne) {
  options_.max = 1;
  FakeProgram program(options_);
  begin(program);
  auto group = look_at_each(program);
  ASSERT_TRUE(group);
  EXPECT_TRUE(recorder()->count_group(*group));
  EXPECT_TRUE(recorder()->count_group(*group));
  EXPECT_EQ(program.report().launches, 10u);
  EXPECT_EQ(program.count(NotRecorded::beyond_max), 6u);
  EXPECT_EQ(program.count(NotRecorded::no_segment), 3u);
  group.reset();  // as the program does with its graph
  recorder()->finish();
  EXPECT_EQ(program.instances().at(0).shape_launches, (ShapeLaunches{7, std::nullopt}));
}

TEST_F(LaunchGroupTest, ThereIsNoneWhileALaunchOfItMayBeRecorded) {
  options_.max = 100;
  FakeProgram program(options_);
  begin(program);
  EXPECT_FALSE(look_at_each(program));
}

TEST_F(LaunchGroupTest, ThereIsNoneWhileTheReasonMayChange) {
  options_.max = 1;
  std::vector<RecordingOptions> ways(3, options_);
  ways[0].skip = 100;
  ways[1].every = 2;
  ways[2].window = "1:100";
  for (const RecordingOptions& way : ways) {
    FakeProgram program(way);
    begin(program);
    EXPECT_FALSE(look_at_each(program));
  }
}

TEST_F(LaunchGroupTest, BehindTheWindowItIsCountedToo) {
  options_.window = "1:1";
  FakeProgram program(options_);
  begin(program);
  auto group = look_at_each(program);
  ASSERT_TRUE(group);
  EXPECT_TRUE(recorder()->count_group(*group));
  EXPECT_EQ(program.count(NotRecorded::outside_window), 4u);
}

TEST_F(LaunchGroupTest, IsLookedAtAgainWhenKernelsAreForgotten) {
  options_.max = 1;
  FakeProgram program(options_);
  begin(program);
  auto group = look_at_each(program);
  ASSERT_TRUE(group);
  recorder()->forget_kernels();
  EXPECT_FALSE(recorder()->count_group(*group));
}

TEST_F(LaunchGroupTest, IsLookedAtAgainWhileAStreamIsCaptured) {
  options_.max = 1;
  FakeProgram program(options_);
  begin(program);
  auto group = look_at_each(program);
  ASSERT_TRUE(group);
  recorder()->begin_stream_capture(nullptr);
  EXPECT_FALSE(recorder()->count_group(*group));
  recorder()->end_stream_capture(nullptr);
  EXPECT_TRUE(recorder()->count_group(*group));
}

}  // namespace
}  // namespace mneme::testing
