// IR for AMD GPUs that clang does not make of one file of HIP: pointers of 32 bits in every form, library functions of several
// kernels that were linked, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/cpu/lower/testing/cpu_image_test.h"
#include "mneme/cpu/run/image.h"
#include "mneme/ir/module.h"

namespace mneme::cpu::amdgcn {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTarget =
    "target datalayout = "
    "\"e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-"
    "p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-"
    "G1-ni:7:8:9\"\n"
    "target triple = \"amdgcn-amd-amdhsa\"\n"
    "declare i32 @llvm.amdgcn.workitem.id.x()\n"
    "declare i32 @llvm.amdgcn.workgroup.id.x()\n"
    "declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()\n"
    "declare void @llvm.amdgcn.s.barrier()\n";

class NarrowPointersTest : public CpuImageTest {
 protected:
  static Result<CompiledCode> compile(std::string_view body, const std::string& passes = "verify") {
    const std::string text = std::string(kTarget) + std::string(body);
    auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
    if (!module.ok()) return module.status();
    auto compiler = Compiler::create(DeviceKind::cpu, "x86-64-v3");
    if (!compiler.ok()) return compiler.status();
    CompileOptions options;
    options.passes = passes;
    return (*compiler)->compile(*module, options);
  }
  static std::string refusal(std::string_view body) { return compile(body).status().to_string(); }

  // Runs `k(out)` with as many work-items as there are words, after each of two pipelines.
  std::vector<int32_t> words(std::string_view body, uint32_t count) {
    std::vector<int32_t> found;
    for (const char* passes : {"verify", "default<O3>"}) {
      load_code(compile(body, passes));
      std::vector<int32_t> out(count, -1);
      const Status status = run("k", {{}, {count, 1, 1}, {}}, address(out.data()));
      EXPECT_TRUE(status.ok()) << status.to_string();
      if (!found.empty()) EXPECT_EQ(found, out) << passes;
      found = out;
    }
    return found;
  }
};

// Aggregates with pointers are copied whole; behind each pointer of 32 bits the next member begins at once.
TEST_F(NarrowPointersTest, LieInMemoryAsOnTheDevice) {
  EXPECT_THAT(words(R"(
%both = type { ptr addrspace(3), ptr addrspace(5), [2 x ptr addrspace(3)], i32 }
@first = internal addrspace(3) global i32 poison
@cells = internal addrspace(3) global [4 x i32] poison
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %place = alloca %both, addrspace(5)
  %copy = alloca [5 x i32], addrspace(5)
  %own = alloca i32, addrspace(5)
  store i32 40, ptr addrspace(5) %own
  %second = getelementptr [4 x i32], ptr addrspace(3) @cells, i32 0, i32 2
  %a = insertvalue %both { ptr addrspace(3) @cells, ptr addrspace(5) null, [2 x ptr addrspace(3)] zeroinitializer, i32 9 }, ptr addrspace(5) %own, 1
  %b = insertvalue %both %a, ptr addrspace(3) %second, 2, 1
  store %both %b, ptr addrspace(5) %place
  call void @llvm.memcpy.p5.p5.i32(ptr addrspace(5) %copy, ptr addrspace(5) %place, i32 20, i1 false)
  %at = getelementptr i8, ptr addrspace(5) %copy, i32 16
  %tag = load i32, ptr addrspace(5) %at
  %whole = load %both, ptr addrspace(5) %copy
  %p = extractvalue %both %whole, 0
  %q = extractvalue %both %whole, 1
  %r = extractvalue %both %whole, 2, 1
  store i32 1, ptr addrspace(3) %p
  store i32 2, ptr addrspace(3) %r
  %x = load i32, ptr addrspace(3) @cells
  %y = load i32, ptr addrspace(3) %second
  %z = load i32, ptr addrspace(5) %q
  %numbers = load <4 x i32>, ptr addrspace(5) %copy, align 4
  %zero = extractelement <4 x i32> %numbers, i32 2
  %s1 = add i32 %x, %y
  %s2 = add i32 %s1, %z
  %s3 = add i32 %s2, %tag
  %s4 = add i32 %s3, %zero
  store i32 %s4, ptr addrspace(1) %out
  ret void
}
declare void @llvm.memcpy.p5.p5.i32(ptr addrspace(5), ptr addrspace(5), i32, i1)
)",
                    1),
              ElementsAre(1 + 2 + 40 + 9));
}

