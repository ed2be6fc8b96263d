// Whether the machine code of a kernel in two code objects is the same, and where it is not.
#include "mneme/compile/amdgpu/code_object_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/compile/amdgpu/testing/amdgcn_ir.h"
#include "mneme/compile/compiler.h"

namespace mneme::amdgpu {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A code object of all kernels of a text of IR.
ByteVector code_of(const std::string& ir, const std::string& architecture = "gfx90a") {
  CompileOptions options;
  options.passes = "default<O2>";
  auto code = compiler(architecture)->compile(parse(ir), options);
  EXPECT_TRUE(code.ok()) << code.status().to_string();
  return code.ok() ? code->image.bytes : ByteVector();
}

constexpr const char* kVariables =
    "@before = addrspace(1) externally_initialized global [100 x i32] zeroinitializer\n"
    "@counted = addrspace(1) externally_initialized global i32 0\n";
// A long function that others may call, so that it is not inlined.
constexpr const char* kCalled =
    "define hidden i32 @called(i32 %a) noinline { %b = mul i32 %a, @FACTOR@ %c = xor i32 %b, %a ret i32 %c }\n";

std::string kernel(const std::string& name, const std::string& body) {
  return "define protected amdgpu_kernel void @" + name + "(ptr addrspace(1) %p, i32 %n) {\n" + body + "  ret void\n}\n";
}
const std::string kAdds = "  %v = load i32, ptr addrspace(1) %p\n  %s = add i32 %v, %n\n  store i32 %s, ptr addrspace(1) %p\n";
const std::string kCounts = "  store i32 %n, ptr addrspace(1) @counted\n";
const std::string kCalls = "  %v = call i32 @called(i32 %n)\n  store i32 %v, ptr addrspace(1) %p\n";

std::string called(const std::string& factor) {
  std::string text = kCalled;
  return text.replace(text.find("@FACTOR@"), 8, factor);
}

CodeComparison compare(const ByteVector& program, const ByteVector& made) {
  auto compared = compare_machine_code(program, made, "scaled", DeviceKind::hip);
  EXPECT_TRUE(compared.ok()) << compared.status().to_string();
  return compared.ok() ? *compared : CodeComparison();
}
CodeComparison compare(const std::string& program, const std::string& made) { return compare(code_of(program), code_of(made)); }

TEST(CodeObjectComparison, WhatElseTheProgramHasIsOfNoMatter) {
  const CodeComparison compared = compare(kernel("other", kAdds) + kernel("scaled", kAdds), kernel("scaled", kAdds));
  EXPECT_TRUE(compared.same) << describe(compared);
  EXPECT_GT(compared.program.instructions, 5u);
  EXPECT_EQ(compared.program.instructions, compared.made.instructions);
  EXPECT_THAT(compared.made.assembler, HasSubstr("LLD 22"));
  EXPECT_EQ(describe(compared),
            fmt::format("{} instructions, {} registers", compared.program.instructions, *compared.program.registers));
}

TEST(CodeObjectComparison, SaysWhereCodeDiffers) {
  const std::string twice =
      kAdds + "  %q = getelementptr i32, ptr addrspace(1) %p, i32 1\n  store volatile i32 %n, ptr addrspace(1) %q\n";
  const CodeComparison compared = compare(kernel("scaled", kAdds), kernel("scaled", twice));
  EXPECT_FALSE(compared.same);
  EXPECT_EQ(compared.where, "the code");
  EXPECT_GT(compared.made.instructions, compared.program.instructions);
  EXPECT_THAT(describe(compared),
              StartsWith(fmt::format("the code differs first at offset {:#x}: the program's has ", compared.offset)));
}

TEST(CodeObjectComparison, WhatIsReferredToIsComparedByItsName) {
  const std::string one = "@counted = addrspace(1) externally_initialized global i32 0\n";
  EXPECT_TRUE(compare(kVariables + kernel("other", kAdds) + kernel("scaled", kCounts), one + kernel("scaled", kCounts)).same);
  std::string before = kCounts;
  before.replace(before.find("counted"), 7, "before");
  const CodeComparison other = compare(kVariables + kernel("scaled", before), kVariables + kernel("scaled", kCounts));
  EXPECT_FALSE(other.same);
  EXPECT_EQ(other.where, "the code");
  // What the plugin and clang put behind names of static variables.
  std::string suffixed = one + kernel("scaled", kCounts);
  for (size_t at = suffixed.find("counted"); at != suffixed.npos; at = suffixed.find("counted", at + 20))
    suffixed.replace(at, 7, "counted.static.77");
  EXPECT_TRUE(compare(suffixed, one + kernel("scaled", kCounts)).same);
}

TEST(CodeObjectComparison, AnotherPlaceInTheSameVariableIsOther) {
  const auto stores = [](int place) {
    return kVariables +
           kernel("scaled",
                  fmt::format("  store i32 %n, ptr addrspace(1) getelementptr (i32, ptr addrspace(1) @before, i32 {})\n", place));
  };
  EXPECT_TRUE(compare(stores(2), stores(2)).same);
  EXPECT_FALSE(compare(stores(2), stores(3)).same);
}

// Only the two additions that complete an address depend on where things lie.
TEST(CodeObjectComparison, WhatIsAddedToRegistersBehindAnAddressIsCompared) {
  const std::string address =
      "s_getpc_b64 s[20:21]\\0As_add_u32 s20, s20, here@rel32@lo+4\\0As_addc_u32 s21, s21, here@rel32@hi+12\\0A";
  const auto with = [](const std::string& assembly) {
    return "@here = protected addrspace(1) externally_initialized global i32 0\n" +
           kernel("scaled", "  call void asm sideeffect \"" + assembly + "\", \"~{s20},~{s21},~{scc}\"()\n");
  };
  for (const std::string& before :
       {address, std::string("s_getpc_b64 s[20:21]\\0A"), std::string("s_getpc_b64 s[20:21]\\0As_mov_b32 s20, s8\\0A")}) {
    const auto adds = [&](int number) { return with(before + "s_add_u32 s20, s20, " + std::to_string(number)); };
    EXPECT_TRUE(compare(kernel("other", kAdds) + adds(100), adds(100)).same) << before;
    EXPECT_FALSE(compare(adds(100), adds(200)).same) << before;
  }
  // An address that is given up half-way.
  const auto stops = [&](int number) {
    return with(
        fmt::format("s_getpc_b64 s[20:21]\\0As_add_u32 s20, s20, {}\\0As_mov_b64 s[20:21], 0\\0As_addc_u32 s21, s21, 0", number));
  };
  EXPECT_TRUE(compare(kernel("other", kAdds) + stops(100), stops(100)).same);
  EXPECT_FALSE(compare(stops(100), stops(200)).same);
}

// Texts and tables that have no symbol.
TEST(CodeObjectComparison, WhatHasNoNameIsComparedByWhatItHolds) {
  const auto with = [](const std::string& values, const std::string& first) {
    return first + "@.table = private unnamed_addr addrspace(4) constant [4 x i32] [" + values + "]\n" +
           kernel("scaled",
                  "  %i = and i32 %n, 3\n  %q = getelementptr [4 x i32], ptr addrspace(4) @.table, i32 0, i32 %i\n"
                  "  %v = load i32, ptr addrspace(4) %q\n  store i32 %v, ptr addrspace(1) %p\n");
  };
  const std::string first =
      "@.first = private unnamed_addr addrspace(4) constant [3 x i32] [i32 1, i32 2, i32 3]\n" +
      kernel("other",
             "  %i = and i32 %n, 1\n  %q = getelementptr [3 x i32], ptr addrspace(4) @.first, i32 0, i32 %i\n"
             "  %v = load i32, ptr addrspace(4) %q\n  store i32 %v, ptr addrspace(1) %p\n");
  const std::string values = "i32 5, i32 9, i32 7, i32 8";
  const CodeComparison compared = compare(with(values, first), with(values, ""));
  EXPECT_TRUE(compared.same) << describe(compared);
  EXPECT_FALSE(compare(with("i32 5, i32 6, i32 7, i32 8", first), with(values, "")).same);
}

TEST(CodeObjectComparison, FunctionsThatAreCalledAreCompared) {
  const std::string calls = kernel("scaled", kCalls);
  EXPECT_TRUE(compare(kernel("other", kAdds) + called("77") + calls, called("77") + calls).same);
  const CodeComparison compared = compare(called("77") + calls, called("78") + calls);
  EXPECT_FALSE(compared.same);
  EXPECT_EQ(compared.where, "the code of called");
}

// What a launch sets up by: registers, LDS, and what the kernel is given.
TEST(CodeObjectComparison, DescriptorsAreCompared) {
  std::string attributed = kernel("scaled", kAdds);
  attributed.replace(attributed.find(" {"), 2, " \"amdgpu-ieee\"=\"false\" {");
  const CodeComparison compared = compare(kernel("scaled", kAdds), attributed);
  EXPECT_FALSE(compared.same);
  EXPECT_EQ(compared.where, "the descriptor");
}

TEST(CodeObjectComparison, AKernelWithASuffixIsFoundWhereNoOtherHasCode) {
  const ByteVector made = code_of(kernel("scaled", kAdds));
  const std::string suffixed = kernel("scaled.static.7", kAdds);
  EXPECT_TRUE(compare(code_of(suffixed), made).same);
  const ByteVector two = code_of(suffixed + kernel("scaled_twice", kAdds));
  EXPECT_EQ(compare_code_objects(two, made, "scaled").status().to_string(),
            "not_found: the program's image: it has no kernel scaled");
}

TEST(CodeObjectComparison, OtherArchitectures) {
  for (const char* architecture : {"gfx942", "gfx1100", "gfx1201"}) {
    const std::string text = kVariables + called("77") + kernel("scaled", kCounts + kCalls);
    const ByteVector program = code_of(kernel("other", kAdds) + text, architecture);
    const CodeComparison compared = compare(program, code_of(text, architecture));
    EXPECT_TRUE(compared.same) << architecture << ": " << describe(compared);
  }
}

TEST(CodeObjectComparison, WhatIsNoCodeObjectIsRefused) {
  const ByteVector made = code_of(kernel("scaled", kAdds));
  EXPECT_THAT(compare_code_objects(ByteVector(3), made, "scaled").status().to_string(),
              StartsWith("corrupt: the program's image: "));
  // Whatever is damaged, nothing beyond the bytes is read.
  for (size_t size = 0; size < made.size(); size += 61) {
    const auto compared = compare_code_objects(ByteSpan(made).first(size), made, "scaled");
    EXPECT_FALSE(compared.ok() && compared->same) << size;
  }
  for (size_t at = 0; at < made.size(); at += 7) {
    ByteVector damaged = made;
    damaged[at] ^= std::byte{0xff};
    compare_code_objects(damaged, made, "scaled").status().to_string();
  }
}

}  // namespace
}  // namespace mneme::amdgpu
