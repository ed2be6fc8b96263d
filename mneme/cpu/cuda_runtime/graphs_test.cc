#include <cstring>

#include "mneme/cpu/cuda_runtime/testing/program.h"

namespace mneme::emulation {
namespace {

struct Graphs : ::testing::Test {
  void SetUp() override {
    numbers = make_numbers(2);
    ASSERT_EQ(CUDA(cudaGraphCreate)(&graph, 0), cudaSuccess);
  }
  void TearDown() override {
    CUDA(cudaGraphDestroy)(graph);
    CUDA(cudaFree)(numbers);
    CUDA(cudaGetLastError)();
  }
  cudaKernelNodeParams scale(int& factor) {
    arguments[1] = &factor;
    return {&Program::get().scale, dim3(1), dim3(2), 0, arguments, nullptr};
  }
  void launch_once() {
    cudaGraphExec_t exec = nullptr;
    ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
    EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
    CUDA(cudaGraphExecDestroy)(exec);
  }

  cudaGraph_t graph = nullptr;
  int* numbers = nullptr;
  int count = 2;
  void* arguments[3] = {&numbers, nullptr, &count};
};

TEST_F(Graphs, NodesRunInTheOrderOfTheirDependencies) {
  static std::string order;
  order.clear();
  auto host = [](const char* letter) {
    return cudaHostNodeParams{[](void* data) { order += static_cast<const char*>(data); }, const_cast<char*>(letter)};
  };
  cudaHostNodeParams a = host("a"), b = host("b"), c = host("c");
  cudaGraphNode_t node_a, node_b, node_c;
  CUDA(cudaGraphAddHostNode)(&node_c, graph, nullptr, 0, &c);
  CUDA(cudaGraphAddHostNode)(&node_b, graph, nullptr, 0, &b);
  CUDA(cudaGraphAddHostNode)(&node_a, graph, nullptr, 0, &a);
  cudaGraphNode_t from[] = {node_a, node_b}, to[] = {node_b, node_c};
  EXPECT_EQ(CUDA(cudaGraphAddDependencies)(graph, from, to, nullptr, 2), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphAddDependencies)(graph, from, to, nullptr, 1), cudaErrorInvalidValue);  // is there already
  launch_once();
  EXPECT_EQ(order, "abc");
  size_t edges = 0, dependents = 0;
  EXPECT_EQ(CUDA(cudaGraphGetEdges)(graph, nullptr, nullptr, nullptr, &edges), cudaSuccess);
  EXPECT_EQ(edges, 2u);
  EXPECT_EQ(CUDA(cudaGraphNodeGetDependentNodes)(node_a, nullptr, nullptr, &dependents), cudaSuccess);
  EXPECT_EQ(dependents, 1u);
  EXPECT_EQ(CUDA(cudaGraphAddDependencies)(graph, &node_c, &node_a, nullptr, 1), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  EXPECT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaErrorInvalidValue);  // a circle
}

TEST_F(Graphs, KernelParametersAreReadWhenTheNodeIsAddedAndCanBeChanged) {
  int factor = 2;
  cudaKernelNodeParams parameters = scale(factor);
  cudaGraphNode_t node = nullptr;
  ASSERT_EQ(CUDA(cudaGraphAddKernelNode)(&node, graph, nullptr, 0, &parameters), cudaSuccess);
  factor = 100;
  launch_once();
  EXPECT_EQ(numbers[1], 4);
  cudaKernelNodeParams read{};
  EXPECT_EQ(CUDA(cudaGraphKernelNodeGetParams)(node, &read), cudaSuccess);
  EXPECT_EQ(*static_cast<int*>(read.kernelParams[1]), 2);
  EXPECT_EQ(read.func, &Program::get().scale);

  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  factor = 3;
  EXPECT_EQ(CUDA(cudaGraphExecKernelNodeSetParams)(exec, node, &parameters), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(numbers[1], 12);
  EXPECT_EQ(CUDA(cudaGraphNodeSetEnabled)(exec, node, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(numbers[1], 12);
}

TEST_F(Graphs, CopiesFillsChildrenAndClones) {
  cudaMemsetParams fill{};
  fill.dst = numbers;
  fill.value = 9;
  fill.elementSize = 4;
  fill.width = 1;
  fill.height = 1;
  cudaGraphNode_t filled, copied, child_node;
  cudaGraph_t child = nullptr, clone = nullptr;
  ASSERT_EQ(CUDA(cudaGraphCreate)(&child, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddMemsetNode)(&filled, child, nullptr, 0, &fill), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddChildGraphNode)(&child_node, graph, nullptr, 0, child), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddMemcpyNode1D)(&copied, graph, &child_node, 1, numbers + 1, numbers, 4, cudaMemcpyDeviceToDevice),
            cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphClone)(&clone, graph), cudaSuccess);
  launch_once();
  EXPECT_EQ(numbers[1], 9);
  cudaGraphNodeType type;
  EXPECT_EQ(CUDA(cudaGraphNodeGetType)(copied, &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeMemcpy);
  EXPECT_EQ(CUDA(cudaGraphNodeGetType)(child_node, &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeGraph);
  cudaGraphNode_t in_clone = nullptr;
  EXPECT_EQ(CUDA(cudaGraphNodeFindInClone)(&in_clone, copied, clone), cudaSuccess);
  EXPECT_NE(in_clone, copied);
  EXPECT_EQ(CUDA(cudaGraphDestroyNode)(child_node), cudaSuccess);
  size_t nodes = 0;
  CUDA(cudaGraphGetNodes)(graph, nullptr, &nodes);
  EXPECT_EQ(nodes, 1u);
  EXPECT_EQ(CUDA(cudaGraphMemsetNodeSetParams)(copied, &fill), cudaErrorInvalidValue);  // not a fill
}

// A node of any kind by one call does what the call of its own kind gives.
TEST_F(Graphs, NodesAreAddedByTheirKind) {
  char bytes[16] = {}, copied[16] = {};
  static int heard;
  heard = 0;
  int factor = 7;
  cudaGraphNode_t node = nullptr, before = nullptr;
  const auto add = [&](cudaGraphNodeParams parameters) {
    EXPECT_EQ(CUDA(cudaGraphAddNode)(&node, graph, before ? &before : nullptr, nullptr, before ? 1 : 0, &parameters),
              cudaSuccess);
    before = node;
  };
  cudaGraphNodeParams fill{};
  fill.type = cudaGraphNodeTypeMemset;
  fill.memset.dst = bytes;
  fill.memset.pitch = 5;
  fill.memset.value = 'f';
  fill.memset.elementSize = 1;
  fill.memset.width = 3;
  fill.memset.height = 2;
  add(fill);
  cudaGraphNodeParams copy{};
  copy.type = cudaGraphNodeTypeMemcpy;
  copy.memcpy.copyParams.srcPtr = cudaPitchedPtr{bytes, 16, 16, 1};
  copy.memcpy.copyParams.dstPtr = cudaPitchedPtr{copied, 16, 16, 1};
  copy.memcpy.copyParams.extent = {16, 1, 1};
  copy.memcpy.copyParams.kind = cudaMemcpyDefault;
  add(copy);
  cudaGraphNodeParams host{};
  host.type = cudaGraphNodeTypeHost;
  host.host.fn = [](void* data) { *static_cast<int*>(data) = 3; };
  host.host.userData = &heard;
  add(host);
  const cudaKernelNodeParams scaled = scale(factor);
  cudaGraphNodeParams kernel{};
  kernel.type = cudaGraphNodeTypeKernel;
  kernel.kernel.func = scaled.func;
  kernel.kernel.gridDim = scaled.gridDim;
  kernel.kernel.blockDim = scaled.blockDim;
  kernel.kernel.kernelParams = scaled.kernelParams;
  add(kernel);
  cudaGraphNodeParams empty{};
  empty.type = cudaGraphNodeTypeEmpty;
  add(empty);
  cudaEvent_t start = nullptr, end = nullptr;
  CUDA(cudaEventCreate)(&start);
  CUDA(cudaEventCreate)(&end);
  CUDA(cudaEventRecord)(start, nullptr);
  cudaGraphNodeParams recording{};
  recording.type = cudaGraphNodeTypeEventRecord;
  recording.eventRecord.event = end;
  add(recording);
  cudaGraphNodeParams waiting{};
  waiting.type = cudaGraphNodeTypeWaitEvent;
  waiting.eventWait.event = start;
  add(waiting);
  // A child is what it was when it was added.
  char filled = 0;
  cudaGraph_t child = nullptr;
  cudaGraphNode_t inner = nullptr;
  ASSERT_EQ(CUDA(cudaGraphCreate)(&child, 0), cudaSuccess);
  cudaMemsetParams one_byte{};
  one_byte.dst = &filled;
  one_byte.value = 'c';
  one_byte.elementSize = one_byte.width = one_byte.height = 1;
  ASSERT_EQ(CUDA(cudaGraphAddMemsetNode)(&inner, child, nullptr, 0, &one_byte), cudaSuccess);
  cudaGraphNodeParams nested{};
  nested.type = cudaGraphNodeTypeGraph;
  nested.graph.graph = child;
  add(nested);
  one_byte.value = 'x';
  ASSERT_EQ(CUDA(cudaGraphMemsetNodeSetParams)(inner, &one_byte), cudaSuccess);
  cudaGraphNodeParams unknown{};
  unknown.type = cudaGraphNodeTypeExtSemaphoreSignal;
  EXPECT_EQ(CUDA(cudaGraphAddNode)(&node, graph, nullptr, nullptr, 0, &unknown), cudaErrorNotSupported);
  launch_once();
  EXPECT_EQ(std::string(copied, 16), std::string("fff\0\0fff\0\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(heard, 3);
  EXPECT_EQ(numbers[1], 2 * 7);
  float milliseconds = -1;
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, start, end), cudaSuccess) << "the event was recorded";
  EXPECT_EQ(filled, 'c');
  cudaGraphNode_t nodes[8] = {};
  size_t count = 8;
  ASSERT_EQ(CUDA(cudaGraphGetNodes)(graph, nodes, &count), cudaSuccess);
  std::vector<cudaGraphNodeType> types(count);
  for (size_t i = 0; i < count; ++i) EXPECT_EQ(CUDA(cudaGraphNodeGetType)(nodes[i], &types[i]), cudaSuccess);
  EXPECT_EQ(types, (std::vector{cudaGraphNodeTypeMemset, cudaGraphNodeTypeMemcpy, cudaGraphNodeTypeHost, cudaGraphNodeTypeKernel,
                                cudaGraphNodeTypeEmpty, cudaGraphNodeTypeEventRecord, cudaGraphNodeTypeWaitEvent,
                                cudaGraphNodeTypeGraph}));
  CUDA(cudaGraphDestroy)(child);
  for (cudaEvent_t event : {start, end}) CUDA(cudaEventDestroy)(event);
}

TEST_F(Graphs, NodesOfACaptureSayThatTheyAllocateAndRelease) {
  cudaStream_t stream = nullptr;
  void* pointer = nullptr;
  cudaGraph_t captured = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreate)(&stream), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMallocAsync)(&pointer, 4, stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeAsync)(pointer, stream), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(stream, &captured), cudaSuccess);
  cudaGraphNode_t nodes[2] = {};
  size_t count = 2;
  ASSERT_EQ(CUDA(cudaGraphGetNodes)(captured, nodes, &count), cudaSuccess);
  ASSERT_EQ(count, 2u);
  cudaGraphNodeType type;
  EXPECT_EQ(CUDA(cudaGraphNodeGetType)(nodes[0], &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeMemAlloc);
  EXPECT_EQ(CUDA(cudaGraphNodeGetType)(nodes[1], &type), cudaSuccess);
  EXPECT_EQ(type, cudaGraphNodeTypeMemFree);
  CUDA(cudaGraphDestroy)(captured);
  CUDA(cudaStreamDestroy)(stream);
}

// The memory of a graph is at one address in every launch, and counts as used from a launch until it is freed.
TEST_F(Graphs, NodesAllocateAndReleaseMemory) {
  const auto used = [] {
    uint64_t bytes = 77;
    EXPECT_EQ(CUDA(cudaDeviceGetGraphMemAttribute)(0, cudaGraphMemAttrUsedMemCurrent, &bytes), cudaSuccess);
    return bytes;
  };
  cudaMemAllocNodeParams parameters{};
  parameters.poolProps.allocType = cudaMemAllocationTypePinned;
  parameters.poolProps.location = {.type = cudaMemLocationTypeDevice, .id = 0};
  parameters.bytesize = 4;
  cudaGraphNode_t allocation = nullptr, fill = nullptr, release = nullptr;
  ASSERT_EQ(CUDA(cudaGraphAddMemAllocNode)(&allocation, graph, nullptr, 0, &parameters), cudaSuccess);
  ASSERT_NE(parameters.dptr, nullptr);
  cudaMemsetParams ones{.dst = parameters.dptr, .pitch = 0, .value = 1, .elementSize = 4, .width = 1, .height = 1};
  ASSERT_EQ(CUDA(cudaGraphAddMemsetNode)(&fill, graph, &allocation, 1, &ones), cudaSuccess);
  cudaMemAllocNodeParams read{};
  EXPECT_EQ(CUDA(cudaGraphMemAllocNodeGetParams)(allocation, &read), cudaSuccess);
  EXPECT_EQ(read.dptr, parameters.dptr);
  EXPECT_EQ(read.bytesize, 4u);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(used(), 0u);
  for (int launch = 0; launch < 2; ++launch) {
    EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
    EXPECT_EQ(used(), 4u);
    EXPECT_EQ(*static_cast<int*>(parameters.dptr), 1);
    EXPECT_EQ(CUDA(cudaFreeAsync)(parameters.dptr, nullptr), cudaSuccess);
    EXPECT_EQ(CUDA(cudaFreeAsync)(parameters.dptr, nullptr), cudaErrorInvalidValue);
    EXPECT_EQ(used(), 0u);
  }
  CUDA(cudaGraphExecDestroy)(exec);
  ASSERT_EQ(CUDA(cudaGraphAddMemFreeNode)(&release, graph, &fill, 1, parameters.dptr), cudaSuccess);
  void* released = nullptr;
  EXPECT_EQ(CUDA(cudaGraphMemFreeNodeGetParams)(release, &released), cudaSuccess);
  EXPECT_EQ(released, parameters.dptr);
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(used(), 0u);
  uint64_t reserved = 0;
  EXPECT_EQ(CUDA(cudaDeviceGraphMemTrim)(0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceGetGraphMemAttribute)(0, cudaGraphMemAttrReservedMemCurrent, &reserved), cudaSuccess);
  EXPECT_EQ(reserved, 0u);
  CUDA(cudaGraphExecDestroy)(exec);
  parameters.bytesize = 0;
  EXPECT_EQ(CUDA(cudaGraphAddMemAllocNode)(&allocation, graph, nullptr, 0, &parameters), cudaErrorInvalidValue);
  CUDA(cudaGetLastError)();
}

// What a graph has allocated and not freed outlives it.
TEST_F(Graphs, LeaveTheMemoryThatIsInUse) {
  size_t before = 0, after = 0, total = 0;
  CUDA(cudaMemGetInfo)(&before, &total);
  cudaStream_t stream = nullptr;
  cudaGraph_t captured = nullptr;
  cudaGraphExec_t exec = nullptr;
  void *kept = nullptr, *unused = nullptr;
  ASSERT_EQ(CUDA(cudaStreamCreate)(&stream), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamBeginCapture)(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMallocAsync)(&kept, 64, stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMallocAsync)(&unused, 64, stream), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeAsync)(unused, stream), cudaSuccess);
  ASSERT_EQ(CUDA(cudaStreamEndCapture)(stream, &captured), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, captured, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphLaunch)(exec, stream), cudaSuccess);
  CUDA(cudaGraphExecDestroy)(exec);
  CUDA(cudaGraphDestroy)(captured);
  *static_cast<int*>(kept) = 5;
  EXPECT_EQ(CUDA(cudaFreeAsync)(kept, stream), cudaSuccess);
  CUDA(cudaMemGetInfo)(&after, &total);
  EXPECT_EQ(after, before);
  CUDA(cudaStreamDestroy)(stream);
}

