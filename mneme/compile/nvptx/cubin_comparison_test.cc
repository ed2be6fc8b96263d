// Whether the machine code of a kernel in two cubins is the same, and where it is not.
#include "mneme/compile/nvptx/cubin_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/compile/code_comparison.h"
#include "mneme/compile/compiler.h"
#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kHead = ".version 8.0\n.target sm_90\n.address_size 64\n";
// A variable that code refers to by its address.
constexpr const char* kVariable = ".visible .global .align 4 .u32 counted;\n";
constexpr const char* kOther =
    ".visible .entry other(.param .u64 p) { .reg .b64 %rd<4>; ld.param.u64 %rd1, [p]; st.global.u64 [%rd1], 1; ret; }\n";
// It calls itself, so that no assembler can inline it.
constexpr const char* kCalled =
    ".func (.param .b32 r) called(.param .b32 a)\n"
    "{ .reg .b32 %r<6>; .reg .pred %p<2>; .param .b32 a0; .param .b32 r0; ld.param.u32 %r1, [a];\n"
    "setp.lt.u32 %p1, %r1, 2; @%p1 bra done; shr.u32 %r2, %r1, 1; st.param.b32 [a0], %r2; call (r0), called, (a0);\n"
    "ld.param.b32 %r3, [r0]; xor.b32 %r1, %r3, {}; done: st.param.b32 [r], %r1; ret; }\n";

std::string kernel(const std::string& body, const std::string& name = "scaled") {
  return fmt::format(
      ".visible .entry {}(.param .u64 p, .param .u32 n) {{\n"
      ".reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f32 %f<9>; .reg .pred %p<3>;\n"
      "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; mov.u32 %r2, %tid.x; mul.wide.u32 %rd2, %r2, 4; add.u64 %rd3, %rd1, %rd2;\n"
      "{}\nret;\n}}\n",
      name, body);
}
const std::string kAdds = "ld.global.u32 %r3, [%rd3]; add.u32 %r4, %r3, %r1; st.global.u32 [%rd3], %r4;";
const std::string kCounts = "mov.u64 %rd4, counted; atom.global.add.u32 %r3, [%rd4], 1; st.global.u32 [%rd3], %r3;";
const std::string kCalls =
    "{ .param .b32 a0; .param .b32 r0; st.param.b32 [a0], %r1; call (r0), called, (a0); ld.param.b32 %r3, [r0]; st.global.u32 "
    "[%rd3], %r3; }";

class CubinComparison : public testing::Test {
 protected:
  CubinComparison() {
    auto found = find_assembler(AssemblerSearch::from_environment());
    if (found.ok() && (*found)->name() != kDriverAssembler) assembler_ = std::move(*found);
  }
  void SetUp() override {
    if (!assembler_) GTEST_SKIP() << "no PTX assembler but the driver's";
  }
  ByteVector cubin(const std::string& ptx, const AssemblerOptions& options = {}) {
    auto made = assembler_->assemble({kHead + ptx, "sm_90", LineInfo::leave_out, options});
    EXPECT_TRUE(made.ok()) << made.status().to_string();
    return made.ok() ? made->image.bytes : ByteVector();
  }
  CodeComparison compare(const std::string& program, const std::string& made) {
    auto compared = compare_machine_code(cubin(program), cubin(made), "scaled", DeviceKind::cuda);
    EXPECT_TRUE(compared.ok()) << compared.status().to_string();
    return compared.ok() ? *compared : CodeComparison();
  }

  std::unique_ptr<PtxAssembler> assembler_;
};

TEST_F(CubinComparison, WhatElseTheProgramHasIsOfNoMatter) {
  const CodeComparison compared = compare(kVariable + std::string(kOther) + kernel(kAdds), kernel(kAdds));
  EXPECT_TRUE(compared.same) << describe(compared);
  EXPECT_GT(compared.program.instructions, 5u);
  EXPECT_EQ(compared.program.instructions, compared.made.instructions);
  EXPECT_GT(compared.program.registers.value_or(0), 4u);
  EXPECT_EQ(describe(compared),
            fmt::format("{} instructions, {} registers", compared.program.instructions, *compared.program.registers));
}

TEST_F(CubinComparison, SaysWhereCodeDiffers) {
  const CodeComparison compared = compare(kernel(kAdds), kernel(kAdds + "st.global.u32 [%rd3+4], %r4;"));
  EXPECT_FALSE(compared.same);
  EXPECT_EQ(compared.where, "the code");
  EXPECT_EQ(compared.made.instructions, compared.program.instructions + 1);
  EXPECT_THAT(describe(compared),
              StartsWith(fmt::format("the code differs first at offset {:#x}: the program's has ", compared.offset)));
}

TEST_F(CubinComparison, WhatIsReferredToIsComparedByItsName) {
  const std::string another = ".visible .global .align 4 .u32 before;\n.visible .global .align 4 .u32 counted;\n";
  EXPECT_TRUE(compare(another + kernel(kCounts), kVariable + kernel(kCounts)).same);
  std::string before = kCounts;
  before.replace(before.find("counted"), 7, "before");
  EXPECT_FALSE(compare(another + kernel(before), another + kernel(kCounts)).same);
}

