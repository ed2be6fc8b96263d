// A recording made by hand, replayed on the CPU device: what is right is verified, and nothing that is wrong is.
#include "mneme/replay/session.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <numeric>

#include "mneme/base/log.h"
#include "mneme/base/testing/temporary_folder.h"
#include "mneme/cpu/run/cpu_device.h"
#include "mneme/replay/compile_request.h"
#include "mneme/replay/determinism.h"
#include "mneme/replay/testing/made_recording.h"
#include "mneme/replay/testing/only_optimised.h"

namespace mneme {
namespace {

constexpr uint32_t kCount = 40000;  // floats: more than two pages
constexpr DevicePtr kData = kDefaultAddressSpaceBase;
constexpr DevicePtr kOther = kData + Bytes(1 << 20);
constexpr DevicePtr kFactor = kEmulatedGlobalsBase + Bytes(4096);

// p[i] *= factor for i < n, one thread an element; {operation} is put before the store.
std::string scale_ir(const std::string& extra = "") {
  return R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@factor = addrspace(1) externally_initialized global float 1.0
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define ptx_kernel void @scale(ptr %p, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %width = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %block, %width
  %i = add i32 %first, %tid
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %body, label %end
body:
  %at = getelementptr float, ptr %p, i32 %i
  %v = load float, ptr %at
  %f = load float, ptr addrspacecast (ptr addrspace(1) @factor to ptr)
  %r = fmul float %v, %f
  store float %r, ptr %at
)" + extra +
         R"(
  br label %end
end:
  ret void
}
)";
}

ByteVector bytes_of(const void* data, size_t size) {
  auto first = static_cast<const std::byte*>(data);
  return {first, first + size};
}

class SessionTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    directory_ = std::filesystem::temp_directory_path() / fmt::format("mneme-session-{}-{}", name, ::getpid());
    auto device = Device::open(DeviceKind::cpu);
    ASSERT_TRUE(device.ok()) << device.status().to_string();
    device_ = std::move(*device);
    before_.assign(kCount, 0);
    for (uint32_t i = 0; i < kCount; ++i) before_[i] = static_cast<float>(i);
    after_ = before_;
    for (float& v : after_) v *= 3;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  Digest put(Publication& publication, const ByteVector& bytes, Region& region) {
    region.pages.resize(page_count(region.range()));
    PageBatch batch{std::make_unique<std::byte[]>(bytes.size()), {}};
    std::memcpy(batch.bytes.get(), bytes.data(), bytes.size());
    for (size_t i = 0; i < region.pages.size(); ++i)
      batch.pages.push_back({page_extent(region.range(), i).size.count, &region.pages[i]});
    EXPECT_TRUE(publication.put(std::move(batch)).ok());
    return {};
  }

  MemoryState state(Publication& publication, const std::vector<float>& data, float factor, uint8_t other) {
    MemoryState state;
    state.regions = {{kind_, data_, Bytes(kCount * sizeof(float)), "", {}},
                     {Region::Kind::allocation, kOther, Bytes(100), "", {}},
                     {Region::Kind::global, kFactor, Bytes(sizeof(float)), "factor", {}}};
    put(publication, bytes_of(data.data(), kCount * sizeof(float)), state.regions[0]);
    put(publication, ByteVector(100, std::byte{other}), state.regions[1]);
    put(publication, bytes_of(&factor, sizeof factor), state.regions[2]);
    EXPECT_TRUE(publication.wait().ok());
    std::sort(state.regions.begin(), state.regions.end(), [](const Region& a, const Region& b) { return a.address < b.address; });
    return state;
  }

  // Publishes the recording and prepares a session on it.
  Result<std::unique_ptr<Session>> prepare(const std::string& ir, bool factor_escapes = false) {
    MNEME_ASSIGN(Database database, Database::create(directory_));
    MNEME_ASSIGN(auto publication, database.begin_publication());
    Recording recording;
    recording.kernel.static_hash = digest_of(std::as_bytes(std::span(ir)));
    recording.kernel.name = recording.kernel.demangled = "scale";
    recording.kernel.target = "nvptx";
    recording.kernel.arch = "sm_90";
    recording.kernel.parameters = {{Parameter::Kind::pointer, "p", "ptr", 0, 8, 8},
                                   {Parameter::Kind::integer, "n", "i32", 8, 4, 4}};
    recording.kernel.parameter_bytes = 12;
    recording.kernel.globals = {{"factor", 4, 4, false, false, factor_escapes}};
    recording.ir = bytes_of(ir.data(), ir.size());
    recording.prologue = state(*publication, before_, 3.0f, 7);
    recording.epilogue = state(*publication, after_, 3.0f, other_after_);
    InstanceRecord& instance = recording.instance;
    instance.static_hash = recording.kernel.static_hash;
    instance.grid = {(kCount + 255) / 256, 1, 1};
    instance.block = {256, 1, 1};
    uint64_t address = data_.address;
    instance.parameters = bytes_of(&address, 8);
    ByteVector count = bytes_of(&kCount, 4);
    instance.parameters.insert(instance.parameters.end(), count.begin(), count.end());
    instance.device_kind = "cpu";
    instance.device_name = "test";
    instance.space_base = kDefaultAddressSpaceBase;
    instance.space_size = 1_GiB;
    instance.state_bytes = recording.prologue.bytes();
    instance.recorded_at = "2026-01-01T00:00:00Z";
    instance.mneme_version = "0.1.0";
    instance.attributes = attributes_;
    instance.dynamic_hash = dynamic_hash(instance, recording.prologue);
    MNEME_TRY(publication->commit(recording));
    publication.reset();
    MNEME_ASSIGN(Database reading, Database::open(directory_));
    database_ = std::make_unique<Database>(std::move(reading));
    return Session::prepare(*database_, instance.static_hash, instance.dynamic_hash, *device_);
  }

  ReplayResult replay(const std::string& ir, const Configuration& configuration = {}) {
    auto session = prepare(ir);
    EXPECT_TRUE(session.ok()) << session.status().to_string();
    return session.ok() ? (*session)->replay(configuration) : ReplayResult();
  }

  Path directory_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Database> database_;
  std::vector<float> before_, after_;
  std::map<std::string, std::string> attributes_;  // of the launch
  uint8_t other_after_ = 7;
  Region::Kind kind_ = Region::Kind::allocation;  // of the memory that the kernel works on
  DevicePtr data_ = kData;
};

