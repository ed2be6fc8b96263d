// Recordings of HIP kernels, made by hand and replayed on the CPU device: all that is done with a recording of CUDA's is done
// with them, by the same functions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "mneme/cpu/run/cpu_device.h"
#include "mneme/ir/access_types.h"
#include "mneme/replay/determinism.h"
#include "mneme/replay/session.h"
#include "mneme/replay/testing/made_recording.h"
#include "mneme/replay/trim.h"
#include "mneme/verify/typed_ranges.h"

namespace mneme {
namespace {

using testing::HasSubstr;
using testing_replay::bytes_of;
using testing_replay::MadeDatabase;
using testing_replay::MadeRecording;

constexpr uint32_t kCount = 40000;  // floats: more than two pages
constexpr uint32_t kBlock = 256;
constexpr DevicePtr kIn = kDefaultAddressSpaceBase, kOut = kIn + Bytes(1 << 20), kUnused = kIn + Bytes(2 << 20);
constexpr DevicePtr kFactor = kEmulatedGlobalsBase + Bytes(4096), kCalls = kEmulatedGlobalsBase + Bytes(8192);

struct Target {
  const char *architecture, *features;
};

// out[i] = in[i] * factor for i < n, and the first thread counts the launch. As clang has it: arguments by way of numbers, the
// size of a block from the implicit arguments, a variable of constant memory, and one of global memory. `value` is what is
// written, and `more` stands behind that.
std::string scale_ir(const Target& target, const std::string& value = "%r", const std::string& more = "") {
  return R"(
target triple = "amdgcn-amd-amdhsa"
@factor = protected addrspace(4) externally_initialized constant float 1.0, align 4
@calls = protected addrspace(1) externally_initialized global i32 0, align 4
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
define protected amdgpu_kernel void @scale(ptr addrspace(1) %in.coerce, ptr addrspace(1) %out.coerce, i32 %n) #0 {
entry:
  %local = alloca i32, align 4, addrspace(5)
  %generic = addrspacecast ptr addrspace(5) %local to ptr
  %in.number = ptrtoint ptr addrspace(1) %in.coerce to i64
  %in = inttoptr i64 %in.number to ptr
  %out.number = ptrtoint ptr addrspace(1) %out.coerce to i64
  %out = inttoptr i64 %out.number to ptr
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %implicit = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %size.at = getelementptr inbounds i8, ptr addrspace(4) %implicit, i64 12
  %size = load i16, ptr addrspace(4) %size.at, align 4
  %width = zext i16 %size to i32
  %first = mul i32 %block, %width
  %i = add i32 %first, %tid
  store i32 %i, ptr %generic
  %index = load i32, ptr %generic
  %inside = icmp slt i32 %index, %n
  br i1 %inside, label %body, label %end
body:
  %from = getelementptr float, ptr %in, i32 %index
  %v = load float, ptr %from
  %f = load float, ptr addrspacecast (ptr addrspace(4) @factor to ptr)
  %r = fmul float %v, %f
  %to = getelementptr float, ptr %out, i32 %index
  store float )" +
         value + R"(, ptr %to
)" + more +
         R"(
  %is.first = icmp eq i32 %index, 0
  br i1 %is.first, label %count, label %end
count:
  %calls = load i32, ptr addrspacecast (ptr addrspace(1) @calls to ptr)
  %more = add i32 %calls, 1
  store i32 %more, ptr addrspacecast (ptr addrspace(1) @calls to ptr)
  br label %end
end:
  ret void
}
attributes #0 = { "target-cpu"=")" +
         target.architecture + R"(" "target-features"=")" + target.features + R"(" "amdgpu-flat-work-group-size"="1,1024" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
)";
}

MadeRecording scaled(const Target& target, std::string ir) {
  MadeRecording made;
  made.kernel.name = made.kernel.demangled = "scale";
  made.kernel.target = "amdgcn";
  made.kernel.arch = target.architecture;
  made.kernel.pipeline = "default<O2>";
  made.kernel.globals = {{"factor", 4, 4, true, false, true}, {"calls", 4, 4, false, false, true}};
  made.ir = std::move(ir);
  made.grid = {(kCount + kBlock - 1) / kBlock, 1, 1};
  made.block = {kBlock, 1, 1};
  std::vector<float> in(kCount), out(kCount);
  for (uint32_t i = 0; i < kCount; ++i) in[i] = static_cast<float>(i), out[i] = in[i] * 3;
  const ByteVector before(kCount * sizeof(float)), unused(4 * kPageSize.count, std::byte{7});
  made.regions = {{Region::Kind::allocation, kIn, "", bytes_of(in), bytes_of(in)},
                  {Region::Kind::allocation, kOut, "", before, bytes_of(out)},
                  {Region::Kind::allocation, kUnused, "", unused, unused},
                  {Region::Kind::global, kFactor, "factor", bytes_of(std::vector{3.0f}), bytes_of(std::vector{3.0f})},
                  {Region::Kind::global, kCalls, "calls", bytes_of(std::vector{41}), bytes_of(std::vector{42})}};
  std::ranges::sort(made.regions, {}, &testing_replay::MadeRegion::address);
  made.pointer("in", kIn);
  made.pointer("out", kOut);
  made.argument(Parameter::Kind::integer, "n", "i32", kCount);
  return made;
}

class HipSession : public testing::TestWithParam<Target> {
 protected:
  std::unique_ptr<Session> prepared(const std::string& value = "%r", const std::string& more = "") {
    auto session = database_.prepare(scaled(GetParam(), scale_ir(GetParam(), value, more)), *device_);
    EXPECT_TRUE(session.ok()) << session.status().to_string();
    return session.ok() ? std::move(*session) : nullptr;
  }

