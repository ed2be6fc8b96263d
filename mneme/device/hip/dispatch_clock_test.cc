// rocprofiler-sdk as the clock, over one made for tests.
#include "mneme/device/hip/dispatch_clock.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "mneme/device/gpu/testing/device_test.h"
#include "mneme/device/hip/fake_hip.h"
#include "mneme/device/hip/hip_device.h"

namespace mneme::hip {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

const std::string kRuntimes[] = {MNEME_FAKE_HIP_LIBRARY};

class DispatchClockTest : public gpu::DeviceTest<FakeHipState> {
 protected:
  DispatchClockTest() : DeviceTest(MNEME_FAKE_HIP_LIBRARY, "mneme_fake_hip_state") {}

  FakeRocprofilerState& profiler() { return state->rocprofiler; }

  // A clock that records, with the device that it times.
  DispatchClock* start() {
    auto configured = DispatchClock::configure({MNEME_FAKE_HIP_LIBRARY});
    EXPECT_TRUE(configured.ok()) << configured.status().to_string();
    if (!configured.ok()) return nullptr;
    clock = std::move(*configured);
    use(open_device(0, kRuntimes));
    const Status recorded = clock->record();
    EXPECT_TRUE(recorded.ok()) << recorded.to_string();
    ByteVector image(64);
    memcpy(image.data(), "\177ELF", 4);
    image[18] = std::byte{224};
    module = device->load({DeviceKind::hip, image}).value();
    kernel = module->kernel("work").value();
    return clock.get();
  }
  LaunchTag launch(bool launched = true) {
    const LaunchTag tag = clock->begin();
    if (launched) EXPECT_TRUE(stream->launch(*kernel, {}, {}).ok());
    clock->end(tag, launched);
    return tag;
  }
  std::string refusal() {
    auto configured = DispatchClock::configure({MNEME_FAKE_HIP_LIBRARY});
    return configured.ok() ? "" : configured.status().to_string();
  }

