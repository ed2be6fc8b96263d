#include "mneme/compile/pipeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Support/ErrorHandling.h>

#include <map>

#include "mneme/compile/fatal_error.h"
#include "mneme/compile/prepare.h"
#include "mneme/ir/access.h"

namespace mneme {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::StartsWith;
using testing::UnorderedElementsAre;

ir::Module parse(std::string_view body) {
  const std::string text =
      "target datalayout = \"e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64\"\n"
      "target triple = \"nvptx64-nvidia-cuda\"\n" +
      std::string(body);
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return std::move(module).value();
}

Status run(ir::Module& module, const std::string& pipeline) {
  auto machine = create_target_machine(ir::llvm_module(module), {.cpu = "sm_90", .features = ""});
  if (!machine.ok()) return machine.status();
  return run_pipeline(ir::llvm_module(module), **machine, pipeline);
}

TEST(Prepare, DefinesClangsBuiltinVariables) {
  ir::Module module = parse(
      "%empty = type { i8 }\n"
      "@threadIdx = extern_weak addrspace(1) global %empty\n"
      "declare i32 @convert(ptr)\n"
      "define ptx_kernel void @k() {\n"
      "  %x = call i32 @convert(ptr addrspacecast (ptr addrspace(1) @threadIdx to ptr))\n"
      "  ret void\n"
      "}\n");
  ASSERT_TRUE(prepare_module(ir::llvm_module(module), {}, "sm_90", Linkage::recorded).ok());
  EXPECT_THAT(module.print(), HasSubstr("@threadIdx = internal addrspace(1) constant %empty zeroinitializer"));
}

TEST(Pipeline, RunsAnyString) {
  for (const char* pipeline :
       {"default<O0>", "default<O1>", "default<O3>", "sroa,instcombine,function(gvn)", "function(instcombine<max-iterations=2>)",
        "instcombine<>", "function(instcombine<verify-fixpoint>,simplifycfg)", "infer-address-spaces"}) {
    ir::Module module = parse("define i32 @f(i32 %x) { %a = add i32 %x, 0 ret i32 %a }");
    const Status status = run(module, pipeline);
    EXPECT_TRUE(status.ok()) << pipeline << ": " << status.to_string();
  }
}

TEST(Pipeline, AStringThatDoesNotParseIsToldInLlvmsWords) {
  ir::Module module = parse("define void @f() { ret void }");
  const Status status = run(module, "default<O3>,no-such-pass");
  EXPECT_EQ(status.code(), Code::invalid_argument);
  EXPECT_EQ(status.message(), "pass pipeline 'default<O3>,no-such-pass' does not parse: unknown module pass 'no-such-pass'");
}

TEST(Pipeline, TheNearestPassIsSuggested) {
  ir::Module module = parse("define void @f() { ret void }");
  auto suggested = [&](const std::string& pipeline) {
    const std::string words = run(module, pipeline).message();
    return words.substr(std::min(words.find("; "), words.size()));
  };
  EXPECT_EQ(suggested("function(instcombin,gvn)"), "; did you mean 'instcombine'?");
  EXPECT_EQ(suggested("smiplifycfg"), "; did you mean 'simplifycfg'?");
  EXPECT_EQ(suggested("function(loop(licm,indvar))"), "; did you mean 'indvars'?");
  EXPECT_EQ(suggested("defualt<O3>"), "; did you mean 'default'?");
  EXPECT_EQ(suggested("function(lop-unroll<O2>)"), "; did you mean 'loop-unroll'?");
  EXPECT_EQ(suggested("something-else-altogether"), "");
  EXPECT_EQ(suggested("default<03>"), "; did you mean 'O3'?");
  EXPECT_EQ(suggested("default<3>"), "; did you mean 'O3'?");
  EXPECT_EQ(suggested("default<o0>,instcombine"), "; did you mean 'O0'?");
  EXPECT_EQ(suggested("default<-Os>"), "; did you mean 'Os'?");
  EXPECT_EQ(suggested("lto-pre-link<02>"), "; did you mean 'O2'?");
  EXPECT_EQ(suggested("default<O9>"), "; the levels are O0, O1, O2, O3, Os and Oz");
  EXPECT_EQ(suggested("default"), "; the levels are O0, O1, O2, O3, Os and Oz");
  EXPECT_EQ(suggested("instcombine,default<O3>"),
            "; it is for a module: write function(...) around the passes of functions that stand before it");
  EXPECT_TRUE(run(module, "function(instcombine),default<O3>").ok());
}

TEST(Pipeline, AFatalErrorOfLlvmIsAStatus) {
  bool abandoned = false;
  const Status status = run_llvm([]() -> Status { llvm::report_fatal_error("this cannot be"); }, &abandoned);
  EXPECT_TRUE(abandoned);
  EXPECT_EQ(status.code(), Code::internal);
  EXPECT_EQ(status.message(), "LLVM reported a fatal error: this cannot be");
  EXPECT_TRUE(run_llvm([] { return Status(); }, &abandoned).ok());
  EXPECT_FALSE(abandoned);
}

TEST(Prepare, KeepsTheKernelsAndFoldsReflect) {
  ir::Module module = parse(R"(
@.arch = private unnamed_addr addrspace(1) constant [12 x i8] c"__CUDA_ARCH\00"
declare i32 @__nvvm_reflect(ptr)
declare void @old()
define weak_odr void @helper() noinline optnone {
  %arch = call i32 @__nvvm_reflect(ptr addrspacecast (ptr addrspace(1) @.arch to ptr))
  %new = icmp sge i32 %arch, 350
  br i1 %new, label %yes, label %no
yes:
  ret void
no:
  call void @old()
  ret void
}
define ptx_kernel void @kept() noinline { call void @helper() ret void }
define ptx_kernel void @other() { ret void }
)");
  ASSERT_TRUE(prepare_module(ir::llvm_module(module), {"kept"}, "sm_90", Linkage::recorded).ok());
  EXPECT_TRUE(module.verify().ok());
  const std::string printed = module.print();
  EXPECT_THAT(printed, HasSubstr("define weak_odr void @helper() {"));
  EXPECT_THAT(printed, Not(HasSubstr("call void @old")));
  EXPECT_THAT(printed, Not(HasSubstr("@other")));
  EXPECT_THAT(printed, HasSubstr("define ptx_kernel void @kept() #"));
}

TEST(Prepare, AReflectIsFoldedByEveryNameAndWhereverItIsUsed) {
  ir::Module module = parse(R"(
@.arch = private unnamed_addr addrspace(1) constant [12 x i8] c"__CUDA_ARCH\00"
declare i32 @__nvvm_reflect(ptr)
declare i32 @__nvvm_reflect_ocl(ptr addrspace(4))
declare i32 @llvm.nvvm.reflect(ptr)
define ptx_kernel void @k(ptr %out) {
  %a = call i32 @__nvvm_reflect(ptr addrspacecast (ptr addrspace(1) @.arch to ptr))
  %b = call i32 @__nvvm_reflect_ocl(ptr addrspace(4) addrspacecast (ptr addrspace(1) @.arch to ptr addrspace(4)))
  %c = call i32 @llvm.nvvm.reflect(ptr addrspacecast (ptr addrspace(1) @.arch to ptr))
  %twice = add i32 %a, %a
  %more = add i32 %twice, %b
  %all = add i32 %more, %c
  store i32 %all, ptr %out
  ret void
}
)");
  ASSERT_TRUE(prepare_module(ir::llvm_module(module), {"k"}, "sm_90", Linkage::recorded).ok());
  EXPECT_TRUE(module.verify().ok());
  EXPECT_THAT(module.print(), HasSubstr("store i32 3600, ptr %out"));
}

TEST(Prepare, AMissingKernelIsNamedWithThoseThatAreThere) {
  ir::Module module = parse("define ptx_kernel void @a() { ret void }\ndefine ptx_kernel void @b() { ret void }");
  const Status status = prepare_module(ir::llvm_module(module), {"c"}, "sm_90", Linkage::recorded);
  EXPECT_EQ(status.code(), Code::not_found);
  EXPECT_EQ(status.message(), "kernel 'c' is not in test.ll, which has a, b");
}

TEST(Prepare, StateIsNeverFolded) {
  constexpr std::string_view text = R"(
@table = internal addrspace(4) externally_initialized constant [2 x i32] [i32 11, i32 12]
@count = internal addrspace(1) externally_initialized global i32 7
@fixed = weak_odr addrspace(1) constant i32 42
define ptx_kernel void @k(ptr %out) {
  %a = load i32, ptr addrspacecast (ptr addrspace(4) @table to ptr)
  %b = load i32, ptr addrspacecast (ptr addrspace(1) @count to ptr)
  %c = load i32, ptr addrspacecast (ptr addrspace(1) @fixed to ptr)
  %ab = xor i32 %a, %b
  %abc = xor i32 %ab, %c
  store i32 %abc, ptr %out
  ret void
}
)";
  for (const char* pipeline : {"default<O3>", "globalopt,ipsccp,default<O2>", "internalize,globalopt,default<O3>"}) {
    ir::Module module = parse(text);
    ASSERT_TRUE(prepare_module(ir::llvm_module(module), {}, "sm_90", Linkage::recorded).ok());
    ASSERT_TRUE(run(module, pipeline).ok());
    if (std::string_view(pipeline).starts_with("internalize")) continue;  // asked for by name, and still no folding below
    const std::string printed = module.print();
    EXPECT_THAT(printed, HasSubstr("@table")) << pipeline;
    EXPECT_THAT(printed, HasSubstr("@count")) << pipeline;
    EXPECT_THAT(printed, HasSubstr(", 42")) << pipeline;  // of @fixed
  }
}

