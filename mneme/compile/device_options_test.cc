#include "mneme/compile/device_options.h"

#include <gtest/gtest.h>

namespace mneme {
namespace {

std::string refusal(const CompileOptions& options, DeviceKind kind = DeviceKind::cpu) {
  return check_device_options(options, kind).to_string();
}

TEST(DeviceOptions, TheCpuDeviceHasNoUseForThoseOfAGpu) {
  EXPECT_TRUE(check_device_options({}, DeviceKind::cpu).ok());
  const std::pair<const char*, AssemblerOptions> assembler[] = {{"level", {.level = 2}},
                                                                {"options", {.options = {"-v"}}},
                                                                {"max_registers", {.max_registers = 32}},
                                                                {"load_cache", {.load_cache = LoadCache::cg}},
                                                                {"store_cache", {.store_cache = StoreCache::cg}}};
  for (const auto& [name, options] : assembler) {
    EXPECT_EQ(
        refusal({.assembler = options}),
        fmt::format("unsupported: assembler.{} has no effect on the CPU device, whose code is not made from PTX: leave it out",
                    name));
    EXPECT_TRUE(check_device_options({.assembler = options}, DeviceKind::cuda).ok());
  }
  const std::pair<const char*, LaunchBounds> bounds[] = {{"max_threads", {.max_threads = 64}},
                                                         {"min_blocks", {.min_blocks = 1}},
                                                         {"max_cluster", {.max_cluster = 1}},
                                                         {"max_registers", {.max_registers = 64}}};
  for (const auto& [name, bound] : bounds) {
    const CompileOptions options{.specialisation = {.bounds = bound}};
    EXPECT_EQ(refusal(options),
              fmt::format("unsupported: specialise.{} has no effect on the CPU device: leave it out there", name));
    EXPECT_TRUE(check_device_options(options, DeviceKind::cuda).ok());
  }
  CompileOptions options;
  options.codegen.target = "sm_90";
  EXPECT_EQ(refusal(options),
            "unsupported: the CPU device's code is made for x86-64-v3, not for the target 'sm_90': leave the target out");
  options.codegen.target.clear();
  options.codegen.ftz = FlushDenormals::on;
  EXPECT_EQ(refusal(options),
            "unsupported: the CPU device does not flush denormal numbers to zero: ftz can only be recorded or off");
}

}  // namespace
}  // namespace mneme
