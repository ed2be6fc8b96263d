#include "mneme/compile/pointer_use.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

PointerUse use_of(std::string_view body) {
  const std::string text =
      "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n"
      "target triple = \"nvptx64-nvidia-cuda\"\n"
      "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)\n"
      "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n" +
      std::string(body);
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  auto use = find_pointer_use(*module, "k", "sm_90");
  EXPECT_TRUE(use.ok()) << use.status().to_string();
  return use.ok() ? *use : PointerUse();
}

// "0 r", "1+8 rw", "counter w"
std::vector<std::string> roots(const PointerUse& use) {
  std::vector<std::string> result;
  for (const PointerRoot& root : use.roots) {
    std::string name = root.kind == PointerRoot::Kind::variable ? root.variable : std::to_string(root.parameter);
    if (root.kind == PointerRoot::Kind::member) name += fmt::format("+{}", root.offset);
    result.push_back(fmt::format("{} {}{}", name, root.read ? "r" : "", root.written ? "w" : ""));
  }
  return result;
}

TEST(PointerUse, SeesThroughWhatClangWritesWithoutOptimisation) {
  const PointerUse use = use_of(R"(
define internal void @put(ptr %to, float %v) noinline optnone {
  store float %v, ptr %to
  ret void
}
define ptx_kernel void @k(ptr %a, ptr %b, i32 %n) noinline optnone {
  %own.a = alloca ptr
  store ptr %a, ptr %own.a
  %p = load ptr, ptr %own.a
  %v = load float, ptr %p
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %q = getelementptr float, ptr %b, i32 %t
  call void @put(ptr %q, float %v)
  ret void
}
)");
  EXPECT_THAT(roots(use), UnorderedElementsAre("0 r", "1 w"));
  EXPECT_EQ(use.other, "");
  EXPECT_FALSE(use.synchronises);
}

TEST(PointerUse, PointersOfStructuresVariablesAndChoicesAreRoots) {
  const PointerUse use = use_of(R"(
%s = type { i64, ptr }
@counter = addrspace(1) externally_initialized global i32 0
@primes = internal addrspace(1) constant [2 x i32] [i32 2, i32 3]
@tile = internal addrspace(3) global [32 x i32] undef
define ptx_kernel void @k(ptr %a, ptr byval(%s) align 8 %s, ptr %b, i1 %c, i32 %i) {
  %member = getelementptr %s, ptr %s, i32 0, i32 1
  %p = load ptr, ptr %member
  %v = load i32, ptr %p
  %chosen = select i1 %c, ptr %a, ptr %b
  store i32 %v, ptr %chosen
  store i32 %v, ptr addrspacecast (ptr addrspace(1) @counter to ptr)
  %prime = getelementptr [2 x i32], ptr addrspace(1) @primes, i32 0, i32 %i
  %w = load i32, ptr addrspace(1) %prime
  %slot = getelementptr [32 x i32], ptr addrspace(3) @tile, i32 0, i32 %i
  store i32 %w, ptr addrspace(3) %slot
  ret void
}
)");
  EXPECT_THAT(roots(use), UnorderedElementsAre("1+8 r", "0 w", "2 w", "counter w"));
  EXPECT_EQ(use.other, "");
}

TEST(PointerUse, WhatMayBeAnywhereIsSaid) {
  EXPECT_EQ(use_of("define ptx_kernel void @k(ptr %a) { %p = load ptr, ptr %a store i32 1, ptr %p ret void }").other,
            "a pointer that is loaded from memory");
  EXPECT_EQ(use_of("define ptx_kernel void @k(i64 %a) { %p = inttoptr i64 %a to ptr store i32 1, ptr %p ret void }").other,
            "a pointer that is made from an integer");
  EXPECT_EQ(use_of("declare void @f(ptr)\ndefine ptx_kernel void @k(ptr %a) { call void @f(ptr %a) ret void }").other,
            "the function 'f', which is not inlined");
  EXPECT_EQ(use_of("declare ptr @pool(i64)\ndefine ptx_kernel void @k(ptr %a) {\n"
                   "  %p = call ptr @pool(i64 8) memory(none)\n  store i32 1, ptr %p ret void }")
                .other,
            "a pointer that a function returns");
  EXPECT_EQ(use_of("define ptx_kernel void @k(ptr %a, ptr %f) { call void %f(ptr %a) ret void }").other,
            "a call through a pointer");
  EXPECT_EQ(use_of("define ptx_kernel void @k(ptr %a, ptr %b) {\n"
                   "  %v = call i32 asm \"ld.global.u32 $0, [$1];\", \"=r,l\"(ptr %a) memory(none)\n"
                   "  store i32 %v, ptr %b ret void }")
                .other,
            "inline PTX that is given an address");
  EXPECT_EQ(use_of("%s = type { ptr, ptr }\n"
                   "define ptx_kernel void @k(ptr byval(%s) %s, ptr %b, i64 %i) {\n"
                   "  %at = getelementptr ptr, ptr %s, i64 %i\n  store ptr %b, ptr %at\n"
                   "  %p = load ptr, ptr %s\n  store i32 1, ptr %p ret void }")
                .other,
            "a pointer in a structure that the kernel changes");
}

