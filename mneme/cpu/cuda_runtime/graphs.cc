// Graphs: making, changing, instantiating and launching them. Nodes are in graph_nodes.cc.
#include <algorithm>
#include <map>
#include <mutex>

#include "mneme/cpu/cuda_runtime/capture.h"
#include "mneme/cpu/cuda_runtime/graph.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

struct GraphTable {
  std::mutex mutex;
  std::map<cudaGraph_t, std::shared_ptr<Graph>> graphs;
};
GraphTable& table() {
  static GraphTable* table = new GraphTable;
  return *table;
}

cudaError_t create(cudaGraph_t* graph, unsigned flags) {
  if (!graph || flags != 0) return cudaErrorInvalidValue;
  *graph = give_handle(std::make_shared<Graph>());
  return cudaSuccess;
}

cudaError_t destroy(cudaGraph_t graph) {
  std::lock_guard lock(table().mutex);
  return table().graphs.erase(graph) == 1 ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t clone(cudaGraph_t* copy, cudaGraph_t original) {
  std::shared_ptr<Graph> graph = find_graph(original);
  if (!copy || !graph) return cudaErrorInvalidValue;
  *copy = give_handle(graph->clone());
  return cudaSuccess;
}

cudaError_t find_in_clone(cudaGraphNode_t* found, cudaGraphNode_t original, cudaGraph_t clone) {
  std::shared_ptr<Graph> graph = find_graph(clone);
  if (!found || !graph) return cudaErrorInvalidValue;
  for (const auto& node : graph->nodes) {
    if (node->original != GraphNode::of(original)) continue;
    *found = node->handle();
    return cudaSuccess;
  }
  return cudaErrorInvalidValue;
}

// Fills an array of handles as CUDA's queries do: with a null array only the number is returned.
cudaError_t give_nodes(const std::vector<GraphNode*>& nodes, cudaGraphNode_t* out, size_t* count) {
  if (!count) return cudaErrorInvalidValue;
  if (out)
    for (size_t i = 0; i < *count; ++i) out[i] = i < nodes.size() ? nodes[i]->handle() : nullptr;
  *count = out ? std::min(*count, nodes.size()) : nodes.size();
  return cudaSuccess;
}

cudaError_t get_nodes(cudaGraph_t handle, cudaGraphNode_t* out, size_t* count) {
  std::shared_ptr<Graph> graph = find_graph(handle);
  if (!graph) return cudaErrorInvalidValue;
  std::vector<GraphNode*> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  return give_nodes(all, out, count);
}

cudaError_t get_roots(cudaGraph_t handle, cudaGraphNode_t* out, size_t* count) {
  std::shared_ptr<Graph> graph = find_graph(handle);
  if (!graph) return cudaErrorInvalidValue;
  std::vector<GraphNode*> roots;
  for (const auto& node : graph->nodes)
    if (node->dependencies.empty()) roots.push_back(node.get());
  return give_nodes(roots, out, count);
}

cudaError_t get_edges(cudaGraph_t handle, cudaGraphNode_t* from, cudaGraphNode_t* to, cudaGraphEdgeData* data, size_t* count) {
  std::shared_ptr<Graph> graph = find_graph(handle);
  if (!graph || !count) return cudaErrorInvalidValue;
  size_t edges = 0;
  for (const auto& node : graph->nodes) {
    for (GraphNode* dependency : node->dependencies) {
      if (from && to && edges < *count) {
        from[edges] = dependency->handle();
        to[edges] = node->handle();
        if (data) data[edges] = {};
      }
      ++edges;
    }
  }
  *count = from && to ? std::min(*count, edges) : edges;
  return cudaSuccess;
}

cudaError_t get_dependencies(cudaGraphNode_t node, cudaGraphNode_t* out, cudaGraphEdgeData* data, size_t* count) {
  if (!node) return cudaErrorInvalidValue;
  if (data && count) std::fill_n(data, *count, cudaGraphEdgeData{});
  return give_nodes(GraphNode::of(node)->dependencies, out, count);
}

cudaError_t get_dependents(cudaGraphNode_t handle, cudaGraphNode_t* out, cudaGraphEdgeData* data, size_t* count) {
  if (!handle) return cudaErrorInvalidValue;
  if (data && count) std::fill_n(data, *count, cudaGraphEdgeData{});
  GraphNode* node = GraphNode::of(handle);
  std::vector<GraphNode*> dependents;
  for (const auto& other : node->graph->nodes)
    if (std::find(other->dependencies.begin(), other->dependencies.end(), node) != other->dependencies.end())
      dependents.push_back(other.get());
  return give_nodes(dependents, out, count);
}

cudaError_t change_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t count,
                                bool add) {
  if (!find_graph(graph) || (count != 0 && (!from || !to))) return cudaErrorInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    std::vector<GraphNode*>& dependencies = GraphNode::of(to[i])->dependencies;
    auto found = std::find(dependencies.begin(), dependencies.end(), GraphNode::of(from[i]));
    if (add == (found != dependencies.end())) return cudaErrorInvalidValue;
    if (add)
      dependencies.push_back(GraphNode::of(from[i]));
    else
      dependencies.erase(found);
  }
  return cudaSuccess;
}
cudaError_t add_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, const cudaGraphEdgeData*,
                             size_t count) {
  return change_dependencies(graph, from, to, count, true);
}
cudaError_t remove_dependencies(cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to,
                                const cudaGraphEdgeData*, size_t count) {
  return change_dependencies(graph, from, to, count, false);
}