TEST_F(SessionTest, VerifiesEveryPipelineAndTimesEachRunFromTheRestoredState) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  for (const char* pipeline : {"default<O0>", "default<O1>", "default<O3>", "mem2reg"}) {
    Configuration configuration;
    configuration.passes = pipeline;
    configuration.execution.iterations = 4;
    ReplayResult result = (*session)->replay(configuration);
    EXPECT_TRUE(result.executed && result.verified) << pipeline << ": " << result.failure.to_string();
    EXPECT_EQ(result.exec_time.size(), 4u);
    EXPECT_GT(result.obj_size.value_or(Bytes()).count, 0u);
  }
}

TEST_F(SessionTest, ConfigurationsThatEndInTheSameCodeShareTheLoadedObject) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  Configuration first, second, other;
  first.passes = "default<O2>";
  second.passes = "default<O2>,verify";
  other.codegen.level = 0;
  const ReplayResult a = (*session)->replay(first), b = (*session)->replay(second), c = (*session)->replay(other),
                     again = (*session)->replay(first);
  EXPECT_TRUE(a.verified && b.verified && c.verified && again.verified);
  EXPECT_EQ(a.shared_with, std::nullopt);
  EXPECT_EQ(b.shared_with, first.digest());
  EXPECT_EQ(c.shared_with, std::nullopt);
  EXPECT_EQ(again.shared_with, std::nullopt) << "it is its own";
  EXPECT_EQ(b.obj_hash, a.obj_hash);
}

TEST_F(SessionTest, CompilesNothingThatIsInTheCache) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_EQ((*session)->replay({}).cache, CacheUse::off);
  (*session)->use_cache(std::make_shared<DiskCache>(CachePlace{directory_ / "cache"}));
  const ReplayResult made = (*session)->replay({}), taken = (*session)->replay({});
  EXPECT_EQ(made.cache, CacheUse::miss);
  EXPECT_EQ(taken.cache, CacheUse::hit);
  EXPECT_TRUE(taken.verified);
  EXPECT_EQ(taken.instructions, made.instructions);
  EXPECT_EQ(taken.stack_frame, made.stack_frame);
  EXPECT_EQ(taken.reg_usage, made.reg_usage);
  for (const StageTime& time : taken.times)
    for (const char* stage : {"prepare", "optimise", "lower", "host_optimise", "codegen", "link"}) EXPECT_NE(time.stage, stage);
}

TEST_F(SessionTest, TakesAnotherBlockSize) {
  Configuration configuration;
  configuration.block.x = 64;
  configuration.grid.x = (kCount + 63) / 64;
  EXPECT_TRUE(replay(scale_ir(), configuration).verified);
}

// The CPU device gives a thread the stack that its code needs.
TEST_F(SessionTest, LimitsOfTheLaunchAreRaisedOnTheDevice) {
  attributes_ = {{"limit_stack_size", "65536"}, {"priority", "1"}};
  EXPECT_TRUE(prepare(scale_ir()).ok());
}
TEST_F(SessionTest, ALimitThatIsNoNumberIsDamage) {
  attributes_ = {{"limit_stack_size", "much"}};
  EXPECT_EQ(prepare(scale_ir()).status().to_string(),
            "corrupt: the attribute limit_stack_size of the launch is 'much': a number expected");
}

TEST_F(SessionTest, PutsAnEscapingGlobalAtItsRecordedAddress) {
  auto session = prepare(scale_ir(), true);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_TRUE((*session)->replay({}).verified);
}

