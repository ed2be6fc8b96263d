// What is tracked, and what cannot be. That notes are right is tested where kernels run (tests/e2e/mask.sh).
#include "mneme/compile/track_accesses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "mneme/compile/compiler.h"

namespace mneme {
namespace {

using testing::HasSubstr;

std::string kernel(const std::string& body, const std::string& declarations = "") {
  return R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
)" + declarations +
         "\ndefine ptx_kernel void @k(ptr %p, ptr %q, i64 %n) {\n" + body + "  ret void\n}\n";
}

Result<std::string> tracked(const std::string& ir, DeviceKind kind, const std::string& architecture,
                            Stage stage = Stage::optimised, NoteOf note = NoteOf::access) {
  MNEME_ASSIGN(ir::Module module, ir::Module::parse(std::as_bytes(std::span(ir)), "test"));
  MNEME_ASSIGN(auto compiler, Compiler::create(kind, architecture));
  CompileOptions options;
  options.passes = "verify";
  options.tracking = {
      {{DevicePtr(0x7a0000001000), Bytes(64), Bytes(0)}, {DevicePtr(0x7a0000000000), Bytes(100), Bytes(512)}}, Bytes(1024), note};
  return compiler->emit(module, options, stage);
}

size_t notes(const std::string& body, const std::string& declarations = "") {
  auto text = tracked(kernel(body, declarations), DeviceKind::cpu, "x86-64-v3");
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  if (!text.ok()) return 0;
  size_t count = 0;
  for (size_t at = 0; (at = text->find("call void @__mneme_track(", at)) != std::string::npos; ++at) ++count;
  return count;
}

std::string refusal(const std::string& body, const std::string& declarations = "") {
  auto text = tracked(kernel(body, declarations), DeviceKind::cpu, "x86-64-v3");
  return text.ok() ? "" : text.status().to_string();
}

TEST(TrackAccesses, EachAccessOfGlobalMemoryIsNoted) {
  EXPECT_EQ(notes("  store i32 1, ptr %p\n"), 1u);
  EXPECT_EQ(notes("  %v = load i32, ptr %p\n  store i32 %v, ptr %q\n"), 2u);
  EXPECT_EQ(notes("  %v = atomicrmw add ptr %p, i32 1 seq_cst\n"), 2u);
  EXPECT_EQ(notes("  %v = cmpxchg ptr %p, i32 1, i32 2 seq_cst seq_cst\n"), 2u);
  EXPECT_EQ(notes("  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %q, i64 %n, i1 false)\n",
                  "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"),
            2u);
  EXPECT_EQ(notes("  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)\n",
                  "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"),
            1u);
}

TEST(TrackAccesses, AThreadsAndABlocksOwnMemoryIsNot) {
  EXPECT_EQ(notes("  %a = alloca i32\n  store i32 1, ptr %a\n"), 0u);
  EXPECT_EQ(notes("  store i32 1, ptr addrspace(3) @s\n", "@s = internal addrspace(3) global i32 undef"), 0u);
  EXPECT_EQ(notes("  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)\n",
                  "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) convergent"),
            0u);
}

// The planes that are noted, in their order.
std::string planes(const std::string& body, NoteOf note) {
  auto text = tracked(kernel(body), DeviceKind::cpu, "x86-64-v3", Stage::optimised, note);
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  if (!text.ok()) return "";
  std::string found;
  for (size_t at = 0; (at = text->find("call void @__mneme_track(", at)) != std::string::npos;) {
    at = text->find("i64 ", text->find("i64 ", text->find("i64 ", at) + 4) + 4) + 4;
    found += (*text)[at];
  }
  return found;
}

TEST(TrackAccesses, AtomicAndVolatileAccessesAreOfAPlaneOfTheirOwnWhereWhoCameIsNoted) {
  const std::string both = "  %v = load i32, ptr %p\n  store i32 %v, ptr %q\n",
                    atomic = "  %v = atomicrmw add ptr %p, i32 1 seq_cst\n",
                    loads = "  %v = load volatile i32, ptr %p\n  %w = load atomic i32, ptr %q monotonic, align 4\n",
                    stores = "  store volatile i32 1, ptr %p\n  store atomic i32 1, ptr %q monotonic, align 4\n";
  EXPECT_EQ(planes(both, NoteOf::access), "10");
  EXPECT_EQ(planes(atomic, NoteOf::access), "10");
  EXPECT_EQ(planes(loads, NoteOf::access), "11");
  EXPECT_EQ(planes(stores, NoteOf::access), "00");
  for (NoteOf who : {NoteOf::block, NoteOf::thread}) {
    EXPECT_EQ(planes(both, who), "10");
    EXPECT_EQ(planes(atomic, who), "2");
    EXPECT_EQ(planes(loads, who), "");
    EXPECT_EQ(planes(stores, who), "22");
  }
}

TEST(TrackAccesses, WhoCameCanBeNotedOnAGpu) {
  for (NoteOf who : {NoteOf::block, NoteOf::thread}) {
    auto ptx = tracked(kernel("  store i32 1, ptr %p\n"), DeviceKind::cuda, "sm_90", Stage::assembly, who);
    ASSERT_TRUE(ptx.ok()) << ptx.status().to_string();
    EXPECT_THAT(*ptx, HasSubstr("cas."));
    EXPECT_EQ(ptx->find("%tid.x") != std::string::npos, who == NoteOf::thread);
  }
}

TEST(TrackAccesses, GpuCodeIsTrackedToo) {
  auto text = tracked(kernel("  store i32 1, ptr %p\n"), DeviceKind::cuda, "sm_90");
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  EXPECT_THAT(*text, HasSubstr("call void @__mneme_track("));
}

TEST(TrackAccesses, WhereTheNotesLieIsForTheProcessToSay) {
  auto ptx = tracked(kernel("  store i32 1, ptr %p\n"), DeviceKind::cuda, "sm_90", Stage::assembly);
  ASSERT_TRUE(ptx.ok()) << ptx.status().to_string();
  EXPECT_THAT(*ptx, HasSubstr(".visible .global .align 8 .u64 __mneme_access_notes"));
}

TEST(TrackAccesses, LocalVariablesAreAlignedForTheWidestAccess) {
  auto text =
      tracked(kernel("  %a = alloca [5 x float], align 4\n  %b = alloca [2 x float], align 4\n  %c = alloca i32, align 32\n"
                     "  %d = alloca i8, i64 %n, align 1\n"),
              DeviceKind::cuda, "sm_90");
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  for (const char* aligned : {"%a = alloca [5 x float], align 16", "%b = alloca [2 x float], align 8",
                              "%c = alloca i32, align 32", "%d = alloca i8, i64 %n, align 1"})
    EXPECT_THAT(*text, HasSubstr(aligned));
}

TEST(TrackAccesses, WhatCannotBeFollowedIsNamed) {
  EXPECT_EQ(refusal("  call void asm sideeffect \"st.global.u32 [$0], 1;\", \"l\"(ptr %p)\n"),
            "unsupported: inline assembly accesses memory: 'st.global.u32 [$0], 1;'");
  EXPECT_EQ(refusal("  call void @elsewhere(ptr %p)\n", "declare void @elsewhere(ptr)"),
            "unsupported: accesses of 'elsewhere' are not followed");
  EXPECT_EQ(refusal("  %v = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr align 4 %p, <4 x i1> splat (i1 true), <4 x i32> "
                    "zeroinitializer)\n",
                    "declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, <4 x i1>, <4 x i32>)"),
            "unsupported: accesses of 'llvm.masked.load.v4i32.p0' are not followed");
}

TEST(TrackAccesses, PlainAssemblyIsNoAccess) {
  EXPECT_EQ(refusal("  %v = call i32 asm sideeffect \"mov.u32 $0, %laneid;\", \"=r\"()\n"), "");
}

std::string printed(const std::string& body, const std::string& declarations = "") {
  auto text = tracked(kernel(body, declarations), DeviceKind::cuda, "sm_90");
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? *text : "";
}

TEST(TrackAccesses, NotesAreAsLongAsTheAccess) {
  EXPECT_THAT(printed("  %v = cmpxchg ptr %p, i64 1, i64 2 seq_cst seq_cst\n"),
              testing::ContainsRegex("call void @__mneme_track\\(i64 %?[^,]*, i64 8,"));
  EXPECT_THAT(printed("  call void @llvm.memset.p0.i64(ptr %p, i8 0, i64 %n, i1 false)\n",
                      "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)"),
              testing::ContainsRegex("call void @__mneme_track\\(i64 %?[^,]*, i64 %n,"));
}

TEST(TrackAccesses, AStructureByValueIsAThreadsOwn) {
  const std::string text = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr byval({ i32, i32 }) %s) { store i32 1, ptr %s ret void }
)";
  auto printed = tracked(text, DeviceKind::cuda, "sm_90");
  ASSERT_TRUE(printed.ok()) << printed.status().to_string();
  EXPECT_EQ(printed->find("call void @__mneme_track("), std::string::npos);
}

