// ExecutableGraph: what the recorder knows of a graph that the program has instantiated, and how it is run in parts.
//
// A kernel that a graph launches is recorded by running that one launch of the graph in parts, one after another: the kernel is a
// part of its own, with the memory read before and after it, and what lies between two such kernels is a part too. All parts are
// made before the first of them runs. A part is a graph again: a clone without the other nodes, so that whatever the program has
// given a node is the node's there too.
//
// The program may destroy the graph that it has instantiated. A clone of it is therefore kept, and what the program changes of
// the executable is changed there too. A child graph is a graph of its own here, run where its node stands.
//
// A graph with conditions or allocations cannot be cloned. Then the program's executable itself is one of the parts, with kernels
// disabled that run before or after it; of each kernel there is a graph of it alone.
#pragma once

#include <cuda.h>

#include <atomic>
#include <memory>
#include <optional>
#include <semaphore>
#include <set>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "mneme/record/recorder.h"

namespace mneme::driver {

struct DestroyGraph {
  void operator()(CUgraph graph) const;
  void operator()(CUgraphExec graph) const;
};
using OwnedGraph = std::unique_ptr<std::remove_pointer_t<CUgraph>, DestroyGraph>;
using OwnedGraphExec = std::unique_ptr<std::remove_pointer_t<CUgraphExec>, DestroyGraph>;

struct GraphNode;
// A graph, or one that a node of another holds.
struct GraphLevel {
  std::vector<GraphNode> nodes;  // each behind those that it waits for
  OwnedGraph clone;              // null where parts of it cannot be run
};

struct GraphNode {
  CUgraphNode original;            // in the program's graph, by which the program names it
  CUgraphNode copy = nullptr;      // in the clone
  bool enabled = true;             // otherwise it does nothing, and the others wait for it all the same
  std::optional<Launch> launch{};  // of a kernel, whose arguments are in the clone
  CUcontext context = nullptr;     // of a kernel; null: that of the thread that runs the graph
  std::unique_ptr<GraphLevel> child{};
  bool is_empty = false;  // it does nothing
  OwnedGraph alone{};     // of a kernel of a graph that cannot be cloned: the graph that has the copy
};

struct GraphCondition {
  CUgraphConditionalHandle handle;
  bool is_set;  // when the graph is launched, or by a kernel that is known
};
// The variables of conditions of the program's graphs. A kernel that is given one may set it, which it can do in its graph only.
void add_condition(CUgraph graph, CUgraphConditionalHandle handle, bool is_set_at_launch);
// The graphs that a node of a condition in the graph runs, which the driver tells when the node is made and not later.
void add_bodies(CUgraph graph, CUgraphNode condition, std::vector<CUgraph> bodies);
// To be called before the graph, or the node, is destroyed: its variables and bodies, and theirs, are forgotten.
void forget_conditions(CUgraph graph);
void forget_bodies(CUgraphNode condition);
// Of how many graphs and nodes something is kept, for tests.
size_t known_conditions();

// Like the driver's handle, for one thread at a time.
class ExecutableGraph {
 public:
  // Describes what `graph` was made into with these flags of cuGraphInstantiate. Where that fails, or it cannot be run in parts,
  // the launches of its kernels say why (Launch::refusal).
  // `device` is the one that it was made on.
  ExecutableGraph(CUgraph graph, uint64_t flags, std::optional<int> device);
  ExecutableGraph(const ExecutableGraph&) = delete;
  ExecutableGraph& operator=(const ExecutableGraph&) = delete;

  std::optional<int> device() const { return device_; }
  // Whether it can be run in parts, as far as is known.
  bool has_parts() const { return !refusal_; }
  // No kernel of it is recorded from now on. The first reason counts.
  void refuse(NotRecorded reason);
  // What its launches are counted as, as long as none of its kernels is recorded; null where that is not known in this context.
  LaunchGroup* group(CUcontext context) const { return context == group_context_ ? group_.get() : nullptr; }
  void set_group(std::shared_ptr<LaunchGroup> group, CUcontext context) {
    group_ = std::move(group);
    group_context_ = context;
  }
  // All kernels, in an order in which they may run.
  const std::vector<GraphNode*>& kernels() const { return kernels_; }
  // Kernels in the bodies of conditions, in these of conditions in bodies, and so on. Each has a launch, which is refused
  // (graph_body). Which of them run, and how often, the device decides.
  const std::vector<GraphNode>& body_kernels() const { return body_kernels_; }
  // Memory that is the program's once the graph has run, and that the recorder does not capture.
  const std::vector<MemoryRange>& allocations() const { return allocations_; }

