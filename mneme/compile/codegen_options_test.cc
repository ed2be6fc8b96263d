// Each option has an effect on the code for a device, or is refused for it by name.
#include "mneme/compile/codegen_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/compile/compiler.h"
#include "mneme/compile/nvptx/architecture.h"

namespace mneme {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// Compiled with contraction, as CUDA is by default; the last product comes from -ffp-contract=on, the quotient from a function.
constexpr std::string_view kModule = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@.ftz = private unnamed_addr addrspace(1) constant [11 x i8] c"__CUDA_FTZ\00"
declare i32 @__nvvm_reflect(ptr)
declare float @llvm.fmuladd.f32(float, float, float)
define float @quotient(float %a, float %b) #0 {
  %q = fdiv float %a, %b
  ret float %q
}
define ptx_kernel void @k(ptr %out, float %a, float %b, float %c) #0 {
  %product = fmul contract float %a, %b
  %sum = fadd contract float %product, %c
  store float %sum, ptr %out
  %p1 = getelementptr float, ptr %out, i32 1
  %muladd = call float @llvm.fmuladd.f32(float %c, float %b, float %a)
  store float %muladd, ptr %p1
  %p2 = getelementptr float, ptr %out, i32 2
  %q = call float @quotient(float %a, float %b)
  store float %q, ptr %p2
  %p3 = getelementptr i32, ptr %out, i32 3
  %ftz = call i32 @__nvvm_reflect(ptr addrspacecast (ptr addrspace(1) @.ftz to ptr))
  %mark = add i32 %ftz, 7770
  store i32 %mark, ptr %p3
  ret void
}
attributes #0 = { "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
)";

Result<std::string> emit(DeviceKind kind, Stage stage, const CodegenOptions& codegen, std::string text = std::string(kModule)) {
  MNEME_ASSIGN(auto compiler, Compiler::create(kind, kind == DeviceKind::cpu ? "x86-64-v3" : "sm_90"));
  MNEME_ASSIGN(ir::Module module, ir::Module::parse(std::as_bytes(std::span(text)), "test.ll"));
  CompileOptions options;
  options.codegen = codegen;
  return compiler->emit(module, options, stage);
}

std::string ptx(const CodegenOptions& codegen) {
  auto text = emit(DeviceKind::cuda, Stage::assembly, codegen);
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? *text : "";
}
std::string host(const CodegenOptions& codegen) {
  auto text = emit(DeviceKind::cpu, Stage::assembly, codegen);
  EXPECT_TRUE(text.ok()) << text.status().to_string();
  return text.ok() ? *text : "";
}
std::string refusal(DeviceKind kind, const CodegenOptions& codegen) {
  return emit(kind, Stage::assembly, codegen).status().to_string();
}

