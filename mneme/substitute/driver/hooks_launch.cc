// Launches.
#include "mneme/hooks/kernel_handles.h"
#include "mneme/substitute/driver/driver_front.h"
#include "mneme/substitute/process.h"

namespace mneme::substitute {
namespace {

template <mneme_driver_call kSlot, typename F, typename... A>
CUresult next(A... arguments) {
  return reinterpret_cast<F*>(front().real(kSlot))(arguments...);
}

Status check_launched(CUresult code) {
  if (code == CUDA_SUCCESS) [[likely]]
    return {};
  return error(Code::device_fault, "launching the deployed code returned {}", static_cast<int>(code));
}

// `own` makes the call of the program with some arguments, and `with` makes it with the code under a handle, in another shape,
// with arguments.
template <typename Own, typename With>
CUresult launch(ProgramLaunch launch, Own own, With with) {
  const auto original = [&] { return own(const_cast<void**>(launch.arguments)); };
  DeployedCode& code = process()->code;
  DriverFront& driver = front();
  launch.odd = launch.odd || !driver.is_of_current_context(static_cast<CUstream>(launch.stream));
  const auto* const substitute = code.find(launch, process()->registry, driver);
  if (!substitute) return original();
  if (substitute->on_trial) [[unlikely]] {
    CUresult made = CUDA_SUCCESS;
    const auto deployed = [&](void* handle, void* const* arguments) {
      return check_launched(with(static_cast<CUfunction>(handle), substitute->shape, const_cast<void**>(arguments)));
    };
    const auto again = [&](void* const* arguments) { return check_launched(own(const_cast<void**>(arguments))); };
    code.try_out(*substitute, {launch, [&] { return (made = original()) == CUDA_SUCCESS; }, again, deployed}, driver);
    return made;
  }
  const CUresult launched =
      with(static_cast<CUfunction>(substitute->handle), substitute->shape, const_cast<void**>(launch.arguments));
  if (launched == CUDA_SUCCESS) [[likely]] {
    code.end(*substitute);
    return launched;
  }
  const CUresult made = original();
  made == CUDA_SUCCESS ? code.end(*substitute, check_launched(launched)) : code.end_without(*substitute);
  return made;
}

template <mneme_driver_call kSlot, bool kPerThread>
CUresult on_launch(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared, CUstream stream, void** parameters, void** extra) {
  using F = decltype(::cuLaunchKernel);
  return launch(
      {function,
       {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, Bytes(shared)},
       parameters,
       driver::stream_of_call<kPerThread>(stream),
       extra != nullptr},  // which the program has packed itself: they are not looked at
      [&](void** own) {
        return next<kSlot, F>(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, own, extra);
      },
      [&](CUfunction by, const ProgramShape& shape, void** with) {
        const auto& [grid, block, size, cooperative, cluster] = shape;
        return next<kSlot, F>(by, grid.x, grid.y, grid.z, block.x, block.y, block.z, static_cast<unsigned>(size.count), stream,
                              with, nullptr);
      });
}

template <mneme_driver_call kSlot, bool kPerThread>
CUresult on_launch_cooperative(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                               unsigned block_y, unsigned block_z, unsigned shared, CUstream stream, void** parameters) {
  using F = decltype(::cuLaunchCooperativeKernel);
  return launch(
      {function,
       {{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, Bytes(shared), true},
       parameters,
       driver::stream_of_call<kPerThread>(stream)},
      [&](void** own) {
        return next<kSlot, F>(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, own);
      },
      [&](CUfunction by, const ProgramShape& shape, void** with) {
        const auto& [grid, block, size, cooperative, cluster] = shape;
        return next<kSlot, F>(by, grid.x, grid.y, grid.z, block.x, block.y, block.z, static_cast<unsigned>(size.count), stream,
                              with);
      });
}

template <mneme_driver_call kSlot, bool kPerThread>
CUresult on_launch_extended(const CUlaunchConfig* configuration, CUfunction function, void** parameters, void** extra) {
  using F = decltype(::cuLaunchKernelEx);
  if (!configuration) return next<kSlot, F>(configuration, function, parameters, extra);
  const CUlaunchConfig& c = *configuration;
  ProgramShape shape{{c.gridDimX, c.gridDimY, c.gridDimZ}, {c.blockDimX, c.blockDimY, c.blockDimZ}, Bytes(c.sharedMemBytes)};
  bool odd_attributes = false;
  for (unsigned i = 0; i < c.numAttrs; ++i) {
    if (c.attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
      shape.cooperative = c.attrs[i].value.cooperative != 0;
    else if (const auto& cluster = c.attrs[i].value.clusterDim; c.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
      shape.cluster = {cluster.x, cluster.y, cluster.z};
    else  // the runtime's attributes have the driver's numbers
      odd_attributes = odd_attributes || !is_harmless(static_cast<cudaLaunchAttributeID>(c.attrs[i].id));
  }
  return launch(
      {function, shape, parameters, driver::stream_of_call<kPerThread>(c.hStream), odd_attributes || extra != nullptr},
      [&](void** own) { return next<kSlot, F>(configuration, function, own, extra); },
      [&](CUfunction by, const ProgramShape& tuned, void** with) {
        const auto& [grid, block, size, cooperative, cluster] = tuned;
        CUlaunchConfig changed = c;
        changed.gridDimX = grid.x, changed.gridDimY = grid.y, changed.gridDimZ = grid.z;
        changed.blockDimX = block.x, changed.blockDimY = block.y, changed.blockDimZ = block.z;
        changed.sharedMemBytes = static_cast<unsigned>(size.count);
        void** none = nullptr;
        return next<kSlot, F>(&changed, by, with, none);
      });
}

template <mneme_driver_call kSlot, typename F>
struct MakesContext;
template <mneme_driver_call kSlot, typename... A>
struct MakesContext<kSlot, CUresult(A...)> {
  static CUresult call(A... arguments) {
    front().note_own_context();
    return next<kSlot, CUresult(A...)>(arguments...);
  }
};

// The same context may be there again afterwards, without what was loaded into it.
template <mneme_driver_call kSlot>
CUresult on_primary_reset(CUdevice device) {
  const CUresult code = next<kSlot, CUresult(CUdevice)>(device);
  front().note_primary_context_ended(device);
  return code;
}
template <mneme_driver_call kSlot>
CUresult on_primary_release(CUdevice device) {
  const CUresult code = next<kSlot, CUresult(CUdevice)>(device);
  if (!front().has_primary_context(device)) front().note_primary_context_ended(device);
  return code;
}
CUresult on_destroy(CUcontext context) {
  const auto id = front().id_of(context);
  const CUresult code = next<MNEME_DRIVER_CALL_cuCtxDestroy_v2, CUresult(CUcontext)>(context);
  if (code == CUDA_SUCCESS && id) front().note_own_context_ended(*id);
  return code;
}

}  // namespace

#define MNEME_CONTEXT(name, ...) \
  driver::hook(MNEME_DRIVER_CALL_##name, &MakesContext<MNEME_DRIVER_CALL_##name, CUresult(__VA_ARGS__)>::call)

#define MNEME_CONTEXT_ENDS(name, handler) driver::hook(MNEME_DRIVER_CALL_##name, &handler<MNEME_DRIVER_CALL_##name>)

std::vector<driver::DriverHook> driver_context_hooks() {
  return {MNEME_CONTEXT_ENDS(cuDevicePrimaryCtxRelease, on_primary_release),
          MNEME_CONTEXT_ENDS(cuDevicePrimaryCtxRelease_v2, on_primary_release),
          MNEME_CONTEXT_ENDS(cuDevicePrimaryCtxReset, on_primary_reset),
          MNEME_CONTEXT_ENDS(cuDevicePrimaryCtxReset_v2, on_primary_reset),
          driver::hook(MNEME_DRIVER_CALL_cuCtxDestroy_v2, &on_destroy),
          MNEME_CONTEXT(cuCtxCreate_v2, CUcontext*, unsigned, CUdevice),
          MNEME_CONTEXT(cuCtxCreate_v3, CUcontext*, CUexecAffinityParam*, int, unsigned, CUdevice),
          MNEME_CONTEXT(cuCtxCreate_v4, CUcontext*, CUctxCreateParams*, unsigned, CUdevice),
          MNEME_CONTEXT(cuGreenCtxCreate, CUgreenCtx*, CUdevResourceDesc, CUdevice, unsigned)};
}

#define MNEME_LAUNCH(name, handler, per_thread) \
  driver::hook(MNEME_DRIVER_CALL_##name, &handler<MNEME_DRIVER_CALL_##name, per_thread>)

std::vector<driver::DriverHook> driver_launch_hooks() {
  return {MNEME_LAUNCH(cuLaunchKernel, on_launch, false),
          MNEME_LAUNCH(cuLaunchKernel_ptsz, on_launch, true),
          MNEME_LAUNCH(cuLaunchKernelEx, on_launch_extended, false),
          MNEME_LAUNCH(cuLaunchKernelEx_ptsz, on_launch_extended, true),
          MNEME_LAUNCH(cuLaunchCooperativeKernel, on_launch_cooperative, false),
          MNEME_LAUNCH(cuLaunchCooperativeKernel_ptsz, on_launch_cooperative, true)};
}

}  // namespace mneme::substitute
