// Planted wrong kernels: each wrong in one way, each against a recording of what is right. None passes, with a tolerance or
// without, unless the tolerance allows just that.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "mneme/replay/testing/made_recording.h"

namespace mneme {
namespace {

using testing_replay::bytes_of;
using testing_replay::MadeDatabase;
using testing_replay::MadeRecording;
using testing_replay::MadeRegion;

// Built a second time for GPUs.
#ifdef MNEME_TEST_ON_GPU
constexpr DeviceKind kDevice = DeviceKind::cuda;
#else
constexpr DeviceKind kDevice = DeviceKind::cpu;
#endif
constexpr uint32_t kCount = 40000;  // floats: more than two pages
constexpr uint32_t kPlanted = 12345;
constexpr DevicePtr kIn = kDefaultAddressSpaceBase;
constexpr DevicePtr kOut = kIn + 8_MiB;
constexpr DevicePtr kOther = kIn + 16_MiB;
constexpr DevicePtr kTable = kEmulatedGlobalsBase + Bytes(4096);

// out[i] = in[i] * 3 for i < n. `at_planted` changes %right into %wrong for one element; `before_store` is code for every one.
std::string kernel_ir(const std::string& wrong = "%wrong = fadd float %right, 0.0", const std::string& before_store = "",
                      const std::string& stored_index = "%i") {
  return R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@table = addrspace(1) externally_initialized global [4 x float] zeroinitializer
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define ptx_kernel void @triple(ptr %in, ptr %out, i32 %n) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %width = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %block, %width
  %i = add i32 %first, %tid
  %inside = icmp slt i32 %i, %n
  br i1 %inside, label %body, label %end
body:
  %planted = icmp eq i32 %i, )" +
         std::to_string(kPlanted) + R"(
  %from = getelementptr float, ptr %in, i32 %i
  %v = load float, ptr %from
  %right = fmul float %v, 3.0
  )" + wrong +
         R"(
  %r = select i1 %planted, float %wrong, float %right
)" + before_store +
         R"(
  %to = getelementptr float, ptr %out, i32 )" +
         stored_index + R"(
  store float %r, ptr %to
  %slot = getelementptr float, ptr addrspace(1) @table, i32 2
  %t = load float, ptr addrspace(1) %slot
  %t2 = fadd float %t, 0.0
  store float %t2, ptr addrspace(1) %slot
  br label %end
end:
  ret void
}
)";
}

class Verdict : public testing::Test {
 protected:
  void SetUp() override {
    auto device = Device::open(kDevice);
    if (device.status().code() == Code::unavailable) GTEST_SKIP() << device.status().message();
    ASSERT_TRUE(device.ok()) << device.status().to_string();
    device_ = std::move(*device);
    for (uint32_t i = 0; i < kCount; ++i) in_.push_back(static_cast<float>(i + 1));
    for (float v : in_) out_.push_back(v * 3);
  }

  MadeRecording recording(const std::string& ir) const {
    MadeRecording made;
    made.kernel.name = made.kernel.demangled = "triple";
    made.kernel.globals = {{"table", 16, 4, false, false, false}};
    made.ir = ir;
    made.grid = {(kCount + 255) / 256, 1, 1};
    made.block = {256, 1, 1};
    made.pointer("in", kIn);
    made.pointer("out", kOut);
    made.argument(Parameter::Kind::integer, "n", "i32", kCount);
    std::vector<float> zeros(kCount, 0), table = {1, 2, 3, 4};
    ByteVector other(100, std::byte{7});
    made.regions = {{Region::Kind::allocation, kIn, "", bytes_of(in_), bytes_of(in_)},
                    {Region::Kind::allocation, kOut, "", bytes_of(zeros), bytes_of(out_)},
                    {Region::Kind::allocation, kOther, "", other, other},
                    {Region::Kind::global, kTable, "table", bytes_of(table), bytes_of(table)}};
    return made;
  }

