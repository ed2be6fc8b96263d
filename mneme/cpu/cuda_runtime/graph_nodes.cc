// The nodes of graphs: adding them, and asking for and changing what they do, in a graph and in its executable form.
#include <cstring>

#include "mneme/cpu/cuda_runtime/event.h"
#include "mneme/cpu/cuda_runtime/graph.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

// --- from CUDA's parameters to operations -------------------------------------------------------------------------------------

cudaError_t make(const cudaKernelNodeParams* parameters, Operation& out) {
  if (!parameters) return cudaErrorInvalidValue;
  if (parameters->extra) return cudaErrorNotSupported;
  KernelLaunch launch;
  cudaError_t result = prepare_launch(parameters->func, parameters->gridDim, parameters->blockDim, parameters->kernelParams,
                                      parameters->sharedMemBytes, false, launch);
  out = std::move(launch);
  return result;
}

cudaError_t make(const cudaMemcpy3DParms* parameters, Operation& out) {
  if (!parameters) return cudaErrorInvalidValue;
  Copy copy{*parameters};
  out = copy;
  return check(copy);
}

cudaError_t make(const cudaMemsetParams* parameters, Operation& out) {
  if (!parameters) return cudaErrorInvalidValue;
  Fill fill;
  fill.parameters = *parameters;
  out = fill;
  return check(fill);
}

cudaError_t make(const cudaHostNodeParams* parameters, Operation& out) {
  if (!parameters || !parameters->fn) return cudaErrorInvalidValue;
  out = HostCall{[call = *parameters] { call.fn(call.userData); }, *parameters};
  return cudaSuccess;
}

// --- the three things that are done with an operation -------------------------------------------------------------------------

cudaError_t add(cudaGraphNode_t* node, cudaGraph_t graph_handle, const cudaGraphNode_t* dependencies, size_t count,
                Operation operation) {
  std::shared_ptr<Graph> graph = find_graph(graph_handle);
  if (!node || !graph || (count != 0 && !dependencies)) return cudaErrorInvalidValue;
  std::vector<GraphNode*> nodes;
  for (size_t i = 0; i < count; ++i) {
    if (!dependencies[i]) return cudaErrorInvalidValue;
    nodes.push_back(GraphNode::of(dependencies[i]));
  }
  *node = graph->add(std::move(operation), std::move(nodes))->handle();
  return cudaSuccess;
}

// A node keeps its kind for ever.
cudaError_t set(cudaGraphNode_t node, Operation operation) {
  if (!node || GraphNode::of(node)->operation.index() != operation.index()) return cudaErrorInvalidValue;
  GraphNode::of(node)->operation = std::move(operation);
  return cudaSuccess;
}

cudaError_t set_exec(cudaGraphExec_t exec, cudaGraphNode_t node, Operation operation) {
  GraphExec::Step* step = exec ? GraphExec::of(exec)->find(GraphNode::of(node)) : nullptr;
  if (!step || step->operation.index() != operation.index()) return cudaErrorInvalidValue;
  step->operation = std::move(operation);
  return cudaSuccess;
}

template <typename T>
T* operation_of(cudaGraphNode_t node) {
  return node ? std::get_if<T>(&GraphNode::of(node)->operation) : nullptr;
}

// For each kind of parameters: add, set and set in the executable.
template <typename Parameters>
cudaError_t add_node(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                     const Parameters* parameters) {
  Operation operation;
  if (cudaError_t result = make(parameters, operation); result != cudaSuccess) return result;
  return add(node, graph, dependencies, count, std::move(operation));
}
template <typename Parameters>
cudaError_t set_node(cudaGraphNode_t node, const Parameters* parameters) {
  Operation operation;
  if (cudaError_t result = make(parameters, operation); result != cudaSuccess) return result;
  return set(node, std::move(operation));
}
template <typename Parameters>
cudaError_t set_exec_node(cudaGraphExec_t exec, cudaGraphNode_t node, const Parameters* parameters) {
  Operation operation;
  if (cudaError_t result = make(parameters, operation); result != cudaSuccess) return result;
  return set_exec(exec, node, std::move(operation));
}

// --- copies of one dimension and of symbols -----------------------------------------------------------------------------------

