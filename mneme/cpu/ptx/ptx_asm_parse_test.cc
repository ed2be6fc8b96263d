#include <gtest/gtest.h>

#include "mneme/cpu/ptx/ptx_asm.h"

namespace mneme::ptx {
namespace {

Program parsed(std::string_view text) {
  Result<Program> program = parse(text, 7);
  EXPECT_TRUE(program.ok()) << program.status().to_string();
  return program.ok() ? std::move(program).value() : Program();
}
const Instruction& only(const Program& program) { return program.statements.at(0).instruction; }

TEST(PtxParse, OpcodeModifiersAndOperands) {
  Program program = parsed("cvt.rn.f16x2.f32 $0, $1, ${2:x};");
  EXPECT_EQ(only(program).opcode, "cvt");
  EXPECT_EQ(only(program).modifiers, (std::vector<std::string>{"rn", "f16x2", "f32"}));
  EXPECT_EQ(only(program).spelling(), "cvt.rn.f16x2.f32");
  ASSERT_EQ(only(program).operands.size(), 3u);
  EXPECT_EQ(only(program).operands[2].kind, Operand::Kind::argument);
  EXPECT_EQ(only(program).operands[2].index, 2u);
}

TEST(PtxParse, ModifiersWithColonsAndDigits) {
  Program program = parsed("ld.global.L1::no_allocate.L2::128B.v4.u32 {$0,$1,$2,$3}, [$4+16];");
  EXPECT_EQ(only(program).modifiers, (std::vector<std::string>{"global", "L1::no_allocate", "L2::128B", "v4", "u32"}));
  EXPECT_EQ(only(program).operands[0].elements.size(), 4u);
  EXPECT_EQ(only(program).operands[1].offset, 16);
}

TEST(PtxParse, Immediates) {
  Program program = parsed("x 42, -1, 0x1F, 017, 0b101, 7U, 0f3F800000, 0d4000000000000000, 1.5, -2.0, WARP_SZ, ~0;");
  std::vector<uint64_t> bits;
  for (const Operand& operand : only(program).operands) bits.push_back(operand.bits);
  EXPECT_EQ(bits, (std::vector<uint64_t>{42, ~uint64_t{0}, 0x1f, 15, 5, 7, 0x3f800000, 0x4000000000000000, 0x3ff8000000000000,
                                         0xc000000000000000, 32, ~uint64_t{0}}));
  const Program more = parsed("x -0F3F800000, 7u, 1.5e+3, 15E-1;");
  bits.clear();
  for (const Operand& operand : only(more).operands) bits.push_back(operand.bits);
  EXPECT_EQ(bits, (std::vector<uint64_t>{0xbf800000, 7, 0x4097700000000000, 0x3ff8000000000000}));
  EXPECT_EQ(only(program).operands[6].kind, Operand::Kind::real32);
  EXPECT_EQ(only(program).operands[7].kind, Operand::Kind::real64);
}

TEST(PtxParse, RegistersHideThoseOfOuterScopes) {
  Program program = parsed("{ .reg .b32 a, r<3>; mov.b32 a, 1; { .reg .pred %a, a; mov.pred a, %a; } mov.b32 a, r2; }");
  ASSERT_EQ(program.registers.size(), 6u);
  EXPECT_EQ(program.statements[0].instruction.operands[0].index, 0u);
  EXPECT_EQ(program.statements[1].instruction.operands[0].index, 5u);
  EXPECT_EQ(program.statements[1].instruction.operands[1].index, 4u);
  EXPECT_EQ(program.registers[5].type, kPredicate);
  EXPECT_EQ(program.statements[2].instruction.operands[0].index, 0u);
  EXPECT_EQ(program.registers[program.statements[2].instruction.operands[1].index].name, "r2");
}

TEST(PtxParse, GuardsLabelsAndBranches) {
  Program program = parsed("{ .reg .pred p; L_${:uid}: @!p bra.uni L_${:uid}; bra $$done; $$done: }");
  ASSERT_EQ(program.labels, (std::vector<std::string>{"L_7", "$done"}));
  EXPECT_EQ(program.statements[0].label, 0u);
  EXPECT_TRUE(program.statements[1].instruction.guard->inverted);
  EXPECT_EQ(program.statements[1].instruction.operands[0].kind, Operand::Kind::label);
  EXPECT_TRUE(program.has_control_flow());
  EXPECT_TRUE(program.branches_back());
  EXPECT_FALSE(parsed("bra a; a:").branches_back());
  EXPECT_FALSE(parsed("add.u32 $0, $1, $2;").has_control_flow());
}

TEST(PtxParse, PairsSinksSpecialRegistersAndAddresses) {
  Program program = parsed("setp.lt.s32 p|_, !$1, %tid.x; ld.shared.u32 $0, [$1 + 4 + $2]; st.b32 [64], %laneid");
  const Instruction& setp = program.statements[0].instruction;
  EXPECT_EQ(setp.operands[0].kind, Operand::Kind::pair);
  EXPECT_EQ(setp.operands[0].elements[1].kind, Operand::Kind::sink);
  EXPECT_TRUE(setp.operands[1].inverted);
  EXPECT_EQ(setp.operands[2].name, "tid.x");
  const Operand& address = program.statements[1].instruction.operands[1];
  EXPECT_EQ(address.elements.size(), 2u);
  EXPECT_EQ(address.offset, 4);
  EXPECT_EQ(program.statements[2].instruction.operands[0].offset, 64);
  EXPECT_EQ(program.statements[2].instruction.operands[1].name, "laneid");
}

TEST(PtxParse, CommentsAndAdviceAreNothing) {
  EXPECT_TRUE(parsed("// add\n/* sub.u32; */ .pragma \"nounroll\"; ;;").statements.empty());
  EXPECT_EQ(only(parsed("// add\nsub.u32 $0, $1, $2; // and\n")).opcode, "sub");
}

std::string failure(std::string_view text) { return parse(text).status().to_string(); }

TEST(PtxParse, SaysWhatWasExpectedAndWhere) {
  EXPECT_EQ(failure("add.u32 $0 $1;"), "invalid_argument: inline PTX 'add.u32 $0 $1': ',' expected");
  EXPECT_EQ(failure("mov.u32 $0, 1; ld.u32 $0, [$1;"), "invalid_argument: inline PTX 'ld.u32 $0, [$1;': ']' expected");
  EXPECT_EQ(failure("{ mov.u32 $0, 1;"), "invalid_argument: inline PTX '{ mov.u32 $0, 1;': no '}' for a '{'");
  EXPECT_EQ(failure("a: a:"), "invalid_argument: inline PTX 'a': a label that stands twice");
  EXPECT_EQ(failure("mov.u32 $0, 0f12;"), "invalid_argument: inline PTX 'mov.u32 $0, 0f12;': a malformed float at offset 12");
  EXPECT_EQ(failure("mov.u32 $0, #;"), "invalid_argument: inline PTX 'mov.u32 $0, #;': an unexpected character at offset 12");
  EXPECT_EQ(failure(".shared .b32 x;"),
            "unsupported: inline PTX '.shared': of the directives only .reg is available on the CPU device");
}

TEST(PtxParse, TypesHaveTheirWidths) {
  EXPECT_EQ(parse_type("bf16x2")->total_bits(), 32u);
  EXPECT_EQ(parse_type("e4m3x2")->total_bits(), 16u);
  EXPECT_EQ(parse_type("pred")->total_bits(), 1u);
  EXPECT_FALSE(parse_type("v2"));
}

}  // namespace
}  // namespace mneme::ptx
