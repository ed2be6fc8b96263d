#include "mneme/record/driver/graphs.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <queue>
#include <unordered_map>

#include "mneme/base/log.h"
#include "mneme/record/driver/driver_front.h"
#include "mneme/record/driver/launches.h"

namespace mneme::driver {
namespace {

// What is asked of the driver about graphs, and done with them. Null where the driver lacks it.
#define MNEME_GRAPH_CALLS(X)       \
  X(cuGraphGetNodes)               \
  X(cuGraphGetEdges)               \
  X(cuGraphNodeGetType)            \
  X(cuGraphKernelNodeGetParams)    \
  X(cuGraphKernelNodeGetAttribute) \
  X(cuGraphChildGraphNodeGetGraph) \
  X(cuGraphMemAllocNodeGetParams)  \
  X(cuGraphClone)                  \
  X(cuGraphNodeFindInClone)        \
  X(cuGraphDestroyNode)            \
  X(cuGraphDestroy)                \
  X(cuGraphInstantiate)            \
  X(cuGraphNodeSetEnabled)         \
  X(cuGraphExecDestroy)

// Those without which graphs that cannot be cloned are not run in parts.
#define MNEME_HELD_GRAPH_CALLS(X) \
  X(cuGraphCreate)                \
  X(cuGraphAddKernelNode)         \
  X(cuGraphKernelNodeCopyAttributes)

#define MNEME_QUOTE_(name) #name
#define MNEME_QUOTE(name) MNEME_QUOTE_(name)

struct Functions {
#define MNEME_MEMBER(name) decltype(&::name) name = reinterpret_cast<decltype(&::name)>(front().find(MNEME_QUOTE(name)));
  MNEME_GRAPH_CALLS(MNEME_MEMBER)
  MNEME_HELD_GRAPH_CALLS(MNEME_MEMBER)
#undef MNEME_MEMBER
#define MNEME_AND_THERE(name) &&name != nullptr
  const bool complete = true MNEME_GRAPH_CALLS(MNEME_AND_THERE);
  const bool can_hold = true MNEME_HELD_GRAPH_CALLS(MNEME_AND_THERE);
#undef MNEME_AND_THERE
};

const Functions& driver() {
  static const Functions functions;
  return functions;
}

// Nothing tells of the end of a body but that of its node, and of a node that of its graph.
struct Conditions {
  struct OfGraph {
    std::vector<GraphCondition> variables;
    std::set<CUgraphNode> nodes;
  };
  struct Bodies {
    CUgraph of = nullptr;  // the graph that the node is in
    std::vector<CUgraph> graphs;
  };
  std::mutex mutex;
  std::unordered_map<CUgraph, OfGraph> graphs;
  std::unordered_map<CUgraphNode, Bodies> bodies;