cudaError_t destroy_node(cudaGraphNode_t handle) {
  if (!handle) return cudaErrorInvalidValue;
  GraphNode* node = GraphNode::of(handle);
  Graph& graph = *node->graph;
  for (const auto& other : graph.nodes) std::erase(other->dependencies, node);
  std::erase_if(graph.nodes, [&](const auto& other) { return other.get() == node; });
  return cudaSuccess;
}

cudaError_t instantiate(cudaGraphExec_t* exec, cudaGraph_t handle, unsigned long long flags) {
  std::shared_ptr<Graph> graph = find_graph(handle);
  if (!exec || !graph) return cudaErrorInvalidValue;
  auto made = std::make_unique<GraphExec>();
  if (!made->assign(*graph)) return cudaErrorInvalidValue;
  made->flags = flags;
  *exec = reinterpret_cast<cudaGraphExec_t>(made.release());
  return cudaSuccess;
}
cudaError_t instantiate_with_parameters(cudaGraphExec_t* exec, cudaGraph_t graph, cudaGraphInstantiateParams* parameters) {
  if (!parameters) return cudaErrorInvalidValue;
  parameters->errNode_out = nullptr;
  cudaError_t result = instantiate(exec, graph, parameters->flags);
  parameters->result_out = result == cudaSuccess ? cudaGraphInstantiateSuccess : cudaGraphInstantiateError;
  return result;
}

cudaError_t exec_destroy(cudaGraphExec_t exec) {
  if (!exec) return cudaErrorInvalidValue;
  delete GraphExec::of(exec);
  return cudaSuccess;
}

cudaError_t exec_get_flags(cudaGraphExec_t exec, unsigned long long* flags) {
  if (!exec || !flags) return cudaErrorInvalidValue;
  *flags = GraphExec::of(exec)->flags;
  return cudaSuccess;
}

cudaError_t upload(cudaGraphExec_t exec, cudaStream_t) { return exec ? cudaSuccess : cudaErrorInvalidValue; }

cudaError_t launch(cudaGraphExec_t handle, cudaStream_t stream) {
  if (!handle) return cudaErrorInvalidValue;
  if (is_capturing(stream)) return cudaErrorStreamCaptureUnsupported;
  for (const GraphExec::Step& step : GraphExec::of(handle)->steps) {
    if (!step.enabled) continue;
    if (cudaError_t result = run(step.operation, Repeat::by_graph); result != cudaSuccess) return result;
  }
  return cudaSuccess;
}

cudaError_t exec_update(cudaGraphExec_t handle, cudaGraph_t graph_handle, cudaGraphExecUpdateResultInfo* info) {
  std::shared_ptr<Graph> graph = find_graph(graph_handle);
  if (!handle || !graph) return cudaErrorInvalidValue;
  GraphExec& exec = *GraphExec::of(handle);
  GraphExec changed;
  cudaGraphExecUpdateResult result = cudaGraphExecUpdateSuccess;
  if (!changed.assign(*graph))
    result = cudaGraphExecUpdateError;
  else if (changed.steps.size() != exec.steps.size())
    result = cudaGraphExecUpdateErrorTopologyChanged;
  else if (!std::equal(exec.steps.begin(), exec.steps.end(), changed.steps.begin(),
                       [](const auto& a, const auto& b) { return a.operation.index() == b.operation.index(); }))
    result = cudaGraphExecUpdateErrorNodeTypeChanged;
  if (info) *info = {.result = result, .errorNode = nullptr, .errorFromNode = nullptr};
  if (result != cudaGraphExecUpdateSuccess) return cudaErrorGraphExecUpdateFailure;
  // Later updates go on naming nodes of the graph that the executable was made from.
  for (size_t i = 0; i < exec.steps.size(); ++i) exec.steps[i].operation = std::move(changed.steps[i].operation);
  return cudaSuccess;
}

cudaError_t set_enabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned enabled) {
  GraphExec::Step* step = exec ? GraphExec::of(exec)->find(GraphNode::of(node)) : nullptr;
  if (!step) return cudaErrorInvalidValue;
  step->enabled = enabled != 0;
  return cudaSuccess;
}
cudaError_t get_enabled(cudaGraphExec_t exec, cudaGraphNode_t node, unsigned* enabled) {
  GraphExec::Step* step = exec ? GraphExec::of(exec)->find(GraphNode::of(node)) : nullptr;
  if (!step || !enabled) return cudaErrorInvalidValue;
  *enabled = step->enabled;
  return cudaSuccess;
}

}  // namespace