TEST_F(CubinComparison, NumberedTextsAreComparedByWhatTheyAre) {
  const auto text = [](int number, int first) {
    return fmt::format(".global .align 1 .b8 $str${}[4] = {{{}, 66, 67, 0}};\n", number, first);
  };
  const auto shows = [](int number) { return kernel(fmt::format("mov.u64 %rd4, $str${}; st.global.u64 [%rd3], %rd4;", number)); };
  EXPECT_TRUE(compare(text(1, 80) + text(2, 65) + kernel("mov.u64 %rd4, $str$1; st.global.u64 [%rd1], %rd4;", "other") + shows(2),
                      text(1, 65) + shows(1))
                  .same);
  EXPECT_FALSE(compare(text(1, 80) + shows(1), text(2, 65) + shows(2)).same);
}

TEST_F(CubinComparison, FunctionsOfTheDriversAreComparedByTheirNames) {
  const std::string declared = ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n";
  const std::string calls = kernel(
      "{ .param .b64 f0; .param .b64 a0; .param .b32 r0; st.param.b64 [f0], %rd3; st.param.b64 [a0], %rd1;\n"
      "call (r0), vprintf, (f0, a0); ld.param.b32 %r3, [r0]; st.global.u32 [%rd3], %r3; }");
  const std::string before = kVariable + kernel(kCounts, "other");
  const CodeComparison compared = compare(declared + before + calls, declared + calls);
  EXPECT_TRUE(compared.same) << describe(compared);
}

// In which place of its bank a constant lies depends on what else the program has.
TEST_F(CubinComparison, ConstantVariablesAreComparedByTheirNames) {
  const std::string first = ".visible .const .align 4 .u32 before[4];\n", table = ".visible .const .align 4 .u32 table[4];\n";
  const auto reads = [](const char* what) {
    return kernel(fmt::format("ld.const.u32 %r3, [{}]; add.u32 %r3, %r3, %r1; st.global.u32 [%rd3], %r3;", what));
  };
  const std::string both =
      kernel("ld.const.u32 %r3, [before]; ld.const.u32 %r4, [table]; st.global.v2.u32 [%rd3], {%r3, %r4};", "other");
  EXPECT_TRUE(compare(first + table + both + reads("table+4"), table + reads("table+4")).same);
  EXPECT_FALSE(compare(first + table + both + reads("table+4"), table + reads("table+8")).same);
  EXPECT_FALSE(compare(first + table + both + reads("before"), first + table + reads("table")).same);
  EXPECT_TRUE(
      compare(first + ".visible .const .align 4 .u32 table__mneme_x[4];\n" + reads("table__mneme_x"), table + reads("table"))
          .same);
}

TEST_F(CubinComparison, FunctionsThatAreCalledAreCompared) {
  const auto with = [](const char* number) {
    std::string called = kCalled;
    return called.replace(called.find("{}"), 2, number) + kernel(kCalls);
  };
  EXPECT_TRUE(compare(kOther + with("77"), with("77")).same);
  EXPECT_FALSE(compare(with("77"), with("78")).same);
}

TEST_F(CubinComparison, OtherOptionsOfTheAssemblerAreTheLikelyReason) {
  const std::string text = kernel(kCounts);
  auto compared = compare_cubins(cubin(kVariable + text, {.level = 0}), cubin(kVariable + text), "scaled");
  ASSERT_TRUE(compared.ok()) << compared.status().to_string();
  EXPECT_FALSE(compared->same);
  if (compared->program.options.empty()) GTEST_SKIP() << "cubins of this assembler do not say how they were made";
  EXPECT_THAT(compared->program.options, HasSubstr("-O 0"));
  EXPECT_THAT(describe(*compared), HasSubstr("; the program's was assembled with '"));
  compared->program.assembler = "ptxas 1.0";
  EXPECT_THAT(describe(*compared), HasSubstr("; the program's was assembled by ptxas 1.0, this by "));
}

TEST_F(CubinComparison, AKernelWithASuffixIsFoundWhereNoOtherHasCode) {
  const std::string ptx = kernel(kAdds, "scaled__static__7");
  auto compared = compare_cubins(cubin(ptx), cubin(kernel(kAdds)), "scaled");
  ASSERT_TRUE(compared.ok()) << compared.status().to_string();
  EXPECT_TRUE(compared->same);
  const ByteVector two = cubin(ptx + kernel(kAdds, "scaled_twice"));
  EXPECT_EQ(compare_cubins(two, cubin(kernel(kAdds)), "scaled").status().to_string(),
            "not_found: the program's image: it has no kernel scaled");
}

TEST_F(CubinComparison, WhatIsNoCubinIsRefused) {
  const ByteVector made = cubin(kernel(kAdds));
  EXPECT_EQ(compare_cubins(ByteVector(3), made, "scaled").status().code(), Code::corrupt);
  EXPECT_EQ(compare_cubins(ByteSpan(made).first(made.size() / 2), made, "scaled").status().code(), Code::corrupt);
  EXPECT_EQ(compare_machine_code(made, made, "scaled", DeviceKind::cpu).status().code(), Code::unsupported);
}

}  // namespace
}  // namespace mneme::nvptx
