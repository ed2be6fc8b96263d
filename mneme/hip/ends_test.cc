// The slots of a HIP program's second table that end in its own runtime.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "mneme/hip/rows.h"
#include "mneme/hip/testing/program.h"
#include "mneme/hip/versions.h"
#include "mneme/hooks/registration_hooks.h"

namespace mneme::hip {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

std::vector<std::string>& calls() {
  static std::vector<std::string> all;
  return all;
}
void note(std::string call) { calls().push_back(std::move(call)); }
uint64_t number_of(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

class Ends : public ::testing::Test {
 protected:
  void SetUp() override {
    RuntimeProgram::get().reset();
    RUNTIME_HAS(hipGetLastError, [] { return hipSuccess; });
    RUNTIME_HAS(hipPeekAtLastError, [] { return hipSuccess; });
    (void)take_last_error();
    calls().clear();
  }
};

TEST_F(Ends, WhatNobodyStandsBeforeIsTheRuntimesCall) {
  RUNTIME_HAS(hipMemGetInfo, [](size_t* available, size_t* total) {
    *available = 5, *total = 7;
    return hipSuccess;
  });
  size_t available = 0, total = 0;
  EXPECT_EQ(CALL_HIP(hipMemGetInfo)(&available, &total), hipSuccess);
  EXPECT_EQ(available + total, 12u);
  RUNTIME_HAS(hipSetDevice, [](int) { return hipErrorContextAlreadyInUse; });
  EXPECT_EQ(CALL_HIP(hipSetDevice)(3), hipErrorContextAlreadyInUse) << "which CUDA has no code for";
  EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipErrorContextAlreadyInUse);
  // What only says what the device is, too.
  EXPECT_EQ(RuntimeProgram::get().slots[MNEME_CALL_hipStreamWaitValue32],
            RuntimeProgram::get().real[MNEME_CALL_hipStreamWaitValue32]);
}

TEST_F(Ends, ACallPassesTheInterposerAndIsMadeAsItWas) {
  STAND_BEFORE(cudaMalloc, [](void** out, size_t size) {
    note("before");
    const cudaError_t code = END_OF(cudaMalloc)(out, size);
    note("behind");
    return code;
  });
  RUNTIME_HAS(hipMalloc, [](void** out, size_t size) {
    note("hipMalloc");
    *out = reinterpret_cast<void*>(size);
    return hipSuccess;
  });
  void* pointer = nullptr;
  EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 64), hipSuccess);
  EXPECT_EQ(number_of(pointer), 64u);
  EXPECT_THAT(calls(), ElementsAre("before", "hipMalloc", "behind"));
}

// CUDA has no word for these flags and this code.
TEST_F(Ends, FlagsAndCodesThatOnlyHipHasArriveThroughAnInterposer) {
  static unsigned seen, got;
  STAND_BEFORE(cudaHostAlloc, [](void** out, size_t size, unsigned flags) {
    seen = flags;
    return END_OF(cudaHostAlloc)(out, size, flags);
  });
  using Allocate = hipError_t (*)(void**, size_t, unsigned);
  RuntimeProgram::get().real[MNEME_CALL_hipHostMalloc] =
      reinterpret_cast<mneme_function>(static_cast<Allocate>([](void**, size_t, unsigned flags) {
        got = flags;
        return hipErrorRuntimeMemory;
      }));
  void* pointer = nullptr;
  const auto allocate = reinterpret_cast<Allocate>(RuntimeProgram::get().slots[MNEME_CALL_hipHostMalloc]);
  EXPECT_EQ(allocate(&pointer, 8, hipHostMallocMapped | hipHostMallocNonCoherent), hipErrorRuntimeMemory);
  EXPECT_EQ(seen, static_cast<unsigned>(cudaHostAllocMapped));
  EXPECT_EQ(got, static_cast<unsigned>(hipHostMallocMapped | hipHostMallocNonCoherent));
}

TEST_F(Ends, AnInterposerMayAnswerItself) {
  STAND_BEFORE(cudaMalloc, [](void** out, size_t) { return *out = nullptr, cudaErrorMemoryAllocation; });
  RUNTIME_HAS(hipMalloc, [](void**, size_t) { return note("hipMalloc"), hipSuccess; });
  void* pointer = &pointer;
  EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 64), hipErrorOutOfMemory);
  EXPECT_THAT(calls(), IsEmpty());
  // And what it asks on its way is asked, while the call itself waits for its end.
  STAND_BEFORE(cudaMalloc, [](void** out, size_t size) {
    int device = 0;
    EXPECT_EQ(END_OF(cudaGetDevice)(&device), cudaSuccess);
    EXPECT_EQ(device, 2);
    EXPECT_EQ(END_OF(cudaMalloc)(out, size), cudaSuccess);
    return END_OF(cudaMalloc)(out, 2 * size);
  });
  RUNTIME_HAS(hipGetDevice, [](int* device) { return *device = 2, hipSuccess; });
  RUNTIME_HAS(hipMalloc, [](void** out, size_t size) {
    *out = reinterpret_cast<void*>(size);
    return hipSuccess;
  });
  EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 64), hipSuccess);
  EXPECT_EQ(number_of(pointer), 128u) << "the second call of the interposer is one of its own";
}