  std::unique_ptr<DispatchClock> clock;
  std::unique_ptr<Module> module;
  Kernel* kernel = nullptr;
};

TEST(RocprofilerLibrary, ThatIsMissingSaysWhatToDo) {
  const std::vector<std::string> paths = {"librocprofiler-sdk-that-is-not-there.so.1", "libm.so.6"};
  EXPECT_EQ(
      open_rocprofiler(paths).status().to_string(),
      "unavailable: opening rocprofiler-sdk: librocprofiler-sdk-that-is-not-there.so.1: cannot open shared object file: No "
      "such file or directory; libm.so.6 has no function rocprofiler_force_configure; install ROCm's rocprofiler-sdk, or set "
      "ROCM_PATH to where it is");
  EXPECT_EQ(
      open_rocprofiler({}).status().to_string(),
      "unavailable: opening rocprofiler-sdk: no place to look in; install ROCm's rocprofiler-sdk, or set ROCM_PATH to where "
      "it is");
  const std::vector<std::string> all = rocprofiler_paths();
  EXPECT_THAT(std::vector(all.end() - 2, all.end()), ElementsAre("librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0"));
}

// It must be there before the runtime starts; recording costs, and begins when somebody asks for times.
TEST_F(DispatchClockTest, IsConfiguredBeforeTheRuntimeAndRecordsWhenItIsAskedFor) {
  ASSERT_NE(start(), nullptr);
  EXPECT_THAT(profiler().calls,
              ElementsAre("rocprofiler_force_configure", "rocprofiler_at_intercept_table_registration",
                          "rocprofiler_query_buffer_tracing_kind_name", "rocprofiler_create_context", "rocprofiler_create_buffer",
                          "rocprofiler_configure_buffer_tracing_service", "rocprofiler_start_context"));
  ASSERT_TRUE(clock->record().ok());
  EXPECT_EQ(profiler().calls.size(), 7u) << "it records already";
}

// rocprofiler-sdk has ROCm's runtimes load it by variables, which a program that is started would get.
TEST_F(DispatchClockTest, TheEnvironmentIsAsBeforeWhenTheRuntimeHasStarted) {
  constexpr const char *kLoads = "ROCPROFILER_REGISTER_FORCE_LOAD", *kOlder = "HSA_TOOLS_ROCPROFILER_V1_TOOLS";
  const auto value_of = [](const char* name) { return std::string(std::getenv(name) ? std::getenv(name) : "none"); };
  for (const bool is_set : {false, true}) {
    const auto set = [&](const char* name, bool value) { return value ? ::setenv(name, "yes", 1) : ::unsetenv(name); };
    set(kLoads, is_set), set(kOlder, !is_set);
    auto configured = DispatchClock::configure({MNEME_FAKE_HIP_LIBRARY});
    ASSERT_TRUE(configured.ok()) << configured.status().to_string();
    clock = std::move(*configured);
    EXPECT_EQ(value_of(kLoads), "1") << "until the runtime has found it";
    EXPECT_TRUE(count_devices(kRuntimes).ok());
    EXPECT_EQ(value_of(kLoads), is_set ? "yes" : "none");
    EXPECT_EQ(value_of(kOlder), is_set ? "none" : "yes");
  }
  ::unsetenv(kLoads);
}

TEST_F(DispatchClockTest, EachLaunchHasTheTimeOfItsRecord) {
  ASSERT_NE(start(), nullptr);
  std::vector<LaunchTag> tags;
  std::vector<Nanoseconds> expected;
  for (uint64_t i = 0; i < 2000; ++i) profiler().kernel_times.push_back(100 + i);
  for (uint64_t i = 0; i < 2000; ++i) {
    if (i % 3 == 0) {
      ASSERT_TRUE(stream->launch(*kernel, {}, {}).ok());  // which nobody times
      continue;
    }
    tags.push_back(launch());
    expected.emplace_back(static_cast<double>(100 + i));
  }
  auto times = clock->take_all(tags);
  ASSERT_TRUE(times.ok()) << times.status().to_string();
  EXPECT_EQ(*times, expected);
  EXPECT_EQ(profiler().flushes, 1);
  EXPECT_FALSE(clock->take(tags[0])) << "it was taken";
}

TEST_F(DispatchClockTest, LaunchesOfOthersAreTimedOnRequest) {
  ASSERT_NE(start(), nullptr);
  profiler().kernel_times = {11, 12};
  const LaunchTag first = launch(), failed = launch(false), last = launch();
  EXPECT_FALSE(clock->take(first));
  ASSERT_TRUE(clock->flush().ok());
  EXPECT_EQ(clock->take(last), Nanoseconds(12));
  EXPECT_EQ(clock->take(first), Nanoseconds(11));
  EXPECT_FALSE(clock->take(failed));
}

// A thread that has pushed no number has the main thread's.
TEST_F(DispatchClockTest, AnotherThreadsKernelIsNotTheLaunch) {
  ASSERT_NE(start(), nullptr);
  profiler().kernel_times = {77, 5};
  const LaunchTag tag = clock->begin();
  std::thread([&] { ASSERT_TRUE(stream->launch(*kernel, {}, {}).ok()); }).join();
  ASSERT_TRUE(stream->launch(*kernel, {}, {}).ok());
  clock->end(tag, true);
  EXPECT_THAT(*clock->take_all(std::vector{tag}), ElementsAre(Nanoseconds(5)));
}

// The runtime has a kernel of its own run before a cooperative one.
TEST_F(DispatchClockTest, OfTwoKernelsOfALaunchTheLongerOneCounts) {
  ASSERT_NE(start(), nullptr);
  for (const auto& times : {std::vector<uint64_t>{3, 400}, std::vector<uint64_t>{400, 3}}) {
    profiler().kernel_times = times;
    const LaunchTag tag = clock->begin();
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(stream->launch(*kernel, {}, {}).ok());
    clock->end(tag, true);
    EXPECT_THAT(*clock->take_all(std::vector{tag}), ElementsAre(Nanoseconds(400)));
  }
}

TEST_F(DispatchClockTest, RecordsThatAreLateAreWaitedFor) {
  ASSERT_NE(start(), nullptr);
  profiler().records_come_after = 5;
  const std::vector<LaunchTag> tags = {launch()};
  EXPECT_THAT(*clock->take_all(tags), ElementsAre(Nanoseconds(930)));
  EXPECT_EQ(profiler().flushes, 6);
}

TEST_F(DispatchClockTest, AFlushThatSomebodyElseDoesIsNoFailure) {
  ASSERT_NE(start(), nullptr);
  profiler().fail_function = "rocprofiler_flush_buffer";
  profiler().fail_status = 13;
  EXPECT_THAT(*clock->take_all(std::vector{launch()}), ElementsAre(Nanoseconds(930)));
  profiler().fail_function = "rocprofiler_flush_buffer";
  profiler().fail_status = 99;
  EXPECT_EQ(clock->take_all(std::vector{launch()}).status().to_string(), "unavailable: rocprofiler_flush_buffer: error 99");
}

TEST_F(DispatchClockTest, ALostRecordIsAnErrorAndNoTime) {
  ASSERT_NE(start(), nullptr);
  const LaunchTag first = launch();
  profiler().lose_records = true;
  const LaunchTag second = launch();
  EXPECT_EQ(clock->take_all(std::vector{first, second}).status().to_string(),
            "internal: timing 2 launches: rocprofiler-sdk has records of 1 of them only; MNEME_CLOCK=event times them by events "
            "instead");
  profiler().lose_records = false;
  EXPECT_THAT(*clock->take_all(std::vector{launch()}), ElementsAre(Nanoseconds(930)));
}

TEST_F(DispatchClockTest, RecordsThatLieAreNoTimes) {
  ASSERT_NE(start(), nullptr);
  profiler().ends_before_start = true;
  EXPECT_THAT(clock->take_all(std::vector{launch()}).status().message(), HasSubstr("records of 0 of them only"));
  profiler().ends_before_start = false;
  profiler().record_size = 48;  // too short for its times
  EXPECT_THAT(clock->take_all(std::vector{launch()}).status().message(), HasSubstr("records of 0 of them only"));
}

TEST_F(DispatchClockTest, ARuntimeThatHadStartedIsTold) {
  profiler().runtime_started_before = true;
  auto configured = DispatchClock::configure({MNEME_FAKE_HIP_LIBRARY});
  ASSERT_TRUE(configured.ok()) << configured.status().to_string();
  clock = std::move(*configured);
  use(open_device(0, kRuntimes));
  EXPECT_EQ(clock->record().to_string(),
            fmt::format("unavailable: timing kernels by {}: ROCm's runtime has not registered with it", MNEME_FAKE_HIP_LIBRARY));
}

TEST_F(DispatchClockTest, WhatFailsSaysWhich) {
  const auto refused = [&](const char* function, int status) {
    profiler() = {};
    profiler().fail_function = function;
    profiler().fail_status = status;
    return refusal();
  };
  const std::string timing = fmt::format("unavailable: timing kernels by {}: ", MNEME_FAKE_HIP_LIBRARY);
  EXPECT_EQ(
      refused("rocprofiler_force_configure", 15),
      timing + "rocprofiler_force_configure: ROCPROFILER_STATUS_ERROR_CONFIGURATION_LOCKED (is another profiler attached?)");
  for (const char* call :
       {"at_intercept_table_registration", "query_buffer_tracing_kind_name", "create_context", "create_buffer"})
    EXPECT_EQ(refused(fmt::format("rocprofiler_{}", call).c_str(), 99), timing + fmt::format("rocprofiler_{}: error 99", call));
  EXPECT_EQ(refused("rocprofiler_configure_buffer_tracing_service", 99),
            timing + "rocprofiler_configure_buffer_tracing_service(KERNEL_DISPATCH): error 99");
}

TEST_F(DispatchClockTest, WhatIsNotKnownIsRefused) {
  const std::string timing = fmt::format("unavailable: timing kernels by {}: ", MNEME_FAKE_HIP_LIBRARY);
  profiler().version = 20300;
  EXPECT_EQ(refusal(), timing + "it is of version 2.3, and 1 is the newest that is known");
  profiler().version = 500;
  profiler().kind_name = "MEMORY_COPY";
  EXPECT_EQ(refusal(), timing + "its records of kind 11 are MEMORY_COPY, not KERNEL_DISPATCH");
  profiler().kind_name = "KERNEL_DISPATCH";
  profiler().forget_client = true;
  EXPECT_EQ(refusal(), timing + "rocprofiler-sdk did not initialise its client");
  profiler().forget_client = false;
  EXPECT_EQ(refusal(), "");
}

// The process's clock: what a device times by. Each in a process of its own.
using ProcessClock = DispatchClockTest;
int said(const std::string& text) {
  std::fputs(text.c_str(), stderr);
  return text.empty() ? 1 : 0;
}

TEST_F(ProcessClock, IsTheDevices) {
  const auto times = [&]() -> std::string {
    DispatchClock::prepare({MNEME_FAKE_HIP_LIBRARY});
    use(open_device(0, kRuntimes));
    ByteVector image(64);
    memcpy(image.data(), "\177ELF", 4);
    image[18] = std::byte{224};
    module = device->load({DeviceKind::hip, image}).value();
    profiler().kernel_times = {41, 42};
    for (int i = 0; i < 2; ++i)
      if (const Status launched = stream->launch_timed(*module->kernel("work").value(), {}, {}); !launched.ok())
        return launched.to_string();
    auto taken = stream->take_times();
    if (!taken.ok()) return taken.status().to_string();
    return fmt::format("{} {} {}, events {}", device->clock()->source, taken->at(0).count(), taken->at(1).count(), state->events);
  };
  EXPECT_EXIT(std::exit(said(times())), testing::ExitedWithCode(0), "rocprofiler_dispatch 41 42, events 0");
}

TEST_F(ProcessClock, ThatCouldNotBeHadLeavesTheEvents) {
  const auto remark = [&](const char* wish) -> std::string {
    if (wish != nullptr) setenv("MNEME_CLOCK", wish, 1);
    DispatchClock::prepare({"librocprofiler-sdk-that-is-not-there.so.1"});
    use(open_device(0, kRuntimes));
    auto clock = device->clock();
    return clock.ok() ? clock->source + ": " + clock->remark : clock.status().to_string();
  };
  EXPECT_EXIT(std::exit(said(remark(nullptr))), testing::ExitedWithCode(0),
              "hip_event: opening rocprofiler-sdk: librocprofiler-sdk-that-is-not-there.so.1: cannot open");
  EXPECT_EXIT(std::exit(said(remark("event"))), testing::ExitedWithCode(0), "hip_event: MNEME_CLOCK is event");
  EXPECT_EXIT(std::exit(said(remark("rocprofiler"))), testing::ExitedWithCode(0),
              "unavailable: MNEME_CLOCK is rocprofiler: opening rocprofiler-sdk: ");
  EXPECT_EXIT(std::exit(said(remark("cupti"))), testing::ExitedWithCode(0),
              "invalid_argument: choosing the clock of kernels: MNEME_CLOCK is 'cupti', not rocprofiler or event");
}

}  // namespace
}  // namespace mneme::hip