TEST(TrackAccesses, ATextureIsNoAccessThatIsFollowed) {
  EXPECT_THAT(refusal("  call void asm sideeffect \"tex.1d.v4.f32.s32 {a, b, c, d}, t, {i};\", \"\"()\n"),
              HasSubstr("unsupported: inline assembly accesses memory"));
}

TEST(TrackAccesses, NorIsOneOfATextureOrSurfaceThatANumberNames) {
  const std::string four = "{ float, float, float, float }", name = "@llvm.nvvm.tex.unified.1d.v4f32.s32";
  EXPECT_EQ(refusal("  %v = call " + four + " " + name + "(i64 %n, i32 1)\n", "declare " + four + " " + name + "(i64, i32)"),
            "unsupported: accesses of 'llvm.nvvm.tex.unified.1d.v4f32.s32' are not followed");
  EXPECT_EQ(refusal("  call void @llvm.nvvm.sust.b.1d.i32.trap(i64 %n, i32 0, i32 1)\n",
                    "declare void @llvm.nvvm.sust.b.1d.i32.trap(i64, i32, i32)"),
            "unsupported: accesses of 'llvm.nvvm.sust.b.1d.i32.trap' are not followed");
}

TEST(TrackAccesses, RangesAreSortedAndFunctionsThatNoteTouchMemory) {
  const std::string text =
      printed("  call void @own(ptr %p) memory(argmem: write)\n",
              "define void @own(ptr %p) noinline memory(argmem: write) {\n  store i32 1, ptr %p\n  ret void\n}\n");
  const size_t first = text.find("134140418588672"), second = text.find("134140418592768");  // 0x7a0000000000, 0x7a0000001000
  ASSERT_NE(first, std::string::npos);
  ASSERT_NE(second, std::string::npos);
  EXPECT_LT(first, second);
  EXPECT_THAT(text, HasSubstr("i64 134140418588772")) << "the first's end";
  EXPECT_EQ(text.find("memory(argmem: write)"), std::string::npos);
}

