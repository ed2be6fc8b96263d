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
    const auto get = own_function_of<GetProcAddress>(name, program);
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
  const auto usual = own_function_of<GetEntryPoint>("hipGetDriverEntryPoint", program);
  const auto per_thread = own_function_of<GetEntryPoint>("hipGetDriverEntryPoint_spt", program);
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
  static dim3 grid, block;
  static size_t shared;
  static cudaStream_t stream;
  static void** arguments;
  CUDA_IS(cudaLaunchKernel, [](const void*, dim3 a, dim3 b, void** c, size_t d, cudaStream_t e) {
    grid = a, block = b, arguments = c, shared = d, stream = e;
    return cudaSuccess;
  });
  const auto launch = own_function_of<LaunchWithConfig>("hipLaunchKernelExC", Program::get());
  int place = 0;
  void* given[] = {&place};
  const cudaLaunchConfig_t config{{2, 3, 4}, {5, 6, 7}, 8, reinterpret_cast<cudaStream_t>(&place), nullptr, 0};
  EXPECT_EQ(launch(&config, &place, given), hipSuccess);
  EXPECT_EQ(grid.x * 100 + grid.y * 10 + grid.z, 234u);
  EXPECT_EQ(block.x * 100 + block.y * 10 + block.z, 567u);
  EXPECT_EQ(shared, 8u);
  EXPECT_EQ(stream, reinterpret_cast<cudaStream_t>(&place));
  EXPECT_EQ(arguments, given);
}

// hipLaunchConfig_t and hipLaunchAttribute, as HIP's documentation of 7.0 has them.
struct HipLaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    int cooperative;
  };
};
struct HipLaunchConfig {
  hip_dim3 grid, block;
  size_t shared;
  hipStream_t stream;
  HipLaunchAttribute* attributes;
  unsigned count;
};
constexpr int kCooperative = 2, kPriority = 8;
using LaunchWithHipConfig = hipError_t (*)(const HipLaunchConfig*, const void*, void**);

TEST(NewerFunctions, ALaunchWithAttributesIsCudas) {
  CUDA_IS(cudaLaunchKernelExC, [](const cudaLaunchConfig_t* config, const void* function, void** arguments) {
    if (!config) return cudaErrorInvalidValue;
    EXPECT_EQ(config->gridDim.z * 10 + config->blockDim.x, 45u);
    EXPECT_EQ(config->dynamicSmemBytes, 8u);
    EXPECT_EQ(config->stream, reinterpret_cast<cudaStream_t>(arguments));
    EXPECT_EQ(function, arguments);
    EXPECT_EQ(config->numAttrs, 2u);
    EXPECT_EQ(config->attrs[0].id, cudaLaunchAttributePriority);
    EXPECT_EQ(config->attrs[1].id, cudaLaunchAttributeCooperative);
    EXPECT_EQ(config->attrs[1].val.cooperative, 1);
    return cudaErrorCooperativeLaunchTooLarge;
  });
  const auto launch = own_function_of<LaunchWithHipConfig>("hipLaunchKernelExC", Program::get());
  void* given[] = {nullptr};
  HipLaunchAttribute attributes[2] = {{kPriority, {}, {}}, {kCooperative, {}, {}}};
  attributes[1].cooperative = 1;
  const HipLaunchConfig config{{2, 3, 4}, {5, 6, 7}, 8, reinterpret_cast<hipStream_t>(given), attributes, 2};
  EXPECT_EQ(launch(&config, given, given), hipErrorCooperativeLaunchTooLarge);
  EXPECT_EQ(launch(nullptr, given, given), hipErrorInvalidValue);
  EXPECT_EQ(take_last_error(), hipErrorInvalidValue);
}