  // Both under the mutex.
  void forget(CUgraph graph) {
    const auto found = graphs.extract(graph);
    if (found)
      for (CUgraphNode node : found.mapped().nodes) forget(node);
  }
  void forget(CUgraphNode node) {
    const auto found = bodies.extract(node);
    if (!found) return;
    if (const auto graph = graphs.find(found.mapped().of); graph != graphs.end()) graph->second.nodes.erase(node);
    for (CUgraph body : found.mapped().graphs) forget(body);
  }
};
Conditions& conditions() {
  static auto* all = new Conditions;
  return *all;
}

bool has_word(const void* bytes, size_t size, uint64_t word) {
  for (size_t at = 0; at + sizeof word <= size; at += sizeof word)
    if (std::memcmp(static_cast<const std::byte*>(bytes) + at, &word, sizeof word) == 0) return true;
  return false;
}

// Whether the word is among the arguments. Nothing: the driver does not tell where they are.
std::optional<bool> is_given(const Launch& launch, uint64_t word) {
  if (!launch.packed.empty()) return has_word(launch.packed.data(), launch.packed.size(), word);
  const auto parameters = front().parameters_of(launch.function);
  if (!parameters.ok() || (!parameters->empty() && !launch.arguments)) return std::nullopt;
  for (size_t i = 0; i < parameters->size(); ++i)
    if (has_word(launch.arguments[i], (*parameters)[i].size, word)) return true;
  return false;
}

Status driver_error(const char* call, CUresult code) {
  return error(Code::unsupported, "{} returned {}", call, static_cast<int>(code));
}

// Of a kernel node, those that change what runs, or tell how. Others have the defaults of the driver.
constexpr CUlaunchAttributeID kAttributes[] = {
    CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
    CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
    CU_LAUNCH_ATTRIBUTE_PRIORITY,
    CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION,
    CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE,
};

// Whether a node that the driver has answered for was given the attribute.
bool is_set(const CUlaunchAttribute& attribute, const Launch& launch) {
  const CUlaunchAttributeValue& value = attribute.value;
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: return value.accessPolicyWindow.num_bytes != 0;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: return value.cooperative != 0;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: return value.clusterDim.x * value.clusterDim.y * value.clusterDim.z > 1;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: return value.clusterSchedulingPolicyPreference != 0;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: return value.priority != 0;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: {
      const auto& preferred = value.preferredClusterDim;
      return preferred.x * preferred.y * preferred.z > 1 && Dim3{preferred.x, preferred.y, preferred.z} != launch.cluster;
    }
    default: return false;
  }
}

// The handle by which the program has got the kernel: the driver may tell two.
const void* function_of(const CUDA_KERNEL_NODE_PARAMS& parameters) {
  for (const void* handle : {static_cast<const void*>(parameters.func), static_cast<const void*>(parameters.kern)})
    if (handle && recorder()->registry().find_kernel(handle)) return handle;
  return parameters.func ? static_cast<const void*>(parameters.func) : parameters.kern;
}

// An order in which each is behind those that it waits for, near to the one in which they were added.
std::vector<size_t> order_of(size_t count, const std::vector<std::pair<size_t, size_t>>& edges) {
  std::vector<std::vector<size_t>> behind(count);
  std::vector<size_t> waits_for(count);
  for (const auto& [from, to] : edges) {
    behind[from].push_back(to);
    ++waits_for[to];
  }
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i)
    if (waits_for[i] == 0) ready.push(i);
  std::vector<size_t> order;
  while (!ready.empty()) {
    const size_t next = ready.top();
    ready.pop();
    order.push_back(next);
    for (size_t one : behind[next])
      if (--waits_for[one] == 0) ready.push(one);
  }
  return order;
}

// Which node waits for which: from and to. Nothing: the driver does not tell it.
std::optional<std::vector<std::pair<CUgraphNode, CUgraphNode>>> edges_of(CUgraph graph) {
  size_t count = 0;
  if (driver().cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &count) != CUDA_SUCCESS) return std::nullopt;
  std::vector<CUgraphNode> from(count), to(count);
  std::vector<CUgraphEdgeData> kinds(count);
  if (count != 0 && driver().cuGraphGetEdges(graph, from.data(), to.data(), kinds.data(), &count) != CUDA_SUCCESS)
    return std::nullopt;
  std::vector<std::pair<CUgraphNode, CUgraphNode>> edges;
  for (size_t i = 0; i < count; ++i) edges.emplace_back(from[i], to[i]);
  return edges;
}

// The nodes of a graph in an order in which they may run. Nothing: the driver does not tell them.
std::optional<std::vector<CUgraphNode>> ordered_nodes(CUgraph graph) {
  size_t count = 0;
  if (driver().cuGraphGetNodes(graph, nullptr, &count) != CUDA_SUCCESS) return std::nullopt;
  std::vector<CUgraphNode> nodes(count);
  if (count != 0 && driver().cuGraphGetNodes(graph, nodes.data(), &count) != CUDA_SUCCESS) return std::nullopt;
  const auto known = edges_of(graph);
  if (!known) return std::nullopt;
  std::unordered_map<CUgraphNode, size_t> index;
  for (size_t i = 0; i < count; ++i) index[nodes[i]] = i;
  std::vector<std::pair<size_t, size_t>> edges;
  for (const auto& [from, to] : *known) edges.push_back({index.at(from), index.at(to)});
  std::vector<CUgraphNode> ordered;
  for (size_t i : order_of(count, edges)) ordered.push_back(nodes[i]);
  return ordered;
}

}  // namespace

void DestroyGraph::operator()(CUgraph graph) const { driver().cuGraphDestroy(graph); }
void DestroyGraph::operator()(CUgraphExec graph) const { driver().cuGraphExecDestroy(graph); }

