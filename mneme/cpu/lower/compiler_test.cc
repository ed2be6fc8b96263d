#include "mneme/cpu/lower/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "mneme/cpu/lower/testing/cpu_image_test.h"
#include "mneme/cpu/run/cpu_device.h"
#include "mneme/cpu/run/image.h"
#include "mneme/cpu/run/testing/no_quiet_end.h"

namespace mneme::cpu {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kTarget =
    "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n"
    "target triple = \"nvptx64-nvidia-cuda\"\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()\n"
    "declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n";

Result<CompiledCode> compile(std::string_view body, const CompileOptions& options = {}) {
  const std::string text = std::string(kTarget) + std::string(body);
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
  if (!module.ok()) return module.status();
  auto compiler = Compiler::create(DeviceKind::cpu, "x86-64-v3");
  if (!compiler.ok()) return compiler.status();
  return (*compiler)->compile(*module, options);
}

Result<std::string> emit(std::string_view body, Stage stage, const CompileOptions& options = {}) {
  const std::string text = std::string(kTarget) + std::string(body);
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
  if (!module.ok()) return module.status();
  auto compiler = Compiler::create(DeviceKind::cpu, "x86-64-v3");
  if (!compiler.ok()) return compiler.status();
  return (*compiler)->emit(*module, options, stage);
}

class CpuCompilerTest : public CpuImageTest {
 protected:
  void load(std::string_view body, const CompileOptions& options = {}) { load_code(compile(body, options)); }
};

constexpr std::string_view kAdd = R"(
define ptx_kernel void @add(ptr %x, ptr %y, i32 %n, float %a) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %base = mul i32 %ntid, %block
  %i = add i32 %base, %tid
  %in = icmp slt i32 %i, %n
  br i1 %in, label %work, label %done
work:
  %px = getelementptr float, ptr %x, i32 %i
  %py = getelementptr float, ptr %y, i32 %i
  %vx = load float, ptr %px
  %vy = load float, ptr %py
  %ax = fmul float %a, %vx
  %sum = fadd float %ax, %vy
  store float %sum, ptr %py
  br label %done
done:
  ret void
}
)";

TEST_F(CpuCompilerTest, AKernelRunsUnderEveryPipeline) {
  for (const char* pipeline : {"default<O0>", "default<O1>", "default<O3>", "instcombine"}) {
    CompileOptions options;
    options.passes = pipeline;
    load(kAdd, options);
    std::vector<float> x(1000, 2.0f), y(1000, 1.0f);
    ASSERT_TRUE(run("add", {{16, 1, 1}, {64, 1, 1}, {}}, address(x.data()), address(y.data()), int32_t{999}, 3.0f).ok());
    for (int i = 0; i < 999; ++i) ASSERT_EQ(y[i], 7.0f) << pipeline << " " << i;
    EXPECT_EQ(y[999], 1.0f);
  }
}

// Wide registers are used by nothing else than a loop over the threads.
TEST_F(CpuCompilerTest, TheLoopOverTheThreadsIsVectorised) {
  auto code = compile(kAdd);
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  const std::string bytes(reinterpret_cast<const char*>(code->image.bytes.data()), code->image.bytes.size());
  EXPECT_THAT(bytes, HasSubstr("\xc4\xe2\x7d\x18"));  // vbroadcastss to a ymm register: the argument `a`
}

TEST_F(CpuCompilerTest, OnlyTheKernelsToKeepAreInTheImage) {
  CompileOptions options;
  options.kernels = {"a"};
  load("define ptx_kernel void @a() { ret void }\ndefine ptx_kernel void @b() { ret void }", options);
  EXPECT_TRUE(module_->kernel("a").ok());
  EXPECT_EQ(module_->kernel("b").status().code(), Code::not_found);
}

constexpr std::string_view kOwnStructure = R"(
%pair = type { i32, i64 }
define ptx_kernel void @k(i8 %first, ptr byval(%pair) align 8 %p, ptr %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %field = getelementptr %pair, ptr %p, i32 0, i32 1
  %old = load i64, ptr %field
  %wide = zext i32 %tid to i64
  %new = add i64 %old, %wide
  store i64 %new, ptr %field
  %again = load i64, ptr %field
  %at = getelementptr i64, ptr %out, i32 %tid
  store i64 %again, ptr %at
  ret void
}
)";

TEST_F(CpuCompilerTest, StructuresByValueAreEachThreadsOwn) {
  for (const char* pipeline : {"default<O0>", "default<O3>"}) {  // of which one removes what is written for nobody
    CompileOptions options;
    options.passes = pipeline;
    load(kOwnStructure, options);
    struct Pair {
      int32_t a;
      int64_t b;
    };
    std::vector<int64_t> out(4);
    ASSERT_TRUE(run("k", {{1, 1, 1}, {4, 1, 1}, {}}, int8_t{1}, Pair{5, 100}, address(out.data())).ok());
    EXPECT_THAT(out, ElementsAre(100, 101, 102, 103)) << pipeline;
  }
}

TEST_F(CpuCompilerTest, AStructureThatIsWrittenAsAWholeIsEachThreadsOwnToo) {
  CompileOptions options;
  options.passes = "verify";
  load(R"(
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define ptx_kernel void @k(ptr byval([2 x i32]) align 4 %p, ptr %in, ptr %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %old = load i32, ptr %p
  %to = getelementptr i32, ptr %out, i32 %tid
  store i32 %old, ptr %to
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %in, i64 8, i1 false)
  ret void
}
)",
       options);
  const std::array<int32_t, 2> in = {7, 7};
  std::vector<int32_t> out(3);
  ASSERT_TRUE(run("k", {{}, {3, 1, 1}, {}}, std::array<int32_t, 2>{5, 6}, address(in.data()), address(out.data())).ok());
  EXPECT_THAT(out, ElementsAre(5, 5, 5));
}

