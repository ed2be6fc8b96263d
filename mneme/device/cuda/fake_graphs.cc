// Graphs of the fake driver, and capturing of streams, which makes them. A graph's nodes run one after another when it is
// launched; what the real driver refuses of clones is refused. With MNEME_FAKE_NODE_CONTEXTS in the environment nodes of kernels
// tell their context, as those of newer drivers do.
#include <cuda.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "mneme/device/cuda/fake_driver.h"

namespace {

struct Node;
// What the arguments of every kernel are held in. A node has another one each time that it is set.
struct Arguments {
  CUdeviceptr address = 0;
  unsigned count = 0;
  void* list[2] = {&address, &count};
};
struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;      // in order of insertion
  std::map<const Node*, Node*> clones;           // of a clone: by the nodes of what it was cloned from
  std::map<const Node*, const Node*> originals;  // the other way round, through child graphs too
};
struct Node {
  CUgraphNodeType type{};
  Graph* owner = nullptr;
  std::set<Node*> waits_for;
  bool enabled = true;
  CUDA_KERNEL_NODE_PARAMS kernel{};
  std::unique_ptr<Arguments> arguments;
  std::map<int, CUlaunchAttributeValue> attributes;
  CUDA_MEMCPY3D copy{};
  CUDA_MEMSET_NODE_PARAMS fill{};
  CUDA_HOST_NODE_PARAMS host{};
  CUevent event = nullptr;
  CUDA_MEM_ALLOC_NODE_PARAMS memory{};
  std::unique_ptr<Graph> child;  // of a condition: what it runs
  CUgraph body = nullptr;        // the same, in the list that the program is given
  bool decides = false;          // of a condition
};
struct Exec {
  std::unique_ptr<Graph> graph;
  std::map<const Node*, Node*> by_original;
};
struct Capturing {
  std::unique_ptr<Graph> graph;
  Node* last = nullptr;
};

mneme::cuda::CountedMutex<std::recursive_mutex> mutex;
std::map<CUstream, Capturing> capturing;
std::set<Exec*> execs;
std::map<CUgraphConditionalHandle, bool> conditions;
bool late_hosts = false;                      // nodes of the host run beside the program
auto& hosts = *new std::vector<std::thread>;  // in which they do

Graph* of(CUgraph graph) { return reinterpret_cast<Graph*>(graph); }
Node* of(CUgraphNode node) { return reinterpret_cast<Node*>(node); }
Exec* of(CUgraphExec exec) { return reinterpret_cast<Exec*>(exec); }
CUgraph handle(Graph* graph) { return reinterpret_cast<CUgraph>(graph); }
CUgraphNode handle(Node* node) { return reinterpret_cast<CUgraphNode>(node); }

// Whoever reads what a node has held before finds wrong values, and no others that came there by chance.
void drop_arguments(Node& node) {
  static auto& dropped = *new std::vector<std::unique_ptr<Arguments>>;
  if (!node.arguments) return;
  node.arguments->address = 0xdddddddddddddddd;
  node.arguments->count = 0xdddddddd;
  dropped.push_back(std::move(node.arguments));
}

void set_kernel(Node& node, const CUDA_KERNEL_NODE_PARAMS& kernel) {
  node.kernel = kernel;
  if (!kernel.func) node.kernel.func = reinterpret_cast<CUfunction>(kernel.kern);
  const char* packed = kernel.extra ? static_cast<const char*>(kernel.extra[1]) : nullptr;
  auto given = std::make_unique<Arguments>();
  std::memcpy(&given->address, packed ? packed : kernel.kernelParams[0], sizeof given->address);
  std::memcpy(&given->count, packed ? packed + 8 : kernel.kernelParams[1], sizeof given->count);
  drop_arguments(node);
  node.arguments = std::move(given);
  node.kernel.kernelParams = node.arguments->list;
  node.kernel.extra = nullptr;
  if (!std::getenv("MNEME_FAKE_NODE_CONTEXTS"))
    node.kernel.ctx = nullptr;
  else if (kernel.func || !kernel.ctx)
    node.kernel.ctx = mneme::cuda::fake_context().first;
}
void copy_kernel(Node& to, const Node& from) {
  if (!from.arguments) return;
  set_kernel(to, from.kernel);
  to.kernel.ctx = from.kernel.ctx;
}
CUDA_KERNEL_NODE_PARAMS widen(const CUDA_KERNEL_NODE_PARAMS_v1& v1) {
  CUDA_KERNEL_NODE_PARAMS kernel{};
  std::memcpy(&kernel, &v1, sizeof v1);
  return kernel;
}

