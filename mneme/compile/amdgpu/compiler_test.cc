#include "mneme/compile/amdgpu/compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "mneme/compile/amdgpu/code_object.h"
#include "mneme/compile/amdgpu/device_libraries.h"
#include "mneme/compile/amdgpu/testing/amdgcn_ir.h"
#include "mneme/compile/backend.h"
#include "mneme/compile/compile_key.h"
#include "mneme/ir/access.h"

namespace mneme::amdgpu {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

CompileOptions options_for(const std::string& kernel, const std::string& passes = "default<O2>") {
  CompileOptions options;
  options.passes = passes;
  options.kernels = {kernel};
  return options;
}

// IR or assembly at a stage; the refusal where there is one.
std::string emitted(const ir::Module& module, const CompileOptions& options, Stage stage,
                    const std::string& architecture = "gfx90a") {
  auto text = compiler(architecture)->emit(module, options, stage);
  return text.ok() ? *text : text.status().to_string();
}

std::string refusal(const ir::Module& module, const CompileOptions& options, const std::string& architecture = "gfx90a") {
  return compiler(architecture)->compile(module, options).status().to_string();
}

// The value of a variable of the metadata that is printed.
CompiledCode compiled(const ir::Module& module, const CompileOptions& options, const std::string& architecture = "gfx90a") {
  auto code = compiler(architecture)->compile(module, options);
  EXPECT_TRUE(code.ok()) << code.status().to_string();
  return code.ok() ? std::move(code).value() : CompiledCode();
}

TEST(AmdgpuCompiler, IsARowOfTheTable) {
  EXPECT_EQ(*kind_of_architecture("gfx942"), DeviceKind::hip);
  EXPECT_EQ(*kind_of_architecture("gfx90a:sramecc+:xnack-"), DeviceKind::hip);
  EXPECT_EQ(architecture_without_device(DeviceKind::hip, "gfx90a"), "gfx90a");
  auto created = Compiler::create(DeviceKind::hip, "gfx942");
  ASSERT_TRUE(created.ok()) << created.status().to_string();
  EXPECT_THAT((*created)->identity(), StartsWith("hip gfx942 LLVM 22"));
  EXPECT_THAT(Compiler::create(DeviceKind::hip, "gfx1").status().to_string(), HasSubstr("does not know the architecture"));
}

TEST(AmdgpuCompiler, PipelinesMakeDifferentCode) {
  const ir::Module module = kernels_for("gfx90a");
  const CompiledCode none = compiled(module, options_for("structure", "default<O0>"));
  const CompiledCode more = compiled(module, options_for("structure", "default<O3>"));
  const CompiledCode one = compiled(module, options_for("structure", "sroa,instcombine,simplifycfg"));
  EXPECT_NE(none.digest, more.digest);
  EXPECT_GT(*none.facts.instructions, *more.facts.instructions);
  EXPECT_GT(*none.facts.instructions, *one.facts.instructions);
  CompileOptions as_built = options_for("structure", kAsBuilt);
  as_built.as_built = "default<O2>";
  EXPECT_TRUE(compiler("gfx90a")->compile(module, as_built).ok());
  EXPECT_THAT(refusal(module, options_for("structure", "default<O9>")), HasSubstr("pass pipeline 'default<O9>' does not parse"));
}

TEST(AmdgpuCompiler, TheSameRequestIsTheSameCode) {
  const ir::Module module = kernels_for("gfx942");
  EXPECT_EQ(compiled(module, options_for("reduction"), "gfx942").digest,
            compiled(module, options_for("reduction"), "gfx942").digest);
}

TEST(AmdgpuCompiler, StagesAreIrAndAssembly) {
  const ir::Module module = kernels_for("gfx90a");
  const CompileOptions options = options_for("vector_add");
  EXPECT_THAT(emitted(module, options, Stage::specialised), HasSubstr("alloca"));
  EXPECT_THAT(emitted(module, options, Stage::optimised), Not(HasSubstr("alloca")));
  const std::string assembly = emitted(module, options, Stage::assembly);
  EXPECT_THAT(assembly, HasSubstr(".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\""));
  EXPECT_THAT(assembly, HasSubstr(".amdhsa_kernel vector_add"));
  EXPECT_THAT(assembly, Not(HasSubstr(".amdhsa_kernel reduction")));
}

TEST(AmdgpuCompiler, CodeForAnotherArchitectureThanTheRecorded) {
  const ir::Module module = kernels_for("gfx90a");
  CompileOptions options = options_for("reduction");
  EXPECT_EQ(read_code_object(compiled(module, options, "gfx942").image.bytes).value().target, "gfx942");
  options.codegen.target = "gfx908:xnack-";
  EXPECT_EQ(read_code_object(compiled(module, options).image.bytes).value().target, "gfx908:xnack-") << "the option prevails";
  options.codegen.target = "gfx11-generic";
  EXPECT_EQ(read_code_object(compiled(module, options).image.bytes).value().target, "gfx11-generic");
}

TEST(AmdgpuCompiler, TheWavefrontIsTheRecordedOne) {
  const auto wavefront = [](const char* recorded, const char* made, const std::string& features = "") {
    CompileOptions options = options_for("reduction");
    options.codegen.features = features;
    auto code = compiler(made)->compile(kernels_for(recorded), options);
    if (!code.ok()) return code.status().to_string();
    return std::to_string(read_code_object(code->image.bytes).value().kernels[0].wavefront);
  };
  EXPECT_EQ(wavefront("gfx1100", "gfx1100"), "32");
  EXPECT_EQ(wavefront("gfx1100", "gfx1100", "+wavefrontsize64"), "64");
  EXPECT_EQ(wavefront("gfx90a", "gfx1100"), "64") << "the source may have been compiled for it";
  EXPECT_EQ(wavefront("gfx90a", "gfx1100", "+wavefrontsize32"), "32");
  EXPECT_EQ(wavefront("gfx1100", "gfx90a", "+wavefrontsize64"), "64");
  EXPECT_EQ(wavefront("gfx1100", "gfx90a"),
            "unsupported: making code for gfx90a, which has no wavefronts of 32: the kernel was compiled for such ones; "
            "codegen.features '+wavefrontsize64' compiles it all the same, if its source asks for no size");
  EXPECT_EQ(wavefront("gfx90a", "gfx90a", "+wavefrontsize32"),
            "invalid_argument: gfx90a has no wavefronts of 32: leave the feature 'wavefrontsize32' out");
}

TEST(AmdgpuCompiler, FeaturesOfTheTargetId) {
  const ir::Module module = kernels_for("gfx90a");
  const auto target = [&](const std::string& features, const std::string& architecture = "gfx90a") {
    CompileOptions options = options_for("reduction");
    options.codegen.features = features;
    auto code = compiler(architecture)->compile(module, options);
    return code.ok() ? read_code_object(code->image.bytes).value().target : code.status().to_string();
  };
  EXPECT_EQ(target(""), "gfx90a");
  EXPECT_EQ(target("+xnack"), "gfx90a:xnack+");
  EXPECT_EQ(target("-xnack,+sramecc"), "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(target("", "gfx90a:xnack-"), "gfx90a:xnack-");
  EXPECT_EQ(target("+xnack", "gfx90a:xnack-"),
            "invalid_argument: the target 'gfx90a:xnack-' and the feature '+xnack' contradict each other");
  EXPECT_EQ(target("+xnack", "gfx1100"), "invalid_argument: gfx1100 has no xnack: leave the feature out");
  EXPECT_EQ(target("-sramecc", "gfx1100"), "invalid_argument: gfx1100 has no sramecc: leave the feature out");
  EXPECT_EQ(target("xnack"), "invalid_argument: the target feature 'xnack' begins with neither + nor -, as in '+xnack'");
  EXPECT_THAT(target("+xnak"), StartsWith("invalid_argument: gfx90a has no feature 'xnak'; did you mean 'xnack'"));
}

TEST(AmdgpuCompiler, VersionsOfCodeObjects) {
  const auto version = [](int recorded, std::optional<unsigned> asked, const std::string& architecture = "gfx90a") {
    CompileOptions options = options_for("k");
    options.codegen.code_object = asked;
    const ir::Module module =
        parse("define amdgpu_kernel void @k(ptr addrspace(1) %p) { store i32 1, ptr addrspace(1) %p ret void }", recorded);
    auto code = compiler(architecture)->compile(module, options);
    if (!code.ok()) return code.status().to_string();
    const std::string header = said_by("llvm-readelf --file-header", code->image.bytes);
    const size_t at = header.find("ABI Version:");
    return header.substr(header.find_first_of("0123456789", at), 1);
  };
  EXPECT_EQ(version(500, {}), "3");
  EXPECT_EQ(version(600, {}), "4");
  EXPECT_EQ(version(500, 6), "4");
  EXPECT_EQ(version(600, 5), "3");
  EXPECT_EQ(version(500, {}, "gfx11-generic"), "4") << "there is no older one of it";
  EXPECT_EQ(version(500, 5, "gfx11-generic"),
            "invalid_argument: codegen.code_object is 5: code objects for gfx11-generic have version 6");
  EXPECT_EQ(
      version(400, {}),
      "incompatible: making code for gfx90a: the kernel was compiled for code objects of version 4, whose implicit arguments "
      "are others: build the program with -mcode-object-version=5 or 6");
  EXPECT_EQ(version(500, 4), "invalid_argument: codegen.code_object is 4: code objects are made of version 5 or 6");
}

TEST(AmdgpuCompiler, LaunchBoundsAreTheVendorsAttributes) {
  const ir::Module module = kernels_for("gfx90a");
  CompileOptions options = options_for("many_registers");
  options.specialisation.kernel = "many_registers";
  const uint32_t usual = *compiled(module, options).facts.registers;
  options.specialisation.bounds.waves_per_eu = 8;
  const CompiledCode eight = compiled(module, options);
  EXPECT_LE(*eight.facts.registers, 64u) << "512 over 8";
  EXPECT_LT(*eight.facts.registers, usual);
  EXPECT_EQ(eight.facts.waves_per_eu, 8u);
  options.specialisation.bounds = {.max_threads = 512};
  EXPECT_EQ(read_code_object(compiled(module, options).image.bytes).value().kernels[0].max_threads, 512u);
  options.specialisation.bounds = {.max_registers = 32};
  EXPECT_LE(*compiled(module, options).facts.registers, 64u) << "as many for accumulation, which are of the same file";
  EXPECT_LE(*compiled(kernels_for("gfx1100"), options, "gfx1100").facts.registers, 32u);
  options.specialisation.bounds = {.max_threads = 512, .max_registers = 48, .waves_per_eu = 4};
  const std::string ir = emitted(module, options, Stage::specialised);
  EXPECT_THAT(ir, HasSubstr("\"amdgpu-flat-work-group-size\"=\"1,512\""));
  EXPECT_THAT(ir, HasSubstr("\"amdgpu-waves-per-eu\"=\"4\""));
  EXPECT_THAT(ir, HasSubstr("\"amdgpu-num-vgpr\"=\"48\""));
}

TEST(AmdgpuCompiler, KnobsOfOtherKinds) {
  const ir::Module module = kernels_for("gfx90a");
  CompileOptions options = options_for("reduction");
  options.assembler.max_registers = 32;
  EXPECT_EQ(refusal(module, options),
            "unsupported: assembler.max_registers has no effect on AMD GPUs, whose code is not made from PTX: leave it out");
  options.assembler = {};
  options.specialisation = {.kernel = "reduction", .bounds = {.min_blocks = 2}};
  EXPECT_EQ(refusal(module, options), "unsupported: specialise.min_blocks has no effect on AMD GPUs: leave it out there");
  options.specialisation.bounds = {.max_cluster = 2};
  EXPECT_EQ(refusal(module, options), "unsupported: specialise.max_cluster has no effect on AMD GPUs: leave it out there");
}

TEST(AmdgpuCompiler, ConstantsOfTheLaunch) {
  const ir::Module module = kernels_for("gfx90a");
  CompileOptions options = options_for("dimensions");
  options.specialisation.kernel = "dimensions";
  EXPECT_THAT(emitted(module, options, Stage::optimised), HasSubstr("llvm.amdgcn.implicitarg.ptr"));
  options.specialisation.dimensions = LaunchDimensions{{10, 1, 1}, {64, 4, 2}};
  const std::string fixed = emitted(module, options, Stage::optimised);
  EXPECT_THAT(fixed, Not(HasSubstr("implicitarg.ptr()\n")));
  EXPECT_THAT(fixed, HasSubstr("store i32 650")) << "640 threads in x, and 10 blocks";
  options.specialisation.dimensions.reset();
  options.specialisation.ranges = LaunchDimensions{{10, 1, 1}, {64, 4, 2}};
  const std::string bounded = emitted(module, options, Stage::specialised);
  EXPECT_THAT(bounded, ContainsRegex("call range\\(i32 0, 2\\) i32 @llvm.amdgcn.workitem.id.z"));
  EXPECT_THAT(bounded, ContainsRegex("load i16, .*!range"));
}

TEST(AmdgpuCompiler, ConstantArguments) {
  const ir::Module module = kernels_for("gfx942");
  CompileOptions options = options_for("structure");
  options.specialisation.kernel = "structure";
  ByteVector parameters(40);
  const struct {
    uint64_t out;
    int n, stride;
  } values{0x7a0000001000, 1000, 64};
  std::memcpy(parameters.data(), &values, sizeof values);
  options.specialisation.arguments = {{0, parameters}, {1, ByteVector(4)}};
  const std::string ir = emitted(module, options, Stage::optimised, "gfx942");
  EXPECT_THAT(ir, HasSubstr("1000"));
  EXPECT_TRUE(compiler("gfx942")->compile(module, options).ok());
}

TEST(AmdgpuCompiler, GlobalsAreBoundOrDefined) {
  const ir::Module module = kernels_for("gfx90a");
  CompileOptions options = options_for("global_variables");
  const CompiledCode own = compiled(module, options);
  EXPECT_THAT(own.state, testing::UnorderedElementsAre("counter", "table"));
  EXPECT_THAT(said_by("llvm-readelf --dyn-syms", own.image.bytes), ContainsRegex("OBJECT +GLOBAL PROTECTED +[0-9]+ counter"));
  options.bindings = {{"counter", DevicePtr(0x7a0000001000)}, {"table", DevicePtr(0x7a0000002000)}};
  const CompiledCode bound = compiled(module, options);
  EXPECT_TRUE(bound.state.empty());
  EXPECT_THAT(emitted(module, options, Stage::optimised), HasSubstr("inttoptr (i64 134140418592768 to ptr)"));
}

TEST(AmdgpuCompiler, FloatingPoint) {
  const ir::Module module = kernels_for("gfx90a");
  CompileOptions options = options_for("vector_add");
  options.codegen.ftz = FlushDenormals::on;
  EXPECT_THAT(emitted(module, options, Stage::assembly), HasSubstr(".amdhsa_float_denorm_mode_32 0"));
  options.codegen.ftz = FlushDenormals::off;
  EXPECT_THAT(emitted(module, options, Stage::assembly), HasSubstr(".amdhsa_float_denorm_mode_32 3"));
  const ir::Module product = parse(R"(define amdgpu_kernel void @k(ptr addrspace(1) %p, float %a, float %b) {
  %v = load float, ptr addrspace(1) %p
  %m = fmul float %v, %a
  %s = fadd float %m, %b
  store float %s, ptr addrspace(1) %p
  ret void
})");
  options = options_for("k");
  EXPECT_THAT(emitted(product, options, Stage::assembly), HasSubstr("v_mul_f32")) << "clang's flags are not on the operations";
  options.codegen.contraction = Contraction::fast;
  EXPECT_THAT(emitted(product, options, Stage::assembly), ContainsRegex("v_fma|v_fmac|v_pk_fma"));
}

TEST(AmdgpuCompiler, InlineAssembly) {
  const char* kText = R"(define amdgpu_kernel void @k(ptr addrspace(1) %%p) {
  %%v = call i32 asm "{} $0, 7", "=v"()
  store i32 %%v, ptr addrspace(1) %%p
  ret void
})";
  const auto text = [&](const std::string& instruction) {
    std::string body = kText;
    body.replace(body.find("{}"), 2, instruction);
    for (size_t at; (at = body.find("%%")) != std::string::npos;) body.erase(at, 1);
    return body;
  };
  const CompiledCode code = compiled(parse(text("v_mov_b32")), options_for("k"));
  EXPECT_THAT(compiler("gfx90a")->disassemble(code.image).value(), HasSubstr("v_mov_b32"));
  EXPECT_THAT(refusal(parse(text("v_move_it")), options_for("k")), StartsWith("unsupported: making code for gfx90a: "));
}

