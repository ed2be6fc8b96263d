#include "mneme/compile/run_passes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/ErrorHandling.h>

#include "mneme/ir/global.h"
#include "mneme/ir/handle_access.h"
#include "mneme/ir/value.h"

namespace mneme {
namespace {

using testing::HasSubstr;

constexpr std::string_view kText =
    "define i32 @f(i32 %x) { %a = add i32 %x, 0 ret i32 %a }\n"
    "define i32 @g(i32 %x) { %a = call i32 @f(i32 %x) ret i32 %a }\n";

ir::ModuleRef parse(std::string_view text = kText) {
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  return ir::ModuleRef(std::move(module).value());
}
PassOptions with(std::vector<ModulePass> passes) {
  PassOptions options;
  options.passes = std::move(passes);
  return options;
}
ir::ValueRef first(const ir::ModuleRef& module) { return module.functions()->front(); }

TEST(RunPasses, LeavesHandlesGood) {
  ir::ModuleRef module = parse();
  const ir::ValueRef f = first(module), add = ir::instructions(f)->front();
  ASSERT_TRUE(run_passes(module, "function(instcombine)").ok());
  EXPECT_EQ(*ir::name_of(f), "f");
  EXPECT_FALSE(add.is_alive());
}

TEST(RunPasses, CallsThePassesThatTheCallerBrings) {
  ir::ModuleRef module = parse();
  uint64_t before = 0, after = 0;
  const PassOptions options = with({{"look", [&] { return before = *ir::instruction_count(first(module)), Status(); }},
                                    {"look.again", [&] { return after = *ir::instruction_count(first(module)), Status(); }}});
  ASSERT_TRUE(run_passes(module, "look,function(instcombine),look.again", options).ok());
  EXPECT_EQ(before, 2u);
  EXPECT_EQ(after, 1u);
}

TEST(RunPasses, LoadsPlugins) {
  ir::ModuleRef module = parse("define float @f(float %x) { %a = fadd float %x, 1.0 ret float %a }");
  PassOptions options;
  options.plugins = {MNEME_TEST_PLUGIN};
  ASSERT_TRUE(run_passes(module, "function(test-subtract)", options).ok());
  EXPECT_THAT(*module.print(), HasSubstr("fsub float %x"));
}

TEST(RunPasses, AFailureLeavesTheModuleAsItWas) {
  ir::ModuleRef module = parse();
  const std::string before = *module.print();
  const ir::ValueRef f = first(module);
  bool went_on = false;
  const PassOptions options =
      with({{"fail", [] { return error(Code::io, "no disk"); }}, {"next", [&] { return went_on = true, Status(); }}});
  const Status status = run_passes(module, "function(instcombine),fail,next", options);
  EXPECT_EQ(status.to_string(), "io: after pass 'fail': no disk");
  EXPECT_FALSE(went_on);
  EXPECT_EQ(*module.print(), before);
  EXPECT_FALSE(f.is_alive());
  EXPECT_TRUE(run_passes(module, "default<O2>").ok());
}

TEST(RunPasses, APassMustLeaveValidIr) {
  ir::ModuleRef module = parse();
  const PassOptions options = with({{"break", [&] { return ir::erase(ir::instructions(first(module))->back()); }}});
  const Status status = run_passes(module, "break,default<O2>", options);
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_THAT(status.message(), HasSubstr("after pass 'break': test.ll is not valid LLVM IR"));
  EXPECT_TRUE(module.verify().ok());
}

TEST(RunPasses, ARefusalLeavesHandlesGood) {
  ir::ModuleRef module = parse();
  const ir::ValueRef f = first(module);
  EXPECT_EQ(run_passes(module, "instcombin").message(),
            "pass pipeline 'instcombin' does not parse: unknown pass name 'instcombin'; did you mean 'instcombine'?");
  PassOptions missing;
  missing.plugins = {"/none.so"};
  EXPECT_EQ(run_passes(module, "", missing).code(), Code::not_found);
  EXPECT_EQ(run_passes(module, "x", with({{"a b", [] { return Status(); }}})).message(),
            "'a b' can be no pass's name, which is of letters, digits, '-', '_' and '.'");
  EXPECT_EQ(run_passes(module, "x", with({{"inline", [] { return Status(); }}})).message(),
            "a pass cannot be named 'inline': LLVM has one of that name");
  EXPECT_TRUE(f.is_alive());
}

TEST(RunPasses, DoesNotNest) {
  ir::ModuleRef module = parse();
  const PassOptions options = with({{"nest", [&] { return run_passes(module, "default<O1>"); }}});
  EXPECT_THAT(run_passes(module, "nest", options).message(), HasSubstr("from a pass of its own pipeline"));
}

TEST(RunPasses, AFatalErrorLeavesTheModuleAsItWas) {
  ir::ModuleRef module = parse();
  const std::string before = *module.print();
  const ir::ValueRef f = first(module);
  const PassOptions options = with({{"die", []() -> Status { llvm::report_fatal_error("this cannot be"); }}});
  const Status status = run_passes(module, "function(instcombine),die", options);
  EXPECT_EQ(status.to_string(), "internal: LLVM reported a fatal error: this cannot be");
  EXPECT_EQ(ir::name_of(f).status().code(), Code::not_found);
  EXPECT_EQ(*module.print(), before);
}

TEST(RunPasses, APassOfTheCallersTakesNoPassesOfItsOwn) {
  ir::ModuleRef module = parse();
  const PassOptions options = with({{"look", [] { return Status(); }}});
  EXPECT_EQ(run_passes(module, "look(function(instcombine))", options).code(), Code::invalid_argument);
}

TEST(RunPasses, AnInternalErrorOfAPassHasItsName) {
  ir::ModuleRef module = parse();
  const PassOptions options = with({{"fail", [] { return error(Code::internal, "no disk"); }}});
  EXPECT_THAT(run_passes(module, "fail", options).to_string(), HasSubstr("no disk"));
}

TEST(RunPasses, WhatLlvmReportsIsAFailureAndLeavesTheModuleAsItWas) {
  ir::ModuleRef module = parse();
  const std::string before = *module.print();
  const PassOptions options =
      with({{"report", [&] { return module.state()->llvm().getContext().emitError("out of registers"), Status(); }}});
  const Status status = run_passes(module, "function(instcombine),report", options);
  EXPECT_EQ(status.code(), Code::internal);
  EXPECT_THAT(status.message(), HasSubstr("out of registers"));
  EXPECT_EQ(*module.print(), before);
}

}  // namespace
}  // namespace mneme