cudaError_t make_linear(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, Operation& out) {
  Copy copy = linear_copy(to, from, bytes, kind);
  out = copy;
  return check(copy);
}

cudaError_t add_copy_1d(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count, void* to,
                        const void* from, size_t bytes, cudaMemcpyKind kind) {
  Operation operation;
  if (cudaError_t result = make_linear(to, from, bytes, kind, operation); result != cudaSuccess) return result;
  return add(node, graph, dependencies, count, std::move(operation));
}
cudaError_t set_copy_1d(cudaGraphNode_t node, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  Operation operation;
  if (cudaError_t result = make_linear(to, from, bytes, kind, operation); result != cudaSuccess) return result;
  return set(node, std::move(operation));
}
cudaError_t set_exec_copy_1d(cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* from, size_t bytes,
                             cudaMemcpyKind kind) {
  Operation operation;
  if (cudaError_t result = make_linear(to, from, bytes, kind, operation); result != cudaSuccess) return result;
  return set_exec(exec, node, std::move(operation));
}

cudaError_t add_copy_to_symbol(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                               const void* symbol, const void* from, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  void* to = nullptr;
  if (cudaError_t result = symbol_address(symbol, offset, bytes, &to); result != cudaSuccess) return result;
  return add_copy_1d(node, graph, dependencies, count, to, from, bytes, kind);
}
cudaError_t add_copy_from_symbol(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                                 void* to, const void* symbol, size_t bytes, size_t offset, cudaMemcpyKind kind) {
  void* from = nullptr;
  if (cudaError_t result = symbol_address(symbol, offset, bytes, &from); result != cudaSuccess) return result;
  return add_copy_1d(node, graph, dependencies, count, to, from, bytes, kind);
}
cudaError_t set_exec_copy_to_symbol(cudaGraphExec_t exec, cudaGraphNode_t node, const void* symbol, const void* from,
                                    size_t bytes, size_t offset, cudaMemcpyKind kind) {
  void* to = nullptr;
  if (cudaError_t result = symbol_address(symbol, offset, bytes, &to); result != cudaSuccess) return result;
  return set_exec_copy_1d(exec, node, to, from, bytes, kind);
}
cudaError_t set_exec_copy_from_symbol(cudaGraphExec_t exec, cudaGraphNode_t node, void* to, const void* symbol, size_t bytes,
                                      size_t offset, cudaMemcpyKind kind) {
  void* from = nullptr;
  if (cudaError_t result = symbol_address(symbol, offset, bytes, &from); result != cudaSuccess) return result;
  return set_exec_copy_1d(exec, node, to, from, bytes, kind);
}

// --- nodes without parameters of their own ------------------------------------------------------------------------------------

cudaError_t add_empty(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count) {
  return add(node, graph, dependencies, count, std::monostate());
}
cudaError_t add_event_record(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                             cudaEvent_t event) {
  return event ? add(node, graph, dependencies, count, EventRecord{Event::of(event)}) : cudaErrorInvalidValue;
}
cudaError_t add_event_wait(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                           cudaEvent_t event) {
  return event ? add(node, graph, dependencies, count, EventWait{Event::of(event)}) : cudaErrorInvalidValue;
}
cudaError_t add_child(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                      cudaGraph_t child) {
  std::shared_ptr<Graph> found = find_graph(child);
  return found ? add(node, graph, dependencies, count, ChildGraph{found->clone()}) : cudaErrorInvalidValue;
}
cudaError_t set_exec_child(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraph_t child) {
  std::shared_ptr<Graph> found = find_graph(child);
  return found ? set_exec(exec, node, ChildGraph{found->clone()}) : cudaErrorInvalidValue;
}
cudaError_t get_child(cudaGraphNode_t node, cudaGraph_t* graph) {
  auto* child = operation_of<ChildGraph>(node);
  if (!child || !graph) return cudaErrorInvalidValue;
  *graph = give_handle(child->graph);
  return cudaSuccess;
}
cudaError_t get_recorded_event(cudaGraphNode_t node, cudaEvent_t* event) {
  auto* record = operation_of<EventRecord>(node);
  if (!record || !event) return cudaErrorInvalidValue;
  *event = reinterpret_cast<cudaEvent_t>(record->event);
  return cudaSuccess;
}
cudaError_t get_awaited_event(cudaGraphNode_t node, cudaEvent_t* event) {
  auto* wait = operation_of<EventWait>(node);
  if (!wait || !event) return cudaErrorInvalidValue;
  *event = reinterpret_cast<cudaEvent_t>(wait->event);
  return cudaSuccess;
}