TEST(NewerFunctions, TheResultOfTheLastCallIsToldOnce) {
  CUDA_IS(cudaSetDevice, [](int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; });
  const auto last = own_function_of<hipError_t (*)()>("hipExtGetLastError", Program::get());
  EXPECT_EQ(HIP(hipSetDevice)(1), hipErrorInvalidDevice);
  EXPECT_EQ(last(), hipErrorInvalidDevice);
  EXPECT_EQ(last(), hipSuccess);
  EXPECT_EQ(HIP(hipSetDevice)(1), hipErrorInvalidDevice);
  EXPECT_EQ(HIP(hipSetDevice)(0), hipSuccess);
  EXPECT_EQ(last(), hipSuccess) << "that of the last call";
  EXPECT_EQ(take_last_error(), hipErrorInvalidDevice) << "which stays until it is read";
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
    EXPECT_EQ(own_function_of<decltype(&::hipStreamBeginCapture)>("hipStreamBeginCapture_spt", program)(
                  stream, hipStreamCaptureModeRelaxed),
              hipSuccess);
    hipGraph_t graph = nullptr;
    EXPECT_EQ(own_function_of<decltype(&::hipStreamEndCapture)>("hipStreamEndCapture_spt", program)(stream, &graph), hipSuccess);
    EXPECT_EQ(own_function_of<decltype(&::hipGraphLaunch)>("hipGraphLaunch_spt", program)(nullptr, stream), hipSuccess);
    EXPECT_EQ(streams, std::vector<cudaStream_t>(3, stream ? reinterpret_cast<cudaStream_t>(&place) : cudaStreamPerThread));
    streams.clear();
  }
}

// As HIP's headers have it from the version on that has these functions.
struct NodeParameters {
  int type;
  int reserved[3];
  union {
    long long space[29];
    hipKernelNodeParams kernel;
  };
  long long more;
};
static_assert(sizeof(NodeParameters) == 16 + 29 * 8 + 8 && sizeof(hipKernelNodeParams) <= 29 * 8);
constexpr int kKernel = 0, kEmpty = 5;
using AddNode = hipError_t (*)(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, size_t, NodeParameters*);
using SetNode = hipError_t (*)(hipGraphNode_t, NodeParameters*);
using SetNodeOfExec = hipError_t (*)(hipGraphExec_t, hipGraphNode_t, NodeParameters*);

NodeParameters kernel_node(void* function) {
  NodeParameters parameters{};
  parameters.type = kKernel;
  parameters.kernel.func = function;
  parameters.kernel.gridDim = {2, 3, 4};
  parameters.kernel.blockDim = {5, 6, 7};
  return parameters;
}

TEST(NewerFunctions, ANodeOfAKernelIsThatOfTheFunctionsForKernels) {
  static std::vector<std::string> calls;
  static int place = 0;
  const auto is_right = +[](const cudaKernelNodeParams* kernel, const char* call) {
    EXPECT_EQ(kernel->func, &place);
    EXPECT_EQ(kernel->gridDim.x * 100 + kernel->gridDim.y * 10 + kernel->gridDim.z, 234u);
    EXPECT_EQ(kernel->blockDim.x * 100 + kernel->blockDim.y * 10 + kernel->blockDim.z, 567u);
    return calls.emplace_back(call), cudaSuccess;
  };
  static const auto check = is_right;
  CUDA_IS(cudaGraphAddKernelNode,
          [](cudaGraphNode_t*, cudaGraph_t, const cudaGraphNode_t*, size_t count, const cudaKernelNodeParams* kernel) {
            EXPECT_EQ(count, 3u);
            return check(kernel, "add");
          });
  CUDA_IS(cudaGraphKernelNodeSetParams, [](cudaGraphNode_t, const cudaKernelNodeParams* kernel) { return check(kernel, "set"); });
  CUDA_IS(cudaGraphExecKernelNodeSetParams, [](cudaGraphExec_t, cudaGraphNode_t, const cudaKernelNodeParams* kernel) {
    return check(kernel, "set of executable");
  });
  Program& program = Program::get();
  const auto add = own_function_of<AddNode>("hipGraphAddNode", program);
  const auto set = own_function_of<SetNode>("hipGraphNodeSetParams", program);
  const auto set_of_exec = own_function_of<SetNodeOfExec>("hipGraphExecNodeSetParams", program);
  NodeParameters parameters = kernel_node(&place);
  hipGraphNode_t node = nullptr;
  EXPECT_EQ(add(&node, nullptr, nullptr, 3, &parameters), hipSuccess);
  EXPECT_EQ(set(node, &parameters), hipSuccess);
  EXPECT_EQ(set_of_exec(nullptr, node, &parameters), hipSuccess);
  EXPECT_THAT(calls, ::testing::ElementsAre("add", "set", "set of executable"));
  parameters.type = kEmpty;
  CaptureStderr();
  EXPECT_EQ(add(&node, nullptr, nullptr, 3, &parameters), hipErrorNotSupported);
  EXPECT_EQ(add(&node, nullptr, nullptr, 3, &parameters), hipErrorNotSupported);
  EXPECT_EQ(GetCapturedStderr(),
            "mneme: warning: hipGraphAddNode of nodes that are no kernels is not available on the CPU device: it returns "
            "hipErrorNotSupported\n");
  EXPECT_EQ(calls.size(), 3u);
  (void)take_last_error();
}

