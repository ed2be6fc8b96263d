#include "mneme/compile/nvptx/foreign_ir.h"

#include <gmock/gmock.h>

#include "mneme/compile/compiler.h"

namespace mneme::nvptx {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kNarrow =
    "target datalayout = \"e-p3:32:32-p4:32:32-p5:32:32-p6:32:32-p7:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n";
constexpr const char* kWide = "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n";
constexpr const char* kKernel = R"(
@smem = external addrspace(3) global [0 x i8], align 16
define ptx_kernel void @k(ptr addrspace(1) %p, float %a, float %b) {
  %m = fmul float %a, %b
  %s = fadd float %m, %b
  %i = call float asm sideeffect "ld.shared.f32 $0, [$1];", "=f,r"(ptr addrspace(3) @smem)
  %t = fsub float %s, %i
  store float %t, ptr addrspace(1) %p
  ret void
}
)";

ir::Module parse(const std::string& text) {
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "k.llir");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return std::move(module).value();
}

std::string ptx_of(const ir::Module& module) {
  auto compiler = Compiler::create(DeviceKind::cuda, "sm_90");
  EXPECT_TRUE(compiler.ok()) << compiler.status().to_string();
  auto translation = (*compiler)->translate(module, {.kernels = {"k"}});
  EXPECT_TRUE(translation.ok()) << translation.status().to_string();
  return translation.ok() ? translation->code : std::string();
}

TEST(ForeignIr, WhatThePtxSaysIsWrittenIntoTheModule) {
  ir::Module module = parse(std::string(kNarrow) + kKernel);
  const auto architecture = complete_foreign_ir(module, {"k", "sm_90", "// a comment\n.version 8.7\n.target sm_90a\n"});
  ASSERT_TRUE(architecture.ok()) << architecture.status().to_string();
  EXPECT_EQ(*architecture, "sm_90a");
  EXPECT_EQ(module.target_triple(), "nvptx64-nvidia-cuda");
  const std::string text = module.print();
  EXPECT_THAT(text, HasSubstr("\"target-cpu\"=\"sm_90a\" \"target-features\"=\"+ptx87\""));
  EXPECT_THAT(text, HasSubstr("fmul contract float"));
  const std::string ptx = ptx_of(module);
  EXPECT_THAT(ptx, HasSubstr(".version 8.7\n.target sm_90a\n"));
  EXPECT_THAT(ptx, HasSubstr("fma.rn.f32"));
}

TEST(ForeignIr, WhatIsNotKnownIsLeftToTheCompiler) {
  ir::Module module = parse(std::string(kNarrow) + kKernel);
  // A version that this LLVM does not write, and another architecture's target.
  EXPECT_EQ(complete_foreign_ir(module, {"k", "sm_90", ".version 99.9\n.target sm_80\n", ForeignContraction::no}).value(),
            "sm_90");
  EXPECT_THAT(module.print(), Not(HasSubstr("target-features")));
  const std::string ptx = ptx_of(module);
  EXPECT_THAT(ptx, HasSubstr(".target sm_90\n"));
  EXPECT_THAT(ptx, Not(HasSubstr("fma.rn.f32"))) << "the compiler was asked not to contract";
}

TEST(ForeignIr, PointersIntoSharedMemoryAreAsWideAsTheDataLayoutSays) {
  std::string wide_kernel = kKernel;
  wide_kernel.replace(wide_kernel.find("=f,r"), 4, "=f,l");
  const auto address_of = [](const std::string& text) {
    ir::Module module = parse(text);
    EXPECT_TRUE(complete_foreign_ir(module, {"k", "sm_90", ""}).ok());
    return ptx_of(module);
  };
  // One after the other, since LLVM has it as an option of the process.
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(address_of(std::string(kNarrow) + kKernel), ContainsRegex("mov\\.b32[^;]*, smem;"));
    EXPECT_THAT(address_of(std::string(kWide) + wide_kernel), ContainsRegex("mov\\.b64[^;]*, smem;"));
  }
}

TEST(ForeignIr, AnotherTargetOrKernelIsRefused) {
  ir::Module host = parse("target triple = \"x86_64-pc-linux-gnu\"\ndefine void @k() { ret void }\n");
  EXPECT_EQ(complete_foreign_ir(host, {"k", "sm_90", ""}).status().to_string(),
            "incompatible: k.llir is for the target 'x86_64-pc-linux-gnu', and not for NVIDIA GPUs");
  ir::Module other = parse("define ptx_kernel void @other() { ret void }\n");
  EXPECT_EQ(complete_foreign_ir(other, {"k", "sm_90", ""}).status().to_string(),
            "not_found: k.llir does not define the recorded kernel 'k'; it has other");
}

}  // namespace
}  // namespace mneme::nvptx
