#include "mneme/compile/nvptx/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/Object/ELFObjectFile.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/compile/nvptx/nvjitlink.h"
#include "mneme/compile/nvptx/ptx_codegen.h"
#include "mneme/compile/nvptx/ptxas.h"
#include "mneme/ir/access.h"

namespace mneme::nvptx {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr const char* kHeader =
    "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n"
    "target triple = \"nvptx64-nvidia-cuda\"\n";

// a[i] += table[i % 16] * b[i], with a __constant__ table that the host fills and a counter of the device.
constexpr const char* kVectorAdd = R"(
@table = addrspace(4) externally_initialized constant [16 x float] zeroinitializer, align 4
@counter = addrspace(1) externally_initialized global i32 5, align 4
@primes = internal addrspace(1) constant [4 x i32] [i32 2, i32 3, i32 5, i32 7], align 4
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
define internal float @product(float %x, float %y) noinline optnone #0 {
  %p = fmul contract float %x, %y
  ret float %p
}
define ptx_kernel void @vector_add(ptr %a, ptr %b, i32 %n) #0 {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %base = mul i32 %c, %d
  %i = add i32 %base, %t
  %in = icmp slt i32 %i, %n
  br i1 %in, label %body, label %done
body:
  %k = and i32 %i, 15
  %e = getelementptr [16 x float], ptr addrspacecast (ptr addrspace(4) @table to ptr), i32 0, i32 %k
  %f = load float, ptr %e
  %pb = getelementptr float, ptr %b, i32 %i
  %vb = load float, ptr %pb
  %m = call contract float @product(float %f, float %vb)
  %pa = getelementptr float, ptr %a, i32 %i
  %va = load float, ptr %pa
  %s = fadd contract float %m, %va
  store float %s, ptr %pa
  %j = and i32 %i, 3
  %q = getelementptr [4 x i32], ptr addrspacecast (ptr addrspace(1) @primes to ptr), i32 0, i32 %j
  %prime = load i32, ptr %q
  %count = load i32, ptr addrspacecast (ptr addrspace(1) @counter to ptr)
  %more = add i32 %count, %prime
  store i32 %more, ptr addrspacecast (ptr addrspace(1) @counter to ptr)
  br label %done
done:
  ret void
}
attributes #0 = { convergent "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
)";

ir::Module parse(const std::string& body) {
  const std::string text = kHeader + body;
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return std::move(module).value();
}

AssemblerSearch only(const std::string& assembler) {
  AssemblerSearch search = AssemblerSearch::from_environment();
  search.only = assembler;
  return search;
}

std::unique_ptr<Compiler> compiler(const std::string& assembler, const std::string& architecture = "sm_90") {
  auto created = create_compiler(architecture, only(assembler));
  EXPECT_TRUE(created.ok()) << created.status().to_string();
  return std::move(created).value();
}

// What the compiler hands to the assembler.
std::string ptx_of(const std::string& body, const CompileOptions& options = {}, const std::string& architecture = "sm_90") {
  auto code = compiler("driver", architecture)->compile(parse(body), options);
  EXPECT_TRUE(code.ok()) << code.status().to_string();
  if (!code.ok()) return "";
  EXPECT_EQ(code->image.bytes.back(), std::byte{0});
  return reinterpret_cast<const char*>(code->image.bytes.data());
}

struct Symbol {
  uint64_t size;
  bool global;
};

struct Cubin {
  std::map<std::string, Symbol> symbols;
  std::vector<std::string> sections;
};

Cubin read_cubin(const ByteVector& bytes) {
  Cubin cubin;
  auto file = llvm::object::ELFFile<llvm::object::ELF64LE>::create(
      llvm::StringRef(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  EXPECT_TRUE(bool(file));
  EXPECT_EQ(file->getHeader().e_machine, 190);  // NVIDIA CUDA
  for (const auto& section : llvm::cantFail(file->sections())) {
    cubin.sections.push_back(llvm::cantFail(file->getSectionName(section)).str());
    if (section.sh_type != llvm::ELF::SHT_SYMTAB) continue;
    llvm::StringRef names = llvm::cantFail(file->getStringTableForSymtab(section));
    for (const auto& symbol : llvm::cantFail(file->symbols(&section))) {
      cubin.symbols[llvm::cantFail(symbol.getName(names)).str()] = {symbol.st_size, symbol.getBinding() == llvm::ELF::STB_GLOBAL};
    }
  }
  return cubin;
}

class Assembled : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    auto found = find_assembler(only(GetParam()));
    if (!found.ok()) GTEST_SKIP() << found.status().message();
  }
};
INSTANTIATE_TEST_SUITE_P(By, Assembled, testing::Values("nvptxcompiler", "nvjitlink", "ptxas"),
                         [](const auto& info) { return std::string(info.param); });