TEST(Prepare, LinkagesAreAsRecordedOrInternal) {
  constexpr std::string_view text = R"(
@odr = linkonce_odr addrspace(1) constant i32 1
@own = internal addrspace(1) constant i32 2
@elsewhere = available_externally addrspace(1) constant i32 3
@state = weak_odr addrspace(1) global i32 4
define linkonce_odr i32 @once() { ret i32 1 }
define weak i32 @replaced() { ret i32 2 }
define i32 @seen() { ret i32 3 }
define internal i32 @local() { ret i32 4 }
define available_externally i32 @provided() { ret i32 5 }
define ptx_kernel void @child() { ret void }
define ptx_kernel void @k(ptr %out) { store ptr @child, ptr %out ret void }
)";
  const auto linkages = [&](Linkage linkage) {
    ir::Module module = parse(text);
    EXPECT_TRUE(prepare_module(ir::llvm_module(module), {"k"}, "sm_90", linkage).ok());
    std::map<std::string, llvm::GlobalValue::LinkageTypes> all;
    for (const llvm::GlobalValue& value : ir::llvm_module(module).global_values())
      all[value.getName().str()] = value.getLinkage();
    return all;
  };
  using Value = llvm::GlobalValue;
  EXPECT_THAT(linkages(Linkage::recorded),
              UnorderedElementsAre(Pair("odr", Value::LinkOnceODRLinkage), Pair("own", Value::InternalLinkage),
                                   Pair("elsewhere", Value::InternalLinkage), Pair("state", Value::ExternalLinkage),
                                   Pair("once", Value::LinkOnceODRLinkage), Pair("replaced", Value::WeakAnyLinkage),
                                   Pair("seen", Value::ExternalLinkage), Pair("local", Value::InternalLinkage),
                                   Pair("provided", Value::InternalLinkage), Pair("child", Value::InternalLinkage),
                                   Pair("k", Value::ExternalLinkage)));
  for (const auto& [name, linkage] : linkages(Linkage::internal))
    EXPECT_EQ(linkage, name == "k" || name == "state" ? Value::ExternalLinkage : Value::InternalLinkage) << name;
}

