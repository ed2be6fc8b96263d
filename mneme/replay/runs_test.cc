// What is seen from one run to the next. The device is a fake of the CPU's kind: a session compiles for it as for that, and what
// a launch does is a function of the test's, which knows how many there were.
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <optional>
#include <set>

#include "mneme/device/fake/fake_device.h"
#include "mneme/measure/stopping_rule.h"
#include "mneme/replay/compile_request.h"
#include "mneme/replay/determinism.h"
#include "mneme/replay/testing/made_recording.h"

namespace mneme {
namespace {

using testing_replay::MadeDatabase;
using testing_replay::MadeRecording;

constexpr DevicePtr kOut = kDefaultAddressSpaceBase;
constexpr size_t kSize = 1000;
const std::string kIr = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@state = addrspace(1) global i32 5
define ptx_kernel void @work(ptr %out) {
  store i32 1, ptr addrspace(1) @state
  ret void
}
)";

class RunsTest : public testing::Test {
 protected:
  void SetUp() override {
    DeviceProperties properties = fake::FakeDevice::default_properties();
    properties.kind = DeviceKind::cpu;
    properties.architecture = "x86-64-v3";
    properties.allocation_granularity = kPageSize;  // little to compare, so that a run is short on any machine
    device_ = std::make_unique<fake::FakeDevice>(properties);
    device_->define_kernel("work", [this](const fake::FakeLaunch&) -> Status {
      ++launches_;
      if (on_launch_) on_launch_();
      if (!wrong_.contains(launches_)) std::fill_n(at(kOut), kSize, kRight);
      return {};
    });
    auto state = device_->define_global("state", Bytes(sizeof(uint32_t)));
    ASSERT_TRUE(state.ok());
    state_ = reinterpret_cast<uint32_t*>(state->address.address);
    *state_ = 5;
    configuration_.verdict.mask = false;
    configuration_.execution.iterations = 3;
  }

  void prepare(std::byte before) {
    MadeRecording made;
    made.kernel.name = made.kernel.demangled = "work";
    made.ir = kIr;
    made.grid = made.block = {1, 1, 1};
    made.pointer("out", kOut);
    made.regions = {{Region::Kind::allocation, kOut, "", ByteVector(kSize, before), ByteVector(kSize, kRight)}};
    auto instance = recordings_.publish(made);
    ASSERT_TRUE(instance.ok()) << instance.status().to_string();
    instance_ = *instance;
    auto database = Database::open(recordings_.directory());
    ASSERT_TRUE(database.ok()) << database.status().to_string();
    database_ = std::make_unique<Database>(std::move(*database));
    begin_session();
    auto compiler = Compiler::create(DeviceKind::cpu, "x86-64-v3");
    ASSERT_TRUE(compiler.ok()) << compiler.status().to_string();
    auto code =
        (*compiler)->compile(session_->recorded_code(), compile_options(configuration_, session_->kernel(), session_->plan()));
    ASSERT_TRUE(code.ok()) << code.status().to_string();
    code_ = std::move(*code);
  }

  void begin_session() {
    session_.reset();
    auto session = Session::prepare(*database_, instance_.static_hash, instance_.dynamic_hash, *device_);
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    session_ = std::move(*session);
  }
  // Where each run is waited for, which is so as long as nobody knows how long one takes.
  ReplayResult measure_first() {
    begin_session();
    if (masked_) keep_masked(*masked_);
    return measure();
  }
  ReplayResult measure(const RunWatch& watch = {}) {
    launches_ = 0;
    return session_->measure(configuration_, code_, watch);
  }
  // Where all runs are started before the first is waited for, which is so once a run has been short.
  ReplayResult measure_at_once(const RunWatch& watch = {}) {
    for (int i = 0; i < 1000; ++i) {
      const std::set<int> wrong = std::exchange(wrong_, {});
      EXPECT_TRUE(measure().verified);
      wrong_ = wrong;
      ReplayResult result = measure(watch);
      for (const StageTime& time : result.times)
        if (time.stage == "start") return result;
    }
    ADD_FAILURE() << "no run was short";
    return {};
  }
  // Wrong in its last launch, each way.
  void expect_last_refused(const RunWatch& watch = {}) {
    wrong_.clear();
    EXPECT_TRUE(measure_first().verified);
    wrong_ = {launches_};
    expect_refused(measure_first());
    wrong_.clear();
    EXPECT_TRUE(measure_at_once().verified);
    wrong_ = {launches_};
    expect_refused(measure_at_once(watch));
  }
  static void expect_refused(const ReplayResult& result) {
    EXPECT_TRUE(result.failure.ok() && result.executed) << result.failure.to_string();
    EXPECT_FALSE(result.verified);
    EXPECT_TRUE(result.exec_time.empty());
    EXPECT_FALSE(result.mismatches.empty());
  }
  // The memory as `value`, kept as what the runs begin with where they are masked.
  void keep_masked(std::byte value) {
    masked_ = value;
    std::fill_n(at(kOut), kSize, value);
    ASSERT_TRUE(session_->memory().keep_masked({{kOut, kPageSize}}, Bytes(kSize)).ok());
    configuration_.verdict.mask = true;
  }
  static std::byte* at(DevicePtr address) { return reinterpret_cast<std::byte*>(address.address); }