TEST_F(NarrowPointersTest, NumbersAndNull) {
  EXPECT_THAT(words(R"(
@cells = internal addrspace(3) global [8 x i32] poison
@no_lds = internal addrspace(4) constant [2 x ptr addrspace(3)] [ptr addrspace(3) null, ptr addrspace(3) addrspacecast (ptr null to ptr addrspace(3))]
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %third = getelementptr [8 x i32], ptr addrspace(3) @cells, i32 0, i32 3
  %number = ptrtoint ptr addrspace(3) %third to i32
  %wide = ptrtoint ptr addrspace(3) %third to i64
  %zero = load ptr addrspace(3), ptr addrspace(4) @no_lds
  %at = getelementptr ptr addrspace(3), ptr addrspace(4) @no_lds, i64 1
  %none = load ptr addrspace(3), ptr addrspace(4) %at
  %flat = addrspacecast ptr addrspace(3) %none to ptr
  %is_none = icmp eq ptr %flat, null
  %is_zero = icmp eq ptr addrspace(3) %zero, null
  %flat_zero = addrspacecast ptr addrspace(3) %zero to ptr
  %zero_is_some = icmp ne ptr %flat_zero, null
  %back = addrspacecast ptr null to ptr addrspace(3)
  %same = icmp eq ptr addrspace(3) %back, %none
  %before = icmp ult ptr addrspace(3) %third, %none
  store i32 77, ptr addrspace(3) inttoptr (i32 12 to ptr addrspace(3))
  %seen = load i32, ptr addrspace(3) %third
  %own = alloca i32, addrspace(5)
  %own_flat = addrspacecast ptr addrspace(5) %own to ptr
  %own_again = addrspacecast ptr %own_flat to ptr addrspace(5)
  %own_number = ptrtoint ptr addrspace(5) %own_again to i32
  %own_found = inttoptr i32 %own_number to ptr addrspace(5)
  store i32 5, ptr addrspace(5) %own_found
  %five = load i32, ptr %own_flat
  %no_own = addrspacecast ptr null to ptr addrspace(5)
  %no_own_number = ptrtoint ptr addrspace(5) %no_own to i32
  %no_own_flat = addrspacecast ptr addrspace(5) %no_own to ptr
  %own_is_none = icmp eq ptr %no_own_flat, null
  %narrowed = trunc i64 %wide to i32
  %v0 = insertelement <10 x i32> poison, i32 %number, i32 0
  %v1 = insertelement <10 x i32> %v0, i32 %narrowed, i32 1
  %t2 = zext i1 %is_none to i32
  %v2 = insertelement <10 x i32> %v1, i32 %t2, i32 2
  %t3 = zext i1 %is_zero to i32
  %v3 = insertelement <10 x i32> %v2, i32 %t3, i32 3
  %t4 = zext i1 %zero_is_some to i32
  %v4 = insertelement <10 x i32> %v3, i32 %t4, i32 4
  %b5 = and i1 %same, %before
  %t5 = zext i1 %b5 to i32
  %v5 = insertelement <10 x i32> %v4, i32 %t5, i32 5
  %v6 = insertelement <10 x i32> %v5, i32 %seen, i32 6
  %v7 = insertelement <10 x i32> %v6, i32 %five, i32 7
  %v8 = insertelement <10 x i32> %v7, i32 %no_own_number, i32 8
  %t9 = zext i1 %own_is_none to i32
  %v9 = insertelement <10 x i32> %v8, i32 %t9, i32 9
  %word = extractelement <10 x i32> %v9, i32 %i
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %word, ptr addrspace(1) %to
  ret void
}
)",
                    10),
              ElementsAre(12, 12, 1, 1, 1, 1, 77, 5, -1, 1));
}