// What LLVM ends a process for is the failure of one compilation.
TEST(AmdgpuCompiler, AnInstructionThatTheArchitectureLacks) {
  const ir::Module module = parse(R"(
declare <4 x float> @llvm.amdgcn.mfma.f32.4x4x1f32(float, float, <4 x float>, i32, i32, i32)
define amdgpu_kernel void @k(ptr addrspace(1) %p, float %a) {
  %v = load <4 x float>, ptr addrspace(1) %p
  %r = call <4 x float> @llvm.amdgcn.mfma.f32.4x4x1f32(float %a, float %a, <4 x float> %v, i32 0, i32 0, i32 0)
  store <4 x float> %r, ptr addrspace(1) %p
  ret void
})");
  const CompiledCode has = compiled(module, options_for("k"), "gfx90a");
  EXPECT_THAT(compiler("gfx90a")->disassemble(has.image).value(), HasSubstr("v_mfma_f32_4x4x1"));
  EXPECT_THAT(refusal(module, options_for("k"), "gfx1100"),
              StartsWith("unsupported: making code for gfx1100: LLVM reported a fatal error: Cannot select"));
  EXPECT_TRUE(compiler("gfx1100")->compile(kernels_for("gfx1100"), options_for("reduction")).ok())
      << "the next is not touched by it";
}