  static constexpr std::byte kRight{7};
  MadeDatabase recordings_;
  std::unique_ptr<fake::FakeDevice> device_;
  std::unique_ptr<Database> database_;
  InstanceRecord instance_;
  std::unique_ptr<Session> session_;
  std::optional<std::byte> masked_;  // where there is some
  CompiledCode code_;
  Configuration configuration_;
  uint32_t* state_ = nullptr;
  int launches_ = 0;
  std::set<int> wrong_;  // launches of a measurement that do nothing, from 1 on
  std::function<void()> on_launch_;
};

TEST_F(RunsTest, WhatIsRightIsVerifiedAndTimed) {
  prepare(std::byte{0});
  ReplayResult result = measure_first();
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_EQ(result.exec_time.size(), 3u);
  EXPECT_EQ(launches_, 4);
  result = measure_at_once();
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_EQ(result.exec_time.size(), 3u);
  EXPECT_EQ(launches_, result.verified_run_timed ? 3 : 4);
}

TEST_F(RunsTest, AResultSaysWhatItIsOf) {
  prepare(std::byte{0});
  const RecordedTime time{"cuda_event", 400.0, 3, 200.0, 300.0};
  auto database = Database::create(recordings_.directory());
  ASSERT_TRUE(database.ok() && database->set_recorded_times(instance_.static_hash, {{instance_.dynamic_hash, time}}).ok());
  configuration_.execution.iterations = 1;
  for (const ReplayResult& result : {measure_first(), measure_at_once()}) {
    EXPECT_EQ(result.stage, ReplayStage::done);
    EXPECT_EQ(result.device, device_->properties().name);
    EXPECT_EQ(result.device_kind, DeviceKind::cpu);
    EXPECT_EQ(result.recorded_on, instance_.device_kind);
    EXPECT_EQ(result.recorded_time, time);
    EXPECT_EQ(result.shape, recorded_shape(instance_));
    EXPECT_EQ(result.obj_size, Bytes(code_.image.bytes.size()));
    EXPECT_EQ(result.obj_hash, code_.digest);
    EXPECT_EQ(result.assembler, code_.assembler);
    EXPECT_EQ(result.instructions, code_.facts.instructions);
    EXPECT_EQ(result.clock_source, device_->clock()->source);
    EXPECT_EQ(result.times.front().stage, "session");
  }
}

TEST_F(RunsTest, WhatIsWrongInItsLastTimedRunIsNotVerified) {
  prepare(std::byte{0});
  for (unsigned warm_up : {0u, 2u}) {
    configuration_.execution.warm_up = warm_up;
    expect_last_refused();
  }
}

// Of more launches than are started at once the last is another's.
// Also once runs have been short, when others are all started before the first is looked at.
TEST_F(RunsTest, AToleranceHoldsInEachRun) {
  prepare(std::byte{0});
  ASSERT_TRUE(measure_at_once().verified);
  configuration_.tolerance = {{"out", {ElementType::u8, 1, ErrorKind::absolute}}};
  uint8_t off = 1;
  on_launch_ = [&] { std::fill_n(at(kOut), kSize, std::byte(7 + off)); };
  wrong_ = {1, 2, 3, 4, 5};  // nothing more
  const ReplayResult within = measure();
  EXPECT_TRUE(within.verified) << describe_wrong(within);
  EXPECT_EQ(within.exec_time.size(), 3u);
  ASSERT_EQ(within.tolerances.size(), 1u);
  EXPECT_EQ(within.tolerances[0].differences.worst, 1);
  off = 2;
  expect_refused(measure());
  // In the last run only.
  on_launch_ = [&] { std::fill_n(at(kOut), kSize, std::byte(7 + (launches_ < 4 ? 1 : 2))); };
  expect_refused(measure());
}

TEST_F(RunsTest, TheLastOfManyLaunchesIsTheOneThatIsChecked) {
  configuration_.execution = {.stop = StopWhen::relative_error, .min_iterations = 100};
  prepare(std::byte{0});
  EXPECT_EQ(measure().exec_time.size(), 100u);
  expect_last_refused();
}

// Of launches that come in batches the last of the first batch is checked: later ones, which may be right, do not overrule that.
TEST_F(RunsTest, TheLastOfTheFirstBatchIsCheckedToo) {
  configuration_.execution = {.stop = StopWhen::relative_error, .min_iterations = 100};
  prepare(std::byte{0});
  EXPECT_EQ(measure_at_once().exec_time.size(), 100u);
  wrong_ = {1 + static_cast<int>(StoppingRule::kLargestBatch)};
  expect_refused(measure_at_once());
}

TEST_F(RunsTest, TimesAreNotLeftForLaterWhereTheLastRunIsWrong) {
  prepare(std::byte{0});
  RunWatch watch;
  watch.leave_times = [] { return true; };
  ReplayResult result = measure_at_once(watch);
  EXPECT_TRUE(result.verified && result.exec_time.empty());
  ReplayResult* left = &result;
  EXPECT_TRUE(session_->add_left_times({&left, 1}).ok());
  EXPECT_EQ(result.exec_time.size(), 3u);
  expect_last_refused(watch);
}

// Where the memory is right before the launch, a run that does nothing is found by the masked memory that it begins with.
TEST_F(RunsTest, TheLastTimedRunBeginsMaskedAsTheVerifiedOneDoes) {
  prepare(kRight);
  keep_masked(std::byte{99});
  expect_last_refused();
  wrong_ = {1};
  expect_refused(measure_first());
  expect_refused(measure_at_once());
  wrong_.clear();
  const ReplayResult result = measure_at_once();
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_EQ(result.mask, "on");
}

// The memory, and what the code has of its own.
TEST_F(RunsTest, EveryRunBeginsAsTheFirstDoes) {
  configuration_.execution.warm_up = 2;
  prepare(std::byte{3});
  on_launch_ = [&] {
    EXPECT_EQ(*state_, 5u) << launches_;
    EXPECT_EQ(*at(kOut), std::byte{3}) << launches_;
    EXPECT_EQ(*(at(kOut) + kSize - 1), std::byte{3}) << launches_;
    *state_ = 1;
  };
  EXPECT_TRUE(measure().verified);
  EXPECT_EQ(launches_, 6);
  EXPECT_TRUE(measure_at_once().verified);
  launches_ = 0;
  EXPECT_TRUE(session_->repeat(configuration_, 3, [](unsigned, const auto&, const auto&) { return Status(); }).verified);
  EXPECT_EQ(launches_, 3);
}

TEST_F(RunsTest, OwnStateThatCannotBeKeptIsAFailureWithItsName) {
  prepare(std::byte{0});
  int left = 0;
  device_->set_failures(
      [&](std::string_view call) { return call == "allocate" && left-- == 0 ? error(Code::exhausted, "no room") : Status(); });
  const ReplayResult result = measure();
  EXPECT_EQ(result.failure.to_string(), "exhausted: keeping what the compiled code's own variable 'state' begins with: no room");
}

// The largest of several runs, whichever it was of.
TEST_F(RunsTest, TheToleranceOfRunsThatDifferIsThatOfTheLargestError) {
  prepare(std::byte{0});
  // What 7s make of a number, and its neighbours.
  const std::vector<std::vector<uint32_t>> orders = {{1, 3, 2}, {3, 2, 1}, {1, 2, 3}, {0, 3, 0}};
  for (const std::vector<uint32_t>& ulps : orders) {
    launches_ = 0;
    on_launch_ = [&] {
      std::fill_n(at(kOut), kSize, kRight);
      uint32_t first;
      std::memcpy(&first, at(kOut), sizeof first);
      first += ulps.at(static_cast<size_t>(launches_ - 1));
      std::memcpy(at(kOut), &first, sizeof first);
    };
    wrong_ = {1, 2, 3};  // nothing more
    const TypedRange out{"argument 'out'", "out", 0, 0, Bytes(kSize), ElementType::f32};
    const Behaviour behaviour = observe_behaviour(*session_, configuration_, 3, {out});
    EXPECT_TRUE(behaviour.result.failure.ok()) << behaviour.result.failure.to_string();
    EXPECT_FALSE(behaviour.deterministic || behaviour.result.verified);
    ASSERT_EQ(behaviour.ranges.size(), 1u);
    EXPECT_EQ(behaviour.ranges[0].contents, std::set<uint32_t>(ulps.begin(), ulps.end()).size());
    EXPECT_EQ(behaviour.ranges[0].unlike_recorded, static_cast<unsigned>(3 - std::count(ulps.begin(), ulps.end(), 0u)));
    EXPECT_EQ(behaviour.ranges[0].tolerance, (Tolerance{ElementType::f32, 3, ErrorKind::ulp}));
  }
}

}  // namespace
}  // namespace mneme
