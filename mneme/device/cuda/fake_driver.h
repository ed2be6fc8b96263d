// A CUDA driver for tests: a shared library with the functions of driver.h, whose one device is host memory.
//
// It checks what the real driver would refuse (granularity, unmapping a part of a mapping, access before cuMemSetAccess) and
// runs Mneme's own memory kernels. Of any other kernel it notes the launch; one named "trap" makes every later call fail.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <string>
#include <vector>

namespace mneme::cuda {

struct FakeLaunch {
  std::string kernel;
  unsigned grid[3] = {}, block[3] = {};
  unsigned shared_bytes = 0;
  bool cooperative = false;
  std::vector<std::byte> parameters;
};

struct FakeDriverState {
  // Makes the next call of `fail_function`, by its exported name (after `fail_after` good ones), return `fail_result`.
  std::string fail_function;
  int fail_after = 0;
  CUresult fail_result = CUDA_SUCCESS;
  // Every call, from then on, after a trap.
  CUresult fault = CUDA_SUCCESS;

  uint64_t elsewhere_below = 0;  // reservations smaller than this are not placed at the hint
  std::string jit_log;           // what the JIT says when cuModuleLoadDataEx fails
  int static_shared_bytes = 0;   // of every kernel

  FakeLaunch last_launch;
  int dynamic_shared_limit = 0;  // set by cuFuncSetAttribute
  int contexts = 0, modules = 0, streams = 0, events = 0, reservations = 0, mappings = 0, allocations = 0, pinned = 0;
  CUcontext current = nullptr;  // of the last thread that asked
};

inline constexpr uint64_t kFakeGranularity = 2 << 20;

// Exported by the library as "mneme_fake_driver_state". Reset by assigning a fresh value.
using FakeDriverStateFunction = FakeDriverState* (*)();

}  // namespace mneme::cuda