TEST(AmdgpuCompiler, WhatIsForAnotherTargetOrNotThere) {
  EXPECT_THAT(refusal(kernels_for("gfx90a"), options_for("nobody")), HasSubstr("kernel 'nobody' is not in "));
  const std::string nvptx = "target triple = \"nvptx64-nvidia-cuda\"\ndefine ptx_kernel void @k() { ret void }";
  EXPECT_EQ(refusal(ir::Module::parse(std::as_bytes(std::span(nvptx)), "test.ll").value(), options_for("k")),
            "incompatible: compiling for gfx90a: the module is for 'nvptx64-nvidia-cuda', not for AMD GPUs");
  EXPECT_THAT(refusal(parse("declare void @nowhere()\ndefine amdgpu_kernel void @k() { call void @nowhere() ret void }"),
                      options_for("k")),
              HasSubstr("linking code for gfx90a: "));
}

// ---- device libraries

constexpr char kSine[] = R"(declare float @__ocml_sin_f32(float)
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %v = load float, ptr addrspace(1) %p
  %s = call float @__ocml_sin_f32(float %v)
  store float %s, ptr addrspace(1) %p
  ret void
})";

bool have_libraries() { return FileSystem::posix().exists("/usr/lib/x86_64-linux-gnu/amdgcn/bitcode/ocml.bc"); }

