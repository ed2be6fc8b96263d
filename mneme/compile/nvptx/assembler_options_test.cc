// What the knobs of the assembler do to the code, and what is told of the code, by each assembler. No GPU is needed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/Object/ELFObjectFile.h>

#include <cstring>
#include <set>

#include "mneme/compile/nvptx/architecture.h"
#include "mneme/compile/nvptx/compiler.h"
#include "mneme/compile/nvptx/cubin_facts.h"
#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {
namespace {

using testing::HasSubstr;

// Holds 48 values at once: b[t] = products of a[t + 32 i], and c[t + 32 i] = sums.
std::string crowded_ptx(const std::string& target = "sm_90", const std::string& body = "") {
  std::string text = ".version 8.8\n.target " + target +
                     "\n.address_size 64\n"
                     ".visible .entry crowded(.param .u64 a, .param .u64 b) {\n"
                     ".reg .b64 %rd<8>; .reg .f32 %f<64>; .reg .b32 %r<4>;\n"
                     "ld.param.u64 %rd1, [a]; ld.param.u64 %rd2, [b]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 4;\n"
                     "add.u64 %rd4, %rd1, %rd3; add.u64 %rd5, %rd2, %rd3; mov.f32 %f60, 0f00000000;\n" +
                     body;
  for (int i = 0; i < 48; ++i) text += fmt::format("ld.global.f32 %f{}, [%rd4+{}];\n", i, 128 * i);
  for (int i = 0; i < 48; ++i) text += fmt::format("fma.rn.f32 %f60, %f60, %f{}, %f{};\n", i, 7 * i % 48);
  for (int i = 0; i < 48; ++i) text += fmt::format("st.global.f32 [%rd5+{}], %f{};\n", 128 * i, i);
  return text + "st.global.f32 [%rd5], %f60;\nret;\n}\n";
}

class AssemblerOptionsOf : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    AssemblerSearch search = AssemblerSearch::from_environment();
    search.only = GetParam();
    if (auto found = find_assembler(search); !found.ok()) GTEST_SKIP() << found.status().message();
    auto created = create_compiler("sm_90", search);
    ASSERT_TRUE(created.ok()) << created.status().to_string();
    compiler_ = std::move(*created);
  }

  Result<CompiledCode> assemble(const AssemblerOptions& options, const std::string& ptx = crowded_ptx(),
                                const std::string& architecture = "sm_90") {
    Translation translation;
    translation.code = ptx;
    translation.architecture = architecture;
    translation.assembler = options;
    translation.kernels = {"crowded"};
    return compiler_->assemble(translation);
  }
  CompiledCode code(const AssemblerOptions& options) {
    auto assembled = assemble(options);
    EXPECT_TRUE(assembled.ok()) << assembled.status().to_string();
    return assembled.ok() ? std::move(*assembled) : CompiledCode();
  }
  std::string refusal(const AssemblerOptions& options) { return assemble(options).status().to_string(); }

  // A digest of the machine code, without what else is in the file.
  static std::string instructions(const CompiledCode& code);

  std::unique_ptr<Compiler> compiler_;
};
INSTANTIATE_TEST_SUITE_P(By, AssemblerOptionsOf, testing::Values("nvptxcompiler", "nvjitlink", "ptxas"),
                         [](const auto& info) { return std::string(info.param); });

std::string AssemblerOptionsOf::instructions(const CompiledCode& code) {
  auto file = llvm::object::ELFFile<llvm::object::ELF64LE>::create(
      {reinterpret_cast<const char*>(code.image.bytes.data()), code.image.bytes.size()});
  if (!file) return llvm::toString(file.takeError());
  for (const auto& section : llvm::cantFail(file->sections())) {
    if (llvm::cantFail(file->getSectionName(section)) != ".text.crowded") continue;
    auto bytes = llvm::cantFail(file->getSectionContents(section));
    return digest_of(std::as_bytes(std::span(bytes.data(), bytes.size()))).hex();
  }
  return "";
}

TEST_P(AssemblerOptionsOf, TellsWhatIsKnownOfTheCode) {
  const CompiledCode whole = code({});
  EXPECT_GE(whole.facts.registers.value_or(0), 48u);
  EXPECT_EQ(whole.facts.spill_stores, Bytes(0));
  EXPECT_EQ(whole.facts.spill_loads, Bytes(0));
  EXPECT_EQ(whole.facts.stack_frame, Bytes(0));
  EXPECT_EQ(whole.facts.static_shared_memory, Bytes(0));
  // 48 loads, 48 multiplications, 49 stores of which one overwrites another, and an end; addresses beside them.
  EXPECT_GE(whole.facts.instructions.value_or(0), 48u + 48u + 48u + 1u);
  EXPECT_LE(whole.facts.instructions.value_or(0), 200u);
  EXPECT_TRUE(whole.warnings.empty()) << whole.warnings[0];
}