// Where a parameter lies, and how its copy does, is by its alignment: as of a float4, and of what is aligned further.
TEST_F(CpuCompilerTest, StructuresByValueLieAlignedAsDeclared) {
  for (const char* pipeline : {"verify", "default<O3>"}) {
    CompileOptions options;
    options.passes = pipeline;
    load(R"(
define ptx_kernel void @k(i8 %first, ptr byval([4 x i32]) align 16 %p, ptr byval([64 x i32]) align 128 %q, ptr %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = load i32, ptr %p
  %last = getelementptr i32, ptr %q, i32 63
  %b = load i32, ptr %last
  %s = add i32 %a, %b
  %to = getelementptr [3 x i64], ptr %out, i32 %tid
  %wide = zext i32 %s to i64
  store i64 %wide, ptr %to
  %to1 = getelementptr i64, ptr %to, i32 1
  %pi = ptrtoint ptr %p to i64
  store volatile i64 %pi, ptr %to1
  %to2 = getelementptr i64, ptr %to, i32 2
  %qi = ptrtoint ptr %q to i64
  store volatile i64 %qi, ptr %to2
  store volatile i32 9, ptr %p
  store volatile i32 9, ptr %last
  ret void
}
define ptx_kernel void @read(ptr byval([64 x i32]) align 128 %q, ptr %out) {
  %all = load <16 x i32>, ptr %q, align 64
  %more = getelementptr i32, ptr %q, i32 16
  %rest = load <16 x i32>, ptr %more, align 64
  %sum = add <16 x i32> %all, %rest
  store <16 x i32> %sum, ptr %out, align 4
  ret void
}
)",
         options);
    struct alignas(16) Four {
      int32_t values[4] = {3, 0, 0, 0};
    };
    struct alignas(128) Many {
      int32_t values[64] = {1, 2};
    } many;
    many.values[63] = 40;
    uint64_t out[2][3] = {};
    ASSERT_TRUE(run("k", {{}, {2, 1, 1}, {}}, int8_t{1}, Four{}, many, address(out)).ok());
    for (const auto& thread : out) {
      EXPECT_EQ(thread[0], 43u) << pipeline;
      EXPECT_EQ(thread[1] % 16, 0u) << pipeline;
      EXPECT_EQ(thread[2] % 128, 0u) << pipeline;
    }
    int32_t sums[16] = {};
    for (int i = 0; i < 8; ++i) {
      const std::vector<char> elsewhere(16 + 48 * i);  // so that not everything lies where it lay before
      ASSERT_TRUE(run("read", {{}, {1, 1, 1}, {}}, many, address(sums)).ok()) << pipeline;
      EXPECT_EQ(sums[1], 2);
    }
  }
}

TEST_F(CpuCompilerTest, TooFewParametersAreRefused) {
  load(kAdd);
  EXPECT_EQ(run("add", {{}, {}, {}}, uint64_t{0}, uint64_t{0}, int32_t{0}).to_string(),
            "invalid_argument: launching 'add' with grid 1x1x1 and block 1x1x1: it takes 24 B of parameters, 20 B were given");
}

TEST_F(CpuCompilerTest, ASpecialisedStructureIsEachThreadsOwnToo) {
  CompileOptions options;
  options.specialisation.kernel = "k";
  ByteVector pair(16);
  pair[8] = std::byte{200};
  options.specialisation.arguments = {{1, pair}};
  options.specialisation.dimensions = options.specialisation.ranges = {{1, 1, 1}, {4, 1, 1}};
  for (const char* pipeline : {"default<O0>", "default<O3>"}) {
    options.passes = pipeline;
    load(kOwnStructure, options);
    std::vector<int64_t> out(4);
    struct Pair {
      int32_t a;
      int64_t b;
    };
    ASSERT_TRUE(run("k", {{1, 1, 1}, {4, 1, 1}, {}}, int8_t{1}, Pair{5, 100}, address(out.data())).ok());
    EXPECT_THAT(out, ElementsAre(200, 201, 202, 203)) << pipeline;
  }
}

TEST_F(CpuCompilerTest, BarriersAndStaticAndDynamicSharedMemory) {
  load(R"(
@tile = internal addrspace(3) global [64 x i32] undef, align 4
@tail = external addrspace(3) global [0 x i32], align 4
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define internal i32 @mirror(i32 %i) noinline {
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %last = sub i32 %n, 1
  %j = sub i32 %last, %i
  %p = getelementptr [64 x i32], ptr addrspacecast (ptr addrspace(3) @tile to ptr), i32 0, i32 %j
  %v = load i32, ptr %p
  %q = getelementptr i32, ptr addrspace(3) @tail, i32 %j
  %w = load i32, ptr addrspace(3) %q
  %s = mul i32 %v, %w
  ret i32 %s
}
define ptx_kernel void @reverse(ptr %data) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr %data, i32 %tid
  %v = load i32, ptr %p
  %t = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %tid
  store i32 %v, ptr addrspace(3) %t
  %d = getelementptr i32, ptr addrspace(3) @tail, i32 %tid
  store i32 3, ptr addrspace(3) %d
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %r = call i32 @mirror(i32 %tid)
  store i32 %r, ptr %p
  ret void
}
)");
  std::vector<int32_t> data(64);
  for (int i = 0; i < 64; ++i) data[i] = i;
  ASSERT_TRUE(run("reverse", {{1, 1, 1}, {64, 1, 1}, Bytes(256)}, address(data.data())).ok());
  for (int i = 0; i < 64; ++i) ASSERT_EQ(data[i], 3 * (63 - i));
  auto kernel = module_->kernel("reverse");
  EXPECT_EQ((*kernel)->resources().static_shared_memory, Bytes(256));
}

TEST_F(CpuCompilerTest, SharedMemoryIsAlignedAsDeclaredAndNoFurther) {
  load(R"(
@tile = internal addrspace(3) global [3 x i32] undef, align 64
@tail = external addrspace(3) global [0 x i8], align 128
define ptx_kernel void @k(ptr %out) {
  %t = addrspacecast ptr addrspace(3) @tile to ptr
  %ti = ptrtoint ptr %t to i64
  store i64 %ti, ptr %out
  %d = addrspacecast ptr addrspace(3) @tail to ptr
  %di = ptrtoint ptr %d to i64
  %second = getelementptr i64, ptr %out, i64 1
  store i64 %di, ptr %second
  ret void
}
)");
  uint64_t addresses[2] = {};
  ASSERT_TRUE(run("k", {{1, 1, 1}, {1, 1, 1}, Bytes(128)}, address(addresses)).ok());
  EXPECT_EQ(addresses[0] % 64, 0u);
  EXPECT_EQ(addresses[1], addresses[0] + 128);
  EXPECT_EQ(addresses[1] % 4096, 4096u - 128);
  EXPECT_EQ((*module_->kernel("k"))->resources().static_shared_memory, Bytes(128));
  ASSERT_TRUE(run("k", {{1, 1, 1}, {1, 1, 1}, Bytes(4)}, address(addresses)).ok());
  EXPECT_EQ(addresses[0] % 64, 0u);
  EXPECT_EQ(addresses[1] % 128, 0u);
}

// A variable that two kernels reach lies behind what either of them has before it.
// ~i, as unsigned, is an index that counts backwards where addresses have 32 bits.
constexpr std::string_view kBackwards = R"(
@values = internal addrspace(3) global [64 x i32] undef, align 4
define ptx_kernel void @backwards(ptr %out) {
  %i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %at = getelementptr i32, ptr addrspace(3) @values, i32 %i
  store i32 %i, ptr addrspace(3) %at
  %complement = xor i32 %i, -1
  %index = zext i32 %complement to i64
  %end = getelementptr i32, ptr addrspace(3) @values, i64 64
  %generic = addrspacecast ptr addrspace(3) %end to ptr
  %from = getelementptr inbounds i32, ptr %generic, i64 %index
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %value = load i32, ptr %from
  %to = getelementptr i32, ptr %out, i32 %i
  store i32 %value, ptr %to
  ret void
}
)";