// The recorder serves host memory that the runtime knows as registered: what its flags are it asks of memory of the runtime's.
TEST_F(Ends, WhatAnInterposerAsksInPlaceOfTheProgramIsItsOwnCall) {
  STAND_BEFORE(cudaHostGetFlags, [](unsigned* flags, void*) { return END_OF(cudaHostGetFlags)(flags, &calls()); });
  RUNTIME_HAS(hipHostGetFlags, [](unsigned* flags, void* pointer) {
    *flags = hipHostMallocMapped;
    return pointer == &calls() ? hipSuccess : hipErrorInvalidValue;
  });
  unsigned flags = 0;
  EXPECT_EQ(CALL_HIP(hipHostGetFlags)(&flags, &flags), hipSuccess);
  EXPECT_EQ(flags, static_cast<unsigned>(hipHostMallocMapped));
}

// Before ROCm 6 HIP has no function that tells it.
TEST_F(Ends, WhatAnArrayIsIsToldAsTheProgramHasMadeIt) {
  static int array = 0;
  RUNTIME_HAS(hipMallocArray, [](hipArray** out, const hipChannelFormatDesc*, size_t, size_t, unsigned) {
    *out = reinterpret_cast<hipArray*>(&array);
    return hipSuccess;
  });
  RUNTIME_HAS(hipMalloc3DArray, [](hipArray** out, const hipChannelFormatDesc*, hipExtent, unsigned) {
    *out = reinterpret_cast<hipArray*>(&array);
    return hipSuccess;
  });
  RUNTIME_HAS(hipArray3DCreate, [](hipArray** out, const HIP_ARRAY3D_DESCRIPTOR*) {
    *out = reinterpret_cast<hipArray*>(&array);
    return hipSuccess;
  });
  RUNTIME_HAS(hipArrayCreate, [](hipArray**, const HIP_ARRAY_DESCRIPTOR*) { return hipErrorOutOfMemory; });
  RUNTIME_HAS(hipFreeArray, [](hipArray*) { return hipSuccess; });
  cudaChannelFormatDesc channels{};
  cudaExtent extent{};
  unsigned flags = 0;
  auto ask = [&] { return END_OF(cudaArrayGetInfo)(&channels, &extent, &flags, reinterpret_cast<cudaArray_t>(&array)); };
  EXPECT_EQ(ask(), cudaErrorInvalidResourceHandle);
  hipArray* made = nullptr;
  const hipChannelFormatDesc pairs{16, 16, 0, 0, hipChannelFormatKindFloat};
  EXPECT_EQ(CALL_HIP(hipMallocArray)(&made, &pairs, 5, 3, hipArraySurfaceLoadStore), hipSuccess);
  EXPECT_EQ(ask(), cudaSuccess);
  EXPECT_EQ(channels.y, 16);
  EXPECT_EQ(channels.f, cudaChannelFormatKindFloat);
  EXPECT_THAT((std::vector{extent.width, extent.height, extent.depth}), ElementsAre(5, 3, 0));
  EXPECT_EQ(flags, static_cast<unsigned>(cudaArraySurfaceLoadStore));
  EXPECT_EQ(CALL_HIP(hipFreeArray)(made), hipSuccess);
  EXPECT_EQ(ask(), cudaErrorInvalidResourceHandle);
  EXPECT_EQ(CALL_HIP(hipMalloc3DArray)(&made, &pairs, {1, 2, 3}, hipArrayLayered), hipSuccess);
  EXPECT_EQ(ask(), cudaSuccess);
  EXPECT_THAT((std::vector{extent.width, extent.height, extent.depth}), ElementsAre(1, 2, 3));
  EXPECT_EQ(flags, static_cast<unsigned>(cudaArrayLayered));
  HIP_ARRAY3D_DESCRIPTOR solid{};
  solid.Width = 4, solid.Height = 5, solid.Depth = 6, solid.Format = HIP_AD_FORMAT_UNSIGNED_INT8, solid.NumChannels = 4;
  EXPECT_EQ(CALL_HIP(hipArray3DCreate)(&made, &solid), hipSuccess);
  EXPECT_EQ(ask(), cudaSuccess);
  EXPECT_THAT((std::vector{extent.width, extent.height, extent.depth}), ElementsAre(4, 5, 6));
  EXPECT_EQ(channels.w, 8);
  HIP_ARRAY_DESCRIPTOR flat{};
  EXPECT_EQ(CALL_HIP(hipArrayCreate)(&made, &flat), hipErrorOutOfMemory) << "as the runtime says";
  EXPECT_EQ(ask(), cudaSuccess) << "what failed has changed nothing";
}

TEST_F(Ends, WhatIsNotReadyYetIsNoLastError) {
  RUNTIME_HAS(hipEventQuery, [](hipEvent_t) { return hipErrorNotReady; });
  STAND_BEFORE(cudaEventQuery, [](cudaEvent_t event) { return END_OF(cudaEventQuery)(event); });
  EXPECT_EQ(CALL_HIP(hipEventQuery)(nullptr), hipErrorNotReady);
  EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipSuccess);
}