// Indices and sums wrap around at 32 bits; vectors of pointers are many of one kind.
TEST_F(NarrowPointersTest, OffsetsOf32Bits) {
  EXPECT_THAT(words(R"(
@cells = internal addrspace(3) global [16 x i32] poison
define ptr addrspace(3) @moved(ptr addrspace(3) %p, i32 %by) noinline {
  %q = getelementptr i32, ptr addrspace(3) %p, i32 %by
  ret ptr addrspace(3) %q
}
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %i = call i32 @llvm.amdgcn.workitem.id.x()
  %tenth = getelementptr [16 x i32], ptr addrspace(3) @cells, i32 0, i32 10
  %back = sub i32 0, %i
  %wide = zext i32 %back to i64
  %place = getelementptr i32, ptr addrspace(3) %tenth, i64 %wide
  store i32 %i, ptr addrspace(3) %place
  %far = add i32 %back, 1073741824
  %same = call ptr addrspace(3) @moved(ptr addrspace(3) %tenth, i32 %far)
  %a = load i32, ptr addrspace(3) %same
  %start = insertelement <2 x ptr addrspace(3)> poison, ptr addrspace(3) @cells, i32 0
  %starts = shufflevector <2 x ptr addrspace(3)> %start, <2 x ptr addrspace(3)> poison, <2 x i32> zeroinitializer
  %number = sub i32 10, %i
  %indices = insertelement <2 x i32> <i32 0, i32 0>, i32 %number, i32 1
  %places = getelementptr i32, <2 x ptr addrspace(3)> %starts, <2 x i32> %indices
  %kept = alloca <2 x ptr addrspace(3)>, addrspace(5)
  store <2 x ptr addrspace(3)> %places, ptr addrspace(5) %kept
  %again = load <2 x ptr addrspace(3)>, ptr addrspace(5) %kept
  %one = extractelement <2 x ptr addrspace(3)> %again, i32 1
  %b = load i32, ptr addrspace(3) %one
  %equal = icmp eq <2 x ptr addrspace(3)> %again, %places
  %both = call i1 @llvm.vector.reduce.and.v2i1(<2 x i1> %equal)
  %c = select i1 %both, i32 100, i32 0
  %s1 = add i32 %a, %b
  %s2 = add i32 %s1, %c
  %to = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %s2, ptr addrspace(1) %to
  ret void
}
declare i1 @llvm.vector.reduce.and.v2i1(<2 x i1>)
)",
                    4),
              ElementsAre(100, 102, 104, 106));
}

// 128-bit integers are aligned to 8 bytes on the device, to 16 on the host.
TEST_F(NarrowPointersTest, WideIntegersLieAsOnTheDevice) {
  EXPECT_THAT(words(R"(
%wide = type { i64, i128, i32 }
@kept = internal addrspace(1) global %wide { i64 1, i128 36893488147419103234, i32 3 }
define void @sum(ptr addrspace(5) byval(%wide) align 8 %w, ptr addrspace(1) %out) noinline {
  %at = getelementptr %wide, ptr addrspace(5) %w, i32 0, i32 1
  %value = load i128, ptr addrspace(5) %at, align 8
  %upper = lshr i128 %value, 64
  %both = add i128 %value, %upper
  %low = trunc i128 %both to i32
  %raw = getelementptr i8, ptr addrspace(5) %w, i32 24
  %last = load i32, ptr addrspace(5) %raw
  %s = add i32 %low, %last
  store i32 %s, ptr addrspace(1) %out
  store i32 0, ptr addrspace(5) %raw
  ret void
}
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %place = alloca %wide, addrspace(5)
  %whole = load %wide, ptr addrspace(1) @kept
  store %wide %whole, ptr addrspace(5) %place
  call void @sum(ptr addrspace(5) byval(%wide) align 8 %place, ptr addrspace(1) %out)
  %raw = getelementptr i8, ptr addrspace(5) %place, i32 24
  %last = load i32, ptr addrspace(5) %raw
  %old = load i32, ptr addrspace(1) %out
  %s = add i32 %old, %last
  store i32 %s, ptr addrspace(1) %out
  ret void
}
)",
                    1),
              ElementsAre(2 + 2 + 3 + 3));
}