void add_condition(CUgraph graph, CUgraphConditionalHandle handle, bool is_set_at_launch) {
  std::lock_guard lock(conditions().mutex);
  conditions().graphs[graph].variables.push_back({handle, is_set_at_launch});
}
void add_bodies(CUgraph graph, CUgraphNode condition, std::vector<CUgraph> bodies) {
  std::lock_guard lock(conditions().mutex);
  // The handle may be that of a node which went with its graph.
  if (const auto old = conditions().bodies.find(condition); old != conditions().bodies.end())
    if (const auto of = conditions().graphs.find(old->second.of); of != conditions().graphs.end())
      of->second.nodes.erase(condition);
  conditions().graphs[graph].nodes.insert(condition);
  conditions().bodies[condition] = {graph, std::move(bodies)};
}
void forget_conditions(CUgraph graph) {
  std::lock_guard lock(conditions().mutex);
  conditions().forget(graph);
}
void forget_bodies(CUgraphNode condition) {
  std::lock_guard lock(conditions().mutex);
  conditions().forget(condition);
}
size_t known_conditions() {
  std::lock_guard lock(conditions().mutex);
  return conditions().graphs.size() + conditions().bodies.size();
}

ExecutableGraph::ExecutableGraph(CUgraph graph, uint64_t flags, std::optional<int> device) : device_(device), flags_(flags) {
  if (driver().complete)
    root_ = describe(graph);
  else
    refuse(NotRecorded::graph_untold);
  index();
  if (held_ && !refusal_) hold(graph);
}

void ExecutableGraph::refuse(NotRecorded reason) {
  if (refusal_) return;
  refusal_ = reason;
  group_.reset();
  for (GraphNode* node : kernels_) node->launch->refusal = refusal_;
}

void ExecutableGraph::index() {
  group_.reset();
  kernels_.clear();
  nodes_.clear();
  index(root_);
  if (!refusal_) return;
  for (GraphNode* node : kernels_) node->launch->refusal = refusal_;
}

void ExecutableGraph::index(GraphLevel& level) {
  for (GraphNode& node : level.nodes) {
    nodes_[node.original] = &node;
    if (node.launch) kernels_.push_back(&node);
    if (node.child) index(*node.child);
  }
}

GraphLevel ExecutableGraph::describe(CUgraph graph) {
  GraphLevel level;
  const auto nodes = ordered_nodes(graph);
  if (!nodes) {
    refuse(NotRecorded::graph_untold);
    return level;
  }
  level.nodes.reserve(nodes->size());
  for (CUgraphNode node : *nodes) read_node(level.nodes.emplace_back(GraphNode{.original = node}));
  if (!refusal_ && !held_) make_clone(level, graph);
  return level;
}

void ExecutableGraph::read_node(GraphNode& node) {
  CUgraphNodeType type{};
  if (driver().cuGraphNodeGetType(node.original, &type) != CUDA_SUCCESS) return refuse(NotRecorded::graph_untold);
  switch (type) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return read_kernel(node, node.original);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_HOST:
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD: return;
    case CU_GRAPH_NODE_TYPE_EMPTY: node.is_empty = true; return;
    case CU_GRAPH_NODE_TYPE_GRAPH: {
      CUgraph child = nullptr;
      if (driver().cuGraphChildGraphNodeGetGraph(node.original, &child) != CUDA_SUCCESS) return refuse(NotRecorded::graph_untold);
      node.child = std::make_unique<GraphLevel>(describe(child));
      return;
    }
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC: {
      CUDA_MEM_ALLOC_NODE_PARAMS memory{};
      if (driver().cuGraphMemAllocNodeGetParams(node.original, &memory) == CUDA_SUCCESS)
        allocations_.push_back({DevicePtr(memory.dptr), Bytes(memory.bytesize)});
      held_ = NotRecorded::graph_memory;
      return;
    }
    // How often the body of a condition runs is known on the device alone.
    case CU_GRAPH_NODE_TYPE_MEM_FREE: held_ = NotRecorded::graph_memory; return;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL: held_ = NotRecorded::graph_condition; return read_bodies(node.original);
    // What waits for other work than the graph's own would never end when the parts before it are waited for.
    default: return refuse(NotRecorded::graph_nodes);
  }
}

void ExecutableGraph::read_bodies(CUgraphNode condition) {
  std::vector<CUgraph> bodies;
  {
    std::lock_guard lock(conditions().mutex);
    if (const auto known = conditions().bodies.find(condition); known != conditions().bodies.end()) bodies = known->second.graphs;
  }
  for (CUgraph body : bodies) read_body(body);
}