// A runtime with a last error, as ROCm 7 has it, which keeps it until it is read, or as ROCm before has it, the last result.
struct LastErrors {
  static inline hipError_t last, last_result;
  static inline bool keeps;
  static hipError_t result(hipError_t code) {
    if (code != hipSuccess || !keeps) last = code;
    return last_result = code;
  }
  static void begin(bool keeps_errors) {
    last = last_result = hipSuccess;
    keeps = keeps_errors;
    RUNTIME_HAS(hipPeekAtLastError, [] { return last_result = last; });
    RUNTIME_HAS(hipGetLastError, [] { return std::exchange(last, hipSuccess); });
    RUNTIME_HAS(hipRuntimeGetVersion,
                [](int* version) { return *version = keeps ? 70'000'000 : 60'343'000, last_result = hipSuccess; });
    RuntimeProgram::get().runtime_has(
        "hipExtGetLastError", +[] { return std::exchange(keeps ? last_result : last, hipSuccess); });
    RUNTIME_HAS(hipMalloc, [](void**, size_t size) { return result(size > 64 ? hipErrorOutOfMemory : hipSuccess); });
    RUNTIME_HAS(hipGetDevice, [](int* device) { return result(device ? hipSuccess : hipErrorInvalidDevice); });
    // The interposer's own calls before and behind the program's: through a slot, and past it.
    STAND_BEFORE(cudaMalloc, [](void** out, size_t size) {
      (void)END_OF(cudaGetDevice)(own_fails ? nullptr : &own_device);
      const cudaError_t code = END_OF(cudaMalloc)(out, size);
      (void)result(own_fails ? hipErrorNotSupported : hipSuccess);
      return code;
    });
  }
  static inline bool own_fails;
  static inline int own_device;
};

TEST_F(Ends, WhatAnInterposersOwnCallsFailWithIsNoLastErrorOfTheProgram) {
  for (const bool keeps : {true, false}) {
    LastErrors::begin(keeps);
    LastErrors::own_fails = true;
    void* pointer = nullptr;
    EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 64), hipSuccess);
    EXPECT_EQ(CALL_HIP(hipPeekAtLastError)(), hipSuccess) << keeps;
    EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipSuccess) << keeps;
    EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
    EXPECT_EQ(CALL_HIP(hipPeekAtLastError)(), hipErrorOutOfMemory) << keeps;
    EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipErrorOutOfMemory) << keeps;
    EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipSuccess) << keeps;
  }
}

TEST_F(Ends, FromRocm7OnALastErrorStaysUntilItIsRead) {
  for (const bool keeps : {true, false}) {
    for (const bool own_fails : {true, false}) {
      LastErrors::begin(keeps);
      LastErrors::own_fails = own_fails;
      void* pointer = nullptr;
      EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
      EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 64), hipSuccess);
      int device = 0;
      EXPECT_EQ(CALL_HIP(hipGetDevice)(&device), hipSuccess) << "which nobody stands before";
      EXPECT_EQ(CALL_HIP(hipPeekAtLastError)(), keeps ? hipErrorOutOfMemory : hipSuccess) << own_fails;
      EXPECT_EQ(CALL_HIP(hipGetLastError)(), keeps ? hipErrorOutOfMemory : hipSuccess) << own_fails;
      EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipSuccess);
    }
  }
}

// The later of two errors counts.
TEST_F(Ends, AnErrorThatIsNotedGivesWayToALaterOne) {
  LastErrors::begin(true);
  LastErrors::own_fails = true;
  void* pointer = nullptr;
  EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
  EXPECT_EQ(peek_last_error(), hipErrorOutOfMemory) << "the runtime has lost it";
  EXPECT_EQ(CALL_HIP(hipGetDevice)(nullptr), hipErrorInvalidDevice);
  EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipErrorInvalidDevice);
  EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipSuccess);
}

hipError_t ext_last_error() { return own_function_of<hipError_t (*)()>("hipExtGetLastError", RuntimeProgram::get())(); }

TEST_F(Ends, TheResultOfTheLastCallIsThatOfTheProgramsOwn) {
  for (const bool keeps : {true, false}) {
    for (const bool own_fails : {true, false}) {
      SCOPED_TRACE(testing::Message() << "keeps " << keeps << ", own calls fail " << own_fails);
      LastErrors::begin(keeps);
      LastErrors::own_fails = own_fails;
      void* pointer = nullptr;
      EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
      EXPECT_EQ(ext_last_error(), hipErrorOutOfMemory);
      EXPECT_EQ(ext_last_error(), hipSuccess);
      EXPECT_EQ(CALL_HIP(hipGetLastError)(), keeps ? hipErrorOutOfMemory : hipSuccess) << "which ROCm before 7 forgets with it";
      EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
      EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 64), hipSuccess);
      EXPECT_EQ(ext_last_error(), hipSuccess) << "that of the last call";
      (void)CALL_HIP(hipGetLastError)();
    }
  }
}

TEST_F(Ends, TheResultOfACallThatNobodyStandsBeforeIsTheLastOneToo) {
  for (const bool keeps : {true, false}) {
    LastErrors::begin(keeps);
    LastErrors::own_fails = true;
    void* pointer = nullptr;
    int device = 0;
    EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
    EXPECT_EQ(CALL_HIP(hipGetDevice)(&device), hipSuccess);
    EXPECT_EQ(ext_last_error(), hipSuccess) << keeps;
    EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 64), hipSuccess);
    EXPECT_EQ(CALL_HIP(hipGetDevice)(nullptr), hipErrorInvalidDevice);
    EXPECT_EQ(ext_last_error(), hipErrorInvalidDevice) << keeps;
    EXPECT_EQ(ext_last_error(), hipSuccess) << keeps;
    (void)CALL_HIP(hipGetLastError)();
  }
}

