#include "mneme/hip/newer_functions.h"

#include <gmock/gmock.h>

#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "mneme/hip/testing/program.h"

namespace mneme::hip {
namespace {

using ::testing::HasSubstr;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

// The names of the list that is kept beside this test.
std::set<std::string> listed_functions() {
  std::ifstream file(MNEME_TEST_NEWER_FUNCTIONS);
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#')) names.insert(line.substr(line.find(' ') + 1));
  return names;
}

// A handler by its name, as if the list of calls had the function.
template <typename Function>
Function own(std::string_view name, const ProgramTables& program) {
  return reinterpret_cast<Function>(own_function(name, program.table.index));
}
using GetProcAddress = hipError_t (*)(const char*, void**, int, uint64_t, int*);
using GetEntryPoint = hipError_t (*)(const char*, void**, unsigned long long, int*);

TEST(NewerFunctions, EachIsKnown) {
  const std::set<std::string> names = listed_functions();
  EXPECT_GT(names.size(), 100u);
  for (const std::string& name : names) {
    const NewerFunction* known = find_newer_function(name);
    ASSERT_TRUE(known) << name << " has neither a handler nor a word on what becomes of it (newer_functions.cc)";
    const bool has_handler = own_function(name, Program::get().table.index) != nullptr;
    EXPECT_EQ(has_handler, known->treatment == NewerTreatment::own) << name;
    EXPECT_EQ(known->reason.empty(), has_handler) << name;
    EXPECT_EQ(!reason_for_refusal(name).empty(), known->treatment == NewerTreatment::refused) << name;
  }
}

TEST(NewerFunctions, WhatTakesHandlesOfModulesIsRefusedThoughItIsNotKnown) {
  EXPECT_THAT(std::string(reason_for_refusal("hipModuleOfTheFuture")), HasSubstr("other handles"));
  EXPECT_EQ(reason_for_refusal("hipModuleGetLoadingMode"), "") << "takes none";
  EXPECT_EQ(reason_for_refusal("hipOfTheFuture"), "");
}

TEST(NewerFunctions, ByNameThereAreTheFunctionsOfTheTable) {
  Program& program = Program::get();
  for (const char* name : {"hipGetProcAddress", "hipGetProcAddress_spt"}) {
    const auto get = own<GetProcAddress>(name, program);
    void* function = nullptr;
    int status = 7;
    EXPECT_EQ(get("hipMalloc", &function, 603, 0, &status), hipSuccess);
    EXPECT_EQ(function, reinterpret_cast<void*>(program.slots[MNEME_CALL_hipMalloc]));
    EXPECT_EQ(status, 0);
    EXPECT_EQ(get("hipOfTheFuture", &function, 603, 0, &status), hipErrorNotFound);
    EXPECT_EQ(function, nullptr);
    EXPECT_EQ(status, 1);
    EXPECT_EQ(get(nullptr, &function, 603, 0, nullptr), hipErrorInvalidValue);
    EXPECT_EQ(get("hipMalloc", nullptr, 603, 0, nullptr), hipErrorInvalidValue);
  }
  (void)take_last_error();
}

TEST(NewerFunctions, TheVariantForPerThreadStreamsIsThatOfTheFlags) {
  Program& program = Program::get();
  const auto usual = own<GetEntryPoint>("hipGetDriverEntryPoint", program);
  const auto per_thread = own<GetEntryPoint>("hipGetDriverEntryPoint_spt", program);
  const auto is_variant = [&](GetEntryPoint get, unsigned long long flags) {
    void* function = nullptr;
    EXPECT_EQ(get("hipMemcpy", &function, flags, nullptr), hipSuccess);
    EXPECT_TRUE(function == reinterpret_cast<void*>(program.slots[MNEME_CALL_hipMemcpy]) ||
                function == reinterpret_cast<void*>(program.slots[MNEME_CALL_hipMemcpy_spt]));
    return function == reinterpret_cast<void*>(program.slots[MNEME_CALL_hipMemcpy_spt]);
  };
  constexpr unsigned long long kDefault = 0, kLegacy = 1, kPerThread = 2;
  EXPECT_FALSE(is_variant(usual, kDefault));
  EXPECT_FALSE(is_variant(usual, kLegacy));
  EXPECT_TRUE(is_variant(usual, kPerThread));
  EXPECT_TRUE(is_variant(per_thread, kDefault));
  EXPECT_FALSE(is_variant(per_thread, kLegacy));
}

TEST(NewerFunctions, ALaunchWithoutAttributesIsALaunch) {
  struct Config {
    hip_dim3 grid, block;
    size_t shared;
    hipStream_t stream;
    const void* attributes;
    unsigned count;
  };
  static dim3 grid, block;
  static size_t shared;
  static cudaStream_t stream;
  static void** arguments;
  CUDA_IS(cudaLaunchKernel, [](const void*, dim3 a, dim3 b, void** c, size_t d, cudaStream_t e) {
    grid = a, block = b, arguments = c, shared = d, stream = e;
    return cudaSuccess;
  });
  const auto launch = own<hipError_t (*)(const Config*, const void*, void**)>("hipLaunchKernelExC", Program::get());
  int place = 0;
  void* given[] = {&place};
  Config config{{2, 3, 4}, {5, 6, 7}, 8, reinterpret_cast<hipStream_t>(&place), nullptr, 0};
  EXPECT_EQ(launch(&config, &place, given), hipSuccess);
  EXPECT_EQ(grid.x * 100 + grid.y * 10 + grid.z, 234u);
  EXPECT_EQ(block.x * 100 + block.y * 10 + block.z, 567u);
  EXPECT_EQ(shared, 8u);
  EXPECT_EQ(stream, reinterpret_cast<cudaStream_t>(&place));
  EXPECT_EQ(arguments, given);
  config.count = 1;
  CaptureStderr();
  EXPECT_EQ(launch(&config, &place, given), hipErrorNotSupported);
  EXPECT_EQ(GetCapturedStderr(),
            "mneme: warning: hipLaunchKernelExC with attributes is not available on the CPU device: it returns "
            "hipErrorNotSupported\n");
  EXPECT_EQ(launch(nullptr, &place, given), hipErrorInvalidValue);
  (void)take_last_error();
}

TEST(NewerFunctions, CapturesAndGraphsOfPerThreadStreamsAreThoseOfThatStream) {
  static std::vector<cudaStream_t> streams;
  CUDA_IS(cudaStreamBeginCapture, [](cudaStream_t stream, cudaStreamCaptureMode mode) {
    EXPECT_EQ(mode, cudaStreamCaptureModeRelaxed);
    return streams.push_back(stream), cudaSuccess;
  });
  CUDA_IS(cudaStreamEndCapture, [](cudaStream_t stream, cudaGraph_t*) { return streams.push_back(stream), cudaSuccess; });
  CUDA_IS(cudaGraphLaunch, [](cudaGraphExec_t, cudaStream_t stream) { return streams.push_back(stream), cudaSuccess; });
  const Program& program = Program::get();
  int place = 0;
  for (hipStream_t stream : {hipStream_t(nullptr), reinterpret_cast<hipStream_t>(&place)}) {
    EXPECT_EQ(own<decltype(&::hipStreamBeginCapture)>("hipStreamBeginCapture_spt", program)(stream, hipStreamCaptureModeRelaxed),
              hipSuccess);
    hipGraph_t graph = nullptr;
    EXPECT_EQ(own<decltype(&::hipStreamEndCapture)>("hipStreamEndCapture_spt", program)(stream, &graph), hipSuccess);
    EXPECT_EQ(own<decltype(&::hipGraphLaunch)>("hipGraphLaunch_spt", program)(nullptr, stream), hipSuccess);
    EXPECT_EQ(streams, std::vector<cudaStream_t>(3, stream ? reinterpret_cast<cudaStream_t>(&place) : cudaStreamPerThread));
    streams.clear();
  }
}

}  // namespace
}  // namespace mneme::hip