TEST_F(Graphs, AreInstantiatedWithFlagsAndSayWhetherTheyWere) {
  cudaGraphNode_t a = nullptr, b = nullptr;
  CUDA(cudaGraphAddEmptyNode)(&a, graph, nullptr, 0);
  CUDA(cudaGraphAddEmptyNode)(&b, graph, &a, 1);
  cudaGraphExec_t exec = nullptr;
  unsigned long long flags = 0;
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, cudaGraphInstantiateFlagUseNodePriority), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphExecGetFlags)(exec, &flags), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaGraphInstantiateFlagUseNodePriority});
  CUDA(cudaGraphExecDestroy)(exec);
  cudaGraphInstantiateParams parameters{};
  parameters.flags = cudaGraphInstantiateFlagUpload;
  parameters.result_out = cudaGraphInstantiateError;
  ASSERT_EQ(CUDA(cudaGraphInstantiateWithParams)(&exec, graph, &parameters), cudaSuccess);
  EXPECT_EQ(parameters.result_out, cudaGraphInstantiateSuccess);
  EXPECT_EQ(CUDA(cudaGraphExecGetFlags)(exec, &flags), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaGraphInstantiateFlagUpload});
  CUDA(cudaGraphExecDestroy)(exec);
  ASSERT_EQ(CUDA(cudaGraphAddDependencies)(graph, &b, &a, nullptr, 1), cudaSuccess);  // a circle
  EXPECT_EQ(CUDA(cudaGraphInstantiateWithParams)(&exec, graph, &parameters), cudaErrorInvalidValue);
  EXPECT_EQ(parameters.result_out, cudaGraphInstantiateError);
}