CUDA_KERNEL_NODE_PARAMS narrow(const CUDA_KERNEL_NODE_PARAMS_v3& v3) {
  return {v3.func,      v3.gridDimX,       v3.gridDimY,     v3.gridDimZ, v3.blockDimX, v3.blockDimY,
          v3.blockDimZ, v3.sharedMemBytes, v3.kernelParams, v3.extra,    v3.kern,      v3.ctx};
}
void set_any(Node& node, const CUgraphNodeParams& parameters) {
  if (parameters.type == CU_GRAPH_NODE_TYPE_KERNEL)
    set_kernel(node, narrow(parameters.kernel));
  else
    node.fill.value = parameters.memset.value;
}

Node* add(Graph& graph, CUgraphNodeType type, const CUgraphNode* dependencies, size_t count) {
  Node* node = graph.nodes.emplace_back(std::make_unique<Node>()).get();
  node->type = type;
  node->owner = &graph;
  for (size_t i = 0; i < count; ++i) node->waits_for.insert(of(dependencies[i]));
  return node;
}

std::unique_ptr<Graph> clone(const Graph& graph) {
  auto copy = std::make_unique<Graph>();
  for (const auto& node : graph.nodes) {
    Node* made = add(*copy, node->type, nullptr, 0);
    copy_kernel(*made, *node);
    made->attributes = node->attributes;
    made->copy = node->copy;
    made->fill = node->fill;
    made->host = node->host;
    made->event = node->event;
    made->memory = node->memory;
    made->decides = node->decides;
    if (node->child) {
      made->child = clone(*node->child);
      copy->originals.insert(made->child->originals.begin(), made->child->originals.end());
    }
    copy->clones[node.get()] = made;
    copy->originals[made] = node.get();
  }
  for (const auto& node : graph.nodes)
    for (Node* before : node->waits_for) copy->clones[node.get()]->waits_for.insert(copy->clones.at(before));
  return copy;
}

bool has(const Graph& graph, std::initializer_list<CUgraphNodeType> types) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const auto& node) {
    return std::find(types.begin(), types.end(), node->type) != types.end() || (node->child && has(*node->child, types));
  });
}

// Other threads may call the driver meanwhile.
void call_host(const CUDA_HOST_NODE_PARAMS& host) {
  if (late_hosts) return static_cast<void>(hosts.emplace_back(host.fn, host.userData));
  mutex.unlock();
  host.fn(host.userData);
  mutex.lock();
}

CUresult run(Graph& graph, CUstream stream);
CUresult run(Node& node, CUstream stream) {
  if (!node.enabled) return CUDA_SUCCESS;
  switch (node.type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
      return cuLaunchKernel(node.kernel.func, node.kernel.gridDimX, node.kernel.gridDimY, node.kernel.gridDimZ,
                            node.kernel.blockDimX, node.kernel.blockDimY, node.kernel.blockDimZ, node.kernel.sharedMemBytes,
                            stream, node.kernel.kernelParams, nullptr);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      std::memcpy(reinterpret_cast<void*>(node.copy.dstDevice), reinterpret_cast<void*>(node.copy.srcDevice),
                  node.copy.WidthInBytes);
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_MEMSET:
      std::memset(reinterpret_cast<void*>(node.fill.dst), static_cast<int>(node.fill.value), node.fill.width);
      return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_HOST: return call_host(node.host), CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_GRAPH: return run(*node.child, stream);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: return node.decides ? run(*node.child, stream) : CUDA_SUCCESS;
    default: return CUDA_SUCCESS;
  }
}