// Of a function that Mneme has no part in, and that succeeds: a program calls it past the table.
void call_past_the_table() { (void)LastErrors::result(hipSuccess); }

TEST_F(Ends, TheResultOfACallThatIsNotSeenIsTheLastOneToo) {
  LastErrors::begin(true);
  LastErrors::own_fails = false;
  void* pointer = nullptr;
  EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
  call_past_the_table();
  EXPECT_EQ(ext_last_error(), hipSuccess) << "it was the last call";
  EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipErrorOutOfMemory);
}

// ROCm 7 tells a last error that is asked for as the result of that call.
TEST_F(Ends, TheLastErrorThatIsAskedForIsTheResultOfThatCall) {
  for (const bool own_fails : {true, false}) {
    LastErrors::begin(true);
    LastErrors::own_fails = own_fails;
    void* pointer = nullptr;
    EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
    EXPECT_EQ(ext_last_error(), hipErrorOutOfMemory) << own_fails;
    EXPECT_EQ(CALL_HIP(hipPeekAtLastError)(), hipErrorOutOfMemory) << own_fails;
    EXPECT_EQ(ext_last_error(), hipErrorOutOfMemory) << own_fails;
    EXPECT_EQ(ext_last_error(), hipSuccess) << own_fails;
    EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
    EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipErrorOutOfMemory) << own_fails;
    EXPECT_EQ(CALL_HIP(hipPeekAtLastError)(), hipSuccess) << own_fails;
    EXPECT_EQ(ext_last_error(), hipSuccess) << own_fails;
  }
}

// The runtime knows nothing of a call that it has no function for, and has an error of an earlier one.
TEST_F(Ends, AnErrorOfAFunctionThatTheRuntimeHasNotIsTheLastOne) {
  LastErrors::begin(true);
  LastErrors::own_fails = false;
  RUNTIME_HAS(hipMemGetInfo, nullptr);
  RUNTIME_HAS(hipGraphAddKernelNode, nullptr);
  const auto calls_that_are_refused = {
      +[] { return CALL_HIP(hipMemGetInfo)(nullptr, nullptr); },
      +[] { return CALL_HIP(hipGraphAddKernelNode)(nullptr, nullptr, nullptr, 0, nullptr); },
  };
  for (const auto call : calls_that_are_refused) {
    void* pointer = nullptr;
    EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
    EXPECT_EQ(call(), hipErrorNotSupported);
    EXPECT_EQ(ext_last_error(), hipErrorNotSupported);
    EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipErrorNotSupported);
    EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipSuccess);
  }
}

TEST_F(Ends, WithoutTheFunctionTheLastResultIsTheLastError) {
  LastErrors::begin(false);
  LastErrors::own_fails = true;
  RuntimeProgram::get().runtime_has("hipExtGetLastError", static_cast<hipError_t (*)()>(nullptr));
  void* pointer = nullptr;
  EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
  EXPECT_EQ(ext_last_error(), hipErrorOutOfMemory);
  EXPECT_EQ(ext_last_error(), hipSuccess);
}

// ROCm before 7 has the last result, whether it is an error or not.
TEST_F(Ends, TheLastErrorOutlivesWhatAnInterposerCallsBehindIt) {
  static hipError_t last;
  last = hipSuccess;
  RUNTIME_HAS(hipPeekAtLastError, [] { return last; });
  RUNTIME_HAS(hipGetLastError, [] { return std::exchange(last, hipSuccess); });
  RUNTIME_HAS(hipMalloc, [](void**, size_t size) { return last = size > 64 ? hipErrorOutOfMemory : hipSuccess; });
  RUNTIME_HAS(hipGetDevice, [](int*) { return last = hipSuccess; });
  void* pointer = nullptr;
  EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
  EXPECT_EQ(peek_last_error(), hipSuccess) << "the runtime knows it";
  EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipErrorOutOfMemory);
  STAND_BEFORE(cudaMalloc, [](void** out, size_t size) {
    const cudaError_t code = END_OF(cudaMalloc)(out, size);
    int device = 0;
    EXPECT_EQ(END_OF(cudaGetDevice)(&device), cudaSuccess);
    return code;
  });
  EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
  EXPECT_EQ(CALL_HIP(hipPeekAtLastError)(), hipErrorOutOfMemory);
  EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipErrorOutOfMemory);
  EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipSuccess);
  EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 65), hipErrorOutOfMemory);
  EXPECT_EQ(CALL_HIP(hipMalloc)(&pointer, 64), hipSuccess);
  EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipSuccess) << "as the runtime has it";
}

