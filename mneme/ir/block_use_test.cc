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

// The same for AMD's GPUs, where the device library chooses the size of a block by which block it is.
bool amd_ignores(const std::string& more, const std::string& declarations = "") {
  const std::string ir = R"(
target triple = "amdgcn-amd-amdhsa"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
)" + declarations + R"(
define internal i64 @local_size() {
  %b = call i32 @llvm.amdgcn.workgroup.id.x()
  %a = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %count = load i32, ptr addrspace(4) %a
  %whole = icmp ult i32 %b, %count
  %which = select i1 %whole, i64 6, i64 9
  %at = getelementptr inbounds i16, ptr addrspace(4) %a, i64 %which
  %size = load i16, ptr addrspace(4) %at
  %wide = zext i16 %size to i64
  ret i64 %wide
}
define protected amdgpu_kernel void @kernel(ptr addrspace(1) %out) {
  %b = call i32 @llvm.amdgcn.workgroup.id.x()
  %n64 = call i64 @local_size()
  %n = trunc i64 %n64 to i32
  %first = mul i32 %b, %n
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %i = add i32 %first, %t
  %at = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %i, ptr addrspace(1) %at
)" + more + "\n  ret void\n}\n";
  auto module = Module::parse(std::as_bytes(std::span(ir)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  const auto found = ignores_blocks(*module, "kernel");
  EXPECT_TRUE(found.ok()) << found.status().to_string();
  return found.ok() && *found;
}

TEST(BlockUse, OfAmdsCode) {
  EXPECT_TRUE(amd_ignores(""));
  EXPECT_TRUE(amd_ignores("  %v = atomicrmw add ptr addrspace(1) %out, i32 1 syncscope(\"agent\") monotonic\n"));
  EXPECT_TRUE(amd_ignores("  %v = atomicrmw add ptr addrspace(1) %out, i32 1 syncscope(\"agent-one-as\") monotonic\n"));
  EXPECT_FALSE(amd_ignores("  %v = atomicrmw add ptr addrspace(1) %out, i32 1 syncscope(\"workgroup\") monotonic\n"));
  EXPECT_FALSE(amd_ignores("  store i32 %b, ptr addrspace(1) %out\n")) << "the block as such";
  EXPECT_FALSE(amd_ignores("  store i32 %n, ptr addrspace(1) %out\n")) << "its size as such";
  EXPECT_FALSE(amd_ignores("  fence syncscope(\"workgroup\") release\n"));
  EXPECT_FALSE(amd_ignores("  call void @llvm.amdgcn.s.barrier()\n", "declare void @llvm.amdgcn.s.barrier() convergent"));
  EXPECT_FALSE(amd_ignores("  %l = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)\n  store i32 %l, ptr addrspace(1) %out\n",
                           "declare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)"))
      << "the lane";
  EXPECT_TRUE(amd_ignores("  %r = call float @llvm.amdgcn.rcp.f32(float 2.0)\n  store float %r, ptr addrspace(1) %out\n",
                          "declare float @llvm.amdgcn.rcp.f32(float)"));
}

}  // namespace
}  // namespace mneme::ir