// In LLVM a name may have dots; in PTX it may not.
TEST_P(Assembled, AVariableHasANameThatPtxHas) {
  std::string dotted = kVectorAdd;
  for (size_t at = 0; (at = dotted.find("@counter", at)) != std::string::npos; at += 8) dotted.insert(at + 8, ".of.it");
  auto code = nvptx::compiler(GetParam())->compile(parse(dotted), {});
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  EXPECT_THAT(code->state, testing::UnorderedElementsAre("table", StartsWith("mneme_state_")));
}

TEST_P(Assembled, EveryDefaultPipelineMakesACubin) {
  auto compiler = nvptx::compiler(GetParam());
  for (const char* level : {"O0", "O1", "O2", "O3", "Os", "Oz"}) {
    CompileOptions options;
    options.passes = fmt::format("default<{}>", level);
    auto code = compiler->compile(parse(kVectorAdd), options);
    ASSERT_TRUE(code.ok()) << level << ": " << code.status().to_string();
    EXPECT_EQ(code->assembler, GetParam());
    EXPECT_EQ(code->image.device, DeviceKind::cuda);
    EXPECT_EQ(code->digest, digest_of(code->image.bytes));
    std::vector<std::string> stages;
    for (const StageTime& time : code->times) stages.push_back(time.stage);
    EXPECT_THAT(stages, testing::ElementsAre("prepare", "optimise", "codegen", "assemble"));

    const Cubin cubin = read_cubin(code->image.bytes);
    EXPECT_THAT(cubin.sections, testing::Contains(".nv.info.vector_add")) << level;
    for (auto [name, size] : {std::pair("vector_add", 0), std::pair("table", 64), std::pair("counter", 4)}) {
      ASSERT_TRUE(cubin.symbols.contains(name)) << level << " " << name;
      EXPECT_TRUE(cubin.symbols.at(name).global) << level << " " << name;
      if (size != 0) EXPECT_EQ(cubin.symbols.at(name).size, size) << level << " " << name;
    }
  }
}

TEST_P(Assembled, TheDriversOwnFunctionsMayStayUndefined) {
  auto code = compiler(GetParam())
                  ->compile(parse(R"(
declare i32 @vprintf(ptr, ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @__assertfail(ptr, ptr, i32, ptr, i64)
define ptx_kernel void @k(ptr %out, i64 %n, i1 %fails) {
  %p = call ptr @malloc(i64 %n)
  store ptr %p, ptr %out
  %r = call i32 @vprintf(ptr %out, ptr %p)
  call void @free(ptr %p)
  br i1 %fails, label %yes, label %no
yes:
  call void @__assertfail(ptr %out, ptr %out, i32 1, ptr %out, i64 1)
  ret void
no:
  ret void
}
)"),
                            {});
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  const Cubin cubin = read_cubin(code->image.bytes);
  for (const char* name : {"vprintf", "malloc", "free", "__assertfail"}) EXPECT_TRUE(cubin.symbols.contains(name)) << name;
}

TEST_P(Assembled, AnUndefinedFunctionIsToldInTheToolsWords) {
  auto code = compiler(GetParam())
                  ->compile(parse("declare void @elsewhere()\n"
                                  "define ptx_kernel void @k() { call void @elsewhere() ret void }"),
                            {});
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.status().code(), Code::incompatible);
  EXPECT_THAT(code.status().message(), StartsWith("assembling PTX for sm_90 by "));
  EXPECT_THAT(code.status().message(), HasSubstr("elsewhere"));
}

TEST_P(Assembled, BadPtxIsToldInTheToolsWords) {
  auto assembler = find_assembler(only(GetParam())).value();
  auto cubin = assembler->assemble({.ptx = ".version 8.0\n.target sm_90\n.address_size 64\nnonsense\n", .architecture = "sm_90"});
  ASSERT_FALSE(cubin.ok());
  EXPECT_EQ(cubin.status().code(), Code::incompatible);
  EXPECT_THAT(cubin.status().message(), HasSubstr("line 4; fatal   : Parsing error near 'nonsense': syntax error"));
}

