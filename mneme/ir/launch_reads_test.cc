// What code of both vendors reads of its launch, by one name.
#include "mneme/ir/launch_reads.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/ir/access.h"
#include "mneme/ir/bring_together.h"

namespace mneme::ir {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::string named(const std::string& triple, const std::string& body) {
  const std::string text = "target triple = \"" + triple + "\"\n" + body;
  auto module = Module::parse(std::as_bytes(std::span(text)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_TRUE(name_launch(llvm_module(*module), "naming").ok());
  return module->print();
}

constexpr char kAmd[] = "amdgcn-amd-amdhsa", kNvidia[] = "nvptx64-nvidia-cuda";

// What ROCm's device library makes of blockDim.x, of gridDim.x, and of the number of all threads.
constexpr char kOfLibrary[] = R"(
declare i32 @llvm.amdgcn.workgroup.id.x()
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
define void @f(ptr %out) {
  %b = call i32 @llvm.amdgcn.workgroup.id.x()
  %a = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %count = load i32, ptr addrspace(4) %a
  %whole = icmp ult i32 %b, %count
  %which = select i1 %whole, i64 6, i64 9
  %at = getelementptr inbounds i16, ptr addrspace(4) %a, i64 %which
  %size = load i16, ptr addrspace(4) %at
  %wide = zext i16 %size to i64
  %n = trunc i64 %wide to i32
  store i32 %n, ptr %out
  %rest.at = getelementptr inbounds i16, ptr addrspace(4) %a, i64 9
  %rest = load i16, ptr addrspace(4) %rest.at
  %has.rest = icmp ne i16 %rest, 0
  %one = zext i1 %has.rest to i32
  %blocks = add i32 %count, %one
  store i32 %blocks, ptr %out
  %packet = call ptr addrspace(4) @llvm.amdgcn.dispatch.ptr()
  %all.at = getelementptr i8, ptr addrspace(4) %packet, i64 12
  %all = load i32, ptr addrspace(4) %all.at
  store i32 %all, ptr %out
  ret void
}
)";

TEST(LaunchReads, WhatRocmsLibraryComputesIsOneRead) {
  const std::string text = named(kAmd, kOfLibrary);
  EXPECT_THAT(text, HasSubstr("%1 = call i32 @mneme.launch.grid_extent.x()\n  %2 = call i32 @mneme.launch.block_extent.x()\n  "
                              "store i32 %2, ptr %out"));
  EXPECT_THAT(text, HasSubstr("store i32 %1, ptr %out")) << "no block is not whole";
  EXPECT_THAT(text, HasSubstr("%5 = mul i32 %3, %4"));
  EXPECT_THAT(text, AllOf(Not(HasSubstr("call i32 @llvm.amdgcn")), Not(HasSubstr("call ptr addrspace(4)")),
                          Not(HasSubstr("call i32 @mneme.launch.block_index"))));
}

// As HIP's headers have blockIdx.x.
TEST(LaunchReads, TheDirectionIsChosenByASwitch) {
  const std::string text = named(kAmd, R"(
declare i32 @llvm.amdgcn.workgroup.id.x()
define void @f(ptr %out) {
entry:
  switch i32 0, label %end [ i32 0, label %x
                             i32 1, label %y ]
x:
  %b = call i32 @llvm.amdgcn.workgroup.id.x()
  br label %end
y:
  br label %end
end:
  %v = phi i32 [ poison, %entry ], [ %b, %x ], [ poison, %y ]
  store i32 %v, ptr %out
  ret void
}
)");
  EXPECT_THAT(text, AllOf(HasSubstr("%0 = call i32 @mneme.launch.block_index.x()"), HasSubstr("store i32 %0, ptr %out"),
                          Not(HasSubstr("phi"))));
}

TEST(LaunchReads, BothVendorsHaveTheSameNames) {
  const auto reads = [](const char* triple, const char* read) {
    return named(triple, std::string("declare i32 @") + read + "()\ndefine void @f(ptr %out) {\n  %v = call i32 @" + read +
                             "()\n  store i32 %v, ptr %out\n  ret void\n}\n");
  };
  EXPECT_THAT(reads(kNvidia, "llvm.nvvm.read.ptx.sreg.tid.y"), HasSubstr("call i32 @mneme.launch.thread_index.y()"));
  EXPECT_THAT(reads(kAmd, "llvm.amdgcn.workitem.id.y"), HasSubstr("call i32 @mneme.launch.thread_index.y()"));
  EXPECT_THAT(reads(kNvidia, "llvm.nvvm.read.ptx.sreg.ctaid.z"), HasSubstr("call i32 @mneme.launch.block_index.z()"));
  EXPECT_THAT(reads(kAmd, "llvm.amdgcn.workgroup.id.z"), HasSubstr("call i32 @mneme.launch.block_index.z()"));
  EXPECT_THAT(reads(kAmd, "llvm.nvvm.read.ptx.sreg.tid.y"), HasSubstr("call i32 @llvm.nvvm.read.ptx.sreg.tid.y()"))
      << "the target has no such register";
}

TEST(LaunchReads, ANameSaysWhatIsRead) {
  EXPECT_EQ(named_launch_read("mneme.launch.grid_extent.z"), (LaunchReadKind{LaunchRead::grid_extent, 2}));
  for (const char* other : {"mneme.launch.grid_extent", "mneme.launch.grid_extent.w", "llvm.amdgcn.workitem.id.x", ""})
    EXPECT_EQ(named_launch_read(other), std::nullopt) << other;
}

// What is made is what is recognised.
TEST(LaunchReads, AreMadeAsTheyAreRead) {
  for (const char* triple : {kAmd, kNvidia}) {
    const std::string text = std::string("target triple = \"") + triple + "\"\ndefine void @f() {\n  ret void\n}\n";
    auto module = Module::parse(std::as_bytes(std::span(text)), "test.ll");
    llvm::Module& llvm = llvm_module(*module);
    std::vector<LaunchReadKind> wanted, found;
    llvm::IRBuilder<> builder(&llvm.getFunction("f")->getEntryBlock().front());
    for (const LaunchRead read :
         {LaunchRead::thread_index, LaunchRead::block_index, LaunchRead::block_extent, LaunchRead::grid_extent})
      for (unsigned axis = 0; axis < 3; ++axis) {
        wanted.push_back({read, axis});
        EXPECT_TRUE(create_launch_read(builder, wanted.back())->getType()->isIntegerTy(32));
      }
    for_each_launch_read(llvm, [&](const LaunchReadKind& kind, llvm::Instruction&) { found.push_back(kind); });
    const auto order = [](const LaunchReadKind& a, const LaunchReadKind& b) {
      return std::pair(a.read, a.axis) < std::pair(b.read, b.axis);
    };
    std::ranges::sort(found, order);
    EXPECT_EQ(found, wanted) << triple;
  }
}

}  // namespace
}  // namespace mneme::ir