// What the driver does not tell of a body is left out: nothing of it would be recorded.
void ExecutableGraph::read_body(CUgraph graph) {
  for (CUgraphNode original : ordered_nodes(graph).value_or(std::vector<CUgraphNode>())) {
    CUgraphNodeType type{};
    CUgraph child = nullptr;
    CUDA_KERNEL_NODE_PARAMS p{};
    if (driver().cuGraphNodeGetType(original, &type) != CUDA_SUCCESS) continue;
    body_nodes_.insert(original);
    if (type == CU_GRAPH_NODE_TYPE_CONDITIONAL) read_bodies(original);
    if (type == CU_GRAPH_NODE_TYPE_GRAPH && driver().cuGraphChildGraphNodeGetGraph(original, &child) == CUDA_SUCCESS)
      read_body(child);
    if (type != CU_GRAPH_NODE_TYPE_KERNEL || driver().cuGraphKernelNodeGetParams(original, &p) != CUDA_SUCCESS) continue;
    GraphNode& kernel = body_kernels_.emplace_back(GraphNode{.original = original});
    kernel.launch.emplace(launch_of(function_of(p), {p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ},
                                    p.sharedMemBytes, nullptr, nullptr));
    kernel.launch->refusal = NotRecorded::graph_body;
  }
}

void ExecutableGraph::read_kernel(GraphNode& node, CUgraphNode from) {
  CUDA_KERNEL_NODE_PARAMS p{};
  if (driver().cuGraphKernelNodeGetParams(from, &p) != CUDA_SUCCESS) return refuse(NotRecorded::graph_untold);
  node.launch.emplace(launch_of(function_of(p), {p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ},
                                p.sharedMemBytes, p.kernelParams, p.extra));
  node.context = p.ctx;
  node.launch->attributes.set("graph", 1);
  read_attributes(node, from);
}

void ExecutableGraph::read_attributes(GraphNode& node, CUgraphNode from) {
  for (CUlaunchAttributeID id : kAttributes) {
    CUlaunchAttribute attribute{};
    attribute.id = id;
    // The driver knows no newer ones than itself.
    if (driver().cuGraphKernelNodeGetAttribute(from, id, &attribute.value) != CUDA_SUCCESS) continue;
    if (id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE) {
      if (attribute.value.deviceUpdatableKernelNode.deviceUpdatable) refuse(NotRecorded::graph_nodes);
    } else if (is_set(attribute, *node.launch)) {
      take_attribute(attribute, *node.launch);
    }
  }
}

void ExecutableGraph::make_clone(GraphLevel& level, CUgraph graph) {
  CUgraph clone = nullptr;
  if (driver().cuGraphClone(&clone, graph) != CUDA_SUCCESS) return refuse(NotRecorded::graph_untold);
  level.clone.reset(clone);
  for (GraphNode& node : level.nodes)
    if (driver().cuGraphNodeFindInClone(&node.copy, node.original, clone) != CUDA_SUCCESS || !read_arguments(node))
      return refuse(NotRecorded::graph_untold);
}

// Those of the copy, which lasts. False: the driver does not tell them.
bool ExecutableGraph::read_arguments(GraphNode& node) {
  if (!node.launch) return true;
  CUDA_KERNEL_NODE_PARAMS p{};
  if (driver().cuGraphKernelNodeGetParams(node.copy, &p) != CUDA_SUCCESS) return false;
  const Launch there = launch_of(nullptr, {}, {}, 0, p.kernelParams, p.extra);
  node.launch->arguments = there.arguments;
  node.launch->packed = there.packed;
  return true;
}

// What lies between two nodes that only the program's executable can run is run in it too, since it runs once.
void ExecutableGraph::hold(CUgraph graph) {
  original_ = graph;
  for (const auto& [original, node] : nodes_) originals_.insert(original);
  for (GraphNode* node : kernels_) node->launch->refusal = held_;
  if (!driver().can_hold) return refuse(*held_);
  {
    std::lock_guard lock(conditions().mutex);
    if (auto known = conditions().graphs.find(graph); known != conditions().graphs.end()) conditions_ = known->second.variables;
  }
  if (!order_around_held(graph)) return refuse(*held_);
  for (GraphNode& node : root_.nodes)
    if (node.launch && !make_alone(node)) return refuse(*held_);
  // Those of child graphs run in the executable whatever they set.
  for (const GraphNode* node : kernels_)
    if (!node->alone) may_set_condition(*node);
  // How a condition is set must be known: by a kernel that is given its variable, or at the launch.
  const bool all_set = std::all_of(conditions_.begin(), conditions_.end(), [](const GraphCondition& one) { return one.is_set; });
  if (!all_set || (held_ == NotRecorded::graph_condition && conditions_.empty())) return refuse(*held_);
  for (size_t i = 0; i < root_.nodes.size(); ++i)
    if (root_.nodes[i].launch && (i < first_held_ || i > last_held_)) root_.nodes[i].launch->refusal.reset();
}