TEST_P(Assembled, LinesOfFullDebugInformationAreKept) {
  auto code = compiler(GetParam())
                  ->compile(parse(R"(
define ptx_kernel void @k(ptr %out) !dbg !4 {
  store i32 1, ptr %out, !dbg !7
  ret void, !dbg !8
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, producer: "clang", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug)
!1 = !DIFile(filename: "app.cu", directory: "/src")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 7, !"Dwarf Version", i32 2}
!4 = distinct !DISubprogram(name: "k", scope: !1, file: !1, line: 3, type: !5, spFlags: DISPFlagDefinition, unit: !0)
!5 = !DISubroutineType(types: !6)
!6 = !{null}
!7 = !DILocation(line: 4, column: 3, scope: !4)
!8 = !DILocation(line: 5, column: 1, scope: !4)
)"),
                            {});
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  EXPECT_THAT(read_cubin(code->image.bytes).sections, testing::Contains(".debug_line"));
}

TEST(NvptxCompiler, IsWhatCompilerCreateGivesForCuda) {
  auto created = Compiler::create(DeviceKind::cuda, "sm_90");
  ASSERT_TRUE(created.ok()) << created.status().to_string();
  auto refused = Compiler::create(DeviceKind::cuda, "sm_9000");
  EXPECT_EQ(refused.status().code(), Code::unsupported);
  EXPECT_THAT(refused.status().message(),
              testing::MatchesRegex("making PTX for sm_9000: LLVM 22[.0-9]* does not know the architecture"));
}

TEST(NvptxCompiler, StateIsVisibleAndNeverFolded) {
  for (const char* pipeline : {"default<O0>", "default<O3>", "globalopt,ipsccp,globaldce"}) {
    const std::string ptx = ptx_of(kVectorAdd, {.passes = pipeline, .codegen = {}, .bindings = {}, .kernels = {"vector_add"}});
    EXPECT_THAT(ptx, HasSubstr(".visible .const .align 4 .b8 table[64]")) << pipeline;
    EXPECT_THAT(ptx, ContainsRegex("\\.visible \\.global \\.align 4 \\.[ub](32|8) counter")) << pipeline;
    EXPECT_THAT(ptx, Not(HasSubstr(".visible .global .align 4 .b8 primes"))) << pipeline;
  }
  const std::string ptx = ptx_of(kVectorAdd);
  EXPECT_THAT(ptx, ContainsRegex("ld\\.const\\.b32")) << "the table, which the host fills, is read";
}

// As libdevice's tables are: state would be read by slower loads than the program has.
TEST(NvptxCompiler, AnInternalVariableThatNothingWritesIsAConstant) {
  const std::string body = R"(
@read = internal addrspace(1) global [6 x i32] [i32 2, i32 3, i32 5, i32 7, i32 11, i32 13], align 4
@written = internal addrspace(1) global i32 2, align 4
@shown = internal addrspace(1) global i32 2, align 4
define ptx_kernel void @k(ptr %out, ptr %to, i32 %i) #0 {
  %p = getelementptr [6 x i32], ptr addrspace(1) @read, i64 0, i32 %i
  %a = load i32, ptr addrspace(1) %p
  %b = load i32, ptr addrspace(1) @written
  %c = add i32 %a, %b
  store i32 %c, ptr addrspace(1) @written
  store ptr addrspace(1) @shown, ptr %to
  store i32 %c, ptr %out
  ret void
}
attributes #0 = { "target-cpu"="sm_90" }
)";
  const std::string ptx = ptx_of(body);
  EXPECT_THAT(ptx, HasSubstr("\n.global .align 4 .b8 read[24]"));
  EXPECT_THAT(ptx, HasSubstr("ld.global.nc"));
  EXPECT_THAT(ptx, HasSubstr(".visible .global .align 4 .u32 written"));
  EXPECT_THAT(ptx, HasSubstr(".visible .global .align 4 .u32 shown"));
}

TEST(NvptxCompiler, ABoundGlobalIsItsAddress) {
  CompileOptions options;
  options.bindings = {{"counter", DevicePtr(0x7a0000001200)}, {"not_there", DevicePtr(0x1000)}};
  const std::string ptx = ptx_of(kVectorAdd, options);
  EXPECT_THAT(ptx, HasSubstr(std::to_string(0x7a0000001200)));
  EXPECT_THAT(ptx, Not(HasSubstr("counter")));
}

