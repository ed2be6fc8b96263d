#include "mneme/device/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/device/device_count.h"

namespace mneme {
namespace {

using ::testing::ElementsAre;

// A build without HIP has no row of it.
#ifdef MNEME_HIP
constexpr bool kHasHip = true;
#else
constexpr bool kHasHip = false;
#endif

TEST(Backends, EachHasARowWithAllThatIsAsked) {
  std::vector<DeviceKind> kinds;
  for (const Backend& backend : backends()) {
    kinds.push_back(backend.kind);
    EXPECT_FALSE(backend.name.empty());
    EXPECT_FALSE(backend.title.empty()) << backend.name;
    EXPECT_TRUE(backend.find && backend.count && backend.open) << backend.name;
    EXPECT_TRUE(backend.find().ok() || !backend.missing.empty()) << backend.name;
    EXPECT_EQ(&backend_of(backend.kind), &backend);
  }
  std::vector<DeviceKind> expected = {DeviceKind::cuda, DeviceKind::cpu, DeviceKind::fake};
  if (kHasHip) expected.insert(expected.begin() + 1, DeviceKind::hip);
  EXPECT_EQ(kinds, expected);
}

// What others do by it: which clock times a program's launches, what knobs there are without an open device, what `mneme run`
// loads.
TEST(Backends, EachSaysWhatItIs) {
  const Backend &cuda = backend_of(DeviceKind::cuda), &cpu = backend_of(DeviceKind::cpu), &fake = backend_of(DeviceKind::fake);
  EXPECT_EQ(cuda.launch_return, LaunchReturn::when_queued);
  EXPECT_EQ(cpu.launch_return, LaunchReturn::when_done);
  EXPECT_EQ(fake.launch_return, LaunchReturn::when_done);
  EXPECT_EQ(cuda.hardware, Hardware::own);
  EXPECT_EQ(cpu.hardware, Hardware::host);
  EXPECT_EQ(cuda.interposer, "");
  EXPECT_EQ(cpu.interposer, "libmneme_emulation.so");
  EXPECT_EQ(fake.interposer, "");
  EXPECT_EQ(cuda.driver, "libcuda.so.1");
  EXPECT_EQ(cpu.driver, "");
  EXPECT_EQ(fake.driver, "");
  EXPECT_NE(cuda.raise_limits, nullptr);
  EXPECT_EQ(cpu.raise_limits, nullptr);
  EXPECT_EQ(cuda.order_blocks, nullptr);
  EXPECT_NE(cpu.order_blocks, nullptr);
}

TEST(Backends, AnAmdGpuIsHardwareOfItsOwn) {
  if (!kHasHip) GTEST_SKIP() << "built without HIP";
  const Backend& hip = backend_of(DeviceKind::hip);
  EXPECT_EQ(hip.kind, DeviceKind::hip);
  EXPECT_EQ(hip.audience, Audience::users);
  EXPECT_EQ(hip.launch_return, LaunchReturn::when_queued);
  EXPECT_EQ(hip.hardware, Hardware::own);
  EXPECT_EQ(hip.interposer, "");
  EXPECT_EQ(hip.driver, "");
  EXPECT_EQ(hip.raise_limits, nullptr);
  EXPECT_EQ(hip.order_blocks, nullptr);
  // Where there is no driver nothing of ROCm's is loaded, for "auto" asks every time.
  if (hip.find().ok()) GTEST_SKIP() << "there is an AMD GPU here";
  EXPECT_EQ(hip.count().status().code(), Code::unavailable);
  EXPECT_EQ(hip.open(0).status().code(), Code::unavailable);
}

TEST(Backends, NamesAreParsedBack) {
  for (const Backend& backend : backends()) {
    EXPECT_EQ(*parse_device_kind(backend.name), backend.kind);
    EXPECT_EQ(to_string(backend.kind), backend.name);
  }
  EXPECT_EQ(
      parse_device_kind("gpu").status().to_string(),
      fmt::format("invalid_argument: 'gpu' is no kind of device: the kinds are cuda,{} cpu and fake", kHasHip ? " hip," : ""));
}

TEST(Backends, OpenByKind) {
  for (DeviceKind kind : {DeviceKind::fake, DeviceKind::cpu}) {
    auto device = Device::open(kind);
    ASSERT_TRUE(device.ok()) << device.status().to_string();
    EXPECT_EQ((*device)->properties().kind, kind);
    EXPECT_EQ(*count_devices(kind), 1);
    EXPECT_EQ(Device::open(kind, 1).status().code(), Code::unavailable);
  }
  EXPECT_EQ(Device::open(DeviceKind(99)).status().to_string(), "invalid_argument: opening device 0: 99 is no kind of device");
  EXPECT_EQ(count_devices(DeviceKind(99)).status().to_string(), "invalid_argument: counting devices: 99 is no kind of device");
}

TEST(Backends, TheFakeDeviceIsForTestsAlone) {
  EXPECT_EQ(backend_of(DeviceKind::fake).audience, Audience::tests);
  if (kHasHip)
    EXPECT_THAT(user_device_names(), ElementsAre("cuda", "hip", "cpu"));
  else
    EXPECT_THAT(user_device_names(), ElementsAre("cuda", "cpu"));
}

// "auto" over a table of two kinds whose calls answer as they are told.
class Automatic : public testing::Test {
 protected:
  inline static Status found_;
  inline static Result<int> count_ = 0;
  inline static Status opens_;
  inline static bool shown_ = false;