TEST_F(CpuCompilerTest, IndicesOfSharedMemoryWrapAsItsAddressesDo) {
  for (const char* pipeline : {"default<O0>", "default<O3>"}) {
    CompileOptions options;
    options.passes = pipeline;
    load(kBackwards, options);
    std::vector<uint32_t> out(64);
    ASSERT_TRUE(run("backwards", {{1, 1, 1}, {64, 1, 1}, {}}, address(out.data())).ok());
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 63 - i) << pipeline;
  }
}

TEST_F(CpuCompilerTest, SharedVariablesOfSeveralKernelsDoNotOverlap) {
  load(R"(
@own = internal addrspace(3) global [16 x i32] undef, align 4
@both = internal addrspace(3) global i32 undef, align 4
define ptx_kernel void @first(ptr %out) {
  store volatile i32 1, ptr addrspace(3) @own
  store volatile i32 2, ptr addrspace(3) @both
  %v = load volatile i32, ptr addrspace(3) @own
  store i32 %v, ptr %out
  ret void
}
define ptx_kernel void @second(ptr %out) {
  store volatile i32 3, ptr addrspace(3) @both
  %v = load volatile i32, ptr addrspace(3) @both
  store i32 %v, ptr %out
  ret void
}
)");
  int32_t out = 0;
  ASSERT_TRUE(run("first", {{}, {}, {}}, address(&out)).ok());
  EXPECT_EQ(out, 1);
  ASSERT_TRUE(run("second", {{}, {}, {}}, address(&out)).ok());
  EXPECT_EQ(out, 3);
}

TEST_F(CpuCompilerTest, ThreadsOfALoopKnowTheirWarps) {
  load(R"(
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()
declare i32 @llvm.nvvm.read.ptx.sreg.laneid()
declare i32 @llvm.nvvm.read.ptx.sreg.warpid()
declare i32 @llvm.nvvm.read.ptx.sreg.nwarpid()
define ptx_kernel void @k(ptr %out) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %zy = mul i32 %z, 4
  %row = add i32 %zy, %y
  %rows = mul i32 %row, 5
  %i = add i32 %rows, %x
  %lane = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %warp = call i32 @llvm.nvvm.read.ptx.sreg.warpid()
  %warps = call i32 @llvm.nvvm.read.ptx.sreg.nwarpid()
  %w = mul i32 %warp, 100
  %s = add i32 %w, %lane
  %n = mul i32 %warps, 10000
  %sum = add i32 %s, %n
  %p = getelementptr i32, ptr %out, i32 %i
  store i32 %sum, ptr %p
  ret void
}
)");
  std::vector<int32_t> out(60);
  ASSERT_TRUE(run("k", {{}, {5, 4, 3}, {}}, address(out.data())).ok());
  for (int i = 0; i < 60; ++i) EXPECT_EQ(out[i], 20000 + i / 32 * 100 + i % 32) << i;
}

// Code made for a launch whose grid is longer in z than one.
TEST_F(CpuCompilerTest, BlocksOfASpecialisedLaunchHaveTheirOwnIndices) {
  CompileOptions options;
  options.specialisation.kernel = "k";
  options.specialisation.dimensions = options.specialisation.ranges = {{1, 2, 3}, {1, 1, 1}};
  load(R"(
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
define ptx_kernel void @k(ptr %out) {
  %y = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
  %plane = mul i32 %z, 2
  %i = add i32 %plane, %y
  %p = getelementptr i32, ptr %out, i32 %i
  store i32 1, ptr %p
  ret void
}
)",
       options);
  std::vector<int32_t> out(6);
  ASSERT_TRUE(run("k", {{1, 2, 3}, {1, 1, 1}, {}}, address(out.data())).ok());
  EXPECT_THAT(out, testing::Each(1));
}

constexpr std::string_view kGlobals = R"(
@count = addrspace(1) externally_initialized global i32 7
@table = addrspace(4) externally_initialized constant [2 x i32] [i32 11, i32 12]
@pointer = addrspace(1) externally_initialized global ptr addrspacecast (ptr addrspace(1) @count to ptr)
define ptx_kernel void @k(ptr %out) {
  %p = load ptr, ptr addrspace(1) @pointer
  %a = load i32, ptr %p
  %b = load i32, ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(4) @table to ptr), i64 4)
  %s = add i32 %a, %b
  store i32 %s, ptr %out
  store i32 99, ptr addrspace(1) @count
  ret void
}
)";

TEST_F(CpuCompilerTest, GlobalsLieInTheImageAndAreNotFolded) {
  load(kGlobals);
  auto count = module_->global("count"), table = module_->global("table");
  ASSERT_TRUE(count.ok() && table.ok());
  EXPECT_EQ(table->size, Bytes(8));
  int32_t out = 0;
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(&out)).ok());
  EXPECT_EQ(out, 19);
  EXPECT_EQ(*reinterpret_cast<int32_t*>(count->address.address), 99);
  reinterpret_cast<int32_t*>(table->address.address)[1] = 1000;
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(&out)).ok());
  EXPECT_EQ(out, 1099);
}

TEST_F(CpuCompilerTest, BoundGlobalsLieWhereTheyAreGiven) {
  int32_t count = 20, table[2] = {1, 2}, out = 0;
  int32_t* pointer = &count;
  CompileOptions options;
  options.bindings = {
      {"count", DevicePtr(address(&count))}, {"table", DevicePtr(address(table))}, {"pointer", DevicePtr(address(&pointer))}};
  load(kGlobals, options);
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(&out)).ok());
  EXPECT_EQ(out, 22);
  EXPECT_EQ(count, 99);
  auto found = module_->global("pointer");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(found->address, DevicePtr(address(&pointer)));
}

// Whoever owns the memory puts them there.
TEST_F(CpuCompilerTest, BoundGlobalsTellWhatTheyBeginWith) {
  int32_t count = 0, table[2] = {}, zeros = 9;
  int32_t* pointer = nullptr;
  CompileOptions options;
  options.bindings = {{"count", DevicePtr(address(&count))},
                      {"table", DevicePtr(address(table))},
                      {"pointer", DevicePtr(address(&pointer))},
                      {"zeros", DevicePtr(address(&zeros))}};
  load(std::string(kGlobals) + "@zeros = addrspace(1) externally_initialized global i32 0\n", options);
  std::map<std::string, const mneme_cpu_global*> found;
  for (const mneme_cpu_global& global : globals_of(*module_)) found[global.name] = &global;
  ASSERT_EQ(found.size(), 4u);
  for (const auto& [name, global] : found) EXPECT_EQ(global->bound, 1u) << name;
  ASSERT_NE(found.at("count")->initializer, nullptr);
  EXPECT_EQ(*static_cast<const int32_t*>(found.at("count")->initializer), 7);
  EXPECT_EQ(static_cast<const int32_t*>(found.at("table")->initializer)[1], 12);
  EXPECT_EQ(found.at("table")->size, 8u);
  EXPECT_EQ(*static_cast<int32_t* const*>(found.at("pointer")->initializer), &count);
  EXPECT_EQ(found.at("zeros")->initializer, nullptr);
}

