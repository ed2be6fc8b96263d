#include "mneme/ir/kernel_launch.h"

#include <gmock/gmock.h>

namespace mneme::ir {
namespace {

using testing::ElementsAre;
using Kind = KernelParameter::Kind;

Module parse(std::string_view body) {
  const std::string text = "target triple = \"nvptx64-nvidia-cuda\"\n" + std::string(body);
  auto module = Module::parse(std::as_bytes(std::span(text)), "k.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return std::move(module).value();
}

TEST(KernelLaunch, ParametersLieAtTheNextMultipleOfTheirAlignment) {
  const Module module = parse(
      "define ptx_kernel void @k(i8 %flag, ptr addrspace(1) %p, float %f, ptr byval([128 x i8]) align 64 %map, i16 %last) "
      "{ ret void }");
  EXPECT_THAT(kernel_parameters(module, "k").value(),
              ElementsAre(KernelParameter{Kind::integer, "flag", "i8", 0, 1, 1},
                          KernelParameter{Kind::pointer, "p", "ptr addrspace(1)", 8, 8, 8},
                          KernelParameter{Kind::floating, "f", "float", 16, 4, 4},
                          KernelParameter{Kind::aggregate, "map", "[128 x i8]", 64, 128, 64},
                          KernelParameter{Kind::integer, "last", "i16", 192, 2, 2}));
}

TEST(KernelLaunch, AKernelWithoutParametersHasNone) {
  EXPECT_TRUE(kernel_parameters(parse("define ptx_kernel void @k() { ret void }"), "k")->empty());
}

TEST(KernelLaunch, AnotherKernelHasNone) {
  EXPECT_EQ(kernel_parameters(parse("define ptx_kernel void @a() { ret void }"), "k").status().to_string(),
            "not_found: k.ll does not define the recorded kernel 'k'; it has a");
}

TEST(KernelLaunch, TheRequiredBlockIsReadFromTheAttribute) {
  const Module module = parse(
      "define ptx_kernel void @one() \"nvvm.reqntid\"=\"128\" { ret void }\n"
      "define ptx_kernel void @three() \"nvvm.reqntid\"=\"8,4,2\" { ret void }\n"
      "define ptx_kernel void @none() { ret void }\n"
      "define ptx_kernel void @damaged() \"nvvm.reqntid\"=\"8,x\" { ret void }");
  EXPECT_EQ(required_block(module, "one"), (Dim3{128, 1, 1}));
  EXPECT_EQ(required_block(module, "three"), (Dim3{8, 4, 2}));
  EXPECT_EQ(required_block(module, "none"), std::nullopt);
  EXPECT_EQ(required_block(module, "damaged"), std::nullopt);
  EXPECT_EQ(required_block(module, "absent"), std::nullopt);
}

// As compilers wrote it before LLVM had attributes for it.
TEST(KernelLaunch, TheRequiredBlockIsReadFromAnnotations) {
  const Module module = parse(
      "define void @k() { ret void }\n"
      "!nvvm.annotations = !{!0, !1}\n"
      "!0 = !{ptr @k, !\"kernel\", i32 1}\n"
      "!1 = !{ptr @k, !\"reqntidx\", i32 64, !\"reqntidy\", i32 2}");
  EXPECT_EQ(required_block(module, "k"), (Dim3{64, 2, 1}));
  EXPECT_TRUE(kernel_parameters(module, "k").ok());
}

TEST(KernelLaunch, OfAnAmdGpu) {
  const std::string text = R"(target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @k(i32 %n, ptr addrspace(4) byref([40 x i8]) align 16 %s, i8 %last) !reqd_work_group_size !0 { ret void }
define amdgpu_kernel void @any() { ret void }
define amdgpu_kernel void @damaged() !reqd_work_group_size !1 { ret void }
!0 = !{i32 64, i32 2, i32 1}
!1 = !{i32 64, !"x", i32 1}
)";
  const Module module = Module::parse(std::as_bytes(std::span(text)), "k.ll").value();
  EXPECT_THAT(kernel_parameters(module, "k").value(), ElementsAre(KernelParameter{Kind::integer, "n", "i32", 0, 4, 4},
                                                                  KernelParameter{Kind::aggregate, "s", "[40 x i8]", 16, 40, 16},
                                                                  KernelParameter{Kind::integer, "last", "i8", 56, 1, 1}));
  EXPECT_EQ(required_block(module, "k"), (Dim3{64, 2, 1}));
  EXPECT_EQ(required_block(module, "any"), std::nullopt);
  EXPECT_EQ(required_block(module, "damaged"), std::nullopt);
}

}  // namespace
}  // namespace mneme::ir
