// What differs, told element by element, and what a kernel that is not deterministic needs to be accepted.
#include "mneme/replay/difference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "mneme/replay/determinism.h"
#include "mneme/replay/testing/made_recording.h"

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

  std::vector<Segment> segments(const std::vector<BufferType>& types = {}) {
    auto accesses = ir::access_types(session_->recorded_code(), "count");
    EXPECT_TRUE(accesses.ok()) << accesses.status().to_string();
    auto result = segments_of(session_->kernel(), session_->instance(), session_->plan(), {}, *accesses, types);
    EXPECT_TRUE(result.ok()) << result.status().to_string();
    return *result;
  }

  std::vector<SegmentDifference> differences(const std::vector<BufferType>& types = {}) {
    std::vector<SegmentDifference> found;
    ReplayResult result = session_->repeat({}, 1, [&](unsigned, const ReplayResult&, const RunMemory& memory) -> Status {
      MNEME_ASSIGN(found, find_differences(memory, segments(types)));
      return {};
    });
    EXPECT_TRUE(result.failure.ok()) << result.failure.to_string();
    return found;
  }

  MadeDatabase database_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Session> session_;
};

TEST_F(Difference, SegmentsAreNamedAndTypedByTheRecordedCodeOrTheUser) {
  prepare("%r = fadd float %right, 0.0");
  auto shown = [](const std::vector<Segment>& all) {
    std::vector<std::string> texts;
    for (const Segment& s : all)
      texts.push_back(fmt::format("{} ({}): {} from {}, {}", s.where, s.buffer, s.size.count, s.offset,
                                  s.type ? to_string(*s.type) : "bytes"));
    return texts;
  };
  EXPECT_THAT(shown(segments()),
              ElementsAre("argument 'out' (out): 4000 from 0, f32", "argument 'out' (out): 3 from 4000, bytes"));
  EXPECT_THAT(shown(segments({{"0x7a0000000008+16", ElementType::f64}})),
              ElementsAre("argument 'out' (out): 8 from 0, f32", "range 0x7a0000000008+16 (0x7a0000000008+16): 16 from 8, f64",
                          "argument 'out' (out): 3976 from 24, f32", "argument 'out' (out): 3 from 4000, bytes"));
  EXPECT_EQ(parse_buffer_type("out").status().to_string(), "invalid_argument: reading the type 'out': it is written BUFFER:TYPE");
  EXPECT_EQ(parse_buffer_type("a::b:f16")->buffer, "a::b");
  EXPECT_EQ(parse_buffer_type("out:word").status().code(), Code::invalid_argument);
}

TEST_F(Difference, IsToldByElementsWithValuesErrorsAndAHistogram) {
  prepare(kTwoWrong);
  auto found = differences();
  ASSERT_EQ(found.size(), 1u);
  const SegmentDifference& d = found[0];
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
  Behaviour behaviour = observe_behaviour(*session_, {}, 3, segments());
  EXPECT_TRUE(behaviour.deterministic);
  EXPECT_TRUE(behaviour.result.verified);
  EXPECT_TRUE(behaviour.segments.empty());
}

TEST_F(Difference, AlwaysTheSameButWrongIsDeterministicAndNotRight) {
  prepare("%off = fmul float %right, 1.5\n  %r = select i1 %is_three, float %off, float %right");
  Behaviour behaviour = observe_behaviour(*session_, {}, 3, segments());
  EXPECT_TRUE(behaviour.deterministic);
  EXPECT_FALSE(behaviour.result.verified);
  ASSERT_EQ(behaviour.segments.size(), 1u);
  EXPECT_EQ(behaviour.segments[0].unlike_recorded, 3u);
  EXPECT_EQ(behaviour.segments[0].contents, 1u);
  EXPECT_EQ(tolerance_option(behaviour.segments[0]), "--tolerance 'out: f32, 0.5, relative'");
}

TEST_F(Difference, ANanIsAcceptedOnlyBySayingSo) {
  prepare("%r = select i1 %is_three, float 0x7FF8000000000000, float %right");
  Behaviour behaviour = observe_behaviour(*session_, {}, 1, segments());
  ASSERT_EQ(behaviour.segments.size(), 1u);
  EXPECT_EQ(tolerance_option(behaviour.segments[0]), "--tolerance 'out: f32, 0, ulp, nan=any'");
}

TEST_F(Difference, WhatChangesFromRunToRunGetsTheToleranceThatAcceptsIt) {
  prepare(kClock);
  constexpr unsigned kRuns = 60;
  Behaviour behaviour = observe_behaviour(*session_, {}, kRuns, segments());
  EXPECT_FALSE(behaviour.deterministic);
  EXPECT_FALSE(behaviour.result.verified);
  ASSERT_EQ(behaviour.segments.size(), 1u);
  EXPECT_GT(behaviour.segments[0].contents, 1u);
  ASSERT_TRUE(behaviour.segments[0].tolerance.has_value());
  EXPECT_EQ(*behaviour.segments[0].tolerance, (Tolerance{ElementType::f32, 3, ErrorKind::ulp}));
  Configuration tolerant;
  tolerant.tolerance = {{"out", *behaviour.segments[0].tolerance}};
  behaviour = observe_behaviour(*session_, tolerant, kRuns, segments());
  EXPECT_TRUE(behaviour.result.verified);
  EXPECT_FALSE(behaviour.deterministic);
}

}  // namespace
}  // namespace mneme
