#include "mneme/compile/deferred_compiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/compile/backend.h"

namespace mneme {
namespace {

ir::Module ir_of(const std::string& text) { return ir::Module::parse(std::as_bytes(std::span(text)), "test.ll").value(); }

TEST(DeferredCompiler, IsMadeOnceWhenSomethingIsCompiled) {
  int made = 0;
  const auto make = [&] {
    ++made;
    return Compiler::create(DeviceKind::cpu, architecture_without_device(DeviceKind::cpu, ""));
  };
  const std::string identity = (*make())->identity();
  made = 0;
  const auto compiler = defer_compiler({identity, make});
  EXPECT_EQ(compiler->identity(), identity);
  EXPECT_FALSE(compiler->find(Digest(), {}).has_value());
  EXPECT_EQ(made, 0);
  const ir::Module module = ir_of(R"(target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k() { ret void })");
  const auto translation = compiler->translate(module, {.kernels = {"k"}});
  ASSERT_TRUE(translation.ok()) << translation.status().to_string();
  const auto code = compiler->assemble(*translation);
  ASSERT_TRUE(code.ok()) << code.status().to_string();
  EXPECT_EQ(compiler->compile(module, {.kernels = {"k"}})->digest, code->digest);
  EXPECT_EQ(compiler->assemble_all({&*translation, 1}).front()->digest, code->digest);
  EXPECT_TRUE(compiler->emit(module, {.kernels = {"k"}}, Stage::optimised).ok());
  EXPECT_EQ(made, 1);
}

TEST(DeferredCompiler, IsMadeAgainWhereTheMakingHasFailed) {
  const std::string architecture = architecture_without_device(DeviceKind::cpu, "");
  const std::string identity = (*Compiler::create(DeviceKind::cpu, architecture))->identity();
  Status failure = error(Code::exhausted, "this thread has too small a stack");
  const auto compiler = defer_compiler({identity, [&]() -> Result<std::unique_ptr<Compiler>> {
                                          MNEME_TRY(failure);
                                          return Compiler::create(DeviceKind::cpu, architecture);
                                        }});
  const ir::Module module = ir_of(R"(target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k() { ret void })");
  EXPECT_EQ(compiler->compile(module, {.kernels = {"k"}}).status().to_string(), failure.to_string());
  failure = {};
  const auto code = compiler->compile(module, {.kernels = {"k"}});
  EXPECT_TRUE(code.ok()) << code.status().to_string();
}

TEST(DeferredCompiler, FailsEachTimeAsItsMakingDid) {
  const Status failure = error(Code::unsupported, "no such architecture");
  const auto compiler = defer_compiler({"a name", [&]() -> Result<std::unique_ptr<Compiler>> { return failure; }});
  const ir::Module module = ir_of("define void @k() { ret void }");
  EXPECT_EQ(compiler->compile(module, {}).status().to_string(), failure.to_string());
  EXPECT_EQ(compiler->translate(module, {}).status().to_string(), failure.to_string());
  EXPECT_EQ(compiler->assemble({}).status().to_string(), failure.to_string());
  const std::vector<Translation> two(2);
  ASSERT_EQ(compiler->assemble_all(two).size(), 2u);
  EXPECT_EQ(compiler->assemble_all(two)[1].status().to_string(), failure.to_string());
  EXPECT_EQ(compiler->emit(module, {}, Stage::optimised).status().to_string(), failure.to_string());
  EXPECT_EQ(compiler->tool_commands(module, {}).status().to_string(), failure.to_string());
  EXPECT_EQ(compiler->disassemble({}).status().to_string(), failure.to_string());
  EXPECT_TRUE(compiler->assembler_arguments({}).empty());
}

// The cache of what such a compiler makes is that of the compiler.
TEST(DeferredCompiler, IsNamedAsTheCompiler) {
  for (const CompilerBackend& backend : compiler_backends()) {
    const std::string architecture = backend.architecture(backend.kind == DeviceKind::cuda ? "sm_90" : "gfx942");
    const auto now = Compiler::create(backend.kind, architecture),
               later = Compiler::create_when_asked(backend.kind, architecture);
    ASSERT_TRUE(now.ok() && later.ok()) << architecture;
    EXPECT_EQ((*later)->identity(), (*now)->identity());
    EXPECT_THAT((*now)->identity(), testing::HasSubstr(architecture));
  }
}

// A program in the place of ptxas, in a toolkit of its own, that fails with these words.
std::filesystem::path toolkit_that_says(const std::string& words, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "bin");
  const std::filesystem::path program = folder / "bin/ptxas";
  std::ofstream(program) << "#!/bin/sh\necho " << words << " >&2\nexit 3\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  return program;
}

class EnvironmentScope {
 public:
  EnvironmentScope(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before;
    ::setenv(name, value.c_str(), 1);
  }
  ~EnvironmentScope() { before_ ? ::setenv(name_, before_->c_str(), 1) : ::unsetenv(name_); }

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// Else the code of one would be kept under the name of the other.
TEST(DeferredCompiler, AssemblesWithWhatItIsNamedAfter) {
  const TemporaryDirectory folder;
  const std::string first = toolkit_that_says("first", folder.path() / "first"),
                    other = toolkit_that_says("other", folder.path() / "other");
  const EnvironmentScope only("MNEME_PTX_ASSEMBLER", "ptxas");
  std::optional<EnvironmentScope> home(std::in_place, "CUDA_HOME", folder.path() / "first");
  const auto compiler = Compiler::create_when_asked(DeviceKind::cuda, "sm_90");
  ASSERT_TRUE(compiler.ok()) << compiler.status().to_string();
  if ((*compiler)->identity().find(first) == std::string::npos) GTEST_SKIP() << "ptxas is beside the tests";
  home.reset();
  home.emplace("CUDA_HOME", folder.path() / "other");
  EXPECT_EQ((*compiler)->assemble({.code = ".version 8.0", .architecture = "sm_90"}).status().to_string(),
            "incompatible: assembling PTX for sm_90 by " + first + ": exit status 3: first");
  EXPECT_THAT((*Compiler::create_when_asked(DeviceKind::cuda, "sm_90"))->identity(), testing::HasSubstr(other));
}

TEST(DeferredCompiler, IsRefusedWhereTheAssemblerIsAnotherByThen) {
  const TemporaryDirectory folder;
  toolkit_that_says("first", folder.path());
  const EnvironmentScope only("MNEME_PTX_ASSEMBLER", "ptxas"), home("CUDA_HOME", folder.path());
  const auto compiler = Compiler::create_when_asked(DeviceKind::cuda, "sm_90");
  ASSERT_TRUE(compiler.ok()) << compiler.status().to_string();
  const std::string before = (*compiler)->identity();
  toolkit_that_says("another", folder.path());
  const std::string now = (*Compiler::create_when_asked(DeviceKind::cuda, "sm_90"))->identity();
  if (now == before) GTEST_SKIP() << "ptxas is beside the tests";
  EXPECT_EQ((*compiler)->assemble({.code = ".version 8.0", .architecture = "sm_90"}).status().to_string(),
            "incompatible: making the compiler '" + before + "': it has become '" + now +
                "' since the recording was prepared: prepare it again");
}

TEST(DeferredCompiler, AnArchitectureThatLlvmDoesNotKnowIsRefusedByWhatIsCompiled) {
  const auto compiler = Compiler::create_when_asked(DeviceKind::cuda, "sm_12345");
  ASSERT_TRUE(compiler.ok());
  EXPECT_EQ((*compiler)->compile(ir_of("define void @k() { ret void }"), {}).status().to_string(),
            Compiler::create(DeviceKind::cuda, "sm_12345").status().to_string());
  EXPECT_EQ(Compiler::create_when_asked(DeviceKind::fake, "").status().to_string(),
            Compiler::create(DeviceKind::fake, "").status().to_string());
}

}  // namespace
}  // namespace mneme
