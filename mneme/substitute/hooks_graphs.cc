// Nodes of kernels in graphs that the program builds itself: made, changed, changed in an executable graph, and asked for.
#include <dlfcn.h>

#include "mneme/hooks/kernel_handles.h"
#include "mneme/substitute/graph_nodes.h"
#include "mneme/substitute/table.h"

namespace mneme::substitute {
namespace {

// Both structures of a kernel have these members.
template <typename P>
NodeKernel kernel_of(const P& p) {
  return {p.func,
          {{p.gridDim.x, p.gridDim.y, p.gridDim.z}, {p.blockDim.x, p.blockDim.y, p.blockDim.z}, Bytes(p.sharedMemBytes)},
          p.kernelParams,
          p.extra != nullptr};
}
template <typename P>
void write(const NodeKernel& kernel, P& p) {
  const auto& [grid, block, shared, cooperative, cluster] = kernel.shape;
  p.func = const_cast<void*>(kernel.function);
  p.gridDim = dim3(grid.x, grid.y, grid.z);
  p.blockDim = dim3(block.x, block.y, block.z);
  p.sharedMemBytes = static_cast<unsigned>(shared.count);
  p.kernelParams = kernel.arguments;
}

// Of which context a node is. The runtime does not tell, and the driver beneath it may.
class NodeContexts {
 public:
  explicit NodeContexts(Table& table) : get_(table.driver_node_parameters()) {
    void* const driver = table.driver();
    if (!driver) return;
    current_ = reinterpret_cast<decltype(current_)>(::dlsym(driver, "cuCtxGetCurrent"));
    push_ = reinterpret_cast<decltype(push_)>(::dlsym(driver, "cuCtxPushCurrent_v2"));
    pop_ = reinterpret_cast<decltype(pop_)>(::dlsym(driver, "cuCtxPopCurrent_v2"));
  }
  // Null: the driver does not tell.
  CUcontext of(void* node) const {
    CUDA_KERNEL_NODE_PARAMS_v2 p{};
    const bool is_told = get_ && get_(static_cast<CUgraphNode>(node), &p) == CUDA_SUCCESS;
    return is_told ? p.ctx : nullptr;
  }
  bool is_current(CUcontext context) const {
    CUcontext current = nullptr;
    return context && current_ && current_(&current) == CUDA_SUCCESS && current == context;
  }
  // Makes a call in the context where that is another than the current one.
  template <typename Call>
  auto in(CUcontext context, Call call) const {
    const bool is_other = context && push_ && pop_ && !is_current(context) && push_(context) == CUDA_SUCCESS;
    const auto code = call();
    if (is_other) pop_(&context);
    return code;
  }

 private:
  DriverNodeParameters get_;
  CUresult (*current_)(CUcontext*) = nullptr;
  CUresult (*push_)(CUcontext) = nullptr;
  CUresult (*pop_)(CUcontext*) = nullptr;
};

class TableNodes final : public NodeVendor {
 public:
  explicit TableNodes(Table& table) : table_(table) {}

