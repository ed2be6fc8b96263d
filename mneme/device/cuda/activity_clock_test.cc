// CUPTI as the clock, over a CUPTI made for tests. What cannot open it is tested first: it stays open in a process.
#include "mneme/device/cuda/activity_clock.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "mneme/device/cuda/cuda_device.h"
#include "mneme/device/cuda/fake_driver.h"
#include "mneme/device/cuda/nvml.h"

#if __has_include(<cupti.h>)
#include <cupti.h>
#endif

namespace mneme::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kFakeLibrary = MNEME_FAKE_CUDA_LIBRARY;
const Libraries kFakeLibraries = {kFakeLibrary, {kFakeLibrary}, kFakeLibrary};

class ActivityClockTest : public testing::Test {
 protected:
  void SetUp() override {
    void* handle = dlopen(kFakeLibrary, RTLD_NOW);
    ASSERT_NE(handle, nullptr) << dlerror();
    state = reinterpret_cast<FakeDriverStateFunction>(dlsym(handle, "mneme_fake_driver_state"))();
    *state = FakeDriverState();
    auto opened = open_device(0, kFakeLibraries);
    ASSERT_TRUE(opened.ok()) << opened.status().to_string();
    device = std::move(opened).value();
    auto created = device->create_stream();
    ASSERT_TRUE(created.ok()) << created.status().to_string();
    stream = std::move(created).value();
    std::string_view ptx = ".version 8.0\n";
    auto text = std::as_bytes(std::span(ptx));
    auto loaded = device->load({DeviceKind::cuda, ByteVector(text.begin(), text.end())});
    ASSERT_TRUE(loaded.ok()) << loaded.status().to_string();
    module = std::move(loaded).value();
    kernel = module->kernel("work").value();
  }
  void TearDown() override { unsetenv("MNEME_CLOCK"); }

  void fail(const char* function, int result) {
    state->fail_function = function;
    state->fail_after = 0;
    state->fail_result = static_cast<CUresult>(result);
  }

  FakeDriverState* state = nullptr;
  std::unique_ptr<Device> device;
  std::unique_ptr<Stream> stream;
  std::unique_ptr<Module> module;
  Kernel* kernel = nullptr;
};

TEST(CuptiLibrary, ThatIsMissingSaysWhatToDo) {
  EXPECT_EQ(
      open_cupti({"libcupti-that-is-not-there.so", "libm.so.6"}).status().to_string(),
      "unavailable: opening CUPTI: libcupti-that-is-not-there.so: cannot open shared object file: No such file or directory; "
      "libm.so.6 has no function cuptiGetResultString; install the CUDA toolkit's libcupti, or set CUDA_HOME to where it is");
}

TEST_F(ActivityClockTest, AnotherProfilerLeavesTheEvents) {
  fail("cuptiSubscribe", kCuptiMultipleSubscribers);
  auto clock = device->clock();
  ASSERT_TRUE(clock.ok());
  EXPECT_EQ(clock->source, "cuda_event");
  EXPECT_EQ(clock->remark, fmt::format("timing kernels by {}: cuptiSubscribe: CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED "
                                       "(another profiler or debugger is attached)",
                                       kFakeLibrary));
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
  EXPECT_THAT(*stream->take_times(), ElementsAre(Nanoseconds(250000)));
}

TEST_F(ActivityClockTest, MissingPermissionIsAnErrorWhereCuptiIsAskedFor) {
  setenv("MNEME_CLOCK", "cupti", 1);
  fail("cuptiActivityEnable", 35);
  EXPECT_EQ(device->clock().status().to_string(),
            fmt::format("unavailable: MNEME_CLOCK is cupti: timing kernels by {}: cuptiActivityEnable(CONCURRENT_KERNEL): "
                        "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
                        kFakeLibrary));
  fail("cuptiActivityRegisterCallbacks", 77);
  EXPECT_THAT(stream->launch_timed(*kernel, {}, {}).message(), HasSubstr("cuptiActivityRegisterCallbacks: CUPTI error 77"));
  EXPECT_EQ(state->last_launch.kernel, "");
}

TEST_F(ActivityClockTest, TheClockThatIsAskedForIsTaken) {
  setenv("MNEME_CLOCK", "sundial", 1);
  EXPECT_EQ(device->clock().status().to_string(),
            "invalid_argument: choosing the clock of kernels: MNEME_CLOCK is 'sundial', not cupti or event");
  setenv("MNEME_CLOCK", "event", 1);
  auto clock = device->clock();
  ASSERT_TRUE(clock.ok());
  EXPECT_EQ(clock->source, "cuda_event");
  EXPECT_EQ(clock->remark, "MNEME_CLOCK is event");
}

