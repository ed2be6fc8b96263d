// PTX that reaches a program's variables through a table of their addresses, in the words in which nvcc writes such code.
#include "mneme/compile/nvptx/ptx_variable_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/compile/nvptx/compiler.h"
#include "mneme/compile/nvptx/program_code.h"
#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kHead = R"(.version 8.4
.target sm_90
.address_size 64
.file 1 "{weights}.cu"
.global .attribute(.managed) .align 4 .u32 counted = 5;
.const .align 4 .b8 weights[32] = {0, 0, 128, 63, 0, 0, 0, 64}; // weights;
.const .align 4 .u32 step = 1;
.global .align 4 .b8 table[256];
.global .align 8 .u64 where = generic(table);
.global .align 1 .b8 $str[6] = {104, 101, 108, 108, 111, 0};
)";

std::string ptx(const std::string& body, const std::string& more = "") {
  return kHead + more + R"(
.visible .entry k(.param .u64 p)
{
	.reg .pred %p<4>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .b64 %rd<20>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %tid.x;
	setp.eq.u32 %p1, %r1, 0;
)" + body +
         "\n\tret;\n}\n";
}

const std::vector<std::string> kAll = {"counted", "step", "table", "weights", "where"};

std::string changed(const std::string& body, const std::vector<std::string>& names = kAll) {
  auto text = reach_by_table(ptx(body), names);
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  if (!text.ok()) return "";
  const size_t begin = text->find("setp.eq.u32 %p1, %r1, 0;\n") + 25;
  return text->substr(begin, text->find("\n\tret;") - begin);
}

std::string refusal(const std::string& body, const std::vector<std::string>& names = kAll) {
  return reach_by_table(ptx(body), names).status().to_string();
}

TEST(PtxVariableTable, StandsBehindTheVariablesWithTheirAddresses) {
  auto text = reach_by_table(ptx(""), {"where", "nowhere", "weights"});
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  EXPECT_THAT(*text,
              HasSubstr(".u64 where = generic(table);\n.visible .const .align 8 .u64 __mneme_variables[3] = {generic(where), 0, "
                        "generic(weights)};\n.global .align 1 .b8 $str"));
  EXPECT_EQ(*reach_by_table(ptx(""), {"nowhere"}), ptx("")) << "there is none that it could reach";
}

TEST(PtxVariableTable, AccessesLoadTheAddress) {
  const std::string load = "{ .reg .b64 %mneme_address; ld.const.u64 %mneme_address, [__mneme_variables+";
  EXPECT_EQ(changed("	ld.global.u64 %rd2, [where];"), "\t" + load + "32]; ld.global.u64 %rd2, [%mneme_address]; }");
  EXPECT_EQ(changed("	@!%p1 st.volatile.global.f32 [table+12], %f1;"),
            "\t" + load + "16]; @!%p1 st.volatile.global.f32 [%mneme_address+12], %f1; }");
  EXPECT_EQ(changed("	atom.global.add.u32 %r2, [counted], 1;"),
            "\t" + load + "0]; atom.global.add.u32 %r2, [%mneme_address], 1; }");
  EXPECT_EQ(changed("	st.global.v2.f32 [table], {%f1, %f2};"),
            "\t" + load + "16]; st.global.v2.f32 [%mneme_address], {%f1, %f2}; }");
  EXPECT_EQ(changed("	ld.const.f32 %f1, [weights+12];"), "\t" + load + "24]; ld.global.f32 %f1, [%mneme_address+12]; }");
}

TEST(PtxVariableTable, AddressesAreTakenFromIt) {
  EXPECT_EQ(changed("	mov.u64 %rd2, table;"), "\tld.const.u64 %rd2, [__mneme_variables+16];");
  EXPECT_EQ(changed("	@%p1 mov.b64 %rd2, table+8;"),
            "\t@%p1 ld.const.u64 %rd2, [__mneme_variables+16]; @%p1 add.s64 %rd2, %rd2, 8;");
  EXPECT_EQ(changed("	cvta.global.u64 %rd2, table;"), "\tld.const.u64 %rd2, [__mneme_variables+16];");
  // Those of constant memory are of global memory then, wherever they go.
  EXPECT_EQ(changed("	mov.u64 %rd2, weights;\n	ld.const.v2.f32 {%f1, %f2}, [%rd2+8];\n	cvta.const.u64 %rd3, %rd2;"),
            "\tld.const.u64 %rd2, [__mneme_variables+24];\n\tld.global.v2.f32 {%f1, %f2}, [%rd2+8];\n\tmov.u64 %rd3, %rd2;");
}