size_t count(std::string_view text, std::string_view what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

CodegenOptions contraction(Contraction value) {
  CodegenOptions codegen;
  codegen.contraction = value;
  return codegen;
}
CodegenOptions fast_math(std::vector<std::string> flags) {
  CodegenOptions codegen;
  codegen.fast_math = std::move(flags);
  return codegen;
}
CodegenOptions ftz(FlushDenormals value) {
  CodegenOptions codegen;
  codegen.ftz = value;
  return codegen;
}
CodegenOptions target(const std::string& name, const std::string& features = "") {
  CodegenOptions codegen;
  codegen.target = name;
  codegen.features = features;
  return codegen;
}
CodegenOptions level(unsigned value) {
  CodegenOptions codegen;
  codegen.level = value;
  return codegen;
}

TEST(CodegenLevel, ChangesTheCode) {
  EXPECT_NE(ptx(level(0)), ptx(level(3)));
  EXPECT_NE(host(level(0)), host(level(3)));
}

TEST(Contraction, OnAGpu) {
  EXPECT_EQ(count(ptx({}), "fma.rn.f32"), 2u) << "as recorded";
  EXPECT_EQ(count(ptx(contraction(Contraction::fast)), "fma.rn.f32"), 2u);
  // The additions and multiplications that are left say how they round, or the assembler would contract them.
  EXPECT_THAT(ptx(contraction(Contraction::on)),
              AllOf(HasSubstr("fma.rn.f32"), HasSubstr("mul.rn.f32"), HasSubstr("add.rn.f32")));
  EXPECT_THAT(ptx(contraction(Contraction::off)), AllOf(Not(HasSubstr("fma.")), Not(ContainsRegex("(mul|add).f32"))));
}

TEST(Contraction, MakesWhatWasCompiledWithoutIt) {
  std::string text(kModule);
  for (size_t at; (at = text.find("contract ")) != std::string::npos;) text.erase(at, 9);
  EXPECT_EQ(count(emit(DeviceKind::cuda, Stage::assembly, {}, text).value(), "fma.rn.f32"), 1u);
  EXPECT_EQ(count(emit(DeviceKind::cuda, Stage::assembly, contraction(Contraction::fast), text).value(), "fma.rn.f32"), 2u);
}

TEST(Contraction, OnTheCpuDevice) {
  EXPECT_EQ(count(host({}), "vfmadd"), 1u) << "llvm.fmuladd alone";
  EXPECT_EQ(count(host(contraction(Contraction::on)), "vfmadd"), 1u);
  EXPECT_EQ(count(host(contraction(Contraction::fast)), "vfmadd"), 2u);
  EXPECT_EQ(count(host(contraction(Contraction::off)), "vfmadd"), 0u);
}

TEST(FastMath, IsOnEveryOperationBeforeThePipeline) {
  for (DeviceKind kind : {DeviceKind::cuda, DeviceKind::cpu}) {
    EXPECT_THAT(emit(kind, Stage::specialised, fast_math({"fast"})).value(),
                AllOf(HasSubstr("fmul fast float"), HasSubstr("fadd fast float"), HasSubstr("fdiv fast float"),
                      HasSubstr("call fast float @quotient")));
    EXPECT_THAT(emit(kind, Stage::specialised, fast_math({"nnan", "ninf", "nsz", "arcp", "afn", "reassoc"})).value(),
                AllOf(HasSubstr("fmul fast float"), HasSubstr("fdiv reassoc nnan ninf nsz arcp afn float")));
    EXPECT_THAT(emit(kind, Stage::specialised, fast_math({"contract"})).value(), HasSubstr("fdiv contract float"));
  }
}

TEST(FastMath, HasAnEffectOnTheCode) {
  EXPECT_THAT(ptx({}), HasSubstr("div.rn.f32"));
  EXPECT_THAT(ptx(fast_math({"afn"})), AllOf(Not(HasSubstr("div.rn.f32")), HasSubstr("div.approx.f32")));
  EXPECT_EQ(count(host(fast_math({"contract"})), "vfmadd"), 2u);
  std::string sum(kModule);
  sum.replace(sum.find("%q = fdiv float %a, %b"), 22, "%s = fadd float %a, %b\n %q = fsub float %s, %b");
  EXPECT_THAT(emit(DeviceKind::cpu, Stage::assembly, {}, sum).value(), HasSubstr("vsubss"));
  EXPECT_THAT(emit(DeviceKind::cpu, Stage::assembly, fast_math({"reassoc", "nsz"}), sum).value(), Not(HasSubstr("vsubss")));
}

TEST(FastMath, RefusesWhatItDoesNotKnow) {
  for (DeviceKind kind : {DeviceKind::cuda, DeviceKind::cpu}) {
    EXPECT_EQ(refusal(kind, fast_math({"nnan", "contrct"})),
              "invalid_argument: there is no fast-math flag 'contrct'; did you mean 'contract'?");
    CodegenOptions codegen = fast_math({"fast"});
    codegen.contraction = Contraction::on;
    EXPECT_THAT(refusal(kind, codegen), HasSubstr("contraction 'on' contradict each other"));
    codegen.contraction = Contraction::off;
    EXPECT_EQ(
        refusal(kind, codegen),
        "invalid_argument: the fast-math flag 'contract' (also of 'fast') and contraction 'off' contradict each other: name the "
        "other flags, or leave the contraction out");
  }
}

TEST(Ftz, ChoosesInstructionsAndLibdevicesVariants) {
  EXPECT_THAT(ptx({}), AllOf(HasSubstr("fma.rn.f32"), HasSubstr("7770")));
  EXPECT_THAT(ptx(ftz(FlushDenormals::on)), AllOf(HasSubstr("fma.rn.ftz.f32"), HasSubstr("div.rn.ftz.f32"), HasSubstr("7771")));
  std::string flushed(kModule);
  flushed.replace(flushed.find("attributes #0 = {"), 17,
                  "attributes #0 = { \"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"");
  flushed += "!llvm.module.flags = !{!0}\n!0 = !{i32 4, !\"nvvm-reflect-ftz\", i32 1}\n";
  EXPECT_THAT(emit(DeviceKind::cuda, Stage::assembly, {}, flushed).value(),
              AllOf(HasSubstr("fma.rn.ftz.f32"), HasSubstr("7771")));
  EXPECT_THAT(emit(DeviceKind::cuda, Stage::assembly, ftz(FlushDenormals::off), flushed).value(),
              AllOf(HasSubstr("fma.rn.f32"), HasSubstr("7770")));
}

TEST(Ftz, OnTheCpuDeviceCanOnlyBeOff) {
  EXPECT_EQ(refusal(DeviceKind::cpu, ftz(FlushDenormals::on)),
            "unsupported: the CPU device does not flush denormal numbers to zero: ftz can only be recorded or off");
  EXPECT_TRUE(emit(DeviceKind::cpu, Stage::assembly, ftz(FlushDenormals::off)).ok());
}

TEST(Features, ChooseThePtxVersion) {
  EXPECT_THAT(ptx({}), HasSubstr(".version 8.8"));
  EXPECT_THAT(ptx(target("", "+ptx83")), HasSubstr(".version 8.3"));
  EXPECT_THAT(ptx(target("", "+ptx90")), HasSubstr(".version 9.0"));
}

TEST(Features, ChooseTheCpusInstructions) {
  EXPECT_THAT(host({}), HasSubstr("vfmadd"));
  EXPECT_THAT(host(target("", "-fma")), Not(HasSubstr("vfmadd")));
}

TEST(Features, RefusesWhatTheTargetDoesNotHave) {
  EXPECT_EQ(refusal(DeviceKind::cuda, target("", "+ptx8x3")),
            "invalid_argument: sm_90 has no feature 'ptx8x3'; did you mean 'ptx83'?");
  EXPECT_EQ(refusal(DeviceKind::cuda, target("", "+ptx83,fast")),
            "invalid_argument: the target feature 'fast' begins with neither + nor -, as in '+fast'");
  EXPECT_EQ(refusal(DeviceKind::cuda, target("", "+sm_80")),
            "invalid_argument: the target feature 'sm_80' is an architecture: name it as the target instead");
  EXPECT_EQ(refusal(DeviceKind::cuda, target("", "+ptx60")), "invalid_argument: PTX 6.0 has no sm_90, which came with PTX 7.8");
  EXPECT_EQ(refusal(DeviceKind::cpu, target("", "+avx512ff")),
            "invalid_argument: x86-64-v3 has no feature 'avx512ff'; did you mean 'avx512f'?");
  EXPECT_THAT(refusal(DeviceKind::cpu, target("", "+ptx83")), HasSubstr("x86-64-v3 has no feature 'ptx83'"));
}

TEST(Features, TheCpuDeviceRunsOnlyWhatItsProcessorHas) {
  CompileOptions options;
  options.codegen.features = "+amx-avx512";  // of no processor that tests run on
  std::string text(kModule);
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll").value();
  auto compiler = Compiler::create(DeviceKind::cpu, "x86-64-v3").value();
  EXPECT_TRUE(compiler->emit(module, options, Stage::assembly).ok());
  EXPECT_EQ(compiler->compile(module, options).status().to_string(),
            "unsupported: this machine's processor does not have the target feature 'amx-avx512'");
}

TEST(Target, IsWhatCodeIsMadeFor) {
  EXPECT_THAT(ptx(target("sm_90a")), HasSubstr(".target sm_90a\n"));
  EXPECT_THAT(ptx(target("sm_80")), HasSubstr(".target sm_80\n"));
  EXPECT_THAT(ptx(target("sm_100")), HasSubstr(".target sm_100\n"));
  EXPECT_THAT(refusal(DeviceKind::cuda, target("sm_1000")),
              ContainsRegex("^unsupported: making PTX for sm_1000: LLVM 22.* does not know the architecture$"));
  EXPECT_EQ(refusal(DeviceKind::cpu, target("sm_90")),
            "unsupported: the CPU device's code is made for x86-64-v3, not for the target 'sm_90': leave the target out");
  EXPECT_EQ(host(target("x86-64-v3")), host({}));
}

TEST(Target, OneThatTheDeviceDoesNotRunIsRefusedWithBothNames) {
  DeviceProperties device;
  device.kind = DeviceKind::cuda;
  device.name = "NVIDIA H200";
  device.architecture = "sm_90";
  EXPECT_TRUE(check_target({}, device).ok());
  EXPECT_TRUE(check_target(target("sm_90a"), device).ok());
  device.architecture = "sm_86";
  EXPECT_TRUE(check_target(target("sm_80"), device).ok());
  device.architecture = "sm_80";
  EXPECT_FALSE(check_target(target("sm_86"), device).ok());
  device.architecture = "sm_90";
  EXPECT_EQ(
      check_target(target("sm_100"), device).to_string(),
      "unsupported: NVIDIA H200 (sm_90) does not run code for sm_100: leave the target out; mneme ir, which runs nothing, takes "
      "any that LLVM knows");
}

TEST(Target, WhichRunsOnWhich) {
  using nvptx::runs_on;
  for (auto [code, device] : {std::pair("sm_90", "sm_90"), {"sm_90a", "sm_90"}, {"sm_80", "sm_86"}, {"sm_100f", "sm_103"}})
    EXPECT_TRUE(runs_on(code, device)) << code << " on " << device;
  for (auto [code, device] : {std::pair("sm_80", "sm_90"),
                              {"sm_86", "sm_80"},
                              {"sm_100a", "sm_103"},
                              {"sm_100", "sm_120"},
                              {"", "sm_90"},
                              {"sm_90b", "sm_90"},
                              {"x86-64-v3", "sm_90"}})
    EXPECT_FALSE(runs_on(code, device)) << code << " on " << device;
}

}  // namespace
}  // namespace mneme
