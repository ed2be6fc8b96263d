#include "mneme/cli/hip_build_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "mneme/base/testing/temporary_folder.h"
#include "mneme/runtime/runtime_calls.h"

namespace mneme::cli {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

void make_file(const Path& path) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << "\n";
}

// A ROCm as far as its files are looked for.
Rocm make_rocm(const Path& home) {
  make_file(home / "include/hip/hip_runtime.h");
  make_file(home / "lib/libamdhip64.so");
  for (const char* name : {"ocml.bc", "oclc_isa_version_90a.bc", "oclc_isa_version_1100.bc"})
    make_file(home / "amdgcn/bitcode" / name);
  return {home, home / "lib/libamdhip64.so", home / "amdgcn/bitcode"};
}

class RocmPath : public ::testing::Test {
 protected:
  RocmPath() {
    if (const char* old = std::getenv("ROCM_PATH")) kept_ = old;
  }
  ~RocmPath() override { kept_.empty() ? ::unsetenv("ROCM_PATH") : ::setenv("ROCM_PATH", kept_.c_str(), 1); }
  const TemporaryDirectory folder_;

 private:
  std::string kept_;
};

TEST(HipArchitecture, IsOneOfAmds) {
  for (const char* right :
       {"gfx90a", "gfx942", "gfx1100", "gfx90a:xnack+", "gfx90a:sramecc+:xnack-", "gfx90a,gfx942", "gfx9-4-generic"})
    EXPECT_TRUE(are_hip_architectures(right)) << right;
  for (const char* wrong :
       {"", "sm_90", "gfx", "gfx9", "GFX90A", "gfx90a,", ",gfx90a", "gfx90a:", "gfx90a:xnack", "gfx90a:tgsplit+", "gfx90a b"})
    EXPECT_FALSE(are_hip_architectures(wrong)) << wrong;
}

TEST_F(RocmPath, NamesAnotherRocm) {
  if (hip_runtime_calls().call_count == 0) GTEST_SKIP() << "built without HIP";
  ::setenv("ROCM_PATH", folder_.path().c_str(), 1);
  EXPECT_EQ(find_rocm().status().to_string(),
            fmt::format("not_found: ROCM_PATH is {}, which is no ROCm (no include/hip/hip_runtime.h, no libamdhip64.so, or no "
                        "amdgcn/bitcode/ocml.bc): set it to the folder of one, or unset it",
                        folder_.path().string()));
  const Rocm made = make_rocm(folder_.path());
  const auto found = find_rocm();
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->library, made.library);
  EXPECT_EQ(found->device_libraries, made.device_libraries);
  // Where newer packages have them.
  std::filesystem::create_directories(folder_.path() / "lib/llvm");
  std::filesystem::rename(folder_.path() / "amdgcn", folder_.path() / "lib/llvm/amdgcn");
  const auto newer = find_rocm();
  ASSERT_TRUE(newer.ok()) << newer.status().message();
  EXPECT_EQ(newer->device_libraries, folder_.path() / "lib/llvm/amdgcn/bitcode");
}

TEST_F(RocmPath, BuiltWithoutHipSaysWhatToInstall) {
  if (hip_runtime_calls().call_count != 0) GTEST_SKIP() << "built with HIP";
  EXPECT_EQ(find_rocm().status().to_string(),
            "unsupported: this Mneme was built without HIP: install the packages libamdhip64-dev and rocm-device-libs, or set "
            "ROCM_PATH, "
            "and build it again");
}

TEST_F(RocmPath, ArchitecturesNeedDeviceLibraries) {
  const Rocm rocm = make_rocm(folder_.path());
  EXPECT_TRUE(check_device_libraries(rocm, "gfx90a:xnack+,gfx1100").ok());
  EXPECT_EQ(
      check_device_libraries(rocm, "gfx90a,gfx942").to_string(),
      fmt::format(
          "unsupported: ROCm in {0} has no device library for gfx942 (there is no {0}/amdgcn/bitcode/oclc_isa_version_942.bc): "
          "set ROCM_PATH to a newer ROCm, or choose another --arch",
          folder_.path().string()));
}

TEST_F(RocmPath, AnotherVersionThanMnemesIsTold) {
  const Rocm rocm = make_rocm(folder_.path());
  EXPECT_EQ(remark_on_version(rocm, 5), "");  // it says none
  std::ofstream(folder_.path() / "include/hip/hip_version.h") << "#define HIP_VERSION_MAJOR 6\n#define HIP_VERSION_MINOR 2\n";
  EXPECT_EQ(remark_on_version(rocm, 6), "");
  EXPECT_EQ(remark_on_version(rocm, 0), "");
  EXPECT_EQ(remark_on_version(rocm, 5),
            fmt::format("ROCm in {0} is version 6, and this Mneme was built with version 5, where some structures and numbers of "
                        "HIP's are others: what a program asks of pointers and of the device may be wrong under Mneme; build "
                        "Mneme with ROCM_PATH={0}",
                        folder_.path().string()));
}