// Deployed code: what it has of its own is what a replay verifies it with, until the program's addresses are written.
TEST(NvptxCompiler, VariablesAreReachedThroughATable) {
  CompileOptions options;
  options.variable_table = {"table", "not_there", "counter"};
  const std::string ptx = ptx_of(kVectorAdd, options);
  EXPECT_THAT(ptx, HasSubstr(".visible .const .align 8 .u64 __mneme_variables[3] = {generic(table), 0, generic(counter)};"));
  EXPECT_THAT(ptx, ContainsRegex("ld\\.const\\.b64 [^;]*__mneme_variables\\+16"));
  EXPECT_THAT(ptx, Not(ContainsRegex("(ld|st)\\.global\\.[^;]*\\[counter\\]")));
  EXPECT_THAT(ptx, Not(ContainsRegex("ld\\.const\\.b32")));
  EXPECT_THAT(ptx, Not(ContainsRegex("\n\t(ld|st)\\.[fbu]32"))) << "they are known to lie in global memory";
  options.bindings = {{"counter", DevicePtr(0x7a0000001200)}};
  EXPECT_THAT(ptx_of(kVectorAdd, options), HasSubstr(fmt::format("generic(table), 0, {}", 0x7a0000001200)));
}

TEST_P(Assembled, ATableOfVariablesIsAssembled) {
  auto code = nvptx::compiler(GetParam())->compile(parse(kVectorAdd), {.variable_table = {"table", "counter"}});
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  EXPECT_EQ(read_cubin(code->image.bytes).symbols.at("__mneme_variables").size, 16u);
  EXPECT_THAT(code->state, testing::UnorderedElementsAre("table", "counter", "__mneme_variables"));
}

TEST(NvptxCompiler, AVariableWhoseAddressIsAConstantIsNotReachedThroughATable) {
  const std::string body = R"(
@counter = addrspace(1) externally_initialized global i32 5, align 4
@places = internal addrspace(4) constant [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @counter to ptr)], align 8
define ptx_kernel void @k(ptr %out, i32 %i) #0 {
  %p = getelementptr [1 x ptr], ptr addrspacecast (ptr addrspace(4) @places to ptr), i32 0, i32 %i
  %a = load ptr, ptr %p
  store i32 1, ptr %a
  ret void
}
attributes #0 = { "target-cpu"="sm_90" }
)";
  EXPECT_EQ(compiler("driver")->compile(parse(body), {.variable_table = {"counter"}}).status().to_string(),
            "unsupported: the address of the variable 'counter' stands in the constant 'places'");
}

TEST(NvptxCompiler, ContractsWhereTheApplicationDid) {
  EXPECT_THAT(ptx_of(kVectorAdd), HasSubstr("fma.rn.f32"));
  std::string uncontracted = kVectorAdd;
  for (size_t at; (at = uncontracted.find("contract ")) != std::string::npos;) uncontracted.erase(at, 9);
  const std::string ptx = ptx_of(uncontracted);
  EXPECT_THAT(ptx, Not(HasSubstr("fma.")));
  // With its rounding mode, or the assembler would contract it.
  EXPECT_THAT(ptx, HasSubstr("mul.rn.f32"));
}

TEST(NvptxCompiler, TheArchitectureAndThePtxVersionAreTheRecordedOnes) {
  EXPECT_THAT(ptx_of(kVectorAdd), testing::AllOf(HasSubstr(".version 8.8"), HasSubstr(".target sm_90\n")));
  std::string own = kVectorAdd;
  own.replace(own.find("\"sm_90\""), 7, "\"sm_90a\"");
  EXPECT_THAT(ptx_of(own), HasSubstr(".target sm_90a\n"));
  std::string old = kVectorAdd;
  old.replace(old.find("+ptx88"), 6, "+ptx63");
  EXPECT_THAT(ptx_of(old), HasSubstr(".version 7.8")) << "the oldest that has sm_90";
  EXPECT_THAT(ptx_of(kVectorAdd, {}, "sm_80"), HasSubstr(".target sm_80\n"));
}

TEST(NvptxCompiler, LaunchBoundsAreDirectives) {
  CompileOptions options;
  options.specialisation.kernel = "vector_add";
  options.specialisation.bounds = {.max_threads = 256, .min_blocks = 3, .max_cluster = 4, .max_registers = 48};
  const std::string ptx = ptx_of(kVectorAdd, options);
  for (const char* directive : {".maxntid 256\n", ".minnctapersm 3\n", ".maxclusterrank 4\n", ".maxnreg 48\n"})
    EXPECT_THAT(ptx, HasSubstr(directive));
  EXPECT_THAT(ptx_of(kVectorAdd), testing::AllOf(Not(HasSubstr(".maxntid")), Not(HasSubstr(".maxnreg"))));
}