TEST(DeviceLibraries, AreLinkedAsTheIrNeedsThem) {
  if (!have_libraries()) GTEST_SKIP() << "ROCm's device libraries are not installed";
  for (const char* architecture : kArchitectures) {
    const ir::Module module = parse(kSine);
    const std::string ir = emitted(module, options_for("k"), Stage::specialised, architecture);
    EXPECT_THAT(ir, HasSubstr("define internal float @__ocml_sin_f32"));
    EXPECT_THAT(ir, Not(HasSubstr("@__ocml_cos_f32"))) << "nothing that is not needed";
    EXPECT_TRUE(compiler(architecture)->compile(module, options_for("k")).ok()) << architecture;
  }
}

// Debian's HIP headers call it; clang links no library that has it.
TEST(DeviceLibraries, TheFenceOfHipsHeadersIsThere) {
  if (!have_libraries()) GTEST_SKIP() << "ROCm's device libraries are not installed";
  const ir::Module module = parse(R"(declare void @__atomic_work_item_fence(i32, i32, i32)
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  call void @__atomic_work_item_fence(i32 1, i32 3, i32 1)
  store i32 1, ptr addrspace(1) %p
  ret void
})");
  const std::string ir = emitted(module, options_for("k"), Stage::optimised);
  EXPECT_THAT(ir, HasSubstr("fence "));
  EXPECT_THAT(ir, Not(HasSubstr("__atomic_work_item_fence")));
  EXPECT_TRUE(compiler("gfx90a")->compile(module, options_for("k")).ok());
}

