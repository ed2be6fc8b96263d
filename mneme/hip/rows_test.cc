#include "mneme/hip/rows.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "mneme/hip/newer_functions.h"
#include "mneme/hip/testing/program.h"
#include "mneme/runtime/attach.h"

namespace mneme::hip {
namespace {

using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

class Rows : public ::testing::Test {
 protected:
  void SetUp() override {
    Program::get();
    CUDA_IS(cudaGetLastError, [] { return cudaSuccess; });
    CUDA_IS(cudaPeekAtLastError, [] { return cudaSuccess; });
    (void)take_last_error();
  }
};

TEST_F(Rows, ArgumentsArriveAndResultsComeBack) {
  CUDA_IS(cudaMalloc, [](void** out, size_t size) {
    *out = reinterpret_cast<void*>(size);
    return cudaSuccess;
  });
  void* pointer = nullptr;
  EXPECT_EQ(HIP(hipMalloc)(&pointer, 64), hipSuccess);
  EXPECT_EQ(pointer, reinterpret_cast<void*>(64));
  CUDA_IS(cudaMalloc, [](void**, size_t) { return cudaErrorMemoryAllocation; });
  EXPECT_EQ(HIP(hipMalloc)(&pointer, 64), hipErrorOutOfMemory);
}

// C++ functions before ROCm 6.
TEST_F(Rows, SurfacesAreMadeOfWhatTexturesAreMadeOf) {
  static cudaResourceDesc got;
  static cudaSurfaceObject_t gone;
  CUDA_IS(cudaCreateSurfaceObject, [](cudaSurfaceObject_t* out, const cudaResourceDesc* resource) {
    got = *resource;
    *out = 0x123;
    return cudaSuccess;
  });
  CUDA_IS(cudaDestroySurfaceObject, [](cudaSurfaceObject_t object) { return gone = object, cudaSuccess; });
  int array = 0;
  hipResourceDesc resource{};
  resource.resType = hipResourceTypeArray;
  resource.res.array.array = reinterpret_cast<hipArray*>(&array);
  hipSurfaceObject_t object = nullptr;
  EXPECT_EQ(HIP(hipCreateSurfaceObject)(&object, &resource), hipSuccess);
  EXPECT_EQ(reinterpret_cast<uint64_t>(object), 0x123u);
  EXPECT_EQ(got.resType, cudaResourceTypeArray);
  EXPECT_EQ(got.res.array.array, reinterpret_cast<cudaArray_t>(&array));
  EXPECT_EQ(HIP(hipDestroySurfaceObject)(object), hipSuccess);
  EXPECT_EQ(gone, 0x123u);
}

TEST_F(Rows, TheLastErrorIsThatOfTheProgramsCalls) {
  CUDA_IS(cudaSetDevice, [](int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; });
  EXPECT_EQ(HIP(hipSetDevice)(3), hipErrorInvalidDevice);
  EXPECT_EQ(HIP(hipSetDevice)(0), hipSuccess);
  EXPECT_EQ(HIP(hipPeekAtLastError)(), hipErrorInvalidDevice);
  EXPECT_EQ(HIP(hipGetLastError)(), hipErrorInvalidDevice);
  EXPECT_EQ(HIP(hipGetLastError)(), hipSuccess);
  CUDA_IS(cudaGetLastError, [] { return cudaErrorIllegalAddress; });
  EXPECT_EQ(HIP(hipGetLastError)(), hipErrorIllegalAddress) << "a fault, which CUDA's slots go on telling";
}

TEST_F(Rows, ErrorsOfOneVendorAloneBecomeWhatIsNearest) {
  EXPECT_EQ(to_hip(cudaErrorIllegalAddress), hipErrorIllegalAddress);
  EXPECT_EQ(to_hip(cudaErrorHardwareStackError), hipErrorLaunchFailure);
  EXPECT_EQ(to_hip(cudaErrorJitCompilerNotFound), hipErrorUnknown);
  EXPECT_EQ(to_cuda(hipErrorInvalidHandle), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(to_cuda(hipErrorRuntimeMemory), cudaErrorUnknown);
  EXPECT_EQ(to_cuda(hipErrorContextAlreadyCurrent), cudaErrorUnknown);
}

TEST_F(Rows, StructuresAreConvertedMemberByMember) {
  static cudaMemsetParams got;
  CUDA_IS(cudaGraphMemsetNodeSetParams, [](cudaGraphNode_t, const cudaMemsetParams* parameters) {
    got = *parameters;
    return cudaSuccess;
  });
  CUDA_IS(cudaGraphMemsetNodeGetParams, [](cudaGraphNode_t, cudaMemsetParams* parameters) {
    *parameters = got;
    return cudaSuccess;
  });
  int memory = 0;
  const hipMemsetParams given{.dst = &memory, .elementSize = 2, .height = 3, .pitch = 4, .value = 5, .width = 6};
  EXPECT_EQ(HIP(hipGraphMemsetNodeSetParams)(nullptr, &given), hipSuccess);
  EXPECT_EQ(got.dst, &memory);
  EXPECT_EQ(got.elementSize, 2u);
  EXPECT_EQ(got.height, 3u);
  EXPECT_EQ(got.pitch, 4u);
  EXPECT_EQ(got.value, 5u);
  EXPECT_EQ(got.width, 6u);
  hipMemsetParams back{};
  EXPECT_EQ(HIP(hipGraphMemsetNodeGetParams)(nullptr, &back), hipSuccess);
  EXPECT_EQ(back.dst, &memory);
  EXPECT_EQ(back.elementSize, 2u);
  EXPECT_EQ(back.height, 3u);
  EXPECT_EQ(back.pitch, 4u);
  EXPECT_EQ(back.value, 5u);
  EXPECT_EQ(back.width, 6u);
}

TEST_F(Rows, AnOutputIsNotWrittenByACallThatFails) {
  CUDA_IS(cudaFuncGetAttributes, [](cudaFuncAttributes*, const void*) { return cudaErrorInvalidDeviceFunction; });
  hipFuncAttributes attributes{};
  attributes.numRegs = 7;
  EXPECT_EQ(HIP(hipFuncGetAttributes)(&attributes, nullptr), hipErrorInvalidDeviceFunction);
  EXPECT_EQ(attributes.numRegs, 7);
}

TEST_F(Rows, FlagsThatOnlyHipHasAreLeftOut) {
  static unsigned got;
  CUDA_IS(cudaHostAlloc, [](void**, size_t, unsigned flags) {
    got = flags;
    return cudaErrorMemoryAllocation;
  });
  void* pointer = nullptr;
  const auto allocate = HIP_AS(hipHostMalloc, hipError_t (*)(void**, size_t, unsigned));
  EXPECT_EQ(allocate(&pointer, 8, hipHostMallocMapped | hipHostMallocCoherent | hipHostMallocNumaUser), hipErrorOutOfMemory);
  EXPECT_EQ(got, static_cast<unsigned>(cudaHostAllocMapped));
  EXPECT_EQ(allocate(&pointer, 8, 0x100), hipErrorInvalidValue);
  CUDA_IS(cudaEventCreateWithFlags, [](cudaEvent_t*, unsigned flags) {
    got = flags;
    return cudaSuccess;
  });
  hipEvent_t event;
  EXPECT_EQ(HIP(hipEventCreateWithFlags)(&event, hipEventDisableTiming | hipEventReleaseToSystem), hipSuccess);
  EXPECT_EQ(got, static_cast<unsigned>(cudaEventDisableTiming));
}

TEST_F(Rows, VariantsForPerThreadStreamsAreCudas) {
  CUDA_IS(cudaStreamQuery, [](cudaStream_t) { return cudaSuccess; });
  Program::get().cuda->slots[MNEME_CALL_cudaStreamQuery_ptsz] = reinterpret_cast<mneme_function>(
      static_cast<cudaError_t (*)(cudaStream_t)>([](cudaStream_t) { return cudaErrorNotReady; }));
  EXPECT_EQ(HIP(hipStreamQuery)(nullptr), hipSuccess);
  EXPECT_EQ(HIP(hipStreamQuery_spt)(nullptr), hipErrorNotReady);
}

TEST_F(Rows, ACallbackGetsHipsCode) {
  static hipError_t got;
  CUDA_IS(cudaStreamAddCallback, [](cudaStream_t stream, cudaStreamCallback_t callback, void* data, unsigned) {
    callback(stream, cudaErrorHardwareStackError, data);
    return cudaSuccess;
  });
  const auto callback = [](hipStream_t, hipError_t status, void* data) { *static_cast<hipError_t*>(data) = status; };
  EXPECT_EQ(HIP(hipStreamAddCallback)(nullptr, callback, &got, 0), hipSuccess);
  EXPECT_EQ(got, hipErrorLaunchFailure);
}

TEST_F(Rows, WhatHasNoCounterpartSaysSoOnceByName) {
  hipIpcMemHandle_t handle;
  CaptureStderr();
  EXPECT_EQ(HIP(hipIpcGetMemHandle)(&handle, nullptr), hipErrorNotSupported);
  EXPECT_EQ(HIP(hipIpcGetMemHandle)(&handle, nullptr), hipErrorNotSupported);
  EXPECT_EQ(GetCapturedStderr(),
            "mneme: warning: hipIpcGetMemHandle is not available on the CPU device: it returns hipErrorNotSupported\n");
  EXPECT_EQ(HIP(hipGetLastError)(), hipErrorNotSupported);
}

// The families that docs/reference/hip.md names.
TEST_F(Rows, OnlyTheseFamiliesHaveNoCounterpart) {
  const std::vector<std::string_view> families = {"hipTexRef",
                                                  "hipBindTexture",
                                                  "hipUnbindTexture",
                                                  "hipGetTextureReference",
                                                  "hipGetTextureAlignmentOffset",
                                                  "hipModuleGetTexRef",
                                                  "hipTexObject",
                                                  "hipMemAddress",
                                                  "hipMemCreate",
                                                  "hipMemMap",
                                                  "hipMemUnmap",
                                                  "hipMemRelease",
                                                  "hipMemRetain",
                                                  "hipMemGetA",
                                                  "hipMemSetAccess",
                                                  "hipMemExport",
                                                  "hipMemImport",
                                                  "hipMemPoolExport",
                                                  "hipMemPoolImport",
                                                  "hipIpc",
                                                  "hipImportExternal",
                                                  "hipDestroyExternal",
                                                  "hipExternalMemory",
                                                  "hipSignalExternal",
                                                  "hipWaitExternal",
                                                  "hipGL",
                                                  "hipGraphics",
                                                  "hipStreamWaitValue",
                                                  "hipStreamWriteValue",
                                                  "hipExtStreamGetCUMask",
                                                  "hipExtGetLinkTypeAndHopCount"};
  // Of tools that listen to the runtime; and what is taken from the program's own runtime, which these tests have not.
  const std::vector<std::string_view> others = {
      "hipRegister", "hipRemove",  "hipInitActivityCallback", "hipEnableActivityCallback",
      "__hipGetPCH", "hipApiName", "hipGetCmdName",           "hipCreateChannelDesc"};
  std::set<std::string_view> met;
  for (std::string_view name : missing_functions(Program::get().adapter())) {
    const auto is_of = [&](std::string_view family) { return name.starts_with(family); };
    const auto family = std::ranges::find_if(families, is_of);
    EXPECT_TRUE(family != families.end() || std::ranges::any_of(others, is_of) || find_newer_function(name)) << name;
    if (family != families.end()) met.insert(*family);
  }
  EXPECT_EQ(met.size(), families.size()) << "one of them is there";
}

}  // namespace
}  // namespace mneme::hip
