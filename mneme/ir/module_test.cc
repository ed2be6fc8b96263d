#include "mneme/ir/module.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

namespace mneme::ir {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view kTarget = "target triple = \"nvptx64-nvidia-cuda\"\n";

Result<Module> parse_text(std::string_view body, const std::string& name = "test.ll") {
  const std::string text = std::string(kTarget) + std::string(body);
  return Module::parse(std::as_bytes(std::span(text)), name);
}

TEST(Module, ListsFunctionsAndGlobals) {
  auto module = parse_text(R"(
@table = addrspace(4) externally_initialized global [4 x i32] zeroinitializer
@other = external addrspace(1) global i64
declare void @callee()
define ptx_kernel void @kernel() { call void @callee() ret void }
)");
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_EQ(module->target_triple(), "nvptx64-nvidia-cuda");
  const auto functions = module->functions();
  ASSERT_EQ(functions.size(), 2u);
  EXPECT_EQ(functions[0].name, "callee");
  EXPECT_TRUE(functions[0].is_declaration);
  EXPECT_TRUE(functions[1].is_kernel);
  EXPECT_EQ(functions[1].instructions, 2u);
  const auto globals = module->global_variables();
  ASSERT_EQ(globals.size(), 2u);
  EXPECT_EQ(globals[0].size, 16u);
  EXPECT_EQ(globals[0].address_space, 4u);
  EXPECT_TRUE(globals[1].is_declaration);
}

TEST(Module, ReadsItsOwnBitcodeAndClones) {
  auto module = parse_text("define i32 @f() { ret i32 7 }");
  ASSERT_TRUE(module.ok());
  auto again = Module::parse(module->bitcode(), "f.bc");
  ASSERT_TRUE(again.ok()) << again.status().to_string();
  EXPECT_THAT(again->print(), HasSubstr("ret i32 7"));
  auto copy = again->clone();
  ASSERT_TRUE(copy.ok());
  EXPECT_EQ(copy->print(), again->print());
  EXPECT_TRUE(copy->verify().ok());
}

TEST(Module, ConcatenatedFilesAreLinkedAndTheFirstWins) {
  auto first = parse_text(
      "declare i32 @g()\ndefine i32 @f() { %r = call i32 @g() ret i32 %r }\ndefine weak_odr i32 @both() { ret i32 1 }\n");
  auto second =
      parse_text("@table = addrspace(1) global i32 5\ndefine i32 @g() { ret i32 3 }\ndefine i32 @both() { ret i32 2 }\n");
  auto third = parse_text("@table = addrspace(1) global i32 6\ndefine i32 @g() { ret i32 4 }\n");
  ASSERT_TRUE(first.ok() && second.ok() && third.ok());
  ByteVector bytes;
  for (const Module* module : {&*first, &*second, &*third}) {
    const ByteVector part = module->bitcode();
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  auto whole = Module::parse(bytes, "RecordedIR.bc");
  ASSERT_TRUE(whole.ok()) << whole.status().to_string();
  const std::string printed = whole->print();
  EXPECT_THAT(printed, HasSubstr("ret i32 1"));
  EXPECT_THAT(printed, HasSubstr("ret i32 3"));
  EXPECT_THAT(printed, HasSubstr("global i32 5"));
  EXPECT_EQ(whole->functions().size(), 3u);
}

TEST(Module, InternalSymbolsOfTheSameNameStayApart) {
  auto module = parse_text("define internal i32 @local() { ret i32 1 }\ndefine i32 @a() { %r = call i32 @local() ret i32 %r }\n");
  auto other = parse_text("define internal i32 @local() { ret i32 2 }\ndefine i32 @b() { %r = call i32 @local() ret i32 %r }\n");
  ASSERT_TRUE(module.ok() && other.ok());
  ASSERT_TRUE(module->link(std::move(*other)).ok());
  EXPECT_EQ(module->functions().size(), 4u);
}

TEST(Module, ModuleFlagsOfTheFirstStay) {
  auto module = parse_text("!llvm.module.flags = !{!0}\n!0 = !{i32 4, !\"nvvm-reflect-ftz\", i32 0}\n");
  auto other =
      parse_text("!llvm.module.flags = !{!0}\n!0 = !{i32 4, !\"nvvm-reflect-ftz\", i32 1}\ndefine void @f() { ret void }\n");
  ASSERT_TRUE(module.ok() && other.ok());
  const Status status = module->link(std::move(*other));
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_THAT(module->print(), HasSubstr("!\"nvvm-reflect-ftz\", i32 0"));
}

TEST(Module, RefusesToLinkAnotherTarget) {
  auto module = parse_text("define void @f() { ret void }", "nv.ll");
  const std::string text = "target triple = \"amdgcn-amd-amdhsa\"\n";
  auto other = Module::parse(std::as_bytes(std::span(text)), "amd.ll");
  ASSERT_TRUE(module.ok() && other.ok());
  const Status status = module->link(std::move(*other));
  EXPECT_EQ(status.code(), Code::incompatible);
  EXPECT_EQ(status.message(),
            "linking amd.ll into nv.ll: the one is for target amdgcn-amd-amdhsa, the other for nvptx64-nvidia-cuda");
}

TEST(Module, BrokenDebugInfoIsDropped) {
  auto module = parse_text(R"(
define void @f() !dbg !3 { ret void, !dbg !4 }
define void @g() !dbg !3 { ret void, !dbg !4 }
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.c", directory: "/")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "f", unit: !0, spFlags: DISPFlagDefinition)
!4 = !DILocation(line: 1, scope: !3)
)");
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_THAT(module->print(), testing::Not(HasSubstr("DISubprogram")));
}

TEST(Module, TruncatedBitcodeIsCorruptInLlvmsWords) {
  auto module = parse_text("define i32 @f() { ret i32 7 }");
  ASSERT_TRUE(module.ok());
  ByteVector bytes = module->bitcode();
  for (size_t size : {size_t{4}, bytes.size() / 4, bytes.size() / 2, bytes.size() - 4}) {
    auto broken = Module::parse(ByteSpan(bytes).first(size), "cut.bc");
    if (size == bytes.size() - 4 && broken.ok()) continue;  // what is cut off may be padding of the string table
    ASSERT_FALSE(broken.ok()) << size;
    EXPECT_EQ(broken.status().code(), Code::corrupt);
    EXPECT_THAT(broken.status().message(), StartsWith("reading bitcode cut.bc: "));
  }
}

TEST(Module, RefusalsNameTheSource) {
  auto empty = Module::parse({}, "empty.bc");
  EXPECT_EQ(empty.status().message(), "reading LLVM IR empty.bc: it is empty");

  auto syntax = parse_text("define i32 @f() { ret i64 7 }", "bad.ll");
  EXPECT_EQ(syntax.status().code(), Code::corrupt);
  EXPECT_EQ(syntax.status().message(),
            "reading bad.ll as textual LLVM IR: line 2, column 23: value doesn't match function result type 'i32'");

  auto invalid = parse_text("define i32 @f() {\n %a = add i32 %b, 1\n %b = add i32 %a, 1\n ret i32 %b }", "loop.ll");
  EXPECT_EQ(invalid.status().code(), Code::corrupt);
  EXPECT_THAT(invalid.status().message(), StartsWith("loop.ll is not valid LLVM IR: Instruction does not dominate all uses!"));
}

TEST(Module, RenamesSymbols) {
  const std::string text = "target triple = \"nvptx64-nvidia-cuda\"\n@a = global i32 1\n@b = global i32 2\n";
  Result<Module> module = Module::parse(std::as_bytes(std::span(text)), "m");
  ASSERT_TRUE(module.ok()) << module.status().to_string();
  EXPECT_TRUE(module->rename("a", "c").ok());
  EXPECT_TRUE(module->rename("nothing", "d").ok());
  EXPECT_EQ(module->global_variables()[0].name, "c");
  EXPECT_EQ(module->rename("c", "b").to_string(), "incompatible: renaming c to b in m: there is a b already");
}

TEST(Module, WhatTheFirstHasOnlyForItselfOrInPassingIsDefinedByTheSecond) {
  auto module = parse_text(
      "declare i32 @g()\ndefine available_externally i32 @passing() { ret i32 1 }\n"
      "define internal i32 @own() { ret i32 2 }\n"
      "define i32 @f() { %a = call i32 @g() %b = call i32 @passing() %c = call i32 @own() ret i32 %c }\n");
  auto other =
      parse_text("define i32 @passing() { ret i32 1 }\ndefine i32 @own() { ret i32 3 }\ndefine i32 @g() { ret i32 4 }\n");
  ASSERT_TRUE(module.ok() && other.ok());
  ASSERT_TRUE(module->link(std::move(*other)).ok());
  const std::string printed = module->print();
  EXPECT_THAT(printed, HasSubstr("define i32 @passing()"));
  EXPECT_THAT(printed, HasSubstr("define i32 @own()"));
  EXPECT_THAT(printed, HasSubstr("ret i32 2"));
  EXPECT_THAT(printed, HasSubstr("ret i32 3"));
  EXPECT_TRUE(module->verify().ok());
}

TEST(Module, FlagsThatOnlyTheSecondHasAreAdded) {
  auto module = parse_text("!llvm.module.flags = !{!0}\n!0 = !{i32 4, !\"nvvm-reflect-ftz\", i32 0}\n");
  auto other = parse_text("!llvm.module.flags = !{!0}\n!0 = !{i32 4, !\"another\", i32 1}\n");
  ASSERT_TRUE(module.ok() && other.ok());
  ASSERT_TRUE(module->link(std::move(*other)).ok());
  EXPECT_THAT(module->print(), HasSubstr("!\"another\", i32 1"));
  EXPECT_THAT(module->print(), HasSubstr("!\"nvvm-reflect-ftz\", i32 0"));
}

TEST(Module, LlvmsOwnAreNotListed) {
  auto module = parse_text(
      "@llvm.used = appending global [1 x ptr] [ptr @f], section \"llvm.metadata\"\n"
      "declare float @llvm.fabs.f32(float)\n"
      "define float @f(float %x) { %y = call float @llvm.fabs.f32(float %x) ret float %y }\n");
  ASSERT_TRUE(module.ok());
  EXPECT_EQ(module->functions().size(), 1u);
  EXPECT_TRUE(module->global_variables().empty());
}

TEST(Module, TheDigestIsThatOfWhatWasReadUntilItIsChanged) {
  auto renamed = parse_text("@a = global i32 1\n"), linked = parse_text("@a = global i32 1\n"),
       other = parse_text("@b = global i32 1\n");
  ASSERT_TRUE(renamed.ok() && linked.ok() && other.ok());
  const Digest before = renamed->digest();
  EXPECT_EQ(linked->digest(), before);
  ASSERT_TRUE(renamed->rename("a", "c").ok());
  EXPECT_NE(renamed->digest(), before);
  ASSERT_TRUE(linked->link(std::move(*other)).ok());
  EXPECT_NE(linked->digest(), before);
}

TEST(Module, OfBitcodeHasTheNameThatItIsReadUnder) {
  auto module = parse_text("@a = global i32 1\n", "first.ll");
  ASSERT_TRUE(module.ok());
  auto again = Module::parse(module->bitcode(), "second.bc");
  ASSERT_TRUE(again.ok());
  EXPECT_THAT(again->print(), HasSubstr("ModuleID = 'second.bc'"));
}

TEST(Module, ListsOfSymbolsAreJoined) {
  constexpr std::string_view used = "@llvm.used = appending global [1 x ptr] [ptr @{}], section \"llvm.metadata\"\n";
  auto module = parse_text(fmt::format(fmt::runtime(used), "a") + "@a = global i32 1\n");
  auto other = parse_text(fmt::format(fmt::runtime(used), "b") + "@b = global i32 2\n");
  ASSERT_TRUE(module.ok() && other.ok());
  ASSERT_TRUE(module->link(std::move(*other)).ok());
  EXPECT_THAT(module->print(), HasSubstr("[2 x ptr] [ptr @a, ptr @b]"));
}

TEST(Module, AnAliasOfWhatTheFirstDefinesIsDropped) {
  auto module = parse_text("define i32 @f() { ret i32 1 }\n");
  auto other = parse_text(
      "@f = alias i32 (), ptr @implementation\ndefine i32 @implementation() { ret i32 2 }\n"
      "define i32 @g() { %r = call i32 @f() ret i32 %r }\n");
  ASSERT_TRUE(module.ok() && other.ok());
  const Status status = module->link(std::move(*other));
  ASSERT_TRUE(status.ok()) << status.to_string();
  EXPECT_THAT(module->print(), HasSubstr("define i32 @f()"));
  EXPECT_EQ(module->functions().size(), 3u);
}

TEST(Module, GroupsOfDefinitionsAreTakenApart) {
  auto module = parse_text("define i32 @f() { ret i32 1 }\n");
  auto other = parse_text(
      "$f = comdat any\ndefine linkonce_odr i32 @f() comdat { ret i32 2 }\n"
      "define weak_odr i32 @with_it() comdat($f) { ret i32 3 }\n");
  ASSERT_TRUE(module.ok() && other.ok());
  ASSERT_TRUE(module->link(std::move(*other)).ok());
  EXPECT_THAT(module->print(), HasSubstr("ret i32 3"));
  EXPECT_THAT(module->print(), testing::Not(HasSubstr(" comdat")));
  EXPECT_TRUE(module->verify().ok());
}

void append_word(ByteVector& bytes, uint32_t word) {
  const auto parts = std::as_bytes(std::span(&word, 1));
  bytes.insert(bytes.end(), parts.begin(), parts.end());
}

TEST(Module, BlocksThatReachBehindTheEndAreCorrupt) {
  constexpr uint32_t kMagic = 0xdec04342, kBlock = 1;
  for (const uint32_t words : {0x3ffu, 0x10000000u, 0x40000000u, 0xffffffffu}) {
    ByteVector bytes;
    for (const uint32_t word : {kMagic, kBlock, words, kMagic, 0u, 0u}) append_word(bytes, word);
    const Status status = Module::parse(bytes, "long.bc").status();
    EXPECT_EQ(status.code(), Code::corrupt) << words;
    EXPECT_THAT(status.message(), StartsWith("reading bitcode long.bc: ")) << words;
    EXPECT_THAT(status.message(), testing::Not(HasSubstr("there is no module"))) << words;
  }
}

TEST(Module, WhatLiesBehindBitcodeIsNotRead) {
  auto module = parse_text("define i32 @f() { ret i32 7 }");
  ASSERT_TRUE(module.ok());
  ByteVector bytes = module->bitcode();
  append_word(bytes, 1);  // as an archive pads its members
  const size_t page = static_cast<size_t>(getpagesize()), size = (bytes.size() + page - 1) / page * page;
  void* memory = mmap(nullptr, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  ASSERT_EQ(mprotect(static_cast<std::byte*>(memory) + size, page, PROT_NONE), 0);
  std::byte* start = static_cast<std::byte*>(memory) + size - bytes.size();
  std::memcpy(start, bytes.data(), bytes.size());
  auto read = Module::parse(ByteSpan(start, bytes.size()), "padded.bc");
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_THAT(read->print(), HasSubstr("ret i32 7"));
  munmap(memory, size + page);
}

TEST(Module, BitcodeMayBeWrapped) {
  auto module = parse_text("define i32 @f() { ret i32 7 }");
  ASSERT_TRUE(module.ok());
  const ByteVector bitcode = module->bitcode();
  ByteVector bytes;
  for (const uint32_t word : {0x0b17c0deu, 0u, 20u, static_cast<uint32_t>(bitcode.size()), 0u}) append_word(bytes, word);
  bytes.insert(bytes.end(), bitcode.begin(), bitcode.end());
  auto read = Module::parse(bytes, "wrapped.bc");
  ASSERT_TRUE(read.ok()) << read.status().to_string();
  EXPECT_THAT(read->print(), HasSubstr("ret i32 7"));
}

}  // namespace
}  // namespace mneme::ir
