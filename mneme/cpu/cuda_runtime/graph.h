// Graphs, their executable form, and their nodes. Handles are pointers to these objects. A graph is used by one thread at a
// time, as CUDA asks of programs.
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

  GraphNode* add(Operation operation, std::vector<GraphNode*> dependencies);
  // Each node behind all that it depends on; empty when they depend on each other in a circle.
  std::vector<GraphNode*> in_order() const;
  std::shared_ptr<Graph> clone() const;

  // Handles keep the graph alive from create to destroy; captures and child nodes share it.
  static Graph* of(cudaGraph_t handle) { return reinterpret_cast<Graph*>(handle); }
  cudaGraph_t handle() { return reinterpret_cast<cudaGraph_t>(this); }
};

// Runs the nodes in order; stops at the first failure.
cudaError_t run_graph(const Graph& graph);

// Handles of graphs that the program has to destroy.
cudaGraph_t give_handle(std::shared_ptr<Graph> graph);
// Null for a handle that is not one, or not any more.
std::shared_ptr<Graph> find_graph(cudaGraph_t handle);

struct GraphExec {
  struct Step {
    const GraphNode* node;  // of the graph it was made from: what updates name it by
    Operation operation;
    bool enabled = true;
  };
  std::vector<Step> steps;
  unsigned long long flags = 0;

  // False when the graph has a circle.
  bool assign(const Graph& graph);
  Step* find(const GraphNode* node);
  static GraphExec* of(cudaGraphExec_t handle) { return reinterpret_cast<GraphExec*>(handle); }
};

}  // namespace mneme::emulation
