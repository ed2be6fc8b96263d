#include "mneme/ir/access_types.h"

#include <gtest/gtest.h>

namespace mneme::ir {
namespace {

AccessTypes types_of(std::string_view ir) {
  auto module = Module::parse(std::as_bytes(std::span(ir)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  auto types = access_types(*module, "kernel");
  EXPECT_TRUE(types.ok()) << types.status().to_string();
  return types.ok() ? *types : AccessTypes();
}

using Types = std::vector<std::optional<ElementType>>;

TEST(AccessTypes, FollowsVariablesCallsAndPointersMadeOfPointers) {
  AccessTypes types = types_of(R"(
target triple = "nvptx64-nvidia-cuda"
@table = addrspace(1) global [4 x half] zeroinitializer
@unused = addrspace(1) global i32 0
define internal void @write(ptr %where, double %v) {
  store double %v, ptr %where
  ret void
}
define ptx_kernel void @kernel(ptr %in, ptr %out, i32 %n, ptr %vectors, ptr %counters) {
  %spilled = alloca ptr
  store ptr %in, ptr %spilled
  %again = load ptr, ptr %spilled
  %at = getelementptr float, ptr %again, i32 %n
  %v = load float, ptr %at
  %d = fpext float %v to double
  %to = getelementptr double, ptr %out, i32 %n
  call void @write(ptr %to, double %d)
  %four = load <4 x float>, ptr %vectors
  %old = atomicrmw add ptr %counters, i64 1 seq_cst
  store half 0xH3C00, ptr addrspace(1) getelementptr (half, ptr addrspace(1) @table, i32 1)
  ret void
}
)");
  EXPECT_EQ(types.parameters, (Types{ElementType::f32, ElementType::f64, std::nullopt, ElementType::f32, ElementType::i64}));
  EXPECT_EQ(types.globals, (std::map<std::string, ElementType>{{"table", ElementType::f16}}));
}

TEST(AccessTypes, TellsNothingOfMixedOrUnfollowedPointers) {
  AccessTypes types = types_of(R"(
target triple = "nvptx64-nvidia-cuda"
declare void @elsewhere(ptr)
define ptx_kernel void @kernel(ptr %mixed, ptr %given, ptr %stored, ptr %pointers) {
  %f = load float, ptr %mixed
  store i32 1, ptr %mixed
  call void @elsewhere(ptr %given)
  store ptr %stored, ptr %pointers
  ret void
}
)");
  EXPECT_EQ(types.parameters, (Types{std::nullopt, std::nullopt, std::nullopt, std::nullopt}));
}

TEST(AccessTypes, NamesAKernelThatIsNotThere) {
  auto module = Module::parse(std::as_bytes(std::span(std::string_view("target triple = \"nvptx64-nvidia-cuda\"\n"))), "test.ll");
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(access_types(*module, "kernel").status().to_string(),
            "not_found: looking for the types of accesses: the IR has no kernel 'kernel'");
}

TEST(AccessTypes, FollowsChoicesAndPassesOverWhatSaysNothing) {
  AccessTypes types = types_of(R"(
target triple = "nvptx64-nvidia-cuda"
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define ptx_kernel void @kernel(ptr %exchanged, ptr %compared, ptr %cleared, i1 %which, ptr %one, ptr %other, ptr %mixed) {
  %old = cmpxchg ptr %exchanged, i16 1, i16 2 monotonic monotonic
  %null = icmp eq ptr %compared, null
  %f = load float, ptr %compared
  call void @llvm.memset.p0.i64(ptr %cleared, i8 0, i64 16, i1 false)
  store double 1.0, ptr %cleared
  %chosen = select i1 %which, ptr %one, ptr %other
  store float %f, ptr %chosen
  store { float, i32 } zeroinitializer, ptr %mixed
  ret void
}
)");
  EXPECT_EQ(types.parameters, (Types{ElementType::i16, ElementType::f32, ElementType::f64, std::nullopt, ElementType::f32,
                                     ElementType::f32, std::nullopt}));
}

// Clang makes generic pointers of a kernel's own by way of numbers.
TEST(AccessTypes, OfAmdsKernels) {
  AccessTypes types = types_of(R"(
target triple = "amdgcn-amd-amdhsa"
define amdgpu_kernel void @kernel(ptr addrspace(1) %in.coerce, ptr addrspace(1) %number, ptr addrspace(1) %plain) {
  %slot = alloca ptr, align 8, addrspace(5)
  store ptr addrspace(1) %in.coerce, ptr addrspace(5) %slot
  %in = load ptr, ptr addrspace(5) %slot
  %at = getelementptr float, ptr %in, i32 7
  store float 1.0, ptr %at
  %n = ptrtoint ptr addrspace(1) %number to i64
  store i64 %n, ptr addrspace(1) %plain
  ret void
}
)");
  EXPECT_EQ(types.parameters, (Types{ElementType::f32, std::nullopt, ElementType::i64}));
}

}  // namespace
}  // namespace mneme::ir