// Those that were added last come first, as far as they need not wait.
CUresult run(Graph& graph, CUstream stream) {
  std::set<Node*> done;
  while (done.size() != graph.nodes.size()) {
    const auto next = std::find_if(graph.nodes.rbegin(), graph.nodes.rend(), [&](const auto& node) {
      return !done.contains(node.get()) &&
             std::includes(done.begin(), done.end(), node->waits_for.begin(), node->waits_for.end());
    });
    if (CUresult code = run(**next, stream); code != CUDA_SUCCESS) return code;
    done.insert(next->get());
  }
  return CUDA_SUCCESS;
}

CUresult instantiate(CUgraphExec* out, CUgraph graph) {
  auto exec = std::make_unique<Exec>();
  exec->graph = clone(*of(graph));
  for (const auto& [copy, original] : exec->graph->originals) exec->by_original[original] = const_cast<Node*>(copy);
  execs.insert(exec.get());
  *out = reinterpret_cast<CUgraphExec>(exec.release());
  return CUDA_SUCCESS;
}

// The node of the executable graph that is named by one of the graph that it was made from.
Node* named(CUgraphExec exec, CUgraphNode node) {
  const auto found = of(exec)->by_original.find(of(node));
  return found == of(exec)->by_original.end() ? nullptr : found->second;
}

// Gives the nodes of one graph what those of another have.
bool take(Graph& to, const Graph& from) {
  if (to.nodes.size() != from.nodes.size()) return false;
  for (size_t i = 0; i < to.nodes.size(); ++i) {
    Node& node = *to.nodes[i];
    const Node& other = *from.nodes[i];
    if (node.type != other.type || node.waits_for.size() != other.waits_for.size()) return false;
    copy_kernel(node, other);
    node.copy = other.copy;
    node.fill = other.fill;
    node.host = other.host;
    if (node.child && !take(*node.child, *other.child)) return false;
  }
  return true;
}

}  // namespace