  CodeLoader& loader() override { return table_; }
  std::optional<NodeKernel> get(void* node) override {
    cudaKernelNodeParams p{};
    const auto ask = [&] { return MNEME_NEXT(table_, cudaGraphKernelNodeGetParams)(static_cast<cudaGraphNode_t>(node), &p); };
    return quietly(ask) == cudaSuccess ? kernel_of(p) : get_deployed(node);
  }
  // What a node with deployed code in it holds, where the runtime does not tell: it knows the program's own kernels alone.
  std::optional<NodeKernel> get_deployed(void* node) {
    const DriverNodeParameters ask = table_.driver_node_parameters();
    CUDA_KERNEL_NODE_PARAMS_v2 p{};
    if (!ask || ask(static_cast<CUgraphNode>(node), &p) != CUDA_SUCCESS) return std::nullopt;
    NodeKernel held{nullptr,
                    {{p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ}, Bytes(p.sharedMemBytes)},
                    p.kernelParams,
                    p.extra != nullptr};
    // A kernel of a library is told as such, or as the function that it was launched by.
    for (const void* function : {static_cast<const void*>(p.kern), static_cast<const void*>(p.func)}) {
      held.function = function;
      if (function && program_kernel(held)) return held;
    }
    return std::nullopt;
  }
  int set(void* node, const NodeKernel& kernel) override {
    cudaKernelNodeParams p{};
    write(kernel, p);
    const auto set_here = [&] {
      return quietly([&] { return MNEME_NEXT(table_, cudaGraphKernelNodeSetParams)(static_cast<cudaGraphNode_t>(node), &p); });
    };
    return table_.has_one_device() ? set_here() : contexts().in(contexts().of(node), set_here);
  }
  void add_attributes(void* node, const NodeAttributes& attributes, NodeKernel& kernel) override {
    kernel.odd = kernel.odd || !(table_.has_one_device() || contexts().is_current(contexts().of(node)));
    const auto value_of = [&](cudaLaunchAttributeID id) {
      if (attributes.id == static_cast<int>(id)) return *static_cast<const cudaLaunchAttributeValue*>(attributes.value);
      cudaLaunchAttributeValue value{};
      const auto ask = MNEME_NEXT(table_, cudaGraphKernelNodeGetAttribute);
      // The runtime knows no newer ones than itself.
      if (quietly([&] { return ask(static_cast<cudaGraphNode_t>(attributes.node), id, &value); }) != cudaSuccess) value = {};
      return value;
    };
    const auto cluster = value_of(cudaLaunchAttributeClusterDimension).clusterDim;
    const auto preferred = value_of(cudaLaunchAttributePreferredClusterDimension).preferredClusterDim;
    take_attributes(kernel, value_of(cudaLaunchAttributeCooperative).cooperative != 0, {cluster.x, cluster.y, cluster.z},
                    {preferred.x, preferred.y, preferred.z},
                    value_of(cudaLaunchAttributeDeviceUpdatableKernelNode).deviceUpdatableKernelNode.deviceUpdatable != 0);
  }

  // Makes a call that the program did not make: of its failure the program finds nothing.
  template <typename Call>
  cudaError_t quietly(Call call) {
    const bool pending = MNEME_NEXT(table_, cudaPeekAtLastError)() != cudaSuccess;
    const cudaError_t code = call();
    if (code != cudaSuccess && !pending) (void)MNEME_NEXT(table_, cudaGetLastError)();
    return code;
  }

