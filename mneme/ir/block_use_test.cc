#include "mneme/ir/block_use.h"

#include <gtest/gtest.h>

namespace mneme::ir {
namespace {

constexpr char kHead[] = R"(
target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [32 x i32] poison
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare void @llvm.nvvm.barrier0()
declare double @__nv_sin(double)
declare i32 @vprintf(ptr, ptr)
declare double @llvm.fabs.f64(double)
define internal i32 @thread() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %t
}
define ptx_kernel void @kernel(ptr %out) {
  %slot = alloca i32
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %b, %n
  %t = call i32 @thread()
  %i = add i32 %first, %t
  store i32 %i, ptr %slot
)";

bool ignores(const std::string& more) {
  const std::string ir = kHead + more + "\n  ret void\n}\n";
  auto module = Module::parse(std::as_bytes(std::span(ir)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  const auto found = ignores_blocks(*module, "kernel");
  EXPECT_TRUE(found.ok()) << found.status().to_string();
  return found.ok() && *found;
}

TEST(BlockUse, AnIndexInTheWholeGridKnowsNothingOfBlocks) {
  EXPECT_TRUE(ignores(R"(
  %again = load i32, ptr %slot
  %wide = sext i32 %again to i64
  %at = getelementptr double, ptr %out, i64 %wide
  %v = load double, ptr %at
  %s = call double @__nv_sin(double %v)
  %a = call double @llvm.fabs.f64(double %s)
  store double %a, ptr %at
  %grid = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %all = mul i32 %grid, %n
  %old = atomicrmw add ptr %out, i32 %all syncscope("device") monotonic)"));
  EXPECT_TRUE(ignores(R"(
  %b64 = zext i32 %b to i64
  %n64 = zext i32 %n to i64
  %first64 = mul i64 %n64, %b64
  %t64 = zext i32 %t to i64
  %i64 = add i64 %t64, %first64
  store i64 %i64, ptr %out)"));
}

TEST(BlockUse, WhateverTellsBlocksApartIsFound) {
  for (const char* more : {
           "  store i32 %t, ptr %out",
           "  store i32 %b, ptr %out",
           "  store i32 %n, ptr %out",
           "  store i32 %first, ptr %out",
           "  %g = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()\n  store i32 %g, ptr %out",
           "  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()\n  %sum = add i32 %first, %y\n  store i32 %sum, ptr %out",
           "  %l = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n  store i32 %l, ptr %out",
           "  call void @llvm.nvvm.barrier0()",
           "  store i32 %i, ptr addrspace(3) @tile",
           "  call void asm sideeffect \"bar.warp.sync -1;\", \"\"()",
           "  fence syncscope(\"block\") seq_cst",
           "  %old = atomicrmw add ptr %out, i32 1 syncscope(\"block\") monotonic",
           "  %f = load ptr, ptr %out\n  call void %f()",
           "  %p = call i32 @vprintf(ptr %out, ptr %out)",
       })
    EXPECT_FALSE(ignores(more)) << more;
}

TEST(BlockUse, AKernelThatIsNotThereIsNotFound) {
  const std::string ir = std::string(kHead) + "  ret void\n}\n";
  auto module = Module::parse(std::as_bytes(std::span(ir)), "test.ll");
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(ignores_blocks(*module, "other").status().message(),
            "looking for what a kernel knows of blocks: the IR has no kernel 'other'");
}

}  // namespace
}  // namespace mneme::ir
