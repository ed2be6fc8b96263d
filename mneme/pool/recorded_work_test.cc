// What workers do, in one process on the CPU device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/pool/candidate_code.h"
#include "mneme/pool/compile_work.h"
#include "mneme/pool/device_work.h"
#include "mneme/pool/testing/scaled.h"

namespace mneme {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;
using testing_replay::MadeRecording;
using testing_replay::scaled;
using Json = nlohmann::json;

class RecordedWorkTest : public ::testing::Test {
 protected:
  void open(const std::vector<MadeRecording>& launches, std::vector<double> weights = {}) {
    PoolSetup setup;
    setup.weights = std::move(weights);
    for (const MadeRecording& made : launches) {
      auto instance = database_.publish(made);
      ASSERT_TRUE(instance.ok()) << instance.status().to_string();
      setup.static_hash = instance->static_hash;
      setup.instances.push_back(instance->dynamic_hash);
    }
    setup.database = database_.directory();
    setup.device_kind = DeviceKind::cpu;
    auto read = pool_setup_from_json(to_json(setup));
    ASSERT_TRUE(read.ok()) << read.status().to_string();
    auto recorded = RecordedKernel::load(*read);
    ASSERT_TRUE(recorded.ok()) << recorded.status().to_string();
    recorded_ = std::move(*recorded);
    auto device = Device::open(DeviceKind::cpu);
    ASSERT_TRUE(device.ok()) << device.status().to_string();
    device_ = std::move(*device);
    auto compile = create_compile_work(*recorded_, DeviceKind::cpu, device_->properties().architecture);
    ASSERT_TRUE(compile.ok()) << compile.status().to_string();
    compile_ = std::move(*compile);
    auto work = create_device_work(*recorded_, *device_);
    ASSERT_TRUE(work.ok()) << work.status().to_string();
    work_ = std::move(*work);
  }

  AssembledCode assemble(const Configuration& configuration) {
    auto translated = compile_->translate(configuration);
    EXPECT_TRUE(translated.ok()) << translated.status().to_string();
    about_ = translated->about;
    compile_->keep();
    auto code = std::move(compile_->assemble()[0]);
    EXPECT_TRUE(code.ok()) << code.status().to_string();
    return std::move(*code);
  }
  PoolResult measure(const Configuration& configuration, const DeviceWork::Watch& watch) {
    const AssembledCode code = assemble(configuration);
    return work_->measure(configuration, code.object, code.description, watch);
  }
  PoolResult measure(const Configuration& configuration) {
    return measure(configuration, {[](auto) { return true; }, [] { return true; }});
  }

