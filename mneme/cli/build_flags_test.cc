#include "mneme/cli/build_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "mneme/base/suggestion.h"

namespace mneme::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Installation, FindsEverythingFromTheCommand) {
  auto installation = Installation::at("/opt/some where/bin/mneme");
  ASSERT_TRUE(installation.ok());
  EXPECT_EQ(installation->prefix, "/opt/some where");
  EXPECT_EQ(installation->plugin(), "/opt/some where/lib/libmneme_instrument.so");
  EXPECT_EQ(installation->wrap_options(), "/opt/some where/lib/mneme/wrap.rsp");
  EXPECT_EQ(installation->cmakedir, "/opt/some where/lib/cmake/mneme");
}

TEST(Installation, RefusesACommandOutsideOfBin) {
  EXPECT_EQ(Installation::at("/tmp/mneme").status().message(),
            "finding Mneme's files from /tmp/mneme: the command is not in the folder bin of an installation");
}

TEST(Architecture, IsOneOfCudas) {
  for (const char* right : {"sm_75", "sm_90", "sm_90a", "sm_120f", "sm_121"}) EXPECT_TRUE(is_architecture(right)) << right;
  for (const char* wrong : {"80", "sm_", "sm_70", "sm_74", "sm_122", "sm_999", "sm_90b", "SM_90", "sm_9 0", "native", ""})
    EXPECT_FALSE(is_architecture(wrong)) << wrong;
}

TEST(Installation, RefusesACudaHomeThatIsNone) {
  const char* old = std::getenv("CUDA_HOME");
  const std::string kept = old ? old : "";
  ::setenv("CUDA_HOME", "/nonexistent/cuda", 1);
  EXPECT_EQ(find_cuda_toolkit().status().to_string(),
            "not_found: CUDA_HOME is /nonexistent/cuda, which is no CUDA toolkit (no include/cuda_runtime.h, or no "
            "nvvm/libdevice/libdevice.10.bc): set it to the folder of a CUDA 13 toolkit, or unset it");
  const Path folder = Path(::testing::TempDir()) / fmt::format("half-a-toolkit-{}", ::getpid());
  std::filesystem::create_directories(folder / "include");
  std::ofstream(folder / "include" / "cuda_runtime.h") << "// headers alone compile nothing\n";
  ::setenv("CUDA_HOME", folder.c_str(), 1);
  EXPECT_THAT(find_cuda_toolkit().status().message(), HasSubstr("which is no CUDA toolkit"));
  std::filesystem::remove_all(folder);
  ::unsetenv("CUDA_HOME");
  const std::string unset = find_cuda_toolkit().status().to_string();
  ::setenv("CUDA_HOME", "", 1);
  EXPECT_EQ(find_cuda_toolkit().status().to_string(), unset) << "an empty one names none";
  kept.empty() ? ::unsetenv("CUDA_HOME") : ::setenv("CUDA_HOME", kept.c_str(), 1);
}

TEST(Installation, SaysHowToGetTheCompiler) {
  auto found = find_clang("no-such-compiler");
  ASSERT_FALSE(found.ok());
  EXPECT_THAT(found.status().message(), HasSubstr("install the packages clang-"));
}

TEST(BuildFlags, CompileAndLink) {
  const Installation installation = *Installation::at("/opt/mneme/bin/mneme");
  const BuildFlagOptions options{.architecture = "sm_80", .cuda_runtime = CudaRuntime::static_library};
  const auto compile = cxx_flags(installation, "/opt/cuda", options);
  EXPECT_THAT(compile, Contains("-fpass-plugin=/opt/mneme/lib/libmneme_instrument.so"));
  EXPECT_THAT(compile, Contains("-fno-discard-value-names"));
  EXPECT_THAT(compile, Contains("--offload-arch=sm_80"));
  EXPECT_THAT(compile, Contains("--cuda-path=/opt/cuda"));
  EXPECT_THAT(compile, Not(Contains("cuda")));
  EXPECT_THAT(cuda_flags(installation, "/opt/cuda", options), Contains("--no-offload-arch=sm_52"));

  const auto link = link_flags(installation, "/opt/cuda", options);
  EXPECT_THAT(link, Contains("-lmneme_runtime"));
  EXPECT_THAT(link, Contains("-Wl,@/opt/mneme/lib/mneme/wrap.rsp"));
  EXPECT_THAT(link, Contains("-Wl,-rpath,/opt/mneme/lib")) << "where MNEME_TUNED has the program look";
  EXPECT_THAT(link, Contains("-lcudart_static"));
  const auto shared = link_flags(installation, "/opt/cuda", {.cuda_runtime = CudaRuntime::shared_library});
  EXPECT_THAT(shared, Contains("-lcudart"));
  EXPECT_THAT(shared, Contains("-Wl,-rpath,/opt/cuda/lib64"));
}

TEST(BuildFlags, RelocatableDeviceCodeIsAlwaysLinked) {
  const Installation installation = *Installation::at("/opt/mneme/bin/mneme");
  const BuildFlagOptions options{.device_code = DeviceCode::relocatable};
  EXPECT_THAT(cxx_flags(installation, "/opt/cuda", options), Contains("-fgpu-rdc"));
  EXPECT_THAT(cxx_flags(installation, "/opt/cuda", {}), Not(Contains("-fgpu-rdc")));
  const auto link = link_flags(installation, "/opt/cuda", options);
  EXPECT_THAT(link, Contains("--offload-link"));
  EXPECT_THAT(join_for_shell(link), HasSubstr("-Xoffload-linker --cuda-path=/opt/cuda"));
  EXPECT_THAT(link_flags(installation, "/opt/cuda", {}), Not(Contains("--offload-link")));
}

TEST(BuildFlags, AreQuotedForTheShell) {
  EXPECT_EQ(join_for_shell({"-O2", "-Wl,@/a/b", "-I/some where"}), "-O2 -Wl,@/a/b '-I/some where'");
  EXPECT_EQ(join_for_shell({"it's"}), "'it'\\''s'");
  for (const char c : std::string(" \t\n\"\\$`*?[]()<>|&;#~!{}"))
    EXPECT_EQ(join_for_shell({fmt::format("a{}b", c)}), fmt::format("'a{}b'", c));
}

TEST(Suggestion, NearestCountsSwappedLetters) {
  EXPECT_EQ(nearest("recrod", {"replay", "record"}), "record");
  EXPECT_EQ(nearest("--gird-dim-x", {"--grid-dim-y", "--grid-dim-x"}), "--grid-dim-x");
  EXPECT_FALSE(nearest("frobnicate", {"replay", "record", "ls"}));
  EXPECT_FALSE(nearest("x", {"ls"}));
}

}  // namespace
}  // namespace mneme::cli
