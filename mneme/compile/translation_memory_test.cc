#include "mneme/compile/translation_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme {
namespace {

using ::testing::ElementsAre;

// Makes of each pipeline its name, and notes that it was asked. "fail" does not compile.
class NotingCompiler final : public Compiler {
 public:
  Result<Translation> translate(const ir::Module&, const CompileOptions& options) override {
    asked.push_back(options.passes);
    if (options.passes == "fail") return error(Code::internal, "not today");
    return Translation{.code = options.passes,
                       .architecture = "sm_90",
                       .assembler = assembler_options(options),
                       .kernels = {"k"},
                       .times = {{"optimise", Nanoseconds(5)}}};
  }
  Result<CompiledCode> assemble(const Translation&) override { return error(Code::internal, "not asked for"); }
  std::string identity() const override { return ""; }
  Result<std::string> emit(const ir::Module&, const CompileOptions&, Stage) override { return std::string(); }
  Result<std::string> disassemble(const CodeImage&) const override { return std::string(); }

  std::vector<std::string> asked;
};

ir::Module module_of(const std::string& text) { return ir::Module::parse(std::as_bytes(std::span(text)), "test.ll").value(); }

class TranslationMemoryTest : public ::testing::Test {
 protected:
  static CompileOptions with_passes(const std::string& passes) {
    CompileOptions options;
    options.passes = passes;
    return options;
  }
  Result<Translation> translate(TranslationMemory& memory, const CompileOptions& options) {
    return memory.translate(module_, options, compiler_);
  }

  const ir::Module module_ = module_of("define void @k() { ret void }"),
                   other_ = module_of("define void @k(i32 %n) { ret void }");
  NotingCompiler compiler_;
};

TEST_F(TranslationMemoryTest, LlvmIsAskedTheSameOnceAndTheAssemblerOfEach) {
  TranslationMemory memory;
  CompileOptions options = with_passes("a");
  ASSERT_TRUE(translate(memory, options).ok());
  options.assembler.max_registers = 32;
  const auto again = translate(memory, options);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->code, "a");
  EXPECT_EQ(again->assembler.max_registers, 32u);
  EXPECT_EQ(again->times[0].time, Nanoseconds(5)) << "what this configuration's compilation takes by itself";
  EXPECT_THAT(compiler_.asked, ElementsAre("a"));

  // The level with which clang had the program's code assembled.
  options = with_passes("as-built");
  options.as_built = "default<O2>";
  ASSERT_TRUE(translate(memory, options).ok());
  EXPECT_EQ(translate(memory, options)->assembler.level, 2u);
  EXPECT_THAT(compiler_.asked, ElementsAre("a", "as-built"));
}

TEST_F(TranslationMemoryTest, WhatDiffersInAnythingElseIsAskedForItself) {
  TranslationMemory memory;
  CompileOptions options = with_passes("a");
  ASSERT_TRUE(translate(memory, options).ok());
  options.codegen.level = 1;
  ASSERT_TRUE(translate(memory, options).ok());
  options.specialisation.dimensions = LaunchDimensions{{1, 1, 1}, {32, 1, 1}};
  ASSERT_TRUE(translate(memory, options).ok());
  EXPECT_EQ(compiler_.asked.size(), 3u);
  ASSERT_TRUE(memory.translate(other_, options, compiler_).ok());
  EXPECT_EQ(compiler_.asked.size(), 4u) << "other IR";
}

TEST_F(TranslationMemoryTest, FailuresAndPluginsAreNotRemembered) {
  TranslationMemory memory;
  EXPECT_EQ(translate(memory, with_passes("fail")).status().message(), "not today");
  EXPECT_EQ(translate(memory, with_passes("fail")).status().message(), "not today");
  CompileOptions options = with_passes("a");
  options.pass_plugins = {"plugin.so"};
  ASSERT_TRUE(translate(memory, options).ok());
  ASSERT_TRUE(translate(memory, options).ok());
  EXPECT_THAT(compiler_.asked, ElementsAre("fail", "fail", "a", "a"));
}

TEST_F(TranslationMemoryTest, TheOldestIsForgottenFirst) {
  TranslationMemory memory(Bytes(6));
  for (const char* passes : {"one", "two", "one", "six", "two", "one", "much too long", "much too long"})
    ASSERT_TRUE(translate(memory, with_passes(passes)).ok());
  EXPECT_THAT(compiler_.asked, ElementsAre("one", "two", "six", "one", "much too long", "much too long"));
}

}  // namespace
}  // namespace mneme