// What is verified is what a program runs: only the addresses in the table are other ones there.
TEST_F(SessionTest, CodeForAProgramReachesItsVariablesThroughATable) {
  CompiledCode code;
  for (const bool escapes : {false, true}) {
    auto session = prepare(scale_ir(escapes ? "\n" : ""), escapes);
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    auto made = (*session)->compile_for_program({});
    ASSERT_TRUE(made.ok()) << made.status().to_string();
    EXPECT_EQ(made->variables, std::vector<std::string>{"factor"});
    const ReplayResult result = (*session)->measure({}, made->code);
    EXPECT_TRUE(result.verified) << describe_wrong(result);
    code = std::move(made->code);
  }
  float factor = 5;
  std::vector<float> data(8, 2);
  auto module = device_->load(code.image);
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  auto table = (*module)->global("__mneme_variables");
  ASSERT_TRUE(table.ok() && table->size == Bytes(8));
  const auto address_of = [](const void* place) { return reinterpret_cast<uint64_t>(place); };
  const uint64_t of_factor = address_of(&factor);
  std::memcpy(reinterpret_cast<void*>(table->address.address), &of_factor, sizeof of_factor);
  struct {
    uint64_t p;
    uint32_t n;
  } parameters{address_of(data.data()), 8};
  auto stream = device_->create_stream();
  ASSERT_TRUE(
      (*stream)->launch(**(*module)->kernel("scale"), {{1, 1, 1}, {8, 1, 1}}, std::as_bytes(std::span(&parameters, 1))).ok());
  ASSERT_TRUE((*stream)->synchronize().ok());
  EXPECT_EQ(data, std::vector<float>(8, 10));
}

TEST_F(SessionTest, CodeThatKeepsStateOfItsOwnIsNotForAProgram) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  const Path file = directory_ / "own.ll";
  const std::string own = "@calls = addrspace(1) externally_initialized global i32 0\n";
  std::string text = scale_ir("  store i32 1, ptr addrspacecast (ptr addrspace(1) @calls to ptr)\n");
  text.insert(text.find("@factor"), own);
  ASSERT_TRUE(FileSystem::posix().write_atomically(file, std::as_bytes(std::span(text))).ok());
  Configuration configuration;
  configuration.ir.path = file.string();
  EXPECT_EQ((*session)->compile_for_program(configuration).status().to_string(),
            "unsupported: the code has a variable of its own, 'calls'");
}

TEST_F(SessionTest, OneWrongElementIsNotVerified) {
  after_[kCount - 1] = std::nextafter(after_[kCount - 1], 1e9f);
  ReplayResult result = replay(scale_ir());
  EXPECT_TRUE(result.executed);
  EXPECT_FALSE(result.verified);
  ASSERT_EQ(result.mismatches.size(), 1u);
  EXPECT_EQ(result.mismatches[0].where, "allocation 0x7a0000000000");
  EXPECT_EQ(result.mismatches[0].first_offset / 4, kCount - 1);
}

TEST_F(SessionTest, WhatIsReadIsNotMasked) {
  ReplayResult result = replay(scale_ir());
  EXPECT_TRUE(result.verified);
  EXPECT_EQ(result.mask, "the kernel writes no byte that it does not also read");
  EXPECT_EQ(result.masked_bytes, Bytes());
}

// A kernel that sets p[i] to 3 * i, when its blocks have 256 threads.
std::string ir_of_usual_blocks() {
  std::string ir = scale_ir();
  const auto replace = [&](const std::string& from, const std::string& to) { ir.replace(ir.find(from), from.size(), to); };
  replace("%v = load float, ptr %at", "%v = uitofp i32 %i to float");
  replace("  store float %r, ptr %at", R"(  %usual = icmp eq i32 %width, 256
  br i1 %usual, label %write, label %end
write:
  store float %r, ptr %at)");
  return ir;
}

// Recorded when all had been set already.
TEST_F(SessionTest, AMissingWriteOfWhatWasRightBeforeIsNotVerified) {
  before_ = after_;
  const std::string ir = ir_of_usual_blocks();
  auto session = prepare(ir);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  ReplayResult result = (*session)->replay({});
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_EQ(result.mask, "on");
  EXPECT_EQ(result.masked_bytes, Bytes(kCount * sizeof(float)));
  Configuration other;
  other.block.x = 128;
  other.grid.x = (kCount + 127) / 128;
  EXPECT_FALSE((*session)->replay(other).verified);
  other.verdict.mask = false;
  result = (*session)->replay(other);
  EXPECT_TRUE(result.verified);
  EXPECT_EQ(result.mask, "off");
  EXPECT_EQ(result.masked_bytes, Bytes());
  EXPECT_TRUE((*session)->replay({}).verified);
}