  testing_replay::MadeDatabase database_;
  std::unique_ptr<RecordedKernel> recorded_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<CompileWork> compile_;
  std::unique_ptr<DeviceWork> work_;
  Json about_;
};

Configuration timed(unsigned iterations) {
  Configuration configuration;
  configuration.execution.iterations = iterations;
  return configuration;
}

TEST_F(RecordedWorkTest, MeasuresWhatWasCompiled) {
  open({scaled(1000, 3)});
  PoolResult result = measure(timed(4));
  EXPECT_FALSE(result.failed()) << result.reason;
  EXPECT_THAT(result.exec_time(), SizeIs(4));
  EXPECT_TRUE(result.details.together.verified);
  EXPECT_FALSE(to_json(result.details).contains("error")) << "what says nothing is left out";
  EXPECT_TRUE(about_["times"].contains("optimise")) << about_;
}

TEST_F(RecordedWorkTest, WhatIsWrongSaysWhatDiffersAndIsNotTimed) {
  open({scaled(1000, 3)});
  Configuration configuration = timed(4);
  configuration.grid.x = 3;
  PoolResult result = measure(configuration);
  EXPECT_EQ(result.failure, Failure::wrong_result);
  EXPECT_THAT(result.reason, StartsWith("memory differs in 1 place, first argument 'p' ("));
  EXPECT_TRUE(result.exec_time().empty());
  EXPECT_THAT(result.details.together.mismatches, SizeIs(1));
}

TEST_F(RecordedWorkTest, ALaunchThatCannotBeIsToldBeforeAndAfterCompiling) {
  open({scaled(1000, 3)});
  Configuration configuration;
  configuration.block.x = 2000;
  EXPECT_TRUE(compile_->check_launch(configuration).ok());
  PoolResult result = measure(configuration);
  EXPECT_EQ(result.failure, Failure::invalid_launch);
  EXPECT_THAT(result.reason, HasSubstr("1024"));

  configuration.block.x = 7;
  configuration.keep_threads = true;
  EXPECT_EQ(compile_->check_launch(configuration).code(), Code::invalid_argument);
}

TEST_F(RecordedWorkTest, ALaunchMustBePossibleOfEveryInstance) {
  open({scaled(1000, 3), scaled(500, 3)});
  Configuration configuration;
  configuration.keep_threads = true;
  configuration.block.x = 512;
  EXPECT_TRUE(compile_->check_launch(configuration).ok());
  configuration.block.x = 1024;
  EXPECT_EQ(compile_->check_launch(configuration).code(), Code::invalid_argument) << "the second has 512 threads";
}

TEST_F(RecordedWorkTest, EachStageIsToldOnce) {
  open({scaled(1000, 3)});
  const AssembledCode code = assemble(timed(1));
  ASSERT_FALSE(about_["times"].empty());
  ASSERT_FALSE(code.description["times"].empty());
  for (const auto& [stage, time] : code.description["times"].items()) EXPECT_FALSE(about_["times"].contains(stage)) << stage;
}

TEST_F(RecordedWorkTest, WhatWasExpectedIsNotTakenForWhatCame) {
  open({scaled(1000, 3)});
  Configuration other = timed(1);
  other.codegen.level = 0;
  const AssembledCode expected = assemble(timed(1)), came = assemble(other);
  ASSERT_NE(expected.description["digest"], came.description["digest"]);
  const DeviceWork::Watch watch{[](auto) { return true; }, [] { return true; }};
  // As when the expected job was given up and its memory is another's.
  ByteVector place(std::max(expected.object.size(), came.object.size()));
  std::copy(expected.object.begin(), expected.object.end(), place.begin());
  work_->expect(timed(1), ByteSpan(place).first(expected.object.size()), expected.description);
  std::copy(came.object.begin(), came.object.end(), place.begin());
  PoolResult result = work_->measure(other, ByteSpan(place).first(came.object.size()), came.description, watch);
  EXPECT_EQ(Json(result.details.together.obj_hash->hex()), came.description["digest"]) << result.reason;

  work_->expect(timed(1), expected.object, expected.description);
  result = work_->measure(timed(1), expected.object, expected.description, watch);
  EXPECT_EQ(Json(result.details.together.obj_hash->hex()), expected.description["digest"]) << result.reason;
}

TEST_F(RecordedWorkTest, WhatIsLeftIsWholeOnceItIsFetched) {
  open({scaled(1000, 3)});
  bool left_one = false;
  const DeviceWork::Watch leaving{
      .timed = [](auto) { return true; }, .going_on = [] { return true; }, .leave = [&] { return left_one = true; }};
  // After a run that something held up, and the first, the next is waited for.
  const auto leave = [&](unsigned iterations) {
    left_one = false;
    for (int tries = 0; !left_one && tries < 100; ++tries) measure(timed(iterations), leaving);
    EXPECT_TRUE(left_one);
  };
  leave(2);
  leave(3);
  ASSERT_TRUE(work_->fetch_left().ok());
  EXPECT_THAT(work_->take_left().exec_time(), SizeIs(2));
  Configuration wrong = timed(4);
  wrong.grid.x = 3;
  EXPECT_EQ(measure(wrong, leaving).failure, Failure::wrong_result);
  leave(4);
  ASSERT_TRUE(work_->fetch_left().ok());
  PoolResult left = work_->take_left();
  EXPECT_THAT(left.exec_time(), SizeIs(3));
  EXPECT_TRUE(left.details.together.verified);
  EXPECT_THAT(work_->take_left().exec_time(), SizeIs(4));
}

TEST_F(RecordedWorkTest, AConfigurationMustBeRightOnEveryInstance) {
  open({scaled(1000, 3), scaled(500, 7)});
  PoolResult result = measure(timed(4));
  EXPECT_FALSE(result.failed()) << result.reason;
  ASSERT_THAT(result.details.instances, SizeIs(2));
  ASSERT_THAT(result.exec_time(), SizeIs(4));
  const std::vector<Nanoseconds>& first = result.details.instances[0].result.exec_time;
  const std::vector<Nanoseconds>& second = result.details.instances[1].result.exec_time;
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(result.exec_time()[i], first[i] + second[i]);

  // Enough threads for the second alone.
  Configuration narrow = timed(4);
  narrow.grid.x = 8;
  result = measure(narrow);
  EXPECT_EQ(result.failure, Failure::wrong_result);
  EXPECT_THAT(result.reason,
              StartsWith("instance " + recorded_->launches[0].instance.dynamic_hash.hex() + ": memory differs in"));
  EXPECT_THAT(result.details.instances, SizeIs(1));

  result = measure(timed(4));
  EXPECT_FALSE(result.failed()) << "the one after a wrong one: " << result.reason;
}

TEST_F(RecordedWorkTest, InstancesShareTheObjectUnlessTheCodeIsMadeForOne) {
  open({scaled(1000, 3), scaled(500, 7)});
  auto decode = [](const AssembledCode& code) { return std::move(*decode_candidate_code(code.object)); };
  EXPECT_THAT(decode(assemble({})).objects, SizeIs(1));
  Configuration special;
  special.specialise.arguments = {"factor"};
  CandidateCode code = decode(assemble(special));
  EXPECT_THAT(code.objects, SizeIs(2));
  EXPECT_EQ(code.object_of, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(about_["specialised"].size(), 2u);
  PoolResult result = measure(special);
  EXPECT_FALSE(result.failed()) << result.reason;
}

TEST_F(RecordedWorkTest, EachInstanceRunsTheObjectThatWasMadeForIt) {
  open({scaled(1000, 3), scaled(500, 3), scaled(700, 7)});
  Configuration special;
  special.specialise.arguments = {"factor"};
  const CandidateCode code = *decode_candidate_code(assemble(special).object);
  EXPECT_THAT(code.objects, SizeIs(2));
  EXPECT_EQ(code.object_of, (std::vector<uint32_t>{0, 0, 1}));
  const PoolResult result = measure(special);
  EXPECT_FALSE(result.failed()) << result.reason;
}

// Also those that are told while others are still measured.
TEST_F(RecordedWorkTest, TimesAreSumsOverTheInstances) {
  open({scaled(1000, 3), scaled(500, 7), scaled(200, 5)});
  std::vector<Nanoseconds> told;
  unsigned calls = 0;
  const auto hear = [&](std::span<const Nanoseconds> times) {
    told.insert(told.end(), times.begin(), times.end());
    calls += !times.empty();
    return true;
  };
  const PoolResult result = measure(timed(300), {hear, [] { return true; }});
  ASSERT_FALSE(result.failed()) << result.reason;
  const std::vector<Nanoseconds> times = result.exec_time();
  ASSERT_THAT(times, SizeIs(300));
  for (size_t i = 0; i < times.size(); ++i) {
    Nanoseconds sum{};
    for (const InstanceResult& instance : result.details.instances) sum += instance.result.exec_time[i];
    ASSERT_DOUBLE_EQ(times[i].count(), sum.count()) << i;
  }
  EXPECT_GT(calls, 1u);
  ASSERT_LE(told.size(), times.size());
  for (size_t i = 0; i < told.size(); ++i) ASSERT_DOUBLE_EQ(told[i].count(), times[i].count()) << i;
}

// As the program launches them; also the times that are told while others are still measured.
TEST_F(RecordedWorkTest, TimesAreAddedByTheirWeights) {
  open({scaled(1000, 3), scaled(500, 7), scaled(200, 5)}, {2, 0.25, 0.75});
  std::vector<Nanoseconds> told;
  const auto hear = [&](std::span<const Nanoseconds> times) {
    told.insert(told.end(), times.begin(), times.end());
    return true;
  };
  const PoolResult result = measure(timed(300), {hear, [] { return true; }});
  ASSERT_FALSE(result.failed()) << result.reason;
  const std::vector<Nanoseconds> times = result.exec_time();
  ASSERT_THAT(times, SizeIs(300));
  const auto of = [&](size_t instance, size_t run) { return result.details.instances[instance].result.exec_time[run].count(); };
  for (size_t i = 0; i < times.size(); ++i)
    ASSERT_NEAR(times[i].count(), 2 * of(0, i) + 0.25 * of(1, i) + 0.75 * of(2, i), 1e-6 * times[i].count()) << i;
  ASSERT_THAT(told, Not(IsEmpty()));
  ASSERT_LE(told.size(), times.size());
  for (size_t i = 0; i < told.size(); ++i) ASSERT_DOUBLE_EQ(told[i].count(), times[i].count()) << i;
}

// A sum is of runs that every instance has, whichever stopped first.
TEST_F(RecordedWorkTest, ThereAreAsManySumsAsTheLeastRunsOfAnInstance) {
  open({scaled(200, 5), scaled(2'000'000, 3), scaled(500, 7)});  // the second takes far longer on any machine
  Configuration configuration;
  configuration.execution.stop = StopWhen::time;
  configuration.execution.max_time = 0.05;
  const PoolResult result = measure(configuration);
  ASSERT_FALSE(result.failed()) << result.reason;
  std::vector<size_t> runs;
  for (const InstanceResult& instance : result.details.instances) runs.push_back(instance.result.exec_time.size());
  ASSERT_THAT(runs, SizeIs(3));
  ASSERT_LT(runs[1], runs[0]);
  EXPECT_THAT(result.exec_time(), SizeIs(std::min({runs[0], runs[1], runs[2]})));
}

TEST_F(RecordedWorkTest, GivenUpBetweenInstancesItIsCancelled) {
  open({scaled(1000, 3), scaled(500, 7)});
  PoolResult result = measure(timed(4), {[](auto) { return false; }, [] { return true; }});
  EXPECT_EQ(result.failure, Failure::cancelled);
  EXPECT_EQ(result.reason, "given up before every instance was measured");
}

TEST_F(RecordedWorkTest, CodeThatIsDamagedOrOfOtherInstancesIsNotRun) {
  open({scaled(1000, 3)});
  AssembledCode code = assemble({});
  const DeviceWork::Watch watch{[](auto) { return true; }, [] { return true; }};
  code.object.back() = std::byte{1};
  EXPECT_EQ(work_->measure({}, code.object, {}, watch).failure, Failure::worker_lost);
  EXPECT_EQ(work_->measure({}, encode(CandidateCode()), {}, watch).reason, "the code is of other instances");
  code.object.pop_back();
  EXPECT_THAT(work_->measure({}, code.object, {}, watch).reason, HasSubstr("corrupt: a candidate's code: offset"));
}

TEST(PoolSetup, EveryMemberReachesTheWorkers) {
  const PoolSetup setup{"/a/database",
                        digest_of(ByteVector(1)),
                        {digest_of(ByteVector(2)), digest_of(ByteVector(3))},
                        DeviceKind::cpu,
                        Bytes(12345),
                        "x86-64-v3",
                        {1.5, 0.5}};
  auto read = pool_setup_from_json(to_json(setup));
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  const auto& [database, static_hash, instances, device_kind, compile_memory, compile_for, weights] = *read;
  EXPECT_EQ(database, setup.database);
  EXPECT_EQ(static_hash, setup.static_hash);
  EXPECT_EQ(instances, setup.instances);
  EXPECT_EQ(device_kind, setup.device_kind);
  EXPECT_EQ(compile_memory, setup.compile_memory);
  EXPECT_EQ(compile_for, setup.compile_for);
  EXPECT_EQ(weights, setup.weights);
  PoolSetup elsewhere = setup;
  elsewhere.compile_for = "gfx942";  // which no device here has
  EXPECT_EQ(pool_setup_from_json(to_json(elsewhere))->device_kind, DeviceKind::hip);
}

TEST(PoolSetup, RefusesWhatIsNone) {
  Json json = to_json(PoolSetup());
  json.erase("instances");
  EXPECT_EQ(pool_setup_from_json(json).status().message(), "the set-up of a pool's workers: members are missing");
  json = to_json(PoolSetup());
  json["weights"] = {1, "2"};
  EXPECT_EQ(pool_setup_from_json(json).status().message(),
            "the set-up of a pool's workers: there must be a weight for each of 0 instances, and there are 2");
  json["protocol"] = 0;
  EXPECT_EQ(pool_setup_from_json(json).status().code(), Code::incompatible);
}

// Compiling for a GPU needs none.
TEST(RecordedWorkWithoutIr, TakesTheProgramsOwnCode) {
  const std::string ptx =
      ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry scaled(.param .u64 p) .reqntid 128 { ret; }\n";
  const auto text = std::as_bytes(std::span(ptx));
  MadeRecording made;
  made.kernel.name = made.kernel.demangled = "scaled";
  made.kernel.level = CodeLevel::ptx;
  made.images = {{CodeImageRecord::Kind::cubin, ByteVector(100, std::byte{3})},
                 {CodeImageRecord::Kind::ptx, ByteVector(text.begin(), text.end())}};
  made.argument(Parameter::Kind::opaque, "", "", uint64_t{0});
  made.grid = {2, 1, 1};
  made.block = {128, 1, 1};
  testing_replay::MadeDatabase database;
  auto instance = database.publish(made);
  ASSERT_TRUE(instance.ok()) << instance.status().to_string();
  PoolSetup setup{database.directory(), instance->static_hash, {instance->dynamic_hash}, DeviceKind::cpu, Bytes()};
  EXPECT_EQ(
      RecordedKernel::load(setup).status().to_string(),
      "unsupported: the kernel was recorded as PTX, without LLVM IR: it can be replayed on a CUDA device (--device cuda), and "
      "not on the CPU device");
  setup.device_kind = DeviceKind::cuda;
  auto recorded = RecordedKernel::load(setup);
  ASSERT_TRUE(recorded.ok()) << recorded.status().to_string();
  auto compile = create_compile_work(**recorded, DeviceKind::cuda, "sm_90");
  ASSERT_TRUE(compile.ok()) << compile.status().to_string();

  Configuration configuration;
  EXPECT_TRUE((*compile)->check_launch(configuration).ok());
  auto translated = (*compile)->translate(configuration);
  ASSERT_TRUE(translated.ok()) << translated.status().to_string();
  (*compile)->keep();
  auto code = std::move((*compile)->assemble()[0]);
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  const CandidateCode candidate = *decode_candidate_code(code->object);
  ASSERT_THAT(candidate.objects, SizeIs(1));
  EXPECT_EQ(candidate.objects[0].image.bytes, made.images[0].second);
  EXPECT_EQ(candidate.objects[0].assembler, "recorded");
  configuration.passes = "as-built";
  EXPECT_EQ((*compile)->translate(configuration)->digest, translated->digest) << "another name of the same";
  configuration.assembler.level = 1;
  EXPECT_NE((*compile)->translate(configuration)->digest, translated->digest);

  configuration.passes = "default<O1>";
  EXPECT_EQ(
      (*compile)->translate(configuration).status().to_string(),
      "unsupported: passes: the kernel was recorded as PTX: there is no IR that passes could change; leave the pipeline out, "
      "or say as-built");
  configuration = {};
  configuration.block.x = 64;
  EXPECT_EQ((*compile)->check_launch(configuration).code(), Code::invalid_argument);
}

TEST(RecordedWorkWithoutIr, EachLaunchHasThePtxAssembledAsInTheProgram) {
  const std::string ptx =
      ".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry scaled(.param .u64 p, .param .u64 n) { ret; }\n";
  const auto text = std::as_bytes(std::span(ptx));
  MadeRecording made;
  made.kernel.name = made.kernel.demangled = "scaled";
  made.kernel.level = CodeLevel::ptx;
  made.images = {{CodeImageRecord::Kind::ptx, ByteVector(text.begin(), text.end())}};
  made.argument(Parameter::Kind::opaque, "", "", uint64_t{0});
  made.grid = made.block = {1, 1, 1};
  testing_replay::MadeDatabase database;
  PoolSetup setup{database.directory(), {}, {}, DeviceKind::cuda, Bytes()};
  for (const char* level : {"1", "2", "1"}) {
    made.attributes = {{"jit_optimization_level", level}};
    ++made.grid.x;  // launches of their own
    auto instance = database.publish(made);
    ASSERT_TRUE(instance.ok()) << instance.status().to_string();
    setup.static_hash = instance->static_hash;
    setup.instances.push_back(instance->dynamic_hash);
  }
  auto recorded = RecordedKernel::load(setup);
  ASSERT_TRUE(recorded.ok()) << recorded.status().to_string();
  auto compile = create_compile_work(**recorded, DeviceKind::cuda, "sm_90");
  ASSERT_TRUE(compile.ok()) << compile.status().to_string();
  const auto objects = [&](const Configuration& configuration) {
    EXPECT_TRUE((*compile)->translate(configuration).ok());
    (*compile)->keep();
    auto code = std::move((*compile)->assemble()[0]);
    return code.ok() ? decode_candidate_code(code->object)->object_of : std::vector<uint32_t>();
  };
  EXPECT_EQ(objects({}), (std::vector<uint32_t>{0, 1, 0}));
  Configuration configuration;
  configuration.assembler.level = 3;
  EXPECT_EQ(objects(configuration), (std::vector<uint32_t>{0, 0, 0})) << "what is asked for holds for all";
}

// As of a kernel of Triton's: its IR was found, and its pipeline is not known.
TEST(RecordedWorkWithIrAndACubin, AsBuiltIsTheCubin) {
  MadeRecording made = scaled(128, 2);
  made.ir.replace(made.ir.find(") {"), 3, ") #0 {").append("attributes #0 = { \"nvvm.reqntid\"=\"64\" }\n");
  made.images = {{CodeImageRecord::Kind::cubin, ByteVector(100, std::byte{3})}};
  testing_replay::MadeDatabase database;
  auto instance = database.publish(made);
  ASSERT_TRUE(instance.ok()) << instance.status().to_string();
  auto recorded =
      RecordedKernel::load({database.directory(), instance->static_hash, {instance->dynamic_hash}, DeviceKind::cuda, Bytes()});
  ASSERT_TRUE(recorded.ok()) << recorded.status().to_string();
  auto compile = create_compile_work(**recorded, DeviceKind::cuda, "sm_90");
  ASSERT_TRUE(compile.ok()) << compile.status().to_string();
  const auto assembler_of = [&](const std::string& passes) {
    Configuration configuration;
    configuration.passes = passes;
    auto translated = (*compile)->translate(configuration);
    EXPECT_TRUE(translated.ok()) << translated.status().to_string();
    (*compile)->keep();
    auto code = std::move((*compile)->assemble()[0]);
    EXPECT_TRUE(code.ok()) << code.status().to_string();
    return code.ok() ? decode_candidate_code(code->object)->objects.at(0).assembler : std::string();
  };
  EXPECT_EQ(assembler_of("as-built"), "recorded");
  EXPECT_NE(assembler_of("default<O3>"), "recorded");
  Configuration configuration;
  configuration.passes = "default<O3>";
  configuration.block.x = 32;
  EXPECT_EQ((*compile)->check_launch(configuration).to_string(),
            "invalid_argument: block is 32x1x1: the kernel was recorded as LLVM IR, which can be launched with blocks of 64x1x1 "
            "alone (.reqntid); leave the block as recorded");
}

}  // namespace
}  // namespace mneme