// Orders the nodes anew: those come first that wait for none that only the executable can run, and those last that none of these
// waits for. False: the driver does not tell which waits for which.
bool ExecutableGraph::order_around_held(CUgraph graph) {
  const auto edges = edges_of(graph);
  if (!edges) return false;
  auto& nodes = root_.nodes;
  std::unordered_map<CUgraphNode, size_t> place;
  for (size_t i = 0; i < nodes.size(); ++i) place[nodes[i].original] = i;
  std::vector<std::vector<size_t>> next(nodes.size());
  for (const auto& [from, to] : *edges) next[place.at(from)].push_back(place.at(to));
  std::vector<char> held, has_before(nodes.size()), has_behind(nodes.size());
  for (const GraphNode& node : nodes) held.push_back(!node.is_empty && (!node.launch || may_set_condition(node)));
  for (size_t i = 0; i < nodes.size(); ++i)
    for (size_t one : next[i]) has_before[one] |= held[i] | has_before[i];
  for (size_t i = nodes.size(); i-- > 0;)
    for (size_t one : next[i]) has_behind[i] |= held[one] | has_behind[one];
  const auto is_first = [&](size_t i) { return !held[i] && !has_before[i]; };
  const auto is_last = [&](size_t i) { return !held[i] && has_before[i] && !has_behind[i]; };
  std::vector<GraphNode> ordered;
  ordered.reserve(nodes.size());
  const auto take = [&](auto wanted) {
    for (size_t i = 0; i < nodes.size(); ++i)
      if (wanted(i)) ordered.push_back(std::move(nodes[i]));
    return ordered.size();
  };
  first_held_ = take(is_first);
  last_held_ = take([&](size_t i) { return !is_first(i) && !is_last(i); }) - 1;
  take(is_last);
  nodes = std::move(ordered);
  index();
  return true;
}

bool ExecutableGraph::make_alone(GraphNode& node) {
  CUDA_KERNEL_NODE_PARAMS p{};
  CUgraph graph = nullptr;
  if (driver().cuGraphKernelNodeGetParams(node.original, &p) != CUDA_SUCCESS || driver().cuGraphCreate(&graph, 0) != CUDA_SUCCESS)
    return false;
  node.alone.reset(graph);
  if (driver().cuGraphAddKernelNode(&node.copy, graph, nullptr, 0, &p) != CUDA_SUCCESS ||
      driver().cuGraphKernelNodeCopyAttributes(node.copy, node.original) != CUDA_SUCCESS)
    return false;
  return read_arguments(node);
}

// Notes the conditions that it may set.
bool ExecutableGraph::may_set_condition(const GraphNode& node) {
  bool may_set = false;
  for (GraphCondition& one : conditions_) {
    const std::optional<bool> given = is_given(*node.launch, one.handle);
    may_set |= given.value_or(true);
    one.is_set |= given.value_or(false);
  }
  return may_set;
}

void ExecutableGraph::lose_original() {
  in_use_.acquire();
  lost_original_ = true;
  in_use_.release();
}

GraphNode* ExecutableGraph::find(CUgraphNode original) const {
  const auto found = nodes_.find(original);
  return found == nodes_.end() ? nullptr : found->second;
}

void ExecutableGraph::set_child(CUgraphNode original, CUgraph graph) {
  GraphNode* node = find(original);
  if (!node || !node->child) return refuse(NotRecorded::graph_untold);
  if (held_) refuse(*held_);
  kernels_.clear();  // some of which go
  *node->child = describe(graph);
  index();
}

void ExecutableGraph::set_enabled(CUgraphNode original, bool enabled) {
  GraphNode* node = find(original);
  if (!node) return refuse(NotRecorded::graph_untold);
  node->enabled = enabled;
  group_.reset();
}

std::unique_ptr<ExecutableGraph> ExecutableGraph::updated(CUgraph graph) const {
  auto next = std::make_unique<ExecutableGraph>(graph, flags_, device_);
  // Which of the new nodes are disabled the driver does not say.
  if (std::any_of(nodes_.begin(), nodes_.end(), [](const auto& node) { return !node.second->enabled; }))
    next->refuse(NotRecorded::graph_untold);
  // The executable's nodes go on being named by those of the graph that it was made from.
  if (next->held_) next->refuse(*next->held_);
  return next;
}

