#include "mneme/compile/amdgpu/occupancy.h"

#include <gtest/gtest.h>

#include "mneme/compile/amdgpu/testing/amdgcn_ir.h"

namespace mneme::amdgpu {
namespace {

KernelEntry kernel_with(uint32_t vector, uint32_t scalar, uint64_t shared, uint32_t threads, uint32_t wavefront = 64) {
  KernelEntry kernel;
  kernel.vector_registers = vector;
  kernel.scalar_registers = scalar;
  kernel.shared = Bytes(shared);
  kernel.max_threads = threads;
  kernel.wavefront = wavefront;
  return kernel;
}

TEST(Occupancy, IsBoundByVectorRegisters) {
  EXPECT_EQ(waves_per_eu(kernel_with(0, 16, 0, 256), "gfx90a", ""), 8u);
  EXPECT_EQ(waves_per_eu(kernel_with(64, 16, 0, 256), "gfx90a", ""), 8u) << "512 over 64";
  EXPECT_EQ(waves_per_eu(kernel_with(65, 16, 0, 256), "gfx90a", ""), 7u) << "512 over 72";
  EXPECT_EQ(waves_per_eu(kernel_with(512, 16, 0, 256), "gfx942", ""), 1u);
  EXPECT_EQ(waves_per_eu(kernel_with(24, 16, 0, 256), "gfx906", ""), 10u);
  EXPECT_EQ(waves_per_eu(kernel_with(25, 16, 0, 256), "gfx906", ""), 9u) << "256 over 28";
  EXPECT_EQ(waves_per_eu(kernel_with(96, 16, 0, 256, 32), "gfx1100", ""), 16u) << "1536 over 96";
  EXPECT_EQ(waves_per_eu(kernel_with(97, 16, 0, 256, 32), "gfx1100", ""), 12u) << "1536 over 120";
  EXPECT_EQ(waves_per_eu(kernel_with(97, 16, 0, 256, 64), "gfx1100", ""), 7u) << "768 over 108";
}

TEST(Occupancy, IsBoundByScalarRegistersBeforeGfx10) {
  EXPECT_EQ(waves_per_eu(kernel_with(8, 80, 0, 256), "gfx906", ""), 10u);
  EXPECT_EQ(waves_per_eu(kernel_with(8, 88, 0, 256), "gfx906", ""), 9u);
  EXPECT_EQ(waves_per_eu(kernel_with(8, 102, 0, 256), "gfx906", ""), 7u);
  EXPECT_EQ(waves_per_eu(kernel_with(8, 106, 0, 256, 32), "gfx1100", ""), 16u);
}

TEST(Occupancy, IsBoundByTheLdsOfAWorkGroup) {
  EXPECT_EQ(waves_per_eu(kernel_with(8, 16, 32768, 256), "gfx90a", ""), 2u) << "2 groups of 4 wavefronts on 4 SIMDs";
  EXPECT_EQ(waves_per_eu(kernel_with(8, 16, 32768, 1024), "gfx90a", ""), 8u);
  EXPECT_EQ(waves_per_eu(kernel_with(8, 16, 65536, 64), "gfx90a", ""), 1u);
  EXPECT_EQ(waves_per_eu(kernel_with(8, 16, 65536, 256, 32), "gfx1100", ""), 4u) << "2 groups of 8 wavefronts on 4 SIMDs";
  EXPECT_EQ(waves_per_eu(kernel_with(8, 16, 65536, 256, 32), "gfx1100", "+cumode"), 4u) << "1 group of 8 wavefronts on 2 SIMDs";
}

// llc writes into the assembly what LLVM itself takes for the occupancy, which decides how it schedules.
class OccupancyByLlvm : public testing::TestWithParam<const char*> {};

TEST_P(OccupancyByLlvm, IsTheSame) {
  const std::string architecture = GetParam();
  const auto tool = compiler(architecture);
  for (const char* kernel : {"vector_add", "global_variables", "cross_lane", "structure", "reduction", "many_registers"}) {
    CompileOptions options;
    options.passes = "default<O2>";
    options.kernels = {kernel};
    const ir::Module module = kernels_for(architecture);
    const auto code = tool->compile(module, options);
    const auto text = tool->emit(module, options, Stage::optimised);
    ASSERT_TRUE(code.ok() && text.ok()) << code.status().to_string();
    const std::string assembly = said_by("llc -O3 -o -", std::as_bytes(std::span(*text)));
    const size_t at = assembly.find("; Occupancy: ");
    ASSERT_NE(at, std::string::npos);
    EXPECT_EQ(code->facts.waves_per_eu, std::stoul(assembly.substr(at + 13))) << kernel;
  }
}

INSTANTIATE_TEST_SUITE_P(OfEachArchitecture, OccupancyByLlvm, testing::ValuesIn(kArchitectures));

}  // namespace
}  // namespace mneme::amdgpu