TEST_F(Graphs, NodesThatCannotBeAreRefused) {
  int factor = 2;
  cudaKernelNodeParams parameters = scale(factor);
  void* extra[] = {nullptr};
  parameters.extra = extra;
  cudaGraphNode_t node = nullptr;
  EXPECT_EQ(CUDA(cudaGraphAddKernelNode)(&node, graph, nullptr, 0, &parameters), cudaErrorNotSupported);
  parameters.extra = nullptr;
  for (const dim3& grid : {dim3(0), dim3(1, 65536), dim3(1, 1, 65536)}) {
    parameters.gridDim = grid;
    EXPECT_EQ(CUDA(cudaGraphAddKernelNode)(&node, graph, nullptr, 0, &parameters), cudaErrorInvalidConfiguration);
  }
  parameters.gridDim = dim3(1);
  parameters.blockDim = dim3(1, 1, 65);
  EXPECT_EQ(CUDA(cudaGraphAddKernelNode)(&node, graph, nullptr, 0, &parameters), cudaErrorInvalidConfiguration);
  parameters.blockDim = dim3(1);
  parameters.kernelParams = nullptr;
  EXPECT_EQ(CUDA(cudaGraphAddKernelNode)(&node, graph, nullptr, 0, &parameters), cudaErrorInvalidValue);
  // Rows of four elements of 4 bytes do not fit into less than 16.
  cudaMemsetParams fill{};
  fill.dst = numbers;
  fill.elementSize = 4;
  fill.width = 4;
  fill.height = 2;
  for (const auto& [pitch, expected] : {std::pair(4, cudaErrorInvalidValue), {15, cudaErrorInvalidValue}, {16, cudaSuccess}}) {
    fill.pitch = static_cast<size_t>(pitch);
    EXPECT_EQ(CUDA(cudaGraphAddMemsetNode)(&node, graph, nullptr, 0, &fill), expected) << pitch;
  }
  fill.pitch = 64;
  for (unsigned element : {0u, 3u, 8u}) {
    fill.elementSize = element;
    EXPECT_EQ(CUDA(cudaGraphAddMemsetNode)(&node, graph, nullptr, 0, &fill), cudaErrorInvalidValue) << element;
  }
}