// The libraries choose the extent of a block by which block it is.
TEST(DeviceLibraries, DimensionsAreConstantsInThemToo) {
  if (!have_libraries()) GTEST_SKIP() << "ROCm's device libraries are not installed";
  const ir::Module module = parse(R"(declare i64 @__ockl_get_local_size(i32)
declare i64 @__ockl_get_num_groups(i32)
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %b = call i64 @__ockl_get_local_size(i32 0)
  %g = call i64 @__ockl_get_num_groups(i32 1)
  %s = mul i64 %b, %g
  store i64 %s, ptr addrspace(1) %p
  ret void
})");
  CompileOptions options = options_for("k");
  EXPECT_THAT(emitted(module, options, Stage::optimised), HasSubstr("load i16"));
  options.specialisation = {.kernel = "k", .dimensions = LaunchDimensions{{5, 10, 1}, {64, 2, 1}}};
  const std::string fixed = emitted(module, options, Stage::optimised);
  EXPECT_THAT(fixed, HasSubstr("store i64 640")) << fixed;
  EXPECT_THAT(fixed, Not(HasSubstr("load i16")));
}

TEST(DeviceLibraries, ControlConstantsAreTheTargets) {
  const char* kText = R"(
@__oclc_ISA_version = external addrspace(4) constant i32
@__oclc_wavefrontsize64 = internal addrspace(4) constant i8 1
@__oclc_ABI_version = linkonce_odr hidden addrspace(4) constant i32 500
@__oclc_finite_only_opt = internal addrspace(4) constant i8 1
@__oclc_correctly_rounded_sqrt32 = external addrspace(4) constant i8
define amdgpu_kernel void @k(ptr addrspace(1) %p) {
  %a = load i32, ptr addrspace(4) @__oclc_ISA_version
  %b = load i8, ptr addrspace(4) @__oclc_wavefrontsize64
  %c = load i32, ptr addrspace(4) @__oclc_ABI_version
  %d = load i8, ptr addrspace(4) @__oclc_finite_only_opt
  %e = load i8, ptr addrspace(4) @__oclc_correctly_rounded_sqrt32
  store volatile i32 %a, ptr addrspace(1) %p
  store volatile i8 %b, ptr addrspace(1) %p
  store volatile i32 %c, ptr addrspace(1) %p
  store volatile i8 %d, ptr addrspace(1) %p
  store volatile i8 %e, ptr addrspace(1) %p
  ret void
})";
  CompileOptions options = options_for("k");
  options.codegen.code_object = 6;
  options.codegen.features = "+wavefrontsize32";
  const std::string ir = emitted(parse(kText), options, Stage::optimised, "gfx1100");
  for (const char* store : {"i32 11000", "i8 0", "i32 600", "i8 1"})
    EXPECT_THAT(ir, HasSubstr(std::string("store volatile ") + store)) << store;
  EXPECT_THAT(emitted(parse(kText), options_for("k"), Stage::optimised, "gfx942"), HasSubstr("store volatile i32 9402"));
}