TEST_F(RocmPath, FlagsCompileAndLink) {
  const Installation installation = *Installation::at("/opt/mneme/bin/mneme");
  const Rocm rocm = make_rocm(folder_.path());
  const std::string home = folder_.path().string();
  const auto compile = hip_cxx_flags(installation, rocm, {.architectures = "gfx90a,gfx1100"});
  EXPECT_THAT(compile, Contains("-fpass-plugin=/opt/mneme/lib/libmneme_instrument.so"));
  EXPECT_THAT(compile, Contains("-fno-discard-value-names"));
  EXPECT_THAT(compile, Contains("--offload-arch=gfx90a,gfx1100"));
  EXPECT_THAT(compile, Contains("--rocm-path=" + home));
  EXPECT_THAT(compile, Contains("-mcode-object-version=5"));
  // Before those of another ROCm in /usr/include, whose own headers stay where clang looks for them.
  EXPECT_THAT(compile, Contains("-isystem" + home + "/include"));
  EXPECT_THAT(hip_cxx_flags(installation, {"/usr", rocm.library, rocm.device_libraries}, {}),
              Not(Contains("-isystem/usr/include")));
  const std::string link_to_usr = home + "/as_usr";
  std::filesystem::create_directory_symlink("/usr", link_to_usr);
  EXPECT_THAT(hip_cxx_flags(installation, {link_to_usr, rocm.library, rocm.device_libraries}, {}),
              Not(Contains("-isystem" + link_to_usr + "/include")));
  EXPECT_THAT(join_for_shell(compile), HasSubstr("-include/opt/mneme/include/mneme/abi/hip_compiler.h"));
  EXPECT_THAT(compile, Not(Contains("-fgpu-rdc")));
  const auto link = hip_link_flags(installation, rocm, {});
  EXPECT_THAT(link, Contains("-lmneme_runtime_hip"));
  EXPECT_THAT(link, Contains("-Wl,@/opt/mneme/lib/mneme/wrap_hip.rsp"));
  EXPECT_THAT(link, Contains("-Wl,-rpath,/opt/mneme/lib"));
  EXPECT_THAT(link, Contains("-lamdhip64"));
  EXPECT_THAT(link, Not(Contains("--hip-link")));

  const HipBuildOptions relocatable{.device_code = DeviceCode::relocatable};
  EXPECT_THAT(hip_cxx_flags(installation, rocm, relocatable), Contains("-fgpu-rdc"));
  EXPECT_THAT(hip_link_flags(installation, rocm, relocatable), Contains("--hip-link"));
  // Newer device libraries have the constants of clang's own version.
  make_file(rocm.device_libraries / "oclc_abi_version_600.bc");
  EXPECT_THAT(hip_cxx_flags(installation, rocm, {}), Contains("-mcode-object-version=6"));
}

TEST_F(RocmPath, HeadersForNvidiaAreAllThatIsNeededForIt) {
  ::setenv("ROCM_PATH", folder_.path().c_str(), 1);
  make_rocm(folder_.path());
  EXPECT_EQ(
      find_hip_for_nvidia().status().to_string(),
      fmt::format("not_found: ROCM_PATH is {}, which has no headers of HIP for NVIDIA GPUs (no "
                  "include/hip/nvidia_detail/nvidia_hip_runtime.h): install hip-dev and hip-runtime-nvidia there, or unset it",
                  folder_.path().string()));
  make_file(folder_.path() / "include/hip/nvidia_detail/nvidia_hip_runtime.h");
  const auto found = find_hip_for_nvidia();
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(*found, folder_.path());
}

TEST_F(RocmPath, FlagsForNvidiaAreThoseOfCudaProgramsAndHipsHeaders) {
  const Installation installation = *Installation::at("/opt/mneme/bin/mneme");
  const Path cuda = folder_.path() / "cuda";
  const auto compile = hip_nvidia_cxx_flags(installation, cuda, "/opt/rocm", {.architecture = "sm_80"});
  for (const std::string& flag : cxx_flags(installation, cuda, {.architecture = "sm_80"})) EXPECT_THAT(compile, Contains(flag));
  EXPECT_THAT(compile, Contains("--offload-arch=sm_80"));
  EXPECT_THAT(compile, Contains("-D__HIP_PLATFORM_NVIDIA__"));
  EXPECT_THAT(compile, Contains("-include/opt/mneme/include/mneme/abi/hip_nvidia.h"));
  EXPECT_THAT(compile, Contains("-isystem/opt/rocm/include"));
  // clang finds these by itself, and would find the headers of C no more if they stood before those of C++.
  EXPECT_THAT(hip_nvidia_cxx_flags(installation, cuda, "/usr", {}), Not(Contains("-isystem/usr/include")));

  // A toolkit without the driver's stub links what calls no driver.
  EXPECT_EQ(hip_nvidia_link_flags(installation, cuda, {}), link_flags(installation, cuda, {}));
  make_file(cuda / "lib64/stubs/libcuda.so");
  const auto link = hip_nvidia_link_flags(installation, cuda, {});
  EXPECT_THAT(link, Contains("-lcudart_static"));
  EXPECT_THAT(link, Contains("-L" + (cuda / "lib64/stubs").string()));
  EXPECT_THAT(link, Contains("-Wl,--push-state,--as-needed,-lcuda,--pop-state"));
}

}  // namespace
}  // namespace mneme::cli
