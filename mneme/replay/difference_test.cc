// What differs, told element by element, and what a kernel that is not deterministic needs to be accepted.
#include "mneme/verify/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/replay/determinism.h"
#include "mneme/replay/testing/made_recording.h"
#include "mneme/verify/mask_left.h"

namespace mneme {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing_replay::bytes_of;
using testing_replay::MadeDatabase;
using testing_replay::MadeRecording;

constexpr uint32_t kCount = 1000;
constexpr DevicePtr kOut = kDefaultAddressSpaceBase;

// out[i] = i + 1 as a float, changed by `change` into %r.
std::string kernel_ir(const std::string& change) {
  return R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i64 @llvm.nvvm.read.ptx.sreg.clock64()
define ptx_kernel void @count(ptr %out) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %n = add i32 %i, 1
  %right = uitofp i32 %n to float
  %is_three = icmp eq i32 %i, 3
  %is_seven = icmp eq i32 %i, 7
)" + change +
         R"(
  %to = getelementptr float, ptr %out, i32 %i
  store float %r, ptr %to
  ret void
}
)";
}

const std::string kTwoWrong = R"(
  %off = fmul float %right, 1.5
  %one = select i1 %is_three, float %off, float %right
  %r = select i1 %is_seven, float 0x7FF8000000000000, float %one)";
// Changes with the clock, by up to three units in the last place.
const std::string kClock = R"(
  %time = call i64 @llvm.nvvm.read.ptx.sreg.clock64()
  %mixed = mul i64 %time, 6364136223846793005
  %high = lshr i64 %mixed, 33
  %some = trunc i64 %high to i32
  %few = and i32 %some, 3
  %bits = bitcast float %right to i32
  %more = add i32 %bits, %few
  %near = bitcast i32 %more to float
  %r = select i1 %is_three, float %near, float %right)";

// Runs it on a thread whose stack LLVM is not started with.
void on_small_stack(const std::function<void()>& work) {
  pthread_attr_t attributes;
  ::pthread_attr_init(&attributes);
  ::pthread_attr_setstacksize(&attributes, Bytes(512_KiB).count);
  pthread_t thread{};
  const auto run = [](void* given) -> void* { return (*static_cast<const std::function<void()>*>(given))(), nullptr; };
  ASSERT_EQ(::pthread_create(&thread, &attributes, run, const_cast<std::function<void()>*>(&work)), 0);
  ::pthread_join(thread, nullptr);
  ::pthread_attr_destroy(&attributes);
}

class Difference : public testing::Test {
 protected:
  void SetUp() override {
    auto device = Device::open(DeviceKind::cpu);
    ASSERT_TRUE(device.ok()) << device.status().to_string();
    device_ = std::move(*device);
  }

  void prepare(const std::string& change) {
    MadeRecording made;
    made.kernel.name = made.kernel.demangled = "count";
    made.ir = kernel_ir(change);
    made.grid = {1, 1, 1};
    made.block = {kCount, 1, 1};
    made.pointer("out", kOut);
    std::vector<float> out(kCount);
    for (uint32_t i = 0; i < kCount; ++i) out[i] = static_cast<float>(i + 1);
    // Three bytes more than the elements.
    ByteVector before(kCount * 4 + 3), after = bytes_of(out);
    after.resize(before.size());
    made.regions = {{Region::Kind::allocation, kOut, "", before, after}};
    auto session = database_.prepare(made, *device_);
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    session_ = std::move(*session);
  }

  std::vector<TypedRange> ranges(const std::vector<BufferType>& types = {}) {
    auto accesses = ir::access_types(**session_->code_of({}), "count");
    EXPECT_TRUE(accesses.ok()) << accesses.status().to_string();
    auto result = typed_ranges_of(session_->kernel(), session_->instance(), session_->plan(), {}, *accesses, types);
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return *result;
  }

  std::vector<RangeDifference> differences(const std::vector<BufferType>& types = {}) {
    std::vector<RangeDifference> found;
    ReplayResult result = session_->repeat({}, 1, [&](unsigned, const ReplayResult&, const RunMemory& memory) -> Status {
      MNEME_ASSIGN(found, find_differences(memory, ranges(types)));
      return {};
    });
    EXPECT_TRUE(result.failure.ok()) << result.failure.to_string();
    return found;
  }