TEST(NvptxCompiler, ARegisterCapThatNoCodeCanHaveIsRefusedHoweverItIsAskedFor) {
  auto refusal = [](const CompileOptions& options) {
    return compiler("driver")->compile(parse(kVectorAdd), options).status().to_string();
  };
  CompileOptions own, assemblers, both;
  own.specialisation.kernel = both.specialisation.kernel = "vector_add";
  own.specialisation.bounds.max_registers = 4;
  assemblers.assembler.max_registers = 23;
  const std::string words =
      ", fewer than the 24 registers that the calling convention needs on sm_90: ask for 24 to 255, or leave it out";
  EXPECT_EQ(refusal(own), "invalid_argument: specialise.max_registers is 4" + words);
  EXPECT_EQ(refusal(assemblers), "invalid_argument: assembler.max_registers is 23" + words);
  own.specialisation.bounds.max_registers = 256;
  EXPECT_EQ(
      refusal(own),
      "invalid_argument: specialise.max_registers is 256, more than the 255 registers that a thread can have on sm_90: ask for "
      "24 to 255, or leave it out");
  both.specialisation.bounds.max_registers = 24;
  both.assembler.max_registers = 255;
  EXPECT_EQ(refusal(both), "ok");
}

TEST(NvptxCompiler, PointerFactsChangeHowMemoryIsRead) {
  const std::string body = R"(
define ptx_kernel void @k(ptr %in, ptr %out) #0 {
  %v = load float, ptr %in
  store float %v, ptr %out
  %in1 = getelementptr float, ptr %in, i32 1
  %v1 = load float, ptr %in1
  %out1 = getelementptr float, ptr %out, i32 1
  store float %v1, ptr %out1
  ret void
}
attributes #0 = { "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
)";
  const testing::Matcher<std::string> one_access = testing::AllOf(HasSubstr("ld.global.b64"), HasSubstr("st.global.b64"));
  EXPECT_THAT(ptx_of(body), testing::AllOf(Not(HasSubstr("ld.global.nc")), Not(one_access)));
  CompileOptions options;
  options.specialisation.kernel = "k";
  options.specialisation.pointers = {{0, 1, true}};
  EXPECT_THAT(ptx_of(body, options), HasSubstr("ld.global.nc.b32"));
  options.specialisation.pointers = {{0, 8, true}, {1, 8, true}};
  EXPECT_THAT(ptx_of(body, options), one_access);
}

TEST(NvptxCompiler, SpecialisedCodeReadsNeitherArgumentsNorDimensions) {
  CompileOptions options;
  options.specialisation.kernel = "vector_add";
  const int32_t n = 1000;
  const auto bytes = std::as_bytes(std::span(&n, 1));
  options.specialisation.arguments = {{2, {bytes.begin(), bytes.end()}}};
  options.specialisation.dimensions = {{4, 1, 1}, {256, 1, 1}};
  const std::string ptx = ptx_of(kVectorAdd, options);
  EXPECT_THAT(ptx, ContainsRegex("setp\\.gt\\.s32 .*, 999;"));
  EXPECT_THAT(ptx, testing::AllOf(Not(HasSubstr("[vector_add_param_2]")), Not(HasSubstr("%ntid.x"))));
  EXPECT_THAT(ptx, HasSubstr("vector_add_param_2")) << "the kernel is launched as before";
}

TEST(NvptxCompiler, TheModuleIsLeftAsItWas) {
  ir::Module module = parse(kVectorAdd);
  const std::string before = module.print();
  ASSERT_TRUE(compiler("driver")->compile(module, {}).ok());
  EXPECT_EQ(module.print(), before);
}

TEST(NvptxCompiler, EmitsEachStageAsCompileHasIt) {
  auto made = compiler("driver");
  const ir::Module module = parse(kVectorAdd);
  const std::string specialised = made->emit(module, {}, Stage::specialised).value();
  EXPECT_THAT(specialised, testing::AllOf(HasSubstr("call contract float @product"), Not(HasSubstr("optnone"))));
  const std::string optimised = made->emit(module, {}, Stage::optimised).value();
  EXPECT_THAT(optimised, testing::AllOf(HasSubstr("@vector_add"), Not(HasSubstr("@product"))));
  EXPECT_EQ(made->emit(module, {}, Stage::assembly).value(), ptx_of(kVectorAdd));

  // It stops there: a pipeline that does not parse fails only the stages behind it.
  CompileOptions wrong;
  wrong.passes = "nothing";
  EXPECT_TRUE(made->emit(module, wrong, Stage::specialised).ok());
  EXPECT_EQ(made->emit(module, wrong, Stage::optimised).status().message(),
            "pass pipeline 'nothing' does not parse: unknown pass name 'nothing'");
  EXPECT_EQ(
      made->disassemble({}).status().to_string(),
      "unavailable: disassembling code for sm_90: the driver assembles PTX only when it loads it; install the CUDA toolkit's "
      "nvJitLink or ptxas");
}