  ReplayResult replay(const std::string& ir, const std::vector<std::string>& tolerances = {}) {
    MadeDatabase database;
    auto session = database.prepare(recording(ir), *device_);
    EXPECT_TRUE(session.ok()) << session.status().to_string();
    Configuration configuration;
    configuration.execution.iterations = 2;
    for (const std::string& text : tolerances) {
      auto tolerance = parse_buffer_tolerance(text);
      EXPECT_TRUE(tolerance.ok()) << tolerance.status().to_string();
      configuration.tolerance.push_back(*tolerance);
    }
    return session.ok() ? (*session)->replay(configuration) : ReplayResult();
  }

  std::unique_ptr<Device> device_;
  std::vector<float> in_, out_;
};

const std::string kOneUlp = R"(%bits = bitcast float %right to i32
  %next = add i32 %bits, 1
  %wrong = bitcast i32 %next to float)";
const std::string kNan = "%wrong = fadd float 0x7FF8000000000000, %right";
const std::string kInfinity = "%wrong = fadd float 0x7FF0000000000000, %right";

TEST_F(Verdict, WhatIsRightIsVerified) {
  ReplayResult result = replay(kernel_ir());
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  EXPECT_TRUE(result.tolerances.empty());
  result = replay(kernel_ir(), {"out: f32, 0, absolute", "table: f32, 0, ulp, nan=none"});
  EXPECT_TRUE(result.verified) << result.failure.to_string();
  ASSERT_EQ(result.tolerances.size(), 2u);
  EXPECT_EQ(result.tolerances[0].where, "argument 'out'");
  EXPECT_EQ(result.tolerances[0].differences.elements, kCount);
  EXPECT_EQ(result.tolerances[1].where, "global table");
}

// From the second on all runs of a configuration are started before the first is waited for.
TEST_F(Verdict, ConfigurationsAreToldApartWhateverWasBefore) {
  MadeDatabase database;
  auto session = database.prepare(recording(kernel_ir()), *device_);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  Configuration right, wrong, wide;
  right.execution.iterations = wrong.execution.iterations = 7;
  wrong.grid.x = 2;
  wide.block.x = 4096;
  for (int i = 0; i < 4; ++i) {
    ReplayResult result = (*session)->replay(right);
    EXPECT_TRUE(result.verified) << result.failure.to_string();
    EXPECT_EQ(result.exec_time.size(), 7u);
    for (Nanoseconds time : result.exec_time) EXPECT_GT(time.count(), 0);
    if (i < 2) continue;  // two that are right, one after the other
    result = (*session)->replay(wrong);
    EXPECT_TRUE(result.executed) << result.failure.to_string();
    EXPECT_FALSE(result.verified);
    EXPECT_TRUE(result.exec_time.empty());
    ASSERT_EQ(result.mismatches.size(), 1u);
    EXPECT_EQ(result.mismatches[0].where, "allocation 0x7a0000800000");
    EXPECT_EQ((*session)->replay(wide).failure.code(), Code::invalid_argument);
  }
}

// As a pool's workers do, each of which has a process of its own.
TEST_F(Verdict, AnotherSessionTakesTheMemoryOver) {
  MadeDatabase made;
  auto instance = made.publish(recording(kernel_ir()));
  ASSERT_TRUE(instance.ok()) << instance.status().to_string();
  auto database = Database::open(made.directory());
  ASSERT_TRUE(database.ok()) << database.status().to_string();
  const auto prepare = [&](RecordedCopies copies) {
    return Session::prepare(*database, instance->static_hash, instance->dynamic_hash, *device_, {}, std::move(copies));
  };
  RecordedCopies wanted;
  wanted.shareable = true;
  auto first = prepare(std::move(wanted));
  ASSERT_TRUE(first.ok()) << first.status().to_string();
  ASSERT_TRUE((*first)->prepare_mask().ok());
  auto shared = (*first)->share_copies();
  ASSERT_TRUE(shared.ok()) << shared.status().to_string();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE((*first)->replay({}).verified);
  auto copies = import_copies(*shared, *device_);
  ASSERT_TRUE(copies.ok()) << copies.status().to_string();
  first->reset();
  auto second = prepare(std::move(*copies));
  ASSERT_TRUE(second.ok()) << second.status().to_string();
  for (int i = 0; i < 2; ++i) {
    ReplayResult result = (*second)->replay({});
    EXPECT_TRUE(result.verified) << result.failure.to_string();
    EXPECT_EQ(result.mask, "on");
    EXPECT_EQ(result.masked_bytes, Bytes(kCount * sizeof(float)));
  }
}

