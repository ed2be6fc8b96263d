#include "mneme/ir/order_dependence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme::ir {
namespace {

using Kind = OrderDependence::Kind;
using testing::ElementsAre;
using testing::IsEmpty;

OrderUse use_of(const std::string& body, const std::string& more = "") {
  const std::string ir = R"(
target triple = "nvptx64-nvidia-cuda"
declare i64 @llvm.nvvm.read.ptx.sreg.clock64()
declare i32 @llvm.nvvm.read.ptx.sreg.smid()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent
declare void @llvm.nvvm.membar.gl()
)" + more + "\ndefine ptx_kernel void @k(ptr %p, ptr %q) {\n" +
                         body + "  ret void\n}\n";
  auto module = Module::parse(std::as_bytes(std::span(ir)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return module.ok() ? find_order_use(*module) : OrderUse();
}

std::vector<std::string> found(const std::string& body) {
  std::vector<std::string> kinds;
  for (const OrderDependence& d : use_of(body).dependences) kinds.emplace_back(to_string(d.kind));
  return kinds;
}

TEST(OrderDependence, FloatSumsAreAndWholeNumbersOfWhichNobodyUsesTheResultAreNot) {
  EXPECT_THAT(found("  %v = atomicrmw fadd ptr %p, float 1.0 monotonic\n"), ElementsAre("float_sum"));
  EXPECT_THAT(found("  %v = atomicrmw fsub ptr %p, double 1.0 monotonic\n"), ElementsAre("float_sum"));
  EXPECT_THAT(found("  %v = atomicrmw fmax ptr %p, float 1.0 monotonic\n"), IsEmpty());
  for (const char* operation : {"add", "sub", "max", "umin", "and", "or", "xor"})
    EXPECT_THAT(found(std::string("  %v = atomicrmw ") + operation + " ptr %p, i32 1 monotonic\n"), IsEmpty()) << operation;
  EXPECT_THAT(found("  %v = atomicrmw add ptr %p, i32 1 monotonic\n  store i32 %v, ptr %q\n"), ElementsAre("atomic_result"));
  EXPECT_THAT(found("  %v = atomicrmw xchg ptr %p, i32 1 monotonic\n"), ElementsAre("exchange"));
  EXPECT_THAT(found("  %v = cmpxchg ptr %p, i32 1, i32 2 monotonic monotonic\n"), ElementsAre("exchange"));
}

// As atomicAdd() is around them before it is inlined.
TEST(OrderDependence, WhatAFunctionGivesOnIsUsedWhereItsCallerUsesIt) {
  const std::string around =
      "define internal i32 @inner(ptr %p, i32 %n) {\n  %v = atomicrmw add ptr %p, i32 %n monotonic\n  ret i32 %v\n}\n"
      "define internal i32 @outer(ptr %p, i32 %n) {\n  %v = call i32 @inner(ptr %p, i32 %n)\n  ret i32 %v\n}\n";
  const std::string call = "  %v = call i32 @outer(ptr %p, i32 1)\n";
  EXPECT_THAT(use_of(call, around).dependences, IsEmpty());
  EXPECT_FALSE(use_of(call, around).orders_blocks);
  const OrderUse used = use_of(call + "  store i32 %v, ptr %q\n", around);
  ASSERT_EQ(used.dependences.size(), 1u);
  EXPECT_EQ(used.dependences[0].kind, Kind::atomic_result);
  EXPECT_TRUE(used.orders_blocks);
  EXPECT_EQ(use_of("  store ptr @outer, ptr %q\n", around).dependences.size(), 1u) << "who calls it is not known";
}

TEST(OrderDependence, ClocksAndPlaces) {
  EXPECT_THAT(found("  %v = call i64 @llvm.nvvm.read.ptx.sreg.clock64()\n  store i64 %v, ptr %p\n"), ElementsAre("clock"));
  EXPECT_THAT(found("  %v = call i32 @llvm.nvvm.read.ptx.sreg.smid()\n  store i32 %v, ptr %p\n"), ElementsAre("placement"));
  EXPECT_THAT(found("  %v = call i64 asm sideeffect \"mov.u64 $0, %globaltimer;\", \"=l\"()\n"), ElementsAre("clock"));
  EXPECT_THAT(found("  call void asm sideeffect \"red.global.add.f32 [$0], 1.0;\", \"l\"(ptr %p)\n"), ElementsAre("float_sum"));
  EXPECT_THAT(found("  call void asm sideeffect \"red.global.add.u32 [$0], 1;\", \"l\"(ptr %p)\n"), IsEmpty());
  EXPECT_THAT(found("  %v = load i32, ptr %p\n  store i32 %v, ptr %q\n"), IsEmpty());
}

// Each word of PTX that says something, alone.
TEST(OrderDependence, EveryWordOfInlineAssembly) {
  struct Case {
    const char* text;
    bool waits, orders;
    std::vector<std::string> kinds;
  };
  const std::vector<Case> cases = {
      {"bar.sync 0;", true, false, {}},
      {"barrier.sync.aligned 0;", true, false, {}},
      {"bar.warp.sync 0xffffffff;", true, false, {}},
      {"membar.gl;", false, true, {}},
      {"fence.sc.gpu;", false, true, {}},
      {"ld.volatile.global.u32 $0, [$1];", false, true, {}},
      {"ld.acquire.gpu.u32 $0, [$1];", false, true, {}},
      {"st.release.gpu.u32 [$1], $0;", false, true, {}},
      {"ld.relaxed.gpu.u32 $0, [$1];", false, true, {}},
      {"ld.global.u32 $0, [$1];", false, false, {}},
      {"mov.u32 $0, %clock;", false, false, {"clock"}},
      {"mov.u64 $0, %globaltimer;", false, false, {"clock"}},
      {"mov.u32 $0, %smid;", false, false, {"placement"}},
      {"mov.u32 $0, %warpid;", false, false, {"placement"}},
      {"atom.global.add.f16 $0, [$1], 1;", false, true, {"float_sum"}},
      {"atom.global.add.f32 $0, [$1], 1;", false, true, {"float_sum"}},
      {"atom.global.add.f64 $0, [$1], 1;", false, true, {"float_sum"}},
      {"atom.global.add.noftz.bf16 $0, [$1], 1;", false, true, {"float_sum"}},
      {"red.add.f32 [$1], 1;", false, false, {"float_sum"}},
      {"red.global.max.u32 [$1], 1;", false, false, {}},
      {"atom.global.exch.b32 $0, [$1], 1;", false, true, {"exchange"}},
      {"atom.global.cas.b32 $0, [$1], 1, 2;", false, true, {"exchange"}},
      {"atom.global.add.u32 $0, [$1], 1;", false, true, {"atomic_result"}},
  };
  for (const Case& c : cases) {
    const std::string text = c.text;
    const OrderUse use = use_of("  %v = call i32 asm sideeffect \"" + text + "\", \"=r,l\"(ptr %p)\n  store i32 %v, ptr %q\n");
    EXPECT_EQ(use.waits_in_blocks, c.waits) << text;
    EXPECT_EQ(use.orders_blocks, c.orders) << text;
    std::vector<std::string> kinds;
    for (const OrderDependence& d : use.dependences) kinds.emplace_back(to_string(d.kind));
    EXPECT_EQ(kinds, c.kinds) << text;
  }
}

TEST(OrderDependence, PlacesAreCountedAndTheFirstLineIsTold) {
  const std::string body =
      "  %v = atomicrmw fadd ptr %p, float 1.0 monotonic, !dbg !5\n"
      "  %w = atomicrmw fadd ptr %q, float 1.0 monotonic, !dbg !5\n";
  const std::string debug = R"(
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "sum.cu", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{})
!5 = !DILocation(line: 12, column: 3, scope: !6)
!6 = distinct !DILexicalBlock(scope: !3, file: !1, line: 2)
)";
  std::string ir = "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k(ptr %p, ptr %q) !dbg !3 {\n" + body +
                   "  ret void\n}\n" + debug;
  auto module = Module::parse(std::as_bytes(std::span(ir)), "test.ll");
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const OrderUse use = find_order_use(*module);
  ASSERT_EQ(use.dependences.size(), 1u);
  EXPECT_EQ(
      describe(use.dependences[0]),
      "adds floating-point numbers by atomic operations, and each order rounds otherwise (2 places, the first at sum.cu:12)");
  EXPECT_EQ(describe({Kind::clock, 1, ""}), "reads a clock (1 place)");
}

TEST(OrderDependence, InALibraryThePlaceIsWhereTheProgramCallsIt) {
  const std::string ir = R"(
target triple = "nvptx64-nvidia-cuda"
define internal float @atomicAdd(ptr %p, float %x) !dbg !7 {
  %v = atomicrmw fadd ptr %p, float %x monotonic, !dbg !9
  ret float %v
}
define ptx_kernel void @k(ptr %p, ptr %q) !dbg !3 {
  %v = call float @atomicAdd(ptr %p, float 1.0), !dbg !5
  %w = call float @atomicAdd(ptr %q, float 1.0), !dbg !6
  %x = atomicrmw fadd ptr %q, float 1.0 monotonic, !dbg !10
  ret void
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "sum.cu", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{})
!5 = !DILocation(line: 12, column: 3, scope: !3)
!6 = !DILocation(line: 13, column: 3, scope: !3)
!7 = distinct !DISubprogram(name: "atomicAdd", file: !8, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!8 = !DIFile(filename: "/usr/lib/llvm-22/lib/clang/22/include/__clang_cuda_device_functions.h", directory: "/")
!9 = !DILocation(line: 177, column: 3, scope: !7)
!10 = !DILocation(line: 177, column: 3, scope: !7, inlinedAt: !11)
!11 = distinct !DILocation(line: 14, column: 3, scope: !3)
)";
  auto module = Module::parse(std::as_bytes(std::span(ir)), "test.ll");
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  const OrderUse use = find_order_use(*module);
  ASSERT_EQ(use.dependences.size(), 1u);
  EXPECT_EQ(use.dependences[0].places, 3u);
  EXPECT_THAT(use.dependences[0].first, testing::StartsWith("sum.cu:1"));
}

TEST(OrderDependence, WhatWaitsIsTold) {
  EXPECT_TRUE(use_of("  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n").waits_in_blocks);
  EXPECT_FALSE(use_of("  store i32 1, ptr %p\n").waits_in_blocks);
  EXPECT_FALSE(use_of("  store i32 1, ptr %p\n").orders_blocks);
  EXPECT_TRUE(use_of("  call void @llvm.nvvm.membar.gl()\n").orders_blocks);
  EXPECT_TRUE(use_of("  fence seq_cst\n").orders_blocks);
  EXPECT_TRUE(use_of("  %v = load volatile i32, ptr %p\n").orders_blocks);
  EXPECT_FALSE(use_of("  %v = atomicrmw add ptr %p, i32 1 monotonic\n").orders_blocks) << "nobody learns from it";
  EXPECT_TRUE(use_of("  %v = atomicrmw xchg ptr %p, i32 0 monotonic\n").orders_blocks) << "as a lock is given back";
}

TEST(OrderDependence, AtomicAccessesOrderBlocks) {
  EXPECT_FALSE(use_of("  %v = load i32, ptr %p\n").orders_blocks);
  EXPECT_TRUE(use_of("  %v = load atomic i32, ptr %p monotonic, align 4\n").orders_blocks);
  EXPECT_TRUE(use_of("  store atomic i32 1, ptr %p monotonic, align 4\n").orders_blocks);
  EXPECT_TRUE(use_of("  %v = cmpxchg ptr %p, i32 1, i32 2 monotonic monotonic\n").orders_blocks);
}

TEST(OrderDependence, AtomicIntrinsicsClocksAndPlacesByOtherNames) {
  const auto kinds = [](const std::string& body, const std::string& declaration) {
    std::vector<std::string> all;
    for (const OrderDependence& d : use_of(body, declaration).dependences) all.emplace_back(to_string(d.kind));
    return all;
  };
  EXPECT_THAT(
      kinds("  %v = call i64 @llvm.readcyclecounter()\n  store i64 %v, ptr %p\n", "declare i64 @llvm.readcyclecounter()\n"),
      ElementsAre("clock"));
  EXPECT_THAT(kinds("  %v = call i32 @llvm.nvvm.read.ptx.sreg.warpid()\n  store i32 %v, ptr %p\n",
                    "declare i32 @llvm.nvvm.read.ptx.sreg.warpid()\n"),
              ElementsAre("placement"));
  EXPECT_THAT(kinds("  %v = call i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr %p, i32 1, i32 2)\n",
                    "declare i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr, i32, i32)\n"),
              ElementsAre("exchange"));
  EXPECT_THAT(kinds("  %v = call float @llvm.nvvm.atomic.add.gen.f.cta.f32.p0(ptr %p, float 1.0)\n",
                    "declare float @llvm.nvvm.atomic.add.gen.f.cta.f32.p0(ptr, float)\n"),
              ElementsAre("float_sum"));
}

// Of a module whose debug information is this: sum.cu with the kernel !3, and a header of the compiler with the function !7.
std::string place_in(const std::string& functions) {
  const std::string ir = "target triple = \"nvptx64-nvidia-cuda\"\n" + functions + R"(
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "sum.cu", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "k", file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{})
!5 = !DILocation(line: 12, column: 3, scope: !3)
!6 = !DILocation(line: 13, column: 3, scope: !3)
!7 = distinct !DISubprogram(name: "atomicAdd", file: !8, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!8 = !DIFile(filename: "/usr/lib/llvm-22/lib/clang/22/include/__clang_cuda_device_functions.h", directory: "/")
!9 = !DILocation(line: 177, column: 3, scope: !7)
!10 = !DILocation(line: 177, column: 3, scope: !7, inlinedAt: !11)
!11 = distinct !DILocation(line: 14, column: 3, scope: !3)
!12 = distinct !DISubprogram(name: "add", file: !8, line: 2, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!13 = !DILocation(line: 90, column: 3, scope: !12)
)";
  auto module = Module::parse(std::as_bytes(std::span(ir)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  if (!module.ok()) return "";
  const OrderUse use = find_order_use(*module);
  EXPECT_EQ(use.dependences.size(), 1u);
  return use.dependences.empty() ? "" : use.dependences[0].first;
}

TEST(OrderDependence, ThePlaceIsTheFirstAndBehindAsManyFunctionsOfALibraryAsThereAre) {
  const std::string inner =
      "define internal float @add(ptr %p) !dbg !12 {\n"
      "  %v = atomicrmw fadd ptr %p, float 1.0 monotonic, !dbg !13\n  ret float %v\n}\n";
  const std::string outer =
      "define internal float @atomicAdd(ptr %p) !dbg !7 {\n"
      "  %v = call float @add(ptr %p), !dbg !9\n  ret float %v\n}\n";
  const std::string call = "  %a = call float @atomicAdd(ptr %p), !dbg !5\n";
  const std::string own = "  %b = atomicrmw fadd ptr %p, float 1.0 monotonic, !dbg !6\n";
  const std::string inlined = "  %c = atomicrmw fadd ptr %p, float 1.0 monotonic, !dbg !10\n";
  const auto kernel = [](const std::string& body) {
    return "define ptx_kernel void @k(ptr %p) !dbg !3 {\n" + body + "  ret void\n}\n";
  };
  EXPECT_EQ(place_in(inner + outer + kernel(call)), "sum.cu:12");
  EXPECT_EQ(place_in(inner + outer + kernel(call + own + inlined)), "sum.cu:12");
  EXPECT_EQ(place_in(kernel(inlined)), "sum.cu:14");
}

TEST(OrderDependence, AtomicIntrinsicsOrderBlocksWhereTheirResultIsUsed) {
  const std::string name = "@llvm.nvvm.atomic.add.gen.i.cta.i32.p0", declaration = "declare i32 " + name + "(ptr, i32)\n";
  const std::string call = "  %v = call i32 " + name + "(ptr %p, i32 1)\n";
  EXPECT_FALSE(use_of(call, declaration).orders_blocks);
  EXPECT_TRUE(use_of(call + "  store i32 %v, ptr %q\n", declaration).orders_blocks);
}

TEST(OrderDependence, OfAmdsCode) {
  const auto use = [](const std::string& body) {
    const std::string ir = R"(
target triple = "amdgcn-amd-amdhsa"
declare void @llvm.amdgcn.s.barrier() convergent
declare i64 @llvm.amdgcn.s.memtime()
declare i64 @llvm.amdgcn.s.memrealtime()
declare i32 @llvm.amdgcn.s.getreg(i32 immarg)
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
)" + body + "  ret void\n}\n";
    auto module = Module::parse(std::as_bytes(std::span(ir)), "test.ll");
    EXPECT_TRUE(module.ok()) << module.status().to_string();
    return module.ok() ? find_order_use(*module) : OrderUse();
  };
  const auto kinds = [&](const std::string& body) {
    std::vector<std::string> found;
    for (const OrderDependence& d : use(body).dependences) found.emplace_back(to_string(d.kind));
    return found;
  };
  // __syncthreads() is a barrier between two fences of a block's threads.
  const OrderUse barrier =
      use("  fence syncscope(\"workgroup\") release\n  call void @llvm.amdgcn.s.barrier()\n  fence syncscope(\"workgroup\") "
          "acquire\n");
  EXPECT_TRUE(barrier.waits_in_blocks);
  EXPECT_FALSE(barrier.orders_blocks);
  EXPECT_TRUE(use("  fence syncscope(\"agent\") release\n").orders_blocks);
  EXPECT_TRUE(use("  fence release\n").orders_blocks);
  EXPECT_THAT(kinds("  %v = atomicrmw fadd ptr addrspace(1) %p, float 1.0 syncscope(\"agent\") monotonic\n"),
              ElementsAre("float_sum"));
  EXPECT_THAT(kinds("  %v = call i64 @llvm.amdgcn.s.memtime()\n  %w = call i64 @llvm.amdgcn.s.memrealtime()\n"),
              ElementsAre("clock"));
  EXPECT_THAT(kinds("  %v = call i32 @llvm.amdgcn.s.getreg(i32 63492)\n"), ElementsAre("placement"));
  EXPECT_THAT(
      kinds("  call void asm sideeffect \"global_atomic_add_f32 $0, $1, off\", \"v,v\"(ptr addrspace(1) %p, float 1.0)\n"),
      ElementsAre("float_sum"));
  EXPECT_THAT(kinds("  call void asm sideeffect \"s_memtime $0\", \"s\"(i64 0)\n"), ElementsAre("clock"));
  EXPECT_TRUE(use("  call void asm sideeffect \"s_barrier\", \"\"()\n").waits_in_blocks);
}

}  // namespace
}  // namespace mneme::ir