TEST(NvptxCompiler, RefusesWhatItCannotCompile) {
  auto compiler = nvptx::compiler("driver");
  auto code =
      compiler->compile(parse(kVectorAdd), {.passes = "default<O3>,nothing", .codegen = {}, .bindings = {}, .kernels = {}});
  EXPECT_EQ(code.status().to_string(),
            "invalid_argument: pass pipeline 'default<O3>,nothing' does not parse: unknown module pass 'nothing'");

  CompileOptions level;
  level.codegen.level = 4;
  code = compiler->compile(parse(kVectorAdd), level);
  EXPECT_EQ(code.status().to_string(), "invalid_argument: making PTX for sm_90: the code generation level is 4, not 0 to 3");

  code = compiler->compile(parse(kVectorAdd), {.codegen = {}, .bindings = {}, .kernels = {"other"}});
  EXPECT_EQ(code.status().to_string(), "not_found: kernel 'other' is not in test.ll, which has vector_add");

  const std::string host = "target triple = \"x86_64-pc-linux-gnu\"\n";
  code = compiler->compile(ir::Module::parse(std::as_bytes(std::span(host)), "host.ll").value(), {});
  EXPECT_EQ(code.status().to_string(),
            "incompatible: compiling for sm_90: the module is for 'x86_64-pc-linux-gnu', not for NVIDIA GPUs");

  // Thread-block clusters came with sm_90.
  code = nvptx::compiler("driver", "sm_70")
             ->compile(parse("declare i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()\n"
                             "define ptx_kernel void @k(ptr %out) {\n"
                             "  %r = call i32 @llvm.nvvm.read.ptx.sreg.cluster.ctarank()\n"
                             "  store i32 %r, ptr %out ret void }"),
                       {});
  ASSERT_FALSE(code.ok());
  EXPECT_EQ(code.status().code(), Code::unsupported);
  EXPECT_THAT(code.status().message(), StartsWith("making PTX for sm_70: LLVM reported a fatal error: Cannot select: "));
  EXPECT_THAT(code.status().message(), HasSubstr("cluster.ctarank"));
}

TEST(PtxAssembler, ANameThatIsNoneIsRefused) {
  EXPECT_EQ(find_assembler({.only = "masm"}).status().to_string(),
            "invalid_argument: choosing the PTX assembler: MNEME_PTX_ASSEMBLER is 'masm', not nvptxcompiler, nvjitlink, ptxas or "
            "driver");
}

TEST(PtxAssembler, OneThatIsMissingIsRefusedWithWhereItWasLookedFor) {
  EXPECT_EQ(find_assembler(
                {.only = "nvjitlink", .nvjitlink_paths = {"/nonexistent/libnvJitLink.so.13", "libm.so.6"}, .ptxas_paths = {}})
                .status()
                .to_string(),
            "unavailable: opening nvJitLink, to assemble PTX: /nonexistent/libnvJitLink.so.13: cannot open shared object file: "
            "No such file or "
            "directory; libm.so.6 has no function nvJitLinkCreate; install the CUDA toolkit's libnvJitLink, set CUDA_HOME to "
            "where it is, or "
            "set MNEME_PTX_ASSEMBLER to ptxas or driver");
  EXPECT_EQ(
      find_assembler({.only = "nvptxcompiler", .nvptxcompiler_paths = {"/nonexistent/libmneme_nvptxcompiler.so"}})
          .status()
          .to_string(),
      "unavailable: opening nvPTXCompiler, to assemble PTX: /nonexistent/libmneme_nvptxcompiler.so: cannot open shared object "
      "file: No such file or directory; Mneme has it where the CUDA toolkit that it was built with has "
      "libnvptxcompiler_static.a: set MNEME_PTX_ASSEMBLER to nvjitlink, ptxas or driver");
  EXPECT_EQ(find_assembler({.only = "ptxas", .nvjitlink_paths = {}, .ptxas_paths = {"/nonexistent/ptxas", "/etc"}})
                .status()
                .to_string(),
            "unavailable: finding ptxas, to assemble PTX: not at /nonexistent/ptxas, /etc; install the CUDA toolkit, "
            "set CUDA_HOME to "
            "where it is, or set MNEME_PTX_ASSEMBLER to nvjitlink or driver");
}

TEST(PtxAssembler, WithNeitherTheDriverIsLeft) { EXPECT_EQ(find_assembler({}).value()->name(), "driver"); }