TEST(PtxVariableTable, WhatIsNoVariableStays) {
  for (const char* body :
       {"	mov.u64 %rd2, $str; cvta.global.u64 %rd3, %rd2;", "	{ // callseq\n	.param .b64 param0;\n	}",
        "$L__BB0_1:", "	.loc 1 7 step, function_name table, inlined_at 1 7 2", "	// mov.u64 %rd2, table;",
        "	ld.global.f32 %f1, [%rd1];"})
    EXPECT_EQ(changed(body), body);
  EXPECT_EQ(changed("	ld.const.f32 %f1, [%rd2];", {"table"}), "	ld.const.f32 %f1, [%rd2];")
      << "none of the table is in constant memory";
}

TEST(PtxVariableTable, WhatCannotBeChangedIsRefusedWithTheVariable) {
  EXPECT_EQ(refusal("	add.s64 %rd2, %rd2, table;"),
            "unsupported: the PTX reaches the variable 'table' by 'add.s64 %rd2, %rd2, table;', of which that is not known");
  EXPECT_THAT(refusal("	.shared .align 4 .b8 table[4];"), HasSubstr("the PTX reaches the variable 'table' by '.shared"));
  EXPECT_THAT(refusal("	cp.async.ca.shared.global [table], [where], 4;"), HasSubstr("of which that is not known"));
  EXPECT_THAT(refusal("	st.global.f32 [weights], %f1;"), HasSubstr("the PTX reaches the variable 'weights' by"));
  EXPECT_THAT(refusal("	mov.u64 %rd2, table-4;"), HasSubstr("of which that is not known"));
  EXPECT_EQ(refusal("	ld.global.u64 %rd2, [where];", {"table"}), "unsupported: the code has a variable of its own, 'where'");
  EXPECT_EQ(refusal("	isspacep.const %p2, %rd2;"),
            "unsupported: the PTX asks whether an address is in constant memory, where deployed code has none");
  EXPECT_EQ(reach_by_table(ptx("") + ".global .u32 late;\n", {"late"}).status().to_string(),
            "unsupported: the PTX declares the variable 'late' behind code");
}

// nvcc writes none of this, and assemblers take it.
TEST(PtxVariableTable, ADeclarationMayBeOfSeveralVariablesAndHaveAttributesOfTheirOwn) {
  const std::string load = "{ .reg .b64 %mneme_address; ld.const.u64 %mneme_address, [__mneme_variables+";
  const std::string declared =
      ".global .align 4 .u32 first[2] = {1, 2}, second = 3, third;\n"
      ".global .attribute(.unified(1, 2)) .align 4 .u32 unified;\n";
  const auto text = reach_by_table(ptx("	st.global.u32 [third], %r1;\n	st.global.u32 [unified], %r1;", declared),
                                   {"first", "second", "third", "unified"});
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  EXPECT_THAT(*text, HasSubstr("[4] = {generic(first), generic(second), generic(third), generic(unified)};"));
  EXPECT_THAT(*text, HasSubstr(load + "16]; st.global.u32 [%mneme_address], %r1; }"));
  EXPECT_THAT(*text, HasSubstr(load + "24]; st.global.u32 [%mneme_address], %r1; }"));
}

TEST(PtxVariableTable, EveryLoadOfConstantMemoryIsChangedOrRefused) {
  EXPECT_EQ(changed("	ld.weak.const.u32 %r2, [%rd2];"), "	ld.weak.global.u32 %r2, [%rd2];");
  EXPECT_THAT(changed("	ld.global.L1::no_allocate.u64 %rd2, [where];"),
              HasSubstr("32]; ld.global.L1::no_allocate.u64 %rd2, [%mneme_address]; }"));
  EXPECT_EQ(refusal("	ld .const.u32 %r2, [%rd2];"),
            "unsupported: the PTX has 'ld .const.u32 %r2, [%rd2];', of which it is not known what memory that reaches");
  EXPECT_THAT(refusal("	mov .u64 %rd2, table;"), HasSubstr("the PTX reaches the variable 'table' by 'mov .u64 %rd2, table;'"));
  EXPECT_EQ(refusal("	prefetch.const.tensormap [%rd2];"),
            "unsupported: the PTX has 'prefetch.const.tensormap [%rd2];', of which it is not known what memory that reaches");
  EXPECT_EQ(changed("	prefetch.const.tensormap [%rd2];", {"table"}), "	prefetch.const.tensormap [%rd2];")
      << "none of the table is in constant memory";
}