TEST(TrackAccesses, BlocksAndThreadsAreNumberedOverAllTheirDimensions) {
  auto text = tracked(kernel("  store i32 1, ptr %p\n"), DeviceKind::cuda, "sm_90", Stage::optimised, NoteOf::thread);
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  for (const char* step :
       {"%by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()", "%gx = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()",
        "mul i32 %bz, %gy", "mul i32 %row, %gx", "mul i32 %tz, %ny", "mul i32 %line, %nx"})
    EXPECT_THAT(*text, HasSubstr(step));
  EXPECT_THAT(*text, HasSubstr(fmt::format("%plane = mul i64 %class, {}", 1024 * kNoteWords * sizeof(uint32_t))));
}

TEST(TrackAccesses, ACopyOfASpecialisedStructureIsAlignedToo) {
  const std::string text = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %p, ptr byval([4 x i32]) align 4 %s, i64 %i) {
  %at = getelementptr i32, ptr %s, i64 %i
  store i32 1, ptr %at
  ret void
}
)";
  const auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test");
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  CompileOptions options;
  options.passes = "verify";
  options.specialisation.kernel = "k";
  options.specialisation.arguments = {{1, ByteVector(16)}};
  options.tracking = {{{DevicePtr(0x7a0000000000), Bytes(100), Bytes(0)}}, Bytes(1024), NoteOf::access};
  auto printed = Compiler::create(DeviceKind::cuda, "sm_90").value()->emit(*module, options, Stage::optimised);
  ASSERT_TRUE(printed.ok()) << printed.status().to_string();
  EXPECT_THAT(*printed, testing::ContainsRegex("alloca [^,]*, align 16"));
}

std::string amd_kernel(const std::string& body, const std::string& declarations = "") {
  return "target triple = \"amdgcn-amd-amdhsa\"\n" + declarations + R"(
define protected amdgpu_kernel void @k(ptr addrspace(1) %p, ptr addrspace(4) byref([4 x i32]) %s, ptr addrspace(4) %c, ptr %q) #0 {
)" + body +
         "  ret void\n}\nattributes #0 = { \"target-cpu\"=\"gfx90a\" \"amdgpu-no-workitem-id-y\" }\n"
         "!llvm.module.flags = !{!0}\n!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 500}\n";
}