// --- memory -------------------------------------------------------------------------------------------------------------------

// cudaMemAllocNodeParams and its second version have the same members.
template <typename Parameters>
cudaError_t make_allocation(Parameters& parameters, Operation& out) {
  const cudaMemPoolProps& pool = parameters.poolProps;
  if (parameters.bytesize == 0 || pool.handleTypes != cudaMemHandleTypeNone) return cudaErrorInvalidValue;
  if (pool.location.type != cudaMemLocationTypeDevice) return cudaErrorInvalidValue;
  if (pool.location.id != 0) return cudaErrorInvalidDevice;
  Allocation allocation;
  if (cudaError_t result = make_graph_memory(parameters.bytesize, allocation); result != cudaSuccess) return result;
  parameters.dptr = allocation.memory->pointer;
  out = std::move(allocation);
  return cudaSuccess;
}

cudaError_t add_allocation(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                           cudaMemAllocNodeParams* parameters) {
  Operation operation;
  if (!parameters) return cudaErrorInvalidValue;
  if (cudaError_t result = make_allocation(*parameters, operation); result != cudaSuccess) return result;
  return add(node, graph, dependencies, count, std::move(operation));
}
cudaError_t add_release(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, size_t count,
                        void* pointer) {
  return pointer ? add(node, graph, dependencies, count, Release{pointer}) : cudaErrorInvalidValue;
}
cudaError_t get_allocation(cudaGraphNode_t node, cudaMemAllocNodeParams* parameters) {
  auto* allocation = operation_of<Allocation>(node);
  if (!allocation || !parameters) return cudaErrorInvalidValue;
  *parameters = {};
  parameters->poolProps.allocType = cudaMemAllocationTypePinned;
  parameters->poolProps.location = {.type = cudaMemLocationTypeDevice, .id = 0};
  parameters->bytesize = allocation->memory->size;
  parameters->dptr = allocation->memory->pointer;
  return cudaSuccess;
}
cudaError_t get_release(cudaGraphNode_t node, void* pointer) {
  auto* release = operation_of<Release>(node);
  if (!release || !pointer) return cudaErrorInvalidValue;
  *static_cast<void**>(pointer) = release->pointer;
  return cudaSuccess;
}

// --- any node by its type -----------------------------------------------------------------------------------------------------

cudaError_t make_any(cudaGraphNodeParams& parameters, Operation& out) {
  switch (parameters.type) {
    case cudaGraphNodeTypeKernel: {
      const cudaKernelNodeParamsV2& kernel = parameters.kernel;
      cudaKernelNodeParams plain{kernel.func,           kernel.gridDim,      kernel.blockDim,
                                 kernel.sharedMemBytes, kernel.kernelParams, kernel.extra};
      return make(&plain, out);
    }
    case cudaGraphNodeTypeMemcpy: return make(&parameters.memcpy.copyParams, out);
    case cudaGraphNodeTypeMemset: {
      const cudaMemsetParamsV2& fill = parameters.memset;
      cudaMemsetParams plain{fill.dst, fill.pitch, fill.value, fill.elementSize, fill.width, fill.height};
      return make(&plain, out);
    }
    case cudaGraphNodeTypeHost: {
      cudaHostNodeParams plain{parameters.host.fn, parameters.host.userData};
      return make(&plain, out);
    }
    case cudaGraphNodeTypeGraph: {
      std::shared_ptr<Graph> child = find_graph(parameters.graph.graph);
      if (!child) return cudaErrorInvalidValue;
      out = ChildGraph{child->clone()};
      return cudaSuccess;
    }
    case cudaGraphNodeTypeMemAlloc: return make_allocation(parameters.alloc, out);
    case cudaGraphNodeTypeMemFree:
      out = Release{parameters.free.dptr};
      return parameters.free.dptr ? cudaSuccess : cudaErrorInvalidValue;
    case cudaGraphNodeTypeEmpty: out = std::monostate(); return cudaSuccess;
    case cudaGraphNodeTypeEventRecord: out = EventRecord{Event::of(parameters.eventRecord.event)}; return cudaSuccess;
    case cudaGraphNodeTypeWaitEvent: out = EventWait{Event::of(parameters.eventWait.event)}; return cudaSuccess;
    default: return cudaErrorNotSupported;
  }
}