  // What the program has changed of the executable, by the node of its own graph; refused where that cannot be followed. `set`
  // is the driver's function that sets the same of a node of a graph.
  template <typename... P>
  void set_parameters(CUgraphNode original, CUresult (*set)(CUgraphNode, P...), P... parameters) {
    if (body_nodes_.contains(original)) return;
    GraphNode* node = find(original);
    if (held_ && node && !node->copy) return;  // only the program's executable runs it
    if (!node || !node->copy || !set || set(node->copy, parameters...) != CUDA_SUCCESS) return refuse(NotRecorded::graph_untold);
    if (!node->launch) return;
    group_.reset();
    const auto refused = node->launch->refusal;
    read_kernel(*node, node->copy);
    node->launch->refusal = refusal_ ? refusal_ : refused;
    if (held_ && !refused && may_set_condition(*node)) refuse(*held_);
  }
  void set_child(CUgraphNode original, CUgraph graph);
  void set_enabled(CUgraphNode original, bool enabled);
  // What the executable is after cuGraphExecUpdate() with this graph.
  std::unique_ptr<ExecutableGraph> updated(CUgraph graph) const;

  struct Part {
    OwnedGraphExec graph;                // null: the program's executable
    const GraphNode* kernel = nullptr;   // that is alone in it; null: a part between such kernels
    std::vector<CUgraphNode> without{};  // nodes of the program's graph, which are to be disabled in its executable
  };
  // Parts that do together what the graph does, when they run one after another in one stream.
  Result<std::vector<Part>> split(const std::set<const GraphNode*>& alone) const;

  // The graph whose nodes have to be there when the executable is a part; null: it never is. Thread-safe, as the next one.
  CUgraph original() const { return original_; }
  bool has_original(CUgraphNode node) const { return originals_.contains(node); }
  // To be called before that graph, or a node of it, is destroyed: waits until no part runs. Thread-safe.
  void lose_original();
  bool has_lost_original() const { return lost_original_; }
  std::binary_semaphore& in_use() { return in_use_; }
  // What keeps it from being cloned.
  std::optional<NotRecorded> held() const { return held_; }

 private:
  void index();
  void index(GraphLevel& level);
  GraphLevel describe(CUgraph graph);
  void read_node(GraphNode& node);
  void read_bodies(CUgraphNode condition);
  void read_body(CUgraph graph);
  void read_kernel(GraphNode& node, CUgraphNode from);
  void read_attributes(GraphNode& node, CUgraphNode from);
  void make_clone(GraphLevel& level, CUgraph graph);
  GraphNode* find(CUgraphNode original) const;
  Status split(const GraphLevel& level, const std::set<const GraphNode*>& alone, std::vector<Part>& parts) const;
  Result<OwnedGraphExec> make_part(const GraphLevel& level, size_t begin, size_t end) const;
  Result<OwnedGraphExec> instantiate(CUgraph graph) const;
  bool read_arguments(GraphNode& node);
  void hold(CUgraph graph);
  bool order_around_held(CUgraph graph);
  bool make_alone(GraphNode& node);
  bool may_set_condition(const GraphNode& node);
  Result<std::vector<Part>> split_around(const std::set<const GraphNode*>& alone) const;

  const std::optional<int> device_;
  const uint64_t flags_;
  GraphLevel root_;
  std::vector<GraphNode*> kernels_;
  std::unordered_map<CUgraphNode, GraphNode*> nodes_;  // by their originals
  std::vector<GraphNode> body_kernels_;
  std::set<CUgraphNode> body_nodes_;
  std::vector<MemoryRange> allocations_;
  std::optional<NotRecorded> refusal_;  // nothing: it can be run in parts
  // Nodes that only the program's executable can run: which, and where in the root the first and the last of them is.
  std::optional<NotRecorded> held_;
  size_t first_held_ = 0, last_held_ = 0;
  CUgraph original_ = nullptr;  // this and the next one stay as they were made
  std::set<CUgraphNode> originals_;
  std::vector<GraphCondition> conditions_;
  std::atomic<bool> lost_original_ = false;
  std::binary_semaphore in_use_{1};  // taken while the program's executable is one of the parts
  std::shared_ptr<LaunchGroup> group_;
  CUcontext group_context_ = nullptr;
};

}  // namespace mneme::driver
