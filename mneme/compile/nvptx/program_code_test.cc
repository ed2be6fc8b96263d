// The program's own code of a kernel: what is taken as it is, what the assembler is given, and what the code says of its launch.
#include "mneme/compile/nvptx/program_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/compile/nvptx/compiler.h"
#include "mneme/compile/nvptx/cubin_facts.h"
#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {
namespace {

using testing::HasSubstr;

// Holds 48 values at once: b[t] = products of a[t + 32 i], and c[t + 32 i] = sums. Beside it is a kernel of another bound.
std::string crowded_ptx(const std::string& directives = "", const std::string& target = "sm_90") {
  std::string text = ".version 8.8\n.target " + target +
                     "\n.address_size 64\n"
                     ".visible .entry crowded_not() .reqntid 7 { ret; }\n"
                     "/* .entry crowded( */\n"
                     ".visible .entry crowded(.param .u64 a, .param .u64 b) // (\n" +
                     directives +
                     "{\n"
                     ".reg .b64 %rd<8>; .reg .f32 %f<64>; .reg .b32 %r<4>;\n"
                     "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;\n"
                     "add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3; mov.f32 %f60, 0f00000000;\n";
  for (int i = 0; i < 48; ++i) text += fmt::format("ld.global.f32 %f{}, [%rd4+{}];\n", i, 128 * i);
  for (int i = 0; i < 48; ++i) text += fmt::format("fma.rn.f32 %f60, %f60, %f{}, %f{};\n", i, 7 * i % 48);
  for (int i = 0; i < 48; ++i) text += fmt::format("st.global.f32 [%rd5+{}], %f{};\n", 128 * i, i);
  return text + "st.global.f32 [%rd5], %f60;\nret;\n}\n";
}

ProgramCode of_ptx(const std::string& ptx) { return {"crowded", "sm_90", {}, ptx}; }

class ProgramCodeTest : public testing::Test {
 protected:
  ProgramCodeTest() : compiler_(std::move(create_compiler("sm_90")).value()) {
    search_ = AssemblerSearch::from_environment();
    const auto assembler = find_assembler(search_);
    makes_code_ = assembler.ok() && (*assembler)->name() != "driver";
  }
  void SetUp() override {
    if (!makes_code_) GTEST_SKIP() << "no PTX assembler but the driver's";
  }

  Result<CompiledCode> run(const ProgramCode& code, const AssemblerOptions& options = {}, const DriverOptions& program = {}) {
    MNEME_ASSIGN(const Translation translation, take_program_code(code, options, program, "sm_90"));
    return compiler_->assemble(translation);
  }
  ByteVector cubin(const std::string& ptx) { return run(of_ptx(ptx)).value().image.bytes; }