TEST(Prepare, WhatIsNotReachedAfterThePipelineGoesAndStateStays) {
  ir::Module module = parse(R"(
@table = addrspace(1) constant i32 1
@read = weak_odr addrspace(1) constant i32 2
@state = addrspace(1) externally_initialized global i32 3
define void @gone() { call void @gone2() ret void }
define weak void @gone2() { call void @gone() ret void }
define void @called() noinline { store i32 7, ptr addrspacecast (ptr addrspace(1) @state to ptr) ret void }
define weak i32 @weak() noinline { %v = load i32, ptr addrspacecast (ptr addrspace(1) @read to ptr) ret i32 %v }
define internal void @own() { ret void }
define ptx_kernel void @k(ptr %out) { call void @called() %v = call i32 @weak() store i32 %v, ptr %out ret void }
)");
  auto machine = create_target_machine(ir::llvm_module(module), {.cpu = "sm_90", .features = ""});
  ASSERT_TRUE(machine.ok());
  ASSERT_TRUE(drop_unreached(ir::llvm_module(module), **machine).ok());
  std::map<std::string, llvm::GlobalValue::LinkageTypes> left;
  for (const llvm::GlobalValue& value : ir::llvm_module(module).global_values()) left[value.getName().str()] = value.getLinkage();
  using Value = llvm::GlobalValue;
  EXPECT_THAT(left, UnorderedElementsAre(Pair("read", Value::LinkOnceODRLinkage), Pair("state", Value::ExternalLinkage),
                                         Pair("called", Value::LinkOnceODRLinkage), Pair("weak", Value::LinkOnceAnyLinkage),
                                         Pair("k", Value::ExternalLinkage)));
}

