// Graphs.
#include <algorithm>
#include <vector>

#include "mneme/hip/packed_arguments.h"
#include "mneme/hip/program_code.h"
#include "mneme/hip/rows.h"
#include "mneme/hip/shared_memory.h"

namespace mneme::hip {
namespace {

cudaGraph_t to_graph(hipGraph_t graph) { return std::bit_cast<cudaGraph_t>(graph); }
const cudaGraphNode_t* to_nodes(const hipGraphNode_t* nodes) { return reinterpret_cast<const cudaGraphNode_t*>(nodes); }
cudaGraphNode_t* to_nodes(hipGraphNode_t* nodes) { return reinterpret_cast<cudaGraphNode_t*>(nodes); }

// Nodes of kernels: their shared memory needs no opt-in, and arguments in a buffer are listed for CUDA, which copies them. The
// program's own runtime takes the buffer, and tells it again when it is asked for the node.
template <typename Call>
hipError_t with_kernel(Table& table, const hipKernelNodeParams* kernel, Call&& call) {
  if (!kernel) return hipErrorInvalidValue;
  cudaKernelNodeParams parameters = to_cuda(*kernel);
  std::vector<void*> arguments;
  if (!kernel->kernelParams && kernel->extra && !table.ends_in_runtime()) {
    const hipError_t result = list_arguments(table, kernel->func, kernel->extra, arguments);
    if (result != hipSuccess) return result;
    parameters.kernelParams = arguments.data();
    parameters.extra = nullptr;
  }
  allow_shared_memory(table, kernel->func, kernel->sharedMemBytes);
  return to_hip(call(&parameters));
}
hipError_t add_kernel(Table& table, hipGraphNode_t* node, hipGraph_t graph, const hipGraphNode_t* dependencies, size_t count,
                      const hipKernelNodeParams* kernel) {
  return with_kernel(table, kernel, [&](const cudaKernelNodeParams* parameters) {
    return MNEME_CUDA(table, cudaGraphAddKernelNode)(to_nodes(node), to_graph(graph), to_nodes(dependencies), count, parameters);
  });
}
hipError_t set_kernel(Table& table, hipGraphNode_t node, const hipKernelNodeParams* kernel) {
  return with_kernel(table, kernel, [&](const cudaKernelNodeParams* parameters) {
    return MNEME_CUDA(table, cudaGraphKernelNodeSetParams)(std::bit_cast<cudaGraphNode_t>(node), parameters);
  });
}
hipError_t set_kernel_of_exec(Table& table, hipGraphExec_t graph, hipGraphNode_t node, const hipKernelNodeParams* kernel) {
  return with_kernel(table, kernel, [&](const cudaKernelNodeParams* parameters) {
    AsMade::name_subject(MNEME_CALL_cudaGraphExecKernelNodeSetParams, {parameters, nullptr});
    return MNEME_CUDA(table, cudaGraphExecKernelNodeSetParams)(std::bit_cast<cudaGraphExec_t>(graph),
                                                               std::bit_cast<cudaGraphNode_t>(node), parameters);
  });
}

// CUDA's edges have data, which HIP's have not.
hipError_t add_dependencies(Table& table, hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to, size_t count) {
  return to_hip(MNEME_CUDA(table, cudaGraphAddDependencies)(to_graph(graph), to_nodes(from), to_nodes(to), nullptr, count));
}
hipError_t remove_dependencies(Table& table, hipGraph_t graph, const hipGraphNode_t* from, const hipGraphNode_t* to,
                               size_t count) {
  return to_hip(MNEME_CUDA(table, cudaGraphRemoveDependencies)(to_graph(graph), to_nodes(from), to_nodes(to), nullptr, count));
}
hipError_t get_edges(Table& table, hipGraph_t graph, hipGraphNode_t* from, hipGraphNode_t* to, size_t* count) {
  return to_hip(MNEME_CUDA(table, cudaGraphGetEdges)(to_graph(graph), to_nodes(from), to_nodes(to), nullptr, count));
}
hipError_t get_dependencies(Table& table, hipGraphNode_t node, hipGraphNode_t* nodes, size_t* count) {
  return to_hip(
      MNEME_CUDA(table, cudaGraphNodeGetDependencies)(std::bit_cast<cudaGraphNode_t>(node), to_nodes(nodes), nullptr, count));
}
hipError_t get_dependents(Table& table, hipGraphNode_t node, hipGraphNode_t* nodes, size_t* count) {
  return to_hip(
      MNEME_CUDA(table, cudaGraphNodeGetDependentNodes)(std::bit_cast<cudaGraphNode_t>(node), to_nodes(nodes), nullptr, count));
}

hipError_t instantiate_with_flags(Table& table, hipGraphExec_t* out, hipGraph_t graph, unsigned long long flags) {
  return to_hip(MNEME_CUDA(table, cudaGraphInstantiate)(reinterpret_cast<cudaGraphExec_t*>(out), to_graph(graph), flags));
}
hipError_t instantiate(Table& table, hipGraphExec_t* out, hipGraph_t graph, hipGraphNode_t* failed, char* log, size_t log_bytes) {
  if (failed) *failed = nullptr;
  if (log && log_bytes != 0) *log = '\0';
  return instantiate_with_flags(table, out, graph, 0);
}

hipError_t update(Table& table, hipGraphExec_t graph, hipGraph_t from, hipGraphNode_t* failed, hipGraphExecUpdateResult* result) {
  cudaGraphExecUpdateResultInfo found{};
  const cudaError_t code = MNEME_CUDA(table, cudaGraphExecUpdate)(std::bit_cast<cudaGraphExec_t>(graph), to_graph(from), &found);
  if (failed) *failed = std::bit_cast<hipGraphNode_t>(found.errorNode);
  if (result)
    *result = found.result > cudaGraphExecUpdateErrorUnsupportedFunctionChange
                  ? hipGraphExecUpdateError
                  : static_cast<hipGraphExecUpdateResult>(found.result);
  return to_hip(code);
}

hipError_t launch(Table& table, hipGraphExec_t graph, hipStream_t stream) {
  if (hipError_t result = set_managed_pointers(); result != hipSuccess) return result;
  return to_hip(MNEME_CUDA(table, cudaGraphLaunch)(std::bit_cast<cudaGraphExec_t>(graph), std::bit_cast<cudaStream_t>(stream)));
}

hipError_t get_type(Table& table, hipGraphNode_t node, hipGraphNodeType* type) {
  if (!type) return hipErrorInvalidValue;
  cudaGraphNodeType found{};
  const cudaError_t code = MNEME_CUDA(table, cudaGraphNodeGetType)(std::bit_cast<cudaGraphNode_t>(node), &found);
  if (code == cudaSuccess) *type = to_hip(found);
  return to_hip(code);
}

hipError_t set_copy_of_exec(Table& table, hipGraphExec_t graph, hipGraphNode_t node, hipMemcpy3DParms* copy) {
  return to_hip(MNEME_CUDA(table, cudaGraphExecMemcpyNodeSetParams)(std::bit_cast<cudaGraphExec_t>(graph),
                                                                    std::bit_cast<cudaGraphNode_t>(node),
                                                                    reinterpret_cast<const cudaMemcpy3DParms*>(copy)));
}

#define MNEME_SAME_NAME(function) MNEME_ROW(hip##function, cuda##function)
using Rows = HookList<
    MNEME_SAME_NAME(GraphCreate), MNEME_SAME_NAME(GraphDestroy), MNEME_SAME_NAME(GraphGetNodes),
    MNEME_SAME_NAME(GraphGetRootNodes), MNEME_SAME_NAME(GraphDestroyNode), MNEME_SAME_NAME(GraphClone),
    MNEME_SAME_NAME(GraphNodeFindInClone), MNEME_SAME_NAME(GraphExecDestroy), MNEME_SAME_NAME(GraphKernelNodeGetParams),
    MNEME_SAME_NAME(GraphAddMemcpyNode), MNEME_SAME_NAME(GraphMemcpyNodeGetParams), MNEME_SAME_NAME(GraphMemcpyNodeSetParams),
    MNEME_SAME_NAME(GraphAddMemcpyNode1D), MNEME_SAME_NAME(GraphMemcpyNodeSetParams1D),
    MNEME_SAME_NAME(GraphExecMemcpyNodeSetParams1D), MNEME_SAME_NAME(GraphAddMemcpyNodeFromSymbol),
    MNEME_SAME_NAME(GraphMemcpyNodeSetParamsFromSymbol), MNEME_SAME_NAME(GraphExecMemcpyNodeSetParamsFromSymbol),
    MNEME_SAME_NAME(GraphAddMemcpyNodeToSymbol), MNEME_SAME_NAME(GraphMemcpyNodeSetParamsToSymbol),
    MNEME_SAME_NAME(GraphExecMemcpyNodeSetParamsToSymbol), MNEME_SAME_NAME(GraphAddMemsetNode),
    MNEME_SAME_NAME(GraphMemsetNodeGetParams), MNEME_SAME_NAME(GraphMemsetNodeSetParams),
    MNEME_SAME_NAME(GraphExecMemsetNodeSetParams), MNEME_SAME_NAME(GraphAddHostNode), MNEME_SAME_NAME(GraphHostNodeGetParams),
    MNEME_SAME_NAME(GraphHostNodeSetParams), MNEME_SAME_NAME(GraphExecHostNodeSetParams), MNEME_SAME_NAME(GraphAddChildGraphNode),
    MNEME_SAME_NAME(GraphChildGraphNodeGetGraph), MNEME_SAME_NAME(GraphExecChildGraphNodeSetParams),
    MNEME_SAME_NAME(GraphAddEmptyNode), MNEME_SAME_NAME(GraphAddEventRecordNode), MNEME_SAME_NAME(GraphEventRecordNodeGetEvent),
    MNEME_SAME_NAME(GraphEventRecordNodeSetEvent), MNEME_SAME_NAME(GraphExecEventRecordNodeSetEvent),
    MNEME_SAME_NAME(GraphAddEventWaitNode), MNEME_SAME_NAME(GraphEventWaitNodeGetEvent),
    MNEME_SAME_NAME(GraphEventWaitNodeSetEvent), MNEME_SAME_NAME(GraphExecEventWaitNodeSetEvent),
    MNEME_CONVERTED_THROUGH(hipGraphAddKernelNode, add_kernel, cudaGraphAddKernelNode),
    MNEME_CONVERTED_THROUGH(hipGraphKernelNodeSetParams, set_kernel, cudaGraphKernelNodeSetParams),
    MNEME_CONVERTED_THROUGH(hipGraphExecKernelNodeSetParams, set_kernel_of_exec, cudaGraphExecKernelNodeSetParams),
    MNEME_EMULATED(hipGraphAddDependencies, add_dependencies), MNEME_EMULATED(hipGraphRemoveDependencies, remove_dependencies),
    MNEME_EMULATED(hipGraphGetEdges, get_edges), MNEME_EMULATED(hipGraphNodeGetDependencies, get_dependencies),
    MNEME_EMULATED(hipGraphNodeGetDependentNodes, get_dependents), MNEME_EMULATED(hipGraphInstantiate, instantiate),
    MNEME_EMULATED(hipGraphInstantiateWithFlags, instantiate_with_flags), MNEME_EMULATED(hipGraphExecUpdate, update),
    MNEME_OWN_THROUGH(hipGraphLaunch, launch, cudaGraphLaunch), MNEME_EMULATED(hipGraphNodeGetType, get_type),
    MNEME_EMULATED(hipGraphExecMemcpyNodeSetParams, set_copy_of_exec)>;

// HIP 5.2 has no attributes of nodes.
cudaError_t end_of_get_attribute(Table&, cudaGraphNode_t, cudaLaunchAttributeID, cudaLaunchAttributeValue*) {
  return cudaErrorNotSupported;
}

using AddKernel = hipError_t (*)(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, size_t, const hipKernelNodeParams*);
using SetKernel = hipError_t (*)(hipGraphNode_t, const hipKernelNodeParams*);
using SetKernelOfExec = hipError_t (*)(hipGraphExec_t, hipGraphNode_t, const hipKernelNodeParams*);
using Ends = HookList<MNEME_END(hipGraphLaunch, cudaGraphLaunch, hipError_t (*)(hipGraphExec_t, hipStream_t)),
                      MNEME_END(hipGraphAddKernelNode, cudaGraphAddKernelNode, AddKernel),
                      MNEME_END(hipGraphKernelNodeSetParams, cudaGraphKernelNodeSetParams, SetKernel),
                      MNEME_END(hipGraphExecKernelNodeSetParams, cudaGraphExecKernelNodeSetParams, SetKernelOfExec),
                      MNEME_WRITTEN_END(hipGraphAddKernelNode, cudaGraphKernelNodeGetAttribute, end_of_get_attribute)>;

}  // namespace

void install_graphs(const Table& table) { install_both_ways<Rows, Ends>(table); }

}  // namespace mneme::hip