size_t amd_notes(const std::string& body, const std::string& declarations = "") {
  auto text = tracked(amd_kernel(body, declarations), DeviceKind::cpu, "x86-64-v3");
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  if (!text.ok()) return 0;
  size_t count = 0;
  for (size_t at = 0; (at = text->find("call void @__mneme_track(", at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(TrackAccesses, OfAmdsCode) {
  EXPECT_EQ(amd_notes("  %v = load i32, ptr addrspace(1) %p\n  store i32 %v, ptr %q\n"), 2u);
  EXPECT_EQ(amd_notes("  %v = load i32, ptr addrspace(4) %c\n  store i32 %v, ptr %q\n"), 2u) << "constants are global memory";
  EXPECT_EQ(amd_notes("  %v = load i32, ptr addrspace(4) %s\n"), 0u) << "an argument";
  EXPECT_EQ(amd_notes("  %a = alloca i32, align 4, addrspace(5)\n  %g = addrspacecast ptr addrspace(5) %a to ptr\n"
                      "  store i32 1, ptr %g\n"),
            0u);
  EXPECT_EQ(amd_notes("  store i32 1, ptr addrspace(3) @s\n", "@s = internal addrspace(3) global i32 undef"), 0u);
  EXPECT_EQ(amd_notes("  %a = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()\n  %v = load i32, ptr addrspace(4) %a\n",
                      "declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()"),
            0u);
  EXPECT_EQ(amd_notes("  call void @llvm.amdgcn.s.barrier()\n", "declare void @llvm.amdgcn.s.barrier() convergent"), 0u);
  EXPECT_EQ(
      amd_notes("  call void @__atomic_work_item_fence(i32 1, i32 3, i32 2)\n  %v = call float @__ocml_sin_f32(float 1.0)\n",
                "declare void @__atomic_work_item_fence(i32, i32, i32)\ndeclare float @__ocml_sin_f32(float)"),
      0u);
  EXPECT_EQ(amd_notes("  call void asm sideeffect \"s_waitcnt vmcnt(0)\", \"\"()\n"), 0u);
}

TEST(TrackAccesses, WhatOfAmdsCodeIsNotFollowed) {
  const auto refused = [](const std::string& body, const std::string& declarations = "") {
    auto text = tracked(amd_kernel(body, declarations), DeviceKind::cpu, "x86-64-v3");
    return text.ok() ? "" : text.status().to_string();
  };
  EXPECT_EQ(refused("  call void asm sideeffect \"global_store_dword $0, $1, off\", \"v,v\"(ptr addrspace(1) %p, i32 1)\n"),
            "unsupported: inline assembly accesses memory: 'global_store_dword $0, $1, off'");
  EXPECT_EQ(refused("  %v = call float @llvm.amdgcn.raw.buffer.load.f32(<4 x i32> zeroinitializer, i32 0, i32 0, i32 0)\n",
                    "declare float @llvm.amdgcn.raw.buffer.load.f32(<4 x i32>, i32, i32, i32 immarg)"),
            "unsupported: accesses of 'llvm.amdgcn.raw.buffer.load.f32' are not followed");
  EXPECT_EQ(refused("  %v = load i32, ptr addrspace(7) null\n"),
            "unsupported: accesses by a descriptor of a buffer are not followed");
  EXPECT_EQ(refused("  call void @__ockl_fill(ptr addrspace(1) %p)\n", "declare void @__ockl_fill(ptr addrspace(1))"),
            "unsupported: accesses of '__ockl_fill' are not followed");
}

TEST(TrackAccesses, WhoCameIsReadAsTheTargetHasIt) {
  const std::string body = "  store i32 1, ptr addrspace(1) %p\n";
  for (const NoteOf who : {NoteOf::block, NoteOf::thread}) {
    auto text = tracked(amd_kernel(body), DeviceKind::hip, "gfx90a", Stage::specialised, who);
    ASSERT_TRUE(text.ok()) << text.status().to_string();
    EXPECT_THAT(*text, HasSubstr("%by = call i32 @llvm.amdgcn.workgroup.id.y()"));
    EXPECT_THAT(*text, HasSubstr("call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()"));
    EXPECT_EQ(text->find("llvm.amdgcn.workitem.id.x") != std::string::npos, who == NoteOf::thread);
    EXPECT_THAT(*text, testing::Not(HasSubstr("nvvm")));
    EXPECT_THAT(*text, testing::Not(HasSubstr("amdgpu-no-workitem-id-y"))) << "who comes reads it";
    auto assembly = tracked(amd_kernel(body), DeviceKind::hip, "gfx942", Stage::assembly, who);
    ASSERT_TRUE(assembly.ok()) << assembly.status().to_string();
    EXPECT_THAT(*assembly, HasSubstr("atomic_cmpswap"));
  }
}

}  // namespace
}  // namespace mneme