TEST_F(Verdict, OneUlpPassesOnlyWhereItIsAllowed) {
  const std::string ir = kernel_ir(kOneUlp);
  ReplayResult result = replay(ir);
  EXPECT_FALSE(result.verified);
  ASSERT_EQ(result.mismatches.size(), 1u);
  EXPECT_EQ(result.mismatches[0].where, "allocation 0x7a0000800000");
  EXPECT_EQ(result.mismatches[0].first_offset / 4, kPlanted);

  result = replay(ir, {"out: f32, 0.5, ulp"});
  EXPECT_FALSE(result.verified);
  ASSERT_EQ(result.mismatches.size(), 1u);
  EXPECT_EQ(result.mismatches[0].where, "argument 'out'");
  ASSERT_TRUE(result.mismatches[0].tolerance.has_value());
  EXPECT_EQ(result.mismatches[0].tolerance->differences.first_failing, kPlanted);
  EXPECT_EQ(result.mismatches[0].tolerance->differences.worst, 1);

  result = replay(ir, {"out: f32, 1, ulp"});
  EXPECT_TRUE(result.verified);
  ASSERT_EQ(result.tolerances.size(), 1u);
  EXPECT_EQ(result.tolerances[0].differences.worst, 1);
  EXPECT_EQ(result.tolerances[0].differences.worst_index, kPlanted);

  // Elsewhere it allows nothing.
  EXPECT_FALSE(replay(ir, {"in: f32, 1, ulp"}).verified);
  EXPECT_FALSE(replay(ir, {fmt::format("{}+{}: f32, 1, ulp", kOut, kPlanted * 4)}).verified);
  EXPECT_TRUE(replay(ir, {fmt::format("{}+4: f32, 1, ulp", kOut + Bytes(kPlanted * 4))}).verified);
  EXPECT_FALSE(replay(ir, {"out: f32, 1, ulp", fmt::format("{}+4: f32, 0, ulp", kOut + Bytes(kPlanted * 4))}).verified);
}

TEST_F(Verdict, OneElementIsNotLostInANorm) {
  const std::string ir = kernel_ir("%wrong = fadd float %right, 100.0");
  EXPECT_FALSE(replay(ir).verified);
  for (const char* tolerance : {"out: f32, 1e-6, relative", "out: f32, 1, absolute", "out: f32, 99, absolute, L1",
                                "out: f32, 99, absolute, L2", "out: f32, 99, absolute, Linf", "out: f32, 1e-6, relative, L2"})
    EXPECT_FALSE(replay(ir, {tolerance}).verified) << tolerance;
  EXPECT_TRUE(replay(ir, {"out: f32, 100, absolute, L2"}).verified);
}

TEST_F(Verdict, ANanOrInfinityPassesNoThreshold) {
  for (const std::string& wrong : {kNan, kInfinity}) {
    const std::string ir = kernel_ir(wrong);
    EXPECT_FALSE(replay(ir).verified);
    for (const char* tolerance : {"out: f32, 1e300, absolute", "out: f32, 1e300, relative", "out: f32, 1e18, ulp",
                                  "out: f32, 1e300, relative, L2", "out: f32, 1e300, absolute, Linf, nan=none"})
      EXPECT_FALSE(replay(ir, {tolerance}).verified) << tolerance;
  }
  EXPECT_TRUE(replay(kernel_ir(kNan), {"out: f32, 0, absolute, nan=any"}).verified);
}

TEST_F(Verdict, ANanThatWasRecordedMustComeBack) {
  out_[kPlanted] = std::nanf("");
  EXPECT_FALSE(replay(kernel_ir(), {"out: f32, 1e300, relative"}).verified);
  EXPECT_TRUE(replay(kernel_ir(kNan), {"out: f32, 0, absolute"}).verified);
  EXPECT_FALSE(replay(kernel_ir(kNan), {"out: f32, 1e300, absolute, nan=none"}).verified);
}