// LLVM's inliner takes a function that nobody else can call into its only caller, however long it is.
TEST(Prepare, AFunctionThatOthersMayCallIsNotTakenIntoItsOnlyCaller) {
  std::string body;
  for (int i = 0; i < 1000; ++i) body += fmt::format("  %v{} = call float @llvm.sqrt.f32(float %v{})\n", i + 1, i);
  const std::string text = "declare float @llvm.sqrt.f32(float)\ndefine linkonce_odr float @long(float %v0) {\n" + body +
                           "  ret float %v1000\n}\n"
                           "define ptx_kernel void @k(ptr %out, float %x) {\n"
                           "  %y = call float @long(float %x)\n  store float %y, ptr %out\n  ret void\n}\n";
  for (Linkage linkage : {Linkage::recorded, Linkage::internal}) {
    ir::Module module = parse(text);
    ASSERT_TRUE(prepare_module(ir::llvm_module(module), {"k"}, "sm_90", linkage).ok());
    ASSERT_TRUE(run(module, "default<O3>").ok());
    EXPECT_EQ(module.print().find("call float @long") == std::string::npos, linkage == Linkage::internal);
  }
}

TEST(Prepare, BoundGlobalsBecomeTheirAddressAlsoInInitialisers) {
  ir::Module module = parse(R"(
@count = addrspace(1) global i32 7
@table = addrspace(4) externally_initialized global [2 x i32] zeroinitializer
@pointer = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @count to ptr)
define ptx_kernel void @k(ptr %out) {
  %a = load i32, ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(4) @table to ptr), i64 4)
  %b = load i32, ptr addrspace(1) @count
  %c = add i32 %a, %b
  store i32 %c, ptr %out
  ret void
}
)");
  ASSERT_TRUE(bind_globals(ir::llvm_module(module),
                           {{"count", DevicePtr(0x1000)}, {"table", DevicePtr(0x2000)}, {"absent", DevicePtr(1)}})
                  .ok());
  EXPECT_TRUE(module.verify().ok());
  const std::string printed = module.print();
  EXPECT_THAT(printed, HasSubstr("@pointer = addrspace(1) global ptr inttoptr (i64 4096 to ptr)"));
  EXPECT_THAT(printed, HasSubstr("load i32, ptr getelementptr (i8, ptr inttoptr (i64 8192 to ptr), i64 4)"));
  EXPECT_THAT(printed, HasSubstr("load i32, ptr addrspace(1) inttoptr (i64 4096 to ptr addrspace(1))"));
  EXPECT_THAT(printed, Not(HasSubstr("@count =")));
}

TEST(Prepare, OnlyStateCanBeBound) {
  ir::Module module = parse("@tile = internal addrspace(3) global [4 x i32] undef\ndefine void @f() { ret void }");
  EXPECT_EQ(bind_globals(ir::llvm_module(module), {{"tile", DevicePtr(0x1000)}}).message(),
            "binding 'tile' to address 0x1000: it is no variable of the application's state");
  EXPECT_EQ(bind_globals(ir::llvm_module(module), {{"f", DevicePtr(0x1000)}}).message(),
            "binding 'f' to address 0x1000: it is a function");
}