  MadeDatabase database_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Session> session_;
};

TEST_F(Difference, RangesAreNamedAndTypedByTheRecordedCodeOrTheUser) {
  prepare("%r = fadd float %right, 0.0");
  auto shown = [](const std::vector<TypedRange>& all) {
    std::vector<std::string> texts;
    for (const TypedRange& s : all)
      texts.push_back(fmt::format("{} ({}): {} from {}, {}", s.where, s.buffer, s.size.count, s.offset,
                                  s.type ? to_string(*s.type) : "bytes"));
    return texts;
  };
  EXPECT_THAT(shown(ranges()), ElementsAre("argument 'out' (out): 4000 from 0, f32", "argument 'out' (out): 3 from 4000, bytes"));
  EXPECT_THAT(shown(ranges({{"0x7a0000000008+16", ElementType::f64}})),
              ElementsAre("argument 'out' (out): 8 from 0, f32", "range 0x7a0000000008+16 (0x7a0000000008+16): 16 from 8, f64",
                          "argument 'out' (out): 3976 from 24, f32", "argument 'out' (out): 3 from 4000, bytes"));
  EXPECT_EQ(parse_buffer_type("out").status().to_string(), "invalid_argument: reading the type 'out': it is written BUFFER:TYPE");
  EXPECT_EQ(parse_buffer_type("a::b:f16")->buffer, "a::b");
  EXPECT_EQ(parse_buffer_type("out:word").status().code(), Code::invalid_argument);
  EXPECT_EQ(parse_buffer_type("out:  f32")->type, ElementType::f32);
  for (const char* text : {"out:", "out:  ", ":f32", ""})
    EXPECT_EQ(parse_buffer_type(text).status().code(), Code::invalid_argument) << text;
}

TEST_F(Difference, IsToldByElementsWithValuesErrorsAndAHistogram) {
  prepare(kTwoWrong);
  auto found = differences();
  ASSERT_EQ(found.size(), 1u);
  const RangeDifference& d = found[0];
  EXPECT_EQ(d.elements, kCount);
  EXPECT_EQ(d.differing, 2u);
  EXPECT_EQ(d.unfit, 1u);
  EXPECT_EQ(d.first.index, 3u);
  EXPECT_EQ(d.first.recorded, "4");
  EXPECT_EQ(d.first.actual, "6");
  EXPECT_EQ(d.worst_absolute.error.absolute, 2);
  EXPECT_EQ(d.worst_relative.error.relative, 0.5);
  EXPECT_EQ(d.worst_ulp.error.ulp, 1 << 22);
  EXPECT_THAT(d.decades, ElementsAre(Pair(-1, 1)));
  EXPECT_EQ(d.cell, 1u);
  EXPECT_EQ(d.cells[2], 0);
  EXPECT_EQ(d.cells[3], 0.5);
  EXPECT_TRUE(std::isinf(d.cells[7]));
}

// A NaN has no error that others could be larger than: the worst is the worst of those that have one.
TEST_F(Difference, TheWorstIsNoNaNWhereThereIsAnother) {
  prepare(R"(
  %off = fmul float %right, 1.5
  %one = select i1 %is_seven, float %off, float %right
  %r = select i1 %is_three, float 0x7FF8000000000000, float %one)");
  const auto found = differences();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first.index, 3u);
  EXPECT_TRUE(found[0].first.error.unfit);
  for (const ElementSample& worst : {found[0].worst_absolute, found[0].worst_relative, found[0].worst_ulp})
    EXPECT_EQ(worst.index, 7u);
}