TEST_F(Verdict, AMissingWriteIsNotVerified) {
  // The planted element's value goes where its neighbour's does.
  const std::string ir = kernel_ir("%wrong = fadd float %right, 3.0",
                                   "  %next = add i32 %i, 1\n  %where = select i1 %planted, i32 %next, i32 %i", "%where");
  for (const std::vector<std::string>& tolerances : std::vector<std::vector<std::string>>{
           {}, {"out: f32, 1e-3, relative"}, {"out: f32, 1e-3, relative, Linf"}, {"out: f32, 0.9, relative"}}) {
    ReplayResult result = replay(ir, tolerances);
    EXPECT_FALSE(result.verified);
    ASSERT_EQ(result.mismatches.size(), 1u);
  }
}

std::string store_byte(DevicePtr to) { return fmt::format("  store i8 99, ptr inttoptr (i64 {} to ptr)\n", to.address); }

TEST_F(Verdict, AnExtraWriteToAnotherAllocationIsNotVerified) {
  for (const std::vector<std::string>& tolerances : std::vector<std::vector<std::string>>{{}, {"out: f32, 1, relative"}}) {
    ReplayResult result = replay(kernel_ir("%wrong = fadd float %right, 0.0", store_byte(kOther + Bytes(50))), tolerances);
    EXPECT_FALSE(result.verified);
    ASSERT_EQ(result.mismatches.size(), 1u);
    EXPECT_EQ(result.mismatches[0].where, "allocation 0x7a0001000000");
    EXPECT_EQ(result.mismatches[0].first_offset, 50u);
  }
}

TEST_F(Verdict, AnExtraWriteBehindAnAllocationIsNotVerifiedAndUndoneForTheNext) {
  // The last byte of the granule, and the first behind the allocation.
  for (DevicePtr place : {kOther + Bytes(100), kOther + (2_MiB - Bytes(1))}) {
    MadeDatabase database;
    auto session = database.prepare(recording(kernel_ir("%wrong = fadd float %right, 0.0", store_byte(place))), *device_);
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    for (int i = 0; i < 2; ++i) {
      ReplayResult result = (*session)->replay({});
      EXPECT_FALSE(result.verified);
      ASSERT_EQ(result.mismatches.size(), 1u);
      EXPECT_EQ(result.mismatches[0].where,
                fmt::format("{} B behind the end of allocation 0x7a0001000000", (place - kOther).count - 100));
      EXPECT_EQ(result.mismatches[0].differing_bytes, 1u);
    }
  }
}

TEST_F(Verdict, OneElementBeyondFourGiBIsNotVerified) {
  const Bytes size = 4_GiB + 1_MiB, place = 4_GiB + Bytes(4000);
  if (kDevice == DeviceKind::cpu) GTEST_SKIP() << "a replay of it takes 13 GB";
  if (device_->properties().total_memory < 14_GiB)
    GTEST_SKIP() << "the device has only " << fmt::format("{}", device_->properties().total_memory);
  auto ir = [&](const char* value) {
    return fmt::format(R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @far(ptr %out) {{
  %at = getelementptr i8, ptr %out, i64 {}
  store float {}, ptr %at
  ret void
}}
)",
                       place.count, value);
  };
  // Zeros but for one element of the epilogue: all pages but one are the same.
  auto replay_far = [&](const char* value, const std::vector<BufferTolerance>& tolerances) {
    MadeRecording made;
    made.kernel.name = made.kernel.demangled = "far";
    made.ir = ir(value);
    made.grid = made.block = {1, 1, 1};
    made.pointer("out", kOut);
    ByteVector zero(kPageSize.count), one = zero;
    const float recorded = 1;
    std::memcpy(&one[place.count % kPageSize.count], &recorded, sizeof recorded);
    made.regions = {{Region::Kind::allocation, kOut, "", {}, {}, size, zero, one, place.count / kPageSize.count}};
    MadeDatabase database;
    auto session = database.prepare(made, *device_);
    EXPECT_TRUE(session.ok()) << session.status().to_string();
    Configuration configuration;
    configuration.execution.iterations = 1;
    configuration.tolerance = tolerances;
    return session.ok() ? (*session)->replay(configuration) : ReplayResult();
  };
  EXPECT_TRUE(replay_far("1.0", {}).verified);
  const char* next = "0x3FF0000020000000";  // one and one ULP
  ReplayResult result = replay_far(next, {});
  EXPECT_FALSE(result.verified);
  ASSERT_EQ(result.mismatches.size(), 1u);
  EXPECT_EQ(result.mismatches[0].first_offset, place.count);
  result = replay_far(next, {*parse_buffer_tolerance("out: f32, 0.5, ulp")});
  EXPECT_FALSE(result.verified);
  ASSERT_EQ(result.mismatches.size(), 1u);
  EXPECT_EQ(result.mismatches[0].tolerance->differences.first_failing, place.count / 4);
  EXPECT_TRUE(replay_far(next, {*parse_buffer_tolerance("out: f32, 1, ulp")}).verified);
  // One element of more than 2^32.
  result = replay_far(next, {*parse_buffer_tolerance("out: u8, 0, absolute")});
  EXPECT_FALSE(result.verified);
  ASSERT_EQ(result.mismatches.size(), 1u);
  EXPECT_EQ(result.mismatches[0].tolerance->differences.failing, 1u);
  EXPECT_EQ(result.mismatches[0].tolerance->differences.first_failing, place.count);
  EXPECT_TRUE(replay_far(next, {*parse_buffer_tolerance("out: u8, 1, absolute")}).verified);
}