TEST_F(Ends, AnInterposersOwnCallsAreConverted) {
  RUNTIME_HAS(hipFuncGetAttributes, [](hipFuncAttributes* out, const void*) {
    *out = {};
    out->numRegs = 12;
    out->sharedSizeBytes = 34;
    return hipSuccess;
  });
  cudaFuncAttributes attributes{};
  EXPECT_EQ(END_OF(cudaFuncGetAttributes)(&attributes, nullptr), cudaSuccess);
  EXPECT_EQ(attributes.numRegs, 12);
  EXPECT_EQ(attributes.sharedSizeBytes, 34u);
  static hipMemsetParams got;
  RUNTIME_HAS(hipGraphMemsetNodeSetParams, [](hipGraphNode_t, const hipMemsetParams* parameters) {
    got = *parameters;
    return hipErrorRuntimeOther;
  });
  const cudaMemsetParams given{.dst = &got, .pitch = 1, .value = 2, .elementSize = 3, .width = 4, .height = 5};
  EXPECT_EQ(END_OF(cudaGraphMemsetNodeSetParams)(nullptr, &given), cudaErrorUnknown);
  EXPECT_EQ(got.dst, &got);
  EXPECT_EQ(got.pitch, 1u);
  EXPECT_EQ(got.value, 2u);
  EXPECT_EQ(got.elementSize, 3u);
  EXPECT_EQ(got.width, 4u);
  EXPECT_EQ(got.height, 5u);
  static cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {.type = cudaMemLocationTypeDevice, .id = 3};
  RUNTIME_HAS(hipMemPoolCreate, [](hipMemPool_t*, const hipMemPoolProps* asked) {
    EXPECT_EQ(asked->allocType, hipMemAllocationTypePinned);
    EXPECT_EQ(asked->location.id, 3);
    return hipSuccess;
  });
  EXPECT_EQ(END_OF(cudaMemPoolCreate)(nullptr, &properties), cudaSuccess);
}

TEST_F(Ends, WhatInterposersAskOfTheDevice) {
  RUNTIME_HAS(hipDeviceGetAttribute, [](int* value, hipDeviceAttribute_t attribute, int device) {
    *value = 100 * device + static_cast<int>(attribute);
    return hipSuccess;
  });
  int value = 0;
  EXPECT_EQ(END_OF(cudaDeviceGetAttribute)(&value, cudaDevAttrConcurrentManagedAccess, 1), cudaSuccess);
  EXPECT_EQ(value, 100 + hipDeviceAttributeConcurrentManagedAccess);
  EXPECT_EQ(END_OF(cudaDeviceGetAttribute)(&value, cudaDevAttrWarpSize, 0), cudaSuccess);
  EXPECT_EQ(value, static_cast<int>(hipDeviceAttributeWarpSize));
  EXPECT_EQ(END_OF(cudaDeviceGetAttribute)(&value, cudaDevAttrSparseCudaArraySupported, 0), cudaErrorInvalidValue);

  RUNTIME_HAS(hipPointerGetAttributes, [](hipPointerAttribute_t* out, const void* pointer) {
    if (!pointer) return hipErrorInvalidValue;
    *out = {};
    memory_type_of(*out) = hipMemoryTypeHost;
    out->hostPointer = const_cast<void*>(pointer);
    return hipSuccess;
  });
  cudaPointerAttributes attributes{};
  EXPECT_EQ(END_OF(cudaPointerGetAttributes)(&attributes, &value), cudaSuccess);
  EXPECT_EQ(attributes.type, cudaMemoryTypeHost);
  EXPECT_EQ(attributes.hostPointer, &value);
  EXPECT_EQ(END_OF(cudaPointerGetAttributes)(&attributes, nullptr), cudaSuccess) << "unregistered memory is no failure of CUDA's";
  EXPECT_EQ(attributes.type, cudaMemoryTypeUnregistered);
}

hipError_t launched(const void*, hip_dim3 grid, hip_dim3 block, void** arguments, size_t shared, hipStream_t stream) {
  note(fmt::format("hipLaunchKernel {}x{}x{} of {}x{}x{} with {}, {} bytes, stream {}", grid.x, grid.y, grid.z, block.x, block.y,
                   block.z, *static_cast<int*>(arguments[0]), shared, number_of(stream)));
  return hipErrorLaunchOutOfResources;
}

TEST_F(Ends, EveryFamilyOfLaunchesIsOneOfTheRuntimes) {
  RUNTIME_HAS(hipLaunchKernel, launched);
  RUNTIME_HAS(hipEventRecord,
              [](hipEvent_t event, hipStream_t) { return note(fmt::format("event {}", number_of(event))), hipSuccess; });
  int argument = 5;
  void* arguments[] = {&argument};
  const auto stream = reinterpret_cast<hipStream_t>(9);
  const std::string made = "hipLaunchKernel 1x2x3 of 4x5x6 with 5, 65000 bytes, stream 9";
  EXPECT_EQ(CALL_HIP(hipLaunchKernel)(this, {1, 2, 3}, {4, 5, 6}, arguments, 65000, stream), hipErrorLaunchOutOfResources);
  EXPECT_EQ(
      CALL_HIP(hipModuleLaunchKernel)(reinterpret_cast<hipFunction_t>(this), 1, 2, 3, 4, 5, 6, 65000, stream, arguments, nullptr),
      hipErrorLaunchOutOfResources);
  EXPECT_EQ(CALL_HIP(hipExtLaunchKernel)(this, {1, 2, 3}, {4, 5, 6}, arguments, 65000, stream, reinterpret_cast<hipEvent_t>(7),
                                         nullptr, 0),
            hipErrorLaunchOutOfResources);
  EXPECT_THAT(calls(), ElementsAre(made, made, "event 7", made));
  EXPECT_EQ(CALL_HIP(hipGetLastError)(), hipErrorLaunchOutOfResources);
  STAND_BEFORE(cudaLaunchKernel, [](const void* function, dim3 grid, dim3 block, void** given, size_t shared, cudaStream_t in) {
    return END_OF(cudaLaunchKernel)(function, grid, block, given, shared, in);
  });
  RUNTIME_HAS(hipLaunchKernel, [](const void*, hip_dim3, hip_dim3, void**, size_t, hipStream_t) { return hipErrorRuntimeOther; });
  EXPECT_EQ(CALL_HIP(hipLaunchKernel)(this, {1, 1, 1}, {1, 1, 1}, arguments, 0, stream), hipErrorRuntimeOther)
      << "which CUDA has no code for";
}

