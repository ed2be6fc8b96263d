// Launches. Each handler says what the launch is, how it is made as it is, and how the substitute is launched in its place.
#include "mneme/hooks/kernel_handles.h"
#include "mneme/substitute/table.h"

namespace mneme::substitute {
namespace {

Dim3 extent(dim3 d) { return {d.x, d.y, d.z}; }
dim3 extent(Dim3 d) { return {d.x, d.y, d.z}; }

Status check_launched(cudaError_t code) {
  if (code == cudaSuccess) [[likely]]
    return {};
  return error(Code::device_fault, "launching the deployed code returned {}", static_cast<int>(code));
}

// Of a plain launch. False: it was not made.
bool launch_by_driver(const Table& table, const DeployedCode::Substitute& by, const ProgramLaunch& launch) {
  const DriverLaunch driver = table.driver_launch();
  const auto& [grid, block, shared, cooperative, cluster] = by.shape;
  return driver && !by.on_trial && !cooperative &&
         driver(static_cast<CUfunction>(by.handle), grid.x, grid.y, grid.z, block.x, block.y, block.z,
                static_cast<unsigned>(shared.count), static_cast<CUstream>(launch.stream), const_cast<void**>(launch.arguments),
                nullptr) == CUDA_SUCCESS;
}

enum class Plain { no, yes };  // a launch without attributes

// `own` makes the call of the program with some arguments, and `with` makes it with the code under a handle, in another shape,
// with arguments.
template <Plain kPlain, typename Own, typename With>
cudaError_t launch(Table& table, ProgramLaunch launch, Own own, With with) {
  const auto original = [&] { return own(const_cast<void**>(launch.arguments)); };
  DeployedCode& code = process()->code;
  launch.odd = launch.odd || !table.is_of_current_device(static_cast<cudaStream_t>(launch.stream));
  const auto* const substitute = code.find(launch, table.registry(), table);
  if (!substitute) return original();
  if (kPlain == Plain::yes && launch_by_driver(table, *substitute, launch)) [[likely]] {
    code.end(*substitute);
    return cudaSuccess;
  }
  const bool pending = MNEME_NEXT(table, cudaPeekAtLastError)() != cudaSuccess;
  // Of a failure that is not its own the program finds nothing.
  const auto quietly = [&](cudaError_t launched) {
    if (launched != cudaSuccess && !pending) (void)MNEME_NEXT(table, cudaGetLastError)();
    return launched;
  };
  const auto make = [&](void* handle, void* const* arguments) {
    return quietly(with(handle, substitute->shape, const_cast<void**>(arguments)));
  };
  if (substitute->on_trial) [[unlikely]] {
    cudaError_t made = cudaSuccess;
    const auto deployed = [&](void* handle, void* const* arguments) { return check_launched(make(handle, arguments)); };
    const auto again = [&](void* const* arguments) { return check_launched(quietly(own(const_cast<void**>(arguments)))); };
    code.try_out(*substitute, {launch, [&] { return (made = original()) == cudaSuccess; }, again, deployed}, table);
    return made;
  }
  const cudaError_t launched = make(substitute->handle, launch.arguments);
  if (launched == cudaSuccess) [[likely]] {
    code.end(*substitute);
    return launched;
  }
  const cudaError_t made = original();
  made == cudaSuccess ? code.end(*substitute, check_launched(launched)) : code.end_without(*substitute);
  return made;
}

// Code that is loaded by itself is launched by its handle where the runtime has a function for that, which looks nothing up.
template <mneme_call kSlot, bool kCooperative>
cudaError_t launch_handle(Table& table, void* handle, const ProgramShape& shape, void** arguments, cudaStream_t stream) {
  constexpr mneme_call kByHandle = is_per_thread(kSlot) ? MNEME_CALL___cudaLaunchKernel_ptsz : MNEME_CALL___cudaLaunchKernel;
  if constexpr (!kCooperative)
    if (const auto by_handle = reinterpret_cast<decltype(&::__cudaLaunchKernel)>(table.next(kByHandle)))
      return by_handle(static_cast<cudaKernel_t>(handle), extent(shape.grid), extent(shape.block), arguments, shape.shared.count,
                       stream);
  return reinterpret_cast<decltype(&::cudaLaunchKernel)>(table.next(kSlot))(handle, extent(shape.grid), extent(shape.block),
                                                                            arguments, shape.shared.count, stream);
}

template <mneme_call kSlot, bool kCooperative>
cudaError_t on_launch(Table& table, const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                      cudaStream_t stream) {
  auto next = reinterpret_cast<decltype(&::cudaLaunchKernel)>(table.next(kSlot));
  return launch<Plain::yes>(
      table, {function, {extent(grid), extent(block), Bytes(shared), kCooperative}, arguments, stream_of_call<kSlot>(stream)},
      [&](void** own) { return next(function, grid, block, own, shared, stream); },
      [&](void* handle, const ProgramShape& shape, void** changed) {
        return launch_handle<kSlot, kCooperative>(table, handle, shape, changed, stream);
      });
}

template <mneme_call kSlot>
cudaError_t on_launch_handle(Table& table, cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                             cudaStream_t stream) {
  auto next = reinterpret_cast<decltype(&::__cudaLaunchKernel)>(table.next(kSlot));
  return launch<Plain::yes>(
      table, {kernel, {extent(grid), extent(block), Bytes(shared)}, arguments, stream_of_call<kSlot>(stream)},
      [&](void** own) { return next(kernel, grid, block, own, shared, stream); },
      [&](void* handle, const ProgramShape& shape, void** changed) {
        return launch_handle<kSlot, false>(table, handle, shape, changed, stream);
      });
}

template <mneme_call kSlot>
cudaError_t on_launch_extended(Table& table, const cudaLaunchConfig_t* configuration, const void* function, void** arguments) {
  auto next = reinterpret_cast<decltype(&::cudaLaunchKernelExC)>(table.next(kSlot));
  if (!configuration) return next(configuration, function, arguments);
  ProgramShape shape{extent(configuration->gridDim), extent(configuration->blockDim), Bytes(configuration->dynamicSmemBytes)};
  bool odd_attributes = false;
  for (unsigned i = 0; i < configuration->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = configuration->attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative)
      shape.cooperative = attribute.val.cooperative != 0;
    else if (const auto& cluster = attribute.val.clusterDim; attribute.id == cudaLaunchAttributeClusterDimension)
      shape.cluster = {cluster.x, cluster.y, cluster.z};
    else
      odd_attributes = odd_attributes || !is_harmless(attribute.id);
  }
  return launch<Plain::no>(
      table, {function, shape, arguments, stream_of_call<kSlot>(configuration->stream), odd_attributes},
      [&](void** own) { return next(configuration, function, own); },
      [&](void* handle, const ProgramShape& tuned, void** with) {
        cudaLaunchConfig_t changed = *configuration;
        changed.gridDim = extent(tuned.grid);
        changed.blockDim = extent(tuned.block);
        changed.dynamicSmemBytes = tuned.shared.count;
        return next(&changed, handle, with);
      });
}

#define MNEME_SLOT(name, ...) Hook<MNEME_CALL_##name, __VA_ARGS__>
using Hooks = HookList<MNEME_SLOT(cudaLaunchKernel, on_launch<MNEME_CALL_cudaLaunchKernel, false>),
                       MNEME_SLOT(cudaLaunchKernel_ptsz, on_launch<MNEME_CALL_cudaLaunchKernel_ptsz, false>),
                       MNEME_SLOT(cudaLaunchCooperativeKernel, on_launch<MNEME_CALL_cudaLaunchCooperativeKernel, true>),
                       MNEME_SLOT(cudaLaunchCooperativeKernel_ptsz, on_launch<MNEME_CALL_cudaLaunchCooperativeKernel_ptsz, true>),
                       MNEME_SLOT(cudaLaunchKernelExC, on_launch_extended<MNEME_CALL_cudaLaunchKernelExC>),
                       MNEME_SLOT(cudaLaunchKernelExC_ptsz, on_launch_extended<MNEME_CALL_cudaLaunchKernelExC_ptsz>),
                       MNEME_SLOT(__cudaLaunchKernel, on_launch_handle<MNEME_CALL___cudaLaunchKernel>),
                       MNEME_SLOT(__cudaLaunchKernel_ptsz, on_launch_handle<MNEME_CALL___cudaLaunchKernel_ptsz>)>;

}  // namespace

void install_launch_hooks(Table& table) { Hooks::install(table); }

}  // namespace mneme::substitute
