// The program's graphs, their nodes, and executable graphs. Their handles are pointers to these objects. A graph is used by one
// thread at a time, as CUDA asks of programs.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <vector>

#include "mneme/cpu/cuda_runtime/operation.h"

namespace mneme::emulation {

struct GraphNode {
  Operation operation;
  std::vector<GraphNode*> dependencies;
  Graph* graph = nullptr;
  const GraphNode* original = nullptr;  // of a clone: the node it was made from

  static GraphNode* of(cudaGraphNode_t handle) { return reinterpret_cast<GraphNode*>(handle); }
  cudaGraphNode_t handle() { return reinterpret_cast<cudaGraphNode_t>(this); }
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;

  // The graph owns the node.
  GraphNode* add(Operation operation, std::vector<GraphNode*> dependencies);
  // All nodes, each behind those that it depends on; empty when they depend on each other in a circle.
  std::vector<GraphNode*> in_order() const;
  std::shared_ptr<Graph> clone() const;

  // A handle keeps the graph alive until the program destroys it; captures and child nodes share the graph.
  static Graph* of(cudaGraph_t handle) { return reinterpret_cast<Graph*>(handle); }
  cudaGraph_t handle() { return reinterpret_cast<cudaGraph_t>(this); }
};

// Runs the nodes in an order that their dependencies allow; stops at the first failure.
cudaError_t run_graph(const Graph& graph);

// A handle of the graph, which the program has to destroy.
cudaGraph_t give_handle(std::shared_ptr<Graph> graph);
// The graph of a handle; null for a handle of no graph, or of one that was destroyed.
std::shared_ptr<Graph> find_graph(cudaGraph_t handle);

// An executable graph: the operations of a graph as they were when it was instantiated or updated.
struct GraphExec {
  struct Step {
    const GraphNode* node;  // the node that it was made from, by which updates name it
    Operation operation;
    bool enabled = true;
  };
  std::vector<Step> steps;
  unsigned long long flags = 0;

  // Takes over the operations of a graph. False: its nodes depend on each other in a circle.
  bool assign(const Graph& graph);
  // Null for a node that it was not made from.
  Step* find(const GraphNode* node);
  static GraphExec* of(cudaGraphExec_t handle) { return reinterpret_cast<GraphExec*>(handle); }
};

}  // namespace mneme::emulation
