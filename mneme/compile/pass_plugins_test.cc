#include "mneme/compile/pass_plugins.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "mneme/compile/compiler.h"

namespace mneme {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr std::string_view kModule = R"(
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @k(ptr %out, float %a, float %b) {
  %sum = fadd float %a, %b
  store float %sum, ptr %out
  ret void
}
)";

Result<std::string> emit(DeviceKind kind, Stage stage, const std::string& passes, const std::vector<std::string>& plugins) {
  MNEME_ASSIGN(auto compiler, Compiler::create(kind, kind == DeviceKind::cpu ? "x86-64-v3" : "sm_90"));
  MNEME_ASSIGN(ir::Module module, ir::Module::parse(std::as_bytes(std::span(kModule)), "test.ll"));
  CompileOptions options;
  options.passes = passes;
  options.pass_plugins = plugins;
  return compiler->emit(module, options, stage);
}

std::string refusal(const std::string& plugin) {
  return emit(DeviceKind::cuda, Stage::assembly, "default<O1>", {plugin}).status().to_string();
}

TEST(PassPlugins, TheirPassesAreInThePipeline) {
  for (DeviceKind kind : {DeviceKind::cuda, DeviceKind::cpu}) {
    auto without = emit(kind, Stage::optimised, "test-subtract", {});
    EXPECT_EQ(without.status().message(), "pass pipeline 'test-subtract' does not parse: unknown pass name 'test-subtract'");
    auto with = emit(kind, Stage::optimised, "function(test-subtract),default<O1>", {MNEME_TEST_PLUGIN});
    ASSERT_TRUE(with.ok()) << with.status().to_string();
    EXPECT_THAT(*with, AllOf(HasSubstr("fsub float"), Not(HasSubstr("fadd float")), HasSubstr("\"test-plugin\"")));
  }
  EXPECT_THAT(emit(DeviceKind::cuda, Stage::assembly, "test-subtract", {MNEME_TEST_PLUGIN}).value(), HasSubstr("sub.rn.f32"));
  EXPECT_THAT(emit(DeviceKind::cpu, Stage::assembly, "test-subtract", {MNEME_TEST_PLUGIN}).value(), HasSubstr("vsubss"));
}

TEST(PassPlugins, ThoseOfOneCompilationAreNotInTheNext) {
  ASSERT_TRUE(emit(DeviceKind::cuda, Stage::optimised, "default<O1>", {MNEME_TEST_PLUGIN}).ok());
  EXPECT_THAT(emit(DeviceKind::cuda, Stage::optimised, "default<O1>", {}).value(), Not(HasSubstr("test-plugin")));
}

TEST(PassPlugins, AMissingFileIsNamed) {
  EXPECT_EQ(refusal("/nonexistent/plugin.so"),
            "not_found: loading the pass plugin /nonexistent/plugin.so: there is no such file");
  EXPECT_EQ(refusal("/"), "not_found: loading the pass plugin /: there is no such file");
}

TEST(PassPlugins, TheNearestFileInItsFolderIsSuggested) {
  const std::filesystem::path plugin = MNEME_TEST_PLUGIN;
  std::string misspelt = plugin.string();
  misspelt.erase(misspelt.size() - 4, 1);
  EXPECT_EQ(refusal(misspelt), "not_found: loading the pass plugin " + misspelt + ": there is no such file; did you mean '" +
                                   plugin.filename().string() + "'?");
}

TEST(PassPlugins, AFileThatIsNoLibraryIsRefused) {
  const std::string path = fmt::format("{}/mneme-no-plugin-{}", std::filesystem::temp_directory_path().string(), ::getpid());
  std::ofstream(path) << "text";
  EXPECT_EQ(refusal(path), "invalid_argument: loading the pass plugin " + path + ": it is no shared library");
  std::filesystem::remove(path);
}

TEST(PassPlugins, ALibraryThatIsNoPluginIsRefused) {
  EXPECT_EQ(refusal(MNEME_TEST_NO_PLUGIN), "invalid_argument: loading the pass plugin " MNEME_TEST_NO_PLUGIN
                                           ": it is no LLVM pass plugin: it has no function llvmGetPassPluginInfo");
}

TEST(PassPlugins, AnotherVersionOfTheInterfaceIsRefusedWithBoth) {
  EXPECT_EQ(
      refusal(MNEME_TEST_OLD_PLUGIN),
      fmt::format("incompatible: loading the pass plugin {}: it has version 1 of LLVM's plugin interface, and LLVM {} version "
                  "{}: build it for this LLVM",
                  MNEME_TEST_OLD_PLUGIN, LLVM_VERSION_STRING, LLVM_PLUGIN_API_VERSION));
}

TEST(PassPlugins, AFunctionThatThisLlvmDoesNotHaveIsNamed) {
  EXPECT_THAT(refusal(MNEME_TEST_FOREIGN_PLUGIN),
              AllOf(testing::StartsWith("incompatible: loading the pass plugin "), HasSubstr("function_of_another_version"),
                    testing::EndsWith("; a plugin must be built for LLVM " LLVM_VERSION_STRING)));
}

TEST(PassPlugins, OneThatChangedUnderTheProcessIsRefused) {
  const std::string path = fmt::format("{}/mneme-plugin-{}.so", std::filesystem::temp_directory_path().string(), ::getpid());
  std::filesystem::copy_file(MNEME_TEST_PLUGIN, path);
  ASSERT_TRUE(emit(DeviceKind::cuda, Stage::optimised, "test-subtract", {path}).ok());
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(10));
  EXPECT_EQ(refusal(path),
            "incompatible: loading the pass plugin " + path + ": it has changed since this process loaded it: start another one");
  std::filesystem::remove(path);
}

TEST(PassPlugins, ANameWithoutAFolderIsLookedForInTheCurrentOne) {
  const std::filesystem::path plugin = MNEME_TEST_PLUGIN, before = std::filesystem::current_path();
  std::string misspelt = plugin.filename().string();
  misspelt.erase(misspelt.size() - 4, 1);
  std::filesystem::current_path(plugin.parent_path());
  const std::string words = refusal(misspelt);
  std::filesystem::current_path(before);
  EXPECT_THAT(words, testing::EndsWith("; did you mean '" + plugin.filename().string() + "'?"));
}

TEST(PassPlugins, OfSeveralEachHasItsPassesAndMayMakeTheCode) {
  const std::vector<std::string> both = {MNEME_TEST_PLUGIN, MNEME_TEST_OTHER_PLUGIN};
  for (const char* pass : {"test-subtract", "test-other"}) {
    auto text = emit(DeviceKind::cuda, Stage::optimised, pass, both);
    ASSERT_TRUE(text.ok()) << text.status().to_string();
    EXPECT_THAT(*text, HasSubstr("fsub float")) << pass;
  }
  EXPECT_THAT(emit(DeviceKind::cuda, Stage::assembly, "verify", both).value(), HasSubstr("// by a plugin"));
}

}  // namespace
}  // namespace mneme
