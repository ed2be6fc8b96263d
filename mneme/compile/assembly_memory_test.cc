#include "mneme/compile/assembly_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mneme {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Makes of each code its bytes, and notes what it was asked in one call. "fail" cannot be assembled.
class NotingCompiler final : public Compiler {
 public:
  Result<Translation> translate(const ir::Module&, const CompileOptions&) override {
    return error(Code::internal, "not asked for");
  }
  Result<CompiledCode> assemble(const Translation& translation) override {
    if (translation.code == "fail") return error(Code::internal, "not today");
    CompiledCode code;
    const auto bytes = std::as_bytes(std::span(translation.code));
    code.image.bytes.assign(bytes.begin(), bytes.end());
    code.digest = digest_of(bytes);
    code.warnings = {"of " + translation.code};
    code.times = translation.times;
    code.times.push_back({"assemble", Nanoseconds(static_cast<double>(++calls))});
    return code;
  }
  std::vector<Result<CompiledCode>> assemble_all(std::span<const Translation> translations) override {
    std::vector<std::string>& names = asked.emplace_back();
    for (const Translation& translation : translations) names.push_back(translation.code);
    return Compiler::assemble_all(translations);
  }
  std::string identity() const override { return ""; }
  Result<std::string> emit(const ir::Module&, const CompileOptions&, Stage) override { return std::string(); }
  Result<std::string> disassemble(const CodeImage&) const override { return std::string(); }

  std::vector<std::vector<std::string>> asked;
  int calls = 0;
};

Translation translation_of(const std::string& code, double optimising = 5) {
  return {
      .code = code, .architecture = "sm_90", .assembler = {}, .kernels = {"k"}, .times = {{"optimise", Nanoseconds(optimising)}}};
}

std::string text_of(const Result<CompiledCode>& code) {
  if (!code.ok()) return code.status().message();
  return {reinterpret_cast<const char*>(code->image.bytes.data()), code->image.bytes.size()};
}

std::vector<double> times_of(const CompiledCode& code) {
  std::vector<double> times;
  for (const StageTime& time : code.times) times.push_back(time.time.count());
  return times;
}

class AssemblyMemoryTest : public ::testing::Test {
 protected:
  std::vector<Result<CompiledCode>> assemble(AssemblyMemory& memory, const std::vector<Translation>& translations) {
    return memory.assemble_all(translations, compiler_);
  }
  std::vector<std::string> texts(AssemblyMemory& memory, const std::vector<std::string>& codes) {
    std::vector<Translation> translations;
    for (const std::string& code : codes) translations.push_back(translation_of(code));
    std::vector<std::string> texts;
    for (const auto& code : assemble(memory, translations)) texts.push_back(text_of(code));
    return texts;
  }

  NotingCompiler compiler_;
};

TEST_F(AssemblyMemoryTest, EqualTranslationsAreAssembledOnceAndEachHasItsCode) {
  AssemblyMemory memory;
  EXPECT_THAT(texts(memory, {"a", "b", "a"}), ElementsAre("a", "b", "a"));
  EXPECT_THAT(texts(memory, {"c", "b", "a", "c"}), ElementsAre("c", "b", "a", "c"));
  EXPECT_THAT(compiler_.asked, ElementsAre(ElementsAre("a", "b"), ElementsAre("c")));
  EXPECT_THAT(texts(memory, {}), IsEmpty());
}

TEST_F(AssemblyMemoryTest, TheTimesAreThoseOfItsOwnTranslationAndOfAssemblingIt) {
  AssemblyMemory memory;
  ASSERT_TRUE(assemble(memory, {translation_of("a", 5)})[0].ok());
  Translation later = translation_of("a", 7);
  later.times.insert(later.times.begin(), {"prepare", Nanoseconds(3)});
  const auto again = assemble(memory, {later});
  ASSERT_TRUE(again[0].ok());
  EXPECT_THAT(times_of(*again[0]), ElementsAre(3, 7, 1));
  EXPECT_THAT(again[0]->warnings, ElementsAre("of a"));
}

TEST_F(AssemblyMemoryTest, WhatTheAssemblerIsAskedOtherwiseIsAssembledForItself) {
  AssemblyMemory memory;
  Translation capped = translation_of("a");
  capped.assembler.max_registers = 32;
  for (const auto& code : assemble(memory, {translation_of("a"), capped, capped})) ASSERT_TRUE(code.ok());
  EXPECT_THAT(compiler_.asked, ElementsAre(ElementsAre("a", "a")));
}

TEST_F(AssemblyMemoryTest, AFailureIsOfAllThatAreEqualAndNotRemembered) {
  AssemblyMemory memory;
  EXPECT_THAT(texts(memory, {"fail", "a", "fail"}), ElementsAre("not today", "a", "not today"));
  EXPECT_THAT(texts(memory, {"a", "fail"}), ElementsAre("a", "not today"));
  EXPECT_THAT(compiler_.asked, ElementsAre(ElementsAre("fail", "a"), ElementsAre("fail")));
}

// What was known when the call began is there, also where what it adds leaves no room for it.
TEST_F(AssemblyMemoryTest, TheOldestIsForgottenFirst) {
  AssemblyMemory memory(Bytes(6));
  EXPECT_THAT(texts(memory, {"one"}), ElementsAre("one"));
  EXPECT_THAT(texts(memory, {"two", "six", "one"}), ElementsAre("two", "six", "one"));
  EXPECT_THAT(texts(memory, {"six", "two"}), ElementsAre("six", "two"));
  EXPECT_THAT(texts(memory, {"one", "much too long"}), ElementsAre("one", "much too long"));
  EXPECT_THAT(texts(memory, {"much too long"}), ElementsAre("much too long"));
  EXPECT_THAT(compiler_.asked, ElementsAre(ElementsAre("one"), ElementsAre("two", "six"), IsEmpty(),
                                           ElementsAre("one", "much too long"), ElementsAre("much too long")));
}

}  // namespace
}  // namespace mneme