TEST(DeviceLibraries, NothingOpenNeedsNone) {
  ir::Module module = kernels_for("gfx90a");
  ir::llvm_module(module).getFunction("mathematics")->eraseFromParent();
  EXPECT_TRUE(link_device_libraries(ir::llvm_module(module), {"/nonexistent"}).ok());
}

TEST(DeviceLibraries, WhatIsMissing) {
  ir::Module module = parse(kSine);
  EXPECT_EQ(
      link_device_libraries(ir::llvm_module(module), {"/nonexistent", "/neither"}).to_string(),
      "unavailable: linking '__ocml_sin_f32': ROCm's device libraries are not at /nonexistent, /neither; install them (Debian's "
      "package rocm-device-libs), or set ROCM_PATH to where ROCm is");
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "ocml.bc") << "no bitcode";
  EXPECT_THAT(link_device_libraries(ir::llvm_module(module), {folder.path().string()}).to_string(),
              StartsWith("incompatible: linking " + folder.path().string() + "/ocml.bc: it is no IR that this LLVM reads: "));
  if (!have_libraries()) GTEST_SKIP() << "ROCm's device libraries are not installed";
  ir::Module other = parse(
      "declare float @__ocml_no_such_f32(float)\ndefine float @f(float %x) { %y = call float @__ocml_no_such_f32(float %x) "
      "ret float %y }");
  EXPECT_EQ(link_device_libraries(ir::llvm_module(other), {"/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"}).to_string(),
            "unsupported: linking '__ocml_no_such_f32': none of the device libraries at /usr/lib/x86_64-linux-gnu/amdgcn/bitcode "
            "has it");
}

