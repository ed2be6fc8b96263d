#include "mneme/ir/signature.h"

#include <gtest/gtest.h>

namespace mneme::ir {
namespace {

constexpr std::string_view kNvptx = "target triple = \"nvptx64-nvidia-cuda\"\n";

Module parse(std::string_view body, std::string_view target = kNvptx, const std::string& name = "new.ll") {
  const std::string text = std::string(target) + std::string(body);
  auto module = Module::parse(std::as_bytes(std::span(text)), name);
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return std::move(module).value();
}

constexpr std::string_view kRecorded =
    "%s = type { ptr, i64, i32 }\n"
    "define ptx_kernel void @k(ptr %p, i32 %n, ptr byval(%s) align 8 %s) { ret void }";

std::string refusal(std::string_view body, std::string_view target = kNvptx) {
  return check_replacement(parse(kRecorded, kNvptx, "recorded"), parse(body, target), "k").to_string();
}

TEST(Signature, TheSameParametersFitByWhateverNames) {
  const Module other = parse(
      "%t = type { [3 x i64] }\n"
      "define ptx_kernel void @k(ptr noalias align 16 %q, i32 noundef %m, ptr byval(%t) align 8 %t) { ret void }");
  EXPECT_TRUE(check_replacement(parse(kRecorded, kNvptx, "recorded"), other, "k").ok());
}

TEST(Signature, AnotherKernelIsRefused) {
  EXPECT_EQ(refusal("define ptx_kernel void @a() { ret void }\ndefine ptx_kernel void @b() { ret void }\ndeclare void @k()"),
            "not_found: new.ll does not define the recorded kernel 'k'; it has a, b");
  EXPECT_EQ(refusal(""), "not_found: new.ll does not define the recorded kernel 'k'; it has no kernel");
  EXPECT_EQ(refusal("define void @k(ptr %p) { ret void }"),
            "incompatible: new.ll defines 'k' as a function, and no kernel: it wants the calling convention ptx_kernel");
}

TEST(Signature, OtherParametersAreRefused) {
  EXPECT_EQ(refusal("define ptx_kernel void @k(ptr %p, i32 %n) { ret void }"),
            "incompatible: new.ll: 'k' takes 2 parameters, and 3 as it was recorded");
  EXPECT_EQ(refusal("define ptx_kernel void @k(ptr %p, i64 %n, ptr %s) { ret void }"),
            "incompatible: new.ll: parameter 1 of 'k' is i64, and i32 as it was recorded");
  EXPECT_EQ(refusal("define ptx_kernel void @k(ptr %p, float %n, ptr %s) { ret void }"),
            "incompatible: new.ll: parameter 1 of 'k' is float, and i32 as it was recorded");
  EXPECT_EQ(refusal("define ptx_kernel void @k(ptr %p, i32 %n, ptr byval([4 x i32]) align 4 %s) { ret void }"),
            "incompatible: new.ll: parameter 2 of 'k' is a structure of 16 bytes, aligned to 4, and a structure of 24 bytes, "
            "aligned to 8 as it was recorded");
  EXPECT_EQ(refusal("define ptx_kernel void @k(ptr %p, i32 %n, ptr %s) { ret void }"),
            "incompatible: new.ll: parameter 2 of 'k' is ptr, and a structure of 24 bytes, aligned to 8 as it was recorded");
}

TEST(Signature, AnotherTargetIsRefused) {
  EXPECT_EQ(refusal(kRecorded, "target triple = \"x86_64-pc-linux-gnu\"\n"),
            "incompatible: new.ll is for the target 'x86_64-pc-linux-gnu', and the recorded kernel for 'nvptx64-nvidia-cuda'");
}

TEST(Signature, StructuresMayComeByReferenceAndAsThemselves) {
  const Module recorded = parse("define ptx_kernel void @k({ i32, i32 } %s, ptr byref({ i64, i64 }) align 8 %r) { ret void }");
  EXPECT_TRUE(check_replacement(
                  recorded, parse("define ptx_kernel void @k([2 x i32] %s, ptr byref([2 x i64]) align 8 %r) { ret void }"), "k")
                  .ok());
  EXPECT_FALSE(check_replacement(
                   recorded, parse("define ptx_kernel void @k([3 x i32] %s, ptr byref([2 x i64]) align 8 %r) { ret void }"), "k")
                   .ok());
  EXPECT_FALSE(check_replacement(recorded, parse("define ptx_kernel void @k([2 x i32] %s, ptr %r) { ret void }"), "k").ok());
}

}  // namespace
}  // namespace mneme::ir