TEST_P(AssemblerOptionsOf, ARegisterCapSpills) {
  const CompiledCode capped = code({.max_registers = 32});
  EXPECT_LE(capped.facts.registers.value_or(99), 32u);
  EXPECT_GT(capped.facts.spill_stores.value_or(Bytes()).count, 0u);
  EXPECT_GT(capped.facts.spill_loads.value_or(Bytes()).count, 0u);
  EXPECT_GT(capped.facts.stack_frame.value_or(Bytes()).count, 0u);
  EXPECT_GT(capped.facts.instructions, code({}).facts.instructions);
}

TEST_P(AssemblerOptionsOf, ARegisterCapThatIsNotFollowedIsRefusedInTheToolsWords) {
  EXPECT_EQ(
      refusal({.max_registers = 4}),
      fmt::format("invalid_argument: assembling PTX for sm_90 by {}: assembler.max_registers is 4: ptxas warning : For profile "
                  "sm_90 adjusting per thread register count of 4 to lower bound of 24",
                  GetParam()));
  EXPECT_EQ(
      refusal({.max_registers = 300}),
      fmt::format("invalid_argument: assembling PTX for sm_90 by {}: assembler.max_registers is 300: ptxas warning : Too big "
                  "maxrregcount value specified 300, will be ignored",
                  GetParam()));
}

TEST_P(AssemblerOptionsOf, ACapAmongTheOptionsIsNoOther) {
  const std::string through = std::string(GetParam()) == "nvjitlink" ? "-Xptxas=" : "";
  EXPECT_EQ(refusal({.options = {through + "-maxrregcount=4"}}),
            fmt::format("invalid_argument: assembling PTX for sm_90 by {}: assembler.options: ptxas warning : For profile sm_90 "
                        "adjusting per thread register count of 4 to lower bound of 24",
                        GetParam()));
}

// What is refused before there is PTX is what the assemblers do not follow, and no more.
TEST_P(AssemblerOptionsOf, TheFewestAndMostRegistersAreTheAssemblers) {
  for (const char* architecture : {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}) {
    auto warnings = [&](uint32_t registers) {
      const std::string target = std::string(architecture) == "sm_120" ? "sm_100" : architecture;
      std::string ptx = crowded_ptx(target);
      ptx.replace(ptx.find(") {"), 3, fmt::format(")\n.maxnreg {}\n{{", registers));
      auto made = assemble({}, ptx, architecture);
      EXPECT_TRUE(made.ok()) << made.status().to_string();
      return made.ok() ? made->warnings.size() : 99;
    };
    EXPECT_EQ(warnings(kFewestRegisters - 1), 1u) << architecture;
    EXPECT_EQ(warnings(kFewestRegisters), 0u) << architecture;
    EXPECT_EQ(warnings(kMostRegisters), 0u) << architecture;
    EXPECT_EQ(warnings(2 * kMostRegisters), 1u) << architecture;
  }
}

TEST_P(AssemblerOptionsOf, LevelsMakeOtherCode) {
  const std::string usual = instructions(code({}));
  EXPECT_EQ(instructions(code({.level = 3})), usual);
  EXPECT_NE(instructions(code({.level = 0})), usual);
  EXPECT_GT(code({.level = 0}).facts.instructions, code({.level = 3}).facts.instructions);
  for (unsigned level : {1u, 2u, 4u}) EXPECT_FALSE(instructions(code({.level = level})).empty()) << level;
}

TEST_P(AssemblerOptionsOf, CacheOperatorsMakeOtherCode) {
  std::set<std::string> loads{instructions(code({}))}, stores = loads;
  for (LoadCache cache : {LoadCache::ca, LoadCache::cg, LoadCache::cs, LoadCache::lu, LoadCache::cv})
    loads.insert(instructions(code({.load_cache = cache})));
  for (StoreCache cache : {StoreCache::wb, StoreCache::cg, StoreCache::cs, StoreCache::wt})
    stores.insert(instructions(code({.store_cache = cache})));
  // Not all: on some architectures two of them are one instruction.
  EXPECT_GE(loads.size(), 5u);
  EXPECT_GE(stores.size(), 4u);
}