// What is only written is known from an earlier session, in which the notes were taken; so is that nothing is.
TEST_F(SessionTest, AMaskIsLookedForOnceWhereThereIsACache) {
  const TemporaryDirectory folder;
  const auto cache = std::make_shared<DiskCache>(CachePlace{folder.path()});
  const auto hits = [&](Session& session) {
    testing::internal::CaptureStderr();
    session.use_cache(cache);
    const ReplayResult result = session.replay({});
    EXPECT_TRUE(result.verified) << result.failure.to_string();
    return std::pair(testing::internal::GetCapturedStderr().find("cache of masks: hit") != std::string::npos, result);
  };
  const auto level = log::level();
  log::set_level(log::Level::debug);
  std::string writes = scale_ir();
  const auto replace = [&](const std::string& from, const std::string& to) {
    writes.replace(writes.find(from), from.size(), to);
  };
  replace("%v = load float, ptr %at", "%v = uitofp i32 %i to float");
  for (const std::string& ir : {writes, scale_ir()}) {
    std::string mask;
    for (const bool known : {false, true}) {
      auto session = prepare(ir);
      ASSERT_TRUE(session.ok()) << session.status().to_string();
      const auto [hit, result] = hits(**session);
      EXPECT_EQ(hit, known);
      if (known) EXPECT_EQ(result.mask, mask);
      mask = result.mask;
      EXPECT_EQ(result.masked_bytes, Bytes(mask == "on" ? kCount * sizeof(float) : 0));
    }
    EXPECT_EQ(mask == "on", ir == writes);
  }
  // Of a launch of other memory, before or after it, nothing is known.
  for (std::vector<float>* changed : {&before_, &after_}) {
    (*changed)[7] += 1;
    std::filesystem::remove_all(directory_);
    auto session = prepare(writes);
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    testing::internal::CaptureStderr();
    (*session)->use_cache(cache);
    [[maybe_unused]] const ReplayResult ignored = (*session)->replay({});
    EXPECT_NE(testing::internal::GetCapturedStderr().find("cache of masks: miss"), std::string::npos);
  }
  log::set_level(level);
}

// A known mask finds what a new one finds.
TEST_F(SessionTest, AMissingWriteIsFoundByAKnownMaskToo) {
  before_ = after_;
  const std::string ir = ir_of_usual_blocks();
  Configuration other;
  other.block.x = 128;
  other.grid.x = (kCount + 127) / 128;
  const TemporaryDirectory folder;
  for (int i = 0; i < 2; ++i) {
    auto session = prepare(ir);
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    (*session)->use_cache(std::make_shared<DiskCache>(CachePlace{folder.path()}));
    const ReplayResult result = (*session)->replay(other);
    EXPECT_TRUE(result.failure.ok()) << result.failure.to_string();
    EXPECT_FALSE(result.verified) << i;
    EXPECT_EQ(result.masked_bytes, Bytes(kCount * sizeof(float)));
    EXPECT_TRUE((*session)->replay({}).verified) << i;
  }
}

TEST_F(SessionTest, ARecordingThatIsNotReproducedIsNotMasked) {
  after_[7] += 1;
  EXPECT_EQ(replay(scale_ir()).mask, "the recorded code and launch do not give the recorded memory here");
}

TEST_F(SessionTest, CodeThatFaultsWithNotesIsReplayedWithoutAMaskOnAFreshDevice) {
  const std::string ir = testing_replay::only_optimised(scale_ir(), "%r");
  auto session = prepare(ir);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  const Digest kernel = (*session)->kernel().static_hash, instance = (*session)->instance().dynamic_hash;
  ReplayResult lost = (*session)->replay({});
  const std::string why = (*session)->why_no_mask();
  EXPECT_EQ(lost.stage, ReplayStage::masking);
  EXPECT_EQ(lost.mask, why);
  EXPECT_EQ(why.rfind("looking for it ended in a device fault: kernel 'scale'", 0), 0u) << why;
  EXPECT_EQ(lost.failure.to_string(), "device_fault: mask: " + why +
                                          "; a new process can replay the launch without one: --no-mask, "
                                          R"({"verdict": {"mask": false}})");
  EXPECT_EQ((*session)->replay({}).failure.code(), Code::device_fault);
  Configuration off;
  off.verdict.mask = false;
  EXPECT_EQ((*session)->replay(off).failure.to_string(), lost.failure.to_string()) << "not on this device";
  EXPECT_EQ((*session)->prepare_mask().to_string(), lost.failure.to_string());
  session->reset();

  auto fresh = Device::open(DeviceKind::cpu);
  ASSERT_TRUE(fresh.ok()) << fresh.status().to_string();
  auto database = Database::open(directory_);
  ASSERT_TRUE(database.ok()) << database.status().to_string();
  RecordedCopies without;
  without.no_mask = why;
  session = Session::prepare(*database, kernel, instance, **fresh, {}, std::move(without));
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_TRUE((*session)->prepare_mask().ok());
  ReplayResult result = (*session)->replay({});
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_EQ(result.mask, why);
  EXPECT_EQ(result.masked_bytes, Bytes());
  session->reset();
}

