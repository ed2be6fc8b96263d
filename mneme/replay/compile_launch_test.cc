#include "mneme/replay/compile_launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "mneme/replay/testing/made_recording.h"

namespace mneme {
namespace {

using testing::HasSubstr;
using testing_replay::MadeDatabase;
using testing_replay::MadeRecording;

constexpr DevicePtr kOut{0x7a0000000000};

// out[i] *= factor, for one of AMD's GPUs.
MadeRecording scaling(const std::string& architecture = "gfx90a") {
  MadeRecording made;
  made.kernel.name = "scale";
  made.kernel.demangled = "scale(float*, float)";
  made.kernel.target = "amdgcn";
  made.kernel.arch = architecture;
  made.kernel.pipeline = "default<O2>";
  made.ir = R"(target triple = "amdgcn-amd-amdhsa"
@tile = internal addrspace(3) global [64 x float] poison
declare i32 @llvm.amdgcn.workitem.id.x()
define protected amdgpu_kernel void @scale(ptr addrspace(1) %out, float %factor) #0 {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %p = getelementptr float, ptr addrspace(1) %out, i32 %i
  %v = load float, ptr addrspace(1) %p
  %q = getelementptr float, ptr addrspace(3) @tile, i32 %i
  store volatile float %v, ptr addrspace(3) %q
  %w = load volatile float, ptr addrspace(3) %q
  %s = fmul float %w, %factor
  store float %s, ptr addrspace(1) %p
  ret void
}
attributes #0 = { "target-cpu"="gfx90a" "target-features"="+wavefrontsize64" "amdgpu-flat-work-group-size"="1,256" }
!llvm.module.flags = !{!0}
!0 = !{i32 1, !"amdhsa_code_object_version", i32 500}
)";
  made.grid = {1, 1, 1};
  made.block = {64, 1, 1};
  made.regions = {{Region::Kind::allocation, kOut, "out", ByteVector(256), ByteVector(256)}};
  made.pointer("out", kOut);
  made.argument(Parameter::Kind::floating, "factor", "float", 2.0f);
  return made;
}

class CompileOnlyTest : public testing::Test {
 protected:
  Result<std::unique_ptr<CompileOnly>> prepare(const MadeRecording& recording, const std::string& architecture = {}) {
    MNEME_ASSIGN(InstanceRecord instance, made_.publish(recording));
    MNEME_ASSIGN(Database database, Database::open(made_.directory()));
    return CompileOnly::prepare(database, instance.static_hash, instance.dynamic_hash, architecture);
  }
  std::unique_ptr<CompileOnly> prepared(const std::string& architecture = {}) {
    auto launch = prepare(scaling(), architecture);
    EXPECT_TRUE(launch.ok()) << launch.status().to_string();
    return std::move(launch).value();
  }
  MadeDatabase made_;
};

TEST_F(CompileOnlyTest, TellsWhatIsKnownOfTheCode) {
  const auto launch = prepared();
  EXPECT_EQ(launch->made_for().kind, DeviceKind::hip);
  const ReplayResult result = launch->compile({});
  EXPECT_TRUE(result.failure.ok()) << result.failure.to_string();
  EXPECT_EQ(result.stage, ReplayStage::compiled);
  EXPECT_FALSE(result.executed || result.verified);
  EXPECT_EQ(result.device, "gfx90a");
  EXPECT_EQ(result.shared_mem_usage, Bytes(256));
  EXPECT_EQ(result.assembler, "lld");
  EXPECT_GT(*result.instructions, 5u);
  EXPECT_GT(*result.reg_usage, 0u);
  EXPECT_GT(*result.sgpr_usage, 0u);
  EXPECT_EQ(result.waves_per_eu, 8u);
  EXPECT_EQ(result.vgpr_spills, 0u);
  EXPECT_EQ(result.shape->block, (Dim3{64, 1, 1}));
  const nlohmann::json json = to_json(result);
  EXPECT_EQ(json["stage"], "compiled");
  EXPECT_EQ(json["failed"], false);
  EXPECT_EQ(json["device_kind"], nullptr) << "there is none";
  EXPECT_EQ(to_json(*replay_result_from_json(json)), json);
}

TEST_F(CompileOnlyTest, ForAnotherArchitecture) {
  EXPECT_EQ(prepared("gfx942")->compile({}).device, "gfx942");
  const auto narrow = prepared("gfx1100");
  EXPECT_TRUE(narrow->compile({}).failure.ok());
  EXPECT_EQ(
      prepare(scaling(), "riscv").status().to_string(),
      "unsupported: there is no compiler for the architecture 'riscv' in this build; the names of those that there are begin "
      "with sm_, gfx, x86-64-v3");
  EXPECT_THAT(prepare(scaling(), "gfx9999").status().to_string(), HasSubstr("does not know the architecture"));
  EXPECT_EQ(prepared("sm_90")->compile({}).failure.to_string(),
            "incompatible: compiling for sm_90: the module is for 'amdgcn-amd-amdhsa', not for NVIDIA GPUs");
}

TEST_F(CompileOnlyTest, ConfigurationsChangeTheCode) {
  const auto launch = prepared();
  Configuration configuration;
  const ReplayResult usual = launch->compile(configuration);
  configuration.passes = "default<O0>";
  const ReplayResult plain = launch->compile(configuration);
  EXPECT_NE(plain.obj_hash, usual.obj_hash);
  configuration = {};
  configuration.specialise.arguments = {"factor"};
  const ReplayResult special = launch->compile(configuration);
  EXPECT_NE(special.obj_hash, usual.obj_hash);
  ASSERT_TRUE(special.specialised.has_value());
  EXPECT_THAT(special.specialised->arguments, testing::ElementsAre("factor"));
  configuration = {};
  configuration.block.x = 128;
  EXPECT_EQ(launch->compile(configuration).shape->block.x, 128u);
}

TEST_F(CompileOnlyTest, WhatFailsIsInTheResult) {
  const auto launch = prepared();
  Configuration configuration;
  configuration.assembler.max_registers = 32;
  const ReplayResult refused = launch->compile(configuration);
  EXPECT_EQ(refused.stage, ReplayStage::compiling);
  EXPECT_EQ(refused.failure.to_string(),
            "unsupported: assembler.max_registers has no effect on AMD GPUs, whose code is not made from PTX: leave it out");
  configuration = {};
  configuration.codegen.code_object = 6;
  EXPECT_TRUE(launch->compile(configuration).failure.ok());
  EXPECT_EQ(prepared("x86-64-v3")->compile(configuration).failure.to_string(),
            "unsupported: codegen.code_object has no effect on the CPU device: leave it out there");
}

}  // namespace
}  // namespace mneme
