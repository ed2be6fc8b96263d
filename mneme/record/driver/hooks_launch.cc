// Launch kinds, and what makes launches go into a graph: those are no launches yet, and are counted when the graph runs.
#include "mneme/record/driver/driver_front.h"
#include "mneme/record/driver/launches.h"
#include "mneme/record/open_launch.h"

namespace mneme::driver {
namespace {

// `describe` says what is launched by `function`, and `original` makes the call that the program made. `stream` is what the
// timing calls take for the stream of the launch.
template <typename Describe, typename Original>
CUresult launch(const void* function, CUstream stream, Describe describe, Original original) {
  if (front().is_capturing(stream)) return original();
  if (const PassedLaunch* const passed = recorder()->find_passed(function)) {
    passed->count([&] { return describe().shape(); });
    const Gate::Use use(recorder()->gate());
    return original();
  }
  Launch what = describe();
  what.stream = stream;
  OpenLaunch open(what, stream);
  const CUresult code = original();
  open.end(code == CUDA_SUCCESS);
  return code;
}

template <mneme_driver_call kSlot, bool kPerThread>
CUresult on_launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared, CUstream stream, void** parameters, void** extra) {
  const auto describe = [&] {
    return launch_of(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, parameters, extra);
  };
  return launch(function, stream_of_call<kPerThread>(stream), describe, [&] {
    return next<kSlot, decltype(&::cuLaunchKernel)>(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream,
                                                    parameters, extra);
  });
}

template <mneme_driver_call kSlot, bool kPerThread>
CUresult on_launch_cooperative(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** parameters) {
  const auto describe = [&] {
    Launch what = launch_of(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared, parameters, nullptr);
    what.cooperative = true;
    return what;
  };
  return launch(function, stream_of_call<kPerThread>(stream), describe, [&] {
    return next<kSlot, decltype(&::cuLaunchCooperativeKernel)>(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
                                                               shared, stream, parameters);
  });
}

template <mneme_driver_call kSlot, bool kPerThread>
CUresult on_launch_extended(const CUlaunchConfig* configuration, CUfunction function, void** parameters, void** extra) {
  auto original = [&] { return next<kSlot, decltype(&::cuLaunchKernelEx)>(configuration, function, parameters, extra); };
  if (!configuration) return original();
  const CUlaunchConfig& c = *configuration;
  const auto describe = [&] {
    Launch what = launch_of(function, {c.gridDimX, c.gridDimY, c.gridDimZ}, {c.blockDimX, c.blockDimY, c.blockDimZ},
                            c.sharedMemBytes, parameters, extra);
    for (unsigned i = 0; i < c.numAttrs; ++i) take_attribute(c.attrs[i], what);
    return what;
  };
  return launch(function, stream_of_call<kPerThread>(c.hStream), describe, original);
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

template <mneme_driver_call kSlot, bool kPerThread, typename... A>
CUresult on_begin_capture(CUstream stream, A... arguments) {
  const CUstream captured = stream_of_call<kPerThread>(stream);
  // Counted before, so that nothing waits for the device once the capture has begun.
  recorder()->begin_stream_capture(captured);
  Gate::Use use(recorder()->gate());
  CUresult code = next<kSlot, CUresult (*)(CUstream, A...)>(stream, arguments...);
  if (code != CUDA_SUCCESS) recorder()->end_stream_capture(captured);
  return code;
}

template <mneme_driver_call kSlot, bool kPerThread>
CUresult on_end_capture(CUstream stream, CUgraph* graph) {
  // An invalidated capture ends with an error, and ends all the same.
  CUresult code = next<kSlot, decltype(&::cuStreamEndCapture)>(stream, graph);
  const bool was_capturing =
      code == CUDA_SUCCESS || code == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED || code == CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  if (was_capturing) recorder()->end_stream_capture(stream_of_call<kPerThread>(stream));
  return code;
}

template <mneme_driver_call kSlot>
CUresult on_stream_destroy(CUstream stream) {
  recorder()->forget_stream(stream);
  return next<kSlot, CUresult (*)(CUstream)>(stream);
}

#define MNEME_HOOK(name, ...) hook(MNEME_DRIVER_CALL_##name, &__VA_ARGS__)

}  // namespace

std::vector<DriverHook> launch_hooks() {
  using Old = CUresult(CUstream);
  using WithMode = CUresult(CUstream, CUstreamCaptureMode);
  using ToGraph = CUresult(CUstream, CUgraph, const CUgraphNode*, const CUgraphEdgeData*, size_t, CUstreamCaptureMode);
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
      hook<Old>(MNEME_DRIVER_CALL_cuStreamBeginCapture, &on_begin_capture<MNEME_DRIVER_CALL_cuStreamBeginCapture, false>),
      hook<Old>(MNEME_DRIVER_CALL_cuStreamBeginCapture_ptsz,
                &on_begin_capture<MNEME_DRIVER_CALL_cuStreamBeginCapture_ptsz, true>),
      hook<WithMode>(MNEME_DRIVER_CALL_cuStreamBeginCapture_v2,
                     &on_begin_capture<MNEME_DRIVER_CALL_cuStreamBeginCapture_v2, false>),
      hook<WithMode>(MNEME_DRIVER_CALL_cuStreamBeginCapture_v2_ptsz,
                     &on_begin_capture<MNEME_DRIVER_CALL_cuStreamBeginCapture_v2_ptsz, true>),
      hook<ToGraph>(MNEME_DRIVER_CALL_cuStreamBeginCaptureToGraph,
                    &on_begin_capture<MNEME_DRIVER_CALL_cuStreamBeginCaptureToGraph, false>),
      hook<ToGraph>(MNEME_DRIVER_CALL_cuStreamBeginCaptureToGraph_ptsz,
                    &on_begin_capture<MNEME_DRIVER_CALL_cuStreamBeginCaptureToGraph_ptsz, true>),
      MNEME_HOOK(cuStreamEndCapture, on_end_capture<MNEME_DRIVER_CALL_cuStreamEndCapture, false>),
      MNEME_HOOK(cuStreamEndCapture_ptsz, on_end_capture<MNEME_DRIVER_CALL_cuStreamEndCapture_ptsz, true>),
      MNEME_HOOK(cuStreamDestroy, on_stream_destroy<MNEME_DRIVER_CALL_cuStreamDestroy>),
      MNEME_HOOK(cuStreamDestroy_v2, on_stream_destroy<MNEME_DRIVER_CALL_cuStreamDestroy_v2>),
  };
}

}  // namespace mneme::driver