TEST_F(Difference, WhatWasNotWrittenIsAClassOfItsOwn) {
  prepare("%r = fadd float %right, 0.0");
  Configuration half;
  half.block.x = kCount / 2;
  std::vector<RangeDifference> found;
  ReplayResult result = session_->repeat(half, 1, [&](unsigned, const ReplayResult&, const RunMemory& memory) -> Status {
    MNEME_ASSIGN(found, find_differences(memory, ranges()));
    return {};
  });
  ASSERT_TRUE(result.failure.ok()) << result.failure.to_string();
  ASSERT_EQ(result.mask, "on");
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].differing, 500u);
  EXPECT_EQ(found[0].not_written, 500u);
  EXPECT_EQ(found[0].first_not_written, 500u);
  EXPECT_EQ(found[0].wrong(), 0u);
  EXPECT_EQ(found[0].unfit + found[0].from_zero, 0u);
  EXPECT_TRUE(found[0].decades.empty()) << "masked bytes have no errors";
  EXPECT_FALSE(found[0].cells_not_written[499]);
  EXPECT_TRUE(found[0].cells_not_written[500]);
  EXPECT_TRUE(to_json(found[0])["first"].is_null());
  EXPECT_EQ(to_json(found[0])["not_written"], 500);

  result = session_->replay(half);
  ASSERT_TRUE(result.not_written.has_value());
  ASSERT_EQ(result.not_written->size(), 1u);
  EXPECT_EQ(describe_wrong(result),
            "500 of 1000 f32 of argument 'out' were not written (500 of 1000 threads in x: --keep-threads keeps them)");
  const nlohmann::json json = to_json(result);
  EXPECT_EQ(json["not_written"][0]["where"], "argument 'out'");
  EXPECT_EQ(json["not_written"][0]["not_written"], 500);
  EXPECT_EQ(json["fewer_threads"][0]["recorded"], 1000);
  EXPECT_EQ(json["mismatches"][0]["buffer"], "argument 'out'");

  half.verdict.mask = false;
  result = session_->replay(half);
  EXPECT_FALSE(result.not_written.has_value()) << "nobody can tell without a mask";
}

// With its code in the cache a replay needs LLVM for this alone, which cannot be had on a thread with so small a stack.
TEST_F(Difference, TheVerdictNeedsNoExplanation) {
  const TemporaryDirectory folder;
  const auto cache = std::make_shared<DiskCache>(CachePlace{folder.path()});
  Configuration half;
  half.block.x = kCount / 2;
  ReplayResult results[2];
  for (ReplayResult& result : results) {
    session_.reset();
    prepare("%r = fadd float %right, 0.0");
    session_->use_cache(cache);
    const auto replay = [&] { result = session_->replay(half); };
    if (&result == results)
      replay();
    else
      on_small_stack(replay);
    ASSERT_TRUE(result.failure.ok()) << result.failure.to_string();
    EXPECT_EQ(result.stage, ReplayStage::done);
    EXPECT_FALSE(result.verified);
    EXPECT_EQ(result.mismatches.size(), 1u);
    EXPECT_EQ(result.mask, "on");
  }
  EXPECT_EQ(results[1].cache, CacheUse::hit);
  EXPECT_TRUE(results[0].not_written.has_value());
  EXPECT_FALSE(results[1].not_written.has_value());
  EXPECT_THAT(describe_wrong(results[1]), testing::StartsWith("memory differs in 1 place, first argument 'out' ("));
}

TEST_F(Difference, WhatIsWrongIsToldBesideWhatWasNotWritten) {
  prepare(R"(
  %width = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %usual = icmp eq i32 %width, 1000
  %off = fmul float %right, 1.5
  %other = select i1 %is_three, float %off, float %right
  %r = select i1 %usual, float %right, float %other)");
  Configuration half;
  half.block.x = kCount / 2;
  ReplayResult result = session_->replay(half);
  ASSERT_EQ(result.mask, "on");
  ASSERT_TRUE(result.not_written && result.not_written->size() == 1) << describe_wrong(result);
  const NotWritten& found = result.not_written->front();
  EXPECT_EQ(found.type, ElementType::f32);
  EXPECT_EQ(found.elements, kCount);
  EXPECT_EQ(found.not_written, 500u);
  EXPECT_EQ(found.first, 500u);
  EXPECT_EQ(found.wrong, 1u);
  EXPECT_EQ(describe_wrong(result).rfind("500 of 1000 f32 of argument 'out' were not written; memory differs in 1 place", 0), 0u)
      << describe_wrong(result);

  half.tolerance = {{"out", {ElementType::i32, 0, ErrorKind::absolute}}};
  result = session_->replay(half);
  ASSERT_TRUE(result.not_written && !result.not_written->empty()) << describe_wrong(result);
  EXPECT_EQ(result.not_written->front().type, ElementType::i32) << "as its tolerance says";
}