  MadeDatabase database_;
  std::unique_ptr<Device> device_ = *Device::open(DeviceKind::cpu);
};

TEST_P(HipSession, IsVerifiedAndTimedWithMaskedMemory) {
  const auto session = prepared();
  for (const char* passes : {"as-built", "default<O0>", "default<O3>"}) {
    Configuration configuration;
    configuration.passes = passes;
    const ReplayResult result = session->replay(configuration);
    EXPECT_TRUE(result.verified) << passes << ": " << describe_wrong(result);
    EXPECT_FALSE(result.exec_time.empty());
    EXPECT_EQ(result.mask, "on");
    EXPECT_EQ(result.masked_bytes, Bytes(kCount * sizeof(float))) << "what it writes and does not read";
  }
}

TEST_P(HipSession, WrongCodeIsFoundOut) {
  const ReplayResult result = prepared("%v")->replay({});
  EXPECT_FALSE(result.verified);
  EXPECT_THAT(describe_wrong(result), HasSubstr("first argument 'out' ("));
}

TEST_P(HipSession, IsSpecialised) {
  const auto session = prepared();
  Configuration configuration;
  configuration.specialise.arguments = {"n"};
  configuration.specialise.dimensions = true;
  configuration.specialise.ranges = true;
  EXPECT_TRUE(session->replay(configuration).verified);
  Configuration other;
  other.block.x = 128;
  other.keep_threads = true;
  EXPECT_TRUE(session->replay(other).verified);
}

TEST_P(HipSession, PagesThatItDoesNotTouchAreFound) {
  const auto touched = prepared()->find_touched_pages();
  ASSERT_TRUE(touched.ok()) << touched.status().to_string();
  ASSERT_EQ(touched->size(), 5u);
  EXPECT_THAT((*touched)[0], testing::Each(true));
  EXPECT_THAT((*touched)[1], testing::Each(true));
  EXPECT_THAT((*touched)[2], testing::Each(false));
  EXPECT_THAT((*touched)[3], testing::Each(true)) << "constant memory";
  EXPECT_THAT((*touched)[4], testing::Each(true));
}

TEST_P(HipSession, RacesAreFoundAndThatThereIsNone) {
  const auto observed = [&](Session& session, Behaviour& behaviour) {
    auto accesses = ir::access_types(**session.code_of({}), "scale");
    ASSERT_TRUE(accesses.ok()) << accesses.status().to_string();
    EXPECT_EQ(accesses->parameters[1], ElementType::f32);
    auto ranges = typed_ranges_of(session.kernel(), session.instance(), session.plan(), {}, *accesses, {});
    behaviour = observe_behaviour(session, {}, 3, *ranges, 1);
  };
  Behaviour behaviour;
  observed(*prepared(), behaviour);
  EXPECT_EQ(behaviour.races.not_looked, "");
  EXPECT_TRUE(behaviour.races.races.empty());
  const auto racing = prepared("%r", "  %one = getelementptr float, ptr %out, i32 40\n  %w = load float, ptr %one\n");
  observed(*racing, behaviour);
  ASSERT_EQ(behaviour.races.races.size(), 1u);
  EXPECT_EQ(behaviour.races.races[0].racing, 1u);
  EXPECT_EQ(behaviour.races.races[0].first, 40u);
  EXPECT_THAT(behaviour.races.races[0].what, HasSubstr("thread [40,0,0] of block [0,0,0] writes"));
}

// What is verified is what a program runs: only the addresses in the table are other ones there.
TEST_P(HipSession, CodeForAProgramReachesItsVariablesThroughATable) {
  const auto session = prepared();
  auto made = session->compile_for_program({});
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_EQ(made->variables, (std::vector<std::string>{"factor", "calls"}));
  const ReplayResult result = session->measure({}, made->code);
  EXPECT_TRUE(result.verified) << describe_wrong(result);

  float factor = 5;
  int calls = 1;
  const std::vector<float> in(8, 2);
  std::vector<float> out(8);
  auto module = device_->load(made->code.image);
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  auto table = (*module)->global("__mneme_variables");
  ASSERT_TRUE(table.ok() && table->size == Bytes(16));
  const void* places[] = {&factor, &calls};
  std::memcpy(reinterpret_cast<void*>(table->address.address), places, sizeof places);
  struct {
    const float* in;
    float* out;
    uint32_t n;
  } parameters{in.data(), out.data(), 8};
  auto stream = device_->create_stream();
  ASSERT_TRUE(
      (*stream)->launch(**(*module)->kernel("scale"), {{1, 1, 1}, {8, 1, 1}}, std::as_bytes(std::span(&parameters, 1))).ok());
  ASSERT_TRUE((*stream)->synchronize().ok());
  EXPECT_EQ(out, std::vector<float>(8, 10));
  EXPECT_EQ(calls, 2);
}

TEST_P(HipSession, IsTrimmed) {
  auto published = database_.publish(scaled(GetParam(), scale_ir(GetParam())));
  ASSERT_TRUE(published.ok()) << published.status().to_string();
  auto database = Database::create(database_.directory());
  const auto done = trim(*database, published->static_hash, published->dynamic_hash, *device_, Deed::remove);
  ASSERT_TRUE(done.ok()) << done.status().to_string();
  EXPECT_EQ(done->pages, 4u) << "of the memory that the launch does not touch";
  EXPECT_EQ(done->all_pages, 12u);
}

INSTANTIATE_TEST_SUITE_P(Wavefronts, HipSession,
                         testing::Values(Target{"gfx90a", "+wavefrontsize64"}, Target{"gfx1100", "+wavefrontsize32"}),
                         [](const auto& row) { return std::string(row.param.architecture); });

}  // namespace
}  // namespace mneme