TEST_F(SessionTest, AMissingWriteIsNotVerified) {
  Configuration configuration;
  configuration.grid.x = 2;
  EXPECT_FALSE(replay(scale_ir(), configuration).verified);
}

TEST_F(SessionTest, AWriteToUntouchedMemoryIsNotVerifiedAndIsUndoneForTheNext) {
  std::string extra = fmt::format("  store i8 99, ptr inttoptr (i64 {} to ptr)\n", kOther.address + 50);
  auto session = prepare(scale_ir(extra));
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  for (int i = 0; i < 2; ++i) {
    ReplayResult result = (*session)->replay({});
    EXPECT_FALSE(result.verified);
    ASSERT_EQ(result.mismatches.size(), 1u);
    EXPECT_EQ(result.mismatches[0].where, "allocation 0x7a0000100000");
    EXPECT_EQ(result.mismatches[0].differing_bytes, 1u);
  }
}

// From the second candidate on all runs of one are started together.
TEST_F(SessionTest, CandidatesAreToldApartWhateverWasBefore) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  Configuration right, wrong, refused;
  right.execution.iterations = wrong.execution.iterations = 3;
  wrong.grid.x = 2;
  refused.block.x = 4096;
  for (int i = 0; i < 3; ++i) {
    ReplayResult result = (*session)->replay(right);
    EXPECT_TRUE(result.verified) << result.failure.to_string();
    EXPECT_EQ(result.exec_time.size(), 3u);
    result = (*session)->replay(wrong);
    EXPECT_TRUE(result.executed) << result.failure.to_string();
    EXPECT_FALSE(result.verified);
    EXPECT_TRUE(result.exec_time.empty()) << "what is wrong has no time";
    ASSERT_EQ(result.mismatches.size(), 1u);
    EXPECT_EQ(result.mismatches[0].where, "allocation 0x7a0000000000");
    EXPECT_FALSE((*session)->replay(refused).failure.ok());
  }
}

TEST_F(SessionTest, ARehearsalLeavesNothingBehind) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  ASSERT_TRUE((*session)->rehearse().ok());
  const ReplayResult result = (*session)->replay({});
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_EQ(result.exec_time.size(), 10u);
  EXPECT_FALSE(result.verified_run_timed) << "of a CPU nobody knows how its first run is";
}

TEST_F(SessionTest, ARehearsalThatCannotBeIsForTheReplaysToTell) {
  after_[0] = 1;  // no code gives that
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_TRUE((*session)->rehearse().ok());
  EXPECT_FALSE((*session)->replay({}).verified);
}

TEST_F(SessionTest, TheCallerIsAskedWhileTheDeviceIsBusyAndWhenTheVerdictIsThere) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  Configuration configuration;
  EXPECT_TRUE((*session)->replay(configuration).verified);
  int verdicts = 0, waits = 0;
  RunWatch watch;
  watch.verified = [&](const ReplayResult& so_far) { return ++verdicts > 0 && so_far.verified; };
  watch.waiting = [&] { ++waits; };
  auto compiler = Compiler::create(DeviceKind::cpu, device_->properties().architecture);
  ASSERT_TRUE(compiler.ok());
  auto code =
      (*compiler)->compile(**(*session)->code_of({}), compile_options(configuration, (*session)->kernel(), (*session)->plan()));
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  ASSERT_TRUE((*session)->load_ahead(configuration, *code).ok());
  ReplayResult result;
  // After a run that something held up the next is waited for.
  for (int tries = 0; waits == 0 && tries < 100; ++tries) {
    verdicts = 0;
    result = (*session)->measure(configuration, *code, watch);
  }
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_EQ(result.exec_time.size(), 10u);
  EXPECT_EQ(verdicts, 1);
  EXPECT_EQ(waits, 1);
  watch.verified = [&](const ReplayResult&) { return false; };
  result = (*session)->measure(configuration, *code, watch);
  EXPECT_TRUE(result.verified && result.exec_time.empty());
}