TEST(PtxVariableTable, StateAndNamesOfFunctionsAreRefused) {
  EXPECT_EQ(refusal("	.global .align 4 .u32 counter;"), "unsupported: the code has a variable of its own, 'counter'");
  EXPECT_EQ(reach_by_table(ptx("	st.global.u32 [$own], %r1;", ".global .u32 $own;\n"), kAll).status().to_string(),
            "unsupported: the code has a variable of its own, '$own'");
  EXPECT_EQ(reach_by_table(kHead + ".visible .entry k(.param .u64 table) { ret; }\n", kAll).status().to_string(),
            "unsupported: the PTX has a parameter that is called as the variable 'table'");
}

// Cut anywhere, it is taken apart to its end.
TEST(PtxVariableTable, AnyTextEnds) {
  const std::string whole =
      ptx("	@%p1 st.global.f32 [table+12], %f1;\n	mov.u64 %rd2, weights;", ".section .debug_str { info: .b8 0 }\n");
  for (size_t end = 0; end < whole.size(); ++end) (void)reach_by_table(whole.substr(0, end), kAll);
  EXPECT_TRUE(reach_by_table(whole, kAll).ok());
}

TEST(PtxVariableTable, WhatComesOfItIsAssembled) {
  const auto search = AssemblerSearch::from_environment();
  const auto assembler = find_assembler(search);
  if (!assembler.ok() || (*assembler)->name() == "driver") GTEST_SKIP() << "no PTX assembler but the driver's";
  const ProgramCode code{"k", "sm_90", {}, ptx(R"(
	{
	.reg .b64 %rd<3>;
	mov.u64 %rd2, weights+4;
	}
	ld.const.u32 %r3, [step];
	@%p1 atom.global.add.u32 %r2, [counted], %r3;
	ld.const.f32 %f1, [weights+12];
	mov.u64 %rd3, weights;
	@%p1 ld.const.f32 %f2, [%rd3+4];
	cvta.const.u64 %rd5, %rd3;
	ld.f32 %f6, [%rd5];
	ld.global.u64 %rd4, [where];
	ld.f32 %f3, [%rd4];
	add.f32 %f4, %f1, %f2;
	add.f32 %f5, %f4, %f6;
	st.global.f32 [table], %f5;
	st.global.f32 [%rd1], %f3;)")};
  const auto by_table = mneme::reach_by_table(code, kAll, DeviceKind::cuda);
  ASSERT_TRUE(by_table.ok()) << by_table.status().to_string();
  EXPECT_TRUE(by_table->machine_code.empty());
  const auto translation = take_program_code(*by_table, {}, {}, "sm_90");
  ASSERT_TRUE(translation.ok()) << translation.status().to_string();
  const auto made = create_compiler("sm_90").value()->assemble(*translation);
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  const std::string_view image(reinterpret_cast<const char*>(made->image.bytes.data()), made->image.bytes.size());
  EXPECT_NE(image.find("__mneme_variables"), image.npos) << "by which it is found";
}

TEST(PtxVariableTable, MachineCodeAloneHasNone) {
  EXPECT_EQ(mneme::reach_by_table({"k", "sm_90", ByteVector(4), ""}, {"table"}, DeviceKind::cuda).status().to_string(),
            "unsupported: its machine code reaches variables of its own module, as 'table'");
  EXPECT_EQ(mneme::reach_by_table({"k", "sm_90", {}, ptx("")}, {"table"}, DeviceKind::cpu).status().to_string(),
            "unsupported: its machine code reaches variables of its own module, as 'table'");
}

}  // namespace
}  // namespace mneme::nvptx