// Of each launch its own time, whatever other kernels ran between, and by how many buffers the records came.
TEST_F(ActivityClockTest, EachTimedLaunchHasTheTimeOfItsRecord) {
  EXPECT_EQ(device->clock()->source, "cupti_activity");
  auto memory = device->allocate(Bytes(64));
  ASSERT_TRUE(memory.ok());
  for (uint64_t i = 0; i < 5000; ++i) state->kernel_times.push_back(i);
  std::vector<Nanoseconds> expected;
  for (uint64_t i = 0; i < 5000; ++i) {
    if (i % 3 == 0) {
      ASSERT_TRUE(stream->launch(*kernel, {}, {}).ok());
      continue;
    }
    if (i % 11 == 0) ASSERT_TRUE(stream->read_through(*memory, Bytes(64)).ok());
    ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
    expected.emplace_back(static_cast<double>(i));
  }
  auto times = stream->take_times();
  ASSERT_TRUE(times.ok()) << times.status().to_string();
  EXPECT_EQ(*times, expected);
  EXPECT_EQ(state->flushes, 1);
  EXPECT_EQ(state->events, 0);
  EXPECT_TRUE(stream->take_times()->empty());
  EXPECT_EQ(state->flushes, 1);
  ASSERT_TRUE(device->free(*memory).ok());
}

TEST_F(ActivityClockTest, ANumberOfALaunchThatIsDoneMayComeAgain) {
  for (uint64_t time : {11, 12, 13}) {
    state->last_correlation = 7;
    state->kernel_times = {time};
    ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
    auto times = stream->take_times();
    ASSERT_TRUE(times.ok()) << times.status().to_string();
    EXPECT_THAT(*times, ElementsAre(Nanoseconds(static_cast<double>(time))));
  }
}

TEST_F(ActivityClockTest, TimesThatNobodyTookGoWithTheirStream) {
  LaunchObserver* observer = device->launch_observer();
  ASSERT_NE(observer, nullptr);
  const LaunchTag before = observer->begin();
  observer->end(before, false);
  auto other = device->create_stream();
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE((*other)->launch_timed(*kernel, {}, {}).ok());
  other->reset();
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
  ASSERT_TRUE(observer->flush().ok());
  EXPECT_FALSE(observer->take(before + 1)) << "the next one's tag";
  EXPECT_THAT(*stream->take_times(), ElementsAre(Nanoseconds(930)));
}

TEST_F(ActivityClockTest, StreamsOfSeveralThreadsKeepTheirTimesApart) {
  ASSERT_TRUE(device->clock().ok());
  auto work = [&] {
    auto own = device->create_stream();
    ASSERT_TRUE(own.ok());
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 10; ++i) ASSERT_TRUE((*own)->launch_timed(*kernel, {}, {}).ok());
      auto times = (*own)->take_times();
      ASSERT_TRUE(times.ok()) << times.status().to_string();
      EXPECT_EQ(*times, std::vector<Nanoseconds>(10, Nanoseconds(930)));
    }
  };
  work();
  std::thread(work).join();
}

TEST_F(ActivityClockTest, RecordsThatComeOnlyByForceAreTaken) {
  state->records_by_force_only = true;
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
  EXPECT_THAT(*stream->take_times(), ElementsAre(Nanoseconds(930)));
}

TEST_F(ActivityClockTest, RecordsAreNotForcedBeforeTheirKernelsHaveEnded) {
  state->kernels_end_after = 2;
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
  EXPECT_THAT(*stream->take_times(), ElementsAre(Nanoseconds(930)));
  // Where it has still not ended it has no time.
  state->kernels_end_after = state->flushes + 100;
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
  EXPECT_THAT(stream->take_times().status().message(), HasSubstr("CUPTI has records of 0 of them only"));
}