TEST_F(NarrowPointersTest, RefusedByName) {
  EXPECT_EQ(refusal("define amdgpu_kernel void @k(ptr addrspace(1) %out, ptr addrspace(7) %p) {\n"
                    "  %v = load i32, ptr addrspace(7) %p\n  store i32 %v, ptr addrspace(1) %out\n  ret void\n}"),
            "unsupported: function 'k' has a pointer of address space 7: the CPU device does not have it");
  EXPECT_EQ(
      refusal("@p = internal addrspace(3) global ptr addrspace(3) poison\ndefine amdgpu_kernel void @k() {\n"
              "  %v = atomicrmw xchg ptr addrspace(3) @p, ptr addrspace(3) null monotonic\n  ret void\n}"),
      "unsupported: function 'k' has an atomic exchange of pointers to LDS or private memory: the CPU device does not have it");
  EXPECT_EQ(
      refusal("define amdgpu_kernel void @k(i32 %n) {\n  %p = inttoptr i32 %n to ptr addrspace(3)\n"
              "  %q = addrspacecast ptr addrspace(3) %p to ptr addrspace(5)\n  store i32 0, ptr addrspace(5) %q\n  ret void\n}"),
      "unsupported: function 'k' has a cast between LDS and private memory: the CPU device does not have it");
  EXPECT_EQ(
      refusal("declare <2 x ptr addrspace(3)> @llvm.masked.load.v2p3.p1(ptr addrspace(1), <2 x i1>, <2 x ptr addrspace(3)>)\n"
              "define amdgpu_kernel void @k(ptr addrspace(1) %p, <2 x i1> %m) {\n"
              "  %v = call <2 x ptr addrspace(3)> @llvm.masked.load.v2p3.p1(ptr addrspace(1) %p, <2 x i1> %m, <2 x ptr "
              "addrspace(3)> poison)\n  store <2 x ptr addrspace(3)> %v, ptr addrspace(1) %p\n  ret void\n}"),
      "unsupported: function 'k' has 'llvm.masked.load.v2p3.p1' of pointers to LDS or private memory: the CPU device does not "
      "have it");
  EXPECT_EQ(
      refusal("@cell = internal addrspace(3) global i32 poison\n@kept = addrspace(1) global ptr addrspace(3) @cell\n"
              "define amdgpu_kernel void @k(ptr addrspace(1) %out) {\n  %p = load ptr addrspace(3), ptr addrspace(1) @kept\n"
              "  store i32 0, ptr addrspace(3) %p\n  ret void\n}"),
      "unsupported: variable 'kept' begins with an address of LDS or private memory, which has none before a launch");
  EXPECT_EQ(refusal("define amdgpu_kernel void @k() { ret void }\n!llvm.module.flags = !{!0}\n"
                    "!0 = !{i32 1, !\"amdhsa_code_object_version\", i32 400}"),
            "unsupported: lowering to the CPU: the module is of code object version 4; those of versions 5 and 6 can be lowered: "
            "compile "
            "with -mcode-object-version=5");
  EXPECT_EQ(refusal("declare void @llvm.amdgcn.s.sendmsg(i32, i32)\ndefine amdgpu_kernel void @k() {\n"
                    "  call void @llvm.amdgcn.s.sendmsg(i32 1, i32 0)\n  ret void\n}"),
            "unsupported: intrinsic 'llvm.amdgcn.s.sendmsg' in 'k': the CPU device does not have it");
}