TEST_F(Difference, MismatchesAreNamedAsTheBuffer) {
  prepare(kTwoWrong);
  Configuration half;
  half.block.x = kCount / 2;
  ReplayResult result = session_->replay(half);
  EXPECT_EQ(result.mask, "the recorded code and launch do not give the recorded memory here");
  EXPECT_EQ(describe_wrong(result).rfind("memory differs in 1 place, first argument 'out' (", 0), 0u) << describe_wrong(result);
}

std::string racing_ir(const std::string& body, const std::string& declared = "") {
  return R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent
define ptx_kernel void @count(ptr %out) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %row = mul i32 %b, 100
  %j = add i32 %row, %i
  %own = getelementptr i32, ptr %out, i32 %j
  %in_block = getelementptr i32, ptr %out, i32 %i
)" + body +
         "  ret void\n}\n" + declared;
}

class Races : public testing::Test {
 protected:
  struct Shape {
    Dim3 grid, block;
  };
  Behaviour observe(const std::string& body, unsigned runs = 1, uint64_t seed = 7, Shape shape = {{10, 1, 1}, {100, 1, 1}},
                    const std::string& declared = "") {
    session_.reset();
    auto device = Device::open(DeviceKind::cpu);
    EXPECT_TRUE(device.ok()) << device.status().to_string();
    device_ = std::move(*device);
    MadeRecording made;
    made.kernel.name = made.kernel.demangled = "count";
    made.ir = racing_ir(body, declared);
    made.grid = shape.grid;
    made.block = shape.block;
    made.pointer("out", kOut);
    const ByteVector memory(kCount * 4);
    made.regions = {{Region::Kind::allocation, kOut, "", memory, memory}};
    auto session = database_.prepare(made, *device_);
    EXPECT_TRUE(session.ok()) << session.status().to_string();
    session_ = std::move(*session);
    auto accesses = ir::access_types(**session_->code_of({}), "count");
    auto ranges = typed_ranges_of(session_->kernel(), session_->instance(), session_->plan(), {}, *accesses, {});
    return observe_behaviour(*session_, {}, runs, *ranges, seed);
  }

  MadeDatabase database_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Session> session_;
};

TEST_F(Races, BetweenThreadsWithoutBarriers) {
  Behaviour behaviour = observe("  store i32 1, ptr %in_block\n");
  ASSERT_EQ(behaviour.races.not_looked, "");
  EXPECT_EQ(behaviour.races.between, NoteOf::thread);
  ASSERT_EQ(behaviour.races.races.size(), 1u);
  const Race& race = behaviour.races.races[0];
  EXPECT_EQ(race.range.where, "argument 'out'");
  EXPECT_EQ(race.elements, kCount);
  EXPECT_EQ(race.racing, 100u);
  EXPECT_EQ(race.first, 0u);
  EXPECT_THAT(race.what, testing::MatchesRegex(
                             R"(thread \[0,0,0\] of block \[.,0,0\] writes, and thread \[0,0,0\] of block \[.,0,0\] writes)"));
  EXPECT_THAT(describe(behaviour.races),
              ElementsAre(testing::StartsWith("race: 100 of 1000 i32 of argument 'out', the first at index 0: thread ")));
  EXPECT_EQ(to_json(behaviour)["races"]["buffers"][0]["racing"], 100);
}

TEST_F(Races, OfOneThreadReadingWhatItsNeighbourWrites) {
  Behaviour behaviour = observe(R"(
  store i32 1, ptr %own
  %next = getelementptr i32, ptr %own, i32 1
  %last = icmp eq i32 %j, 999
  %from = select i1 %last, ptr %own, ptr %next
  %v = load i32, ptr %from
)");
  ASSERT_EQ(behaviour.races.races.size(), 1u);
  EXPECT_EQ(behaviour.races.races[0].racing, 999u);
  EXPECT_EQ(behaviour.races.races[0].first, 1u);
  EXPECT_EQ(behaviour.races.races[0].what, "thread [1,0,0] of block [0,0,0] writes, and thread [0,0,0] of block [0,0,0] reads");
}

