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
using testing::IsEmpty;

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
  for (const char* flag : {"reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn"}) {
    ASSERT_TRUE(set_flag(product, "fast", false).ok());
    ASSERT_TRUE(set_flag(product, flag, true).ok());
    EXPECT_THAT(*flags(product), ElementsAre(flag));
    ASSERT_TRUE(set_flag(product, flag, false).ok());
    EXPECT_THAT(*flags(product), IsEmpty()) << flag;
  }
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

TEST(Change, AttributesAreThoseOfTheirPlace) {
  const ModuleRef module = parse(
      "declare float @g(float, float)\n"
      "define float @f(float %x) { %y = call float @g(float %x, float %x) ret float %y }\n");
  const ValueRef f = function(module, "f"), call = instruction(module, "f", "y");
  const AttributePlace second{.of = AttributePlace::Of::argument, .argument = 1}, result{.of = AttributePlace::Of::result};
  ASSERT_TRUE(add_attribute(call, second, "noundef").ok());
  EXPECT_EQ(attributes(call, second)->size(), 1u);
  EXPECT_TRUE(attributes(call, {.of = AttributePlace::Of::argument, .argument = 0})->empty());
  EXPECT_FALSE(add_attribute(call, {.of = AttributePlace::Of::argument, .argument = 2}, "noundef").ok());
  EXPECT_FALSE(add_attribute(f, second, "noundef").ok());
  ASSERT_TRUE(add_attribute(f, result, "noundef").ok());
  EXPECT_EQ(attributes(f, result)->size(), 1u);
  EXPECT_TRUE(*remove_attribute(f, result, "noundef"));
  EXPECT_TRUE(attributes(f, result)->empty());
}

TEST(Change, AFlagThatIsSetLeavesTheOthers) {
  const ModuleRef module = parse(
      "define void @f(ptr %p, float %a) {\n  %x = fmul nnan float %a, %a\n  %q = getelementptr nusw i8, ptr %p, i64 1\n"
      "  %e = cmpxchg ptr %p, i32 1, i32 2 acq_rel monotonic\n  ret void\n}\n");
  const ValueRef x = instruction(module, "f", "x"), q = instruction(module, "f", "q"), e = instruction(module, "f", "e");
  ASSERT_TRUE(set_flag(x, "ninf", true).ok());
  EXPECT_THAT(*flags(x), ElementsAre("nnan", "ninf"));
  ASSERT_TRUE(set_flag(q, "nuw", true).ok());
  EXPECT_THAT(*flags(q), testing::UnorderedElementsAre("nusw", "nuw"));
  ASSERT_TRUE(set_flag(q, "nuw", false).ok());
  EXPECT_THAT(*flags(q), ElementsAre("nusw"));
  ASSERT_TRUE(set_flag(e, "volatile", true).ok());
  EXPECT_TRUE(traits(e)->is_volatile);
  EXPECT_EQ(*ordering(e), "acq_rel");
}

TEST(Handles, LaunchBoundsAreReadByName) {
  const ModuleRef module = parse(
      "define ptx_kernel void @k() \"nvvm.reqntid\"=\"32,2\" \"nvvm.minctasm\"=\"3\" \"nvvm.maxnreg\"=\"40\" { ret void }\n"
      "define amdgpu_kernel void @a() { ret void }\n");
  const auto bounds = launch_bounds(function(module, "k"));
  EXPECT_THAT(bounds->required_threads, ElementsAre(32, 2));
  EXPECT_EQ(bounds->least_blocks, 3u);
  EXPECT_EQ(bounds->most_registers, 40u);
  EXPECT_TRUE(*is_kernel(function(module, "a")));
}

constexpr std::string_view kLines =
    "define void @f(i1 %c) !dbg !4 {\n"
    "entry:\n  %here = add i32 1, 2, !dbg !6\n  br i1 %c, label %next, label %next\n"
    "next:\n  ret void\n}\n"
    "define i32 @other() !dbg !5 {\n  %there = add i32 1, 2, !dbg !9\n  ret i32 %there\n}\n"
    "!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!2}\n"
    "!0 = distinct !DICompileUnit(language: DW_LANG_C99, file: !1, emissionKind: FullDebug)\n"
    "!1 = !DIFile(filename: \"f.c\", directory: \"/source\")\n"
    "!2 = !{i32 2, !\"Debug Info Version\", i32 3}\n!3 = !DISubroutineType(types: !{})\n"
    "!4 = distinct !DISubprogram(name: \"f\", scope: !1, file: !1, line: 1, type: !3, spFlags: DISPFlagDefinition, unit: !0)\n"
    "!5 = distinct !DISubprogram(name: \"other\", scope: !1, file: !1, line: 9, type: !3, spFlags: DISPFlagDefinition, unit: "
    "!0)\n"
    "!6 = !DILocation(line: 12, column: 3, scope: !5, inlinedAt: !7)\n"
    "!7 = distinct !DILocation(line: 2, column: 5, scope: !4)\n"
    "!9 = !DILocation(line: 10, column: 1, scope: !5)\n";

