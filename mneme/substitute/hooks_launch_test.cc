// Launches through a call table: what takes their place is launched by the driver where that does the same, and else by the
// program's runtime.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mneme/hooks/find_global.h"
#include "mneme/hooks/registration_hooks.h"
#include "mneme/runtime/testing/device_image.h"
#include "mneme/substitute/table.h"

namespace mneme::substitute {
namespace {

using ::testing::ElementsAre;

// The vendor's runtime: what is called of it, in order.
struct Vendor {
  std::vector<std::string> calls;
  int devices = 1, device = 0;
  cudaError_t by_handle = cudaSuccess;   // what launches of loaded code give
  CUresult by_driver = CUDA_SUCCESS;     // likewise of the driver
  CUstream stream = nullptr;             // of the driver's last launch
  cudaError_t last_error = cudaSuccess;  // as programs find it
  const void* in_node = nullptr;         // the kernel of the one node
  bool tells_loaded = true;              // the runtime: of a node whose kernel is that of a loaded library
};
Vendor* vendor = nullptr;

cudaError_t nothing() { return cudaSuccess; }
void** register_image(void*) {
  static void* handle = nullptr;
  return &handle;
}
cudaError_t get_device(int* device) { return vendor->calls.emplace_back("device"), *device = vendor->device, cudaSuccess; }
cudaError_t get_count(int* count) { return *count = vendor->devices, cudaSuccess; }
cudaError_t get_attribute(int* value, cudaDeviceAttr attribute, int) {
  return *value = attribute == cudaDevAttrComputeCapabilityMajor ? 9 : 0, cudaSuccess;
}
cudaError_t peek() { return vendor->calls.emplace_back("peek"), vendor->last_error; }
cudaError_t take() { return std::exchange(vendor->last_error, cudaSuccess); }
cudaError_t load(cudaLibrary_t* library, const void*, cudaJitOption*, void**, unsigned, cudaLibraryOption*, void**, unsigned) {
  return *library = reinterpret_cast<cudaLibrary_t>(0x10), cudaSuccess;
}
cudaError_t get_kernel(cudaKernel_t* kernel, cudaLibrary_t, const char*) {
  return *kernel = reinterpret_cast<cudaKernel_t>(0x20), cudaSuccess;
}
cudaError_t launch_own(const void* function, dim3, dim3, void**, size_t, cudaStream_t) {
  const bool own = function != reinterpret_cast<const void*>(0x20);
  vendor->calls.emplace_back(own ? "own" : "handle");
  return own || vendor->by_handle == cudaSuccess ? cudaSuccess : vendor->last_error = vendor->by_handle;
}
cudaError_t launch_extended(const cudaLaunchConfig_t*, const void* function, void**) {
  return launch_own(function, {}, {}, nullptr, 0, nullptr);
}
CUresult launch_by_driver(CUfunction function, unsigned x, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          CUstream stream, void** arguments, void**) {
  EXPECT_EQ(function, reinterpret_cast<CUfunction>(0x20));
  EXPECT_EQ(x, 4u);
  EXPECT_NE(arguments, nullptr);
  vendor->calls.emplace_back("driver");
  vendor->stream = stream;
  return vendor->by_driver;
}

cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t, const cudaGraphNode_t*, size_t, const cudaKernelNodeParams* p) {
  return vendor->in_node = p->func, *node = reinterpret_cast<cudaGraphNode_t>(0x30), cudaSuccess;
}
cudaError_t set_node(cudaGraphNode_t, const cudaKernelNodeParams* p) { return vendor->in_node = p->func, cudaSuccess; }
cudaError_t get_node(cudaGraphNode_t, cudaKernelNodeParams* p) {
  static void* arguments[] = {nullptr, nullptr, nullptr};
  if (!p) return vendor->last_error = cudaErrorInvalidValue;
  if (!vendor->tells_loaded && vendor->in_node == reinterpret_cast<const void*>(0x20))
    return vendor->last_error = cudaErrorInvalidDeviceFunction;
  return *p = {const_cast<void*>(vendor->in_node), dim3(4), dim3(32), 0, arguments, nullptr}, cudaSuccess;
}
CUresult get_node_of_driver(CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2* p) {
  static void* arguments[] = {nullptr, nullptr, nullptr};
  *p = {};
  p->gridDimX = 4, p->blockDimX = 32, p->gridDimY = p->gridDimZ = p->blockDimY = p->blockDimZ = 1;
  p->kernelParams = arguments;
  return p->kern = static_cast<CUkernel>(const_cast<void*>(vendor->in_node)), CUDA_SUCCESS;
}
cudaError_t get_node_attribute(cudaGraphNode_t, cudaLaunchAttributeID, cudaLaunchAttributeValue* value) {
  return *value = {}, cudaSuccess;
}

cudaError_t find_no_function(cudaFunction_t*, const void*) { return vendor->last_error = cudaErrorInvalidDeviceFunction; }
// By the last digit of its handle.
cudaError_t get_device_of_stream(cudaStream_t stream, int* device) {
  *device = static_cast<int>(reinterpret_cast<uintptr_t>(stream) % 16);
  return *device == 15 ? cudaErrorInvalidResourceHandle : cudaSuccess;
}

class ThroughATable : public ::testing::Test {
 protected:
  ThroughATable() {
    vendor = &vendor_;
    set(MNEME_CALL___cudaRegisterFatBinary, register_image);
    set(MNEME_CALL_cudaGetDevice, get_device);
    set(MNEME_CALL_cudaGetDeviceCount, get_count);
    set(MNEME_CALL_cudaDeviceGetAttribute, get_attribute);
    set(MNEME_CALL_cudaPeekAtLastError, peek);
    set(MNEME_CALL_cudaGetLastError, take);
    set(MNEME_CALL_cudaLibraryLoadData, load);
    set(MNEME_CALL_cudaLibraryGetKernel, get_kernel);
    for (mneme_call slot : {MNEME_CALL_cudaLaunchKernel, MNEME_CALL_cudaLaunchKernel_ptsz, MNEME_CALL_cudaLaunchCooperativeKernel,
                            MNEME_CALL___cudaLaunchKernel, MNEME_CALL___cudaLaunchKernel_ptsz})
      set(slot, launch_own);
    set(MNEME_CALL_cudaLaunchKernelExC, launch_extended);
    set(MNEME_CALL_cudaGraphAddKernelNode, add_node);
    set(MNEME_CALL_cudaGraphKernelNodeSetParams, set_node);
    set(MNEME_CALL_cudaGraphKernelNodeGetParams, get_node);
    set(MNEME_CALL_cudaGraphKernelNodeGetAttribute, get_node_attribute);
    set(MNEME_CALL_cudaGetFuncBySymbol, find_no_function);
    set(MNEME_CALL_cudaStreamGetDevice, get_device_of_stream);
    testing::TestSegment segment{.name = "step"};
    fat_binary_ = testing::make_fat_binary({{2, 90, testing::make_device_elf({segment.build()})}});
    wrapper_.fat_binary = fat_binary_.data();
    TunedKernel code;
    code.name = code.demangled = "step";
    code.device = "cuda";
    code.architecture = "sm_90";
    code.rule = {LaunchRule::Covers::any};
    {
      Registry registry;
      void* handle = nullptr;
      registry.add_image(&handle, 0, &wrapper_);
      registry.add_function(&handle, &step_, "step");
      code.static_hash = (*registry.find_kernel(&step_)->segment())->static_hash;
    }
    TunedFile file;
    file.add(code, ByteVector(16));
    process() = new Process(std::move(file), "app.tuned", {});
    table_.slots = slots_.data();
    table_.real = slots_.data();
    EXPECT_TRUE(attach_table(table_).ok());
    Table::attached(table_.index).launch_by(launch_by_driver);
    void** handle = slot<decltype(__cudaRegisterFatBinary)>(MNEME_CALL___cudaRegisterFatBinary)(&wrapper_);
    slot<decltype(__cudaRegisterFunction)>(MNEME_CALL___cudaRegisterFunction)(handle, &step_, nullptr, "step", -1, nullptr,
                                                                              nullptr, nullptr, nullptr, nullptr);
  }