TEST_F(CpuCompilerTest, APipelineMayRemoveWhatABoundGlobalBeginsWith) {
  int32_t count = 20, table[2] = {1, 2}, out = 0;
  int32_t* pointer = &count;
  CompileOptions options;
  options.passes = "internalize<preserve-gv=k>,globaldce";
  options.bindings = {
      {"count", DevicePtr(address(&count))}, {"table", DevicePtr(address(table))}, {"pointer", DevicePtr(address(&pointer))}};
  load(kGlobals, options);
  for (const mneme_cpu_global& global : globals_of(*module_)) EXPECT_EQ(global.initializer, nullptr) << global.name;
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(&out)).ok());
  EXPECT_EQ(out, 22);
}

TEST_F(CpuCompilerTest, AWeakVariableThatIsNowhereIsNull) {
  load(R"(
@nowhere = extern_weak addrspace(1) global i32
define ptx_kernel void @k(ptr %out) {
  %there = icmp ne ptr addrspacecast (ptr addrspace(1) @nowhere to ptr), null
  %v = select i1 %there, i32 1, i32 2
  store i32 %v, ptr %out
  ret void
}
)");
  int32_t out = 0;
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(&out)).ok());
  EXPECT_EQ(out, 2);
}

// In a loop over the threads a pass would take what it says for the same in all of them.
TEST_F(CpuCompilerTest, AFunctionOfTheThreadIsCalledForEach) {
  load(R"(
define internal i32 @index() noinline nounwind willreturn memory(none) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %tid
}
define internal i32 @other() noinline {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %tid
}
define ptx_kernel void @k(ptr %out) {
  %i = call i32 @index() nounwind willreturn memory(none)
  %j = call i32 @other() nounwind willreturn memory(none)
  %p = getelementptr i32, ptr %out, i32 %i
  store i32 %j, ptr %p
  ret void
}
)");
  std::vector<int32_t> out(8);
  ASSERT_TRUE(run("k", {{}, {8, 1, 1}, {}}, address(out.data())).ok());
  EXPECT_THAT(out, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST_F(CpuCompilerTest, BarriersInFunctionsThatAreCalledDirectlyOrByAPointer) {
  constexpr std::string_view kBody = R"(
@tile = internal addrspace(3) global [64 x i32] undef, align 4
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define internal i32 @first(i32 %i) noinline {
  %t = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %i
  store i32 %i, ptr addrspace(3) %t
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %j = xor i32 %i, 63
  %u = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %j
  %v = load i32, ptr addrspace(3) %u
  ret i32 %v
}
define internal i32 @second(i32 %i) noinline { ret i32 0 }
)";
  load(std::string(kBody) + R"(
@table = internal addrspace(1) constant [2 x ptr] [ptr @first, ptr @second]
define ptx_kernel void @direct(ptr %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v = call i32 @first(i32 %tid)
  %p = getelementptr i32, ptr %out, i32 %tid
  store i32 %v, ptr %p
  ret void
}
define ptx_kernel void @by_pointer(ptr %out, i32 %which) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %slot = getelementptr [2 x ptr], ptr addrspacecast (ptr addrspace(1) @table to ptr), i32 0, i32 %which
  %f = load ptr, ptr %slot
  %v = call i32 %f(i32 %tid)
  %p = getelementptr i32, ptr %out, i32 %tid
  store i32 %v, ptr %p
  ret void
}
)");
  std::vector<int32_t> out(64), expected(64);
  for (int i = 0; i < 64; ++i) expected[i] = 63 - i;
  Status status = run("direct", {{}, {64, 1, 1}, {}}, address(out.data()));
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(out, expected);
  out.assign(64, 0);
  status = run("by_pointer", {{}, {64, 1, 1}, {}}, address(out.data()), int32_t{0});
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_EQ(out, expected);
}

// What the CPU device gets of a kernel's stack: what all frames take that are there at once, or nothing where nobody knows.
TEST_F(CpuCompilerTest, StacksHaveRoomForTheDeepestCalls) {
  CompileOptions options;
  options.passes = "verify";
  load(R"(
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define internal void @large(i32 %i) noinline {
  %a = alloca [20000 x i32]
  %p = getelementptr [20000 x i32], ptr %a, i32 0, i32 %i
  store volatile i32 1, ptr %p
  ret void
}
define internal void @small() noinline {
  %a = alloca i32
  store volatile i32 1, ptr %a
  ret void
}
define internal void @deeper(i32 %i) noinline {
  %a = alloca i32
  store volatile i32 %i, ptr %a
  %end = icmp eq i32 %i, 0
  br i1 %end, label %done, label %more
more:
  %less = sub i32 %i, 1
  call void @deeper(i32 %less)
  store volatile i32 %less, ptr %a
  br label %done
done:
  ret void
}
define ptx_kernel void @known(i32 %i) {
  call void @large(i32 %i)
  call void @small()
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}
define ptx_kernel void @recursive(i32 %i) {
  call void @deeper(i32 %i)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}
define ptx_kernel void @anywhere(ptr %f, ptr %out) {
  store ptr @small, ptr %out
  %more = getelementptr ptr, ptr %out, i32 1
  store ptr @large, ptr %more
  call void %f(i32 0)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  ret void
}
)",
       options);
  const auto stack = [&](const char* kernel) { return (*module_->kernel(kernel))->resources().local_memory; };
  ASSERT_TRUE(stack("known").has_value());
  EXPECT_GT(*stack("known"), Bytes(80000));
  EXPECT_LT(*stack("known"), Bytes(160000));
  EXPECT_EQ(stack("recursive"), std::nullopt);
  EXPECT_EQ(stack("anywhere"), std::nullopt);
  EXPECT_TRUE(run("known", {{}, {64, 1, 1}, {}}, int32_t{0}).ok());
}

TEST_F(CpuCompilerTest, CallsByPointerAndRecursion) {
  load(R"(
@table = internal addrspace(1) constant [2 x ptr] [ptr @twice, ptr @sum]
define internal i32 @twice(i32 %x) { %r = mul i32 %x, 2 ret i32 %r }
define internal i32 @sum(i32 %x) noinline {
  %end = icmp eq i32 %x, 0
  br i1 %end, label %zero, label %more
zero:
  ret i32 0
more:
  %less = sub i32 %x, 1
  %rest = call i32 @sum(i32 %less)
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %with = add i32 %rest, %x
  %all = add i32 %with, %tid
  ret i32 %all
}
define ptx_kernel void @k(ptr %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %slot = getelementptr [2 x ptr], ptr addrspacecast (ptr addrspace(1) @table to ptr), i32 0, i32 %tid
  %f = load ptr, ptr %slot
  %r = call i32 %f(i32 10)
  %p = getelementptr i32, ptr %out, i32 %tid
  store i32 %r, ptr %p
  ret void
}
)");
  int32_t out[2] = {};
  ASSERT_TRUE(run("k", {{}, {2, 1, 1}, {}}, address(out)).ok());
  EXPECT_THAT(out, ElementsAre(20, 65));
}

