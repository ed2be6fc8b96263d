// What the recorder tells at the process's end: how often shapes ran, and a profile where nothing is recorded.
#include <gtest/gtest.h>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/record/testing/fake_runtime.h"
#include "mneme/snapshot/profile_file.h"

namespace mneme::testing {
namespace {

// A profile in which nothing is recorded (`mneme profile`).
class RecordNothing : public ::testing::Test {
 protected:
  RecordingOptions only_profile() const {
    RecordingOptions options;
    options.profile = true;
    options.profile_file = file_.descriptor();
    return options;
  }
  LaunchProfile profile() {
    recorder()->finish();
    return *file_.sum();
  }
  ProfileFile file_ = *ProfileFile::create();
};

TEST_F(RecordNothing, EachKernelIsCountedAndTimed) {
  FakeProgram program(only_profile());
  int* data = program.allocate<int>(100);
  EXPECT_TRUE(program.vendor().allocations.contains(data)) << "no memory is the recorder's";
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(program.launch(program.increment, data, 100), cudaSuccess);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(program.launch(program.plain, data), cudaSuccess);
  const LaunchProfile seen = profile();
  EXPECT_EQ(seen.clock_source, "steady_clock");
  EXPECT_EQ(seen.device_kind, "fake");
  EXPECT_EQ(seen.device_name, fake::FakeDevice::default_properties().name);
  ASSERT_EQ(seen.kernels.size(), 2u);
  const auto named = [&](const std::string& name) -> const KernelProfile& {
    return seen.kernels[0].name == name ? seen.kernels[0] : seen.kernels[1];
  };
  EXPECT_EQ(named("increment").launches().launches, 2000u);
  EXPECT_EQ(named("increment").launches().timed, 1999u);
  EXPECT_TRUE(named("increment").first.has_value());
  EXPECT_TRUE(named("increment").static_hash.has_value());
  EXPECT_EQ(named("increment").shapes.at(0).shape, (ProgramShape{{1, 1, 1}, {32, 1, 1}, {}, false}));
  EXPECT_EQ(named("plain").launches().launches, 3u);
  EXPECT_FALSE(named("plain").static_hash.has_value()) << "it cannot be recorded, and takes time all the same";
  EXPECT_EQ(data[0], 2000);
  EXPECT_EQ(program.report().launches, 2003u);
  EXPECT_FALSE(std::filesystem::exists(program.database()));
  EXPECT_EQ(program.free(data), cudaSuccess);
}

TEST_F(RecordNothing, WhatIsToldAtAResetIsNotToldAgain) {
  FakeProgram program(only_profile());
  int* data = program.allocate<int>(100);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(program.call<decltype(cudaDeviceReset)>(MNEME_CALL_cudaDeviceReset), cudaSuccess);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(profile().kernels.at(0).launches().launches, 7u);
  EXPECT_EQ(profile().kernels.at(0).launches().launches, 7u);
}

// Of a program that is killed.
TEST_F(RecordNothing, ItIsToldMeanwhile) {
  FakeProgram program(only_profile());
  int* data = program.allocate<int>(100);
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (file_.sum()->kernels.empty() && std::chrono::steady_clock::now() < limit)
    for (int i = 0; i < 100; ++i) EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  ASSERT_EQ(file_.sum()->kernels.size(), 1u);
  EXPECT_GE(file_.sum()->kernels[0].launches().launches, 1u);
  EXPECT_EQ(profile().kernels[0].launches().launches, program.report().launches);
}

TEST_F(RecordNothing, LaunchesIntoGraphsAreCountedApart) {
  FakeProgram program(only_profile());
  int* data = program.allocate<int>(100);
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  const auto stream = reinterpret_cast<cudaStream_t>(8);
  program.call<decltype(cudaStreamBeginCapture)>(MNEME_CALL_cudaStreamBeginCapture, stream, cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(program.launch(program.increment, data, 1, stream), cudaSuccess);
  EXPECT_EQ(profile().kernels.at(0).launches().launches, 1u);
  EXPECT_EQ(program.count(NotRecorded::stream_capture), 1u);
}

TEST_F(RecordNothing, LaunchesOnEachDeviceAreTimed) {
  FakeProgram program(only_profile());
  int* data = program.allocate<int>(100);
  for (int device : {0, 1, 0}) {
    program.vendor().device = device;
    for (int i = 0; i < 3; ++i) EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  }
  const TimedLaunches launches = profile().kernels.at(0).launches();
  EXPECT_EQ(launches.launches, 9u);
  EXPECT_EQ(launches.timed, 7u) << "but the first on each, which may load code";
}

TEST_F(RecordNothing, WhereADeviceCannotBeOpenedLaunchesCountWithoutATime) {
  int opened = 0;
  FakeProgram program(only_profile(), [&](Recorder::Environment& environment) {
    environment.open_device = [&, open = environment.open_device](DeviceKind kind, int ordinal) {
      return opened++ == 0 ? open(kind, ordinal) : Status(Code::unavailable, "it is taken");
    };
  });
  int* data = program.allocate<int>(100);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  program.vendor().device = 1;
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "mneme: warning: launches on device 1 are not timed: it is taken\n");
  const TimedLaunches launches = profile().kernels.at(0).launches();
  EXPECT_EQ(launches.launches, 5u);
  EXPECT_EQ(launches.timed, 2u);
}

TEST_F(RecordNothing, AFileThatTheProgramHasClosedIsMissedAloud) {
  RecordingOptions options = only_profile();
  options.profile_file = 1 << 20;
  FakeProgram program(options);
  int* data = program.allocate<int>(100);
  EXPECT_EQ(program.launch(program.increment, data, 1), cudaSuccess);
  ::testing::internal::CaptureStderr();
  recorder()->finish();
  EXPECT_EQ(
      ::testing::internal::GetCapturedStderr(),
      "mneme: warning: the profile of this process is not kept: file descriptor 1048576 leads to no profile: the program has "
      "closed it\n");
}

TEST(RecordShapes, EachInstanceKeepsHowOftenItsShapeRan) {
  RecordingOptions options;
  options.max = 1;
  FakeProgram program(options);
  int* data = program.allocate<int>(100);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(program.launch(program.increment, data, 100), cudaSuccess);
  int n = 1;
  void* arguments[] = {&data, &n};
  for (int i = 0; i < 3; ++i)
    program.call<decltype(cudaLaunchKernel)>(MNEME_CALL_cudaLaunchKernel, program.increment, dim3(2), dim3(32),
                                             static_cast<void**>(arguments), size_t{0}, cudaStream_t{});
  ASSERT_EQ(program.instances().size(), 1u);
  EXPECT_EQ(program.instances()[0].shape_launches, (ShapeLaunches{1, std::nullopt}))
      << "for a program that does not come to its end";
  recorder()->finish();
  EXPECT_EQ(program.instances()[0].shape_launches, (ShapeLaunches{9, std::nullopt}));
  EXPECT_FALSE(program.instances()[0].recorded_time.has_value());
}

TEST(RecordShapes, WithAProfileHowLongThatTookToo) {
  RecordingOptions options;
  options.profile = true;
  options.max = 1;
  FakeProgram program(options);
  int* data = program.allocate<int>(100);
  for (int i = 0; i < 9; ++i) EXPECT_EQ(program.launch(program.increment, data, 100), cudaSuccess);
  recorder()->finish();
  const InstanceRecord instance = program.instances().at(0);
  ASSERT_TRUE(instance.shape_launches.has_value());
  EXPECT_EQ(instance.shape_launches->count, 9u);
  ASSERT_TRUE(instance.shape_launches->total.has_value());
  EXPECT_GE(*instance.shape_launches->total, 9 * instance.recorded_time->others_min);
}

// By an earlier recording into the same database.
TEST(RecordShapes, AnInstanceThatIsThereTellsOfTheLastRecording) {
  const TemporaryDirectory temporary;
  const Path& folder = temporary.path();
  for (int launches : {3, 5}) {
    RecordingOptions options;
    options.max = 1;
    options.database = folder / "db";
    FakeProgram program(options);
    int* data = program.allocate<int>(100);
    for (int i = 0; i < launches; ++i) EXPECT_EQ(program.launch(program.increment, data, 100), cudaSuccess);
    recorder()->finish();
    const auto listing = Database::open(options.database)->list();
    ASSERT_EQ(listing->kernels.at(0).instances.size(), 1u);
    EXPECT_EQ(listing->kernels[0].instances[0].shape_launches->count, static_cast<uint64_t>(launches));
  }
}

}  // namespace
}  // namespace mneme::testing
