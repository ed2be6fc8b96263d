// What is seen from one run to the next. The device is a fake of the CPU's kind: a session compiles for it as for that, and what
// a launch does is a function of the test's, which knows how many there were.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "mneme/device/fake/fake_device.h"
#include "mneme/measure/stopping_rule.h"
#include "mneme/replay/compile_request.h"
#include "mneme/replay/determinism.h"
#include "mneme/replay/fault_words.h"
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

DeviceProperties cpu_properties() {
  DeviceProperties properties = fake::FakeDevice::default_properties();
  properties.kind = DeviceKind::cpu;
  properties.architecture = "x86-64-v3";
  properties.allocation_granularity = kPageSize;  // little to compare, so that a run is short on any machine
  return properties;
}

class RunsTest : public testing::Test {
 protected:
  void SetUp() override { use(cpu_properties()); }
  void use(const DeviceProperties& properties) {
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
        (*compiler)->compile(**session_->code_of({}), compile_options(configuration_, session_->kernel(), session_->plan()));
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
  device_->set_clock_readings({{1500, {}}});
  EXPECT_TRUE(measure_at_once().clocks.has_value());
}

TEST_F(RunsTest, AResultSaysWhatItIsOf) {
  prepare(std::byte{0});
  const RecordedTime time{"cuda_event", 400.0, 3, 200.0, 300.0};
  auto database = Database::create(recordings_.directory());
  ASSERT_TRUE(database.ok() && database->set_recorded_times(instance_.static_hash, {{instance_.dynamic_hash, time}}).ok());
  device_->set_clock_readings({{1500, {}}});
  configuration_.execution.iterations = 1;
  for (const ReplayResult& result : {measure_first(), measure_at_once()}) {
    EXPECT_TRUE(result.clocks.has_value());
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
  const ReplayResult beyond = measure();
  expect_refused(beyond);
  ASSERT_EQ(beyond.tolerances.size(), 1u);
  EXPECT_EQ(beyond.tolerances[0].differences.worst, 2);
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

TEST_F(RunsTest, WhatTheCallerDeclinesLeavesNoTimesToTheNext) {
  prepare(std::byte{0});
  RunWatch watch;
  watch.verified = [](const ReplayResult&) { return false; };
  ReplayResult result = measure_at_once(watch);
  EXPECT_TRUE(result.verified && result.exec_time.empty());
  result = measure();
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_EQ(result.exec_time.size(), 3u);
}

TEST_F(RunsTest, WhatFailsOnTheWayLeavesNothingToTheNext) {
  prepare(std::byte{0});
  for (const char* failing : {"launch", "launch_timed", "compare_later", "take_comparisons"}) {
    for (int after = 0; after < 4; ++after) {
      EXPECT_TRUE(measure_at_once().verified);
      int left = after;
      device_->set_failures(
          [&](std::string_view call) { return call == failing && left-- == 0 ? error(Code::exhausted, "no room") : Status(); });
      const ReplayResult failed = measure();
      device_->set_failures({});
      EXPECT_EQ(failed.failure.ok(), left >= 0) << failing << " " << after;
      for (int i = 0; i < 2; ++i) {
        const ReplayResult next = measure();
        EXPECT_TRUE(next.verified) << failing << " " << after << ": " << next.failure.to_string();
        EXPECT_EQ(next.exec_time.size(), 3u) << failing << " " << after;
      }
    }
  }
}

TEST_F(RunsTest, ARunThatWasWrongOnceOnlyIsToldByWhereItWas) {
  prepare(std::byte{0});
  EXPECT_TRUE(measure_at_once().verified);
  wrong_ = {1};
  const ReplayResult result = measure_at_once();
  expect_refused(result);
  ASSERT_EQ(result.mismatches.size(), 1u);
  EXPECT_EQ(result.mismatches[0].where, "a run that another of the same code was not like");
  EXPECT_EQ(result.mismatches[0].address, kOut);
}

// What a candidate is made of where the pool has another one at hand: nothing is waited for but the checks, and memory is put
// back once a launch.
TEST_F(RunsTest, ACandidateTakesNoMoreStepsThanItHasRunsAndChecks) {
  configuration_.execution.iterations = 7;
  prepare(std::byte{0});
  RunWatch watch;
  watch.followed = [] { return true; };
  watch.leave_times = [] { return true; };
  EXPECT_TRUE(measure_at_once().verified);
  const auto is_at_once = [](const ReplayResult& measured) {
    return std::ranges::any_of(measured.times, [](const StageTime& time) { return time.stage == "start"; });
  };
  size_t before = 0;
  ReplayResult result;
  for (bool both = false; !both;) {
    const bool first = is_at_once(measure(watch));
    before = device_->calls().size();
    result = measure(watch);
    both = first && is_at_once(result);
  }
  ASSERT_TRUE(result.verified) << result.failure.to_string();
  std::map<std::string, int> steps;
  const auto calls = device_->calls();
  for (size_t i = before; i < calls.size(); ++i) ++steps[calls[i]];
  const int launches = result.verified_run_timed ? 7 : 8;
  EXPECT_EQ(steps["launch"] + steps["launch_timed"], launches);
  EXPECT_EQ(steps["copy"], 2 * launches) << "of what the kernel changes, and of the code's own variable";
  EXPECT_EQ(steps["hash_pages_to"], 2);
  EXPECT_EQ(steps["compare_later"], 2);
  EXPECT_EQ(steps["take_comparisons"], 1);
  for (const char* other : {"fill", "copy_to_device", "copy_to_host", "hash_pages", "compare", "synchronize", "take_times"})
    EXPECT_EQ(steps[other], 0) << other;
}

// Where memory is restored for the next one behind it, a candidate is measured as else, and so is the next.
TEST_F(RunsTest, WhatIsFollowedIsVerifiedAsWhatIsNot) {
  prepare(std::byte{3});
  RunWatch watch;
  bool asked = false;
  watch.followed = [&] { return asked = true; };
  on_launch_ = [&] {
    EXPECT_EQ(*state_, 5u) << launches_;
    EXPECT_EQ(*at(kOut), std::byte{3}) << launches_;
    EXPECT_EQ(*(at(kOut) + kSize - 1), std::byte{3}) << launches_;
    *state_ = 1;
  };
  for (int i = 0; i < 3; ++i) {
    const ReplayResult result = measure_at_once(watch);
    EXPECT_TRUE(result.verified && asked);
    EXPECT_EQ(result.exec_time.size(), 3u);
  }
  for (const int wrong : {1, launches_}) {
    wrong_ = {wrong};
    expect_refused(measure_at_once(watch));
    wrong_.clear();
    EXPECT_TRUE(measure_at_once(watch).verified);
  }
}

// What the last run has left is made again to be looked at, since the memory was restored behind it.
TEST_F(RunsTest, AWrongEndIsShownAlsoWhereItIsFollowed) {
  prepare(std::byte{0});
  RunWatch watch;
  watch.followed = [] { return true; };
  watch.leave_times = [] { return true; };
  EXPECT_TRUE(measure_at_once(watch).verified);
  const int launches = launches_;
  // Wrong whenever the last launch is made.
  for (int i = 1; i <= 3; ++i) wrong_.insert(i * launches);
  const ReplayResult shown = measure_at_once(watch);
  expect_refused(shown);
  ASSERT_EQ(shown.mismatches.size(), 1u);
  EXPECT_EQ(shown.mismatches[0].differing_bytes, kSize);
  wrong_ = {launches};
  const ReplayResult once = measure_at_once(watch);
  expect_refused(once);
  ASSERT_EQ(once.mismatches.size(), 1u);
  EXPECT_EQ(once.mismatches[0].where, "a run that another of the same code was not like");
  EXPECT_EQ(once.mismatches[0].address, kOut);
  wrong_.clear();
  EXPECT_TRUE(measure_at_once().verified);
}

TEST_F(RunsTest, AFaultNamesTheKernelAndItsLaunch) {
  prepare(std::byte{0});
  device_->define_kernel("work", [](const fake::FakeLaunch&) { return error(Code::device_fault, "it trapped"); });
  begin_session();
  const ReplayResult result = measure();
  EXPECT_EQ(result.stage, ReplayStage::running);
  EXPECT_EQ(result.failure.to_string(), name_kernel(error(Code::device_fault, "it trapped"), "work", *result.shape).to_string());
  EXPECT_NE(result.failure.message().find("work"), std::string::npos) << result.failure.message();
}

TEST_F(RunsTest, CodeThatHasLostTheKernelIsAFailureThatSaysHow) {
  prepare(std::byte{0});
  session_.reset();
  fake::FakeDevice empty(cpu_properties());
  auto session = Session::prepare(*database_, instance_.static_hash, instance_.dynamic_hash, empty);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  const ReplayResult result = (*session)->measure(configuration_, code_);
  EXPECT_EQ(result.failure.code(), Code::not_found);
  EXPECT_EQ(
      result.failure.message().rfind("the compiled code has lost the kernel, as a pipeline that internalises symbols does: ", 0),
      0u)
      << result.failure.message();
}

TEST_F(RunsTest, ARehearsalThatFailsIsForTheReplaysToTell) {
  prepare(std::byte{0});
  int left = 0;
  device_->set_failures(
      [&](std::string_view call) { return call == "launch" && left-- == 0 ? error(Code::exhausted, "no room") : Status(); });
  EXPECT_TRUE(session_->rehearse().ok());
  on_launch_ = [&] { device_->set_failures({}); };
  EXPECT_TRUE(measure().verified);
}

TEST_F(RunsTest, CodeThatIsSharedHasItsResourcesInEachResult) {
  fake::FakeKernel kernel;
  kernel.body = [](const fake::FakeLaunch&) -> Status {
    std::fill_n(at(kOut), kSize, kRight);
    return {};
  };
  kernel.resources = {40u, Bytes(16), Bytes(32), Bytes(64), 1024u};
  device_->define_kernel("work", kernel);
  prepare(std::byte{0});
  EXPECT_TRUE(measure().verified);
  Configuration same = configuration_;
  same.passes = "default<O2>,verify";
  const ReplayResult result = session_->measure(same, code_);
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_EQ(result.shared_with, configuration_.digest());
  EXPECT_EQ(result.reg_usage, 40u);
  EXPECT_EQ(result.local_mem_usage, Bytes(16));
  EXPECT_EQ(result.const_mem_usage, Bytes(32));
  EXPECT_EQ(result.shared_mem_usage, Bytes(64));
}

// Of more objects than are kept the first that was loaded goes.
TEST_F(RunsTest, TheNewestObjectsStayLoaded) {
  prepare(std::byte{0});
  const auto loads_of = [&](int number) {
    CompiledCode code = code_;
    code.translation_digest = digest_of(std::as_bytes(std::span(&number, 1)));
    const auto loads = [&] {
      const std::vector<std::string> calls = device_->calls();
      return std::count(calls.begin(), calls.end(), "load");
    };
    const auto before = loads();
    EXPECT_TRUE(session_->load_ahead(configuration_, code).ok());
    return loads() - before;
  };
  constexpr int kObjects = 70;  // more than are kept
  for (int i = 0; i < kObjects; ++i) EXPECT_EQ(loads_of(i), 1) << i;
  for (int i = kObjects - 10; i < kObjects; ++i) EXPECT_EQ(loads_of(i), 0) << i;
  EXPECT_EQ(loads_of(0), 1);
}

TEST_F(RunsTest, NotesOfWhoComesWhereTakeNoMoreThanAPartOfTheMemory) {
  DeviceProperties properties = cpu_properties();
  properties.total_memory = 1_MiB;
  use(properties);
  prepare(std::byte{0});
  EXPECT_EQ(session_->find_races(configuration_, {}).not_looked,
            "notes of who comes where take 1.50 MiB, and only 256 KiB of the device's memory may be theirs");
}

// A variable that the kernel writes and does not read begins masked, unless the recorded code is then not right each time.
TEST(MaskedGlobals, ThatTheRecordedCodeDoesNotMakeRightAreNot) {
  for (const Status& failure : {Status(), error(Code::exhausted, "no room")}) {
    for (int bad : {0, 2, 3}) {
      fake::FakeDevice device(cpu_properties());
      auto global = device.define_global("result", Bytes(sizeof(uint32_t)));
      ASSERT_TRUE(global.ok() && device.define_global("factor", Bytes(sizeof(uint32_t))).ok());
      auto* result = reinterpret_cast<uint32_t*>(global->address.address);
      int launches = 0;
      device.define_kernel("work", [&](const fake::FakeLaunch&) -> Status {
        if (++launches == bad) return failure;
        *result = 7;
        return {};
      });
      MadeRecording made;
      made.kernel.name = made.kernel.demangled = "work";
      made.kernel.globals = {{"factor", 4, 4, false, false, false}, {"result", 4, 4, false, false, false}};
      made.ir = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@factor = addrspace(1) externally_initialized global i32 0
@result = addrspace(1) externally_initialized global i32 0
define ptx_kernel void @work(i32 %n) {
  %factor = load i32, ptr addrspace(1) @factor
  store i32 %factor, ptr addrspace(1) @result
  ret void
}
)";
      made.grid = made.block = {1, 1, 1};
      made.argument(Parameter::Kind::integer, "n", "i32", 1);
      const ByteVector seven = testing_replay::bytes_of<uint32_t>({7});
      made.regions = {{Region::Kind::global, kEmulatedGlobalsBase + Bytes(4096), "result", seven, seven},
                      {Region::Kind::global, kEmulatedGlobalsBase + Bytes(8192), "factor", seven, seven}};
      MadeDatabase database;
      auto session = database.prepare(made, device);
      ASSERT_TRUE(session.ok()) << session.status().to_string();
      Configuration configuration;
      configuration.execution.iterations = 1;
      const ReplayResult replayed = (*session)->replay(configuration);
      EXPECT_TRUE(replayed.verified) << bad << ": " << replayed.failure.to_string();
      EXPECT_EQ(replayed.mask == "on", bad == 0) << bad << ": " << replayed.mask;
      EXPECT_EQ(replayed.masked_bytes, Bytes(bad == 0 ? 4 : 0)) << bad;
      EXPECT_EQ((*session)->why_no_mask().empty(), bad == 0) << bad;
      const int before = launches;
      EXPECT_TRUE((*session)->replay(configuration).verified) << bad;
      EXPECT_EQ(launches - before, 2) << "a mask is looked for once";
      EXPECT_EQ((*session)->find_races(configuration, {}).not_looked, "the launch has no memory at recorded addresses");
    }
  }
}

TEST_F(RunsTest, OwnStateThatCannotBeKeptIsAFailureWithItsName) {
  prepare(std::byte{0});
  int left = 0;
  device_->set_failures(
      [&](std::string_view call) { return call == "allocate" && left-- == 0 ? error(Code::exhausted, "no room") : Status(); });
  const ReplayResult result = measure();
  EXPECT_EQ(result.failure.to_string(), "exhausted: keeping what the compiled code's own variable 'state' begins with: no room");
}

TEST_F(RunsTest, WholeNumbersAndBytesThatDifferAreSeenToo) {
  prepare(std::byte{0});
  wrong_ = {1, 2, 3};  // nothing more
  on_launch_ = [&] {
    std::fill_n(at(kOut), kSize, kRight);
    *at(kOut) = std::byte(7 + launches_);
  };
  const Tolerance three{ElementType::i32, 3, ErrorKind::absolute};
  for (const std::optional<ElementType> type : {std::optional(ElementType::i32), std::optional<ElementType>()}) {
    launches_ = 0;
    const Behaviour behaviour =
        observe_behaviour(*session_, configuration_, 3, {{"argument 'out'", "out", 0, 0, Bytes(kSize), type}});
    EXPECT_FALSE(behaviour.deterministic);
    ASSERT_EQ(behaviour.ranges.size(), 1u);
    EXPECT_EQ(behaviour.ranges[0].contents, 3u);
    EXPECT_EQ(behaviour.ranges[0].tolerance, type ? std::optional(three) : std::nullopt) << behaviour.ranges[0].no_tolerance;
  }
}

// The largest of several runs, whichever it was of.
TEST_F(RunsTest, TheToleranceOfRunsThatDifferIsThatOfTheLargestError) {
  prepare(std::byte{0});
  // What 7s make of a number, and its neighbours.
  const std::vector<std::vector<uint32_t>> orders = {{1, 3, 2}, {3, 2, 1},          {1, 2, 3},
                                                     {0, 3, 0}, {6000, 3000, 2000}, {2000, 6000, 3000}};
  std::optional<Tolerance> of_many;  // ULPs
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
    if (ulps[1] < 1000) {
      EXPECT_EQ(behaviour.ranges[0].tolerance, (Tolerance{ElementType::f32, 3, ErrorKind::ulp}));
      continue;
    }
    ASSERT_TRUE(behaviour.ranges[0].tolerance.has_value()) << behaviour.ranges[0].no_tolerance;
    EXPECT_EQ(behaviour.ranges[0].tolerance->error, ErrorKind::relative);
    if (of_many) EXPECT_EQ(behaviour.ranges[0].tolerance, of_many);
    of_many = behaviour.ranges[0].tolerance;
  }
}

}  // namespace
}  // namespace mneme