// Threads and blocks are numbered with x running fastest, and named by their three indices.
TEST_F(Races, NameThreadsAndBlocksOfThreeDimensions) {
  std::string places, declared;
  for (const char* index : {"tid", "ctaid"}) {
    for (char axis : {'x', 'y', 'z'}) {
      const std::string function = fmt::format("@llvm.nvvm.read.ptx.sreg.{}.{}()", index, axis);
      if (axis != 'x') declared += fmt::format("declare i32 {}\n", function);
      places += fmt::format("  %{}{} = call i32 {}\n", index, axis, function);
    }
  }
  const auto is_at = [](const std::string& name, Dim3 thread, Dim3 block) {
    std::string text = fmt::format("  %{}0 = icmp eq i32 0, 0\n", name);
    int step = 0;
    for (const auto& [index, value] : std::vector<std::pair<std::string, uint32_t>>{{"tidx", thread.x},
                                                                                    {"tidy", thread.y},
                                                                                    {"tidz", thread.z},
                                                                                    {"ctaidx", block.x},
                                                                                    {"ctaidy", block.y},
                                                                                    {"ctaidz", block.z}}) {
      text += fmt::format("  %{}{}e = icmp eq i32 %{}, {}\n", name, step, index, value);
      text += fmt::format("  %{}{} = and i1 %{}{}, %{}{}e\n", name, step + 1, name, step, name, step);
      ++step;
    }
    return text;
  };
  // Of 2x3x4 blocks of 5x2x3 threads.
  const std::string two_write = places + is_at("one", {4, 1, 2}, {1, 0, 3}) + is_at("other", {3, 0, 1}, {0, 2, 1}) + R"(
  %go = or i1 %one6, %other6
  br i1 %go, label %write, label %end
write:
  store i32 1, ptr %out
  br label %end
end:
)";
  const Behaviour behaviour = observe(two_write, 1, 7, {{2, 3, 4}, {5, 2, 3}}, declared);
  ASSERT_EQ(behaviour.races.not_looked, "");
  ASSERT_EQ(behaviour.races.races.size(), 1u);
  EXPECT_EQ(behaviour.races.races[0].racing, 1u);
  const std::string one = "thread [4,1,2] of block [1,0,3] writes", other = "thread [3,0,1] of block [0,2,1] writes";
  EXPECT_THAT(behaviour.races.races[0].what, testing::AnyOf(one + ", and " + other, other + ", and " + one));
}

TEST_F(Races, WithBarriersOnlyBetweenBlocks) {
  const std::string barrier = "  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n";
  Behaviour behaviour = observe("  store i32 1, ptr %in_block\n" + barrier);
  EXPECT_EQ(behaviour.races.between, NoteOf::block);
  ASSERT_EQ(behaviour.races.races.size(), 1u);
  EXPECT_EQ(behaviour.races.races[0].racing, 100u);
  EXPECT_THAT(behaviour.races.races[0].what, testing::MatchesRegex(R"(block \[.,0,0\] writes, and block \[.,0,0\] writes)"));
  behaviour = observe("  store i32 1, ptr %own\n" + barrier + R"(
  %last = icmp eq i32 %i, 99
  %n = add i32 %i, 1
  %k = select i1 %last, i32 0, i32 %n
  %m = add i32 %row, %k
  %from = getelementptr i32, ptr %out, i32 %m
  %v = load i32, ptr %from
)");
  EXPECT_EQ(behaviour.races.not_looked, "");
  EXPECT_TRUE(behaviour.races.races.empty()) << "a barrier parts them";
}

TEST_F(Races, NoneWhereEachHasItsOwnOrAtomicsMeet) {
  EXPECT_TRUE(observe("  store i32 1, ptr %own\n").races.races.empty());
  EXPECT_TRUE(observe("  %v = atomicrmw add ptr %out, i32 1 monotonic\n").races.races.empty());
  EXPECT_TRUE(observe("  %v = load i32, ptr %out\n").races.races.empty());
  Behaviour mixed = observe("  %v = atomicrmw add ptr %out, i32 1 monotonic\n  store i32 1, ptr %own\n");
  ASSERT_EQ(mixed.races.races.size(), 1u);
  EXPECT_EQ(mixed.races.races[0].racing, 1u);
  EXPECT_THAT(mixed.races.races[0].what, testing::HasSubstr("accesses it by an atomic operation"));
  EXPECT_EQ(observe("  call void asm sideeffect \"st.global.u32 [$0], $1;\", \"l,r\"(ptr %own, i32 1)\n").races.not_looked,
            "inline assembly accesses memory: 'st.global.u32 [$0], $1;'");
}