TEST(Metadata, LinesAreToldWithWhereTheyWereInlined) {
  const ModuleRef module = parse(kLines);
  const ValueRef here = instruction(module, "f", "here"), there = instruction(module, "other", "there");
  const auto lines = *debug_location(here);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].function, "other");
  EXPECT_EQ(lines[1].line, 2u);
  EXPECT_EQ(lines[1].directory, "/source");
  EXPECT_FALSE(copy_debug_location(there, here).ok());
  const ValueRef copy = *copy_instruction(here, Place::after, here);
  EXPECT_EQ(debug_location(copy)->size(), 2u);
  ASSERT_TRUE(set_debug_location(there, 11, 7).ok());
  EXPECT_EQ(debug_location(there)->front().column, 7u);
}

TEST(Change, BlocksAreCountedOnceAndAnInstructionStaysBeforeItself) {
  const ModuleRef module = parse(kLines);
  const ValueRef here = instruction(module, "f", "here");
  EXPECT_EQ(predecessors(*parent_block(instructions(function(module, "f"))->back()))->size(), 1u);
  EXPECT_TRUE(move_instruction(here, Place::before, here).ok());
  EXPECT_EQ(*name_of(instructions(function(module, "f"))->front()), "here");
}

TEST(Change, APhiLosesTheValueOfTheBlockThatIsNamed) {
  const ModuleRef module = parse();
  const ValueRef phi = instruction(module, "kernel", "result");
  EXPECT_FALSE(
      add_incoming(phi, arguments(function(module, "kernel"))->back(), blocks(function(module, "kernel"))->front()).ok());
  ASSERT_TRUE(remove_incoming(phi, *parent_block(instruction(module, "kernel", "value"))).ok());
  ASSERT_EQ(incoming(phi)->size(), 1u);
  EXPECT_EQ(*name_of(incoming(phi)->front().second), "entry");
}

TEST(Values, NamesAndNumbersAreThoseOfTheirModule) {
  const ModuleRef module = parse();
  const ValueRef kernel = function(module, "kernel");
  EXPECT_FALSE(set_name(kernel, "scaled").ok());
  EXPECT_TRUE(set_name(kernel, "kernel").ok());
  EXPECT_EQ(*name_of(kernel), "kernel");
  EXPECT_EQ(std::get<std::string>(*constant_value(*integer(*module.type("i1"), "1"))), "1");
  EXPECT_EQ(std::get<std::string>(*constant_value(*integer(*module.type("i8"), "-3"))), "-3");
  EXPECT_FALSE(integer(*module.type("i8"), "--3").ok());
  EXPECT_FALSE(set_name(instructions(kernel)->back(), "nothing").ok());
}

TEST(Change, ADefinitionWhoseBlocksAreTakenStays) {
  const ModuleRef module = parse(
      "@taken = global ptr blockaddress(@f, %next)\n@v = global i32 1\n"
      "define void @f(ptr %p) {\n  br label %next\nnext:\n  ret void\n}\n");
  EXPECT_FALSE(delete_body(function(module, "f")).ok());
  const ValueRef variable = named(*module.global_variables(), "v");
  EXPECT_FALSE(set_initializer(variable, *integer(*module.type("i64"), "1")).ok());
  EXPECT_TRUE(set_initializer(variable, *integer(*module.type("i32"), "2")).ok());
  EXPECT_TRUE(set_alignment_of_global(variable, uint64_t{1} << 32).ok());
  EXPECT_FALSE(set_alignment_of_global(variable, uint64_t{1} << 33).ok());
}

TEST(Values, UsesComeInTheirOrderAndAllocationsAreOfTheirType) {
  const ModuleRef module = parse(
      "define i32 @f(i32 %x) {\n  %memory = alloca i64\n  %one = add i32 %x, 1\n  %two = add i32 %x, 2\n  ret i32 %two\n}\n");
  const ValueRef f = function(module, "f");
  const auto all = *uses(arguments(f)->front());
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(*name_of(all[0].user), "one");
  EXPECT_EQ(*name_of(all[1].user), "two");
  EXPECT_EQ(type_info(**accessed_type(instruction(module, "f", "memory")))->text, "i64");
}

TEST(Change, AnAttributesValueStandsWithoutItsBrackets) {
  const ModuleRef module = parse();
  const AttributePlace first{.of = AttributePlace::Of::argument, .argument = 0};
  ASSERT_TRUE(add_attribute(function(module, "kernel"), first, "dereferenceable(16)").ok());
  ASSERT_EQ(attributes(function(module, "kernel"), first)->size(), 1u);
  EXPECT_EQ(attributes(function(module, "kernel"), first)->front().name, "dereferenceable");
  EXPECT_EQ(attributes(function(module, "kernel"), first)->front().value, "16");
}