TEST_F(Graphs, NodesSayWhatTheyDo) {
  int factor = 2;
  cudaKernelNodeParams parameters = scale(factor);
  parameters.gridDim = dim3(2, 3, 4);
  parameters.blockDim = dim3(5, 6, 7);
  parameters.sharedMemBytes = 128;
  cudaGraphNode_t launching = nullptr, copying = nullptr;
  ASSERT_EQ(CUDA(cudaGraphAddKernelNode)(&launching, graph, nullptr, 0, &parameters), cudaSuccess);
  cudaKernelNodeParams launched{};
  ASSERT_EQ(CUDA(cudaGraphKernelNodeGetParams)(launching, &launched), cudaSuccess);
  EXPECT_EQ((Dim3{launched.gridDim.x, launched.gridDim.y, launched.gridDim.z}), (Dim3{2, 3, 4}));
  EXPECT_EQ((Dim3{launched.blockDim.x, launched.blockDim.y, launched.blockDim.z}), (Dim3{5, 6, 7}));
  EXPECT_EQ(launched.sharedMemBytes, 128u);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = cudaPitchedPtr{numbers, 8, 8, 1};
  copy.dstPtr = cudaPitchedPtr{numbers + 1, 4, 4, 1};
  copy.extent = {4, 1, 1};
  copy.kind = cudaMemcpyDeviceToDevice;
  ASSERT_EQ(CUDA(cudaGraphAddMemcpyNode)(&copying, graph, nullptr, 0, &copy), cudaSuccess);
  cudaMemcpy3DParms copied{};
  ASSERT_EQ(CUDA(cudaGraphMemcpyNodeGetParams)(copying, &copied), cudaSuccess);
  EXPECT_EQ(copied.srcPtr.ptr, numbers);
  EXPECT_EQ(copied.dstPtr.ptr, numbers + 1);
  EXPECT_EQ(copied.extent.width, 4u);
  EXPECT_EQ(copied.kind, cudaMemcpyDeviceToDevice);
}

TEST_F(Graphs, ANodeSaysNothingOfAnotherKind) {
  int factor = 2;
  cudaKernelNodeParams scaled = scale(factor), launched{};
  cudaMemcpy3DParms copied{};
  cudaMemsetParams filled{};
  cudaHostNodeParams called{};
  const cudaHostNodeParams call{[](void*) {}, nullptr};
  cudaGraphNode_t scaling = nullptr, calling = nullptr;
  ASSERT_EQ(CUDA(cudaGraphAddKernelNode)(&scaling, graph, nullptr, 0, &scaled), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddHostNode)(&calling, graph, nullptr, 0, &call), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphKernelNodeGetParams)(calling, &launched), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGraphMemcpyNodeGetParams)(scaling, &copied), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGraphMemsetNodeGetParams)(scaling, &filled), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGraphHostNodeGetParams)(scaling, &called), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGraphKernelNodeGetParams)(scaling, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGraphHostNodeGetParams)(calling, nullptr), cudaErrorInvalidValue);
  CUDA(cudaGetLastError)();
}