// Of the configuration's code and shape, not of those that were recorded.
TEST_F(Races, AreThoseOfTheConfiguration) {
  EXPECT_TRUE(observe("  store i32 1, ptr %own\n").races.races.empty());
  const std::string sum = "  %old = atomicrmw fadd ptr %out, float 1.0 monotonic\n";
  const std::string other = racing_ir(sum + "  store i32 1, ptr %in_block\n");
  Configuration configuration;
  configuration.ir.path = std::filesystem::temp_directory_path() / fmt::format("mneme-races-{}.ll", ::getpid());
  ASSERT_TRUE(FileSystem::posix().write_atomically(configuration.ir.path, std::as_bytes(std::span(other))).ok());
  configuration.grid.x = 20;
  configuration.block.x = 30;
  auto accesses = ir::access_types(**session_->code_of({}), "count");
  auto ranges = typed_ranges_of(session_->kernel(), session_->instance(), session_->plan(), {}, *accesses, {});
  Behaviour behaviour = observe_behaviour(*session_, configuration, 1, *ranges, 7);
  ASSERT_EQ(behaviour.races.not_looked, "");
  ASSERT_EQ(behaviour.order_dependences.size(), 1u);
  EXPECT_EQ(behaviour.order_dependences[0].kind, ir::OrderDependence::Kind::float_sum);
  ASSERT_EQ(behaviour.races.races.size(), 1u);
  EXPECT_EQ(behaviour.races.races[0].racing, 30u);
  EXPECT_EQ(behaviour.races.between, NoteOf::thread);
  EXPECT_THAT(behaviour.races.races[0].what,
              testing::MatchesRegex(R"((thread \[0,0,0\] of block \[[0-9]+,0,0\] writes(, and )?){2})"));

  const std::string barrier =
      racing_ir("  store i32 1, ptr %in_block\n  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n");
  ASSERT_TRUE(FileSystem::posix().write_atomically(configuration.ir.path, std::as_bytes(std::span(barrier))).ok());
  EXPECT_EQ(session_->find_races(configuration, *ranges).between, NoteOf::block);
  std::filesystem::remove(configuration.ir.path);

  // 2^32 threads: more than have numbers. There are more for a block than the device has, so that none runs.
  configuration.ir.path.clear();
  configuration.grid.x = 1 << 21;
  configuration.block.x = 1 << 11;
  EXPECT_EQ(session_->find_races(configuration, *ranges).between, NoteOf::block);
  configuration.grid.x = 1 << 20;
  configuration.grid.y = 1 << 12;
  EXPECT_EQ(session_->find_races(configuration, *ranges).not_looked, "the launch has more than 4294967294 blocks");

  configuration.block.x = 4096;
  configuration.grid = {};
  behaviour = observe_behaviour(*session_, configuration, 1, *ranges, 7);
  EXPECT_FALSE(behaviour.result.failure.ok());
  EXPECT_TRUE(describe(behaviour.races).empty()) << "what does not run is not looked into";
}

// The block that comes first decides how many elements are written: what is told is of the run in which most differ.
TEST_F(Races, AsManyElementsDifferAsInTheWorstRun) {
  const std::string first_decides = R"(
  %mark = add i32 %b, 1
  %old = cmpxchg ptr %out, i32 0, i32 %mark monotonic monotonic
  %was = extractvalue {i32, i1} %old, 0
  %is_first = extractvalue {i32, i1} %old, 1
  %winner = select i1 %is_first, i32 %mark, i32 %was
  %low = icmp ule i32 %mark, %winner
  %not_zero = icmp ne i32 %j, 0
  %go = and i1 %low, %not_zero
  br i1 %go, label %write, label %end
write:
  store i32 1, ptr %own
  br label %end
end:
)";
  std::vector<uint64_t> differing;  // of the run of each seed
  while (differing.size() < 2 || differing.back() >= differing[differing.size() - 2]) {
    ASSERT_LT(differing.size(), 30u) << "no order has fewer than the one before";
    const Behaviour one = observe(first_decides, 1, differing.size());
    ASSERT_EQ(one.ranges.size(), 1u);
    differing.push_back(one.ranges[0].differing);
  }
  const Behaviour both = observe(first_decides, 2, differing.size() - 2);
  ASSERT_EQ(both.ranges.size(), 1u);
  EXPECT_EQ(both.ranges[0].differing, differing[differing.size() - 2]) << "and not " << differing.back();
}

