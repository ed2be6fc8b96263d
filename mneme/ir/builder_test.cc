#include "mneme/ir/builder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/ir/analysis.h"
#include "mneme/ir/global.h"
#include "mneme/ir/instruction.h"
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
}

TEST(Builder, PhisStandBeforeAllElse) {
  Example example;
  const ValueRef negated = *example.build.negate(example.x, "y");
  const ValueRef phi = *example.build.phi(*example.module.type("float"), "z");
  EXPECT_EQ(*block_instructions(example.block), (std::vector<ValueRef>{phi, negated}));
  EXPECT_THAT(Builder::before(phi)->negate(example.x, "").status().message(),
              testing::HasSubstr(" follows, and only phis stand before a phi"));
}

}  // namespace
}  // namespace mneme::ir
