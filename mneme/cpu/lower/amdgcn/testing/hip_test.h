// For tests: kernels of testing/kernels.hip as clang has compiled them while Mneme was built, for several targets; each is run
// after several pipelines. Where ROCm's headers were not there, the tests are skipped.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "mneme/cpu/lower/testing/cpu_image_test.h"
#include "mneme/ir/module.h"

namespace mneme::cpu::amdgcn {

struct HipTarget {
  const char* architecture;
  const char* pipeline;
  uint32_t wave_size;
};

inline void PrintTo(const HipTarget& target, std::ostream* stream) { *stream << target.architecture << " " << target.pipeline; }

inline std::vector<HipTarget> hip_targets() {
  return {{"gfx90a", "verify", 64},
          {"gfx90a", "default<O1>", 64},
          {"gfx90a", "default<O3>", 64},
          {"gfx1030", "default<O3>", 32},
          {"gfx1100", "verify", 32}};
}

inline std::string target_name(const testing::TestParamInfo<HipTarget>& info) {
  std::string name = std::string(info.param.architecture) + "_" + info.param.pipeline;
  std::erase_if(name, [](char c) { return c == '<' || c == '>'; });
  return name;
}

class HipTest : public CpuImageTest, public testing::WithParamInterface<HipTarget> {
 protected:
  void SetUp() override {
    if (std::string(MNEME_TEST_HIP_KERNELS).empty()) GTEST_SKIP() << "built without ROCm's headers and device libraries";
    CpuImageTest::SetUp();
  }

  uint32_t wave_size() const { return GetParam().wave_size; }

  Result<CompiledCode> compile(const std::string& kernel) {
    std::ifstream file(std::string(MNEME_TEST_HIP_KERNELS) + GetParam().architecture + ".bc", std::ios::binary);
    const std::string bitcode{std::istreambuf_iterator<char>(file), {}};
    auto module = ir::Module::parse(std::as_bytes(std::span(bitcode)), "kernels.hip");
    if (!module.ok()) return module.status();
    auto compiler = Compiler::create(DeviceKind::cpu, "x86-64-v3");
    if (!compiler.ok()) return compiler.status();
    CompileOptions options;
    options.kernels = {kernel};
    options.passes = GetParam().pipeline;
    return (*compiler)->compile(*module, options);
  }

  void load(const std::string& kernel) { ASSERT_NO_FATAL_FAILURE(load_code(compile(kernel))); }
};

}  // namespace mneme::cpu::amdgcn