// Sums of floats by atomics: the order of blocks is another one each run, and the same for the same seed.
TEST_F(Races, FloatSumsAreSeenByOtherOrdersOfBlocks) {
  const std::string sum = R"(
  %f = uitofp i32 %j to float
  %inverse = fdiv float 1.0, %f
  %zero = icmp eq i32 %j, 0
  %share = select i1 %zero, float 1.0, float %inverse
  %old = atomicrmw fadd ptr %out, float %share monotonic
)";
  Behaviour behaviour = observe(sum, 8);
  EXPECT_EQ(behaviour.seed, 7u);
  EXPECT_FALSE(behaviour.deterministic);
  ASSERT_EQ(behaviour.order_dependences.size(), 1u);
  EXPECT_EQ(behaviour.order_dependences[0].kind, ir::OrderDependence::Kind::float_sum);
  EXPECT_EQ(to_json(behaviour)["seed"], 7);
  EXPECT_EQ(to_json(behaviour)["order_dependences"][0]["kind"], "float_sum");
  const auto contents = [](const Behaviour& b) { return b.ranges.empty() ? 0u : b.ranges[0].contents; };
  EXPECT_EQ(contents(observe(sum, 8)), contents(behaviour)) << "the same seed does the same";
  Behaviour whole = observe("  %old = atomicrmw add ptr %out, i32 %j monotonic\n", 8);
  EXPECT_TRUE(whole.deterministic);
  EXPECT_TRUE(whole.order_dependences.empty()) << "whole numbers add up in any order";

  ReplayResult wrong = session_->replay({});
  EXPECT_EQ(describe_wrong(wrong).find("mneme check"), std::string::npos) << describe_wrong(wrong);
  observe(sum);
  wrong = session_->replay({});
  EXPECT_THAT(describe_wrong(wrong), testing::HasSubstr("; the kernel adds floating-point numbers by atomic operations, and each "
                                                        "order rounds otherwise (1 place): mneme check tells whether it is "
                                                        "deterministic"));
}

// One wrong byte in 256 is the complement by chance, and no sign of the mask.
TEST(MaskLeft, NeedsAFewBytesInARow) {
  const auto bytes = [](std::initializer_list<int> values) {
    ByteVector out;
    for (int value : values) out.push_back(static_cast<std::byte>(value));
    return out;
  };
  const ByteVector recorded = bytes({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  ByteVector started = recorded, actual = recorded;
  for (size_t i : {0u, 1u, 2u, 3u, 4u, 6u, 7u, 8u, 9u}) started[i] = ~recorded[i];  // 5, 10 and 11 are not masked
  for (size_t i : {1u, 4u, 6u, 7u, 8u}) actual[i] = started[i];
  const MaskLeft left({0, actual, recorded, started});
  EXPECT_FALSE(left.all_of(1, 2)) << "written, and so by chance";
  EXPECT_TRUE(left.all_of(4, 5));
  EXPECT_TRUE(left.all_of(4, 8)) << "what is not masked does not count";
  EXPECT_FALSE(left.all_of(8, 10));
  EXPECT_FALSE(left.all_of(10, 12)) << "nothing is masked there";
  EXPECT_FALSE(MaskLeft({0, actual, recorded, {}}).all_of(4, 5));
}

TEST_F(Difference, ByBytesWhereNoTypeIsKnown) {
  prepare(kTwoWrong);
  auto found = differences({{"out", ElementType::u8}});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].elements, kCount * 4 + 3);
  EXPECT_EQ(found[0].first.index, 14u);  // 4 and 6 differ in the third byte
}

TEST_F(Difference, WhatIsRightHasNone) {
  prepare("%r = fadd float %right, 0.0");
  EXPECT_TRUE(differences().empty());
}