// At the program's own runtime.
class NewerFunctionsOfARuntime : public ::testing::Test {
 protected:
  void SetUp() override {
    program.reset();
    RUNTIME_HAS(hipGetLastError, [] { return hipSuccess; });
    RUNTIME_HAS(hipPeekAtLastError, [] { return hipSuccess; });
    seen().clear();
  }
  void TearDown() override { (void)take_last_error(); }
  static std::vector<std::string>& seen() {
    static std::vector<std::string> all;
    return all;
  }
  RuntimeProgram& program = RuntimeProgram::get();
};

TEST_F(NewerFunctionsOfARuntime, OtherNodesAreItsOwn) {
  NodeParameters parameters = kernel_node(nullptr);
  hipGraphNode_t node = nullptr;
  RUNTIME_HAS(hipGraphAddKernelNode, [](hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, size_t, const hipKernelNodeParams*) {
    return seen().emplace_back("kernel"), hipSuccess;
  });
  program.runtime_has(
      "hipGraphAddNode", +[](hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, size_t, NodeParameters* given) {
        return seen().emplace_back("node " + std::to_string(given->type)), hipErrorInvalidContext;
      });
  const auto add = own_function_of<AddNode>("hipGraphAddNode", program);
  EXPECT_EQ(add(&node, nullptr, nullptr, 0, &parameters), hipSuccess);
  STAND_BEFORE(cudaGraphAddKernelNode, [](cudaGraphNode_t* made, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                                          const cudaKernelNodeParams* kernel) {
    seen().emplace_back("interposer");
    return END_OF(cudaGraphAddKernelNode)(made, graph, before, count, kernel);
  });
  EXPECT_EQ(add(&node, nullptr, nullptr, 0, &parameters), hipSuccess);
  parameters.type = kEmpty;
  EXPECT_EQ(add(&node, nullptr, nullptr, 0, &parameters), hipErrorInvalidContext);
  EXPECT_THAT(seen(), ::testing::ElementsAre("kernel", "interposer", "kernel", "node 5"));
}

using CaptureToGraph = hipError_t (*)(hipStream_t, hipGraph_t, const hipGraphNode_t*, const void*, size_t, hipStreamCaptureMode);

TEST_F(NewerFunctionsOfARuntime, ACaptureToAGraphIsSeenAndMadeAsItWas) {
  const auto capture = own_function_of<CaptureToGraph>("hipStreamBeginCaptureToGraph", program);
  EXPECT_EQ(capture(nullptr, nullptr, nullptr, nullptr, 0, hipStreamCaptureModeGlobal), hipErrorNotSupported) << "it has none";
  static const void* edges;
  program.runtime_has(
      "hipStreamBeginCaptureToGraph",
      +[](hipStream_t, hipGraph_t, const hipGraphNode_t*, const void* given, size_t count, hipStreamCaptureMode mode) {
        edges = given;
        seen().emplace_back("runtime " + std::to_string(count) + " " + std::to_string(mode));
        return count == 7 ? hipErrorContextAlreadyInUse : hipSuccess;
      });
  EXPECT_EQ(capture(nullptr, nullptr, nullptr, nullptr, 2, hipStreamCaptureModeRelaxed), hipSuccess);
  STAND_BEFORE(cudaStreamBeginCaptureToGraph, [](cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* before,
                                                 const cudaGraphEdgeData* data, size_t count, cudaStreamCaptureMode mode) {
    seen().emplace_back("interposer");
    return END_OF(cudaStreamBeginCaptureToGraph)(stream, graph, before, data, count, mode);
  });
  EXPECT_EQ(capture(nullptr, nullptr, nullptr, &edges, 7, hipStreamCaptureModeGlobal), hipErrorContextAlreadyInUse)
      << "which CUDA has no code for";
  EXPECT_EQ(edges, &edges);
  EXPECT_THAT(seen(), ::testing::ElementsAre("runtime 2 2", "interposer", "runtime 7 0"));
}