Result<std::vector<ExecutableGraph::Part>> ExecutableGraph::split(const std::set<const GraphNode*>& alone) const {
  if (held_) return split_around(alone);
  std::vector<Part> parts;
  MNEME_TRY(split(root_, alone, parts));
  return parts;
}

Status ExecutableGraph::split(const GraphLevel& level, const std::set<const GraphNode*>& alone, std::vector<Part>& parts) const {
  size_t begin = 0;
  const auto add_until = [&](size_t end, const GraphNode* kernel) -> Status {
    if (begin == end) return {};
    MNEME_ASSIGN(OwnedGraphExec graph, make_part(level, begin, end));
    parts.push_back({.graph = std::move(graph), .kernel = kernel});
    begin = end;
    return {};
  };
  for (size_t i = 0; i < level.nodes.size(); ++i) {
    const GraphNode& node = level.nodes[i];
    const bool is_alone = alone.contains(&node);
    if (!is_alone && !node.child) continue;
    MNEME_TRY(add_until(i, nullptr));
    if (is_alone) {
      MNEME_TRY(add_until(i + 1, &node));
    } else {
      MNEME_TRY(split(*node.child, alone, parts));
      begin = i + 1;
    }
  }
  return add_until(level.nodes.size(), nullptr);
}

Result<std::vector<ExecutableGraph::Part>> ExecutableGraph::split_around(const std::set<const GraphNode*>& alone) const {
  const auto& nodes = root_.nodes;
  size_t before = 0, after = nodes.size();  // what is not between them is run by itself
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (!alone.contains(&nodes[i])) continue;
    if (i < first_held_) before = i + 1;
    if (i > last_held_) after = std::min(after, i);
  }
  std::vector<Part> parts;
  std::vector<CUgraphNode> without;
  const auto add = [&](const GraphNode& node) -> Status {
    if (!node.launch || !node.enabled) return {};
    MNEME_ASSIGN(OwnedGraphExec graph, instantiate(node.alone.get()));
    parts.push_back({.graph = std::move(graph), .kernel = alone.contains(&node) ? &node : nullptr});
    without.push_back(node.original);
    return {};
  };
  for (size_t i = 0; i < before; ++i) MNEME_TRY(add(nodes[i]));
  const size_t middle = parts.size();
  for (size_t i = after; i < nodes.size(); ++i) MNEME_TRY(add(nodes[i]));
  Part rest;
  rest.without = std::move(without);
  parts.insert(parts.begin() + static_cast<ptrdiff_t>(middle), std::move(rest));
  return parts;
}

Result<OwnedGraphExec> ExecutableGraph::instantiate(CUgraph graph) const {
  CUgraphExec executable = nullptr;
  constexpr uint64_t kKept = CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  if (CUresult code = driver().cuGraphInstantiate(&executable, graph, flags_ & kKept); code != CUDA_SUCCESS)
    return driver_error("cuGraphInstantiateWithFlags", code);
  return OwnedGraphExec(executable);
}

// Nodes that stand next to each other in an order of the whole wait for each other directly, or not at all: what lies between two
// of them in the graph lies between them in the order too. So nothing is lost with the edges of the other nodes.
Result<OwnedGraphExec> ExecutableGraph::make_part(const GraphLevel& level, size_t begin, size_t end) const {
  CUgraph clone = nullptr;
  if (CUresult code = driver().cuGraphClone(&clone, level.clone.get()); code != CUDA_SUCCESS)
    return driver_error("cuGraphClone", code);
  const OwnedGraph owned(clone);
  std::vector<CUgraphNode> disabled;
  for (size_t i = 0; i < level.nodes.size(); ++i) {
    const bool is_part = i >= begin && i < end;
    if (is_part && level.nodes[i].enabled) continue;
    CUgraphNode copy = nullptr;
    if (CUresult code = driver().cuGraphNodeFindInClone(&copy, level.nodes[i].copy, clone); code != CUDA_SUCCESS)
      return driver_error("cuGraphNodeFindInClone", code);
    if (is_part)
      disabled.push_back(copy);
    else if (CUresult code = driver().cuGraphDestroyNode(copy); code != CUDA_SUCCESS)
      return driver_error("cuGraphDestroyNode", code);
  }
  MNEME_ASSIGN(OwnedGraphExec part, instantiate(clone));
  for (CUgraphNode node : disabled)
    if (CUresult code = driver().cuGraphNodeSetEnabled(part.get(), node, 0); code != CUDA_SUCCESS)
      return driver_error("cuGraphNodeSetEnabled", code);
  return part;
}

}  // namespace mneme::driver