  template <typename F>
  F* slot(mneme_call call) {
    return reinterpret_cast<F*>(slots_[call]);
  }
  cudaError_t launch(mneme_call by = MNEME_CALL_cudaLaunchKernel, cudaStream_t stream = nullptr) {
    uint64_t address = 0, other = 0;
    int count = 5;
    void* arguments[] = {&address, &other, &count};
    vendor_.calls.clear();
    return slot<decltype(cudaLaunchKernel)>(by)(&step_, dim3(4), dim3(32), arguments, 0, stream);
  }
  template <typename F>
  void set(mneme_call call, F* function) {
    slots_[call] = reinterpret_cast<mneme_function>(function);
  }
  void add_to_graph() {
    void* arguments[] = {nullptr, nullptr, nullptr};
    const cudaKernelNodeParams kernel{const_cast<char*>(&step_), dim3(4), dim3(32), 0, arguments, nullptr};
    cudaGraphNode_t node = nullptr;
    EXPECT_EQ(slot<decltype(cudaGraphAddKernelNode)>(MNEME_CALL_cudaGraphAddKernelNode)(&node, nullptr, nullptr, 0, &kernel),
              cudaSuccess);
  }
  std::string said() { return process()->code.summary().front(); }

  Vendor vendor_;
  const char step_ = 0;
  std::vector<mneme_function> slots_ = std::vector<mneme_function>(MNEME_CALL_COUNT, reinterpret_cast<mneme_function>(&nothing));
  mneme_call_table table_{MNEME_ABI_VERSION, MNEME_CALL_COUNT, MNEME_TABLE_UNNUMBERED,  MNEME_TABLE_CUDA, nullptr,
                          nullptr,           nullptr,          MNEME_CUDA_CALLS_DIGEST, "test",           nullptr};
  ByteVector fat_binary_;
  testing::TestWrapper wrapper_;
};

TEST_F(ThroughATable, OnOneDeviceTheDriverLaunchesAndNothingElseIsAsked) {
  EXPECT_EQ(launch(), cudaSuccess);
  EXPECT_EQ(launch(), cudaSuccess);
  EXPECT_THAT(vendor_.calls, ElementsAre("driver"));
  EXPECT_EQ(vendor_.stream, nullptr);
  EXPECT_EQ(launch(MNEME_CALL_cudaLaunchKernel_ptsz), cudaSuccess);
  EXPECT_EQ(vendor_.stream, CU_STREAM_PER_THREAD) << "what null means there";
  EXPECT_EQ(said(), "tuned: step: 3 of 3 launches ran the deployed code");
}

TEST_F(ThroughATable, WhatTheDriverDoesNotLaunchTheRuntimeDoes) {
  vendor_.by_driver = CUDA_ERROR_INVALID_CONTEXT;  // as of a thread that has none yet
  EXPECT_EQ(launch(), cudaSuccess);
  EXPECT_EQ(launch(), cudaSuccess);
  EXPECT_THAT(vendor_.calls, ElementsAre("driver", "peek", "handle"));
  EXPECT_EQ(said(), "tuned: step: 2 of 2 launches ran the deployed code");

  vendor_.by_handle = cudaErrorLaunchOutOfResources;
  EXPECT_EQ(launch(), cudaSuccess);
  EXPECT_THAT(vendor_.calls, ElementsAre("driver", "peek", "handle", "own"));
  EXPECT_EQ(vendor_.last_error, cudaSuccess) << "the program finds nothing";
  EXPECT_EQ(launch(), cudaSuccess);
  EXPECT_THAT(vendor_.calls, ElementsAre("own"));
  EXPECT_EQ(said(), "tuned: step: 2 of 4 launches ran the deployed code; the others: 2 after a failure");
}

TEST_F(ThroughATable, OtherLaunchesAreTheRuntimes) {
  EXPECT_EQ(launch(), cudaSuccess);
  EXPECT_EQ(launch(MNEME_CALL_cudaLaunchCooperativeKernel), cudaSuccess);
  EXPECT_THAT(vendor_.calls, ElementsAre("own")) << "the recorded launch was not cooperative";
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = {4, 1, 1}, configuration.blockDim = {32, 1, 1};
  void* arguments[] = {nullptr, nullptr, nullptr};
  vendor_.calls.clear();
  EXPECT_EQ(slot<decltype(cudaLaunchKernelExC)>(MNEME_CALL_cudaLaunchKernelExC)(&configuration, &step_, arguments), cudaSuccess);
  EXPECT_THAT(vendor_.calls, ElementsAre("peek", "handle"));
}

TEST_F(ThroughATable, AVariableThatTheRuntimeDoesNotFindLeavesNoError) {
  const auto table_of = [](uint32_t index) -> const CallTable& { return Table::attached(index); };
  const auto found =
      find_global(Table::attached(table_.index), &step_, *process()->registry.find_kernel(&step_), "nowhere", table_of);
  EXPECT_EQ(found.status().to_string(), "device_fault: cudaGetFuncBySymbol returned 98");
  EXPECT_EQ(vendor_.last_error, cudaSuccess) << "the program finds nothing";
}

TEST_F(ThroughATable, ClustersAreAConditionAndStay) {
  EXPECT_EQ(launch(), cudaSuccess);
  cudaLaunchAttribute pairs{};
  pairs.id = cudaLaunchAttributeClusterDimension;
  pairs.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t configuration{};
  configuration.gridDim = {4, 1, 1}, configuration.blockDim = {32, 1, 1};
  configuration.attrs = &pairs, configuration.numAttrs = 1;
  void* arguments[] = {nullptr, nullptr, nullptr};
  vendor_.calls.clear();
  EXPECT_EQ(slot<decltype(cudaLaunchKernelExC)>(MNEME_CALL_cudaLaunchKernelExC)(&configuration, &step_, arguments), cudaSuccess);
  EXPECT_THAT(vendor_.calls, ElementsAre("own"));
  EXPECT_EQ(said(), "tuned: step: 1 of 2 launches ran the deployed code; the others: 1 another launch shape");
}

TEST_F(ThroughATable, OfSeveralDevicesTheRuntimeKnowsWhichIsCurrent) {
  vendor_.devices = 2;
  Table::attached(table_.index).launch_by(nullptr);  // as it is not found then
  EXPECT_EQ(launch(), cudaSuccess);
  EXPECT_EQ(launch(), cudaSuccess);
  EXPECT_THAT(vendor_.calls, ElementsAre("device", "peek", "handle"));
  vendor_.device = 1;
  EXPECT_EQ(launch(), cudaSuccess);
  EXPECT_EQ(said(), "tuned: step: 3 of 3 launches ran the deployed code");
}

// The code is loaded onto the current device, and its table has the addresses of the variables there.
TEST_F(ThroughATable, HipsStreamsMayBeOfAnotherDeviceThanTheCurrentOne) {
  Table& table = Table::attached(table_.index);
  const auto stream = [](uintptr_t handle) { return reinterpret_cast<cudaStream_t>(handle); };
  vendor_.devices = 2, vendor_.device = 1;
  EXPECT_TRUE(table.is_of_current_device(stream(0x100))) << "CUDA's runtime refuses the launch";
  table_.device = MNEME_TABLE_HIP;
  EXPECT_FALSE(table.is_of_current_device(stream(0x100)));
  EXPECT_TRUE(table.is_of_current_device(stream(0x101)));
  EXPECT_FALSE(table.is_of_current_device(stream(0x10f))) << "the runtime does not tell";
  for (cudaStream_t current : {cudaStream_t(nullptr), cudaStreamLegacy, cudaStreamPerThread})
    EXPECT_TRUE(table.is_of_current_device(current));
}

TEST_F(ThroughATable, ANodeHasDeployedCodeWhereThereIsOneDevice) {
  add_to_graph();
  EXPECT_EQ(vendor_.in_node, reinterpret_cast<const void*>(0x20));
  EXPECT_EQ(said(), "tuned: step: 1 of 1 launches ran the deployed code");
}

// CUDA's own runtime does not: "invalid device function".
TEST_F(ThroughATable, WhatTheRuntimeDoesNotTellOfANodeTheDriverDoes) {
  vendor_.tells_loaded = false;
  Table::attached(table_.index).ask_nodes_by(get_node_of_driver);
  add_to_graph();
  EXPECT_EQ(vendor_.in_node, reinterpret_cast<const void*>(0x20));
  cudaKernelNodeParams told{};
  const auto get = slot<decltype(cudaGraphKernelNodeGetParams)>(MNEME_CALL_cudaGraphKernelNodeGetParams);
  EXPECT_EQ(get(reinterpret_cast<cudaGraphNode_t>(0x30), &told), cudaSuccess);
  EXPECT_EQ(told.func, &step_) << "the program's own kernel";
  EXPECT_EQ(told.gridDim.x, 4u);
  EXPECT_EQ(told.blockDim.x, 32u);
  EXPECT_NE(told.kernelParams, nullptr);
  EXPECT_EQ(vendor_.last_error, cudaSuccess) << "the program finds nothing";
  EXPECT_EQ(said(), "tuned: step: 1 of 1 launches ran the deployed code");
}

TEST_F(ThroughATable, WhoAsksForANodeWithoutAPlaceForItGetsTheRuntimesError) {
  vendor_.tells_loaded = false;
  Table::attached(table_.index).ask_nodes_by(get_node_of_driver);
  add_to_graph();
  const auto get = slot<decltype(cudaGraphKernelNodeGetParams)>(MNEME_CALL_cudaGraphKernelNodeGetParams);
  EXPECT_EQ(get(reinterpret_cast<cudaGraphNode_t>(0x30), nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(vendor_.last_error, cudaErrorInvalidValue);
}

// Then the program asks for a failure, and gets it.
TEST_F(ThroughATable, OfANodeThatNobodyTellsTheProgramGetsTheRuntimesError) {
  vendor_.in_node = reinterpret_cast<const void*>(0x20), vendor_.tells_loaded = false;
  Table::attached(table_.index).ask_nodes_by([](CUgraphNode, CUDA_KERNEL_NODE_PARAMS_v2*) { return CUDA_ERROR_INVALID_VALUE; });
  cudaKernelNodeParams told{};
  const auto get = slot<decltype(cudaGraphKernelNodeGetParams)>(MNEME_CALL_cudaGraphKernelNodeGetParams);
  EXPECT_EQ(get(reinterpret_cast<cudaGraphNode_t>(0x30), &told), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(vendor_.last_error, cudaErrorInvalidDeviceFunction);
}

// With more it has where the driver tells that it is of the current one. There is no driver here.
TEST_F(ThroughATable, ANodeOfAnUnknownDeviceIsTheProgramsOwn) {
  vendor_.devices = 2;
  add_to_graph();
  EXPECT_EQ(vendor_.in_node, &step_);
  EXPECT_EQ(said(), "tuned: step: 0 of 1 launches ran the deployed code; the others: 1 launch attributes");
}

}  // namespace
}  // namespace mneme::substitute
