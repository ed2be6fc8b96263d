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
  cudaGraphNodeParams unknown{};
  unknown.type = cudaGraphNodeTypeExtSemaphoreSignal;
  EXPECT_EQ(CUDA(cudaGraphAddNode)(&node, graph, nullptr, nullptr, 0, &unknown), cudaErrorNotSupported);
  launch_once();
  EXPECT_EQ(std::string(copied, 16), std::string("fff\0\0fff\0\0\0\0\0\0\0\0", 16));
  EXPECT_EQ(heard, 3);
  EXPECT_EQ(numbers[1], 2 * 7);
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
}

}  // namespace
}  // namespace mneme::emulation