// Two loads and two stores of half precision side by side, and a loop of eight rounds.
constexpr std::string_view kLoop = R"(
define ptx_kernel void @k(ptr align 4 %a, ptr %b) {
entry:
  %a1 = getelementptr half, ptr %a, i64 1
  %x0 = load half, ptr %a, align 4
  %x1 = load half, ptr %a1, align 2
  %y0 = fmul half %x0, %x0
  %y1 = fmul half %x1, %x1
  store half %y0, ptr %a, align 4
  store half %y1, ptr %a1, align 2
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %loop]
  %p = getelementptr i32, ptr %b, i64 %i
  store volatile i32 7, ptr %p
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 8
  br i1 %more, label %loop, label %done
done:
  ret void
}
)";

Status run_as_built(ir::Module& module, const std::string& pipeline, const std::string& as_built) {
  auto machine = create_target_machine(ir::llvm_module(module), {.cpu = "sm_90", .features = ""});
  return machine.ok() ? run_pipeline(ir::llvm_module(module), **machine, pipeline, {}, as_built) : machine.status();
}

TEST(AsBuilt, IsClangsPipelineOfTheLevelAndTunedAsClangTunesIt) {
  const auto optimised = [](const std::string& pipeline, const std::string& as_built) {
    ir::Module module = parse(kLoop);
    const Status status = run_as_built(module, pipeline, as_built);
    EXPECT_TRUE(status.ok()) << status.to_string();
    return module.print();
  };
  const auto loops = [](const std::string& text) { return text.find("phi i64") != std::string::npos; };
  const auto vectors = [](const std::string& text) { return text.find("fmul <2 x half>") != std::string::npos; };
  const std::string o1 = optimised("as-built", "default<O1>"), o2 = optimised("as-built", "default<O2>");
  EXPECT_TRUE(loops(o1));
  EXPECT_FALSE(vectors(o1));
  EXPECT_FALSE(loops(o2));
  EXPECT_TRUE(vectors(o2));
  EXPECT_TRUE(vectors(optimised("as-built", "default<O3>")));
  EXPECT_TRUE(vectors(optimised("as-built", "default<Os>")));
  EXPECT_TRUE(vectors(optimised("as-built", "default<Oz>")));
  EXPECT_FALSE(loops(optimised("default<O1>", "")));  // as opt has it
  EXPECT_EQ(optimised("as-built", "default<O0>"), optimised("default<O0>", ""));
  // Among others, also by name.
  EXPECT_EQ(optimised("function(mem2reg),as-built,function(gvn)", "default<O2>"), o2);
}

TEST(AsBuilt, IsAnErrorWhereNobodyKnows) {
  for (const char* unknown : {"", "thinlto<O2>", "default<O9>", "default<O2>,gvn"}) {
    ir::Module module = parse(kLoop);
    EXPECT_EQ(
        run_as_built(module, "as-built", unknown).to_string(),
        "invalid_argument: pass pipeline 'as-built' does not parse: unknown pass name 'as-built'; it is what a recorded kernel "
        "was compiled with, and that is not known here: name a pipeline, as default<O3>");
  }
  ir::Module module = parse(kLoop);
  EXPECT_THAT(run_as_built(module, "function(as-built)", "default<O2>").message(), HasSubstr("; it is for a module"));
  EXPECT_THAT(run_as_built(module, "asbuilt", "default<O2>").message(), HasSubstr("did you mean 'as-built'?"));
}

TEST(AsBuilt, IsFoundAsAWholeName) {
  for (const char* named : {"as-built", "as-built,gvn", "gvn,as-built", "module(as-built)"}) EXPECT_TRUE(names_as_built(named));
  for (const char* other : {"", "default<O3>", "as-built2", "x-as-built", "as-built-too", "as_built"})
    EXPECT_FALSE(names_as_built(other)) << other;
  EXPECT_EQ(replace_as_built("as-built,x-as-built,module(as-built)", "default<O1>"),
            "default<O1>,x-as-built,module(default<O1>)");
}

TEST(AsBuilt, HasTheCodeGeneratorsLevelTooUnlessAnotherIsAskedFor) {
  const auto level = [](const char* passes, const char* as_built, unsigned asked) {
    CompileOptions options;
    options.passes = passes;
    options.as_built = as_built;
    options.codegen.level = asked;
    return codegen_level(options);
  };
  EXPECT_EQ(level("as-built", "default<O0>", 3), 0u);
  EXPECT_EQ(level("as-built", "default<O1>", 3), 1u);
  EXPECT_EQ(level("as-built,function(gvn)", "default<O2>", 3), 2u);
  EXPECT_EQ(level("as-built", "default<Os>", 3), 2u);
  EXPECT_EQ(level("as-built", "default<O2>", 1), 1u);
  EXPECT_EQ(level("as-built", "", 3), 3u);
  EXPECT_EQ(level("default<O1>", "default<O2>", 3), 3u);
}