TEST(PtxAssembler, TheEnvironmentChooses) {
  ::setenv("MNEME_PTX_ASSEMBLER", "driver", 1);
  ::setenv("CUDA_HOME", "/opt/toolkit", 1);
  const AssemblerSearch search = AssemblerSearch::from_environment();
  ::unsetenv("MNEME_PTX_ASSEMBLER");
  ::unsetenv("CUDA_HOME");
  EXPECT_EQ(search.only, "driver");
  EXPECT_THAT(search.nvjitlink_paths, testing::Contains("/opt/toolkit/lib64/libnvJitLink.so.13"));
  EXPECT_EQ(search.nvjitlink_paths.back(), "libnvJitLink.so.12");
  EXPECT_THAT(search.ptxas_paths, testing::Contains("/opt/toolkit/bin/ptxas"));
  EXPECT_EQ(AssemblerSearch::from_environment().only, "");
}

TEST(PtxAssembler, AProgramThatCrashesIsUnavailable) {
  const std::filesystem::path program =
      std::filesystem::temp_directory_path() / fmt::format("mneme-crashing-ptxas-{}", ::getpid());
  std::ofstream(program) << "#!/bin/sh\necho about to crash >&2\nkill -SEGV $$\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  auto assembler = open_ptxas({program});
  ASSERT_TRUE(assembler.ok());
  auto cubin = (*assembler)->assemble({.ptx = "", .architecture = "sm_90"});
  std::filesystem::remove(program);
  EXPECT_EQ(cubin.status().code(), Code::unavailable);
  EXPECT_THAT(cubin.status().message(), testing::AllOf(HasSubstr("it did not run to its end"), HasSubstr("about to crash")));
}

// So nothing is left when it is killed.
TEST(PtxAssembler, AProgramIsGivenNoFilesOnDisk) {
  TemporaryDirectory folder;
  const std::filesystem::path program = folder.path() / "ptxas";
  std::ofstream(program) << "#!/bin/sh\ncat \"$1\" >\"$3\"\necho a warning >&2\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  auto assembler = open_ptxas({program});
  ASSERT_TRUE(assembler.ok());
  ::setenv("TMPDIR", "/nonexistent", 1);
  auto cubin = (*assembler)->assemble({.ptx = "some code", .architecture = "sm_90"});
  ::unsetenv("TMPDIR");
  ASSERT_TRUE(cubin.ok()) << cubin.status().to_string();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(cubin->image.bytes.data()), cubin->image.bytes.size()), "some code");
  EXPECT_EQ(cubin->log, "a warning");
}

TEST(PtxAssembler, IsLookedForInEveryFolderOfThePathAndInNoEmptyOne) {
  const std::string path = ::getenv("PATH");
  ::setenv("CUDA_HOME", "", 1);
  ::setenv("PATH", "/first::/second", 1);
  const AssemblerSearch search = AssemblerSearch::from_environment();
  ::setenv("PATH", path.c_str(), 1);
  ::unsetenv("CUDA_HOME");
  EXPECT_THAT(search.ptxas_paths, testing::IsSupersetOf({"/first/ptxas", "/second/ptxas"}));
  for (const std::vector<std::string>& paths : {search.ptxas_paths, search.nvjitlink_paths})
    for (const char* relative : {"ptxas", "bin/ptxas", "lib/libnvJitLink.so.13", "lib64/libnvJitLink.so.13"})
      EXPECT_THAT(paths, Not(testing::Contains(relative)));
}

TEST(PtxAssembler, AProgramThatIsBuiltAnewIsAnother) {
  const TemporaryDirectory folder;
  const std::filesystem::path program = folder.path() / "ptxas";
  std::ofstream(program) << "#!/bin/sh\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  auto identity = [&] { return open_ptxas({program}).value()->identity(); };
  const std::string before = identity();
  EXPECT_EQ(identity(), before);
  std::ofstream(program, std::ios::app) << "exit 0\n";
  EXPECT_NE(identity(), before);
  AssemblerSearch search{.only = "ptxas", .ptxas_paths = {program}};
  EXPECT_THAT((*create_compiler("sm_90", search))->identity(), HasSubstr(identity()));
}

CodegenTarget target_of(const std::string& attributes, const std::string& architecture = "sm_90",
                        const std::string& sum = "fadd float %x, %x") {
  const std::string text = kHeader + ("define float @f(float %x) #0 { %a = " + sum + " ret float %a }\n") +
                           "define float @g(float %x) #1 { %a = fadd float %x, %x ret float %a }\n" + attributes;
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return CodegenTarget::of(ir::llvm_module(*module), architecture);
}