TEST_F(SessionTest, TimesThatAreLeftComeToTheirResultsWhateverRanBetween) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_TRUE((*session)->replay({}).verified);  // runs are short
  Configuration configuration;
  auto compiler = Compiler::create(DeviceKind::cpu, device_->properties().architecture);
  ASSERT_TRUE(compiler.ok());
  auto code =
      (*compiler)->compile(**(*session)->code_of({}), compile_options(configuration, (*session)->kernel(), (*session)->plan()));
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  int asked = 0;
  RunWatch watch;
  watch.leave_times = [&] { return ++asked > 0; };
  std::vector<ReplayResult> left;
  for (unsigned iterations : {3, 4, 5}) {
    configuration.execution.iterations = iterations;
    ReplayResult result;
    // After a run that something held up the next is waited for.
    for (int before = asked, tries = 0; asked == before && tries < 100; ++tries)
      result = (*session)->measure(configuration, *code, watch);
    left.push_back(std::move(result));
    EXPECT_TRUE(left.back().verified && left.back().failure.ok()) << left.back().failure.to_string();
    EXPECT_TRUE(left.back().exec_time.empty());
    Configuration wrong = configuration;
    wrong.grid.x = 2;
    if (iterations == 4) EXPECT_FALSE((*session)->measure(wrong, *code, watch).verified);
  }
  EXPECT_EQ(asked, 3) << "not for what is wrong";
  configuration.execution.stop = StopWhen::relative_error;
  ReplayResult whole = (*session)->measure(configuration, *code, watch);
  EXPECT_EQ(asked, 3) << "not where the times say when to stop";
  EXPECT_GE(whole.exec_time.size(), 5u);

  std::vector<ReplayResult*> results;
  for (ReplayResult& result : left) results.push_back(&result);
  const auto begin = std::chrono::steady_clock::now();
  Status added = (*session)->add_left_times(results);
  const Nanoseconds all = std::chrono::steady_clock::now() - begin;
  ASSERT_TRUE(added.ok()) << added.to_string();
  Nanoseconds fetching{};
  for (size_t i = 0; i < left.size(); ++i) {
    EXPECT_EQ(left[i].exec_time.size(), 3 + i);
    EXPECT_EQ(left[i].clock_source, whole.clock_source);
    EXPECT_EQ(left[i].times.back().stage, "timed_runs");
    fetching += left[i].times.back().time;
  }
  EXPECT_LE(fetching, all) << "each has its share";
  EXPECT_TRUE((*session)->add_left_times({}).ok()) << "nothing is left";
  EXPECT_EQ((*session)->add_left_times(results).message(), "0 results were left without times, and 3 are to get them");
}

TEST_F(SessionTest, AWriteToAGlobalIsNotVerified) {
  ReplayResult result = replay(scale_ir("  store float 2.0, ptr addrspacecast (ptr addrspace(1) @factor to ptr)\n"));
  EXPECT_FALSE(result.verified);
  ASSERT_FALSE(result.mismatches.empty());
  EXPECT_EQ(result.mismatches.back().where, "global factor");
}

TEST_F(SessionTest, HostMemoryIsRestoredAndVerifiedAtItsAddress) {
  kind_ = Region::Kind::host;
  data_ = kHostMemoryBase + Bytes(1 << 20);
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  ReplayResult result = (*session)->replay({});
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  Configuration less;
  less.grid.x = 2;
  result = (*session)->replay(less);
  EXPECT_FALSE(result.verified);
  ASSERT_EQ(result.mismatches.size(), 1u);
  EXPECT_EQ(result.mismatches[0].where, "host memory 0x7c0000100000");
  EXPECT_TRUE((*session)->replay({}).verified);
}

TEST_F(SessionTest, RegisteredMemoryWhosePlaceIsTakenIsRefusedWithItsOwner) {
  kind_ = Region::Kind::host;
  static char taken[1 << 20];
  data_ = DevicePtr((reinterpret_cast<uint64_t>(taken) + 4096) / 4096 * 4096 + 64);
  auto session = prepare(scale_ir());
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().code(), Code::unavailable);
  const std::string message = session.status().message();
  EXPECT_EQ(message.find("mapping the recorded host memory: mapping 160 KiB of host memory at 0x"), 0u) << message;
  EXPECT_NE(message.find("the range is taken in this process by "), std::string::npos) << message;
  EXPECT_NE(message.find("; the program had registered memory of its own there (cudaHostRegister): try again, since the system "
                         "places libraries elsewhere each time"),
            std::string::npos)
      << message;
}

TEST_F(SessionTest, AKernelThatFaultsIsAFailureWithTheReason) {
  ReplayResult result = replay(scale_ir("  store i8 1, ptr inttoptr (i64 64 to ptr)\n"));
  EXPECT_FALSE(result.executed || result.verified);
  EXPECT_EQ(result.failure.code(), Code::device_fault);
  EXPECT_NE(result.failure.message().find("scale"), std::string::npos) << result.failure.message();
}

TEST_F(SessionTest, RefusalsLeaveTheSessionUsable) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  Configuration configuration;
  configuration.passes = "default<O9>";
  ReplayResult result = (*session)->replay(configuration);
  EXPECT_EQ(result.failure.code(), Code::invalid_argument);
  EXPECT_NE(result.failure.message().find("default<O9>"), std::string::npos) << result.failure.message();
  configuration = {};
  configuration.block.x = 4096;
  result = (*session)->replay(configuration);
  EXPECT_EQ(result.failure.code(), Code::invalid_argument);
  EXPECT_NE(result.failure.message().find("1024"), std::string::npos) << result.failure.message();
  EXPECT_TRUE((*session)->replay({}).verified);
}

