// Launch kinds. The list at the end is where one is added: its handler says what the launch is and how the original is called.
#include "mneme/record/open_launch.h"
#include "mneme/record/table.h"

namespace mneme {
namespace {

Dim3 extent(dim3 d) { return {d.x, d.y, d.z}; }

// `describe` says what is launched by `handle`, and `original` makes the call that the program made. What goes into a graph has
// no shape yet that counts.
template <mneme_call kSlot, typename Describe, typename Original>
cudaError_t launch(Table& table, const void* handle, cudaStream_t null_or_stream, Describe describe, Original original) {
  const cudaStream_t stream = stream_of_call<kSlot>(null_or_stream);
  const PassedLaunch* const passed = recorder()->find_passed(handle);
  if (passed && !(passed->shapes && stream_is_capturing(table, stream))) {
    passed->count([&] { return describe().shape(); });
    const Gate::Use use(recorder()->gate());
    return original();
  }
  Launch launch = describe();
  if (!launch.refusal && stream_is_capturing(table, stream)) launch.refusal = NotRecorded::stream_capture;
  launch.function = host_function_of(handle);
  launch.handle = handle;
  OpenLaunch open(launch, stream);
  const cudaError_t code = original();
  open.end(code == cudaSuccess);
  return code;
}

template <mneme_call kSlot, bool kCooperative>
cudaError_t on_launch(Table& table, const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                      cudaStream_t stream) {
  return launch<kSlot>(
      table, function, stream,
      [&] { return Launch{table, function, extent(grid), extent(block), Bytes(shared), kCooperative, arguments, {}}; },
      [&] {
        return reinterpret_cast<decltype(&::cudaLaunchKernel)>(table.next(kSlot))(function, grid, block, arguments, shared,
                                                                                  stream);
      });
}

template <mneme_call kSlot>
cudaError_t on_launch_kernel_handle(Table& table, cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                    cudaStream_t stream) {
  return launch<kSlot>(
      table, kernel, stream,
      [&] { return Launch{table, kernel, extent(grid), extent(block), Bytes(shared), false, arguments, {}}; },
      [&] {
        return reinterpret_cast<decltype(&::__cudaLaunchKernel)>(table.next(kSlot))(kernel, grid, block, arguments, shared,
                                                                                    stream);
      });
}

Launch extended_launch(Table& table, const cudaLaunchConfig_t& configuration, const void* function, void** arguments) {
  Launch what{table,
              function,
              extent(configuration.gridDim),
              extent(configuration.blockDim),
              Bytes(configuration.dynamicSmemBytes),
              false,
              arguments,
              {}};
  for (unsigned i = 0; i < configuration.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = configuration.attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative)
      what.cooperative = attribute.val.cooperative != 0;
    else if (!is_harmless(attribute.id))
      what.refusal = NotRecorded::launch_attribute;
  }
  return what;
}

template <mneme_call kSlot>
cudaError_t on_launch_extended(Table& table, const cudaLaunchConfig_t* configuration, const void* function, void** arguments) {
  auto original = [&] {
    return reinterpret_cast<decltype(&::cudaLaunchKernelExC)>(table.next(kSlot))(configuration, function, arguments);
  };
  if (!configuration) return original();
  return launch<kSlot>(
      table, function, configuration->stream, [&] { return extended_launch(table, *configuration, function, arguments); },
      original);
}

template <mneme_call kSlot>
cudaError_t on_begin_capture(Table& table, cudaStream_t stream, cudaStreamCaptureMode mode) {
  cudaError_t code = reinterpret_cast<decltype(&::cudaStreamBeginCapture)>(table.next(kSlot))(stream, mode);
  if (code == cudaSuccess) recorder()->begin_stream_capture(stream);
  return code;
}

template <mneme_call kSlot>
cudaError_t on_begin_capture_to_graph(Table& table, cudaStream_t stream, cudaGraph_t graph, const cudaGraphNode_t* dependencies,
                                      const cudaGraphEdgeData* edges, size_t count, cudaStreamCaptureMode mode) {
  auto next = reinterpret_cast<decltype(&::cudaStreamBeginCaptureToGraph)>(table.next(kSlot));
  cudaError_t code = next(stream, graph, dependencies, edges, count, mode);
  if (code == cudaSuccess) recorder()->begin_stream_capture(stream);
  return code;
}

template <mneme_call kSlot>
cudaError_t on_end_capture(Table& table, cudaStream_t stream, cudaGraph_t* graph) {
  // An invalidated capture ends with an error, and ends all the same: what counts is whether one was going on.
  bool capturing = stream_is_capturing(table, stream);
  cudaError_t code = reinterpret_cast<decltype(&::cudaStreamEndCapture)>(table.next(kSlot))(stream, graph);
  if (capturing) recorder()->end_stream_capture(stream);
  return code;
}

// A kernel that the program puts into a graph itself, or gives to a node of one, counts as one that it launches into a stream
// that is captured.
template <typename Parameters>
void count_node(Table& table, const Parameters& kernel) {
  Launch launch{table,
                host_function_of(kernel.func),
                extent(kernel.gridDim),
                extent(kernel.blockDim),
                Bytes(kernel.sharedMemBytes),
                false,
                kernel.kernelParams,
                {}};
  launch.handle = kernel.func;
  launch.refusal = NotRecorded::stream_capture;
  OpenLaunch(launch, nullptr).end(true);
}

// `code` is what the call has returned that gives a node these parameters.
cudaError_t counted(Table& table, cudaError_t code, const cudaKernelNodeParams* kernel) {
  if (code == cudaSuccess && kernel) count_node(table, *kernel);
  return code;
}
cudaError_t counted(Table& table, cudaError_t code, const cudaGraphNodeParams* node) {
  if (code == cudaSuccess && node && node->type == cudaGraphNodeTypeKernel) count_node(table, node->kernel);
  return code;
}

cudaError_t on_add_kernel(Table& table, cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before, size_t count,
                          const cudaKernelNodeParams* kernel) {
  return counted(table, MNEME_NEXT(table, cudaGraphAddKernelNode)(node, graph, before, count, kernel), kernel);
}
cudaError_t on_add_node(Table& table, cudaGraphNode_t* node, cudaGraph_t graph, const cudaGraphNode_t* before,
                        const cudaGraphEdgeData* edges, size_t count, cudaGraphNodeParams* parameters) {
  return counted(table, MNEME_NEXT(table, cudaGraphAddNode)(node, graph, before, edges, count, parameters), parameters);
}
cudaError_t on_set_kernel(Table& table, cudaGraphNode_t node, const cudaKernelNodeParams* kernel) {
  return counted(table, MNEME_NEXT(table, cudaGraphKernelNodeSetParams)(node, kernel), kernel);
}
cudaError_t on_set_node(Table& table, cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  return counted(table, MNEME_NEXT(table, cudaGraphNodeSetParams)(node, parameters), parameters);
}
cudaError_t on_set_kernel_of_exec(Table& table, cudaGraphExec_t graph, cudaGraphNode_t node, const cudaKernelNodeParams* kernel) {
  return counted(table, MNEME_NEXT(table, cudaGraphExecKernelNodeSetParams)(graph, node, kernel), kernel);
}
cudaError_t on_set_node_of_exec(Table& table, cudaGraphExec_t graph, cudaGraphNode_t node, cudaGraphNodeParams* parameters) {
  return counted(table, MNEME_NEXT(table, cudaGraphExecNodeSetParams)(graph, node, parameters), parameters);
}

cudaError_t on_stream_destroy(Table& table, cudaStream_t stream) {
  recorder()->forget_stream(stream);
  return MNEME_NEXT(table, cudaStreamDestroy)(stream);
}

#define MNEME_SLOT(name, ...) Hook<MNEME_CALL_##name, __VA_ARGS__>
using Hooks =
    HookList<MNEME_SLOT(cudaLaunchKernel, on_launch<MNEME_CALL_cudaLaunchKernel, false>),
             MNEME_SLOT(cudaLaunchKernel_ptsz, on_launch<MNEME_CALL_cudaLaunchKernel_ptsz, false>),
             MNEME_SLOT(cudaLaunchCooperativeKernel, on_launch<MNEME_CALL_cudaLaunchCooperativeKernel, true>),
             MNEME_SLOT(cudaLaunchCooperativeKernel_ptsz, on_launch<MNEME_CALL_cudaLaunchCooperativeKernel_ptsz, true>),
             MNEME_SLOT(cudaLaunchKernelExC, on_launch_extended<MNEME_CALL_cudaLaunchKernelExC>),
             MNEME_SLOT(cudaLaunchKernelExC_ptsz, on_launch_extended<MNEME_CALL_cudaLaunchKernelExC_ptsz>),
             MNEME_SLOT(__cudaLaunchKernel, on_launch_kernel_handle<MNEME_CALL___cudaLaunchKernel>),
             MNEME_SLOT(__cudaLaunchKernel_ptsz, on_launch_kernel_handle<MNEME_CALL___cudaLaunchKernel_ptsz>),
             // whether a launch goes into a graph
             MNEME_SLOT(cudaGraphAddKernelNode, on_add_kernel), MNEME_SLOT(cudaGraphAddNode, on_add_node),
             MNEME_SLOT(cudaGraphKernelNodeSetParams, on_set_kernel), MNEME_SLOT(cudaGraphNodeSetParams, on_set_node),
             MNEME_SLOT(cudaGraphExecKernelNodeSetParams, on_set_kernel_of_exec),
             MNEME_SLOT(cudaGraphExecNodeSetParams, on_set_node_of_exec),
             MNEME_SLOT(cudaStreamBeginCapture, on_begin_capture<MNEME_CALL_cudaStreamBeginCapture>),
             MNEME_SLOT(cudaStreamBeginCapture_ptsz, on_begin_capture<MNEME_CALL_cudaStreamBeginCapture_ptsz>),
             MNEME_SLOT(cudaStreamBeginCaptureToGraph, on_begin_capture_to_graph<MNEME_CALL_cudaStreamBeginCaptureToGraph>),
             MNEME_SLOT(cudaStreamBeginCaptureToGraph_ptsz,
                        on_begin_capture_to_graph<MNEME_CALL_cudaStreamBeginCaptureToGraph_ptsz>),
             MNEME_SLOT(cudaStreamEndCapture, on_end_capture<MNEME_CALL_cudaStreamEndCapture>),
             MNEME_SLOT(cudaStreamEndCapture_ptsz, on_end_capture<MNEME_CALL_cudaStreamEndCapture_ptsz>),
             MNEME_SLOT(cudaStreamDestroy, on_stream_destroy)>;

}  // namespace

void install_launch_hooks(Table& table) {
  HandleHooks<Table>::install(table);
  Hooks::install(table);
}

}  // namespace mneme