// A thread waits for one that comes later: as a loop it would never end.
// As code from before __syncwarp does: each lane reads what the one before it has written, with no barrier.
constexpr std::string_view kLockstep = R"(
@values = internal addrspace(3) global [64 x i32] undef, align 4
define ptx_kernel void @shift(ptr %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %generic = addrspacecast ptr addrspace(3) @values to ptr
  %own = getelementptr i32, ptr %generic, i32 %tid
  store volatile i32 %tid, ptr %own
  %after = add i32 %tid, 1
  %next = and i32 %after, 31
  %other = getelementptr i32, ptr %generic, i32 %next
  %value = load volatile i32, ptr %other
  %to = getelementptr i32, ptr %out, i32 %tid
  store i32 %value, ptr %to
  ret void
}
)";

TEST_F(CpuCompilerTest, LanesKeepStepInVolatileSharedMemory) {
  for (const char* pipeline : {"default<O0>", "default<O3>"}) {
    CompileOptions options;
    options.passes = pipeline;
    load(kLockstep, options);
    std::vector<uint32_t> out(32);
    ASSERT_TRUE(run("shift", {{1, 1, 1}, {32, 1, 1}, {}}, address(out.data())).ok());
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], (i + 1) % 32) << pipeline;
  }
}

TEST_F(CpuCompilerTest, VolatileMemoryOfTheHostsNeedsNoSteps) {
  auto code = emit(R"(
define ptx_kernel void @k(ptr %out) {
  %own = alloca i32
  store volatile i32 1, ptr %own
  store volatile i32 2, ptr %out
  ret void
}
)",
                   Stage::assembly);
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  EXPECT_THAT(*code, HasSubstr("__mneme_run_block_k"));
}

TEST_F(CpuCompilerTest, AWaitingLoopLetsTheOthersRun) {
  load(R"(
define ptx_kernel void @k(ptr %flag) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %wait, label %set
wait:
  %v = load volatile i32, ptr %flag
  %unset = icmp eq i32 %v, 0
  br i1 %unset, label %wait, label %done
set:
  store volatile i32 1, ptr %flag
  br label %done
done:
  ret void
}
)");
  int32_t flag = 0;
  ASSERT_TRUE(run("k", {{}, {2, 1, 1}, {}}, address(&flag)).ok());
  EXPECT_EQ(flag, 1);
}

// Also where the loop is in a function that is called, where each pass through it adds nothing, where the loop would end after
// all by itself, and in the second of two loops.
TEST_F(CpuCompilerTest, EveryWaitingLoopLetsTheOthersRun) {
  CompileOptions options;
  options.passes = "verify";
  load(R"(
define internal i32 @look(ptr %flag) noinline {
  %v = load volatile i32, ptr %flag
  ret i32 %v
}
define internal void @wait(ptr %flag) noinline {
  br label %again
again:
  %v = load volatile i32, ptr %flag
  %unset = icmp eq i32 %v, 0
  br i1 %unset, label %again, label %done
done:
  ret void
}
define ptx_kernel void @called(ptr %flags) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %wait, label %set
wait:
  call void @wait(ptr %flags)
  ret void
set:
  store volatile i32 1, ptr %flags
  ret void
}
define ptx_kernel void @looking(ptr %flags) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %wait, label %set
wait:
  %v = call i32 @look(ptr %flags)
  %unset = icmp eq i32 %v, 0
  br i1 %unset, label %wait, label %done
set:
  store volatile i32 1, ptr %flags
  br label %done
done:
  ret void
}
define ptx_kernel void @adding(ptr %flags) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %wait, label %set
wait:
  %v = atomicrmw add ptr %flags, i32 0 monotonic
  %unset = icmp eq i32 %v, 0
  br i1 %unset, label %wait, label %done
set:
  store atomic i32 1, ptr %flags monotonic, align 4
  br label %done
done:
  ret void
}
define ptx_kernel void @counting(ptr %flags) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %wait, label %set
wait:
  %i = phi i64 [ 0, %entry ], [ %next, %wait ]
  %next = add i64 %i, 1
  %v = load volatile i32, ptr %flags
  %unset = icmp eq i32 %v, 0
  %below = icmp ult i64 %next, 1000000000000
  %more = and i1 %unset, %below
  br i1 %more, label %wait, label %done
set:
  store volatile i32 1, ptr %flags
  br label %done
done:
  ret void
}
define ptx_kernel void @twice(ptr %flags) {
  %second = getelementptr i32, ptr %flags, i32 1
  %third = getelementptr i32, ptr %flags, i32 2
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %wait_first, label %set_first
wait_first:
  %a = load volatile i32, ptr %flags
  %no_a = icmp eq i32 %a, 0
  br i1 %no_a, label %wait_first, label %set_second
set_second:
  store volatile i32 1, ptr %second
  br label %wait_third
wait_third:
  %c = load volatile i32, ptr %third
  %no_c = icmp eq i32 %c, 0
  br i1 %no_c, label %wait_third, label %done
set_first:
  store volatile i32 1, ptr %flags
  br label %wait_second
wait_second:
  %b = load volatile i32, ptr %second
  %no_b = icmp eq i32 %b, 0
  br i1 %no_b, label %wait_second, label %set_third
set_third:
  store volatile i32 1, ptr %third
  br label %done
done:
  ret void
}
)",
       options);
  for (const char* kernel : {"called", "looking", "adding", "counting", "twice"}) {
    int32_t flags[3] = {};
    ASSERT_TRUE(run(kernel, {{}, {2, 1, 1}, {}}, address(flags)).ok()) << kernel;
    EXPECT_EQ(flags[0], 1) << kernel;
  }
}

// Alone, and by what is known not to be zero.
TEST_F(CpuCompilerTest, DivisionNeverTraps) {
  load(R"(
define ptx_kernel void @k(ptr %out, i32 %x, i32 %by) {
  %sd = sdiv i32 %x, %by
  store volatile i32 %sd, ptr %out
  %sr = srem i32 %x, %by
  store volatile i32 %sr, ptr %out
  %p1 = getelementptr i32, ptr %out, i32 1
  store volatile i32 %sr, ptr %p1
  store volatile i32 %sd, ptr %out
  %ud = udiv i32 %x, %by
  %p2 = getelementptr i32, ptr %out, i32 2
  store volatile i32 %ud, ptr %p2
  %ur = urem i32 %x, %by
  %p3 = getelementptr i32, ptr %out, i32 3
  store volatile i32 %ur, ptr %p3
  %odd = or i32 %by, 1
  %od = sdiv i32 %x, %odd
  %p4 = getelementptr i32, ptr %out, i32 4
  store volatile i32 %od, ptr %p4
  %or = srem i32 %x, %odd
  %p5 = getelementptr i32, ptr %out, i32 5
  store volatile i32 %or, ptr %p5
  ret void
}
)");
  int32_t out[6] = {};
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(out), int32_t{-7}, int32_t{0}).ok());
  EXPECT_THAT(out, ElementsAre(-1, -7, -1, -7, -7, 0));
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(out), INT32_MIN, int32_t{-1}).ok());
  EXPECT_THAT(out, ElementsAre(INT32_MIN, 0, 0, INT32_MIN, INT32_MIN, 0));
}

