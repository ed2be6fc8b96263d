#include "mneme/ir/handles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/ir/global.h"
#include "mneme/ir/handle_access.h"
#include "mneme/ir/instruction.h"
#include "mneme/ir/metadata.h"
#include "mneme/ir/module_ref.h"
#include "mneme/ir/value.h"

namespace mneme::ir {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view kText =
    "@table = addrspace(3) global [4 x i32] zeroinitializer\n"
    "define float @scaled(float %a, float %x) {\n"
    "  %product = fmul float %a, %x\n"
    "  ret float %product\n"
    "}\n"
    "define ptx_kernel void @kernel(ptr %p, i32 %n) \"nvvm.maxntid\"=\"128,2\" {\n"
    "entry:\n"
    "  %inside = icmp ult i32 %n, 8\n"
    "  br i1 %inside, label %body, label %done\n"
    "body:\n"
    "  %value = load float, ptr %p, align 4\n"
    "  br label %done\n"
    "done:\n"
    "  %result = phi float [ 0.0, %entry ], [ %value, %body ]\n"
    "  store float %result, ptr %p, align 4\n"
    "  ret void\n"
    "}\n";

ModuleRef parse(std::string_view text = kText, const std::string& name = "test.ll") {
  auto module = Module::parse(std::as_bytes(std::span(text)), name);
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return ModuleRef(std::move(module).value());
}

ValueRef named(const std::vector<ValueRef>& values, const std::string& name) {
  for (const ValueRef& value : values)
    if (*name_of(value) == name) return value;
  ADD_FAILURE() << "there is no " << name;
  return values.front();
}
ValueRef function(const ModuleRef& module, const std::string& name) { return named(*module.functions(), name); }
ValueRef instruction(const ModuleRef& module, const std::string& in, const std::string& name) {
  return named(*instructions(function(module, in)), name);
}

std::string message(const Status& status) { return status.message(); }

TEST(Handles, SayWhatThereIs) {
  const ModuleRef module = parse();
  const ValueRef kernel = function(module, "kernel");
  EXPECT_TRUE(*is_kernel(kernel));
  EXPECT_FALSE(*is_kernel(function(module, "scaled")));
  EXPECT_THAT(launch_bounds(kernel)->most_threads, ElementsAre(128, 2));
  EXPECT_EQ(*address_space(module.global_variables()->front()), 3u);
  EXPECT_EQ(*opcode(instruction(module, "scaled", "product")), "fmul");
  EXPECT_EQ(*predicate(instruction(module, "kernel", "inside")), "ult");
  EXPECT_EQ(incoming(instruction(module, "kernel", "result"))->size(), 2u);
  EXPECT_EQ(predecessors(named(*blocks(kernel), "done"))->size(), 2u);
  EXPECT_EQ(uses(instruction(module, "kernel", "value"))->size(), 1u);
}

TEST(Handles, AreEqualWhereTheValueIs) {
  const ModuleRef module = parse();
  EXPECT_EQ(function(module, "kernel"), function(module, "kernel"));
  EXPECT_FALSE(function(module, "kernel") == function(module, "scaled"));
  EXPECT_EQ(function(module, "kernel").hash(), function(module, "kernel").hash());
}

TEST(Handles, OutliveTheirModule) {
  ValueRef kernel = [] { return function(parse(), "kernel"); }();
  EXPECT_EQ(*name_of(kernel), "kernel");
}

TEST(Handles, OfWhatWasErasedAreRefused) {
  const ModuleRef module = parse();
  const ValueRef product = instruction(module, "scaled", "product");
  const ValueRef again = instruction(module, "scaled", "product");
  const uint64_t hash = product.hash();
  ASSERT_TRUE(replace_all_uses(product, arguments(function(module, "scaled"))->front()).ok());
  ASSERT_TRUE(erase(product).ok());
  EXPECT_FALSE(product.is_alive());
  EXPECT_EQ(product.hash(), hash);
  EXPECT_FALSE(product == again);
  const Status gone = opcode(product).status();
  EXPECT_EQ(gone.code(), Code::not_found);
  EXPECT_EQ(gone.message(), "this LLVM value is gone: it was erased, or a pass removed it");
}

TEST(Handles, OfAnotherKindAreRefused) {
  const ModuleRef module = parse();
  EXPECT_EQ(message(opcode(function(module, "scaled")).status()), "function '@scaled' is not an instruction");
  EXPECT_EQ(message(incoming(instruction(module, "scaled", "product")).status()),
            "instruction '%product = fmul float %a, %x' is not a phi");
}

TEST(Handles, OfAModuleThatRunsAreRefusedAndMayBeDropped) {
  const ModuleRef module = parse();
  auto kernel = std::make_unique<ValueRef>(function(module, "kernel"));
  auto node = std::make_unique<MetadataRef>(*module.metadata_string("x"));
  module.state()->enter(ModuleState::Phase::running);
  const Status refused = name_of(*kernel).status();
  EXPECT_EQ(refused.code(), Code::unavailable);
  EXPECT_EQ(refused.message(), "a pipeline is changing module test.ll: wait for it to end");
  kernel.reset();
  node.reset();
  module.state()->enter(ModuleState::Phase::usable);
  EXPECT_TRUE(module.verify().ok());
}

TEST(Handles, OfAModuleThatWasAbandonedAreRefusedAndMayBeDropped) {
  ModuleRef module = parse();
  auto kernel = std::make_unique<ValueRef>(function(module, "kernel"));
  const auto state = module.state();
  state->abandon();
  module.restart(*Module::parse(std::as_bytes(std::span(kText)), "again.ll"), "it was put back");
  EXPECT_EQ(message(name_of(*kernel).status()), "this LLVM value is gone: it was put back; take the value from the module again");
  kernel.reset();
  EXPECT_EQ(*name_of(function(module, "kernel")), "kernel");
}

TEST(Handles, ToSymbolsOutlastTheirModuleByName) {
  ModuleRef module = parse();
  const ValueRef kernel = function(module, "kernel"), scaled = function(module, "scaled");
  const ValueRef product = instruction(module, "scaled", "product");
  const TypeRef type = *module.type("float");
  const uint64_t hash = kernel.hash();
  auto dropped = std::make_unique<ValueRef>(function(module, "kernel"));
  for (int i = 0; i < 3; ++i) {
    module.become(
        *Module::parse(std::as_bytes(std::span("define ptx_kernel void @kernel() { ret void }\n@scaled = global i32 0")),
                       "next.ll"),
        "it ran elsewhere");
    EXPECT_EQ(*instruction_count(kernel), 1u);
    EXPECT_EQ(kernel, function(module, "kernel"));
    EXPECT_EQ(kernel.hash(), hash);
    EXPECT_EQ(function(module, "kernel").hash(), hash);
    dropped.reset();
  }
  const std::string gone = "this LLVM value is gone: it ran elsewhere; take the value from the module again";
  EXPECT_EQ(message(name_of(scaled).status()), gone);  // a variable has the name now
  EXPECT_EQ(message(name_of(product).status()), gone);
  EXPECT_EQ(message(module.add_function("f", type, "external").status()), gone);
  EXPECT_NE(kernel, scaled);
  EXPECT_TRUE(module.verify().ok());
}

TEST(Change, OperandsMustFit) {
  const ModuleRef module = parse();
  const ValueRef product = instruction(module, "scaled", "product");
  EXPECT_EQ(message(set_operand(product, 2, product)),
            "setting operand 2 of instruction '%product = fmul float %a, %x': it has 2");
  EXPECT_EQ(message(set_operand(product, 0, *module.constant("i32 1"))),
            "setting operand 0 of instruction '%product = fmul float %a, %x': it is of type float, and constant '1' of type i32");
  EXPECT_EQ(
      message(set_operand(product, 0, instruction(module, "kernel", "value"))),
      "setting operand 0 of instruction '%product = fmul float %a, %x': instruction '%value = load float, ptr %p, align 4' is "
      "local to function 'kernel' and cannot be used in 'scaled'");
  EXPECT_TRUE(set_operand(product, 0, *module.constant("float 2.0")).ok());
}

TEST(Change, OfAnotherModuleIsRefused) {
  ModuleRef module = parse(), other = parse(kText, "other.ll");
  const ValueRef product = instruction(module, "scaled", "product");
  EXPECT_EQ(message(replace_all_uses(product, instruction(other, "scaled", "product"))),
            "a value of module other.ll cannot be used in module test.ll: each module has its own");
  EXPECT_EQ(message(module.add_named_metadata("x", *other.metadata_node({}))),
            "metadata of module other.ll cannot be used in module test.ll: each module has its own");
  EXPECT_EQ(message(module.add_function("f", *other.type("void ()"), "external").status()),
            "a type of module other.ll cannot be used in module test.ll: each module has its own");
}

TEST(Change, ReplacementsMustFit) {
  const ModuleRef module = parse();
  const ValueRef product = instruction(module, "scaled", "product");
  EXPECT_THAT(message(replace_all_uses(product, product)), HasSubstr("they are the same"));
  EXPECT_THAT(message(replace_all_uses(product, function(module, "kernel"))),
              HasSubstr("the one is of type float, the other of type ptr"));
  EXPECT_THAT(message(replace_all_uses(*module.constant("float 1.0"), *module.constant("float 2.0"))),
              HasSubstr("the uses of a constant are not known"));
  const ModuleRef loop = parse("@a = global ptr getelementptr (i8, ptr @b, i64 1) @b = global i8 0");
  EXPECT_THAT(message(replace_all_uses(loop.global_variables()->back(), *initializer(loop.global_variables()->front()).value())),
              HasSubstr("the replacement is made of it"));
}

TEST(Change, WhatIsUsedStays) {
  const ModuleRef module = parse();
  EXPECT_EQ(
      message(erase(instruction(module, "scaled", "product"))),
      "erasing instruction '%product = fmul float %a, %x': it is used 1 time, first in instruction 'ret float %product'; replace "
      "its uses first");
  const ValueRef body = named(*blocks(function(module, "kernel")), "body");
  EXPECT_THAT(message(erase(body)), HasSubstr("erasing basic block '%body': it is used 1 time"));
  EXPECT_EQ(message(erase(arguments(function(module, "scaled"))->front())),
            "erasing argument '%a': it is part of something else");
}

TEST(Change, ABlockThatGoesLeavesThePhis) {
  const ModuleRef module = parse();
  const ValueRef phi = instruction(module, "kernel", "result");
  const ValueRef island = *add_block(function(module, "kernel"), "island", std::nullopt);
  ASSERT_TRUE(add_incoming(phi, *module.constant("float 3.0"), island).ok());
  ASSERT_EQ(incoming(phi)->size(), 3u);
  ASSERT_TRUE(erase(island).ok());
  EXPECT_EQ(incoming(phi)->size(), 2u);
}

TEST(Change, MovesStayInTheFunction) {
  const ModuleRef module = parse();
  const ValueRef product = instruction(module, "scaled", "product"), end = instructions(function(module, "scaled"))->back();
  EXPECT_THAT(message(move_instruction(product, Place::before, instruction(module, "kernel", "value"))),
              HasSubstr("that is in function 'kernel', and it in 'scaled'"));
  EXPECT_THAT(message(move_instruction(product, Place::after, end)), HasSubstr("that ends its block"));
  EXPECT_THAT(message(move_instruction(end, Place::before, product)), HasSubstr("it ends its block"));
  EXPECT_TRUE(move_instruction(product, Place::after, product).ok());
  EXPECT_TRUE(module.verify().ok());
}

TEST(Change, FlagsAreThoseOfTheInstruction) {
  const ModuleRef module = parse();
  const ValueRef product = instruction(module, "scaled", "product");
  ASSERT_TRUE(set_flag(product, "fast", true).ok());
  EXPECT_THAT(*flags(product), ElementsAre("fast"));
  ASSERT_TRUE(set_flag(product, "nnan", false).ok());
  EXPECT_THAT(*flags(product), ElementsAre("reassoc", "ninf", "nsz", "arcp", "contract", "afn"));
  EXPECT_EQ(message(set_flag(product, "nsw", true)), fmt::format("{} cannot be nsw", describe(*get_value(product).value())));
  EXPECT_EQ(message(set_flag(product, "nsww", true)), "'nsww' is no flag of an instruction; did you mean 'nsw'?");
}

TEST(Change, AttributesAreReadByLlvmsParser) {
  const ModuleRef module = parse();
  const ValueRef kernel = function(module, "kernel");
  const AttributePlace argument{.of = AttributePlace::Of::argument, .argument = 0};
  ASSERT_TRUE(add_attribute(kernel, argument, "noalias align 16").ok());
  EXPECT_EQ(attributes(kernel, argument)->size(), 2u);
  EXPECT_EQ(attributes(kernel, argument)->back().value, "16");
  EXPECT_EQ(message(add_attribute(kernel, {}, "noalias")),
            "'noalias' is no attribute of a function: this attribute does not apply to functions");
  EXPECT_THAT(message(add_attribute(kernel, {}, "align 16")), HasSubstr("is no attribute of a function"));
  EXPECT_EQ(message(add_attribute(kernel, {.of = AttributePlace::Of::argument, .argument = 7}, "noalias")),
            "function '@kernel' has 2 arguments, none of number 7");
  ASSERT_TRUE(add_string_attribute(kernel, {}, "nvvm.maxntid", "64").ok());
  EXPECT_THAT(launch_bounds(kernel)->most_threads, ElementsAre(64));
  EXPECT_TRUE(*remove_attribute(kernel, {}, "nvvm.maxntid"));
  EXPECT_FALSE(*remove_attribute(kernel, {}, "nvvm.maxntid"));
}

TEST(Constants, MustFit) {
  const ModuleRef module = parse();
  EXPECT_EQ(*print(*integer(*module.type("i8"), "255")), "i8 -1");
  EXPECT_EQ(message(integer(*module.type("i8"), "256").status()), "256 does not fit into i8");
  EXPECT_EQ(message(integer(*module.type("i8"), "-129").status()), "-129 does not fit into i8");
  EXPECT_EQ(message(integer(*module.type("i8"), "1e3").status()), "'1e3' is no whole number");
  EXPECT_EQ(message(integer(*module.type("float"), "1").status()), "there is no integer of type float");
  EXPECT_EQ(message(special(*module.type("void ()"), Special::null).status()), "there is no constant of type void ()");
  EXPECT_EQ(message(aggregate(*module.type("[2 x i8]"), {}).status()), "a constant of type [2 x i8] has 2 elements, not 0");
}

TEST(Text, IsCheckedAgainstTheModule) {
  const ModuleRef module = parse("%pair = type { i32, i32 } @p = global %pair zeroinitializer");
  EXPECT_EQ(type_info(*module.type("%pair"))->name, "pair");
  EXPECT_EQ(*size_of(*module.type("[3 x %pair]")), 24u);
  EXPECT_EQ(message(module.type("{ %none, i8 }").status()),
            "'{ %none, i8 }' is no LLVM type: module test.ll has no structure of that name");
  EXPECT_EQ(message(module.type("i32 x").status()), "'i32 x' is no LLVM type: column 5: expected end of string");
  const std::string deep(100'000, '[');
  const std::string refusal = "'" + std::string(117, '[') + "...' has more than 1000 brackets";
  EXPECT_EQ(message(module.type(deep).status()), refusal);
  EXPECT_EQ(message(module.constant(deep).status()), refusal);
  EXPECT_EQ(message(add_attribute(function(parse(), "kernel"), {}, deep)), refusal);
  EXPECT_EQ(message(integer(*module.type("<4294967295 x i64>"), "1").status()),
            "a constant of type <4294967295 x i64> has more than 16777216 elements");
  EXPECT_EQ(message(module.constant("ptr getelementptr (i8, ptr @q, i64 1)").status()),
            "'ptr getelementptr (i8, ptr @q, i64 1)' is no LLVM constant: it names what module test.ll does not have");
  EXPECT_EQ(module.global_variables()->size(), 1u);
}

TEST(ModuleRef, RefusesWhatWouldBreakIt) {
  ModuleRef module = parse();
  EXPECT_EQ(message(module.link(module)), "module test.ll cannot be linked into itself");
  EXPECT_EQ(message(module.add_function("kernel", *module.type("void ()"), "external").status()),
            "adding 'kernel' to module test.ll: there is a 'kernel' already");
  EXPECT_THAT(message(module.add_function("f", *module.type("i32"), "external").status()),
              HasSubstr("i32 is no type of a function"));
  EXPECT_EQ(message(module.add_function("f", *module.type("void ()"), "interal").status()),
            "'interal' is no linkage; did you mean 'internal'?");
  EXPECT_EQ(message(module.add_global_variable("g", *module.type("void"), {}).status()),
            "adding global variable 'g': there are none of type void");
  EXPECT_THAT(message(module.set_data_layout("x")), HasSubstr("'x' is no data layout"));
}

TEST(ModuleRef, BrokenIrIsNotWritten) {
  const ModuleRef module = parse();
  ASSERT_TRUE(erase(instructions(function(module, "scaled"))->back()).ok());
  for (const Status& status : {module.verify(), module.bitcode().status(), module.copy().status()}) {
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_THAT(status.message(), HasSubstr("does not have terminator"));
  }
  EXPECT_THAT(*module.print(), HasSubstr("%product"));
}

TEST(Metadata, IsAttachedWhereItFits) {
  const ModuleRef module = parse();
  const ValueRef product = instruction(module, "scaled", "product");
  const MetadataRef node = *module.metadata_node({*module.metadata_string("a"), std::nullopt});
  ASSERT_TRUE(set_metadata(product, "my.kind", node).ok());
  ASSERT_EQ(attached_metadata(product)->size(), 1u);
  EXPECT_EQ(attached_metadata(product)->front().second, node);
  EXPECT_THAT(message(set_metadata(product, "dbg", node)), HasSubstr("it is no debug location"));
  EXPECT_THAT(message(set_metadata(function(module, "scaled"), "dbg", node)),
              HasSubstr("it is no debug information of such a thing"));
  EXPECT_THAT(message(set_metadata(product, "x", *module.metadata_string("a"))), HasSubstr("what is attached is a node"));
  EXPECT_THAT(message(set_debug_location(product, 3, 1)), HasSubstr("its function 'scaled' has no debug information"));
}

}  // namespace
}  // namespace mneme::ir