namespace mneme::cuda {
namespace {
Node* capture(CUstream stream, CUgraphNodeType type) {
  const auto found = capturing.find(stream);
  if (found == capturing.end()) return nullptr;
  const CUgraphNode last = handle(found->second.last);
  return found->second.last = add(*found->second.graph, type, &last, found->second.last ? 1 : 0);
}
}  // namespace

bool fake_capture_kernel(CUstream stream, const CUDA_KERNEL_NODE_PARAMS& kernel) {
  std::lock_guard lock(mutex);
  Node* node = capture(stream, CU_GRAPH_NODE_TYPE_KERNEL);
  if (node) set_kernel(*node, kernel);
  return node != nullptr;
}
bool fake_capture_memory(CUstream stream, CUdeviceptr address, size_t size) {
  std::lock_guard lock(mutex);
  Node* node = capture(stream, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  if (node) node->memory.dptr = address, node->memory.bytesize = size;
  return node != nullptr;
}
void fake_wait_for_hosts() {
  std::vector<std::thread> running;
  {
    std::lock_guard lock(mutex);
    running.swap(hosts);
  }
  for (std::thread& one : running) one.join();
}
}  // namespace mneme::cuda

#define ENTER()                \
  std::lock_guard lock(mutex); \
  if (CUresult result = mneme::cuda::fake_enter(__func__); result != CUDA_SUCCESS) return result

extern "C" {

// Makes the next call of a function fail, after so many good ones.
void mneme_fake_fail(const char* function, int after, CUresult result) {
  auto& state = mneme::cuda::fake_state();
  state.fail_function = function;
  state.fail_after = after;
  state.fail_result = result;
}
// From now on, what is behind a node of the host does not wait for it; cuCtxSynchronize() does.
void mneme_fake_late_hosts() { late_hosts = true; }
// What no hook sees.
CUresult mneme_fake_instantiate(CUgraphExec* exec, CUgraph graph) { return instantiate(exec, graph); }
size_t mneme_fake_executable_graphs() { return execs.size(); }

#undef cuStreamBeginCapture
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  ENTER();
  capturing[stream].graph = std::make_unique<Graph>();
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  ENTER();
  auto ended = capturing.extract(stream);
  if (ended.empty()) return CUDA_ERROR_ILLEGAL_STATE;
  *graph = handle(ended.mapped().graph.release());
  return CUDA_SUCCESS;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  std::lock_guard lock(mutex);
  *status = capturing.contains(stream) ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}

CUresult cuGraphCreate(CUgraph* graph, unsigned) {
  ENTER();
  *graph = handle(new Graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroy(CUgraph graph) {
  ENTER();
  delete of(graph);
  return CUDA_SUCCESS;
}
CUresult cuGraphClone(CUgraph* out, CUgraph graph) {
  ENTER();
  if (has(*of(graph), {CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_FREE, CU_GRAPH_NODE_TYPE_CONDITIONAL}))
    return CUDA_ERROR_NOT_SUPPORTED;
  *out = handle(clone(*of(graph)).release());
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode node, CUgraph graph) {
  ENTER();
  const auto found = of(graph)->clones.find(of(node));
  if (found == of(graph)->clones.end()) return CUDA_ERROR_INVALID_VALUE;
  *out = handle(found->second);
  return CUDA_SUCCESS;
}
CUresult cuGraphDestroyNode(CUgraphNode node) {
  ENTER();
  Graph& graph = *of(node)->owner;
  for (const auto& other : graph.nodes) other->waits_for.erase(of(node));
  std::erase_if(graph.clones, [&](const auto& clone) { return clone.second == of(node); });
  graph.originals.erase(of(node));
  std::erase_if(graph.nodes, [&](const auto& other) { return other.get() == of(node); });
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  ENTER();
  const auto& all = of(graph)->nodes;
  for (size_t i = 0; nodes && i < *count && i < all.size(); ++i) nodes[i] = handle(all[i].get());
  *count = all.size();
  return CUDA_SUCCESS;
}
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData*, size_t* count) {
  ENTER();
  size_t i = 0;
  for (const auto& node : of(graph)->nodes)
    for (Node* before : node->waits_for) {
      if (from && i < *count) from[i] = handle(before), to[i] = handle(node.get());
      ++i;
    }
  *count = i;
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  ENTER();
  *type = of(node)->type;
  return CUDA_SUCCESS;
}

CUresult cuGraphAddKernelNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                              const CUDA_KERNEL_NODE_PARAMS* kernel) {
  ENTER();
  Node* node = add(*of(graph), CU_GRAPH_NODE_TYPE_KERNEL, before, count);
  set_kernel(*node, *kernel);
  *out = handle(node);
  return CUDA_SUCCESS;
}
CUresult cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count, const CUDA_MEMCPY3D* copy,
                              CUcontext) {
  ENTER();
  Node* node = add(*of(graph), CU_GRAPH_NODE_TYPE_MEMCPY, before, count);
  node->copy = *copy;
  *out = handle(node);
  return CUDA_SUCCESS;
}
CUresult cuGraphAddMemsetNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                              const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext) {
  ENTER();
  Node* node = add(*of(graph), CU_GRAPH_NODE_TYPE_MEMSET, before, count);
  node->fill = *fill;
  *out = handle(node);
  return CUDA_SUCCESS;
}
CUresult cuGraphAddHostNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                            const CUDA_HOST_NODE_PARAMS* host) {
  ENTER();
  Node* node = add(*of(graph), CU_GRAPH_NODE_TYPE_HOST, before, count);
  node->host = *host;
  *out = handle(node);
  return CUDA_SUCCESS;
}
CUresult cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count, CUgraph child) {
  ENTER();
  Node* node = add(*of(graph), CU_GRAPH_NODE_TYPE_GRAPH, before, count);
  node->child = clone(*of(child));
  *out = handle(node);
  return CUDA_SUCCESS;
}
CUresult cuGraphAddEventRecordNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count, CUevent event) {
  ENTER();
  Node* node = add(*of(graph), CU_GRAPH_NODE_TYPE_EVENT_RECORD, before, count);
  node->event = event;
  *out = handle(node);
  return CUDA_SUCCESS;
}
CUresult cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count,
                                CUDA_MEM_ALLOC_NODE_PARAMS* memory) {
  ENTER();
  Node* node = add(*of(graph), CU_GRAPH_NODE_TYPE_MEM_ALLOC, before, count);
  memory->dptr = reinterpret_cast<CUdeviceptr>(std::calloc(1, memory->bytesize));
  node->memory = *memory;
  *out = handle(node);
  return CUDA_SUCCESS;
}
CUresult cuGraphAddMemFreeNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count, CUdeviceptr) {
  ENTER();
  *out = handle(add(*of(graph), CU_GRAPH_NODE_TYPE_MEM_FREE, before, count));
  return CUDA_SUCCESS;
}
// What is decided is the value that the program gives it, since no kernel runs here that sets one.
CUresult cuGraphConditionalHandleCreate(CUgraphConditionalHandle* handle, CUgraph, CUcontext, unsigned value, unsigned) {
  ENTER();
  *handle = 0xc0de0000 + conditions.size();
  conditions[*handle] = value != 0;
  return CUDA_SUCCESS;
}
// Of a kernel, or of a condition with one body.
CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, const CUgraphEdgeData*, size_t count,
                        CUgraphNodeParams* parameters) {
  ENTER();
  Node* node = add(*of(graph), parameters->type, before, count);
  if (node->type == CU_GRAPH_NODE_TYPE_KERNEL) set_kernel(*node, narrow(parameters->kernel));
  if (node->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
    node->child = std::make_unique<Graph>();
    node->body = handle(node->child.get());
    node->decides = conditions[parameters->conditional.handle];
    parameters->conditional.phGraph_out = &node->body;
  }
  *out = handle(node);
  return CUDA_SUCCESS;
}
#undef cuGraphAddNode
CUresult cuGraphAddNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* before, size_t count, CUgraphNodeParams* parameters) {
  return cuGraphAddNode_v2(out, graph, before, nullptr, count, parameters);
}