TEST_F(CpuCompilerTest, ArithmeticIsTheHardwares) {
  load(R"(
define ptx_kernel void @k(ptr %out, i32 %x, i32 %by, i32 %zero, float %big, float %nan) {
  %shl = shl i32 %x, %by
  %lshr = lshr i32 %x, %by
  %ashr = ashr i32 %x, %by
  %div = udiv i32 %x, %zero
  %rem = srem i32 %x, %zero
  %minus = sub i32 %zero, 1
  %least = shl i32 1, 31
  %over = sdiv i32 %least, %minus
  %high = fptosi float %big to i32
  %none = fptosi float %nan to i32
  %negative = fneg float %big
  %low = fptoui float %negative to i32
  store i32 %shl, ptr %out
  %p1 = getelementptr i32, ptr %out, i32 1
  store i32 %lshr, ptr %p1
  %p2 = getelementptr i32, ptr %out, i32 2
  store i32 %ashr, ptr %p2
  %p3 = getelementptr i32, ptr %out, i32 3
  store i32 %div, ptr %p3
  %p4 = getelementptr i32, ptr %out, i32 4
  store i32 %rem, ptr %p4
  %p5 = getelementptr i32, ptr %out, i32 5
  store i32 %over, ptr %p5
  %p6 = getelementptr i32, ptr %out, i32 6
  store i32 %high, ptr %p6
  %p7 = getelementptr i32, ptr %out, i32 7
  store i32 %none, ptr %p7
  %p8 = getelementptr i32, ptr %out, i32 8
  store i32 %low, ptr %p8
  ret void
}
)");
  int32_t out[9] = {};
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(out), int32_t{-7}, int32_t{32}, int32_t{0}, 1e20f, std::nanf("")).ok());
  EXPECT_THAT(out, ElementsAre(0, 0, -1, -1, -7, INT32_MIN, INT32_MAX, 0, 0));
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(out), int32_t{-7}, int32_t{1}, int32_t{2}, 1.5f, 2.5f).ok());
  EXPECT_THAT(out, ElementsAre(-14, 0x7ffffffc, -4, 0x7ffffffc, -1, INT32_MIN, 1, 2, 0));
}

// The hardware converts to 16 bits at least, and a narrower integer is cut from that.
TEST_F(CpuCompilerTest, ConversionsToBytesKeepTheLowBits) {
  load(R"(
define ptx_kernel void @k(ptr %out, float %x, double %y) {
  %s = fptosi float %x to i8
  %u = fptoui float %x to i8
  %t = fptosi double %y to i8
  store i8 %s, ptr %out
  %p1 = getelementptr i8, ptr %out, i32 1
  store i8 %u, ptr %p1
  %p2 = getelementptr i8, ptr %out, i32 2
  store i8 %t, ptr %p2
  ret void
}
)");
  uint8_t out[3] = {};
  const auto convert = [&](float x, double y) { return run("k", {{}, {}, {}}, address(out), x, y); };
  ASSERT_TRUE(convert(300.7f, -300.7).ok());
  EXPECT_THAT(out, ElementsAre(44, 44, 256 - 44));
  ASSERT_TRUE(convert(-2.5f, 1e9).ok());
  EXPECT_THAT(out, ElementsAre(254, 0, 0xff)) << "what 16 bits do not hold becomes the nearest that they do";
}

TEST_F(CpuCompilerTest, BfloatRoundsToNearestEven) {
  load(R"(
define ptx_kernel void @k(ptr %out, float %x, double %y) {
  %bx = fptrunc float %x to bfloat
  %by = fptrunc double %y to bfloat
  store bfloat %bx, ptr %out
  %p = getelementptr bfloat, ptr %out, i32 1
  store bfloat %by, ptr %p
  ret void
}
)");
  uint16_t out[2] = {};
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(out), std::bit_cast<float>(0x3f808000u), 1.00390625 + 1e-12).ok());
  EXPECT_THAT(out, ElementsAre(0x3f80, 0x3f81));
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(out), std::bit_cast<float>(0x7fffffffu), -(1.00390625 + 1e-12)).ok());
  EXPECT_THAT(out, ElementsAre(0x7fff, 0xbf81));
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(out), std::bit_cast<float>(0x7f800001u), -(1.00390625 - 1e-12)).ok());
  EXPECT_THAT(out, ElementsAre(0x7fc0, 0xbf80)) << "a NaN stays one";
}

TEST_F(CpuCompilerTest, VectorsOfBfloatAreRoundedToo) {
  load(R"(
define ptx_kernel void @k(ptr %out, float %x) {
  %v0 = insertelement <2 x float> poison, float %x, i32 0
  %v = insertelement <2 x float> %v0, float 1.0, i32 1
  %b = fptrunc <2 x float> %v to <2 x bfloat>
  store <2 x bfloat> %b, ptr %out
  ret void
}
)");
  uint16_t out[2] = {};
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(out), 2.0f).ok());
  EXPECT_THAT(out, ElementsAre(0x4000, 0x3f80));
}

// The image's own functions and variables do not meet those of the C library, or of the program.
TEST_F(CpuCompilerTest, NamesOfTheCLibraryAreTheDevicesOwn) {
  load(R"(
@environ = addrspace(1) externally_initialized global i32 5
define float @sinf(float %x) noinline { ret float 42.0 }
declare float @llvm.sin.f32(float)
define ptx_kernel void @exit(ptr %out, float %x) {
  %own = call float @sinf(float %x)
  %libms = call float @llvm.sin.f32(float %x)
  %e = load i32, ptr addrspace(1) @environ
  %f = sitofp i32 %e to float
  %a = fadd float %own, %libms
  %b = fadd float %a, %f
  store float %b, ptr %out
  ret void
}
)");
  float out = 0;
  ASSERT_TRUE(run("exit", {{}, {}, {}}, address(&out), 0.0f).ok());
  EXPECT_EQ(out, 47.0f);
}

// What LLVM has no instruction for it calls by name.
TEST_F(CpuCompilerTest, ADeviceFunctionIsNotCalledInThePlaceOfLibms) {
  load(R"(
@answer = addrspace(1) externally_initialized global float 42.0
define float @sinf(float %x) noinline {
  %v = load volatile float, ptr addrspace(1) @answer
  ret float %v
}
declare float @llvm.sin.f32(float)
define ptx_kernel void @k(ptr %out, float %x) {
  %own = call float @sinf(float %x)
  %libms = call float @llvm.sin.f32(float %x)
  %sum = fadd float %own, %libms
  store float %sum, ptr %out
  ret void
}
)");
  float out = 0;
  ASSERT_TRUE(run("k", {{}, {}, {}}, address(&out), 0.0f).ok());
  EXPECT_EQ(out, 42.0f);
}