TEST(AsBuilt, HasTheAssemblersLevelTooUnlessOneIsAskedFor) {
  const auto level = [](const char* passes, const char* as_built, std::optional<unsigned> asked = {}) {
    CompileOptions options;
    options.passes = passes;
    options.as_built = as_built;
    options.assembler.level = asked;
    return assembler_options(options).level;
  };
  EXPECT_EQ(level("as-built", "default<O1>"), 1u);
  EXPECT_EQ(level("as-built,function(gvn)", "default<Oz>"), 2u);
  EXPECT_EQ(level("as-built", "default<O3>"), std::nullopt) << "the assembler's own";
  EXPECT_EQ(level("as-built", "default<O1>", 4), 4u);
  EXPECT_EQ(level("as-built", ""), std::nullopt);
  EXPECT_EQ(level("default<O1>", "default<O1>"), std::nullopt);
}

TEST(RunPipeline, NamesLevelsOfTheCompilerAsPipelines) {
  ir::Module module = parse("");
  EXPECT_EQ(run(module, "O3").message(), "pass pipeline 'O3' does not parse: unknown pass name 'O3'; it is written default<O3>");
  EXPECT_EQ(run(module, "").message(),
            "pass pipeline '' does not parse: unknown pass name ''; the least there is, is default<O0>");
}

TEST(Pipeline, OtherSpellingsOfALevelAndOfAPassThatStopsAtAFixpoint) {
  ir::Module module = parse("define i32 @f(i32 %x) { %a = add i32 %x, 0 ret i32 %a }");
  EXPECT_THAT(run(module, "-O3").message(), HasSubstr("; it is written default<O3>"));
  EXPECT_TRUE(run(module, "function(aggressive-instcombine,instcombine)").ok());
}

TEST(Pipeline, MemoryThatLlvmDoesNotGetIsAStatusToo) {
  bool abandoned = false;
  const Status status = run_llvm([]() -> Status { llvm::report_bad_alloc_error("Allocation failed"); }, &abandoned);
  EXPECT_EQ(status.code(), Code::exhausted) << status.to_string();
}

TEST(PipelineDeathTest, AFatalErrorAfterARunEndsTheProcess) {
  bool abandoned = false;
  EXPECT_TRUE(run_llvm([] { return Status(); }, &abandoned).ok());
  EXPECT_DEATH(llvm::report_fatal_error("outside"), "LLVM ERROR: outside");
}

TEST(Prepare, AnAliasThatIsSeenGivesItsNameToWhatIsNot) {
  ir::Module module = parse("@seen = alias void (), ptr @hidden\ndefine internal ptx_kernel void @hidden() { ret void }");
  ASSERT_TRUE(prepare_module(ir::llvm_module(module), {"seen"}, "sm_90", Linkage::recorded).ok());
  EXPECT_THAT(module.print(), HasSubstr("define dso_local ptx_kernel void @seen()"));
}

TEST(Prepare, OnlyAKernelCanBeKeptAndOneThatIsCalledStays) {
  constexpr std::string_view text =
      "define void @plain() { ret void }\n"
      "define ptx_kernel void @child() { ret void }\n"
      "define ptx_kernel void @k(ptr %out) { store ptr @child, ptr %out ret void }\n";
  ir::Module refused = parse(text), kept = parse(text);
  EXPECT_EQ(prepare_module(ir::llvm_module(refused), {"plain"}, "sm_90", Linkage::recorded).code(), Code::not_found);
  ASSERT_TRUE(prepare_module(ir::llvm_module(kept), {"k"}, "sm_90", Linkage::recorded).ok());
  EXPECT_TRUE(kept.verify().ok());
  EXPECT_THAT(kept.print(), HasSubstr("define internal ptx_kernel void @child()"));
}