TEST(DeviceLibraries, WhereTheyAreLookedFor) {
  ::setenv("ROCM_PATH", "/rocm", 1);
  ::setenv("HIP_DEVICE_LIB_PATH", "/libraries", 1);
  const auto folders = device_library_folders();
  ::unsetenv("ROCM_PATH");
  ::unsetenv("HIP_DEVICE_LIB_PATH");
  EXPECT_THAT(folders, testing::ElementsAre("/libraries", "/rocm/amdgcn/bitcode", device_library_folder("/opt/rocm"),
                                            "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"));
  EXPECT_EQ(device_library_folders().size(), 2u);

  // A ROCm has them where its packages put them.
  const TemporaryDirectory rocm;
  const std::string home = rocm.path().string();
  EXPECT_EQ(device_library_folder(home), home + "/amdgcn/bitcode");
  for (const char* below : {"/lib/x86_64-linux-gnu/amdgcn/bitcode", "/lib/llvm/amdgcn/bitcode", "/amdgcn/bitcode"}) {
    std::filesystem::create_directories(home + below);
    std::ofstream(home + below + std::string("/ocml.bc")) << "one";
    EXPECT_EQ(device_library_folder(home), home + below);
  }
}

TEST(DeviceLibraries, TheCompilerIsNamedAfterThem) {
  const TemporaryDirectory folder;
  const std::string first = folder.path() / "first", second = folder.path() / "second";
  for (const std::string& path : {first, second}) std::filesystem::create_directory(path);
  const auto identity = [&] { return (*create_compiler("gfx942", {first, second}))->identity(); };
  const std::string without = identity();
  for (const char* library : kDeviceLibraries) std::ofstream(second + "/" + library) << "one";
  const std::string before = identity();
  EXPECT_EQ(before.rfind(without, 0), 0u);
  EXPECT_THAT(before, HasSubstr(describe_file(second + "/ocml.bc")));
  std::ofstream(second + "/ockl.bc", std::ios::app) << "another";
  EXPECT_NE(identity(), before);
  EXPECT_THAT(identity(), HasSubstr(describe_file(second + "/ockl.bc")));
  std::ofstream(first + "/ocml.bc") << "nearer";
  EXPECT_THAT(identity(), HasSubstr(describe_file(first + "/ocml.bc")));
}

// Deployed code. A variable of constant memory is reached as others are: it lies in global memory.
TEST(AmdgpuCompiler, VariablesAreReachedThroughATable) {
  for (const char* architecture : kArchitectures) {
    CompileOptions options = options_for("global_variables");
    options.variable_table = {"table", "not_there", "counter"};
    const ir::Module module = kernels_for(architecture);
    const std::string ir = emitted(module, options, Stage::optimised, architecture);
    EXPECT_THAT(ir, HasSubstr("addrspace(4) externally_initialized global [3 x ptr] [ptr addrspacecast (ptr "
                              "addrspace(4) @table to ptr), ptr null, ptr addrspacecast (ptr addrspace(1) @counter to ptr)]"));
    EXPECT_THAT(ir, Not(ContainsRegex("(load|store) [^\n]*@(table|counter)")));
    const CompiledCode code = compiled(module, options, architecture);
    EXPECT_THAT(code.state, testing::UnorderedElementsAre("table", "counter", "__mneme_variables"));
    EXPECT_THAT(said_by("llvm-readelf --dyn-symbols", code.image.bytes), HasSubstr("__mneme_variables"));
  }
}

}  // namespace
}  // namespace mneme::amdgpu
