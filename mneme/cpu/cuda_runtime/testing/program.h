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
  char scale = 0, fault = 0, refused = 0, plain = 0, state = 0, unreached = 0, initial = 0, allocate = 0, misbehave = 0;

  // The one program of all tests in the process, which has one emulated device too.
  static Program& get() {
    static Program* program = new Program;
    return *program;
  }

  // What the code that clang generates calls.
  void** add_image(const mneme::testing::TestWrapper* wrapper) {
    return call<void** (*)(void*)>(MNEME_CALL___cudaRegisterFatBinary)(const_cast<mneme::testing::TestWrapper*>(wrapper));
  }
  void add_function(void** handle, char& stub, const char* name) {
    using Function = void (*)(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*, int*);
    call<Function>(MNEME_CALL___cudaRegisterFunction)(handle, &stub, nullptr, name, -1, nullptr, nullptr, nullptr, nullptr,
                                                      nullptr);
  }
  void add_variable(void** handle, char& host, const char* name, size_t size) {
    using Function = void (*)(void**, char*, char*, const char*, int, size_t, int, int);
    call<Function>(MNEME_CALL___cudaRegisterVar)(handle, &host, nullptr, name, 0, size, 0, 0);
  }
  // Loads the program's own image, which maps `state`: every image of these tests is lowered to kernels.c, which begins that
  // variable.
  void load() {
    void* address = nullptr;
    EXPECT_EQ(call<decltype(&::cudaGetSymbolAddress)>(MNEME_CALL_cudaGetSymbolAddress)(&address, &state), cudaSuccess);
  }
  void remove_image(void** handle) { call<void (*)(void**)>(MNEME_CALL___cudaUnregisterFatBinary)(handle); }

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
    TestSegment allocate_segment{.name = "allocate"}, misbehave_segment{.name = "misbehave"};
    allocate_segment.parameters = {{MNEME_PARAM_POINTER, 0, 8, "had"}, {MNEME_PARAM_INTEGER, 8, 8, "size"}};
    allocate_segment.parameter_bytes = 16;
    misbehave_segment.parameters = {{MNEME_PARAM_INTEGER, 0, 4, "what"}};
    misbehave_segment.parameter_bytes = 4;
    fat_binary = mneme::testing::make_fat_binary(
        {{2, 90,
          mneme::testing::make_device_elf({scale_segment.build(), fault_segment.build(), refused_segment.build(),
                                           allocate_segment.build(), misbehave_segment.build()},
                                          {{"initial", std::vector<int>{11, 22, 33}}, {"initially", std::vector<int>{9}}})}});
    wrapper.fat_binary = fat_binary.data();

    void** handle = add_image(&wrapper);
    add_function(handle, scale, "scale");
    add_function(handle, fault, "fault");
    add_function(handle, refused, "refused");
    add_function(handle, plain, "plain");
    add_function(handle, allocate, "allocate");
    add_function(handle, misbehave, "misbehave");
    add_variable(handle, state, "state", 4);
    add_variable(handle, unreached, "unreached", 8);
    add_variable(handle, initial, "initial", 12);
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