cudaError_t add_any(cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* dependencies, const cudaGraphEdgeData*,
                    size_t count, cudaGraphNodeParams* parameters) {
  Operation operation;
  if (!parameters) return cudaErrorInvalidValue;
  if (cudaError_t result = make_any(*parameters, operation); result != cudaSuccess) return result;
  return add(node, graph, dependencies, count, std::move(operation));
}
cudaError_t set_any(cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  Operation operation;
  if (!parameters) return cudaErrorInvalidValue;
  if (cudaError_t result = make_any(*parameters, operation); result != cudaSuccess) return result;
  return set(node, std::move(operation));
}
cudaError_t set_exec_any(cudaGraphExec_t exec, cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  Operation operation;
  if (!parameters) return cudaErrorInvalidValue;
  if (cudaError_t result = make_any(*parameters, operation); result != cudaSuccess) return result;
  return set_exec(exec, node, std::move(operation));
}

// --- what a node does ---------------------------------------------------------------------------------------------------------

cudaError_t get_type(cudaGraphNode_t node, cudaGraphNodeType* type) {
  if (!node || !type) return cudaErrorInvalidValue;
  *type = type_of(GraphNode::of(node)->operation);
  return cudaSuccess;
}

cudaError_t get_kernel(cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  auto* launch = operation_of<KernelLaunch>(node);
  if (!launch || !parameters) return cudaErrorInvalidValue;
  // The array that kernelParams points to lives in the node, as CUDA's does.
  launch->arguments.clear();
  for (uint64_t offset : launch->parameter_offsets) launch->arguments.push_back(launch->parameters.data() + offset);
  const LaunchShape& shape = launch->shape;
  *parameters = {const_cast<void*>(launch->function),
                 dim3(shape.grid.x, shape.grid.y, shape.grid.z),
                 dim3(shape.block.x, shape.block.y, shape.block.z),
                 static_cast<unsigned>(shape.dynamic_shared_memory.count),
                 launch->arguments.data(),
                 nullptr};
  return cudaSuccess;
}
cudaError_t get_copy(cudaGraphNode_t node, cudaMemcpy3DParms* parameters) {
  auto* copy = operation_of<Copy>(node);
  if (!copy || !parameters) return cudaErrorInvalidValue;
  *parameters = copy->parameters;
  return cudaSuccess;
}
cudaError_t get_fill(cudaGraphNode_t node, cudaMemsetParams* parameters) {
  auto* fill = operation_of<Fill>(node);
  if (!fill || !parameters) return cudaErrorInvalidValue;
  *parameters = fill->parameters;
  return cudaSuccess;
}
cudaError_t get_host(cudaGraphNode_t node, cudaHostNodeParams* parameters) {
  auto* host = operation_of<HostCall>(node);
  if (!host || !parameters) return cudaErrorInvalidValue;
  *parameters = host->parameters;
  return cudaSuccess;
}

// Attributes steer scheduling only.
cudaError_t set_kernel_attribute(cudaGraphNode_t node, cudaKernelNodeAttrID, const cudaKernelNodeAttrValue* value) {
  return operation_of<KernelLaunch>(node) && value ? cudaSuccess : cudaErrorInvalidValue;
}
cudaError_t get_kernel_attribute(cudaGraphNode_t node, cudaKernelNodeAttrID, cudaKernelNodeAttrValue* value) {
  if (!operation_of<KernelLaunch>(node) || !value) return cudaErrorInvalidValue;
  *value = {};
  return cudaSuccess;
}
cudaError_t copy_kernel_attributes(cudaGraphNode_t to, cudaGraphNode_t from) {
  return operation_of<KernelLaunch>(to) && operation_of<KernelLaunch>(from) ? cudaSuccess : cudaErrorInvalidValue;
}

}  // namespace

