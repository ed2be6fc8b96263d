#include "mneme/cpu/lower/instruction_count.h"

#include <gtest/gtest.h>

#include "mneme/compile/fatal_error.h"
#include "mneme/cpu/lower/host_code.h"
#include "mneme/ir/access.h"

namespace mneme::cpu {
namespace {

ByteVector object_of(std::string_view text) {
  initialize_llvm();
  auto module = ir::Module::parse(std::as_bytes(std::span(text)), "test.ll");
  EXPECT_TRUE(module.ok()) << module.status().to_string();
  CodegenOptions options;
  options.level = 2;
  auto machine = become_host_module(ir::llvm_module(*module), "x86-64-v3", options);
  EXPECT_TRUE(machine.ok()) << machine.status().to_string();
  return emit_file(ir::llvm_module(*module), **machine, llvm::CodeGenFileType::ObjectFile, PassPlugins()).value();
}

TEST(InstructionCount, CountsEveryFunctionWithoutThePaddingBetween) {
  // xorl, retq; and, aligned to the next 16 bytes, leal, retq.
  EXPECT_EQ(count_instructions(object_of("define i32 @zero() { ret i32 0 }\n"
                                         "define internal i32 @sum(i32 %a, i32 %b) noinline { %s = add i32 %a, %b ret i32 %s }\n"
                                         "@keep = global ptr @sum\n"),
                               "x86-64-v3"),
            4u);
}

TEST(InstructionCount, OfWhatCannotBeReadNothingIsKnown) {
  EXPECT_EQ(count_instructions({}, "x86-64-v3"), std::nullopt);
  EXPECT_EQ(count_instructions(ByteVector(300, std::byte{1}), "x86-64-v3"), std::nullopt);
}

}  // namespace
}  // namespace mneme::cpu