 private:
  const NodeContexts& contexts() const {
    static const NodeContexts only(table_);
    return only;
  }
  Table& table_;
};

void made(Table& table, cudaError_t code, cudaGraphNode_t node, const NodeKernel& kernel) {
  TableNodes nodes(table);
  if (code == cudaSuccess) deploy_into_node(node, kernel, nodes);
}

template <typename Own>
cudaError_t set_executable(Table& table, cudaGraphExec_t executable, cudaGraphNode_t node, const NodeKernel& kernel, Own own) {
  TableNodes nodes(table);
  const auto with = [&](const NodeKernel& by) {
    cudaKernelNodeParams p{};
    write(by, p);
    return nodes.quietly([&] { return MNEME_NEXT(table, cudaGraphExecKernelNodeSetParams)(executable, node, &p); });
  };
  return deploy_into_executable(node, kernel, nodes, cudaSuccess, with, own);
}

cudaError_t on_add(Table& table, cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                   const cudaKernelNodeParams* parameters) {
  const cudaError_t code = MNEME_NEXT(table, cudaGraphAddKernelNode)(node, graph, before, count, parameters);
  if (node && parameters) made(table, code, *node, kernel_of(*parameters));
  return code;
}
cudaError_t on_set(Table& table, cudaGraphNode_t node, const cudaKernelNodeParams* parameters) {
  const cudaError_t code = MNEME_NEXT(table, cudaGraphKernelNodeSetParams)(node, parameters);
  if (parameters) made(table, code, node, kernel_of(*parameters));
  return code;
}
cudaError_t on_get(Table& table, cudaGraphNode_t node, cudaKernelNodeParams* parameters) {
  const auto ask = [&] { return MNEME_NEXT(table, cudaGraphKernelNodeGetParams)(node, parameters); };
  if (!parameters) return ask();
  TableNodes nodes(table);
  const cudaError_t code = nodes.quietly(ask);
  const auto held = code == cudaSuccess ? std::optional(kernel_of(*parameters)) : nodes.get_deployed(node);
  const auto own = held ? program_kernel(*held) : std::nullopt;
  if (!own) return code == cudaSuccess ? code : ask();  // again, for the error that the program finds
  if (code != cudaSuccess) *parameters = {};
  write(*own, *parameters);
  return cudaSuccess;
}
cudaError_t on_set_executable(Table& table, cudaGraphExec_t executable, cudaGraphNode_t node,
                              const cudaKernelNodeParams* parameters) {
  const auto own = [&] { return MNEME_NEXT(table, cudaGraphExecKernelNodeSetParams)(executable, node, parameters); };
  return parameters ? set_executable(table, executable, node, kernel_of(*parameters), own) : own();
}

bool is_kernel(const cudaGraphNodeParams* parameters) { return parameters && parameters->type == cudaGraphNodeTypeKernel; }

cudaError_t on_add_any(Table& table, cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                       const cudaGraphEdgeData* edges, size_t count, cudaGraphNodeParams* parameters) {
  const cudaError_t code = MNEME_NEXT(table, cudaGraphAddNode)(node, graph, before, edges, count, parameters);
  if (node && is_kernel(parameters)) made(table, code, *node, kernel_of(parameters->kernel));
  return code;
}
cudaError_t on_set_any(Table& table, cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  const cudaError_t code = MNEME_NEXT(table, cudaGraphNodeSetParams)(node, parameters);
  if (is_kernel(parameters)) made(table, code, node, kernel_of(parameters->kernel));
  return code;
}
cudaError_t on_set_executable_any(Table& table, cudaGraphExec_t executable, cudaGraphNode_t node,
                                  cudaGraphNodeParams* parameters) {
  const auto own = [&] { return MNEME_NEXT(table, cudaGraphExecNodeSetParams)(executable, node, parameters); };
  return is_kernel(parameters) ? set_executable(table, executable, node, kernel_of(parameters->kernel), own) : own();
}

// Conditions are about attributes too: what stands in the node is decided anew.
cudaError_t on_set_attribute(Table& table, cudaGraphNode_t node, cudaLaunchAttributeID id,
                             const cudaLaunchAttributeValue* value) {
  const auto change = [&] { return MNEME_NEXT(table, cudaGraphKernelNodeSetAttribute)(node, id, value); };
  TableNodes nodes(table);
  return is_harmless(id) || !value ? change() : change_attributes<cudaError_t>(node, {node, id, value}, nodes, change);
}
cudaError_t on_copy_attributes(Table& table, cudaGraphNode_t to, cudaGraphNode_t from) {
  TableNodes nodes(table);
  return change_attributes<cudaError_t>(to, {from}, nodes,
                                        [&] { return MNEME_NEXT(table, cudaGraphKernelNodeCopyAttributes)(to, from); });
}

#define MNEME_SLOT(name, handler) Hook<MNEME_CALL_##name, handler>
using Hooks =
    HookList<MNEME_SLOT(cudaGraphAddKernelNode, on_add), MNEME_SLOT(cudaGraphKernelNodeSetParams, on_set),
             MNEME_SLOT(cudaGraphKernelNodeGetParams, on_get), MNEME_SLOT(cudaGraphExecKernelNodeSetParams, on_set_executable),
             MNEME_SLOT(cudaGraphAddNode, on_add_any), MNEME_SLOT(cudaGraphNodeSetParams, on_set_any),
             MNEME_SLOT(cudaGraphExecNodeSetParams, on_set_executable_any),
             MNEME_SLOT(cudaGraphKernelNodeSetAttribute, on_set_attribute),
             MNEME_SLOT(cudaGraphKernelNodeCopyAttributes, on_copy_attributes)>;

}  // namespace

void install_graph_hooks(Table& table) { Hooks::install(table); }

}  // namespace mneme::substitute