  AssemblerSearch search_;
  std::unique_ptr<Compiler> compiler_;
  bool makes_code_ = false;
};

TEST_F(ProgramCodeTest, ACubinIsTakenAsItIs) {
  const ByteVector bytes = cubin(crowded_ptx());
  const ProgramCode code{"crowded", "sm_90", bytes, ""};
  auto taken = run(code);
  ASSERT_TRUE(taken.ok()) << taken.status().to_string();
  EXPECT_EQ(taken->image.bytes, bytes);
  EXPECT_EQ(taken->image.device, DeviceKind::cuda);
  EXPECT_EQ(taken->digest, digest_of(bytes));
  EXPECT_EQ(taken->assembler, "recorded");
  EXPECT_GT(taken->facts.instructions.value_or(0), 100u);
  EXPECT_EQ(run(code, {.level = 1}).status().to_string(),
            "unsupported: assembling 'crowded' for sm_90: its PTX was not recorded");
}

// What a program runs is its cubin, as long as nothing is asked of the assembler.
TEST_F(ProgramCodeTest, PtxIsAssembledWhereSomethingIsAskedOfTheAssemblerOrThereIsNoCubinForTheDevice) {
  ProgramCode code{"crowded", "sm_90", cubin(crowded_ptx()), crowded_ptx()};
  EXPECT_EQ(run(code)->assembler, "recorded");
  auto assembled = run(code, {.level = 1});
  ASSERT_TRUE(assembled.ok()) << assembled.status().to_string();
  EXPECT_NE(assembled->assembler, "recorded");
  EXPECT_NE(assembled->digest, digest_of(code.machine_code));
  EXPECT_NE(assembled->translation_digest, run(code)->translation_digest);
  code.architecture = "sm_80";
  EXPECT_NE(run(code)->assembler, "recorded");
  code.assembly.clear();
  EXPECT_EQ(run(code)->assembler, "recorded") << "whether it runs is for the driver to say";
}

TEST_F(ProgramCodeTest, PtxForTheDevicesOwnFeaturesIsAssembledForThem) {
  EXPECT_EQ(take_program_code(of_ptx(crowded_ptx("", "sm_90a")), {}, {}, "sm_90")->architecture, "sm_90a");
  EXPECT_EQ(take_program_code(of_ptx(crowded_ptx("", "sm_80")), {}, {}, "sm_90")->architecture, "sm_90");
  EXPECT_TRUE(run(of_ptx(crowded_ptx("", "sm_90a"))).ok());
}

// Assemblers ignore -maxrregcount for a kernel with bounds of its own, without a word.
TEST_F(ProgramCodeTest, ACapOnRegistersHoldsForKernelsWithBoundsToo) {
  for (const char* directives : {"", ".reqntid 128, 1, 1\n", ".maxntid 128\n.minnctapersm 1\n", ".maxnreg 64\n.maxntid 128\n"}) {
    const auto free = run(of_ptx(crowded_ptx(directives))), capped = run(of_ptx(crowded_ptx(directives)), {.max_registers = 32});
    ASSERT_TRUE(free.ok() && capped.ok()) << directives << capped.status().to_string();
    EXPECT_GT(free->facts.registers.value_or(0), 40u) << directives;
    EXPECT_LE(capped->facts.registers.value_or(99), 32u) << directives;
  }
  EXPECT_EQ(run(of_ptx(crowded_ptx()), {.max_registers = 10}).status().to_string(),
            "invalid_argument: assembler.max_registers is 10, fewer than the 24 registers that the calling convention needs on "
            "sm_90: ask for 24 to 255, or leave it out");
}

TEST_F(ProgramCodeTest, PtxIsAssembledAsTheProgramHadItAssembled) {
  const ProgramCode code = of_ptx(crowded_ptx());
  const auto plain = run(code), capped = run(code, {}, {{"max_registers", "32"}});
  ASSERT_TRUE(plain.ok() && capped.ok()) << capped.status().to_string();
  EXPECT_GT(plain->facts.registers.value_or(0), 40u);
  EXPECT_LE(capped->facts.registers.value_or(99), 32u);
  EXPECT_NE(capped->translation_digest, plain->translation_digest) << "by which code is kept";
  const auto same = [&](const DriverOptions& program, const AssemblerOptions& asked) {
    const auto one = run(code, {}, program), other = run(code, asked);
    EXPECT_TRUE(one.ok()) << one.status().to_string();
    return one.ok() && one->digest == other->digest;
  };
  EXPECT_TRUE(same({{"optimization_level", "1"}}, {.level = 1}));
  EXPECT_TRUE(same({{"cache_mode", "1"}}, {.load_cache = LoadCache::cg}));
  EXPECT_TRUE(same({{"cache_mode", "2"}}, {.load_cache = LoadCache::ca}));
  EXPECT_TRUE(same({{"cache_mode", "0"}, {"max_registers", "0"}, {"override_directive_values", "0"}}, {}));
  EXPECT_TRUE(
      same({{"max_threads_per_block", "1024"}, {"min_cta_per_sm", "2"}}, {.options = {"-maxntid=1024", "-minnctapersm=2"}}));
  EXPECT_TRUE(same({{"threads_per_block", "64"}, {"target", "90"}}, {})) << "assemblers have no such options";
  EXPECT_TRUE(run(code, {}, {{"position_independent_code", "1"}}).ok());
  EXPECT_NE(run(code, {}, {{"generate_debug_info", "1"}})->digest, plain->digest);
}

TEST_F(ProgramCodeTest, WhatIsAskedOfTheAssemblerGoesBeforeTheProgramsOptions) {
  const auto registers = [&](const AssemblerOptions& asked, const DriverOptions& program, const std::string& directives = "") {
    return run(of_ptx(crowded_ptx(directives)), asked, program)->facts.registers.value_or(0);
  };
  EXPECT_GT(registers({.max_registers = 128}, {{"max_registers", "32"}}), 40u);
  EXPECT_LE(registers({.max_registers = 32}, {{"max_registers", "128"}}), 32u);
  EXPECT_GT(registers({}, {{"max_registers", "32"}}, ".maxntid 128\n"), 40u) << "as the driver ignores it";
  EXPECT_LE(registers({}, {{"max_registers", "32"}, {"override_directive_values", "1"}}, ".maxntid 128\n"), 32u);
}

TEST_F(ProgramCodeTest, TheBlockThatAKernelRequiresStandsInPtxAndInACubin) {
  const struct {
    const char* directives;
    std::optional<Dim3> block;
  } cases[] = {{"", {}},
               {".maxntid 64\n", {}},
               {".reqntid 128\n", Dim3{128, 1, 1}},
               {".maxntid 512, 1, 1\n.reqntid 32, 4\n", Dim3{32, 4, 1}},
               {".reqntid 8, 4, 2\n.maxnreg 32\n", Dim3{8, 4, 2}}};
  for (const auto& [directives, block] : cases) {
    EXPECT_EQ(required_block(of_ptx(crowded_ptx(directives))), block) << directives;
    if (std::string_view(directives).find(".maxntid 512") != std::string_view::npos) continue;  // ptxas takes one of the two
    EXPECT_EQ(required_block(ProgramCode{"crowded", "sm_90", cubin(crowded_ptx(directives)), ""}), block) << directives;
  }
  const ByteVector bytes = cubin(crowded_ptx());
  EXPECT_EQ(required_block(bytes, "crowded_not"), (Dim3{7, 1, 1}));
  EXPECT_EQ(required_block(bytes, "missing"), std::nullopt);
}

// Whatever an image holds, reading it stays within its bytes.
TEST_F(ProgramCodeTest, DamagedCubinsSayNothing) {
  const ByteVector bytes = cubin(crowded_ptx(".reqntid 128\n"));
  for (size_t size = 0; size < bytes.size(); size += 97) [[maybe_unused]]
    auto ignored = required_block(ByteSpan(bytes).first(size), "crowded");
  for (size_t at = 0; at < bytes.size(); at += 3) {
    ByteVector damaged = bytes;
    damaged[at] ^= std::byte{0xff};
    [[maybe_unused]] auto block = required_block(damaged, "crowded");
    [[maybe_unused]] auto count = count_instructions(damaged, "crowded");
  }
  EXPECT_EQ(required_block(ByteSpan(), "crowded"), std::nullopt);
}

TEST(EntryDirectives, AreFoundBetweenParametersAndBody) {
  EXPECT_FALSE(find_directives("", "k"));
  EXPECT_FALSE(find_directives(".entry other() { }", "k"));
  EXPECT_FALSE(find_directives(".entry k();", "k")) << "a declaration";
  EXPECT_FALSE(find_directives(".entry k(", "k"));
  EXPECT_FALSE(find_directives(".entry k /* .reqntid 3", "k"));
  EXPECT_TRUE(find_directives(".entry k { ret; }", "k"));
  EXPECT_FALSE(find_directives(".entry k { ret; }", "k")->bounded);
  EXPECT_TRUE(find_directives(".entry k() .maxnreg 3 { ret; }", "k")->bounded);
  EXPECT_EQ(find_directives(".entry k(.param .align 8 .b8 p[16]) // .reqntid 5\n .reqntid 3 { }", "k")->required_block,
            (Dim3{3, 1, 1}));
}

TEST(EntryDirectives, ACapTakesThePlaceOfAnother) {
  const auto capped = [](std::string_view ptx) { return with_register_cap(ptx, *find_directives(ptx, "k"), 40); };
  EXPECT_EQ(capped(".entry k() .reqntid 3 { ret; }"), ".entry k() .reqntid 3\n.maxnreg 40 { ret; }");
  EXPECT_EQ(capped(".entry k() .maxnreg 64 .reqntid 3 { ret; }"), ".entry k() .maxnreg 40 .reqntid 3 { ret; }");
  EXPECT_EQ(capped(".entry k { .maxnreg 1 }"), ".entry k\n.maxnreg 40 { .maxnreg 1 }");
}

TEST(ProgramCode, PtxWithoutTheKernelIsRefused) {
  EXPECT_EQ(take_program_code({"k", "sm_90", {}, ".entry other { }"}, {}, {}, "sm_90").status().to_string(),
            "invalid_argument: assembling 'k' for sm_90: the recorded PTX has no such kernel");
}

TEST(ProgramCode, RunsOnCudaDevicesAlone) {
  EXPECT_TRUE(runs_program_code(DeviceKind::cuda));
  for (DeviceKind kind : {DeviceKind::cpu, DeviceKind::fake}) EXPECT_FALSE(runs_program_code(kind));
  EXPECT_EQ(translate_program_code({"k", "sm_90", {}, ".entry k { }"}, {}, {}, DeviceKind::cpu, "x86-64-v3").status().to_string(),
            "unsupported: the CPU device does not run the program's own code of 'k', which as-built is: name a pipeline");
}

}  // namespace
}  // namespace mneme::nvptx
