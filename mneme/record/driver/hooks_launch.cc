// Launch kinds, and what makes launches go into a graph.
#include "mneme/record/driver/driver_front.h"

namespace mneme::driver {
namespace {

// The arguments of a launch that packs them itself: `extra` is a list of names and values.
ByteSpan packed_arguments(void** extra) {
  const void* buffer = nullptr;
  size_t size = 0;
  for (void** entry = extra; entry && *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (*entry == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = entry[1];
    if (*entry == CU_LAUNCH_PARAM_BUFFER_SIZE) size = *static_cast<size_t*>(entry[1]);
  }
  return buffer ? ByteSpan(static_cast<const std::byte*>(buffer), size) : ByteSpan();
}

// `original` makes the call that the program made. `stream` is what the timing calls take for the stream of the launch.
template <typename Original>
CUresult launch(Launch what, CUstream stream, Original original) {
  Recorder::CapturePtr capture = recorder()->begin_launch(what);
  CUresult code;
  {
    Gate::Use use(recorder()->gate());
    auto timed = recorder()->begin_timing(what, capture.get(), stream);
    code = original();
    recorder()->end_timing(timed, code == CUDA_SUCCESS);
  }
  if (capture) recorder()->end_launch(std::move(capture), code == CUDA_SUCCESS);
  return code;
}

Launch launch_of(const void* function, Dim3 grid, Dim3 block, unsigned shared, void** parameters) {
  return Launch{
      .vendor = front(), .function = function, .grid = grid, .block = block, .shared = Bytes(shared), .arguments = parameters};
}

// What null means as a stream depends on which variant was called.
template <bool kPerThread>
CUstream stream_of_call(CUstream stream) {
  return kPerThread && stream == nullptr ? CU_STREAM_PER_THREAD : stream;
}

template <mneme_driver_call kSlot, bool kPerThread>
CUresult on_launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared, CUstream stream, void** parameters, void** extra) {
  Launch what = launch_of(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, parameters);
  what.packed = packed_arguments(extra);
  return launch(what, stream_of_call<kPerThread>(stream), [&] {
    return next<kSlot, decltype(&::cuLaunchKernel)>(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                                                    parameters, extra);
  });
}

template <mneme_driver_call kSlot, bool kPerThread>
CUresult on_launch_cooperative(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** parameters) {
  Launch what = launch_of(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, parameters);
  what.cooperative = true;
  return launch(what, stream_of_call<kPerThread>(stream), [&] {
    return next<kSlot, decltype(&::cuLaunchCooperativeKernel)>(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                                               shared, stream, parameters);
  });
}

// Takes an attribute of a launch into its description. A recording has a place for those that change what runs; others are
// kept by name.
void take_attribute(const CUlaunchAttribute& attribute, Launch& what) {
  const auto keep = [&](const char* name, auto value) { what.attributes[name] = fmt::format("{}", value); };
  switch (attribute.id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE: break;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: what.cooperative = attribute.value.cooperative != 0; break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
      what.cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y, attribute.value.clusterDim.z};
      break;
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      keep("access_policy_window", attribute.value.accessPolicyWindow.num_bytes);
      break;
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: keep("synchronization_policy", int{attribute.value.syncPolicy}); break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      keep("cluster_scheduling_policy_preference", int{attribute.value.clusterSchedulingPolicyPreference});
      break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      keep("programmatic_stream_serialization", attribute.value.programmaticStreamSerializationAllowed);
      break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT: keep("programmatic_event", 1); break;
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: keep("launch_completion_event", 1); break;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: keep("priority", attribute.value.priority); break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: keep("mem_sync_domain_map", 1); break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: keep("mem_sync_domain", int{attribute.value.memSyncDomain}); break;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      keep("preferred_shared_memory_carveout", attribute.value.sharedMemCarveout);
      break;
    default: what.refusal = NotRecorded::launch_attribute;
  }
}

template <mneme_driver_call kSlot, bool kPerThread>
CUresult on_launch_extended(const CUlaunchConfig* configuration, CUfunction function, void** parameters, void** extra) {
  auto original = [&] { return next<kSlot, decltype(&::cuLaunchKernelEx)>(configuration, function, parameters, extra); };
  if (!configuration) return original();
  const CUlaunchConfig& c = *configuration;
  Launch what = launch_of(function, {c.gridDimX, c.gridDimY, c.gridDimZ}, {c.blockDimX, c.blockDimY, c.blockDimZ},
                          c.sharedMemBytes, parameters);
  what.packed = packed_arguments(extra);
  for (unsigned i = 0; i < c.numAttrs; ++i) take_attribute(c.attrs[i], what);
  return launch(what, stream_of_call<kPerThread>(c.hStream), original);
}

// Launches whose parameters the program has set one by one before, or that go to several devices.
template <mneme_driver_call kSlot, typename... A>
CUresult on_other_launch(A... arguments) {
  if (auto* report = recorder()->report()) {
    ++report->launches;
    report->count(NotRecorded::parameter_set, "");
  }
  Gate::Use use(recorder()->gate());
  return next<kSlot, CUresult (*)(A...)>(arguments...);
}

template <mneme_driver_call kSlot>
CUresult on_graph_launch(CUgraphExec graph, CUstream stream) {
  Gate::Use use(recorder()->gate());
  return next<kSlot, decltype(&::cuGraphLaunch)>(graph, stream);
}

template <mneme_driver_call kSlot, typename... A>
CUresult on_begin_capture(A... arguments) {
  // Counted before, so that nothing waits for the device once the capture has begun.
  recorder()->begin_stream_capture();
  Gate::Use use(recorder()->gate());
  CUresult code = next<kSlot, CUresult (*)(A...)>(arguments...);
  if (code != CUDA_SUCCESS) recorder()->end_stream_capture();
  return code;
}

template <mneme_driver_call kSlot>
CUresult on_end_capture(CUstream stream, CUgraph* graph) {
  // An invalidated capture ends with an error, and ends all the same.
  CUresult code = next<kSlot, decltype(&::cuStreamEndCapture)>(stream, graph);
  const bool was_capturing =
      code == CUDA_SUCCESS || code == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED || code == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (was_capturing) recorder()->end_stream_capture();
  return code;
}

// What the program destroys takes the recorder's memory and device with it.
template <mneme_driver_call kSlot>
CUresult on_primary_reset(CUdevice device) {
  recorder()->reset(front());
  return next<kSlot, CUresult (*)(CUdevice)>(device);
}

#define MNEME_HOOK(name, ...) hook(MNEME_DRIVER_CALL_##name, &__VA_ARGS__)

}  // namespace