TEST_P(AssemblerOptionsOf, OptionsGoToTheToolAsTheyAre) {
  const bool linker = std::string(GetParam()) == "nvjitlink";
  const std::string through = linker ? "-Xptxas=" : "";
  EXPECT_EQ(instructions(code({.options = {through + "-dlcm=cv"}})), instructions(code({.load_cache = LoadCache::cv})));
  const CompiledCode warned = code({.options = {through + "--warn-on-spills"}, .max_registers = 32});
  ASSERT_EQ(warned.warnings.size(), 1u);
  EXPECT_THAT(warned.warnings[0], HasSubstr("Registers are spilled to local memory in function 'crowded'"));

  auto refused = assemble({.options = {"--no-such-thing"}});
  EXPECT_EQ(refused.status().code(), Code::incompatible);
  EXPECT_THAT(refused.status().message(),
              testing::AnyOf(HasSubstr("Unknown option '-no-such-thing'"), HasSubstr("unrecognized option: --no-such-thing")));
  EXPECT_THAT(refused.status().message(), testing::StartsWith("assembling PTX for sm_90 by "));
}

TEST_P(AssemblerOptionsOf, OtherArchitecturesHaveFactsToo) {
  for (const char* architecture : {"sm_80", "sm_90a", "sm_100", "sm_120a"}) {
    const std::string target = std::string(architecture).starts_with("sm_1") ? "sm_100" : architecture;
    const bool newer = target == "sm_100" && std::string(architecture) == "sm_120a";
    auto made = assemble({}, crowded_ptx(newer ? "sm_90" : target), architecture);
    ASSERT_TRUE(made.ok()) << architecture << ": " << made.status().to_string();
    EXPECT_GE(made->facts.instructions.value_or(0), 145u) << architecture;
    EXPECT_LE(made->facts.instructions.value_or(0), 210u) << architecture;
    EXPECT_GE(made->facts.registers.value_or(0), 48u) << architecture;
    EXPECT_EQ(made->facts.spill_stores, Bytes(0)) << architecture;
  }
}

TEST_P(AssemblerOptionsOf, SharedMemoryIsAFact) {
  auto made = assemble({}, crowded_ptx("sm_90", ".shared .align 4 .b8 room[4096];\nst.shared.f32 [room], %f60;\n"));
  ASSERT_TRUE(made.ok()) << made.status().to_string();
  EXPECT_EQ(made->facts.static_shared_memory, Bytes(4096));
}

TEST(AssemblerOptions, TheDriverIsToldWhenItLoads) {
  AssemblerSearch search;
  auto driver = find_assembler(search).value();
  auto assembled = driver->assemble(
      {.ptx = crowded_ptx(), .architecture = "sm_90", .options = {.level = 2, .max_registers = 40, .load_cache = LoadCache::cg}});
  ASSERT_TRUE(assembled.ok()) << assembled.status().to_string();
  EXPECT_EQ(assembled->image.jit, (JitOptions{.level = 2, .max_registers = 40, .load_cache = JitOptions::LoadCache::cg}));
}

TEST(AssemblerOptions, WhatTheDriverDoesNotHaveIsRefusedByName) {
  auto driver = find_assembler({}).value();
  auto refusal = [&](AssemblerOptions options) {
    return driver->assemble({.ptx = "", .architecture = "sm_90", .options = std::move(options)}).status().to_string();
  };
  const std::string advice = ": leave it out, or let another assemble (MNEME_PTX_ASSEMBLER: nvptxcompiler, nvjitlink or ptxas)";
  EXPECT_EQ(refusal({.options = {"-w"}}),
            "unsupported: assembler.options: the driver's own assembler takes no options as text" + advice);
  EXPECT_EQ(refusal({.store_cache = StoreCache::cg}),
            "unsupported: assembler.store_cache: the driver's own assembler takes no cache operator for stores" + advice);
  EXPECT_EQ(refusal({.load_cache = LoadCache::cv}),
            "unsupported: assembler.load_cache: the driver's own assembler takes ca and cg alone" + advice);
}

TEST(CubinFacts, OfWhatIsNoCubinNothingIsKnown) {
  EXPECT_EQ(read_facts({}, "", "k"), CodeFacts());
  const ByteVector noise(400, std::byte{0x7f});
  EXPECT_EQ(read_facts(noise, "", "k"), CodeFacts());
}

TEST(CubinFacts, SpillsOfCalledFunctionsCount) {
  const CodeFacts facts =
      read_facts({},
                 "ptxas info    : Function properties for helper\n"
                 "    16 bytes stack frame, 20 bytes spill stores, 12 bytes spill loads\n"
                 "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
                 "ptxas info    : Function properties for k\n"
                 "    64 bytes stack frame, 100 bytes spill stores, 200 bytes spill loads\n"
                 "ptxas info    : Used 32 registers, used 0 barriers, 80 bytes cumulative stack size, 48 bytes smem\n",
                 "k");
  EXPECT_EQ(facts.stack_frame, Bytes(80));
  EXPECT_EQ(facts.spill_stores, Bytes(120));
  EXPECT_EQ(facts.spill_loads, Bytes(212));
  EXPECT_EQ(facts.registers, 32u);
  EXPECT_EQ(facts.static_shared_memory, Bytes(48));
}

