#include "mneme/ir/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/ir/analysis.h"
#include "mneme/ir/global.h"
#include "mneme/ir/instruction.h"
#include "mneme/ir/metadata.h"
#include "mneme/ir/module_ref.h"
#include "mneme/ir/value.h"

namespace mneme::ir {
namespace {

struct Example {
  ModuleRef module = *ModuleRef::create("test", "nvptx64-nvidia-cuda", "");
  ValueRef function = *module.add_function("f", *module.type("float (float, i32)"), "external");
  ValueRef block = *add_block(function, "entry", std::nullopt);
  ValueRef x = arguments(function)->front();
  ValueRef n = arguments(function)->back();
  Builder build = *Builder::at_end(block);
};

TEST(Builder, MakesWhatLlvmWouldFold) {
  Example example;
  const ValueRef two = *floating(*example.module.type("float"), 2);
  const ValueRef four = *example.build.binary("fmul", two, two, "four");
  ASSERT_TRUE(example.build.ret(four).ok());
  EXPECT_TRUE(example.module.verify().ok());
  EXPECT_EQ(*print(four), "  %four = fmul float 2.000000e+00, 2.000000e+00");
}

TEST(Builder, RefusesWhatDoesNotFit) {
  Example example;
  EXPECT_EQ(example.build.binary("fadd", example.x, example.n, "").status().message(),
            "building fadd in basic block '%entry': the one operand is of type float, the other of type i32");
  EXPECT_EQ(example.build.binary("add", example.x, example.x, "").status().message(),
            "building add in basic block '%entry': there is none for operands of type float");
  EXPECT_EQ(example.build.load(*example.module.type("i32"), example.n, {}, "").status().message(),
            "building load in basic block '%entry': argument '%1' is of type i32, and no pointer");
  EXPECT_EQ(example.build.call(example.function, {example.x}, std::nullopt, "").status().message(),
            "building call in basic block '%entry': it takes 2 arguments, not 1");
  EXPECT_TRUE(block_instructions(example.block)->empty());
}

TEST(Builder, AddsNothingBehindTheEnd) {
  Example example;
  ASSERT_TRUE(example.build.ret(example.x).ok());
  EXPECT_EQ(example.build.unreachable().status().message(),
            "building unreachable in basic block '%entry': the block ends in instruction 'ret float %0' already");
  const Builder before = *Builder::before(block_instructions(example.block)->back());
  EXPECT_TRUE(before.negate(example.x, "y").ok());
  EXPECT_TRUE(example.module.verify().ok());
}

TEST(Builder, FindsAnIntrinsicsTypes) {
  Example example;
  const ValueRef sum = *example.build.intrinsic("llvm.fma", {example.x, example.x, example.x}, std::nullopt, "sum");
  EXPECT_EQ(*name_of(called_function(sum)->value()), "llvm.fma.f32");
  EXPECT_EQ(example.build.intrinsic("llvm.fma", {example.n}, std::nullopt, "").status().message(),
            "building llvm.fma in basic block '%entry': it does not take (i32), or its result must be told");
}

// entry → loop ⟲ → end, eight times.
constexpr std::string_view kLoop =
    "define void @f(ptr %p) {\n"
    "entry: br label %loop\n"
    "loop: %i = phi i32 [ 0, %entry ], [ %next, %loop ]\n"
    "  %v = load float, ptr %p\n"
    "  %w = fmul float %v, 2.0\n"
    "  store float %w, ptr %p\n"
    "  %next = add i32 %i, 1\n"
    "  %again = icmp ult i32 %next, 8\n"
    "  br i1 %again, label %loop, label %end\n"
    "end: call void @f(ptr %p)\n"
    "  ret void }\n";

struct Looping {
  ModuleRef module = ModuleRef(std::move(Module::parse(std::as_bytes(std::span(kLoop)), "loop.ll")).value());
  ValueRef function = module.functions()->front();
};

TEST(Analysis, FindsLoops) {
  const Looping example;
  const auto found = loops(example.function);
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 1u);
  const Loop& loop = found->front();
  EXPECT_EQ(*name_of(loop.header), "loop");
  EXPECT_EQ(*name_of(*loop.preheader), "entry");
  EXPECT_EQ(loop.trip_count, 8u);
  EXPECT_EQ(*name_of(*loop.induction), "i");
}

TEST(Analysis, FindsDominatorsAndCalls) {
  const Looping example;
  const auto nodes = dominators(example.function, Direction::from_entry);
  ASSERT_EQ(nodes->size(), 3u);
  EXPECT_FALSE(nodes->front().immediate);
  EXPECT_EQ(*name_of(*nodes->back().immediate), "loop");
  const auto edges = call_graph(example.module);
  ASSERT_EQ(edges->size(), 1u);
  EXPECT_EQ(*edges->front().callee, example.function);
}

TEST(Analysis, CountsFeatures) {
  const Looping example;
  const std::vector<double> numbers = *features(example.function);
  ASSERT_EQ(numbers.size(), feature_names().size());
  const auto feature = [&](const std::string& name) {
    return numbers[std::find(feature_names().begin(), feature_names().end(), name) - feature_names().begin()];
  };
  EXPECT_EQ(feature("instructions"), 10);
  EXPECT_EQ(feature("instructions_in_loops"), 7);
  EXPECT_EQ(feature("weighted_instructions"), 73);
  EXPECT_EQ(feature("arithmetic_intensity"), 1.0 / 8);
  EXPECT_EQ(feature("calls"), 1);
  EXPECT_EQ(feature("stores_in_loops"), 1);
}

TEST(Builder, PhisStandBeforeAllElse) {
  Example example;
  const ValueRef negated = *example.build.negate(example.x, "y");
  const ValueRef phi = *example.build.phi(*example.module.type("float"), "z");
  EXPECT_EQ(*block_instructions(example.block), (std::vector<ValueRef>{phi, negated}));
  EXPECT_THAT(Builder::before(phi)->negate(example.x, "").status().message(),
              testing::HasSubstr(" follows, and only phis stand before a phi"));
}

TEST(Builder, BranchesGoWhereTheyAreTold) {
  Example example;
  const ValueRef then = *add_block(example.function, "then", std::nullopt),
                 otherwise = *add_block(example.function, "otherwise", std::nullopt);
  EXPECT_FALSE(example.build.conditional_branch(example.n, then, otherwise).ok());
  EXPECT_FALSE(example.build.ret(example.n).ok());
  EXPECT_FALSE(example.build.switch_on(example.n, otherwise, {{*integer(*example.module.type("i64"), "1"), then}}).ok());
  const ValueRef condition = *example.build.compare("sle", example.n, example.n, "c");
  EXPECT_EQ(*print(*example.build.conditional_branch(condition, then, otherwise)), "  br i1 %c, label %then, label %otherwise");
  EXPECT_EQ(*successors(example.block), (std::vector<ValueRef>{then, otherwise}));
}

TEST(Builder, RefusesElementsAndLanesThatDoNotFit) {
  Example example;
  const ValueRef pair = *special(*example.module.type("{ float, i32 }"), Special::undef);
  EXPECT_FALSE(example.build.insert_value(pair, example.n, {0}, "").ok());
  EXPECT_TRUE(example.build.insert_value(pair, example.n, {1}, "").ok());
  const ValueRef two = *special(*example.module.type("<2 x i1>"), Special::null);
  const ValueRef four = *special(*example.module.type("<4 x float>"), Special::null);
  EXPECT_FALSE(example.build.select(two, four, four, "").ok());
  EXPECT_FALSE(example.build.call(example.function, {example.x, example.n, example.n}, std::nullopt, "").ok());
}

TEST(Builder, AccessesAreWhatTheOptionsSay) {
  Example example;
  const TypeRef i32 = *example.module.type("i32");
  const ValueRef pointer = *special(*example.module.type("ptr"), Special::undef);
  const auto load = [&](const char* type, const AccessOptions& options) {
    return example.build.load(*example.module.type(type), pointer, options, "");
  };
  EXPECT_EQ(**alignment(*load("i32", {})), 4u);
  EXPECT_EQ(**alignment(*load("i32", {.alignment = 1, .order = {}})), 1u);
  EXPECT_EQ(**alignment(*load("i64", {.order = {"acquire", ""}})), 8u);
  EXPECT_FALSE(load("i32", {.order = {"release", ""}}).ok());
  EXPECT_FALSE(load("i32", {.order = {"acq_rel", ""}}).ok());
  EXPECT_FALSE(load("i1", {.order = {"monotonic", ""}}).ok());
  EXPECT_FALSE(example.build.store(example.n, pointer, {.order = {"acquire", ""}}).ok());
  EXPECT_FALSE(example.build.store(example.n, pointer, {.order = {"acq_rel", ""}}).ok());
  EXPECT_FALSE(example.build.atomic_update("add", pointer, example.n, {.order = {"unordered", ""}}, "").ok());
  const ValueRef update =
      *example.build.atomic_update("add", pointer, example.n, {.is_volatile = true, .order = {"monotonic", ""}}, "");
  EXPECT_TRUE(traits(update)->is_volatile);
  const ValueRef exchange = *example.build.compare_exchange(pointer, example.n, example.n,
                                                            {.is_volatile = true, .order = {"acq_rel", ""}}, "monotonic", "");
  EXPECT_THAT(*print(exchange), testing::HasSubstr("cmpxchg volatile ptr undef, i32 %1, i32 %1 acq_rel monotonic"));
  EXPECT_EQ(*ordering(exchange), "acq_rel");
  EXPECT_FALSE(example.build.fence({"monotonic", ""}).ok());
  EXPECT_TRUE(example.build.fence({"acquire", ""}).ok());
}

TEST(Builder, ACallHasTheConventionOfItsFunction) {
  Example example;
  const ValueRef kernel = *example.module.add_function("k", *example.module.type("void ()"), "external");
  ASSERT_TRUE(set_calling_convention(kernel, "ptx_kernel").ok());
  EXPECT_EQ(*print(*example.build.call(kernel, {}, std::nullopt, "")), "  call ptx_kernel void @k()");
}

TEST(Analysis, LoopsInLoopsAndWhereTheyLead) {
  constexpr std::string_view text =
      "define void @f(i1 %c) {\n"
      "entry: br label %outer\n"
      "outer: br label %middle\n"
      "middle: br label %inner\n"
      "inner: br i1 %c, label %more, label %end\n"
      "more: br i1 %c, label %inner, label %next\n"
      "next: br i1 %c, label %middle, label %last\n"
      "last: br i1 %c, label %outer, label %end\n"
      "end: ret void }\n";
  const ModuleRef module(std::move(Module::parse(std::as_bytes(std::span(text)), "loops.ll")).value());
  const auto found = loops(module.functions()->front());
  ASSERT_TRUE(found.ok());
  ASSERT_EQ(found->size(), 3u);
  for (const Loop& loop : *found) {
    const std::string header = *name_of(loop.header);
    const std::string parent = loop.parent ? *name_of((*found)[*loop.parent].header) : "";
    EXPECT_EQ(parent, header == "outer" ? "" : header == "middle" ? "outer" : "middle");
    EXPECT_EQ(loop.exits.size(), header == "outer" ? 1u : 2u) << header;
  }
}

TEST(Analysis, FeaturesAreCountedOneByOne) {
  constexpr std::string_view text =
      "@g = addrspace(1) global i32 0\n@c = addrspace(4) constant i32 0\n"
      "declare <4 x float> @llvm.fma.v4f32(<4 x float>, <4 x float>, <4 x float>)\n"
      "define void @f(<4 x float> %v, i1 %c, float %x, ptr %p) {\n"
      "entry: %a = alloca i32\n  %b = alloca [3 x i32]\n"
      "  %w = call <4 x float> @llvm.fma.v4f32(<4 x float> %v, <4 x float> %v, <4 x float> %v)\n"
      "  %r = frem float %x, %x\n  %bits = bitcast float %x to i32\n  %whole = fptosi float %x to i32\n"
      "  %and = and i32 %bits, %whole\n  %sum = add i32 %and, 1\n"
      "  store i32 %sum, ptr addrspacecast (ptr addrspace(1) @g to ptr)\n  %k = load i32, ptr addrspace(4) @c\n"
      "  br label %outer\n"
      "outer: br label %inner\n"
      "inner: store i32 %k, ptr %p\n  br i1 %c, label %inner, label %last\n"
      "last: br i1 %c, label %outer, label %end\n"
      "end: ret void }\n";
  const ModuleRef module(std::move(Module::parse(std::as_bytes(std::span(text)), "features.ll")).value());
  const std::vector<double> numbers = *features(module.functions()->back());
  const auto feature = [&](const std::string& name) {
    return numbers[std::find(feature_names().begin(), feature_names().end(), name) - feature_names().begin()];
  };
  EXPECT_EQ(feature("cyclomatic_complexity"), 3);
  EXPECT_EQ(feature("loops"), 2);
  EXPECT_EQ(feature("innermost_loops"), 1);
  EXPECT_EQ(feature("weighted_instructions"), 11 + 2 * 10 + 2 * 100 + 1);
  EXPECT_EQ(feature("stack_bytes"), 16);
  EXPECT_EQ(feature("single_arithmetic"), 5);
  EXPECT_EQ(feature("float_divides"), 1);
  EXPECT_EQ(feature("bitwise"), 1);
  EXPECT_EQ(feature("integer_arithmetic"), 1);
  EXPECT_EQ(feature("casts"), 2);
  EXPECT_EQ(feature("conversions"), 1);
  EXPECT_EQ(feature("global_accesses"), 1);
  EXPECT_EQ(feature("constant_accesses"), 1);
  EXPECT_EQ(feature("generic_accesses"), 1);
  EXPECT_EQ(feature("stores"), 2);
  EXPECT_EQ(feature("stores_in_loops"), 1);
  EXPECT_EQ(feature("arithmetic_intensity"), 9.0 / 12);
}

TEST(Analysis, ALoopThatRunsOnceIsCounted) {
  std::string text(kLoop);
  text.replace(text.find("%next, 8"), 8, "%next, 1");
  const ModuleRef module(std::move(Module::parse(std::as_bytes(std::span(text)), "loop.ll")).value());
  EXPECT_EQ(loops(module.functions()->front())->front().trip_count, 1u);
}

TEST(Builder, AFunctionOfManyArgumentsTakesMore) {
  Example example;
  const ValueRef many = *example.module.add_function("many", *example.module.type("void (i32, ...)"), "external");
  EXPECT_TRUE(example.build.call(many, {example.n}, std::nullopt, "").ok());
  EXPECT_TRUE(example.build.call(many, {example.n, example.n, example.x}, std::nullopt, "").ok());
  EXPECT_FALSE(example.build.call(many, {}, std::nullopt, "").ok());
}

TEST(Builder, WhatHasNoResultIsNoOperand) {
  Example example;
  const ValueRef nothing = *example.module.add_function("nothing", *example.module.type("void ()"), "external");
  const ValueRef call = *example.build.call(nothing, {}, std::nullopt, "");
  EXPECT_EQ(example.build.ret(call).status().message(),
            "building ret in basic block '%entry': instruction 'call void @nothing()' has no result");
}

TEST(Builder, WhatIsBuiltHasTheLineBeforeItOrNone) {
  constexpr std::string_view text =
      "define float @f(float %x) !dbg !3 {\nentry: %y = fneg float %x, !dbg !5\n  ret float %y, !dbg !6\n}\n"
      "!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!2}\n"
      "!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)\n"
      "!1 = !DIFile(filename: \"f.c\", directory: \"/source\")\n!2 = !{i32 2, !\"Debug Info Version\", i32 3}\n"
      "!3 = distinct !DISubprogram(name: \"f\", scope: !1, file: !1, line: 1, type: !4, spFlags: DISPFlagDefinition, unit: !0)\n"
      "!4 = !DISubroutineType(types: !{})\n"
      "!5 = !DILocation(line: 2, column: 5, scope: !3)\n!6 = !DILocation(line: 3, column: 5, scope: !3)\n";
  const ModuleRef module(std::move(Module::parse(std::as_bytes(std::span(text)), "lines.ll")).value());
  const ValueRef f = module.functions()->front(), entry = blocks(f)->front(), x = arguments(f)->front();
  const auto line = [](const ValueRef& instruction) {
    const auto lines = *debug_location(instruction);
    return lines.empty() ? -1 : static_cast<int>(lines.front().line);
  };
  const ValueRef before = *Builder::before(block_instructions(entry)->back())->negate(x, "");
  EXPECT_EQ(line(before), 3);
  ASSERT_TRUE(erase(block_instructions(entry)->back()).ok());
  EXPECT_EQ(line(*Builder::at_end(entry)->negate(x, "")), 3) << "as what stands before it";
  const ValueRef empty = *add_block(f, "empty", std::nullopt);
  EXPECT_EQ(line(*Builder::at_end(empty)->negate(x, "")), 0) << "none is known";
}

TEST(Builder, VectorsOfIndicesAndPointersAreOfOneLength) {
  Example example;
  const TypeRef element = *example.module.type("[4 x i32]");
  const auto zeros = [&](const char* type) { return *special(*example.module.type(type), Special::null); };
  EXPECT_TRUE(example.build.element_pointer(element, zeros("<2 x ptr>"), {zeros("i64"), zeros("<2 x i64>")}, "").ok());
  EXPECT_FALSE(example.build.element_pointer(element, zeros("<2 x ptr>"), {zeros("<4 x i64>")}, "").ok());
  EXPECT_FALSE(example.build.element_pointer(element, zeros("ptr"), {zeros("<2 x i64>"), zeros("<4 x i64>")}, "").ok());
}

}  // namespace
}  // namespace mneme::ir
