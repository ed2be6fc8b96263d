// Code that an interposer loads and launches at a program's own HIP runtime, and what is the program's own call meanwhile.
#include "mneme/hip/loaded_code.h"

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "mneme/hip/device.h"
#include "mneme/hip/rows.h"
#include "mneme/hip/testing/program.h"
#include "mneme/hooks/kernel_handles.h"
#include "mneme/runtime/testing/device_image.h"

namespace mneme::hip {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> calls;
int device = 0;       // the current one
uintptr_t loads = 0;  // modules, whose handles are 1000 each
bool refuses = false;

template <typename T>
T handle(uintptr_t number) {
  return reinterpret_cast<T>(number);
}
uintptr_t number_of(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer); }

class LoadedCode : public ::testing::Test {
 protected:
  void SetUp() override {
    RuntimeProgram::get().reset();
    calls.clear();
    device = 0, refuses = false;
    RUNTIME_HAS(hipGetLastError, [] { return hipSuccess; });
    RUNTIME_HAS(hipPeekAtLastError, [] { return hipSuccess; });
    RUNTIME_HAS(hipGetDevice, [](int* out) { return *out = device, hipSuccess; });
    RUNTIME_HAS(hipModuleLoadData, [](hipModule_t* out, const void*) {
      if (refuses) return hipErrorNoBinaryForGpu;
      *out = handle<hipModule_t>(1000 * ++loads);
      calls.push_back(fmt::format("load on {}", device));
      return hipSuccess;
    });
    RUNTIME_HAS(hipModuleUnload, [](hipModule_t module) {
      calls.push_back(fmt::format("unload {}", number_of(module) / 1000));
      return hipSuccess;
    });
    RUNTIME_HAS(hipModuleGetFunction, [](hipFunction_t* out, hipModule_t module, const char* name) {
      if (std::string_view(name) != "scale") return hipErrorNotFound;
      return *out = handle<hipFunction_t>(number_of(module) + 1), hipSuccess;
    });
    RUNTIME_HAS(hipModuleGetGlobal, [](hipDeviceptr_t* out, size_t* size, hipModule_t module, const char*) {
      return *out = handle<void*>(number_of(module) + 2), *size = 16, hipSuccess;
    });
    RUNTIME_HAS(hipModuleLaunchKernel, [](hipFunction_t function, unsigned x, unsigned, unsigned, unsigned block, unsigned,
                                          unsigned, unsigned shared, hipStream_t stream, void** arguments, void** extra) {
      EXPECT_EQ(extra, nullptr);
      calls.push_back(fmt::format("launch {} of {} with {} and {} bytes in {}", x, block, *static_cast<int*>(arguments[0]),
                                  shared, number_of(stream)));
      return number_of(function) % 1000 == 1 ? hipSuccess : hipErrorInvalidHandle;
    });
    RUNTIME_HAS(hipLaunchKernel, [](const void*, hip_dim3, hip_dim3, void** arguments, size_t, hipStream_t) {
      return calls.push_back(fmt::format("own with {}", *static_cast<int*>(arguments[0]))), hipSuccess;
    });
    RuntimeProgram::get().real[MNEME_CALL_hipLaunchCooperativeKernel] = RuntimeProgram::get().real[MNEME_CALL_hipLaunchKernel];
    image_ = testing::make_device_elf({});
    ASSERT_EQ(END_OF(cudaLibraryLoadData)(&library_, image_.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
    ASSERT_EQ(END_OF(cudaLibraryGetKernel)(&kernel_, library_, "scale"), cudaSuccess);
  }
  void TearDown() override { EXPECT_EQ(END_OF(cudaLibraryUnload)(library_), cudaSuccess); }

  cudaError_t launch(int argument, cudaStream_t stream = nullptr) {
    void* arguments[] = {&argument};
    return END_OF(__cudaLaunchKernel)(kernel_, dim3(4), dim3(128), arguments, 32, stream);
  }

  ByteVector image_;
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
};

TEST_F(LoadedCode, IsLaunchedAsAFunctionOfAModule) {
  int argument = 5;
  void* arguments[] = {&argument};
  EXPECT_EQ(launch(5, handle<cudaStream_t>(9)), cudaSuccess);
  const auto launch_per_thread =
      reinterpret_cast<decltype(&::__cudaLaunchKernel)>(RuntimeProgram::get().cuda->real[MNEME_CALL___cudaLaunchKernel_ptsz]);
  EXPECT_EQ(launch_per_thread(kernel_, dim3(4), dim3(128), arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(END_OF(cudaLaunchKernel)(kernel_, dim3(2), dim3(64), arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(END_OF(cudaLaunchKernel)(this, dim3(2), dim3(64), arguments, 0, nullptr), cudaSuccess);
  EXPECT_THAT(calls, ElementsAre("load on 0", "launch 4 of 128 with 5 and 32 bytes in 9",
                                 fmt::format("launch 4 of 128 with 5 and 0 bytes in {}", number_of(hipStreamPerThread)),
                                 "launch 2 of 64 with 5 and 0 bytes in 0", "own with 5"));
  void* address = nullptr;
  size_t size = 0;
  EXPECT_EQ(END_OF(cudaLibraryGetGlobal)(&address, &size, library_, "table"), cudaSuccess);
  EXPECT_EQ(number_of(address) % 1000, 2u);
  EXPECT_EQ(size, 16u);
  EXPECT_EQ(END_OF(cudaKernelSetAttributeForDevice)(kernel_, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 16, 0),
            cudaSuccess);
  EXPECT_EQ(END_OF(cudaKernelSetAttributeForDevice)(kernel_, cudaFuncAttributeNonPortableClusterSizeAllowed, 1, 0),
            cudaErrorNotSupported);
}

// The function came with ROCm 5.5, and the runtime of this test has none of it.
TEST_F(LoadedCode, IsNotLaunchedCooperativelyByAnOldRuntime) {
  int argument = 5;
  void* arguments[] = {&argument};
  const auto launch_cooperatively = END_OF(cudaLaunchCooperativeKernel);
  EXPECT_EQ(launch_cooperatively(kernel_, dim3(2), dim3(64), arguments, 0, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(launch_cooperatively(this, dim3(2), dim3(64), arguments, 0, nullptr), cudaSuccess);
  EXPECT_THAT(calls, ElementsAre("load on 0", "own with 5"));
}

TEST_F(LoadedCode, IsLaunchedWithoutTheProgramsAttributes) {
  int argument = 5;
  void* arguments[] = {&argument};
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributePriority;
  const cudaLaunchConfig_t config{dim3(2), dim3(64), 32, handle<cudaStream_t>(9), &attribute, 1};
  EXPECT_EQ(END_OF(cudaLaunchKernelExC)(&config, kernel_, arguments), cudaSuccess);
  attribute.id = cudaLaunchAttributeCooperative;
  EXPECT_EQ(END_OF(cudaLaunchKernelExC)(&config, kernel_, arguments), cudaSuccess) << "it may be there and off";
  attribute.val.cooperative = 1;
  EXPECT_EQ(END_OF(cudaLaunchKernelExC)(&config, kernel_, arguments), cudaErrorNotSupported) << "the runtime is an old one";
  EXPECT_EQ(END_OF(cudaLaunchKernelExC)(&config, this, arguments), cudaErrorNotSupported);
  const std::string launched = "launch 2 of 64 with 5 and 32 bytes in 9";
  EXPECT_THAT(calls, ElementsAre("load on 0", launched, launched));
}

TEST_F(LoadedCode, IsLoadedOntoEachDeviceWhereItIsLaunched) {
  device = 1;
  EXPECT_EQ(launch(1), cudaSuccess);
  EXPECT_EQ(launch(2), cudaSuccess);
  device = 0;
  EXPECT_EQ(launch(3), cudaSuccess);
  EXPECT_THAT(calls, ElementsAre("load on 0", "load on 1", "launch 4 of 128 with 1 and 32 bytes in 0",
                                 "launch 4 of 128 with 2 and 32 bytes in 0", "launch 4 of 128 with 3 and 32 bytes in 0"));
  device = 64;
  EXPECT_EQ(launch(4), cudaErrorInvalidDevice);
}

TEST_F(LoadedCode, IsLoadedAgainWhereTheProgramHasResetTheDevice) {
  RUNTIME_HAS(hipDeviceReset, [] { return calls.emplace_back("reset"), hipSuccess; });
  device = 1;
  EXPECT_EQ(launch(1), cudaSuccess);
  device = 0;
  calls.clear();
  const uintptr_t first = loads - 1;
  EXPECT_EQ(CALL_HIP(hipDeviceReset)(), hipSuccess);
  EXPECT_EQ(launch(2), cudaSuccess);
  EXPECT_THAT(calls,
              ElementsAre(fmt::format("unload {}", first), "reset", "load on 0", "launch 4 of 128 with 2 and 32 bytes in 0"));
  calls.clear();
  device = 1;
  EXPECT_EQ(launch(3), cudaSuccess) << "which was not reset";
  EXPECT_THAT(calls, ElementsAre("launch 4 of 128 with 3 and 32 bytes in 0"));
}

TEST_F(LoadedCode, WhatTheRuntimeRefusesIsRefused) {
  cudaLibrary_t library = nullptr;
  const ByteVector nonsense(64, std::byte{0x5a});
  EXPECT_EQ(END_OF(cudaLibraryLoadData)(&library, nonsense.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            cudaErrorInvalidKernelImage);
  refuses = true;
  EXPECT_EQ(END_OF(cudaLibraryLoadData)(&library, image_.data(), nullptr, nullptr, 0, nullptr, nullptr, 0),
            cudaErrorNoKernelImageForDevice);
  device = 1;
  EXPECT_EQ(launch(1), cudaErrorNoKernelImageForDevice);
  device = 0;
  cudaKernel_t kernel = nullptr;
  EXPECT_EQ(END_OF(cudaLibraryGetKernel)(&kernel, library_, "another"), cudaErrorSymbolNotFound);
  EXPECT_EQ(END_OF(cudaLibraryGetKernel)(&kernel, handle<cudaLibrary_t>(3), "scale"), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(END_OF(cudaLibraryUnload)(handle<cudaLibrary_t>(3)), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(END_OF(__cudaLaunchKernel)(handle<cudaKernel_t>(3), dim3(1), dim3(1), nullptr, 0, nullptr),
            cudaErrorInvalidResourceHandle);
}

// A node holds HIP's function, and who has set it finds the handle again.
TEST_F(LoadedCode, StandsInNodes) {
  static hipKernelNodeParams node;
  RUNTIME_HAS(hipGraphKernelNodeSetParams,
              [](hipGraphNode_t, const hipKernelNodeParams* parameters) { return node = *parameters, hipSuccess; });
  RUNTIME_HAS(hipGraphKernelNodeGetParams,
              [](hipGraphNode_t, hipKernelNodeParams* parameters) { return *parameters = node, hipSuccess; });
  cudaKernelNodeParams set{};
  set.func = kernel_, set.gridDim = dim3(7), set.blockDim = dim3(32);
  EXPECT_EQ(END_OF(cudaGraphKernelNodeSetParams)(nullptr, &set), cudaSuccess);
  EXPECT_EQ(number_of(node.func) % 1000, 1u);
  EXPECT_EQ(node.gridDim.x, 7u);
  cudaKernelNodeParams told{};
  EXPECT_EQ(END_OF(cudaGraphKernelNodeGetParams)(nullptr, &told), cudaSuccess);
  EXPECT_EQ(told.func, kernel_);
  node.func = this;
  EXPECT_EQ(END_OF(cudaGraphKernelNodeGetParams)(nullptr, &told), cudaSuccess);
  EXPECT_EQ(told.func, this);
  refuses = true, device = 1;
  EXPECT_EQ(END_OF(cudaGraphKernelNodeSetParams)(nullptr, &set), cudaSuccess);
  EXPECT_EQ(node.func, nullptr) << "which the runtime refuses";
  cudaLaunchAttributeValue value{};
  EXPECT_EQ(END_OF(cudaGraphKernelNodeGetAttribute)(nullptr, cudaLaunchAttributeCooperative, &value), cudaErrorNotSupported);
}

// An interposer that launches something else in the slot, or the same on other memory, has not made the program's launch.
TEST_F(LoadedCode, OtherLaunchesOfAnInterposerAreNotTheProgramsOwn) {
  static int copy = 6;
  static cudaKernel_t in_its_place;
  in_its_place = kernel_;
  STAND_BEFORE(cudaLaunchCooperativeKernel, [](const void* function, dim3 grid, dim3 block, void** given, size_t shared,
                                               cudaStream_t stream) {
    void* copies[] = {&copy};
    EXPECT_EQ(END_OF(cudaLaunchCooperativeKernel)(in_its_place, grid, block, given, shared, stream), cudaErrorNotSupported);
    EXPECT_EQ(END_OF(cudaLaunchCooperativeKernel)(function, grid, block, copies, shared, stream), cudaSuccess);
    return END_OF(cudaLaunchCooperativeKernel)(function, grid, block, given, shared, stream);
  });
  int argument = 5;
  void* arguments[] = {&argument};
  const auto launch_cooperatively =
      reinterpret_cast<hipError_t (*)(const void*, hip_dim3, hip_dim3, void**, unsigned, hipStream_t)>(
          RuntimeProgram::get().slots[MNEME_CALL_hipLaunchCooperativeKernel]);
  EXPECT_EQ(launch_cooperatively(this, {1, 1, 1}, {1, 1, 1}, arguments, 0, nullptr), hipSuccess);
  EXPECT_THAT(calls, ElementsAre("load on 0", "own with 6", "own with 5"));
}

TEST_F(LoadedCode, OtherNodesOfAnInterposerAreNotTheProgramsOwn) {
  static std::vector<const hipKernelNodeParams*> set;
  static cudaKernel_t in_its_place;
  set.clear();
  in_its_place = kernel_;
  RUNTIME_HAS(hipGraphExecKernelNodeSetParams, [](hipGraphExec_t, hipGraphNode_t, const hipKernelNodeParams* parameters) {
    set.push_back(parameters);
    return number_of(parameters->func) % 1000 == 1 ? hipErrorInvalidValue : hipSuccess;
  });
  hipKernelNodeParams own{};
  own.func = this;
  EXPECT_EQ(CALL_HIP(hipGraphExecKernelNodeSetParams)(nullptr, nullptr, &own), hipSuccess);
  EXPECT_THAT(set, ElementsAre(&own)) << "nobody stands before";
  STAND_BEFORE(cudaGraphExecKernelNodeSetParams,
               [](cudaGraphExec_t graph, cudaGraphNode_t node, const cudaKernelNodeParams* given) {
                 cudaKernelNodeParams other = *given;
                 other.func = in_its_place;
                 EXPECT_EQ(END_OF(cudaGraphExecKernelNodeSetParams)(graph, node, &other), cudaErrorInvalidValue);
                 return END_OF(cudaGraphExecKernelNodeSetParams)(graph, node, given);
               });
  EXPECT_EQ(CALL_HIP(hipGraphExecKernelNodeSetParams)(nullptr, nullptr, &own), hipSuccess);
  ASSERT_EQ(set.size(), 3u);
  EXPECT_NE(set[1], &own);
  EXPECT_EQ(set[2], &own);
}

// Arguments in a buffer are the node's as the program gives them, and an interposer sees that they are.
TEST_F(LoadedCode, ANodesBufferIsTheRuntimes) {
  static void* extra[] = {HIP_LAUNCH_PARAM_END};
  RUNTIME_HAS(hipGraphAddKernelNode,
              [](hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, size_t, const hipKernelNodeParams* parameters) {
                return parameters->extra == extra ? hipSuccess : hipErrorInvalidValue;
              });
  STAND_BEFORE(cudaGraphAddKernelNode, [](cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                                          const cudaKernelNodeParams* given) {
    EXPECT_EQ(given->extra, extra);
    return END_OF(cudaGraphAddKernelNode)(node, graph, before, count, given);
  });
  hipKernelNodeParams own{};
  own.func = this, own.extra = extra;
  EXPECT_EQ(CALL_HIP(hipGraphAddKernelNode)(nullptr, nullptr, nullptr, 0, &own), hipSuccess);
}

TEST_F(LoadedCode, TheArchitectureIsWhatTheRuntimeNames) {
  RuntimeProgram::get().real[MNEME_CALL_hipGetDeviceProperties] =
      reinterpret_cast<mneme_function>(static_cast<hipError_t (*)(hipDeviceProp_t*, int)>([](hipDeviceProp_t* out, int ordinal) {
        if (ordinal != 1) return hipErrorInvalidDevice;
        std::snprintf(out->gcnArchName, sizeof out->gcnArchName, "gfx90a:sramecc+:xnack-");
        return hipSuccess;
      }));
  Table& table = Table::attached(1);
  EXPECT_EQ(architecture_of(table, 1), "gfx90a:sramecc+:xnack-");
  EXPECT_EQ(architecture_of(table, 0), "");
}

}  // namespace
}  // namespace mneme::hip