constexpr std::string_view kDebugInformation = R"(
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !6}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: DebugDirectivesOnly)
!1 = !DIFile(filename: "kernel_with_lines.cu", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "k", file: !1, line: 3, type: !4, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DISubroutineType(types: !{})
!5 = !DILocation(line: 4, scope: !3)
!6 = !{i32 2, !"Dwarf Version", i32 2}
)";

TEST_F(CpuCompilerTest, LinesAreKept) {
  auto code = compile("define ptx_kernel void @k(ptr %out) !dbg !3 { store i32 1, ptr %out, !dbg !5 ret void, !dbg !5 }" +
                      std::string(kDebugInformation));
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  const std::string bytes(reinterpret_cast<const char*>(code->image.bytes.data()), code->image.bytes.size());
  EXPECT_THAT(bytes, HasSubstr(".debug_line"));
  EXPECT_THAT(bytes, HasSubstr("kernel_with_lines.cu"));
}

constexpr std::string_view kFaultOfOneThread = R"(
define ptx_kernel void @_Z1kPi(ptr %out) !dbg !3 {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !5
  %bad = icmp eq i32 %tid, 43, !dbg !5
  %at = select i1 %bad, ptr inttoptr (i64 4096 to ptr), ptr %out, !dbg !5
  store i32 1, ptr %at, !dbg !5
  ret void, !dbg !5
}
)";

TEST_F(CpuCompilerTest, AFaultOfALoopNamesItsThreadAndItsLine) {
  load(std::string(kFaultOfOneThread) + std::string(kDebugInformation));
  int32_t out = 0;
  EXPECT_EQ(run("_Z1kPi", {{3, 1, 1}, {64, 1, 1}, {}}, address(&out)).message(),
            "kernel 'k(int*)', block [0,0,0], thread [43,0,0], kernel_with_lines.cu:4: a write to address 0x1000, which is not "
            "accessible");
}

TEST_F(CpuCompilerTest, ALineOfAnotherFileIsToldWithThatFile) {
  load(
      "define ptx_kernel void @k(ptr %p) !dbg !3 { store i32 1, ptr %p, !dbg !5 store i32 1, ptr inttoptr (i64 4096 to ptr), "
      "!dbg !9 ret void, !dbg !5 }" +
      std::string(kDebugInformation) +
      "!7 = !DIFile(filename: \"helper.h\", directory: \"/src\")\n"
      "!8 = distinct !DISubprogram(name: \"h\", file: !7, line: 8, type: !4, unit: !0, spFlags: DISPFlagDefinition)\n"
      "!9 = !DILocation(line: 9, scope: !8, inlinedAt: !5)\n");
  int32_t out = 0;
  EXPECT_THAT(run("k", {{}, {1, 1, 1}, {}}, address(&out)).message(),
              testing::StartsWith("kernel 'k', block [0,0,0], thread [0,0,0], helper.h:9: "));
}

// By the name that the device's library has, and by that of the C library.
TEST_F(CpuCompilerTest, AnAssertionThatFailsIsAFault) {
  for (const std::string& declared :
       {std::string("__assertfail(ptr, ptr, i32, ptr, i64)"), std::string("__assert_fail(ptr, ptr, i32, ptr)")}) {
    const bool with_size = declared.find("i64") != std::string::npos;
    const std::string name = declared.substr(0, declared.find('('));
    load(
        "@m = private constant [9 x i8] c\"it holds\\00\"\n@f = private constant [5 x i8] c\"k.cu\\00\"\n"
        "@g = private constant [2 x i8] c\"k\\00\"\ndeclare void @" +
        declared +
        "\ndefine ptx_kernel void @k(i32 %ok) {\n  %c = icmp ne i32 %ok, 0\n  br i1 %c, label %done, label %fails\n"
        "fails:\n  call void @" +
        name + "(ptr @m, ptr @f, i32 7, ptr @g" + (with_size ? ", i64 1" : "") + ")\n  br label %done\ndone:\n  ret void\n}\n");
    EXPECT_TRUE(run("k", {{}, {1, 1, 1}, {}}, int32_t{1}).ok());
    const Status status = run("k", {{}, {1, 1, 1}, {}}, int32_t{0});
    EXPECT_EQ(status.code(), Code::device_fault) << name;
    EXPECT_THAT(status.message(), HasSubstr("k.cu:7: k: block: [0,0,0], thread: [0,0,0] Assertion `it holds` failed."));
    module_.reset();
    stream_.reset();
    SetUp();  // the device is of no further use
  }
}

// Without it the kernel ends, and the process with it.
TEST_F(CpuCompilerTest, ACallOfWhatIsNoFunctionOfTheImageIsAFault) {
  load("define ptx_kernel void @k(ptr %f) !dbg !3 { call void %f(), !dbg !5 ret void, !dbg !5 }" +
       std::string(kDebugInformation));
  void (*host)() = std::abort;
  const std::string message = run("k", {{}, {2, 1, 1}, {}}, address(reinterpret_cast<void*>(host))).message();
  EXPECT_THAT(message,
              testing::StartsWith("kernel 'k', block [0,0,0], thread [0,0,0], kernel_with_lines.cu:4: a call through the "
                                  "pointer 0x"));
  EXPECT_THAT(message, testing::EndsWith(", which points to no function of the kernel's"));
}

TEST_F(CpuCompilerTest, ALaunchBoundIsTheKernels) {
  load("define ptx_kernel void @k() #0 { ret void }\nattributes #0 = { \"nvvm.maxntid\"=\"16,8\" }");
  EXPECT_EQ((*module_->kernel("k"))->resources().max_threads_per_block, 128u);
  load("define ptx_kernel void @k() #0 { ret void }\nattributes #0 = { \"nvvm.maxntid\"=\"16,2,4\" }");
  EXPECT_EQ((*module_->kernel("k"))->resources().max_threads_per_block, 128u);
}

// What is known of a divisor says nothing of -1.
TEST_F(CpuCompilerTest, TheLeastNumberByMinusOneOverflowsAlsoWhereNothingIsZero) {
  CompileOptions options;
  options.passes = "verify";
  load(R"(
define ptx_kernel void @quotient(ptr %out, i32 %x, i32 %by) {
  %odd = or i32 %by, 1
  %v = sdiv i32 %x, %odd
  store volatile i32 %v, ptr %out
  ret void
}
define ptx_kernel void @remainder(ptr %out, i32 %x, i32 %by) {
  %odd = or i32 %by, 1
  %v = srem i32 %x, %odd
  store volatile i32 %v, ptr %out
  ret void
}
define ptx_kernel void @any_remainder(ptr %out, i32 %x, i32 %by) {
  %v = srem i32 %x, %by
  store volatile i32 %v, ptr %out
  ret void
}
)",
       options);
  int32_t out = 9;
  ASSERT_TRUE(run("quotient", {{}, {}, {}}, address(&out), INT32_MIN, int32_t{-1}).ok());
  EXPECT_EQ(out, INT32_MIN);
  for (const char* kernel : {"remainder", "any_remainder"}) {
    out = 9;
    const Status status = run(kernel, {{}, {}, {}}, address(&out), INT32_MIN, int32_t{-1});
    ASSERT_TRUE(status.ok()) << status.to_string();
    EXPECT_EQ(out, 0) << kernel;
  }
}