TEST_F(Graphs, EdgesHaveNoDataOfTheirOwn) {
  const cudaHostNodeParams call{[](void*) {}, nullptr};
  cudaGraphNode_t first = nullptr, second = nullptr, found[2] = {}, to[2] = {};
  ASSERT_EQ(CUDA(cudaGraphAddHostNode)(&first, graph, nullptr, 0, &call), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddHostNode)(&second, graph, &first, 1, &call), cudaSuccess);
  const auto is_zero = [](const cudaGraphEdgeData& data) {
    const cudaGraphEdgeData zero{};
    return std::memcmp(&data, &zero, sizeof zero) == 0;
  };
  cudaGraphEdgeData data[1];
  size_t count = 1;
  std::memset(data, 0xff, sizeof data);
  EXPECT_EQ(CUDA(cudaGraphNodeGetDependencies)(second, found, data, &count), cudaSuccess);
  EXPECT_EQ(found[0], first);
  EXPECT_TRUE(is_zero(data[0]));
  std::memset(data, 0xff, sizeof data);
  EXPECT_EQ(CUDA(cudaGraphNodeGetDependentNodes)(first, found, data, &count), cudaSuccess);
  EXPECT_EQ(found[0], second);
  EXPECT_TRUE(is_zero(data[0]));
  std::memset(data, 0xff, sizeof data);
  EXPECT_EQ(CUDA(cudaGraphGetEdges)(graph, found, to, data, &count), cudaSuccess);
  EXPECT_EQ(std::pair(found[0], to[0]), std::pair(first, second));
  EXPECT_TRUE(is_zero(data[0]));
}

TEST_F(Graphs, WhatIsNoGraphIsNotCloned) {
  cudaGraph_t gone = nullptr, clone = nullptr;
  ASSERT_EQ(CUDA(cudaGraphCreate)(&gone, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphDestroy)(gone), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphClone)(&clone, gone), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGraphClone)(nullptr, graph), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGraphDestroy)(gone), cudaErrorInvalidValue) << "twice";
  CUDA(cudaGetLastError)();
}

TEST_F(Graphs, ACopyOfManyDimensionsIsSetInAGraphAndInAnExecutable) {
  int from[] = {1, 2, 3, 4}, to[4] = {};
  const auto copy = [&](int* source) {
    cudaMemcpy3DParms parameters{};
    parameters.srcPtr = cudaPitchedPtr{source, 8, 8, 1};
    parameters.dstPtr = cudaPitchedPtr{to, 8, 8, 1};
    parameters.extent = {4, 1, 1};
    parameters.kind = cudaMemcpyDefault;
    return parameters;
  };
  const cudaMemcpy3DParms first = copy(from), second = copy(from + 1), third = copy(from + 2);
  cudaGraphNode_t copying = nullptr;
  ASSERT_EQ(CUDA(cudaGraphAddMemcpyNode)(&copying, graph, nullptr, 0, &first), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphMemcpyNodeSetParams)(copying, &second), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(to[0], 1) << "an executable is what the graph was";
  launch_once();
  EXPECT_EQ(to[0], 2);
  EXPECT_EQ(CUDA(cudaGraphExecMemcpyNodeSetParams)(exec, copying, &third), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(to[0], 3);
  launch_once();
  EXPECT_EQ(to[0], 2) << "the graph is what it was";
  CUDA(cudaGraphExecDestroy)(exec);
}

TEST_F(Graphs, ANodeOfAnExecutableKeepsItsKind) {
  int factor = 3;
  const cudaKernelNodeParams scaled = scale(factor);
  cudaMemsetParams fill{};
  fill.dst = numbers;
  fill.elementSize = 4;
  fill.value = 5;
  fill.width = fill.height = 1;
  cudaGraphNode_t filling = nullptr, scaling = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(CUDA(cudaGraphAddMemsetNode)(&filling, graph, nullptr, 0, &fill), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddKernelNode)(&scaling, graph, &filling, 1, &scaled), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphExecKernelNodeSetParams)(exec, filling, &scaled), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGraphExecMemsetNodeSetParams)(exec, scaling, &fill), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(numbers[0], 5 * 3) << "both are what they were";
}