TEST_F(NarrowPointersTest, AHostCallOfAnotherServiceIsAFault) {
  load_code(compile(
      "declare <2 x i64> @__ockl_hostcall_preview(i32, i64, i64, i64, i64, i64, i64, i64, i64)\n"
      "define amdgpu_kernel void @k() {\n  %r = call <2 x i64> @__ockl_hostcall_preview(i32 3, i64 0, i64 0, i64 0, i64 0, "
      "i64 0, i64 0, i64 0, i64 0)\n  ret void\n}"));
  EXPECT_THAT(run("k", {}).message(), HasSubstr("a call of the host's service 3, which the CPU device does not have"));
}

// The bound of a launch, and wide registers, which are used by nothing else than a loop over the work-items.
TEST_F(NarrowPointersTest, TheLoopOverTheWorkItemsIsVectorised) {
  auto code = compile(R"(
define amdgpu_kernel void @add(ptr addrspace(1) %x, ptr addrspace(1) %y, i32 %n, float %a) #0 {
  %arguments = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %at = getelementptr i8, ptr addrspace(4) %arguments, i64 12
  %size16 = load i16, ptr addrspace(4) %at
  %size = zext i16 %size16 to i32
  %block = call i32 @llvm.amdgcn.workgroup.id.x()
  %base = mul i32 %size, %block
  %tid = call i32 @llvm.amdgcn.workitem.id.x()
  %i = add i32 %base, %tid
  %in = icmp slt i32 %i, %n
  br i1 %in, label %work, label %done
work:
  %wide = sext i32 %i to i64
  %px = getelementptr inbounds float, ptr addrspace(1) %x, i64 %wide
  %py = getelementptr inbounds float, ptr addrspace(1) %y, i64 %wide
  %vx = load float, ptr addrspace(1) %px
  %vy = load float, ptr addrspace(1) %py
  %ax = fmul float %a, %vx
  %sum = fadd float %ax, %vy
  store float %sum, ptr addrspace(1) %py
  br label %done
done:
  ret void
}
attributes #0 = { "amdgpu-flat-work-group-size"="1,256" }
)",
                      "default<O2>");
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  const std::string bytes(reinterpret_cast<const char*>(code->image.bytes.data()), code->image.bytes.size());
  EXPECT_THAT(bytes, HasSubstr("\xc4\xe2\x7d\x18"));  // vbroadcastss to a ymm register: the argument `a`
  load_code(code);
  EXPECT_EQ((*module_->kernel("add"))->resources().max_threads_per_block, 256u);
}

// As where the code of several kernels is linked, each with its own copy of the heap and of the call of the host.
TEST_F(NarrowPointersTest, LibraryFunctionsThatLinkingHasNumbered) {
  EXPECT_THAT(words(R"(
declare void @llvm.amdgcn.s.sendmsg(i32 immarg, i32)
define internal i64 @__ockl_dm_alloc(i64 %size) {
  ret i64 0
}
define internal i64 @__ockl_dm_alloc.5(i64 %size) {
  ret i64 0
}
define internal void @__ockl_dm_dealloc.7(i64 %address) {
  call void @llvm.amdgcn.s.sendmsg(i32 1, i32 0)
  ret void
}
define internal <2 x i64> @__ockl_hostcall_preview.12(i32, i64, i64, i64, i64, i64, i64, i64, i64) {
  call void @llvm.amdgcn.s.sendmsg(i32 1, i32 0)
  ret <2 x i64> zeroinitializer
}
define amdgpu_kernel void @k(ptr addrspace(1) %out) {
  %one = call i64 @__ockl_dm_alloc(i64 16)
  %two = call i64 @__ockl_dm_alloc.5(i64 16)
  %differ = icmp ne i64 %one, %two
  %there = icmp ne i64 %two, 0
  %both = and i1 %differ, %there
  call void @__ockl_dm_dealloc.7(i64 %one)
  call void @__ockl_dm_dealloc.7(i64 %two)
  br i1 %both, label %good, label %bad
good:
  store i32 7, ptr addrspace(1) %out
  ret void
bad:
  %said = call <2 x i64> @__ockl_hostcall_preview.12(i32 2, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0, i64 0)
  ret void
}
)",
                    1),
              ElementsAre(7));
}

}  // namespace
}  // namespace mneme::cpu::amdgcn
