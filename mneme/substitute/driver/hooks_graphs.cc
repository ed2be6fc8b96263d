// Nodes of kernels in graphs that the program builds itself: made, changed, changed in an executable graph, and asked for.
#include "mneme/hooks/kernel_handles.h"
#include "mneme/substitute/driver/driver_front.h"
#include "mneme/substitute/graph_nodes.h"

namespace mneme::substitute {
namespace {

using Parameters = CUDA_KERNEL_NODE_PARAMS_v2;

// What is called of the driver itself. It came with the functions that deployed code is loaded by.
struct Functions {
  CUresult (*get)(CUgraphNode, Parameters*) = nullptr;
  CUresult (*set)(CUgraphNode, const Parameters*) = nullptr;
  CUresult (*set_executable)(CUgraphExec, CUgraphNode, const Parameters*) = nullptr;
  CUresult (*attribute)(CUgraphNode, CUlaunchAttributeID, CUlaunchAttributeValue*) = nullptr;

  bool find(const DriverFront& front) {
    get = reinterpret_cast<decltype(get)>(front.find("cuGraphKernelNodeGetParams_v2"));
    set = reinterpret_cast<decltype(set)>(front.find("cuGraphKernelNodeSetParams_v2"));
    set_executable = reinterpret_cast<decltype(set_executable)>(front.find("cuGraphExecKernelNodeSetParams_v2"));
    attribute = reinterpret_cast<decltype(attribute)>(front.find("cuGraphKernelNodeGetAttribute"));
    return get && set && set_executable && attribute;
  }
};
Functions& driver_functions() {
  static Functions functions;
  return functions;
}

template <mneme_driver_call kSlot, typename... A>
CUresult next(A... arguments) {
  return reinterpret_cast<CUresult (*)(A...)>(front().real(kSlot))(arguments...);
}

// The structures of all versions have these members, and older ones neither a kernel nor a context. The driver may tell two
// handles of one kernel, of which the program has got one; where the program gives two, the function counts. `context` is the
// node's; null: the current one.
template <typename P>
NodeKernel kernel_of(const P& p, CUcontext context = nullptr) {
  const void* function = p.func;
  if constexpr (requires { p.kern; })
    if (const CUkernel known = front().library_kernel(p.kern);
        !function || (known && front().function_in(context, known) == function))
      function = p.kern;
  return {function,
          {{p.gridDimX, p.gridDimY, p.gridDimZ}, {p.blockDimX, p.blockDimY, p.blockDimZ}, Bytes(p.sharedMemBytes)},
          p.kernelParams,
          p.extra != nullptr};
}

// A kernel of a library is named with the node's context, which p has.
template <typename P>
void write(const NodeKernel& kernel, P& p) {
  p.func = static_cast<CUfunction>(const_cast<void*>(kernel.function));
  if constexpr (requires { p.kern; }) {
    p.kern = front().library_kernel(kernel.function);
    if (p.kern) p.func = nullptr;
  }
  const auto& [grid, block, shared, cooperative, cluster] = kernel.shape;
  p.gridDimX = grid.x, p.gridDimY = grid.y, p.gridDimZ = grid.z;
  p.blockDimX = block.x, p.blockDimY = block.y, p.blockDimZ = block.z;
  p.sharedMemBytes = static_cast<unsigned>(shared.count);
  p.kernelParams = kernel.arguments;
}

class DriverNodes final : public NodeVendor {
 public:
  CodeLoader& loader() override { return front(); }
  std::optional<NodeKernel> get(void* node) override {
    Parameters p{};
    if (driver_functions().get(static_cast<CUgraphNode>(node), &p) != CUDA_SUCCESS) return std::nullopt;
    return kernel_of(p, p.ctx);
  }
  int set(void* node, const NodeKernel& kernel) override {
    Parameters p{};
    if (const CUresult code = driver_functions().get(static_cast<CUgraphNode>(node), &p); code != CUDA_SUCCESS) return code;
    write(kernel, p);
    p.extra = nullptr;
    return driver_functions().set(static_cast<CUgraphNode>(node), &p);
  }
  void add_attributes(void* node, const NodeAttributes& attributes, NodeKernel& kernel) override {
    Parameters p{};
    kernel.odd = kernel.odd || driver_functions().get(static_cast<CUgraphNode>(node), &p) != CUDA_SUCCESS ||
                 !front().is_current_context(p.ctx);
    const auto value_of = [&](CUlaunchAttributeID id) {
      if (attributes.id == static_cast<int>(id)) return *static_cast<const CUlaunchAttributeValue*>(attributes.value);
      CUlaunchAttributeValue value{};
      // The driver knows no newer ones than itself.
      if (driver_functions().attribute(static_cast<CUgraphNode>(attributes.node), id, &value) != CUDA_SUCCESS) value = {};
      return value;
    };
    const auto cluster = value_of(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION).clusterDim;
    const auto preferred = value_of(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION).preferredClusterDim;
    take_attributes(kernel, value_of(CU_LAUNCH_ATTRIBUTE_COOPERATIVE).cooperative != 0, {cluster.x, cluster.y, cluster.z},
                    {preferred.x, preferred.y, preferred.z},
                    value_of(CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE).deviceUpdatableKernelNode.deviceUpdatable != 0);
  }
};
DriverNodes& nodes() {
  static DriverNodes only;
  return only;
}

void made(CUresult code, CUgraphNode node, const NodeKernel& kernel) {
  if (code == CUDA_SUCCESS) deploy_into_node(node, kernel, nodes());
}

// The program is told both handles of a kernel of a library, as the driver would.
template <typename P>
void tell_own(P& p) {
  CUcontext context = nullptr;
  if constexpr (requires { p.ctx; }) context = p.ctx;
  const auto own = program_kernel(kernel_of(p, context));
  if (!own) return;
  write(*own, p);
  if constexpr (requires { p.kern; })
    if (p.kern) p.func = front().function_in(context, p.kern);
}

template <mneme_driver_call kSlot, typename P>
CUresult on_add(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, size_t count, const P* parameters) {
  const CUresult code = next<kSlot>(node, graph, before, count, parameters);
  if (node && parameters) made(code, *node, kernel_of(*parameters));
  return code;
}
template <mneme_driver_call kSlot, typename P>
CUresult on_set(CUgraphNode node, const P* parameters) {
  const CUresult code = next<kSlot>(node, parameters);
  if (parameters) made(code, node, kernel_of(*parameters));
  return code;
}
template <mneme_driver_call kSlot, typename P>
CUresult on_get(CUgraphNode node, P* parameters) {
  const CUresult code = next<kSlot>(node, parameters);
  if (code == CUDA_SUCCESS) tell_own(*parameters);
  return code;
}

// The context is the node's in either case: of a function it is its own.
template <typename Own>
CUresult set_executable(CUgraphExec executable, CUgraphNode node, const NodeKernel& kernel, Own own) {
  const auto with = [&](const NodeKernel& by) {
    Parameters p{};
    write(by, p);
    return driver_functions().set_executable(executable, node, &p);
  };
  return deploy_into_executable(node, kernel, nodes(), CUDA_SUCCESS, with, own);
}
template <mneme_driver_call kSlot, typename P>
CUresult on_set_executable(CUgraphExec executable, CUgraphNode node, const P* parameters) {
  const auto own = [&] { return next<kSlot>(executable, node, parameters); };
  return parameters ? set_executable(executable, node, kernel_of(*parameters), own) : own();
}

bool is_kernel(const CUgraphNodeParams* parameters) { return parameters && parameters->type == CU_GRAPH_NODE_TYPE_KERNEL; }

// In older versions no data of edges stand before the count.
template <mneme_driver_call kSlot, typename... A>
CUresult on_add_any(CUgraphNode* node, CUgraph graph, const CUgraphNode* before, A... others, CUgraphNodeParams* parameters) {
  const CUresult code = next<kSlot>(node, graph, before, others..., parameters);
  if (node && is_kernel(parameters)) made(code, *node, kernel_of(parameters->kernel));
  return code;
}
CUresult on_set_any(CUgraphNode node, CUgraphNodeParams* parameters) {
  const CUresult code = next<MNEME_DRIVER_CALL_cuGraphNodeSetParams>(node, parameters);
  if (is_kernel(parameters)) made(code, node, kernel_of(parameters->kernel));
  return code;
}
CUresult on_get_any(CUgraphNode node, CUgraphNodeParams* parameters) {
  const CUresult code = next<MNEME_DRIVER_CALL_cuGraphNodeGetParams>(node, parameters);
  if (code == CUDA_SUCCESS && is_kernel(parameters)) tell_own(parameters->kernel);
  return code;
}
CUresult on_set_executable_any(CUgraphExec executable, CUgraphNode node, CUgraphNodeParams* parameters) {
  const auto own = [&] { return next<MNEME_DRIVER_CALL_cuGraphExecNodeSetParams>(executable, node, parameters); };
  return is_kernel(parameters) ? set_executable(executable, node, kernel_of(parameters->kernel), own) : own();
}

// Conditions are about attributes too: what stands in the node is decided anew.
CUresult on_set_attribute(CUgraphNode node, CUlaunchAttributeID id, const CUlaunchAttributeValue* value) {
  const auto change = [&] { return next<MNEME_DRIVER_CALL_cuGraphKernelNodeSetAttribute>(node, id, value); };
  if (is_harmless(static_cast<cudaLaunchAttributeID>(id)) || !value) return change();
  return change_attributes<CUresult>(node, {node, static_cast<int>(id), value}, nodes(), change);
}
CUresult on_copy_attributes(CUgraphNode to, CUgraphNode from) {
  return change_attributes<CUresult>(to, {from}, nodes(),
                                     [&] { return next<MNEME_DRIVER_CALL_cuGraphKernelNodeCopyAttributes>(to, from); });
}

}  // namespace

#define MNEME_NODE(name, handler, ...) \
  driver::hook(MNEME_DRIVER_CALL_##name, &handler<MNEME_DRIVER_CALL_##name __VA_OPT__(, ) __VA_ARGS__>)

std::vector<driver::DriverHook> driver_graph_hooks() {
  return driver_functions().find(front()) ? all_driver_graph_hooks() : std::vector<driver::DriverHook>();
}

std::vector<driver::DriverHook> all_driver_graph_hooks() {
  using V1 = CUDA_KERNEL_NODE_PARAMS_v1;
  using V2 = CUDA_KERNEL_NODE_PARAMS_v2;
  return {MNEME_NODE(cuGraphAddKernelNode, on_add, V1),
          MNEME_NODE(cuGraphAddKernelNode_v2, on_add, V2),
          MNEME_NODE(cuGraphKernelNodeSetParams, on_set, V1),
          MNEME_NODE(cuGraphKernelNodeSetParams_v2, on_set, V2),
          MNEME_NODE(cuGraphKernelNodeGetParams, on_get, V1),
          MNEME_NODE(cuGraphKernelNodeGetParams_v2, on_get, V2),
          MNEME_NODE(cuGraphExecKernelNodeSetParams, on_set_executable, V1),
          MNEME_NODE(cuGraphExecKernelNodeSetParams_v2, on_set_executable, V2),
          MNEME_NODE(cuGraphAddNode, on_add_any, size_t),
          MNEME_NODE(cuGraphAddNode_v2, on_add_any, const CUgraphEdgeData*, size_t),
          driver::hook(MNEME_DRIVER_CALL_cuGraphNodeSetParams, &on_set_any),
          driver::hook(MNEME_DRIVER_CALL_cuGraphNodeGetParams, &on_get_any),
          driver::hook(MNEME_DRIVER_CALL_cuGraphExecNodeSetParams, &on_set_executable_any),
          driver::hook(MNEME_DRIVER_CALL_cuGraphKernelNodeSetAttribute, &on_set_attribute),
          driver::hook(MNEME_DRIVER_CALL_cuGraphKernelNodeCopyAttributes, &on_copy_attributes)};
}

}  // namespace mneme::substitute