// Of a node in a graph, which every executable that is made later has, and of a node in an executable.
TEST_F(Graphs, NodesOfEachKindAreSetInAGraphAndInAnExecutable) {
  static std::string order;
  order.clear();
  int bytes[] = {1, 2, 3, 4}, to[2] = {}, two = 2, three = 3, seven = 7;
  const auto host = [](const char* letter) {
    return cudaHostNodeParams{[](void* data) { order += static_cast<const char*>(data); }, const_cast<char*>(letter)};
  };
  const cudaHostNodeParams a = host("a"), b = host("b"), c = host("c");
  const auto fill = [&](unsigned value) {
    cudaMemsetParams parameters{};
    parameters.dst = &to[1];
    parameters.value = value;
    parameters.elementSize = 4;
    parameters.width = parameters.height = 1;
    return parameters;
  };
  const cudaMemsetParams fives = fill(5), sixes = fill(6), eights = fill(8);
  cudaKernelNodeParams scaled = scale(two);
  cudaGraphNode_t calling = nullptr, copying = nullptr, filling = nullptr, scaling = nullptr;
  ASSERT_EQ(CUDA(cudaGraphAddHostNode)(&calling, graph, nullptr, 0, &a), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddMemcpyNode1D)(&copying, graph, nullptr, 0, to, bytes, 4, cudaMemcpyDefault), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddMemsetNode)(&filling, graph, nullptr, 0, &fives), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddKernelNode)(&scaling, graph, nullptr, 0, &scaled), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);

  EXPECT_EQ(CUDA(cudaGraphHostNodeSetParams)(calling, &b), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphMemcpyNodeSetParams1D)(copying, to, bytes + 1, 4, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphMemsetNodeSetParams)(filling, &sixes), cudaSuccess);
  scaled = scale(three);
  EXPECT_EQ(CUDA(cudaGraphKernelNodeSetParams)(scaling, &scaled), cudaSuccess);
  cudaHostNodeParams called{};
  EXPECT_EQ(CUDA(cudaGraphHostNodeGetParams)(calling, &called), cudaSuccess);
  EXPECT_EQ(called.userData, b.userData);
  cudaMemsetParams filled{};
  EXPECT_EQ(CUDA(cudaGraphMemsetNodeGetParams)(filling, &filled), cudaSuccess);
  EXPECT_EQ(filled.value, 6u);

  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(order, "a") << "an executable is what the graph was";
  EXPECT_EQ(std::pair(to[0], to[1]), std::pair(1, 5));
  EXPECT_EQ(numbers[0], 2);
  launch_once();
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(std::pair(to[0], to[1]), std::pair(2, 6));
  EXPECT_EQ(numbers[0], 2 * 3);

  EXPECT_EQ(CUDA(cudaGraphExecHostNodeSetParams)(exec, calling, &c), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphExecMemcpyNodeSetParams1D)(exec, copying, to, bytes + 2, 4, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphExecMemsetNodeSetParams)(exec, filling, &eights), cudaSuccess);
  scaled = scale(seven);
  EXPECT_EQ(CUDA(cudaGraphExecKernelNodeSetParams)(exec, scaling, &scaled), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(order, "abc");
  EXPECT_EQ(std::pair(to[0], to[1]), std::pair(3, 8));
  EXPECT_EQ(numbers[0], 2 * 3 * 7);
  launch_once();
  EXPECT_EQ(order, "abcb") << "the graph is what it was";
  EXPECT_EQ(std::pair(to[0], to[1]), std::pair(2, 6));

  // The same by the calls for any kind.
  cudaGraphNodeParams any{};
  any.type = cudaGraphNodeTypeHost;
  any.host = {c.fn, c.userData};
  EXPECT_EQ(CUDA(cudaGraphNodeSetParams)(calling, &any), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphNodeSetParams)(filling, &any), cudaErrorInvalidValue);
  any.host.userData = a.userData;
  EXPECT_EQ(CUDA(cudaGraphExecNodeSetParams)(exec, calling, &any), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphExecNodeSetParams)(exec, filling, &any), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  launch_once();
  EXPECT_EQ(order, "abcbac");
  CUDA(cudaGraphExecDestroy)(exec);
}

TEST_F(Graphs, CopiesToAndFromSymbols) {
  char* const symbol = &Program::get().unreached;
  int values[] = {11, 22, 33, 44}, read[2] = {};
  cudaGraphNode_t writing = nullptr, reading = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(CUDA(cudaGraphAddMemcpyNodeToSymbol)(&writing, graph, nullptr, 0, symbol, values, 8, 0, cudaMemcpyDefault),
            cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddMemcpyNodeFromSymbol)(&reading, graph, &writing, 1, read, symbol, 4, 4, cudaMemcpyDefault),
            cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphAddMemcpyNodeToSymbol)(&writing, graph, nullptr, 0, symbol, values, 8, 1, cudaMemcpyDefault),
            cudaErrorInvalidValue);
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(read[0], 22);
  EXPECT_EQ(CUDA(cudaGraphExecMemcpyNodeSetParamsToSymbol)(exec, writing, symbol, values + 2, 4, 4, cudaMemcpyDefault),
            cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphExecMemcpyNodeSetParamsFromSymbol)(exec, reading, read, symbol, 8, 0, cudaMemcpyDefault), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(std::pair(read[0], read[1]), std::pair(11, 33));
  CUDA(cudaGraphExecDestroy)(exec);
}