TEST(PointerUse, CopiesAreAccessesOfBothPointers) {
  const PointerUse use = use_of(
      "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
      "define ptx_kernel void @k(ptr %a, ptr %b, i64 %n) {\n"
      "  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %b, i64 %n, i1 false) ret void }");
  EXPECT_THAT(roots(use), UnorderedElementsAre("0 w", "1 r"));
  EXPECT_EQ(use.other, "");
}

TEST(PointerUse, SeesWhereThreadsMayLearnFromEachOther) {
  for (const char* what :
       {"call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)", "fence syncscope(\"device\") seq_cst",
        "%v = atomicrmw add ptr %a, i32 1 syncscope(\"device\") monotonic", "store volatile i32 1, ptr %a",
        "call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"() convergent", "call void @llvm.nvvm.membar.gl()",
        "%v = call i32 asm \"mov.u32 $0, %shared;\", \"=r\"() nounwind willreturn memory(read) store i32 %v, ptr %a"}) {
    const PointerUse use = use_of(fmt::format("define ptx_kernel void @k(ptr %a) {{ {} ret void }}", what));
    EXPECT_TRUE(use.synchronises) << what;
    EXPECT_EQ(use.other, "") << what;
  }
}

TEST(PointerUse, AnUnusedPointerIsNoRoot) {
  EXPECT_THAT(roots(use_of("define ptx_kernel void @k(ptr %a) { ret void }")), IsEmpty());
  EXPECT_THAT(roots(use_of("define ptx_kernel void @k(ptr %a, ptr %b) { store ptr %a, ptr %b ret void }")), ElementsAre("1 w"));
}

TEST(PointerUse, RootsAreKeptApartAndTheirAccessesTogether) {
  EXPECT_THAT(roots(use_of("%s = type { ptr, ptr }\n"
                           "@x = addrspace(1) externally_initialized global i32 0\n"
                           "@y = addrspace(1) externally_initialized global i32 0\n"
                           "define ptx_kernel void @k(ptr byval(%s) %s, ptr %c) {\n"
                           "  %p = load ptr, ptr %s\n  %at = getelementptr i8, ptr %s, i64 8\n  %q = load ptr, ptr %at\n"
                           "  %v = load i32, ptr %p\n  store i32 %v, ptr %q\n"
                           "  %x = load i32, ptr addrspace(1) @x\n  store i32 %x, ptr addrspace(1) @y\n"
                           "  store i32 %v, ptr %c\n  %far = getelementptr i8, ptr %c, i64 64\n"
                           "  %w = load i32, ptr %far\n  store i32 %w, ptr addrspace(1) @y\n  ret void }")),
              UnorderedElementsAre("0+0 r", "0+8 w", "x r", "y w", "1 rw"));
}

TEST(PointerUse, WhatExchangesReadsAndWrites) {
  for (const char* what : {"%v = atomicrmw add ptr %a, i32 1 monotonic", "%v = cmpxchg ptr %a, i32 1, i32 2 monotonic monotonic"})
    EXPECT_THAT(roots(use_of(fmt::format("define ptx_kernel void @k(ptr %a) {{ {} ret void }}", what))), ElementsAre("0 rw"))
        << what;
}

TEST(PointerUse, CopiesOfVolatileMemorySynchronise) {
  EXPECT_TRUE(use_of("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
                     "define ptx_kernel void @k(ptr %a, ptr %b, i64 %n) {\n"
                     "  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %b, i64 %n, i1 true) ret void }")
                  .synchronises);
}