GraphNode* Graph::add(Operation operation, std::vector<GraphNode*> dependencies) {
  nodes.push_back(std::make_unique<GraphNode>(GraphNode{std::move(operation), std::move(dependencies), this, nullptr}));
  return nodes.back().get();
}

std::vector<GraphNode*> Graph::in_order() const {
  std::map<const GraphNode*, size_t> missing;  // dependencies that are not in `order` yet
  std::map<const GraphNode*, std::vector<GraphNode*>> dependents;
  std::vector<GraphNode*> order;
  for (const auto& node : nodes) {
    missing[node.get()] = node->dependencies.size();
    for (GraphNode* dependency : node->dependencies) dependents[dependency].push_back(node.get());
    if (node->dependencies.empty()) order.push_back(node.get());
  }
  for (size_t next = 0; next < order.size(); ++next)
    for (GraphNode* dependent : dependents[order[next]])
      if (--missing[dependent] == 0) order.push_back(dependent);
  if (order.size() != nodes.size()) order.clear();
  return order;
}

std::shared_ptr<Graph> Graph::clone() const {
  auto copy = std::make_shared<Graph>();
  std::map<const GraphNode*, GraphNode*> of;
  for (const auto& node : nodes) {
    Operation operation = node->operation;
    if (auto* child = std::get_if<ChildGraph>(&operation)) child->graph = child->graph->clone();
    GraphNode* made = copy->add(std::move(operation), {});
    made->original = node.get();
    of[node.get()] = made;
  }
  for (const auto& node : nodes)
    for (GraphNode* dependency : node->dependencies) of[node.get()]->dependencies.push_back(of[dependency]);
  return copy;
}

cudaError_t run_graph(const Graph& graph) {
  for (GraphNode* node : graph.in_order())
    if (cudaError_t result = run(node->operation, Repeat::by_graph); result != cudaSuccess) return result;
  return cudaSuccess;
}

cudaGraph_t give_handle(std::shared_ptr<Graph> graph) {
  cudaGraph_t handle = graph->handle();
  std::lock_guard lock(table().mutex);
  table().graphs[handle] = std::move(graph);
  return handle;
}

std::shared_ptr<Graph> find_graph(cudaGraph_t handle) {
  std::lock_guard lock(table().mutex);
  auto found = table().graphs.find(handle);
  return found == table().graphs.end() ? nullptr : found->second;
}

bool GraphExec::assign(const Graph& graph) {
  std::vector<GraphNode*> order = graph.in_order();
  if (order.empty() && !graph.nodes.empty()) return false;
  steps.clear();
  for (GraphNode* node : order) {
    Operation operation = node->operation;
    if (auto* child = std::get_if<ChildGraph>(&operation)) child->graph = child->graph->clone();
    steps.push_back({node, std::move(operation)});
  }
  return true;
}

GraphExec::Step* GraphExec::find(const GraphNode* node) {
  for (Step& step : steps)
    if (step.node == node) return &step;
  return nullptr;
}

void fill_graphs(Slots& slots) {
  MNEME_EMULATE(cudaGraphCreate, create);
  MNEME_EMULATE(cudaGraphDestroy, destroy);
  MNEME_EMULATE(cudaGraphClone, clone);
  MNEME_EMULATE(cudaGraphNodeFindInClone, find_in_clone);
  MNEME_EMULATE(cudaGraphGetNodes, get_nodes);
  MNEME_EMULATE(cudaGraphGetRootNodes, get_roots);
  MNEME_EMULATE(cudaGraphGetEdges, get_edges);
  MNEME_EMULATE(cudaGraphNodeGetDependencies, get_dependencies);
  MNEME_EMULATE(cudaGraphNodeGetDependentNodes, get_dependents);
  MNEME_EMULATE(cudaGraphAddDependencies, add_dependencies);
  MNEME_EMULATE(cudaGraphRemoveDependencies, remove_dependencies);
  MNEME_EMULATE(cudaGraphDestroyNode, destroy_node);
  MNEME_EMULATE(cudaGraphInstantiate, instantiate);
  MNEME_EMULATE(cudaGraphInstantiateWithFlags, instantiate);
  MNEME_EMULATE_PTSZ(cudaGraphInstantiateWithParams, instantiate_with_parameters);
  MNEME_EMULATE(cudaGraphExecDestroy, exec_destroy);
  MNEME_EMULATE(cudaGraphExecGetFlags, exec_get_flags);
  MNEME_EMULATE(cudaGraphExecUpdate, exec_update);
  MNEME_EMULATE_PTSZ(cudaGraphUpload, upload);
  MNEME_EMULATE_PTSZ(cudaGraphLaunch, launch);
  MNEME_EMULATE(cudaGraphNodeSetEnabled, set_enabled);
  MNEME_EMULATE(cudaGraphNodeGetEnabled, get_enabled);
}

}  // namespace mneme::emulation