CUresult cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS* kernel) {
  ENTER();
  *kernel = of(node)->kernel;
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* kernel) {
  ENTER();
  set_kernel(*of(node), *kernel);
  return CUDA_SUCCESS;
}
#undef cuGraphKernelNodeSetParams
CUresult cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* kernel) {
  ENTER();
  set_kernel(*of(node), widen(*kernel));
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID id, CUkernelNodeAttrValue* value) {
  ENTER();
  *value = of(node)->attributes[static_cast<int>(id)];
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID id, const CUkernelNodeAttrValue* value) {
  ENTER();
  of(node)->attributes[static_cast<int>(id)] = *value;
  return CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  ENTER();
  of(to)->attributes = of(from)->attributes;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* copy) {
  ENTER();
  of(node)->copy = *copy;
  return CUDA_SUCCESS;
}
CUresult cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill) {
  ENTER();
  of(node)->fill = *fill;
  return CUDA_SUCCESS;
}
CUresult cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* host) {
  ENTER();
  of(node)->host = *host;
  return CUDA_SUCCESS;
}
CUresult cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  ENTER();
  of(node)->event = event;
  return CUDA_SUCCESS;
}
CUresult cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* parameters) {
  ENTER();
  set_any(*of(node), *parameters);
  return CUDA_SUCCESS;
}
CUresult cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* graph) {
  ENTER();
  *graph = handle(of(node)->child.get());
  return CUDA_SUCCESS;
}
CUresult cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* memory) {
  ENTER();
  *memory = of(node)->memory;
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  ENTER();
  return instantiate(exec, graph);
}
CUresult cuGraphInstantiateWithParams(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS*) {
  ENTER();
  return instantiate(exec, graph);
}
CUresult cuGraphInstantiate_v2(CUgraphExec* exec, CUgraph graph, CUgraphNode*, char*, size_t) {
  ENTER();
  return instantiate(exec, graph);
}
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec* exec, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS*) {
  ENTER();
  return instantiate(exec, graph);
}
CUresult cuGraphExecDestroy(CUgraphExec exec) {
  ENTER();
  execs.erase(of(exec));
  delete of(exec);
  return CUDA_SUCCESS;
}
#define FIND_NODE()                      \
  Node* const found = named(exec, node); \
  if (!found) return CUDA_ERROR_INVALID_VALUE
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS* kernel) {
  ENTER();
  FIND_NODE();
  set_kernel(*found, *kernel);
  return CUDA_SUCCESS;
}
#undef cuGraphExecKernelNodeSetParams
CUresult cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* kernel) {
  ENTER();
  FIND_NODE();
  set_kernel(*found, widen(*kernel));
  return CUDA_SUCCESS;
}
CUresult cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* copy, CUcontext) {
  ENTER();
  FIND_NODE();
  found->copy = *copy;
  return CUDA_SUCCESS;
}
CUresult cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* fill, CUcontext) {
  ENTER();
  FIND_NODE();
  found->fill = *fill;
  return CUDA_SUCCESS;
}
CUresult cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* host) {
  ENTER();
  FIND_NODE();
  found->host = *host;
  return CUDA_SUCCESS;
}
CUresult cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  ENTER();
  FIND_NODE();
  found->event = event;
  return CUDA_SUCCESS;
}
CUresult cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* parameters) {
  ENTER();
  FIND_NODE();
  if (parameters->type == CU_GRAPH_NODE_TYPE_GRAPH)
    return take(*found->child, *of(parameters->graph.graph)) ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  set_any(*found, *parameters);
  return CUDA_SUCCESS;
}
CUresult cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  ENTER();
  FIND_NODE();
  return take(*found->child, *of(child)) ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo*) {
  ENTER();
  return take(*of(exec)->graph, *of(graph)) ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}