std::vector<DriverHook> launch_hooks() {
  using Extended = CUresult(CUstream, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, size_t, CUstreamCaptureMode);
  return {
      MNEME_HOOK(cuLaunchKernel, on_launch<MNEME_DRIVER_CALL_cuLaunchKernel, false>),
      MNEME_HOOK(cuLaunchKernel_ptsz, on_launch<MNEME_DRIVER_CALL_cuLaunchKernel_ptsz, true>),
      MNEME_HOOK(cuLaunchKernelEx, on_launch_extended<MNEME_DRIVER_CALL_cuLaunchKernelEx, false>),
      MNEME_HOOK(cuLaunchKernelEx_ptsz, on_launch_extended<MNEME_DRIVER_CALL_cuLaunchKernelEx_ptsz, true>),
      MNEME_HOOK(cuLaunchCooperativeKernel, on_launch_cooperative<MNEME_DRIVER_CALL_cuLaunchCooperativeKernel, false>),
      MNEME_HOOK(cuLaunchCooperativeKernel_ptsz, on_launch_cooperative<MNEME_DRIVER_CALL_cuLaunchCooperativeKernel_ptsz, true>),
      MNEME_HOOK(
          cuLaunchCooperativeKernelMultiDevice,
          on_other_launch<MNEME_DRIVER_CALL_cuLaunchCooperativeKernelMultiDevice, CUDA_LAUNCH_PARAMS*, unsigned, unsigned>),
      MNEME_HOOK(cuLaunch, on_other_launch<MNEME_DRIVER_CALL_cuLaunch, CUfunction>),
      MNEME_HOOK(cuLaunchGrid, on_other_launch<MNEME_DRIVER_CALL_cuLaunchGrid, CUfunction, int, int>),
      MNEME_HOOK(cuLaunchGridAsync, on_other_launch<MNEME_DRIVER_CALL_cuLaunchGridAsync, CUfunction, int, int, CUstream>),
      MNEME_HOOK(cuGraphLaunch, on_graph_launch<MNEME_DRIVER_CALL_cuGraphLaunch>),
      MNEME_HOOK(cuGraphLaunch_ptsz, on_graph_launch<MNEME_DRIVER_CALL_cuGraphLaunch_ptsz>),
      MNEME_HOOK(cuStreamBeginCapture, on_begin_capture<MNEME_DRIVER_CALL_cuStreamBeginCapture, CUstream>),
      MNEME_HOOK(cuStreamBeginCapture_ptsz, on_begin_capture<MNEME_DRIVER_CALL_cuStreamBeginCapture_ptsz, CUstream>),
      MNEME_HOOK(cuStreamBeginCapture_v2,
                 on_begin_capture<MNEME_DRIVER_CALL_cuStreamBeginCapture_v2, CUstream, CUstreamCaptureMode>),
      MNEME_HOOK(cuStreamBeginCapture_v2_ptsz,
                 on_begin_capture<MNEME_DRIVER_CALL_cuStreamBeginCapture_v2_ptsz, CUstream, CUstreamCaptureMode>),
      hook<Extended>(MNEME_DRIVER_CALL_cuStreamBeginCaptureToGraph,
                     &on_begin_capture<MNEME_DRIVER_CALL_cuStreamBeginCaptureToGraph>),
      hook<Extended>(MNEME_DRIVER_CALL_cuStreamBeginCaptureToGraph_ptsz,
                     &on_begin_capture<MNEME_DRIVER_CALL_cuStreamBeginCaptureToGraph_ptsz>),
      MNEME_HOOK(cuStreamEndCapture, on_end_capture<MNEME_DRIVER_CALL_cuStreamEndCapture>),
      MNEME_HOOK(cuStreamEndCapture_ptsz, on_end_capture<MNEME_DRIVER_CALL_cuStreamEndCapture_ptsz>),
      MNEME_HOOK(cuDevicePrimaryCtxReset, on_primary_reset<MNEME_DRIVER_CALL_cuDevicePrimaryCtxReset>),
      MNEME_HOOK(cuDevicePrimaryCtxReset_v2, on_primary_reset<MNEME_DRIVER_CALL_cuDevicePrimaryCtxReset_v2>),
  };
}

}  // namespace mneme::driver
