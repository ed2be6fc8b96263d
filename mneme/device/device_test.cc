#include "mneme/device/device.h"

#include <gtest/gtest.h>

#include <cstring>

#include "mneme/device/fake/fake_device.h"

namespace mneme {
namespace {

TEST(Device, TheBestIsOneForUsers) {
  auto best = Device::open_best();
  ASSERT_TRUE(best.ok());
  EXPECT_TRUE((*best)->properties().kind == DeviceKind::cpu || (*best)->properties().kind == DeviceKind::cuda);
}

class Launches : public testing::Test {
 protected:
  void SetUp() override {
    KernelResources bounded;
    bounded.max_threads_per_block = 64;
    bounded.static_shared_memory = 1_KiB;
    device_.define_kernel("bounded", fake::FakeKernel{[](const fake::FakeLaunch&) { return Status(); }, bounded, Nanoseconds(5)});
    device_.define_kernel("faulty", [](const fake::FakeLaunch&) { return error(Code::device_fault, "it trapped"); });
    module_ = std::move(device_.load(CodeImage{DeviceKind::fake, {}})).value();
    stream_ = std::move(device_.create_stream()).value();
  }
  std::string refusal(LaunchShape shape) { return stream_->launch(**module_->kernel("bounded"), shape, {}).to_string(); }