TEST_F(Ends, ABufferOfArgumentsNeedsAKernelThatSaysWhereTheyLie) {
  int argument = 5;
  size_t size = 4;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &argument, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
  CaptureStderr();
  for (int i = 0; i < 2; ++i)
    EXPECT_EQ(
        CALL_HIP(hipModuleLaunchKernel)(reinterpret_cast<hipFunction_t>(this), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
        hipErrorNotSupported);
  EXPECT_EQ(
      GetCapturedStderr(),
      "mneme: warning: a kernel that was not compiled for recording is not launched with its arguments in a buffer: the launch "
      "returns hipErrorNotSupported\n");
}

TEST_F(Ends, AKernelWithoutParametersIsLaunchedWithWhateverIsInItsBuffer) {
  STAND_BEFORE(cudaFuncGetParamInfo, [](const void*, size_t, size_t*, size_t*) { return cudaErrorInvalidValue; });
  RUNTIME_HAS(hipLaunchKernel, [](const void*, hip_dim3 grid, hip_dim3, void**, size_t, hipStream_t) {
    return note(fmt::format("{} blocks", grid.x)), hipSuccess;
  });
  int nothing = 0;
  size_t size = 4;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &nothing, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
  EXPECT_EQ(CALL_HIP(hipModuleLaunchKernel)(reinterpret_cast<hipFunction_t>(this), 3, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra),
            hipSuccess);
  EXPECT_THAT(calls(), ElementsAre("3 blocks"));
}

TEST_F(Ends, PatternsAreFilledByTheRuntimesOwnCallBehindTheInterposer) {
  STAND_BEFORE(cudaMemset, [](void* to, int value, size_t size) {
    note(fmt::format("{} bytes", size));
    return END_OF(cudaMemset)(to, value, size);
  });
  RUNTIME_HAS(hipMemsetD32, [](hipDeviceptr_t, int value, size_t count) {
    note(fmt::format("hipMemsetD32 {:x} {}", value, count));
    return hipSuccess;
  });
  EXPECT_EQ(CALL_HIP(hipMemsetD32)(this, 0x01020304, 6), hipSuccess);
  EXPECT_THAT(calls(), ElementsAre("24 bytes", "hipMemsetD32 1020304 6"));
}

TEST_F(Ends, MemoryFromElsewhereIsToldAsExternal) {
  STAND_BEFORE(cudaExternalMemoryGetMappedBuffer,
               [](void** out, cudaExternalMemory_t memory, const cudaExternalMemoryBufferDesc* description) {
                 const cudaError_t code = END_OF(cudaExternalMemoryGetMappedBuffer)(out, memory, description);
                 note(fmt::format("{} bytes at {}", description->size, number_of(*out)));
                 return code;
               });
  STAND_BEFORE(cudaIpcOpenMemHandle, [](void** out, cudaIpcMemHandle_t handle, unsigned flags) {
    const cudaError_t code = END_OF(cudaIpcOpenMemHandle)(out, handle, flags);
    note(fmt::format("of another process at {}", number_of(*out)));
    return code;
  });
  STAND_BEFORE(cudaIpcCloseMemHandle, [](void* pointer) {
    note(fmt::format("gone from {}", number_of(pointer)));
    return END_OF(cudaIpcCloseMemHandle)(pointer);
  });
  RUNTIME_HAS(hipExtMallocWithFlags, [](void** out, size_t, unsigned) { return *out = reinterpret_cast<void*>(64), hipSuccess; });
  RUNTIME_HAS(hipMemMap, [](void*, size_t, size_t, hipMemGenericAllocationHandle_t, unsigned long long) { return hipSuccess; });
  RUNTIME_HAS(hipMemUnmap, [](void*, size_t) { return hipSuccess; });
  RUNTIME_HAS(hipIpcOpenMemHandle, [](void** out, hipIpcMemHandle_t handle, unsigned) {
    *out = reinterpret_cast<void*>(static_cast<uint64_t>(handle.reserved[0]));
    return hipSuccess;
  });
  RUNTIME_HAS(hipMalloc, [](void** out, size_t) { return *out = reinterpret_cast<void*>(80), hipSuccess; });
  void* pointer = nullptr;
  EXPECT_EQ(CALL_HIP(hipExtMallocWithFlags)(&pointer, 16, hipDeviceMallocFinegrained), hipSuccess);
  EXPECT_EQ(number_of(pointer), 64u);
  EXPECT_EQ(CALL_HIP(hipMemMap)(reinterpret_cast<void*>(4096), 8192, 0, nullptr, 0), hipSuccess);
  EXPECT_EQ(CALL_HIP(hipMemUnmap)(reinterpret_cast<void*>(4096), 8192), hipSuccess);
  hipIpcMemHandle_t handle{};
  handle.reserved[0] = 77;
  EXPECT_EQ(CALL_HIP(hipIpcOpenMemHandle)(&pointer, handle, 0), hipSuccess);
  EXPECT_EQ(CALL_HIP(hipIpcCloseMemHandle)(pointer), hipErrorNotSupported);
  EXPECT_THAT(calls(),
              ElementsAre("16 bytes at 64", "8192 bytes at 4096", "gone from 4096", "of another process at 77", "gone from 77"));
  // Device memory as any other is not.
  EXPECT_EQ(CALL_HIP(hipExtMallocWithFlags)(&pointer, 16, hipDeviceMallocDefault), hipSuccess);
  EXPECT_EQ(number_of(pointer), 80u);
  EXPECT_EQ(calls().size(), 5u);
}

TEST_F(Ends, RegistrationIsTheRuntimes) {
  static void* handle = nullptr;
  RUNTIME_HAS(__hipRegisterFatBinary, [](const void* wrapper) {
    note(fmt::format("image {}", number_of(wrapper)));
    return &handle;
  });
  RUNTIME_HAS(__hipRegisterFunction,
              [](void**, const void* function, char*, const char* name, unsigned limit, void*, void*, void*, void*, int*) {
                note(fmt::format("{} at {}, {} threads", name, number_of(function), limit));
              });
  RUNTIME_HAS(__hipRegisterVar, [](void**, void* variable, char*, const char* name, int, size_t size, int constant, int) {
    note(fmt::format("{} at {} of {} bytes, {}", name, number_of(variable), size, constant));
  });
  RUNTIME_HAS(__hipUnregisterFatBinary, [](void** gone) { note(gone == &handle ? "gone" : "another"); });
  void** const given = CALL_HIP(__hipRegisterFatBinary)(reinterpret_cast<void*>(3));
  EXPECT_EQ(given, &handle);
  CALL_HIP(__hipRegisterFunction)
  (given, reinterpret_cast<void*>(4), nullptr, "kernel", 256, nullptr, nullptr, nullptr, nullptr, nullptr);
  CALL_HIP(__hipRegisterVar)(given, reinterpret_cast<void*>(5), nullptr, "table", 0, 24, 1, 0);
  // A kernel's name, which HIP tells only of functions that are called by it.
  const char* name = nullptr;
  EXPECT_EQ(END_OF(cudaFuncGetName)(&name, reinterpret_cast<void*>(4)), cudaSuccess);
  EXPECT_STREQ(name, "kernel");
  EXPECT_EQ(END_OF(cudaFuncGetName)(&name, reinterpret_cast<void*>(6)), cudaErrorInvalidDeviceFunction);
  // Where a variable lies, for who only knows its name.
  RuntimeProgram::get().real[MNEME_CALL_hipGetSymbolAddress] =
      reinterpret_cast<mneme_function>(static_cast<hipError_t (*)(void**, const void*)>([](void** out, const void* variable) {
        *out = const_cast<char*>(static_cast<const char*>(variable) + 1000);
        return hipSuccess;
      }));
  RuntimeProgram::get().real[MNEME_CALL_hipGetSymbolSize] = reinterpret_cast<mneme_function>(
      static_cast<hipError_t (*)(size_t*, const void*)>([](size_t* size, const void*) { return *size = 24, hipSuccess; }));
  uint64_t address = 0, size = 0;
  ASSERT_NE(RuntimeProgram::get().cuda->find_global, nullptr);
  EXPECT_EQ(RuntimeProgram::get().cuda->find_global(reinterpret_cast<void*>(4), "table", &address, &size), 0);
  EXPECT_EQ(address, 1005u);
  EXPECT_EQ(size, 24u);
  EXPECT_NE(RuntimeProgram::get().cuda->find_global(reinterpret_cast<void*>(6), "table", &address, &size), 0);
  CALL_HIP(__hipUnregisterFatBinary)(given);
  EXPECT_THAT(calls(), ElementsAre("image 3", "kernel at 4, 256 threads", "table at 5 of 24 bytes, 1", "gone"));
}

TEST_F(Ends, WhatHasNoEndSaysSoOnceByName) {
  CaptureStderr();
  EXPECT_EQ(END_OF(cudaGetFuncBySymbol)(nullptr, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(END_OF(cudaGetFuncBySymbol)(nullptr, nullptr), cudaErrorNotSupported);
  EXPECT_EQ(GetCapturedStderr(),
            "mneme: warning: cudaGetFuncBySymbol has no counterpart in the HIP runtime: it returns cudaErrorNotSupported\n");
}

TEST_F(Ends, TheDeviceOfAStreamIsWhatTheRuntimeTells) {
  RuntimeProgram::get().real[MNEME_CALL_hipGetStreamDeviceId] =
      reinterpret_cast<mneme_function>(static_cast<int (*)(hipStream_t)>([](hipStream_t stream) { return stream ? 3 : -1; }));
  int device = 0;
  EXPECT_EQ(END_OF(cudaStreamGetDevice)(reinterpret_cast<cudaStream_t>(0x10), &device), cudaSuccess);
  EXPECT_EQ(device, 3);
  EXPECT_EQ(END_OF(cudaStreamGetDevice)(nullptr, &device), cudaErrorInvalidResourceHandle);
}

TEST_F(Ends, HandlesOfModulesAreNotTheRuntimes) {
  CaptureStderr();
  EXPECT_EQ(CALL_HIP(hipModuleGetTexRef)(nullptr, nullptr, ""), hipErrorNotSupported);
  EXPECT_EQ(CALL_HIP(hipModuleGetTexRef)(nullptr, nullptr, ""), hipErrorNotSupported);
  EXPECT_EQ(GetCapturedStderr(),
            "mneme: warning: hipModuleGetTexRef is not available while Mneme stands before the HIP runtime, whose modules and "
            "functions have other handles than those that the program was given: it returns hipErrorNotSupported\n");
}

// What the recorder calls, or calls on, that no HIP program leads to: extended launches, libraries, graphics' arrays, batches.
TEST_F(Ends, AllThatTheRecorderCallsHasAnEndButThese) {
  const auto missing = functions_without_end(RuntimeProgram::get().adapter());
  std::vector<std::string> asked;
  const auto check = [&](const char* name) {
    if (std::ranges::find(missing, name) != missing.end()) asked.emplace_back(name);
  };
  for (const char* name : {"__cudaRegisterFatBinary",
                           "__cudaRegisterFunction",
                           "__cudaRegisterVar",
                           "__cudaUnregisterFatBinary",
                           "cudaArrayGetInfo",
                           "cudaCreateTextureObject",
                           "cudaDestroyTextureObject",
                           "cudaCreateSurfaceObject",
                           "cudaDestroySurfaceObject",
                           "cudaDeviceDisablePeerAccess",
                           "cudaDeviceEnablePeerAccess",
                           "cudaDeviceGetAttribute",
                           "cudaDeviceReset",
                           "cudaDeviceSynchronize",
                           "cudaEventCreate",
                           "cudaEventCreateWithFlags",
                           "cudaEventDestroy",
                           "cudaEventElapsedTime",
                           "cudaEventRecord",
                           "cudaEventSynchronize",
                           "cudaFree",
                           "cudaFreeArray",
                           "cudaFreeAsync",
                           "cudaFreeHost",
                           "cudaFreeMipmappedArray",
                           "cudaGetDevice",
                           "cudaGetDeviceCount",
                           "cudaGetFuncBySymbol",
                           "cudaGetLastError",
                           "cudaGetMipmappedArrayLevel",
                           "cudaGetSymbolAddress",
                           "cudaGetSymbolSize",
                           "cudaGraphAddKernelNode",
                           "cudaGraphExecKernelNodeSetParams",
                           "cudaGraphKernelNodeSetParams",
                           "cudaGraphLaunch",
                           "cudaHostAlloc",
                           "cudaHostGetFlags",
                           "cudaHostRegister",
                           "cudaHostUnregister",
                           "cudaLaunchCooperativeKernel",
                           "cudaLaunchKernel",
                           "cudaLaunchKernel_ptsz",
                           "cudaMalloc",
                           "cudaMalloc3D",
                           "cudaMallocAsync",
                           "cudaMallocFromPoolAsync",
                           "cudaMallocHost",
                           "cudaMallocManaged",
                           "cudaMallocMipmappedArray",
                           "cudaMallocPitch",
                           "cudaMemGetInfo",
                           "cudaMemcpy",
                           "cudaMemcpy2D",
                           "cudaMemcpy2DAsync",
                           "cudaMemcpy2DFromArray",
                           "cudaMemcpy2DToArray",
                           "cudaMemcpy3D",
                           "cudaMemcpy3DAsync",
                           "cudaMemcpyAsync",
                           "cudaMemcpyFromArray",
                           "cudaMemcpyPeer",
                           "cudaMemcpyPeerAsync",
                           "cudaMemcpyToArray",
                           "cudaMemcpyToSymbol",
                           "cudaMemcpyToSymbolAsync",
                           "cudaMemset",
                           "cudaMemset2D",
                           "cudaMemset2DAsync",
                           "cudaMemset3D",
                           "cudaMemset3DAsync",
                           "cudaMemsetAsync",
                           "cudaPeekAtLastError",
                           "cudaPointerGetAttributes",
                           "cudaSetDevice",
                           "cudaStreamBeginCapture",
                           "cudaStreamCreateWithFlags",
                           "cudaStreamDestroy",
                           "cudaStreamEndCapture",
                           "cudaStreamIsCapturing",
                           "cudaStreamSynchronize",
                           "cudaThreadExchangeStreamCaptureMode"})
    check(name);
  EXPECT_THAT(asked, ElementsAre("cudaGetFuncBySymbol"));
}

}  // namespace
}  // namespace mneme::hip