TEST(CodegenTarget, IsTheNewestThatAFunctionWasMadeFor) {
  const auto features = [](const char* of_f, const char* of_g) {
    return target_of(fmt::format("attributes #0 = {{ \"target-features\"=\"{}\" }}\nattributes #1 = {{ "
                                 "\"target-features\"=\"{}\" }}\n",
                                 of_f, of_g))
        .features;
  };
  EXPECT_EQ(features("+ptx88", "+ptx80"), "+ptx88");
  EXPECT_EQ(features("+ptx80", "+ptx88"), "+ptx88");
  EXPECT_EQ(features("+ptx78", "+ptx78"), "+ptx78") << "the oldest that has the architecture";
  EXPECT_EQ(features("+ptx88,+ptx80", "+ptx78"), "+ptx88");
}

TEST(CodegenTarget, KeepsTheVariantThatTheModuleWasMadeFor) {
  const auto architecture = [](const char* cpu, const char* device) {
    return target_of(
               fmt::format("attributes #0 = {{ \"target-cpu\"=\"{}\" }}\nattributes #1 = {{ \"target-cpu\"=\"sm_90\" }}\n", cpu),
               device)
        .architecture;
  };
  EXPECT_EQ(architecture("sm_90a", "sm_90"), "sm_90a");
  EXPECT_EQ(architecture("sm_100f", "sm_100"), "sm_100f");
  EXPECT_EQ(architecture("sm_100f", "sm_103"), "sm_103");
}

TEST(CodegenTarget, ContractsWhereAnyFunctionDid) {
  EXPECT_EQ(target_of("", "sm_90", "fadd contract float %x, %x").fusion, llvm::FPOpFusion::Fast);
  EXPECT_NE(target_of("").fusion, llvm::FPOpFusion::Fast);
}

TEST(CodegenTarget, TheOldestPtxOfAnArchitectureIsNewEnough) {
  EXPECT_TRUE(create_machine({.architecture = "sm_70", .features = "+ptx60"}, 3).ok());
  EXPECT_FALSE(create_machine({.architecture = "sm_90", .features = "+ptx60"}, 3).ok());
}

TEST(EmitPtx, LinesAreDirectivesOfTheirOwn) {
  EXPECT_TRUE(has_lines("{\n\t.loc\t1 2 3\n}"));
  EXPECT_FALSE(has_lines("// .loc\n\tret;\n"));
  EXPECT_FALSE(has_lines("{\n\t.local .align 4 .b8 __local_depot0[28];\n}"));
}

TEST(EmitPtx, LinesOfEveryUnitAreDirectivesOfTheirOwn) {
  auto ptx = nvptx::compiler("driver")->emit(parse(R"(
define ptx_kernel void @first(ptr %out) !dbg !6 {
  store i32 1, ptr %out, !dbg !8
  ret void, !dbg !8
}
define ptx_kernel void @second(ptr %out) !dbg !7 {
  store i32 1, ptr %out, !dbg !9
  ret void, !dbg !9
}
!llvm.dbg.cu = !{!0, !1}
!llvm.module.flags = !{!2, !3}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !4, emissionKind: FullDebug)
!1 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !5, emissionKind: FullDebug)
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !{i32 7, !"Dwarf Version", i32 2}
!4 = !DIFile(filename: "first.cu", directory: "/src")
!5 = !DIFile(filename: "second.cu", directory: "/src")
!6 = distinct !DISubprogram(name: "first", scope: !4, file: !4, line: 3, type: !10, spFlags: DISPFlagDefinition, unit: !0)
!7 = distinct !DISubprogram(name: "second", scope: !5, file: !5, line: 5, type: !10, spFlags: DISPFlagDefinition, unit: !1)
!8 = !DILocation(line: 4, column: 3, scope: !6)
!9 = !DILocation(line: 6, column: 3, scope: !7)
!10 = !DISubroutineType(types: !{null})
)"),
                                             {}, Stage::assembly);
  ASSERT_TRUE(ptx.ok()) << ptx.status().to_string();
  EXPECT_THAT(*ptx, HasSubstr("first.cu\""));
  EXPECT_THAT(*ptx, HasSubstr("second.cu\""));
  EXPECT_THAT(*ptx, Not(HasSubstr(".debug_info")));
  EXPECT_THAT(*ptx, Not(ContainsRegex("\\.target [^\n]*debug")));
}

TEST(EmitPtx, WhatLlvmReportsIsARefusal) {
  const auto refused = nvptx::compiler("driver")->emit(
      parse("define ptx_kernel void @k(i32 %x) { call void asm sideeffect \"mov.u32 $0, $0;\", \"{nowhere}\"(i32 %x) ret void }"),
      {}, Stage::assembly);
  EXPECT_EQ(refused.status().code(), Code::unsupported);
  EXPECT_THAT(refused.status().message(), StartsWith("making PTX for sm_90: "));
}

}  // namespace
}  // namespace mneme::nvptx