void fill_graph_nodes(Slots& slots) {
  MNEME_EMULATE(cudaGraphAddKernelNode, add_node<cudaKernelNodeParams>);
  MNEME_EMULATE(cudaGraphKernelNodeSetParams, set_node<cudaKernelNodeParams>);
  MNEME_EMULATE(cudaGraphExecKernelNodeSetParams, set_exec_node<cudaKernelNodeParams>);
  MNEME_EMULATE(cudaGraphKernelNodeGetParams, get_kernel);
  MNEME_EMULATE(cudaGraphAddMemcpyNode, add_node<cudaMemcpy3DParms>);
  MNEME_EMULATE(cudaGraphMemcpyNodeSetParams, set_node<cudaMemcpy3DParms>);
  MNEME_EMULATE(cudaGraphExecMemcpyNodeSetParams, set_exec_node<cudaMemcpy3DParms>);
  MNEME_EMULATE(cudaGraphMemcpyNodeGetParams, get_copy);
  MNEME_EMULATE(cudaGraphAddMemsetNode, add_node<cudaMemsetParams>);
  MNEME_EMULATE(cudaGraphMemsetNodeSetParams, set_node<cudaMemsetParams>);
  MNEME_EMULATE(cudaGraphExecMemsetNodeSetParams, set_exec_node<cudaMemsetParams>);
  MNEME_EMULATE(cudaGraphMemsetNodeGetParams, get_fill);
  MNEME_EMULATE(cudaGraphAddHostNode, add_node<cudaHostNodeParams>);
  MNEME_EMULATE(cudaGraphHostNodeSetParams, set_node<cudaHostNodeParams>);
  MNEME_EMULATE(cudaGraphExecHostNodeSetParams, set_exec_node<cudaHostNodeParams>);
  MNEME_EMULATE(cudaGraphHostNodeGetParams, get_host);
  MNEME_EMULATE(cudaGraphAddMemcpyNode1D, add_copy_1d);
  MNEME_EMULATE(cudaGraphMemcpyNodeSetParams1D, set_copy_1d);
  MNEME_EMULATE(cudaGraphExecMemcpyNodeSetParams1D, set_exec_copy_1d);
  MNEME_EMULATE(cudaGraphAddMemcpyNodeToSymbol, add_copy_to_symbol);
  MNEME_EMULATE(cudaGraphAddMemcpyNodeFromSymbol, add_copy_from_symbol);
  MNEME_EMULATE(cudaGraphExecMemcpyNodeSetParamsToSymbol, set_exec_copy_to_symbol);
  MNEME_EMULATE(cudaGraphExecMemcpyNodeSetParamsFromSymbol, set_exec_copy_from_symbol);
  MNEME_EMULATE(cudaGraphAddEmptyNode, add_empty);
  MNEME_EMULATE(cudaGraphAddEventRecordNode, add_event_record);
  MNEME_EMULATE(cudaGraphEventRecordNodeGetEvent, get_recorded_event);
  MNEME_EMULATE(cudaGraphAddEventWaitNode, add_event_wait);
  MNEME_EMULATE(cudaGraphEventWaitNodeGetEvent, get_awaited_event);
  MNEME_EMULATE(cudaGraphAddChildGraphNode, add_child);
  MNEME_EMULATE(cudaGraphChildGraphNodeGetGraph, get_child);
  MNEME_EMULATE(cudaGraphExecChildGraphNodeSetParams, set_exec_child);
  MNEME_EMULATE(cudaGraphAddMemAllocNode, add_allocation);
  MNEME_EMULATE(cudaGraphMemAllocNodeGetParams, get_allocation);
  MNEME_EMULATE(cudaGraphAddMemFreeNode, add_release);
  MNEME_EMULATE(cudaGraphMemFreeNodeGetParams, get_release);
  MNEME_EMULATE(cudaGraphAddNode, add_any);
  MNEME_EMULATE(cudaGraphNodeSetParams, set_any);
  MNEME_EMULATE(cudaGraphExecNodeSetParams, set_exec_any);
  MNEME_EMULATE(cudaGraphNodeGetType, get_type);
  MNEME_EMULATE(cudaGraphKernelNodeSetAttribute, set_kernel_attribute);
  MNEME_EMULATE(cudaGraphKernelNodeGetAttribute, get_kernel_attribute);
  MNEME_EMULATE(cudaGraphKernelNodeCopyAttributes, copy_kernel_attributes);
}

}  // namespace mneme::emulation