TEST_F(Graphs, QueriesGiveAsManyNodesAsThereIsRoomFor) {
  cudaGraphNode_t a = nullptr, b = nullptr, c = nullptr;
  CUDA(cudaGraphAddEmptyNode)(&a, graph, nullptr, 0);
  CUDA(cudaGraphAddEmptyNode)(&b, graph, nullptr, 0);
  const cudaGraphNode_t both[] = {a, b};
  ASSERT_EQ(CUDA(cudaGraphAddEmptyNode)(&c, graph, both, 2), cudaSuccess);
  cudaGraphNode_t found[4] = {c, c, c, c}, to[4] = {};
  size_t count = 4;
  cudaGraphNode_t d = nullptr;
  ASSERT_EQ(CUDA(cudaGraphAddEmptyNode)(&d, graph, &a, 1), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphNodeGetDependentNodes)(a, found, nullptr, &count), cudaSuccess);
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(std::pair(found[0], found[1]), std::pair(c, d));
  ASSERT_EQ(CUDA(cudaGraphDestroyNode)(d), cudaSuccess);
  std::fill_n(found, 4, c);
  count = 1;
  EXPECT_EQ(CUDA(cudaGraphGetRootNodes)(graph, found, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(std::pair(found[0], found[1]), std::pair(a, c)) << "what is behind the room stays";
  count = 4;
  EXPECT_EQ(CUDA(cudaGraphGetRootNodes)(graph, found, &count), cudaSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(std::vector(found, found + 4), (std::vector<cudaGraphNode_t>{a, b, nullptr, nullptr}));
  count = 1;
  EXPECT_EQ(CUDA(cudaGraphGetEdges)(graph, found, to, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(std::pair(found[0], to[0]), std::pair(a, c));
  EXPECT_EQ(std::pair(found[1], to[1]), std::pair(b, cudaGraphNode_t(nullptr)));
  count = 4;
  EXPECT_EQ(CUDA(cudaGraphGetEdges)(graph, found, to, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(std::pair(found[1], to[1]), std::pair(b, c));

  // A node that is gone is nobody's dependency, and neither is one whose edge was taken away.
  EXPECT_EQ(CUDA(cudaGraphDestroyNode)(a), cudaSuccess);
  count = 4;
  EXPECT_EQ(CUDA(cudaGraphNodeGetDependencies)(c, found, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(found[0], b);
  CUDA(cudaGraphAddEmptyNode)(&a, graph, nullptr, 0);
  EXPECT_EQ(CUDA(cudaGraphAddDependencies)(graph, &a, &c, nullptr, 1), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphRemoveDependencies)(graph, &b, &c, nullptr, 1), cudaSuccess);
  count = 4;
  EXPECT_EQ(CUDA(cudaGraphNodeGetDependencies)(c, found, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(found[0], a) << "the other edge stays";
  EXPECT_EQ(CUDA(cudaGraphRemoveDependencies)(graph, &a, &c, nullptr, 1), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphRemoveDependencies)(graph, &b, &c, nullptr, 1), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaGraphGetRootNodes)(graph, nullptr, &count), cudaSuccess);
  EXPECT_EQ(count, 3u);
  launch_once();
}

TEST_F(Graphs, ACloneIsWhatTheGraphWas) {
  static std::string order;
  order.clear();
  const auto host = [](const char* letter) {
    return cudaHostNodeParams{[](void* data) { order += static_cast<const char*>(data); }, const_cast<char*>(letter)};
  };
  const cudaHostNodeParams a = host("a"), b = host("b"), c = host("c");
  cudaGraphNode_t first = nullptr, second = nullptr, found = nullptr;
  CUDA(cudaGraphAddHostNode)(&second, graph, nullptr, 0, &b);
  CUDA(cudaGraphAddHostNode)(&first, graph, nullptr, 0, &a);
  ASSERT_EQ(CUDA(cudaGraphAddDependencies)(graph, &first, &second, nullptr, 1), cudaSuccess);
  cudaGraph_t clone = nullptr;
  ASSERT_EQ(CUDA(cudaGraphClone)(&clone, graph), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphHostNodeSetParams)(first, &c), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, clone, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(order, "ab");
  cudaHostNodeParams read{};
  ASSERT_EQ(CUDA(cudaGraphNodeFindInClone)(&found, second, clone), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphHostNodeGetParams)(found, &read), cudaSuccess);
  EXPECT_EQ(read.userData, b.userData);
  EXPECT_EQ(CUDA(cudaGraphNodeFindInClone)(&found, found, clone), cudaErrorInvalidValue) << "it is no original";
  CUDA(cudaGraphExecDestroy)(exec);
  CUDA(cudaGraphDestroy)(clone);
}

TEST_F(Graphs, ANodeIsDisabledAndEnabledAgain) {
  int factor = 2;
  const cudaKernelNodeParams parameters = scale(factor);
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t exec = nullptr;
  CUDA(cudaGraphAddKernelNode)(&node, graph, nullptr, 0, &parameters);
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  int expected = 1;
  for (unsigned enabled : {1u, 0u, 0u, 1u}) {
    unsigned read = 9;
    EXPECT_EQ(CUDA(cudaGraphNodeSetEnabled)(exec, node, enabled), cudaSuccess);
    EXPECT_EQ(CUDA(cudaGraphNodeGetEnabled)(exec, node, &read), cudaSuccess);
    EXPECT_EQ(read, enabled);
    EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
    EXPECT_EQ(numbers[0], expected *= enabled != 0 ? 2 : 1);
  }
  // An update changes what nodes do, and not which of them do it.
  EXPECT_EQ(CUDA(cudaGraphNodeSetEnabled)(exec, node, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphExecUpdate)(exec, graph, nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(numbers[0], expected);
  CUDA(cudaGraphExecDestroy)(exec);
}

TEST_F(Graphs, AnEventIsRecordedByEachLaunch) {
  cudaEvent_t start = nullptr, end = nullptr, read = nullptr;
  cudaGraphNode_t node = nullptr, waiting = nullptr;
  CUDA(cudaEventCreate)(&start);
  CUDA(cudaEventCreate)(&end);
  ASSERT_EQ(CUDA(cudaGraphAddEventRecordNode)(&node, graph, nullptr, 0, end), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddEventWaitNode)(&waiting, graph, nullptr, 0, start), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphEventRecordNodeGetEvent)(node, &read), cudaSuccess);
  EXPECT_EQ(read, end);
  EXPECT_EQ(CUDA(cudaGraphEventWaitNodeGetEvent)(waiting, &read), cudaSuccess);
  EXPECT_EQ(read, start);
  EXPECT_EQ(CUDA(cudaGraphEventRecordNodeGetEvent)(waiting, &read), cudaErrorInvalidValue);
  float milliseconds = -1;
  CUDA(cudaEventRecord)(start, nullptr);
  EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, start, end), cudaErrorInvalidResourceHandle);
  for (int i = 0; i < 2; ++i) {
    CUDA(cudaEventRecord)(start, nullptr);
    launch_once();
    EXPECT_EQ(CUDA(cudaEventElapsedTime)(&milliseconds, start, end), cudaSuccess);
    EXPECT_GE(milliseconds, 0) << "of this launch";
  }
  for (cudaEvent_t event : {start, end}) CUDA(cudaEventDestroy)(event);
}

TEST_F(Graphs, AChildIsWhatItWasWhenItWasAdded) {
  cudaMemsetParams fill{};
  fill.dst = numbers;
  fill.value = 9;
  fill.elementSize = 4;
  fill.width = fill.height = 1;
  cudaGraphNode_t filled = nullptr, child_node = nullptr, more = nullptr;
  cudaGraph_t child = nullptr, inner = nullptr;
  ASSERT_EQ(CUDA(cudaGraphCreate)(&child, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddMemsetNode)(&filled, child, nullptr, 0, &fill), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddChildGraphNode)(&child_node, graph, nullptr, 0, child), cudaSuccess);
  fill.value = 5;
  ASSERT_EQ(CUDA(cudaGraphMemsetNodeSetParams)(filled, &fill), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddMemsetNode)(&more, child, &filled, 1, &fill), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphChildGraphNodeGetGraph)(child_node, &inner), cudaSuccess);
  size_t nodes = 0;
  EXPECT_EQ(CUDA(cudaGraphGetNodes)(inner, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 1u);
  launch_once();
  EXPECT_EQ(numbers[0], 9);
  CUDA(cudaGraphDestroy)(child);
}

TEST_F(Graphs, AnExecutableDoesNotSeeWhatBecomesOfAChild) {
  cudaMemsetParams fill{};
  fill.dst = numbers;
  fill.value = 9;
  fill.elementSize = 4;
  fill.width = fill.height = 1;
  cudaGraphNode_t filled = nullptr, child_node = nullptr, inner_node = nullptr;
  cudaGraph_t child = nullptr, inner = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(CUDA(cudaGraphCreate)(&child, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddMemsetNode)(&filled, child, nullptr, 0, &fill), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddChildGraphNode)(&child_node, graph, nullptr, 0, child), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphChildGraphNodeGetGraph)(child_node, &inner), cudaSuccess);
  size_t nodes = 1;
  ASSERT_EQ(CUDA(cudaGraphGetNodes)(inner, &inner_node, &nodes), cudaSuccess);
  fill.value = 5;
  ASSERT_EQ(CUDA(cudaGraphMemsetNodeSetParams)(inner_node, &fill), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(numbers[0], 9);
  launch_once();
  EXPECT_EQ(numbers[0], 5) << "one that is made now";
  // Nor what becomes of one that it is given later.
  fill.value = 6;
  ASSERT_EQ(CUDA(cudaGraphMemsetNodeSetParams)(filled, &fill), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphExecChildGraphNodeSetParams)(exec, child_node, child), cudaSuccess);
  fill.value = 7;
  ASSERT_EQ(CUDA(cudaGraphMemsetNodeSetParams)(filled, &fill), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(numbers[0], 6);
  CUDA(cudaGraphExecDestroy)(exec);
  CUDA(cudaGraphDestroy)(child);
}

TEST_F(Graphs, AnExecutableTakesTheChangesOfAGraphOfTheSameShape) {
  int factor = 2;
  cudaKernelNodeParams parameters = scale(factor);
  cudaGraphNode_t node = nullptr, other_node = nullptr, empty = nullptr;
  cudaGraph_t other = nullptr;
  cudaGraphExec_t exec = nullptr;
  CUDA(cudaGraphAddKernelNode)(&node, graph, nullptr, 0, &parameters);
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, graph, 0), cudaSuccess);
  factor = 7;
  CUDA(cudaGraphCreate)(&other, 0);
  CUDA(cudaGraphAddKernelNode)(&other_node, other, nullptr, 0, &parameters);
  cudaGraphExecUpdateResultInfo info;
  EXPECT_EQ(CUDA(cudaGraphExecUpdate)(exec, other, &info), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(numbers[0], 7);
  CUDA(cudaGraphAddEmptyNode)(&empty, other, nullptr, 0);
  EXPECT_EQ(CUDA(cudaGraphExecUpdate)(exec, other, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorTopologyChanged);
  ASSERT_EQ(CUDA(cudaGraphDestroyNode)(other_node), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphExecUpdate)(exec, other, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateErrorNodeTypeChanged);
  cudaGraphNode_t second = nullptr;
  CUDA(cudaGraphAddEmptyNode)(&second, other, &empty, 1);
  ASSERT_EQ(CUDA(cudaGraphAddDependencies)(other, &second, &empty, nullptr, 1), cudaSuccess);  // a circle
  EXPECT_EQ(CUDA(cudaGraphExecUpdate)(exec, other, &info), cudaErrorGraphExecUpdateFailure);
  EXPECT_EQ(info.result, cudaGraphExecUpdateError);
  // It is still known by the nodes of the graph that it was made from.
  factor = 3;
  EXPECT_EQ(CUDA(cudaGraphExecKernelNodeSetParams)(exec, node, &parameters), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(numbers[0], 7 * 3);
}

// What is changed in the child of the original afterwards is not changed in that of the clone.
TEST_F(Graphs, ACloneHasAChildOfItsOwn) {
  cudaMemsetParams fill{};
  fill.dst = numbers;
  fill.value = 9;
  fill.elementSize = 4;
  fill.width = fill.height = 1;
  cudaGraphNode_t filled = nullptr, child_node = nullptr, inner_node = nullptr;
  cudaGraph_t child = nullptr, inner = nullptr, clone = nullptr;
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(CUDA(cudaGraphCreate)(&child, 0), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddMemsetNode)(&filled, child, nullptr, 0, &fill), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphAddChildGraphNode)(&child_node, graph, nullptr, 0, child), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphClone)(&clone, graph), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphChildGraphNodeGetGraph)(child_node, &inner), cudaSuccess);
  size_t nodes = 1;
  ASSERT_EQ(CUDA(cudaGraphGetNodes)(inner, &inner_node, &nodes), cudaSuccess);
  fill.value = 5;
  ASSERT_EQ(CUDA(cudaGraphMemsetNodeSetParams)(inner_node, &fill), cudaSuccess);
  ASSERT_EQ(CUDA(cudaGraphInstantiate)(&exec, clone, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaGraphLaunch)(exec, nullptr), cudaSuccess);
  EXPECT_EQ(numbers[0], 9);
}

}  // namespace
}  // namespace mneme::emulation