TEST(PointerUse, AnAddressMayComeAsAnIntegerAndAFunctionMayOnlyRead) {
  EXPECT_EQ(use_of("define ptx_kernel void @k(i64 %a, ptr %b) {\n"
                   "  %v = call i32 asm \"ld.global.u32 $0, [$1];\", \"=r,l\"(i64 %a) memory(none)\n"
                   "  store i32 %v, ptr %b ret void }")
                .other,
            "inline PTX that is given an address");
  EXPECT_EQ(use_of("declare i32 @f(ptr) memory(read)\n"
                   "define ptx_kernel void @k(ptr %a, ptr %b) { %v = call i32 @f(ptr %a) store i32 %v, ptr %b ret void }")
                .other,
            "the function 'f', which is not inlined");
}

TEST(PointerUse, AStructureThatIsExchangedIsAChangedOne) {
  EXPECT_EQ(use_of("%s = type { ptr, ptr }\n"
                   "define ptx_kernel void @k(ptr byval(%s) %s, ptr %b, i64 %i, i64 %n) {\n"
                   "  %at = getelementptr i64, ptr %s, i64 %i\n  %old = atomicrmw xchg ptr %at, i64 %n monotonic\n"
                   "  %p = load ptr, ptr %s\n  store i32 1, ptr %p ret void }")
                .other,
            "a pointer in a structure that the kernel changes");
}

TEST(PointerUse, APointerBeforeAStructureIsNoneOfItsOwn) {
  EXPECT_EQ(use_of("%s = type { ptr, ptr }\n"
                   "define ptx_kernel void @k(ptr byval(%s) %s) {\n"
                   "  %at = getelementptr i8, ptr %s, i64 -8\n  %p = load ptr, ptr %at\n  store i32 1, ptr %p ret void }")
                .other,
            "a pointer that is loaded from memory");
}

TEST(PointerUse, ARootIsFoundBehindAnyNumberOfSteps) {
  std::string body = "define ptx_kernel void @k(ptr %a, ptr %b) {\n  %p0 = getelementptr i8, ptr %a, i64 4\n";
  for (int i = 0; i < 12; ++i)
    body += fmt::format(
        "  %v{0} = load volatile i64, ptr %b\n  %p{1} = getelementptr [{2} x i8], ptr %p{0}, i64 %v{0}\n"
        "  store i32 {0}, ptr %p{1}\n",
        i, i + 1, i + 3);
  const PointerUse use = use_of(body + "  ret void\n}\n");
  EXPECT_THAT(roots(use), UnorderedElementsAre("0 w", "1 r"));
  EXPECT_EQ(use.other, "");
}

// Structures lie in constant memory, and what comes with a launch in structures of their own.
TEST(PointerUse, OfAmdsKernels) {
  const std::string text = R"(
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
target triple = "amdgcn-amd-amdhsa"
@counter = protected addrspace(1) externally_initialized global i32 0
%both = type { i32, ptr }
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
declare i32 @llvm.amdgcn.workitem.id.x()
define protected amdgpu_kernel void @k(ptr addrspace(4) byref(%both) align 8 %s, ptr addrspace(1) %a.coerce, ptr addrspace(1) %b.coerce) #0 {
  %slot.a = alloca ptr, align 8, addrspace(5)
  store ptr addrspace(1) %a.coerce, ptr addrspace(5) %slot.a
  %a = load ptr, ptr addrspace(5) %slot.a
  %slot.b = alloca ptr, align 8, addrspace(5)
  store ptr addrspace(1) %b.coerce, ptr addrspace(5) %slot.b
  %b = load ptr, ptr addrspace(5) %slot.b
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %args = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %blocks = load i32, ptr addrspace(4) %args
  %from = getelementptr i32, ptr %a, i32 %i
  %v = load i32, ptr %from
  %sum = add i32 %v, %blocks
  %to = getelementptr i32, ptr %b, i32 %i
  store i32 %sum, ptr %to
  %at = getelementptr %both, ptr addrspace(4) %s, i32 0, i32 1
  %p = load ptr, ptr addrspace(4) %at
  store i32 1, ptr %p
  %c = load i32, ptr addrspace(1) @counter
  store i32 %c, ptr %to
  ret void
}
attributes #0 = { "target-cpu"="gfx90a" }
)";
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  auto use = find_pointer_use(*module, "k", "gfx90a");
  ASSERT_TRUE(use.ok()) << use.status().to_string();
  EXPECT_EQ(use->other, "");
  EXPECT_FALSE(use->synchronises);
  EXPECT_THAT(roots(*use), UnorderedElementsAre("1 r", "2 w", "0+8 w", "counter r"));
}

}  // namespace
}  // namespace mneme