TEST_F(Verdict, OfTwoArgumentsInOneAllocationTheWrongOneIsNamed) {
  std::string ir = kernel_ir(kOneUlp);
  ir.replace(ir.find("i32 %n)"), 7, "i32 %n, ptr %tail, ptr %behind)");
  MadeRecording made = recording(ir);
  made.pointer("tail", kOut + Bytes(kPlanted * 4 - 100));
  made.pointer("behind", kOut + Bytes(kPlanted * 4 + 4));
  MadeDatabase database;
  auto session = database.prepare(made, *device_);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  const ReplayResult result = (*session)->replay({});
  ASSERT_EQ(result.mismatches.size(), 1u) << result.failure.to_string();
  EXPECT_EQ(result.mismatches[0].where, "allocation 0x7a0000800000");
  EXPECT_EQ(result.mismatches[0].buffer, "argument 'tail'");
}

// A variable of a module lies elsewhere in each: nobody knows who comes there.
TEST_F(Verdict, RacesAreLookedForAtRecordedAddresses) {
  MadeDatabase database;
  const std::string ir = kernel_ir("%wrong = fadd float %right, 0.0", "  store float 1.0, ptr %in\n");
  auto session = database.prepare(recording(ir), *device_);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  const RaceReport report = (*session)->find_races({}, {{"global table", "table", 3, 0, Bytes(16), ElementType::f32},
                                                        {"argument 'in'", "in", 0, 0, Bytes(16), ElementType::f32}});
  EXPECT_EQ(report.not_looked, "");
  ASSERT_EQ(report.races.size(), 1u);
  EXPECT_EQ(report.races[0].range.where, "argument 'in'");
}

TEST_F(Verdict, AGlobalIsComparedByItsToleranceToo) {
  const std::string ir =
      kernel_ir("%wrong = fadd float %right, 0.0",
                "  store float 0x4008000020000000, ptr addrspace(1) getelementptr (float, ptr addrspace(1) @table, "
                "i32 2)\n");  // 3 and one ULP
  ReplayResult result = replay(ir);
  EXPECT_FALSE(result.verified);
  EXPECT_TRUE(replay(ir, {"table: f32, 1, ulp"}).verified);
  EXPECT_FALSE(replay(ir, {"table: f32, 0, ulp"}).verified);
}