TEST(Prepare, DropsWhatALinkerWouldLookAt) {
  ir::Module module = parse(R"(
$f = comdat any
$v = comdat any
@v = linkonce_odr addrspace(1) global i32 1, comdat
@state = internal unnamed_addr addrspace(1) externally_initialized global i32 7
@table = addrspace(4) externally_initialized constant i32 11
@llvm.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @v to ptr)], section "llvm.metadata"
@llvm.compiler.used = appending global [1 x ptr] [ptr addrspacecast (ptr addrspace(1) @state to ptr)], section "llvm.metadata"
define weak_odr ptx_kernel void @f() comdat { ret void }
)");
  ASSERT_TRUE(prepare_module(ir::llvm_module(module), {}, "sm_90", Linkage::recorded).ok());
  const std::string printed = module.print();
  EXPECT_THAT(printed, Not(HasSubstr(", comdat")));
  EXPECT_THAT(printed, Not(HasSubstr(") comdat")));
  EXPECT_THAT(printed, Not(HasSubstr("unnamed_addr")));
  EXPECT_THAT(printed, Not(HasSubstr("@llvm.")));
  EXPECT_THAT(printed, HasSubstr("@table = addrspace(4) externally_initialized global i32 11"));
}

TEST(Prepare, OnlyClangsOwnUndefinedVariablesAreDefined) {
  ir::Module module = parse("@threadIdx = addrspace(1) externally_initialized global i32 5\n");
  ASSERT_TRUE(prepare_module(ir::llvm_module(module), {}, "sm_90", Linkage::recorded).ok());
  EXPECT_THAT(module.print(), HasSubstr("@threadIdx = addrspace(1) externally_initialized global i32 5"));
}

TEST(Prepare, StateGetsANameThatCanBeLookedUp) {
  constexpr std::string_view text =
      "@\"a.b\" = internal addrspace(1) externally_initialized global i32 7\n@\"c.d\" = addrspace(1) global i32 8\n"
      "@e = internal addrspace(1) externally_initialized global i32 9\n";
  ir::Module any = parse(text), identifiers = parse(text);
  EXPECT_THAT(expose_state(ir::llvm_module(any), AllowedNames::any), testing::ElementsAre("mneme_state_0", "c.d", "e"));
  EXPECT_THAT(any.print(), HasSubstr("@mneme_state_0 = dso_local addrspace(1) externally_initialized global"));
  EXPECT_THAT(any.print(), HasSubstr("@e = dso_local addrspace(1) externally_initialized global"));
  EXPECT_THAT(expose_state(ir::llvm_module(identifiers), AllowedNames::identifiers),
              testing::ElementsAre("mneme_state_0", "mneme_state_1", "e"));
}

TEST(Pipeline, WhatAFatalErrorLeftHalfDoneIsNotTouchedAgain) {
  const ir::Module module = parse("define void @f() { ret void }");
  llvm::WeakVH seen;
  const Status status = run_llvm_on_copy(module, [&](llvm::Module& copy) -> Status {
    seen = copy.getFunction("f");
    llvm::report_fatal_error("this cannot be");
  });
  EXPECT_EQ(status.code(), Code::internal);
  EXPECT_TRUE(seen);
}

// Two rounds are needed here: that the stores are the same is only seen when the one between them is gone.
TEST(Pipeline, APassThatIsNotDoneIsAFailureOnlyWhereItIsAskedFor) {
  constexpr std::string_view text =
      "define i32 @f(ptr %out) {\n  %local = alloca i32\n  store i32 3, ptr %out\n  store i32 4, ptr %local\n"
      "  store i32 3, ptr %out\n  %v = load i32, ptr %local\n  ret i32 %v\n}\n";
  const auto status = [&](const std::string& pipeline) {
    return run_llvm_on_copy(parse(text), [&](llvm::Module& module) -> Status {
      MNEME_ASSIGN(auto machine, create_target_machine(module, {.cpu = "sm_90", .features = ""}));
      return run_pipeline(module, *machine, pipeline);
    });
  };
  for (const char* pipeline : {"instcombine", "instcombine<>", "instcombine<max-iterations=1>",
                               "instcombine<max-iterations=1>,instcombine<max-iterations=1>,instcombine<verify-fixpoint>"})
    EXPECT_TRUE(status(pipeline).ok()) << pipeline << ": " << status(pipeline).to_string();
  EXPECT_THAT(status("instcombine<verify-fixpoint>").message(), HasSubstr("did not reach a fixpoint"));
}

}  // namespace
}  // namespace mneme