TEST_F(SessionTest, TimesUntilTheStoppingRuleIsContent) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  Configuration configuration;
  configuration.execution.warm_up = 2;
  configuration.execution.stop = StopWhen::time;
  configuration.execution.max_time = 1e-6;
  configuration.execution.min_iterations = 7;
  ReplayResult result = (*session)->replay(configuration);
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_EQ(result.exec_time.size(), 7u);
  EXPECT_EQ(result.clock_source, "steady_clock");
  EXPECT_FALSE(result.exclusive);
  EXPECT_FALSE(result.occupancy || result.clocks);
}

TEST_F(SessionTest, AKnobWithoutEffectOnTheDeviceIsRefused) {
  Configuration configuration;
  configuration.execution.l2 = CacheState::cold;
  ReplayResult result = replay(scale_ir(), configuration);
  EXPECT_EQ(result.failure.to_string(),
            "unsupported: execution.l2 'cold' has no effect on the device cpu, which has no L2 cache to prepare");
  EXPECT_FALSE(result.executed);
}

TEST_F(SessionTest, AnAddressRangeThatIsTakenIsUnavailable) {
  auto other = device_->reserve(kDefaultAddressSpaceBase, 1_GiB);
  ASSERT_TRUE(other.ok()) << other.status().to_string();
  auto session = prepare(scale_ir());
  ASSERT_FALSE(session.ok());
  EXPECT_EQ(session.status().code(), Code::unavailable);
  EXPECT_NE(session.status().message().find("reserving the recorded addresses"), std::string::npos) << session.status().message();
}

TEST_F(SessionTest, EverySpecialisationIsRightAndIsOtherCode) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  const std::optional<Digest> usual = (*session)->replay({}).obj_hash;
  for (const char* json : {R"({"arguments": ["n"]})", R"({"arguments": ["p"]})", R"({"arguments": ["*"]})",
                           R"({"dimensions": true})", R"({"ranges": true})", R"({"no_alias": true})"}) {
    auto configuration = configuration_from_json({{"specialise", nlohmann::json::parse(json)}});
    ASSERT_TRUE(configuration.ok()) << configuration.status().to_string();
    ReplayResult result = (*session)->replay(*configuration);
    EXPECT_TRUE(result.verified) << json << ": " << result.failure.to_string();
    EXPECT_NE(result.obj_hash, usual) << json;
  }
}

TEST_F(SessionTest, TheResultSaysWhichFactsWereUsed) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  EXPECT_TRUE(to_json((*session)->replay({}))["specialised"].is_null());
  Configuration configuration;
  configuration.specialise = {.arguments = {"1"}, .ranges = true, .alignment = true, .no_alias = true};
  nlohmann::json shape = {{"grid", {{"x", 157}, {"y", 1}, {"z", 1}}}, {"block", {{"x", 256}, {"y", 1}, {"z", 1}}}};
  EXPECT_EQ(to_json((*session)->replay(configuration))["specialised"],
            (nlohmann::json{{"arguments", {"n"}}, {"ranges", shape}, {"alignment", {{"p", 4096}}}, {"no_alias", {"p"}}}));
}

TEST_F(SessionTest, ASpecialisationThatCannotBeIsAFailure) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  Configuration configuration;
  configuration.specialise.arguments = {"m"};
  EXPECT_EQ((*session)->replay(configuration).failure.to_string(),
            "invalid_argument: specialise.arguments: scale has no parameter 'm'; it has\n  0  ptr p\n  1  i32 n");
  configuration.specialise = {.bounds = {.max_registers = 32}};
  EXPECT_EQ((*session)->replay(configuration).failure.to_string(),
            "unsupported: specialise.max_registers has no effect on the CPU device: leave it out there");
}

TEST_F(SessionTest, KeepsTheThreadsUnderAnotherBlock) {
  auto session = prepare(scale_ir());
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  Configuration configuration;
  configuration.keep_threads = true;
  configuration.block.x = 64;
  ReplayResult result = (*session)->replay(configuration);
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_EQ(result.shape->grid, (Dim3{628, 1, 1}));
  configuration.block.x = 100;
  result = (*session)->replay(configuration);
  EXPECT_EQ(to_json(result)["grid"], nlohmann::json()) << "a shape that is none";
  EXPECT_EQ(result.failure.to_string(),
            "invalid_argument: keep_threads: the launch has 40192 threads in x (157 blocks of 256), which blocks of 100 do not "
            "divide; choose a block.x that does, or give grid.x");
}

// IR in files, in place of the recorded one.
class ReplacedIrTest : public SessionTest {
 protected:
  void SetUp() override {
    SessionTest::SetUp();
    auto session = prepare(scale_ir());
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    session_ = std::move(*session);
  }
  std::string file(const std::string& content, const std::string& name = "other.ll") {
    Path path = directory_ / name;
    EXPECT_TRUE(FileSystem::posix().write_atomically(path, std::as_bytes(std::span(content))).ok());
    return path;
  }
  ReplayResult replay_with(const std::string& path, const std::string& digest = "") {
    Configuration configuration;
    configuration.ir = {path, digest};
    return session_->replay(configuration);
  }
  static std::string with(std::string text, const std::string& what, const std::string& instead) {
    return text.replace(text.find(what), what.size(), instead);
  }

