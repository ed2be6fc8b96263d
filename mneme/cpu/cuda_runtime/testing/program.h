// For tests: a program's call table with the emulation in it, and a fat binary with the kernels of testing/kernels.c.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <vector>

#include "mneme/cpu/cuda_runtime/emulation.h"
#include "mneme/cpu/cuda_runtime/slots.h"
#include "mneme/runtime/testing/device_image.h"

namespace mneme::emulation {

// CUDA(cudaMalloc)(&pointer, 64) calls through the table.
#define CUDA(name) reinterpret_cast<decltype(&::name)>(Program::get().slots[MNEME_CALL_##name])

struct Program {
  mneme_function slots[MNEME_CALL_COUNT] = {};
  mneme_function real[MNEME_CALL_COUNT] = {};
  mneme_call_table table{MNEME_ABI_VERSION,
                         MNEME_CALL_COUNT,
                         MNEME_TABLE_UNNUMBERED,
                         MNEME_TABLE_CUDA,
                         slots,
                         real,
                         nullptr,
                         MNEME_CUDA_CALLS_DIGEST,
                         "test",
                         nullptr};
  ByteVector fat_binary;
  mneme::testing::TestWrapper wrapper;
  // Their addresses stand for those of host stubs and host variables.
  char scale = 0, fault = 0, refused = 0, plain = 0, state = 0, unreached = 0;

  // The one program of all tests in the process, which has one emulated device too.
  static Program& get() {
    static Program* program = new Program;
    return *program;
  }

 private:
  Program() {
    using mneme::testing::TestSegment;
    static std::string cache = std::filesystem::temp_directory_path() / ("mneme-emulation-test-" + std::to_string(::getpid()));
    std::atexit([] { std::filesystem::remove_all(cache); });
    ::setenv("XDG_CACHE_HOME", cache.c_str(), 1);
    ::setenv(MNEME_ENV_COMMAND, MNEME_TEST_LOWER_COMMAND, 1);
    ::setenv(MNEME_ENV_INTERPOSERS, "must not reach the child", 1);
    Status status = attach(table);
    EXPECT_TRUE(status.ok()) << status.to_string();

    TestSegment scale_segment{.name = "scale"}, fault_segment{.name = "fault"}, refused_segment{.name = "refused"};
    scale_segment.parameters = {
        {MNEME_PARAM_POINTER, 0, 8, "data"}, {MNEME_PARAM_INTEGER, 8, 4, "factor"}, {MNEME_PARAM_INTEGER, 12, 4, "count"}};
    scale_segment.parameter_bytes = 16;
    scale_segment.globals = {{"state", 4}};
    fat_binary = mneme::testing::make_fat_binary(
        {{2, 90, mneme::testing::make_device_elf({scale_segment.build(), fault_segment.build(), refused_segment.build()})}});
    wrapper.fat_binary = fat_binary.data();

    auto** handle = call<void** (*)(void*)>(MNEME_CALL___cudaRegisterFatBinary)(&wrapper);
    using RegisterFunction = void (*)(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
    auto function = [&](char& stub, const char* name) {
      call<RegisterFunction>(MNEME_CALL___cudaRegisterFunction)(handle, &stub, nullptr, name, -1, nullptr, nullptr, nullptr,
                                                                nullptr, nullptr);
    };
    function(scale, "scale");
    function(fault, "fault");
    function(refused, "refused");
    function(plain, "plain");
    using RegisterVariable = void (*)(void**, char*, char*, const char*, int, size_t, int, int);
    auto variable = [&](char& host, const char* name, size_t size) {
      call<RegisterVariable>(MNEME_CALL___cudaRegisterVar)(handle, &host, nullptr, name, 0, size, 0, 0);
    };
    variable(state, "state", 4);
    variable(unreached, "unreached", 8);
  }

  template <typename F>
  F call(mneme_call index) {
    return reinterpret_cast<F>(slots[index]);
  }
};

// Device memory that holds 1, 2, 3, …
inline int* make_numbers(int count) {
  void* pointer = nullptr;
  EXPECT_EQ(CUDA(cudaMalloc)(&pointer, count * sizeof(int)), cudaSuccess);
  std::vector<int> numbers(count);
  for (int i = 0; i < count; ++i) numbers[i] = i + 1;
  EXPECT_EQ(CUDA(cudaMemcpy)(pointer, numbers.data(), count * sizeof(int), cudaMemcpyHostToDevice), cudaSuccess);
  return static_cast<int*>(pointer);
}

// scale<<<1, count>>>(data, factor, count)
inline cudaError_t launch_scale(int* data, int factor, int count, cudaStream_t stream = nullptr) {
  void* arguments[] = {&data, &factor, &count};
  return CUDA(cudaLaunchKernel)(&Program::get().scale, dim3(1), dim3(static_cast<unsigned>(count)), arguments, 0, stream);
}

}  // namespace mneme::emulation
