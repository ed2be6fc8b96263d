// What stands in the texts of a folder of sources means what it says, whatever a recording holds.
#include "mneme/reproducer/source_text.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <fstream>

#include "mneme/base/testing/temporary_folder.h"

namespace mneme {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  ::pclose(pipe);
  return text;
}

TEST(SourceText, LiteralsHoldAnyName) {
  EXPECT_EQ(c_literal("_Z3addPf"), "\"_Z3addPf\"");
  EXPECT_EQ(c_literal("a\"b\\c\n?\xff"), R"("a\042b\134c\012\077\377")");
}

TEST(SourceText, MakeAndTheShellGetTheWordsThatWereMeant) {
  TemporaryDirectory directory;
  const std::vector<std::string> words = {"plain-1.0", "a b",         "$HOME",       "$(shell echo no)",
                                          "it's",      "#no comment", "default<O2>", "a;b"};
  std::string recipe = "all:\n";
  for (const std::string& word : words) recipe += "\t@printf '%s\\n' " + recipe_word(word) + "\n";
  std::ofstream(directory.path() / "Makefile") << recipe;
  std::string expected;
  for (const std::string& word : words) expected += word + "\n";
  EXPECT_EQ(output_of("make -s -C " + directory.path().string() + " 2>&1"), expected);
}

// The flags and the pipeline are variables of make, in which a # would begin a comment.
TEST(SourceText, FlagsAndPipelinesReachTheToolsAsTheyAre) {
  TemporaryDirectory directory;
  KernelRecord kernel;
  kernel.demangled = "add(int)\\\nall: ; @echo hostile";
  SourceCode code;
  code.vendor = find_source_vendor(DeviceKind::cuda);
  code.tools.emplace();
  code.tools->llvm = "22.1.8";
  code.tools->passes = "function(a<b;c>),$(shell echo hostile)#x";
  code.tools->opt = {"-mattr=+a#b"};
  code.assembler_arguments = {"-arch=sm_90", "--options='x' #y"};
  code.translated = "ptx";
  std::ofstream(directory.path() / "Makefile") << makefile(kernel, code);
  for (const char* name : {"kernel.ll", "kernel.optimised.ll", "kernel.ptx", "kernel.cubin"})
    std::ofstream(directory.path() / name);
  const std::string shown =
      output_of("make -n -B -C " + directory.path().string() + " OPT=opt LLC=llc PTXAS=ptxas kernel.cubin 2>&1");
  EXPECT_THAT(shown, HasSubstr("opt '-mattr=+a#b' '-passes=function(a<b;c>),$(shell echo hostile)#x' -S kernel.ll"));
  EXPECT_THAT(shown, HasSubstr("ptxas -arch=sm_90 '--options='\\''x'\\'' #y' kernel.ptx -o kernel.cubin"));
  EXPECT_THAT(shown, Not(HasSubstr("\nhostile")));
}

// LLD is of the version of opt and llc, and a code object has assembly beside it for people.
TEST(SourceText, CodeObjectsAreLinkedByLlvmsLinker) {
  TemporaryDirectory directory;
  SourceCode code;
  code.vendor = find_source_vendor(DeviceKind::hip);
  code.tools.emplace();
  code.tools->llvm = "22.1.8";
  code.tools->passes = "default<O2>";
  code.tools->llc = {"-mcpu=gfx90a"};
  code.assembler_arguments = {"-shared", "-m", "elf64_amdgpu"};
  code.translated = "object";
  std::ofstream(directory.path() / "Makefile") << makefile({}, code);
  std::ofstream(directory.path() / "kernel.ll");
  const std::string shown = output_of("make -n -B -C " + directory.path().string() + " kernel.hsaco kernel.s 2>&1");
  EXPECT_THAT(shown, HasSubstr("llc-22 -mcpu=gfx90a -filetype=obj kernel.optimised.ll -o kernel.o\n"));
  EXPECT_THAT(shown, HasSubstr("ld.lld-22 -shared -m elf64_amdgpu kernel.o -o kernel.hsaco\n"));
  EXPECT_THAT(shown, HasSubstr("llc-22 -mcpu=gfx90a kernel.optimised.ll -o kernel.s\n"));
  EXPECT_EQ(find_source_vendor(DeviceKind::cpu), nullptr);
}

TEST(SourceText, NamesOfARecordingEndNoComment) {
  KernelRecord kernel;
  kernel.name = "k";
  kernel.demangled = "k()\\\n#include \"hostile\"";
  kernel.parameters = {{Parameter::Kind::integer, "n\n#error hostile\\", "i32", 0, 4, 4}};
  InstanceRecord instance;
  instance.parameters = ByteVector(4, std::byte{0xff});
  const LaunchPieces pieces;
  const SourceMemory memory;
  const std::string text = launch_header({kernel, instance, {}, pieces, memory, "none", "none"}, {});
  EXPECT_THAT(text, Not(HasSubstr("\n#include \"hostile")));
  EXPECT_THAT(text, Not(HasSubstr("\n#error")));
  EXPECT_THAT(text, HasSubstr("i32 = -1\n"));
  EXPECT_THAT(text, HasSubstr("argument_0[] = {0xff, 0xff, 0xff, 0xff};"));
}

}  // namespace
}  // namespace mneme