TEST(Change, ContractLeavesTheOthersAndACallLosesItsTail) {
  const ModuleRef module = parse(
      "declare float @g(float)\ndefine float @f(float %a) {\n  %x = fmul nnan float %a, %a\n"
      "  %y = tail call float @g(float %x)\n  ret float %y\n}\n");
  const ValueRef x = instruction(module, "f", "x"), y = instruction(module, "f", "y");
  ASSERT_TRUE(set_flag(x, "contract", true).ok());
  EXPECT_THAT(*flags(x), ElementsAre("nnan", "contract"));
  EXPECT_THAT(*flags(y), ElementsAre("tail"));
  ASSERT_TRUE(set_flag(y, "tail", false).ok());
  EXPECT_TRUE(flags(y)->empty());
}

TEST(Change, ConventionsEndAndBlocksStandInTheirFunction) {
  const ModuleRef module = parse();
  const ValueRef kernel = function(module, "kernel"), scaled = function(module, "scaled");
  EXPECT_TRUE(set_calling_convention(kernel, "1023").ok());
  EXPECT_FALSE(set_calling_convention(kernel, "1024").ok());
  EXPECT_THAT(message(add_block(scaled, "new", blocks(kernel)->front()).status()),
              HasSubstr("that is a block of function '@kernel'"));
  EXPECT_EQ(blocks(scaled)->size(), 1u);
  EXPECT_EQ(blocks(kernel)->size(), 3u);
}

TEST(Change, WhatOnlyItselfOrNobodyAnyLongerUsesMayGo) {
  const ModuleRef module =
      parse("@g = global [4 x i8] zeroinitializer\ndefine void @f(i32 %n) {\n  call void @f(i32 %n)\n  ret void\n}\n");
  ASSERT_TRUE(module.constant("ptr getelementptr (i8, ptr @g, i64 1)").ok());
  const Status variable = erase(module.global_variables()->front()), recursive = erase(function(module, "f"));
  EXPECT_TRUE(variable.ok()) << variable.message();
  EXPECT_TRUE(recursive.ok()) << recursive.message();
  EXPECT_TRUE(module.functions()->empty());
}

TEST(Constants, MayHaveAsManyElementsAndBracketsAsIsSaid) {
  const ModuleRef module = parse();
  EXPECT_TRUE(special(*module.type("<16777216 x i8>"), Special::null).ok());
  EXPECT_FALSE(special(*module.type("<16777217 x i8>"), Special::null).ok());
  EXPECT_TRUE(module.type(std::string(1000, '{') + std::string(1000, '}')).ok());
  EXPECT_FALSE(module.type(std::string(1001, '{') + std::string(1001, '}')).ok());
}

TEST(Metadata, IsWrittenWithoutItsNumber) {
  const ModuleRef module = parse();
  const MetadataRef node = *module.metadata_node({*module.metadata_string("a"), std::nullopt});
  EXPECT_EQ(metadata_info(node)->text, "!{!\"a\", null}");
}

TEST(ModuleRef, ItsDigestChangesWithIt) {
  ModuleRef module = parse();
  const Digest before = *module.digest();
  ASSERT_TRUE(module.add_function("more", *module.type("void ()"), "external").ok());
  EXPECT_NE(*module.digest(), before);
}

TEST(ModuleRef, IsAsItWasWhenAnotherCannotBeLinked) {
  ModuleRef module = parse("target triple = \"nvptx64-nvidia-cuda\"\n@list = global [1 x i32] [i32 1]\n");
  const ModuleRef elsewhere = parse("target triple = \"amdgcn-amd-amdhsa\"\n"),
                  other = parse(
                      "target triple = \"nvptx64-nvidia-cuda\"\n@more = global i32 1\n"
                      "@list = appending global [1 x i32] [i32 2]\n");
  const Digest before = *module.digest();
  const std::string printed = *module.print();
  for (const ModuleRef* refused : {&elsewhere, &other}) {
    EXPECT_FALSE(module.link(*refused).ok());
    EXPECT_EQ(*module.digest(), before);
    EXPECT_EQ(*module.print(), printed);
  }
}

TEST(ModuleRef, RunsOnePipelineAfterAnother) {
  ModuleRef module = parse();
  for (int i = 0; i < 2; ++i) {
    const Status begun = module.begin_run();
    EXPECT_TRUE(begun.ok()) << begun.message();
    EXPECT_EQ(module.begin_run().code(), Code::unavailable);
    module.end_run();
  }
  EXPECT_TRUE(module.verify().ok());
}

TEST(ModuleRef, LlvmsNamesAndAddressesOfBlocksAreRefused) {
  ModuleRef module = parse();
  EXPECT_THAT(message(module.add_function("llvm.mine", *module.type("void ()"), "external").status()),
              HasSubstr("names that begin with llvm. are LLVM's own"));
  EXPECT_EQ(module.functions()->size(), 2u);
  EXPECT_EQ(module.constant("ptr blockaddress(@kernel, %body)").status().code(), Code::unsupported);
}

}  // namespace
}  // namespace mneme::ir