TEST_F(ActivityClockTest, AKernelMayTakeMoreThanFourSeconds) {
  state->kernel_times = {5'000'000'000};
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
  EXPECT_THAT(*stream->take_times(), ElementsAre(Nanoseconds(5e9)));
}

TEST_F(ActivityClockTest, ALostRecordIsAnErrorAndNoTime) {
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
  state->lose_records = true;
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
  EXPECT_EQ(stream->take_times().status().to_string(),
            "internal: timing 2 launches: CUPTI has records of 1 of them only; MNEME_CLOCK=event times them by events instead");
  state->lose_records = false;
  ASSERT_TRUE(stream->launch_timed(*kernel, {}, {}).ok());
  EXPECT_THAT(*stream->take_times(), ElementsAre(Nanoseconds(930)));
}

TEST_F(ActivityClockTest, AFaultIsToldWhereTheTimesAreTaken) {
  ASSERT_TRUE(stream->launch_timed(*module->kernel("trap").value(), {}, {}).ok());
  EXPECT_EQ(stream->take_times().status().code(), Code::device_fault);
  EXPECT_EQ(stream->take_times().status().code(), Code::device_fault);
}

TEST_F(ActivityClockTest, LaunchesOfOthersAreTimedOnRequest) {
  LaunchObserver* observer = device->launch_observer();
  ASSERT_NE(observer, nullptr);
  state->kernel_times = {11, 12, 13};
  LaunchTag first = observer->begin();
  ASSERT_TRUE(stream->launch(*kernel, {}, {}).ok());
  observer->end(first, true);
  ASSERT_TRUE(stream->launch(*kernel, {}, {}).ok());
  LaunchTag failed = observer->begin();
  observer->end(failed, false);
  LaunchTag last = observer->begin();
  ASSERT_TRUE(stream->launch(*kernel, {}, {}).ok());
  observer->end(last, true);
  EXPECT_FALSE(observer->take(first).has_value());
  ASSERT_TRUE(observer->flush().ok());
  EXPECT_EQ(observer->take(last), Nanoseconds(13));
  EXPECT_EQ(observer->take(first), Nanoseconds(11));
  EXPECT_FALSE(observer->take(first).has_value());
  EXPECT_FALSE(observer->take(failed).has_value());
}

TEST_F(ActivityClockTest, TheHardwaresClocksAreRead) {
  state->clock_reasons = 0x1 | 0x4 | 0x40;  // idle, power cap, hardware thermal slowdown
  auto reading = device->read_clocks();
  ASSERT_TRUE(reading.has_value());
  EXPECT_EQ(reading->sm_mhz, 1980u);
  EXPECT_THAT(reading->throttled, ElementsAre("power cap", "hardware thermal slowdown"));
  EXPECT_EQ(state->pci_address, "0000:1b:00.0");
  fail("nvmlDeviceGetClockInfo", 3);
  EXPECT_FALSE(device->read_clocks().has_value());
  EXPECT_EQ(ClockMonitor::open("0000:1b:00.0", "libm.so.6").status().to_string(),
            "unavailable: reading the GPU's clocks: libm.so.6 lacks a function");
}

TEST_F(ActivityClockTest, AProcessHasOneCupti) {
  ASSERT_EQ(device->clock()->source, "cupti_activity");
  auto other = open_device(0, {kFakeLibrary, {"libm.so.6"}, kFakeLibrary});
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  auto clock = (*other)->clock();
  ASSERT_TRUE(clock.ok()) << clock.status().to_string();
  EXPECT_EQ(clock->source, "cuda_event");
  EXPECT_EQ(clock->remark, fmt::format("opening CUPTI: this process has it open as {}", kFakeLibrary));
}

#if __has_include(<cupti.h>)
TEST(CuptiLayout, IsThatOfItsHeaders) {
  using Header = CUpti_ActivityKernel9;
  static_assert(offsetof(CuptiKernelRecord, start) == offsetof(Header, start));
  static_assert(offsetof(CuptiKernelRecord, end) == offsetof(Header, end));
  static_assert(offsetof(CuptiKernelRecord, correlation) == offsetof(Header, correlationId));
  static_assert(offsetof(CuptiCallbackData, site) == offsetof(CUpti_CallbackData, callbackSite));
  static_assert(offsetof(CuptiCallbackData, correlation) == offsetof(CUpti_CallbackData, correlationId));
  EXPECT_EQ(kCuptiConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  EXPECT_EQ(kCuptiDriverApi, CUPTI_CB_DOMAIN_DRIVER_API);
  EXPECT_EQ(kCuptiRuntimeApi, CUPTI_CB_DOMAIN_RUNTIME_API);
  EXPECT_EQ(kCuptiFlushForced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  EXPECT_EQ(kCuptiMaxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED);
  EXPECT_EQ(kCuptiMultipleSubscribers, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_THAT(
      kCuptiDriverLaunches,
      ElementsAre(CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz,
                  CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz,
                  CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz,
                  CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz));
}
#endif

}  // namespace
}  // namespace mneme::cuda