// A cubin with a section of code for each name, whose instructions are these numbers.
ByteVector cubin_of(const std::vector<std::pair<std::string, std::vector<uint64_t>>>& sections) {
  using Elf = llvm::object::ELF64LE;
  std::string names = std::string(1, '\0') + ".shstrtab" + '\0', contents;
  std::vector<Elf::Shdr> headers(2);
  for (Elf::Shdr& header : headers) std::memset(&header, 0, sizeof header);
  for (const auto& [name, operations] : sections) {
    Elf::Shdr& header = headers.emplace_back();
    std::memset(&header, 0, sizeof header);
    header.sh_name = static_cast<uint32_t>(names.size());
    header.sh_type = llvm::ELF::SHT_PROGBITS;
    header.sh_offset = sizeof(Elf::Ehdr) + contents.size();
    header.sh_size = 16 * operations.size();
    names += name + '\0';
    for (uint64_t operation : operations) {
      const uint64_t words[] = {operation, 0};
      contents.append(reinterpret_cast<const char*>(words), sizeof words);
    }
  }
  headers[1].sh_name = 1;
  headers[1].sh_type = llvm::ELF::SHT_STRTAB;
  headers[1].sh_offset = sizeof(Elf::Ehdr) + contents.size();
  headers[1].sh_size = names.size();
  contents += names;
  contents.resize((contents.size() + 7) / 8 * 8);
  Elf::Ehdr file;
  std::memset(&file, 0, sizeof file);
  std::memcpy(file.e_ident,
              "\x7f"
              "ELF\x02\x01\x01",
              7);
  file.e_shoff = sizeof file + contents.size();
  file.e_shentsize = sizeof(Elf::Shdr);
  file.e_shnum = static_cast<uint16_t>(headers.size());
  file.e_shstrndx = 1;
  ByteVector result;
  const auto add = [&](const void* from, size_t size) {
    const auto* begin = static_cast<const std::byte*>(from);
    result.insert(result.end(), begin, begin + size);
  };
  add(&file, sizeof file);
  add(contents.data(), contents.size());
  add(headers.data(), headers.size() * sizeof(Elf::Shdr));
  return result;
}

TEST(CubinFacts, InstructionsAreCountedWithoutTheEndsOfFunctions) {
  constexpr uint64_t kSome = 0x123, kNop = 0x918, kBranch = 0x947;
  const ByteVector cubin = cubin_of({{".text.k", {kSome, 0x7000 + kSome, kBranch, kNop, kNop}},
                                     {".nv.info", {kSome, kSome}},
                                     {".text.helper", {kNop, kBranch, kBranch}}});
  EXPECT_EQ(read_facts(cubin, "", "k").instructions, 4u);
  EXPECT_EQ(read_facts(cubin, "", "other").instructions, std::nullopt);
}

TEST(CubinFacts, AFrameIsThatOfTheKernelWhoseWholeNameItIs) {
  const std::string log =
      "ptxas info    : Function properties for k\n    64 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
      "ptxas info    : Function properties for ask\n    16 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n";
  EXPECT_EQ(read_facts({}, log, "k").stack_frame, Bytes(64));
}

TEST(CubinFacts, WarningsAreWrittenInTwoWays) {
  EXPECT_THAT(read_warnings("ptxas info    : well\nptxas warning : one\nnvJitLink warning: two\nthree"),
              testing::ElementsAre("ptxas warning : one", "nvJitLink warning: two"));
}

TEST(Architecture, IsMadeOfTwoDigitsOrMore) {
  EXPECT_FALSE(runs_on("sm_9", "sm_9"));
  EXPECT_TRUE(runs_on("sm_90", "sm_90"));
  EXPECT_TRUE(runs_on("sm_100f", "sm_103"));
}

TEST(PtxasArguments, TheLevelIsTheHighestWhereNoneIsGiven) {
  EXPECT_THAT(ptxas_arguments({.ptx = "", .architecture = "sm_90"}), testing::Contains("-O3"));
  EXPECT_THAT(ptxas_arguments({.ptx = "", .architecture = "sm_90", .options = {.level = 1}}), testing::Contains("-O1"));
}

}  // namespace
}  // namespace mneme::nvptx