TEST(NewerFunctions, ACaptureToAGraphIsCudas) {
  static int place;
  CUDA_IS(cudaStreamBeginCaptureToGraph, [](cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t*,
                                            const cudaGraphEdgeData*, size_t count, cudaStreamCaptureMode mode) {
    EXPECT_EQ(static_cast<void*>(stream), &place);
    EXPECT_EQ(static_cast<void*>(graph), &place);
    EXPECT_EQ(count, 2u);
    EXPECT_EQ(mode, cudaStreamCaptureModeThreadLocal);
    return cudaErrorIllegalState;
  });
  const auto capture = own_function_of<CaptureToGraph>("hipStreamBeginCaptureToGraph", Program::get());
  EXPECT_EQ(capture(reinterpret_cast<hipStream_t>(&place), reinterpret_cast<hipGraph_t>(&place), nullptr, nullptr, 2,
                    hipStreamCaptureModeThreadLocal),
            hipErrorIllegalState);
  (void)take_last_error();
}

TEST_F(NewerFunctionsOfARuntime, FunctionsThatItGivesByTheirNamesBecomeTheTables) {
  program.runtime_has(
      "hipGetProcAddress", +[](const char* name, void** out, int, uint64_t, int* status) {
        const std::string_view asked = name;
        if (asked != "hipMalloc" && asked != "hipOfTheFuture") return hipErrorNotFound;
        *out = asked == "hipMalloc" ? reinterpret_cast<void*>(RuntimeProgram::get().real[MNEME_CALL_hipMalloc]) : &seen();
        return *status = 0, hipSuccess;
      });
  const auto get = own_function_of<GetProcAddress>("hipGetProcAddress", program);
  void* function = nullptr;
  int status = 7;
  EXPECT_EQ(get("hipMalloc", &function, 603, 0, &status), hipSuccess);
  EXPECT_EQ(function, reinterpret_cast<void*>(program.slots[MNEME_CALL_hipMalloc]));
  EXPECT_EQ(status, 0);
  EXPECT_EQ(get("hipOfTheFuture", &function, 603, 0, &status), hipSuccess);
  EXPECT_EQ(function, &seen()) << "the runtime's own";
  EXPECT_EQ(get("hipFree", &function, 603, 0, &status), hipErrorNotFound);
}

TEST_F(NewerFunctionsOfARuntime, ALaunchWithAttributesIsSeenAndMadeAsItWas) {
  const auto launch = own_function_of<LaunchWithHipConfig>("hipLaunchKernelExC", program);
  HipLaunchAttribute attribute{kCooperative, {}, {}};
  const HipLaunchConfig config{{1, 1, 1}, {1, 1, 1}, 0, nullptr, &attribute, 1};
  EXPECT_EQ(launch(&config, &config, nullptr), hipErrorNotSupported) << "it has none";
  static const void* of_program;
  of_program = &config;
  program.runtime_has(
      "hipLaunchKernelExC", +[](const HipLaunchConfig* given, const void*, void** arguments) {
        seen().emplace_back(given == of_program ? "the program's" : "another").append(arguments ? " with arguments" : "");
        return hipErrorRuntimeOther;
      });
  EXPECT_EQ(launch(&config, &config, nullptr), hipErrorRuntimeOther) << "which CUDA has no code for";
  // As deployed code is tried out: the same kernel on other memory, before the program's call.
  STAND_BEFORE(cudaLaunchKernelExC, [](const cudaLaunchConfig_t* given, const void* function, void** arguments) {
    seen().emplace_back("interposer");
    cudaLaunchConfig_t changed = *given;
    void* others[1] = {};
    (void)END_OF(cudaLaunchKernelExC)(&changed, function, others);
    return END_OF(cudaLaunchKernelExC)(given, function, arguments);
  });
  EXPECT_EQ(launch(&config, &config, nullptr), hipErrorRuntimeOther);
  EXPECT_THAT(seen(), ::testing::ElementsAre("the program's", "interposer", "another with arguments", "the program's"));
}

}  // namespace
}  // namespace mneme::hip