  std::unique_ptr<Session> session_;
};

TEST_F(ReplacedIrTest, ItIsWhatIsCompiledAndVerified) {
  const std::string same = with(scale_ir(), "fmul float %v, %f", "fmul float %f, %v");
  const std::string twice = with(scale_ir(), "fmul float %v, %f", "fadd float %v, %v");
  const std::string path = file(same);
  EXPECT_TRUE(replay_with(path).verified);
  file(twice);
  ReplayResult result = replay_with(path);
  EXPECT_TRUE(result.executed) << result.failure.to_string();
  EXPECT_FALSE(result.verified) << "the file is read again";
  EXPECT_TRUE(session_->replay({}).verified) << "the recorded IR is still there";
}

TEST_F(ReplacedIrTest, ItsDigestIsHeldTo) {
  const std::string path = file(scale_ir());
  IrFile pinned{path, ""};
  ASSERT_TRUE(pin(pinned, FileSystem::posix()).ok());
  EXPECT_TRUE(replay_with(path, pinned.digest).verified);
  const std::string other = with(scale_ir(), "fmul float %v, %f", "fadd float %v, %v");
  file(other);
  EXPECT_EQ(replay_with(path, pinned.digest).failure.to_string(),
            fmt::format("incompatible: the IR in place of the recorded one, {}, has changed: its digest is {}, and the "
                        "configuration's {}",
                        path, digest_of(std::as_bytes(std::span(other))).hex(), pinned.digest));
}

TEST_F(ReplacedIrTest, WhatDoesNotTakeThePlaceOfTheKernelIsRefused) {
  EXPECT_EQ(replay_with("/nonexistent.ll").failure.to_string(),
            "not_found: reading the IR in place of the recorded one: opening /nonexistent.ll: No such file or directory");
  std::string path = file("define nonsense");
  EXPECT_EQ(replay_with(path).failure.to_string(), "invalid_argument: the IR in place of the recorded one: reading " + path +
                                                       " as textual LLVM IR: line 1, column 8: expected type");
  path = file(with(scale_ir(), "@scale", "@other"));
  EXPECT_EQ(replay_with(path).failure.to_string(),
            "not_found: " + path + " does not define the recorded kernel 'scale'; it has other");
  path = file(with(scale_ir(), "i32 %n) {\nentry:", "i64 %m) {\nentry:\n  %n = trunc i64 %m to i32"));
  EXPECT_EQ(replay_with(path).failure.to_string(),
            "incompatible: " + path + ": parameter 1 of 'scale' is i64, and i32 as it was recorded");
  path = file(with(scale_ir(), "nvptx64-nvidia-cuda", "amdgcn-amd-amdhsa"));
  EXPECT_EQ(
      replay_with(path).failure.to_string(),
      "incompatible: " + path + " is for the target 'amdgcn-amd-amdhsa', and the recorded kernel for 'nvptx64-nvidia-cuda'");
}

// What looks for an order that a kernel depends on leaves the device as it was: what is replayed next runs as ever.
TEST(ObserveBehaviour, LeavesTheBlocksTheirOrder) {
  testing_replay::MadeRecording made;
  made.kernel.name = made.kernel.demangled = "place";
  made.ir = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define ptx_kernel void @place(ptr %counter, ptr %places) {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %place = atomicrmw add ptr %counter, i32 1 monotonic
  %at = getelementptr i32, ptr %places, i32 %block
  store i32 %place, ptr %at
  ret void
}
)";
  constexpr uint32_t kBlocks = 100;
  made.grid = {kBlocks, 1, 1};
  made.block = {1, 1, 1};
  made.pointer("counter", kData);
  made.pointer("places", kOther);
  std::vector<uint32_t> places(kBlocks);
  std::iota(places.begin(), places.end(), 0);
  made.regions = {{Region::Kind::allocation, kData, "", testing_replay::bytes_of<uint32_t>({0}),
                   testing_replay::bytes_of<uint32_t>({kBlocks})},
                  {Region::Kind::allocation, kOther, "", ByteVector(4 * kBlocks), testing_replay::bytes_of(places)}};
  cpu::CpuDevice device(1);  // whose blocks come one by one
  testing_replay::MadeDatabase database;
  auto session = database.prepare(made, device);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  Configuration configuration;
  configuration.execution.iterations = 1;
  EXPECT_TRUE((*session)->replay(configuration).verified);
  EXPECT_FALSE(observe_behaviour(**session, configuration, 2, {}, 1).result.verified);
  EXPECT_TRUE((*session)->replay(configuration).verified);
}

}  // namespace
}  // namespace mneme
