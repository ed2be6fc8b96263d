#include "mneme/compile/nvptx/disassembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "mneme/compile/nvptx/ptx_assembler.h"

namespace mneme::nvptx {
namespace {

// A program of the test's own in place of nvdisasm.
class Program {
 public:
  explicit Program(const std::string& script) {
    std::ofstream(path_) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
  }
  ~Program() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = fmt::format("{}/mneme-nvdisasm-test-{}", std::filesystem::temp_directory_path().string(), ::getpid());
};

ByteVector bytes(std::string_view text) {
  auto span = std::as_bytes(std::span(text));
  return {span.begin(), span.end()};
}

TEST(Disassembler, GivesTheCubinAndReturnsTheText) {
  Program program("test \"$1\" = -c && tr a-z A-Z <\"$2\"\n");
  auto text = disassemble(bytes("fadd r1"), {"/nonexistent/nvdisasm", program.path()});
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  EXPECT_EQ(*text, "FADD R1");
}

// The toolkit's own, on a cubin that is made here.
TEST(Disassembler, WritesTheGpusInstructions) {
  const auto there = [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0; };
  const std::vector<std::string> paths = nvdisasm_paths();
  if (std::none_of(paths.begin(), paths.end(), there)) GTEST_SKIP() << "there is no nvdisasm";
  auto assembler = find_assembler(AssemblerSearch::from_environment());
  ASSERT_TRUE(assembler.ok()) << assembler.status().to_string();
  if ((*assembler)->name() == "driver") GTEST_SKIP() << "there is no assembler but the driver's";
  auto cubin =
      (*assembler)
          ->assemble({.ptx =
                          ".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {\n.reg .b64 %r<2>;\n"
                          "ld.param.u64 %r1, [p];\nst.global.u64 [%r1], %r1;\nret;\n}\n",
                      .architecture = "sm_90"});
  ASSERT_TRUE(cubin.ok()) << cubin.status().to_string();
  auto text = disassemble(cubin->image.bytes, paths);
  ASSERT_TRUE(text.ok()) << text.status().to_string();
  EXPECT_THAT(*text, testing::AllOf(testing::HasSubstr("STG"), testing::HasSubstr("EXIT")));
}

TEST(Disassembler, OneThatIsMissingIsRefusedWithWhereItWasLookedFor) {
  EXPECT_EQ(disassemble({}, {"/nonexistent/nvdisasm", "/etc"}).status().to_string(),
            "unavailable: finding nvdisasm, to disassemble a cubin: not at /nonexistent/nvdisasm, /etc; it comes with the CUDA "
            "toolkit: install it, or set CUDA_HOME to where it is");
}

TEST(Disassembler, ACubinThatIsRefusedIsToldInItsWords) {
  Program program("echo 'no such machine' >&2; exit 3\n");
  EXPECT_EQ(disassemble(bytes("?"), {program.path()}).status().to_string(),
            "incompatible: disassembling by " + program.path() + ": exit status 3: no such machine");
}

TEST(Disassembler, ACrashIsUnavailable) {
  Program program("kill -SEGV $$\n");
  auto text = disassemble(bytes("?"), {program.path()});
  EXPECT_EQ(text.status().code(), Code::unavailable);
  EXPECT_THAT(text.status().message(), testing::HasSubstr("it did not run to its end"));
}

TEST(Disassembler, IsLookedForInTheToolkitsAndThePath) {
  const std::string path = ::getenv("PATH");
  ::setenv("CUDA_HOME", "/opt/toolkit", 1);
  ::setenv("PATH", "/usr/bin::/usr/local/cuda/bin", 1);
  auto paths = nvdisasm_paths();
  ::setenv("CUDA_HOME", "", 1);
  auto without_home = nvdisasm_paths();
  ::setenv("PATH", path.c_str(), 1);
  ::unsetenv("CUDA_HOME");
  EXPECT_THAT(without_home, testing::ElementsAre("/usr/local/cuda/bin/nvdisasm", "/usr/bin/nvdisasm"));
  EXPECT_THAT(paths, testing::ElementsAre("/opt/toolkit/bin/nvdisasm", "/usr/local/cuda/bin/nvdisasm", "/usr/bin/nvdisasm"));
}

}  // namespace
}  // namespace mneme::nvptx
