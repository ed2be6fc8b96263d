// What opt and llc are to be given. The test e2e.source runs them.
#include "mneme/compile/nvptx/tool_commands.h"

#include <gmock/gmock.h>

#include "mneme/compile/nvptx/compiler.h"

namespace mneme::nvptx {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Fidelity = ToolCommands::Fidelity;

// A kernel, a function that becomes a part of it, one that does not, and one that nothing calls.
constexpr const char* kModule = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@counter = addrspace(1) externally_initialized global i32 5, align 4
define float @twice(float %x) #0 {
  %y = fmul contract float %x, 2.0
  ret float %y
}
define i32 @bump() noinline #0 {
  %old = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic
  ret i32 %old
}
define i32 @unused() #0 {
  ret i32 7
}
define ptx_kernel void @scale(ptr %a) #0 {
  %x = load float, ptr %a
  %y = call float @twice(float %x)
  CALL
  store float %y, ptr %a
  ret void
}
attributes #0 = { "target-cpu"="sm_90" "target-features"="+ptx88,+sm_90" }
)";

Result<ToolCommands> commands(const CompileOptions& options, const std::string& call = "") {
  std::string text = kModule;
  text.replace(text.find("CALL"), 4, call);
  MNEME_ASSIGN(const ir::Module module, ir::Module::parse(std::as_bytes(std::span(text)), "test.ll"));
  MNEME_ASSIGN(const auto compiler, create_compiler("sm_90"));
  return compiler->tool_commands(module, options);
}

TEST(ToolCommands, GiveTheSameCodeToTheByte) {
  CompileOptions options;
  options.kernels = {"scale"};
  const auto found = commands(options);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->fidelity, Fidelity::same);
  EXPECT_EQ(found->passes, "default<O3>");
  EXPECT_THAT(found->opt, ElementsAre("-mcpu=sm_90", "-mattr=+ptx88", "-fp-contract=fast"));
  EXPECT_THAT(found->llc, ElementsAre("-mcpu=sm_90", "-mattr=+ptx88", "-fp-contract=fast", "-O3", "-asm-verbose=false"));
  EXPECT_THAT(found->ir, HasSubstr("@twice"));
  EXPECT_THAT(found->optimised, Not(HasSubstr("@unused"))) << "what is not reached is dropped, as " << found->cleaning << " says";
  EXPECT_EQ(found->cleaning, "internalize<preserve-gv=scale;preserve-gv=counter>,globaldce");
}

TEST(ToolCommands, TellWhereTheLinkageIsAnother) {
  CompileOptions options;
  options.kernels = {"scale"};
  const auto found = commands(options, "%c = call i32 @bump()");
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->fidelity, Fidelity::linkage);
  EXPECT_THAT(found->optimised, HasSubstr("@bump"));
  EXPECT_THAT(found->cleaning, HasSubstr("preserve-gv=bump"));
}

TEST(ToolCommands, AreOfWhatWasAskedFor) {
  CompileOptions options;
  options.kernels = {"scale"};
  options.passes = "as-built,function(instcombine<max-iterations=2>)";
  options.as_built = "default<O2>";
  options.linkage = Linkage::internal;
  options.codegen.target = "sm_80";
  options.codegen.contraction = Contraction::off;
  options.codegen.level = 1;
  const auto found = commands(options);
  ASSERT_TRUE(found.ok()) << found.status().to_string();
  EXPECT_EQ(found->fidelity, Fidelity::same);
  EXPECT_EQ(found->passes, "default<O2>,function(instcombine<no-verify-fixpoint;max-iterations=2>)");
  EXPECT_EQ(found->cleaning, "") << "nothing is visible that could be dropped";
  EXPECT_THAT(found->llc, ElementsAre("-mcpu=sm_80", "-mattr=+ptx88", "-fp-contract=off", "-O1", "-asm-verbose=false"));
}

TEST(ToolCommands, PluginsAreRefused) {
  CompileOptions options;
  options.pass_plugins = {"passes.so"};
  const auto found = commands(options);
  EXPECT_EQ(found.status().code(), Code::unsupported);
  EXPECT_EQ(found.status().message(), "pass_plugins: a plugin of LLVM's is a library of this machine, which no text has");
}

}  // namespace
}  // namespace mneme::nvptx