  fake::FakeDevice device_;
  std::unique_ptr<Module> module_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(Launches, ShapesBeyondTheDeviceAreRefusedWithItsLimit) {
  EXPECT_EQ(refusal({.grid = {1, 1, 1}, .block = {64, 1, 1}}), "ok");
  EXPECT_EQ(refusal({.grid = {0, 1, 1}, .block = {1, 1, 1}}),
            "invalid_argument: launching 'bounded' with grid 0x1x1 and block 1x1x1: an extent is zero");
  EXPECT_EQ(refusal({.grid = {1, 65536, 1}, .block = {1, 1, 1}}),
            "invalid_argument: launching 'bounded' with grid 1x65536x1 and block 1x1x1: the device's largest grid is "
            "2147483647x65535x65535");
  EXPECT_EQ(refusal({.grid = {1, 1, 1}, .block = {1, 1, 65}}),
            "invalid_argument: launching 'bounded' with grid 1x1x1 and block 1x1x65: the device's largest block is 1024x1024x64");
  EXPECT_EQ(refusal({.grid = {1, 1, 1}, .block = {1024, 2, 1}}),
            "invalid_argument: launching 'bounded' with grid 1x1x1 and block 1024x2x1: the block has 2048 threads, the device "
            "runs at most 1024");
  EXPECT_EQ(refusal({.grid = {1, 1, 1}, .block = {65, 1, 1}}),
            "invalid_argument: launching 'bounded' with grid 1x1x1 and block 65x1x1: the block has 65 threads, this kernel runs "
            "with at most 64 on "
            "the device");
  EXPECT_EQ(refusal({.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared_memory = 48_KiB}),
            "invalid_argument: launching 'bounded' with grid 1x1x1 and block 1x1x1: 1024 B static and 49152 B dynamic shared "
            "memory exceed the "
            "device's 49152 B for a block");
}

TEST_F(Launches, ClustersAreRefusedWhereTheDeviceHasNoneAndWhereTheyDoNotDivideTheGrid) {
  LaunchShape shape{.grid = {6, 1, 1}, .block = {32, 1, 1}, .cluster = {2, 1, 1}};
  EXPECT_EQ(
      refusal(shape),
      "unsupported: launching 'bounded' with grid 6x1x1 and block 32x1x1: the launch has clusters of 2x1x1 blocks, which the "
      "fake device (fake device) does not run");
  DeviceProperties properties = fake::FakeDevice::default_properties();
  properties.clusters = true;
  fake::FakeDevice device(properties);
  Dim3 cluster;
  device.define_kernel("clustered", [&](const fake::FakeLaunch& launch) {
    cluster = launch.shape.cluster;
    return Status();
  });
  auto module = std::move(device.load(CodeImage{DeviceKind::fake, {}})).value();
  auto stream = std::move(device.create_stream()).value();
  const auto launch = [&](const LaunchShape& of) { return stream->launch(**module->kernel("clustered"), of, {}).to_string(); };
  EXPECT_EQ(launch(shape), "ok");
  EXPECT_EQ(cluster, (Dim3{2, 1, 1}));
  shape.cluster = {4, 1, 1};
  EXPECT_EQ(
      launch(shape),
      "invalid_argument: launching 'clustered' with grid 6x1x1 and block 32x1x1: clusters of 4x1x1 blocks do not divide the "
      "grid");
  shape.cluster = {2, 0, 1};
  EXPECT_EQ(
      launch(shape),
      "invalid_argument: launching 'clustered' with grid 6x1x1 and block 32x1x1: clusters of 2x0x1 blocks do not divide the "
      "grid");
}

TEST_F(Launches, SharedMemoryThatOverflowsIsRefused) {
  EXPECT_EQ(refusal({.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared_memory = 47_KiB}), "ok");
  EXPECT_NE(refusal({.grid = {1, 1, 1}, .block = {1, 1, 1}, .dynamic_shared_memory = Bytes(~uint64_t{0} - 100)}), "ok");
}

TEST_F(Launches, ElementsOfEitherMemoryLieAtMultiplesOfTheirParts) {
  const DevicePtr memory = *device_.allocate(Bytes(256));
  const auto compared = [&](uint64_t actual, uint64_t recorded, ElementType type) {
    return stream_->compare_elements(memory + Bytes(actual), memory + Bytes(recorded), Bytes(32), {type}).status().code();
  };
  EXPECT_EQ(compared(0, 64, ElementType::f32), Code::ok);
  EXPECT_EQ(compared(2, 64, ElementType::f32), Code::invalid_argument);
  EXPECT_EQ(compared(0, 66, ElementType::f32), Code::invalid_argument);
  EXPECT_EQ(compared(8, 72, ElementType::complex128), Code::ok);
  EXPECT_EQ(compared(4, 68, ElementType::complex64), Code::ok);
  EXPECT_EQ(compared(0, 68, ElementType::complex128), Code::invalid_argument);
}

TEST_F(Launches, AFaultPoisonsTheFakeDevice) {
  EXPECT_EQ(stream_->launch(**module_->kernel("faulty"), {}, {}).to_string(), "device_fault: it trapped");
  EXPECT_EQ(stream_->synchronize().to_string(), "device_fault: the device faulted before and is of no further use: it trapped");
  EXPECT_EQ(device_.allocate(Bytes(1)).status().code(), Code::device_fault);
}

TEST_F(Launches, TheFakeDeviceFailsByScript) {
  device_.set_failures([](std::string_view call) { return call == "copy" ? error(Code::io, "scripted") : Status(); });
  DevicePtr memory = *device_.allocate(Bytes(16));
  EXPECT_TRUE(stream_->fill(memory, std::byte{1}, Bytes(16)).ok());
  EXPECT_EQ(stream_->copy(memory, memory + Bytes(8), Bytes(8)).to_string(), "io: scripted");
  EXPECT_EQ(device_.calls(), (std::vector<std::string>{"load", "create_stream", "allocate", "fill", "copy"}));
  ASSERT_TRUE(stream_->launch_timed(**module_->kernel("bounded"), {}, {}).ok());
  auto times = stream_->take_times();
  ASSERT_TRUE(times.ok());
  EXPECT_EQ(*times, std::vector<Nanoseconds>{Nanoseconds(5)});
}

TEST_F(Launches, TheFirstFaultIsTheOneThatIsTold) {
  std::string words = "first";
  device_.define_kernel("again", [&](const fake::FakeLaunch&) { return error(Code::device_fault, "{}", words); });
  Kernel& kernel = **module_->kernel("again");
  EXPECT_EQ(module_->kernel("again").value(), &kernel) << "a module's kernel is one object";
  const LaunchShape shape{{1, 1, 1}, {1, 1, 1}};
  EXPECT_EQ(stream_->launch_timed(kernel, shape, {}).to_string(), "device_fault: first");
  words = "second";
  for (int i = 0; i < 2; ++i) (void)stream_->launch(kernel, shape, {});
  EXPECT_EQ(stream_->synchronize().to_string(), "device_fault: the device faulted before and is of no further use: first");
}

TEST_F(Launches, ATimedLaunchThatFailsHasNoTime) {
  device_.define_kernel("failing", [](const fake::FakeLaunch&) { return error(Code::internal, "not today"); });
  const LaunchShape shape{{1, 1, 1}, {1, 1, 1}};
  EXPECT_EQ(stream_->launch_timed(**module_->kernel("failing"), shape, {}).code(), Code::internal);
  EXPECT_TRUE(stream_->launch_timed(**module_->kernel("bounded"), shape, {}).ok());
  EXPECT_EQ(stream_->take_times().value(), std::vector<Nanoseconds>{Nanoseconds(5)});
}

TEST_F(Launches, TheLastReadingOfTheClocksStays) {
  EXPECT_FALSE(device_.read_clocks().has_value());
  device_.set_clock_readings({{.sm_mhz = 1000, .throttled = {}}, {.sm_mhz = 900, .throttled = {}}});
  for (uint32_t mhz : {1000, 900, 900}) EXPECT_EQ(device_.read_clocks().value().sm_mhz, mhz);
}

}  // namespace
}  // namespace mneme