TEST_F(Verdict, WhatWasToleratedIsRestored) {
  // Wrong by a little in a page that the recorded kernel did not change: each run must start from the recorded memory.
  const std::string grow = R"(
  %old = load float, ptr %from
  %bits2 = bitcast float %old to i32
  %next2 = add i32 %bits2, 1
  %more = bitcast i32 %next2 to float
  %changed = select i1 %planted, float %more, float %old
  store float %changed, ptr %from
)";
  MadeDatabase database;
  auto session = database.prepare(recording(kernel_ir("%wrong = fadd float %right, 0.0", grow)), *device_);
  ASSERT_TRUE(session.ok()) << session.status().to_string();
  Configuration configuration;
  configuration.execution.iterations = 5;
  configuration.tolerance = {*parse_buffer_tolerance("in: f32, 1, ulp")};
  for (int i = 0; i < 2; ++i) {
    ReplayResult result = (*session)->replay(configuration);
    EXPECT_TRUE(result.verified) << result.failure.to_string();
    ASSERT_EQ(result.tolerances.size(), 1u);
    EXPECT_EQ(result.tolerances[0].differences.worst, 1);
  }
  EXPECT_FALSE((*session)->replay({}).verified);
}

// A thread that has done its work remembers that, and does nothing from then on.
TEST_F(Verdict, CodeThatDoesItsWorkOnceDoesItInEveryRun) {
  std::string ir = kernel_ir("%wrong = fadd float %right, 0.0", R"(
  %mark = getelementptr i8, ptr addrspace(1) @done.of.this, i32 %i
  %old = load i8, ptr addrspace(1) %mark
  store i8 7, ptr addrspace(1) %mark
  %step = load i8, ptr addrspace(1) @step
  %fresh = icmp eq i8 %old, 0
  %is_five = icmp eq i8 %step, 5
  %go = and i1 %fresh, %is_five
  br i1 %go, label %write, label %end
write:
)");
  ir.insert(ir.find("declare"), fmt::format(R"(@done.of.this = internal addrspace(1) global [{} x i8] zeroinitializer
@step = addrspace(1) global i8 5
)",
                                            kCount));
  for (bool right_before : {false, true}) {
    MadeRecording made = recording(ir);
    if (right_before) made.regions[1].before = made.regions[1].after;
    MadeDatabase database;
    auto session = database.prepare(made, *device_);
    ASSERT_TRUE(session.ok()) << session.status().to_string();
    Configuration configuration;
    configuration.execution.iterations = 3;
    configuration.execution.warm_up = 1;
    for (const char* passes : {"default<O3>", "default<O0>", "default<O3>"}) {
      configuration.passes = passes;
      const ReplayResult result = (*session)->replay(configuration);
      EXPECT_TRUE(result.verified) << result.failure.to_string();
      EXPECT_EQ(result.exec_time.size(), 3u);
      EXPECT_EQ(result.mask, "on");
    }
  }
}

TEST_F(Verdict, ATolerancesForNothingIsRefusedWithWhatThereIs) {
  ReplayResult result = replay(kernel_ir(), {"q: f32, 1, ulp"});
  EXPECT_EQ(result.failure.to_string(),
            "not_found: the tolerance 'q: f32, 1, ulp': there is no buffer 'q' in the recorded launch; there are\n"
            "  argument 'in'  0x7a0000000000, 156 KiB\n"
            "  argument 'out'  0x7a0000800000, 156 KiB\n"
            "  global table  0x7b0000001000, 16 B\n"
            "or name a range of recorded memory: 0xADDRESS+SIZE");
  EXPECT_EQ(replay(kernel_ir(), {"0x10+4: f32, 1, ulp"}).failure.message(),
            "the tolerance '0x10+4: f32, 1, ulp': the range '0x10+4' lies in no recorded allocation or global");
  EXPECT_EQ(replay(kernel_ir(), {"0x7a0001000000+101: u8, 1, ulp"}).failure.message(),
            "the tolerance '0x7a0001000000+101: u8, 1, ulp': the range '0x7a0001000000+101' lies in no recorded allocation or "
            "global: allocation 0x7a0001000000 has 100 B from there");
  EXPECT_EQ(replay(kernel_ir(), {"0x7a0001000002+8: f32, 1, ulp"}).failure.message(),
            "the tolerance for range 0x7a0001000002+8: its 8 B at 0x7a0001000002 hold no f32, which lies at a multiple of 4 B");
  EXPECT_TRUE(replay(kernel_ir(), {"1: f32, 1, ulp", "0x7a0001000000-0x7a0001000064: u8, 1, ulp"}).verified);
}

}  // namespace
}  // namespace mneme