  void SetUp() override {
    found_ = {};
    count_ = 1;
    opens_ = {};
    shown_ = false;
  }
  static Result<std::unique_ptr<Device>> open_first(int) {
    MNEME_TRY(opens_);
    return Device::open(DeviceKind::fake);
  }

  const std::vector<Backend> table_ = {
      {.kind = DeviceKind::fake,
       .name = "tested",
       .title = "device of tests",
       .audience = Audience::tests,
       .find = [] { return Status(); },
       .count = [] { return Result<int>(1); },
       .open = [](int) { return Device::open(DeviceKind::fake); }},
      {.kind = DeviceKind::cuda,
       .name = "first",
       .title = "first device",
       .find = [] { return found_; },
       .is_shown = [] { return shown_; },
       .count = [] { return count_; },
       .open = open_first},
      {.kind = DeviceKind::cpu,
       .name = "second",
       .title = "second device",
       .find = [] { return Status(); },
       .count = [] { return Result<int>(1); },
       .open = [](int) { return Device::open(DeviceKind::fake); }},
  };
};

TEST_F(Automatic, IsTheFirstForUsersThatGivesTheProof) {
  for (Proof proof : {Proof::shown, Proof::counted, Proof::opened}) {
    auto chosen = choose_automatically(proof, table_);
    ASSERT_TRUE(chosen.ok());
    EXPECT_EQ(chosen->kind, DeviceKind::cuda);
    EXPECT_EQ(chosen->device != nullptr, proof == Proof::opened);
    EXPECT_TRUE(chosen->passed.empty());
  }
}

TEST_F(Automatic, GoesPastWhatIsMissing) {
  found_ = error(Code::unavailable, "no library");
  for (Proof proof : {Proof::counted, Proof::opened}) {
    auto chosen = choose_automatically(proof, table_);
    ASSERT_TRUE(chosen.ok());
    EXPECT_EQ(chosen->kind, DeviceKind::cpu);
    ASSERT_EQ(chosen->passed.size(), 1u);
    EXPECT_EQ(chosen->passed[0].kind, DeviceKind::cuda);
    EXPECT_TRUE(chosen->passed[0].missing);
    EXPECT_EQ(chosen->passed[0].reason.message(), "no library");
  }
}

TEST_F(Automatic, SaysWhatIsWrongWithWhatIsThere) {
  count_ = 0;
  auto none = choose_automatically(Proof::counted, table_);
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->kind, DeviceKind::cpu);
  EXPECT_FALSE(none->passed[0].missing);
  EXPECT_EQ(none->passed[0].reason.message(), "there is no first device here");

  // Whatever the words: that something is missing is a matter of find().
  opens_ = error(Code::internal, "libcuda.so.1 is broken");
  auto broken = choose_automatically(Proof::opened, table_);
  ASSERT_TRUE(broken.ok());
  EXPECT_EQ(broken->kind, DeviceKind::cpu);
  EXPECT_FALSE(broken->passed[0].missing);
  EXPECT_EQ(broken->passed[0].reason.message(), "libcuda.so.1 is broken");
}

TEST_F(Automatic, IsAKindThatRunsWhatTheProgramCalls) {
  auto table = table_;
  table[1].runtime = "CUDA";
  EXPECT_EQ(choose_automatically(Proof::counted, table, "CUDA")->kind, DeviceKind::cuda);
  EXPECT_EQ(choose_automatically(Proof::counted, table)->kind, DeviceKind::cuda) << "what it calls is not known";
  auto other = choose_automatically(Proof::counted, table, "HIP");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(other->kind, DeviceKind::cpu);
  EXPECT_TRUE(other->passed.empty()) << "nothing is wrong with the first";
}

TEST_F(Automatic, WhatTheSystemShowsIsNotCounted) {
  count_ = error(Code::internal, "the driver was started");
  EXPECT_EQ(choose_automatically(Proof::shown, table_)->kind, DeviceKind::cpu) << "not shown: it is counted";
  shown_ = true;
  EXPECT_EQ(choose_automatically(Proof::shown, table_)->kind, DeviceKind::cuda);
  EXPECT_EQ(choose_automatically(Proof::counted, table_)->kind, DeviceKind::cpu) << "all others count";
  found_ = error(Code::unavailable, "no library");
  EXPECT_EQ(choose_automatically(Proof::shown, table_)->kind, DeviceKind::cpu) << "nothing can use what is shown";
}

TEST_F(Automatic, FailsWithAllReasonsWhereNoneGivesTheProof) {
  found_ = error(Code::unavailable, "no library");
  EXPECT_EQ(choose_automatically(Proof::counted, std::span(table_).first(2)).status().to_string(),
            "unavailable: opening the best device: none opens (cuda: no library)");
}

}  // namespace
}  // namespace mneme