#undef cuGraphExecUpdate
CUresult cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode*, CUgraphExecUpdateResult*) {
  ENTER();
  return take(*of(exec)->graph, *of(graph)) ? CUDA_SUCCESS : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}
CUresult cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode node, unsigned enabled) {
  ENTER();
  FIND_NODE();
  if (found->type != CU_GRAPH_NODE_TYPE_KERNEL && found->type != CU_GRAPH_NODE_TYPE_MEMCPY &&
      found->type != CU_GRAPH_NODE_TYPE_MEMSET)
    return CUDA_ERROR_INVALID_VALUE;
  found->enabled = enabled != 0;
  return CUDA_SUCCESS;
}
CUresult cuGraphUpload(CUgraphExec, CUstream) {
  ENTER();
  return CUDA_SUCCESS;
}
CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream) {
  if (mneme::cuda::fake_state().idle) return CUDA_SUCCESS;
  ENTER();
  if (const auto found = capturing.find(stream); found != capturing.end()) {
    const CUgraphNode last = handle(found->second.last);
    found->second.last = add(*found->second.graph, CU_GRAPH_NODE_TYPE_GRAPH, &last, found->second.last ? 1 : 0);
    found->second.last->child = clone(*of(exec)->graph);
    return CUDA_SUCCESS;
  }
  return run(*of(exec)->graph, stream);
}

CUresult cuGraphLaunch_ptsz(CUgraphExec exec, CUstream stream) { return cuGraphLaunch(exec, stream); }

}  // extern "C"
