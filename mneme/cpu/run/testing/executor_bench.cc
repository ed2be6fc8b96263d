// Measures the executor of the CPU device on the hand-written image: threads a second with barriers, shuffles and as a loop, and
// what a launch costs. Usage: mneme_cpu_executor_bench [workers]
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "mneme/base/processors.h"
#include "mneme/cpu/run/cpu_device.h"
#include "mneme/cpu/run/testing/test_image.h"

namespace mneme::cpu {
namespace {

int run(unsigned workers) {
  CpuDevice device(workers);
  auto module = device.load(read_image(MNEME_TEST_KERNELS));
  if (!module.ok()) return std::fprintf(stderr, "%s\n", module.status().to_string().c_str()), 1;
  auto stream = std::move(device.create_stream()).value();
  std::vector<uint32_t> out(1 << 24);
  struct Case {
    const char* label;
    const char* kernel;
    uint32_t blocks, threads, a;
    double operations;  // a thread
  };
  const Case cases[] = {
      {"loop, empty", "loop_indices", 1 << 14, 256, 0, 0},   {"fibers, no wait", "barriers", 1 << 14, 256, 0, 0},
      {"1 barrier, 64", "barriers", 1 << 16, 64, 1, 1},      {"1 barrier, 256", "barriers", 1 << 14, 256, 1, 1},
      {"1 barrier, 1024", "barriers", 1 << 12, 1024, 1, 1},  {"8 barriers, 256", "barriers", 1 << 13, 256, 8, 8},
      {"32 shuffles, 256", "rotate", 1 << 12, 256, 32, 32},  {"one block of 32", "barriers", 1, 32, 1, 1},
      {"one loop block of 32", "loop_indices", 1, 32, 0, 0},
  };
  for (const Case& c : cases) {
    auto kernel = (*module)->kernel(c.kernel);
    const TestParameters parameters{.out = out.data(), .a = c.a};
    double best = 1e30;
    for (int i = 0; i < 30; ++i) {
      Status launched = stream->launch_timed(**kernel, {.grid = {c.blocks, 1, 1}, .block = {c.threads, 1, 1}},
                                             std::as_bytes(std::span(&parameters, 1)));
      if (!launched.ok()) return std::fprintf(stderr, "%s\n", launched.to_string().c_str()), 1;
      auto times = stream->take_times();
      if (!times.ok()) return std::fprintf(stderr, "%s\n", times.status().to_string().c_str()), 1;
      best = std::min(best, (*times)[0].count());
    }
    const double threads = double(c.blocks) * c.threads;
    std::printf("%-22s %9.1f us  %8.2f M threads/s  %6.1f ns a thread and core", c.label, best / 1e3, threads / best * 1e3,
                best * workers / threads);
    if (c.operations > 0) std::printf("  %6.1f ns a wait", best * workers / threads / c.operations);
    std::printf("\n");
  }
  return 0;
}

}  // namespace
}  // namespace mneme::cpu

int main(int argc, char** argv) {
  return mneme::cpu::run(argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : mneme::usable_processors());
}