TEST_F(Difference, TheSameEveryTimeIsDeterministic) {
  prepare("%r = fadd float %right, 0.0");
  Behaviour behaviour = observe_behaviour(*session_, {}, 3, ranges());
  EXPECT_TRUE(behaviour.deterministic);
  EXPECT_TRUE(behaviour.result.verified);
  EXPECT_TRUE(behaviour.ranges.empty());
}

TEST_F(Difference, AlwaysTheSameButWrongIsDeterministicAndNotRight) {
  prepare("%off = fmul float %right, 0x3FF0147AE0000000\n  %r = select i1 %is_three, float %off, float %right");  // 1.005
  Behaviour behaviour = observe_behaviour(*session_, {}, 3, ranges());
  EXPECT_TRUE(behaviour.deterministic);
  EXPECT_FALSE(behaviour.result.verified);
  ASSERT_EQ(behaviour.ranges.size(), 1u);
  EXPECT_EQ(behaviour.ranges[0].unlike_recorded, 3u);
  EXPECT_EQ(behaviour.ranges[0].contents, 1u);
  EXPECT_EQ(tolerance_option(behaviour.ranges[0]), "--tolerance 'out: f32, 0.005, relative'");
}

TEST_F(Difference, WhatIsNoRoundingGetsNoTolerance) {
  prepare("%off = fmul float %right, 1.5\n  %r = select i1 %is_three, float %off, float %right");
  Behaviour behaviour = observe_behaviour(*session_, {}, 2, ranges());
  ASSERT_EQ(behaviour.ranges.size(), 1u);
  EXPECT_EQ(tolerance_option(behaviour.ranges[0]), "");
  EXPECT_EQ(behaviour.ranges[0].no_tolerance,
            "no tolerance is proposed: 1 of 1000 f32 differ, by up to 50 % of the recorded value: this is not rounding");
  EXPECT_EQ(to_json(behaviour)["buffers"][0]["no_tolerance"], behaviour.ranges[0].no_tolerance);
}

// A NaN hides how far the others are off: that is told without it.
TEST_F(Difference, WhatIsNoRoundingBesideANanIsToldByItsErrors) {
  prepare(kTwoWrong);
  const Behaviour behaviour = observe_behaviour(*session_, {}, 1, ranges());
  ASSERT_EQ(behaviour.ranges.size(), 1u);
  EXPECT_EQ(behaviour.ranges[0].no_tolerance,
            "no tolerance is proposed: 2 of 1000 f32 differ, by up to 50 % of the recorded value: this is not rounding");
}

TEST_F(Difference, ANanIsAcceptedOnlyBySayingSo) {
  prepare("%r = select i1 %is_three, float 0x7FF8000000000000, float %right");
  Behaviour behaviour = observe_behaviour(*session_, {}, 1, ranges());
  ASSERT_EQ(behaviour.ranges.size(), 1u);
  EXPECT_EQ(tolerance_option(behaviour.ranges[0]), "--tolerance 'out: f32, 0, ulp, nan=any'");
}

TEST_F(Difference, WhatChangesFromRunToRunGetsTheToleranceThatAcceptsIt) {
  prepare(kClock);
  constexpr unsigned kRuns = 60;
  Behaviour behaviour = observe_behaviour(*session_, {}, kRuns, ranges());
  EXPECT_FALSE(behaviour.deterministic);
  EXPECT_FALSE(behaviour.result.verified);
  ASSERT_EQ(behaviour.ranges.size(), 1u);
  EXPECT_GT(behaviour.ranges[0].contents, 1u);
  ASSERT_TRUE(behaviour.ranges[0].tolerance.has_value());
  EXPECT_EQ(*behaviour.ranges[0].tolerance, (Tolerance{ElementType::f32, 3, ErrorKind::ulp}));
  Configuration tolerant;
  tolerant.tolerance = {{"out", *behaviour.ranges[0].tolerance}};
  behaviour = observe_behaviour(*session_, tolerant, kRuns, ranges());
  EXPECT_TRUE(behaviour.result.verified);
  EXPECT_FALSE(behaviour.deterministic);
}

}  // namespace
}  // namespace mneme