TEST_F(CpuCompilerTest, AStructureThatIsOnlyCopiedIntoIsEachThreadsOwn) {
  CompileOptions options;
  options.passes = "verify";
  load(R"(
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define ptx_kernel void @k(ptr byval([2 x i32]) align 4 %p, ptr %in, ptr %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %to = getelementptr [2 x i32], ptr %out, i32 %tid
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %change, label %done
change:
  call void @llvm.memcpy.p0.p0.i64(ptr %p, ptr %in, i64 8, i1 false)
  br label %done
done:
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %p, i64 8, i1 false)
  ret void
}
)",
       options);
  const std::array<int32_t, 2> in = {7, 8};
  std::array<int32_t, 6> out = {};
  ASSERT_TRUE(run("k", {{}, {3, 1, 1}, {}}, std::array<int32_t, 2>{5, 6}, address(in.data()), address(out.data())).ok());
  EXPECT_THAT(out, ElementsAre(7, 8, 5, 6, 5, 6));
}

TEST(CpuCompiler, EmitsEachStage) {
  EXPECT_THAT(emit(kAdd, Stage::specialised).value(), HasSubstr("define ptx_kernel void @add"));
  EXPECT_THAT(emit(kAdd, Stage::optimised).value(), HasSubstr("target triple = \"nvptx64-nvidia-cuda\""));
  EXPECT_THAT(emit(kAdd, Stage::assembly).value(), testing::AllOf(HasSubstr("retq"), HasSubstr(".globl")));
  EXPECT_EQ((*Compiler::create(DeviceKind::cpu, "x86-64-v3"))->disassemble({}).status().to_string(),
            "unsupported: the CPU device's objects are not disassembled: its assembly is what they are made of");
}

TEST(CpuCompiler, WhatIsNowhereDefinedIsNamed) {
  EXPECT_EQ(compile("declare void @missing()\ndefine ptx_kernel void @k() { call void @missing() ret void }").status().message(),
            "function 'missing', which 'k' calls, is nowhere defined, and the CPU device does not have it");
  EXPECT_EQ(compile("declare void @missing()\ndefine ptx_kernel void @k(ptr %p) { store ptr @missing, ptr %p ret void }")
                .status()
                .message(),
            "function 'missing', whose address is taken, is nowhere defined, and the CPU device does not have it");
  EXPECT_EQ(compile("@lost = external addrspace(1) global i32\ndefine ptx_kernel void @k() { store i32 1, ptr addrspace(1) @lost "
                    "ret void }")
                .status()
                .message(),
            "variable 'lost' is nowhere defined");
}

TEST(CpuCompiler, RefusalsSayWhatIsRefused) {
  EXPECT_EQ(Compiler::create(DeviceKind::cpu, "armv8").status().message(),
            "the CPU device's code is made for x86-64-v3, not for 'armv8'");
  const std::string other = "target triple = \"spirv64-unknown-unknown\"\n";
  auto module = ir::Module::parse(std::as_bytes(std::span(other)), "other.ll");
  ASSERT_TRUE(module.ok());
  auto compiler = Compiler::create(DeviceKind::cpu, "x86-64-v3");
  ASSERT_TRUE(compiler.ok());
  EXPECT_EQ((*compiler)->compile(*module, {}).status().message(),
            "lowering to the CPU: the module is for 'spirv64-unknown-unknown'; only code for NVIDIA and AMD GPUs can be lowered");

  CompileOptions options;
  options.passes = "nonsense";
  EXPECT_EQ(compile("define ptx_kernel void @k() { ret void }", options).status().code(), Code::invalid_argument);
  options = {};
  options.kernels = {"other"};
  EXPECT_EQ(compile("define ptx_kernel void @k() { ret void }", options).status().message(),
            "kernel 'other' is not in test.ll, which has k");
}

TEST(CpuCompiler, InstructionsAreAFactOfOneKernel) {
  const std::string two = std::string(kAdd) + "define ptx_kernel void @nothing() { ret void }";
  auto add = compile(two, {.kernels = {"add"}}), nothing = compile(two, {.kernels = {"nothing"}});
  ASSERT_TRUE(add.ok() && nothing.ok());
  EXPECT_GT(nothing->facts.instructions.value_or(0), 0u);
  EXPECT_GT(add->facts.instructions.value_or(0), nothing->facts.instructions.value_or(0));
  EXPECT_EQ(compile(two)->facts.instructions, std::nullopt);
}

TEST(CpuCompiler, TellsOfWhatTheCodeWasMade) {
  const std::string text =
      std::string(kTarget) +
      "@count = internal addrspace(1) externally_initialized global i32 7\n"
      "define ptx_kernel void @k(ptr %out) { %v = load i32, ptr addrspace(1) @count store i32 %v, ptr %out ret "
      "void }";
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
  ASSERT_TRUE(module.ok());
  auto compiler = Compiler::create(DeviceKind::cpu, "x86-64-v3");
  ASSERT_TRUE(compiler.ok());
  auto translation = (*compiler)->translate(*module, {});
  ASSERT_TRUE(translation.ok()) << translation.status().to_string();
  auto code = (*compiler)->assemble(*translation);
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  EXPECT_EQ(code->translation_digest, translation->digest());
  EXPECT_EQ(code->digest, digest_of(code->image.bytes));
  EXPECT_THAT(code->state, ElementsAre("count"));
  std::vector<std::string> stages;
  for (const StageTime& time : code->times) stages.push_back(time.stage);
  EXPECT_THAT(stages, ElementsAre("prepare", "optimise", "lower", "host_optimise", "codegen", "link"));
}

TEST(CpuCompiler, KnobsOfTheAssemblerAreRefusedByName) {
  auto refusal = [](AssemblerOptions options) { return compile(kAdd, {.assembler = std::move(options)}).status().to_string(); };
  auto words = [](const char* knob) {
    return fmt::format("unsupported: assembler.{} has no effect on the CPU device, whose code is not made from PTX: leave it out",
                       knob);
  };
  EXPECT_EQ(refusal({.level = 3}), words("level"));
  EXPECT_EQ(refusal({.options = {"-w"}}), words("options"));
  EXPECT_EQ(refusal({.max_registers = 32}), words("max_registers"));
  EXPECT_EQ(refusal({.load_cache = LoadCache::cg}), words("load_cache"));
  EXPECT_EQ(refusal({.store_cache = StoreCache::cg}), words("store_cache"));
}

}  // namespace
}  // namespace mneme::cpu
