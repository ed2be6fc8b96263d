// What opt, llc and LLD are to be given, with which they make the code object that Mneme has made.
#include "mneme/compile/amdgpu/tool_commands.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/compile/amdgpu/testing/amdgcn_ir.h"

namespace mneme::amdgpu {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using Fidelity = ToolCommands::Fidelity;

CompileOptions as_recorded(const std::string& kernel) {
  CompileOptions options;
  options.passes = "as-built";
  options.as_built = "default<O2>";
  options.kernels = {kernel};
  return options;
}

std::string words(const std::vector<std::string>& all) {
  std::string text;
  for (const std::string& word : all) text += " '" + word + "'";
  return text;
}

// The code object that LLVM's own programs make.
std::string made_by_programs(const ToolCommands& commands, const std::vector<std::string>& linker) {
  TemporaryDirectory directory;
  const std::string folder = directory.path().string() + "/", tools = MNEME_TEST_LLVM_TOOLS;
  std::ofstream(folder + "kernel.ll") << commands.ir;
  const auto run = [](const std::string& command) { EXPECT_EQ(std::system(command.c_str()), 0) << command; };
  run(tools + "opt" + words(commands.opt) + " '-passes=" + commands.passes + "' -S " + folder + "kernel.ll -o " + folder +
      "o.ll");
  if (!commands.cleaning.empty())
    run(tools + "opt" + words(commands.opt) + " '-passes=" + commands.cleaning + "' -S " + folder + "o.ll -o " + folder + "o.ll");
  run(tools + "llc" + words(commands.llc) + " -filetype=obj " + folder + "o.ll -o " + folder + "kernel.o");
  run(tools + "ld.lld" + words(linker) + " " + folder + "kernel.o -o " + folder + "kernel.hsaco");
  std::ifstream file(folder + "kernel.hsaco", std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(AmdgpuToolCommands, GiveTheSameCodeObjectToTheByte) {
  for (const char* architecture : kArchitectures) {
    const ir::Module module = kernels_for(architecture);
    for (const std::string kernel : kKernels) {
      if (kernel == "mathematics") continue;  // which takes ROCm's device libraries
      const CompileOptions options = as_recorded(kernel);
      const auto with = compiler(architecture);
      const auto found = with->tool_commands(module, options);
      ASSERT_TRUE(found.ok()) << kernel << ": " << found.status().to_string();
      EXPECT_EQ(found->fidelity, Fidelity::same) << architecture << " " << kernel;
      EXPECT_EQ(found->assembly, *with->emit(module, options, Stage::assembly));
      if (architecture != kArchitectures[0] && kernel != "global_variables") continue;  // the programs take long to start
      const auto translation = with->translate(module, options);
      const auto code = with->assemble(*translation);
      ASSERT_TRUE(code.ok());
      const std::string expected(reinterpret_cast<const char*>(code->image.bytes.data()), code->image.bytes.size());
      EXPECT_TRUE(made_by_programs(*found, with->assembler_arguments(*translation)) == expected) << architecture << " " << kernel;
    }
  }
}

TEST(AmdgpuToolCommands, AreOfWhatWasAskedFor) {
  const ir::Module module = kernels_for("gfx90a");
  CompileOptions options = as_recorded("structure");
  options.passes = "as-built,function(instcombine<max-iterations=2>)";
  options.codegen.target = "gfx942:xnack-";
  options.codegen.contraction = Contraction::off;
  options.codegen.level = 1;
  const auto found = compiler("gfx90a")->tool_commands(module, options);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->fidelity, Fidelity::same);
  EXPECT_EQ(found->passes, "default<O2>,function(instcombine<no-verify-fixpoint;max-iterations=2>)");
  EXPECT_THAT(found->llc, Contains("-mcpu=gfx942"));
  EXPECT_THAT(found->llc, Contains(HasSubstr("-xnack")));
  EXPECT_THAT(found->llc, Contains("-fp-contract=off"));
  EXPECT_THAT(found->llc, Contains("-O1"));
  EXPECT_THAT(found->assembly, HasSubstr(".amdgcn_target \"amdgcn-amd-amdhsa--gfx942:xnack-\""));
  EXPECT_THAT(found->optimised, Not(HasSubstr("@vector_add")));
}

TEST(AmdgpuToolCommands, PluginsAreRefused) {
  CompileOptions options = as_recorded("structure");
  options.pass_plugins = {"passes.so"};
  const auto found = compiler("gfx90a")->tool_commands(kernels_for("gfx90a"), options);
  EXPECT_EQ(found.status().code(), Code::unsupported);
  EXPECT_EQ(found.status().message(), "pass_plugins: a plugin of LLVM's is a library of this machine, which no text has");
}

}  // namespace
}  // namespace mneme::amdgpu
