// Launches: of kernels of the program and of loaded modules, with arguments one by one or in one buffer.
#include <algorithm>
#include <span>
#include <vector>

#include "mneme/base/log.h"
#include "mneme/hip/loaded_code.h"
#include "mneme/hip/newer_functions.h"
#include "mneme/hip/packed_arguments.h"
#include "mneme/hip/program_code.h"
#include "mneme/hip/rows.h"
#include "mneme/hip/shared_memory.h"

extern "C" {
// As CUDA's compilers declare them in the code that they generate.
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cudaStream_t stream);
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared, void* stream);
}

namespace mneme::hip {
namespace {

// One launch, as both of HIP's families of functions say it.
struct Launch {
  const void* function = nullptr;
  dim3 grid, block;
  size_t shared = 0;
  cudaStream_t stream = nullptr;
  void** arguments = nullptr;
  hipEvent_t start = nullptr, stop = nullptr;  // to be recorded around it
};

dim3 to_dim3(hip_dim3 d) { return std::bit_cast<dim3>(d); }
cudaStream_t to_stream(hipStream_t stream) { return std::bit_cast<cudaStream_t>(stream); }

template <mneme_call kSlot>
hipError_t launch(Table& table, const Launch& what) {
  if (hipError_t result = set_managed_pointers(); result != hipSuccess) return result;
  const auto record = [&](hipEvent_t event) {
    return event ? MNEME_CUDA(table, cudaEventRecord)(std::bit_cast<cudaEvent_t>(event), what.stream) : cudaSuccess;
  };
  allow_shared_memory(table, what.function, what.shared);
  cudaError_t code = record(what.start);
  if (code == cudaSuccess) {
    AsMade::name_subject(kSlot, {what.function, what.arguments});
    code = reinterpret_cast<decltype(&::cudaLaunchKernel)>(table.cuda(kSlot))(what.function, what.grid, what.block,
                                                                              what.arguments, what.shared, what.stream);
  }
  if (code == cudaSuccess) code = record(what.stop);
  return to_hip(code);
}

template <mneme_call kSlot>
hipError_t launch_kernel(Table& table, const void* function, hip_dim3 grid, hip_dim3 block, void** arguments, size_t shared,
                         hipStream_t stream) {
  return launch<kSlot>(table, {.function = function,
                               .grid = to_dim3(grid),
                               .block = to_dim3(block),
                               .shared = shared,
                               .stream = to_stream(stream),
                               .arguments = arguments});
}

template <mneme_call kSlot>
hipError_t launch_cooperatively(Table& table, const void* function, hip_dim3 grid, hip_dim3 block, void** arguments,
                                unsigned shared, hipStream_t stream) {
  return launch_kernel<kSlot>(table, function, grid, block, arguments, shared, stream);
}

hipError_t launch_with_events(Table& table, const void* function, hip_dim3 grid, hip_dim3 block, void** arguments, size_t shared,
                              hipStream_t stream, hipEvent_t start, hipEvent_t stop, int) {
  return launch<MNEME_CALL_cudaLaunchKernel>(table, {.function = function,
                                                     .grid = to_dim3(grid),
                                                     .block = to_dim3(block),
                                                     .shared = shared,
                                                     .stream = to_stream(stream),
                                                     .arguments = arguments,
                                                     .start = start,
                                                     .stop = stop});
}

// One device: each entry is a launch of its own.
template <mneme_call kSlot>
hipError_t launch_on_devices(Table& table, hipLaunchParams* list, int count, unsigned) {
  if (!list || count <= 0) return hipErrorInvalidValue;
  for (int i = 0; i < count; ++i) {
    const hipLaunchParams& one = list[i];
    const hipError_t result =
        launch_kernel<kSlot>(table, one.func, one.gridDim, one.blockDim, one.args, one.sharedMem, one.stream);
    if (result != hipSuccess) return result;
  }
  return hipSuccess;
}

hipError_t push_configuration(Table& table, hip_dim3 grid, hip_dim3 block, size_t shared, hipStream_t stream) {
  const unsigned refused =
      MNEME_CUDA(table, __cudaPushCallConfiguration)(to_dim3(grid), to_dim3(block), shared, to_stream(stream));
  return refused ? hipErrorInvalidConfiguration : hipSuccess;
}

hipError_t pop_configuration(Table& table, hip_dim3* grid, hip_dim3* block, size_t* shared, hipStream_t* stream) {
  return to_hip(MNEME_CUDA(table, __cudaPopCallConfiguration)(reinterpret_cast<dim3*>(grid), reinterpret_cast<dim3*>(block),
                                                              shared, stream));
}

// A launch whose arguments are either listed or in a buffer.
hipError_t launch_function(Table& table, Launch what, void** extra) {
  if (!what.function) return hipErrorInvalidHandle;
  std::vector<void*> arguments;
  if (!what.arguments && extra) {
    if (hipError_t result = list_arguments(table, what.function, extra, arguments); result != hipSuccess) return result;
    what.arguments = arguments.data();
  }
  return launch<MNEME_CALL_cudaLaunchKernel>(table, what);
}

hipError_t launch_module_kernel(Table& table, hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, hipStream_t stream,
                                void** arguments, void** extra) {
  return launch_function(table,
                         {.function = function,
                          .grid = {grid_x, grid_y, grid_z},
                          .block = {block_x, block_y, block_z},
                          .shared = shared,
                          .stream = to_stream(stream),
                          .arguments = arguments},
                         extra);
}

// Its grid is counted in threads. A block that is cut off at its end is HSA's own, and no other device has it.
hipError_t launch_module_threads(Table& table, hipFunction_t function, uint32_t threads_x, uint32_t threads_y, uint32_t threads_z,
                                 uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t shared, hipStream_t stream,
                                 void** arguments, void** extra, hipEvent_t start, hipEvent_t stop, uint32_t) {
  if (block_x == 0 || block_y == 0 || block_z == 0) return hipErrorInvalidConfiguration;
  if (threads_x % block_x != 0 || threads_y % block_y != 0 || threads_z % block_z != 0) {
    static std::once_flag said;
    std::call_once(said, [] {
      log::warning(
          "hipExtModuleLaunchKernel with a last block that is smaller than the others is not available: it returns "
          "hipErrorNotSupported");
    });
    return hipErrorNotSupported;
  }
  return launch_function(table,
                         {.function = function,
                          .grid = {threads_x / block_x, threads_y / block_y, threads_z / block_z},
                          .block = {block_x, block_y, block_z},
                          .shared = shared,
                          .stream = to_stream(stream),
                          .arguments = arguments,
                          .start = start,
                          .stop = stop},
                         extra);
}
hipError_t launch_module_threads_old(Table& table, hipFunction_t function, uint32_t threads_x, uint32_t threads_y,
                                     uint32_t threads_z, uint32_t block_x, uint32_t block_y, uint32_t block_z, size_t shared,
                                     hipStream_t stream, void** arguments, void** extra, hipEvent_t start, hipEvent_t stop) {
  return launch_module_threads(table, function, threads_x, threads_y, threads_z, block_x, block_y, block_z, shared, stream,
                               arguments, extra, start, stop, 0);
}

// Launches in three calls, as HIP's oldest programs have them.
struct OldLaunch {
  Launch launch;
  std::vector<std::byte> buffer;
};
thread_local std::vector<OldLaunch> old_launches;

hipError_t configure_call(Table&, hip_dim3 grid, hip_dim3 block, size_t shared, hipStream_t stream) {
  old_launches.push_back({{.grid = to_dim3(grid), .block = to_dim3(block), .shared = shared, .stream = to_stream(stream)}, {}});
  return hipSuccess;
}
hipError_t set_up_argument(Table&, const void* argument, size_t size, size_t offset) {
  if (old_launches.empty()) return hipErrorMissingConfiguration;
  if (!argument || size > (1 << 20) || offset > (1 << 20)) return hipErrorInvalidValue;
  std::vector<std::byte>& buffer = old_launches.back().buffer;
  if (buffer.size() < offset + size) buffer.resize(offset + size);
  std::memcpy(buffer.data() + offset, argument, size);
  return hipSuccess;
}
hipError_t launch_by_pointer(Table& table, const void* function) {
  if (old_launches.empty()) return hipErrorMissingConfiguration;
  OldLaunch old = std::move(old_launches.back());
  old_launches.pop_back();
  old.launch.function = function;
  size_t bytes = old.buffer.size();
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, old.buffer.data(), HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   HIP_LAUNCH_PARAM_END};
  return launch_function(table, old.launch, extra);
}

#define MNEME_OWN_OF(slot, handler) Hook<slot, &Noted<&handler>::call>
using Rows =
    HookList<MNEME_OWN_THROUGH(hipLaunchKernel, launch_kernel<MNEME_CALL_cudaLaunchKernel>, cudaLaunchKernel),
             MNEME_OWN_THROUGH(hipLaunchKernel_spt, launch_kernel<MNEME_CALL_cudaLaunchKernel_ptsz>, cudaLaunchKernel_ptsz),
             MNEME_OWN_THROUGH(hipLaunchCooperativeKernel, launch_cooperatively<MNEME_CALL_cudaLaunchCooperativeKernel>,
                               cudaLaunchCooperativeKernel),
             MNEME_OWN_THROUGH(hipLaunchCooperativeKernel_spt, launch_cooperatively<MNEME_CALL_cudaLaunchCooperativeKernel_ptsz>,
                               cudaLaunchCooperativeKernel_ptsz),
             MNEME_OWN(hipLaunchCooperativeKernelMultiDevice, launch_on_devices<MNEME_CALL_cudaLaunchCooperativeKernel>),
             MNEME_OWN(hipExtLaunchMultiKernelMultiDevice, launch_on_devices<MNEME_CALL_cudaLaunchKernel>),
             MNEME_OWN(hipExtLaunchKernel, launch_with_events), MNEME_EMULATED(__hipPushCallConfiguration, push_configuration),
             MNEME_EMULATED(__hipPopCallConfiguration, pop_configuration), MNEME_OWN(hipModuleLaunchKernel, launch_module_kernel),
             MNEME_OWN(hipConfigureCall, configure_call), MNEME_OWN(hipSetupArgument, set_up_argument),
             MNEME_OWN(hipLaunchByPtr, launch_by_pointer),
             MNEME_OWN_OF(MNEME_CALL_hipExtModuleLaunchKernel, launch_module_threads),
             MNEME_OWN_OF(MNEME_CALL_hipHccModuleLaunchKernel, launch_module_threads_old)>;

// What an interposer launches: kernels of the program, and code that it has loaded.
enum class Streams { usual, per_thread };  // what null is
LoadedLaunch loaded_launch(dim3 grid, dim3 block, void** arguments, size_t shared, cudaStream_t stream, Streams streams) {
  const auto own = std::bit_cast<hipStream_t>(stream);
  return {grid, block, shared, !own && streams == Streams::per_thread ? hipStreamPerThread : own, arguments};
}

// HIP's function of a slot, which for cooperative launches counts shared memory in another type, and what launches loaded code.
template <mneme_hip_call kHip, typename SharedBytes, auto kLaunchLoaded, Streams kStreams>
cudaError_t end_of_launch(Table& table, const void* function, dim3 grid, dim3 block, void** arguments, size_t shared,
                          cudaStream_t stream) {
  if (is_loaded_kernel(function))
    return kLaunchLoaded(table, function, loaded_launch(grid, block, arguments, shared, stream, kStreams));
  using Launch = hipError_t (*)(const void*, hip_dim3, hip_dim3, void**, SharedBytes, hipStream_t);
  return to_cuda(table.runtime<Launch>(kHip)(function, std::bit_cast<hip_dim3>(grid), std::bit_cast<hip_dim3>(block), arguments,
                                             static_cast<SharedBytes>(shared), std::bit_cast<hipStream_t>(stream)));
}
template <Streams kStreams>
cudaError_t end_of_launch_by_handle(Table& table, cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                    cudaStream_t stream) {
  return launch_loaded(table, kernel, loaded_launch(grid, block, arguments, shared, stream, kStreams));
}

// Attributes of a launch of loaded code are those that change nothing, but for one.
cudaError_t end_of_launch_with_config(Table& table, const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (!is_loaded_kernel(function)) {
    const auto real = table.runtime<LaunchWithConfig>("hipLaunchKernelExC");
    return real ? to_cuda(real(config, function, arguments)) : cudaErrorNotSupported;
  }
  const std::span attributes(config->attrs, config->numAttrs);
  const bool cooperative = std::ranges::any_of(attributes, [](const cudaLaunchAttribute& attribute) {
    return attribute.id == cudaLaunchAttributeCooperative && attribute.val.cooperative != 0;
  });
  const LoadedLaunch launch =
      loaded_launch(config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes, config->stream, Streams::usual);
  return cooperative ? launch_loaded_cooperatively(table, function, launch) : launch_loaded(table, function, launch);
}

#define MNEME_LAUNCH_END(hip, cuda, shared, loaded, streams) \
  WrittenEnd<MNEME_CALL_##hip, MNEME_CALL_##cuda, &end_of_launch<MNEME_CALL_##hip, shared, &loaded, Streams::streams>>
using Ends =
    HookList<MNEME_LAUNCH_END(hipLaunchKernel, cudaLaunchKernel, size_t, launch_loaded, usual),
             MNEME_LAUNCH_END(hipLaunchKernel_spt, cudaLaunchKernel_ptsz, size_t, launch_loaded, per_thread),
             MNEME_LAUNCH_END(hipLaunchCooperativeKernel, cudaLaunchCooperativeKernel, unsigned, launch_loaded_cooperatively,
                              usual),
             MNEME_LAUNCH_END(hipLaunchCooperativeKernel_spt, cudaLaunchCooperativeKernel_ptsz, unsigned,
                              launch_loaded_cooperatively, per_thread),
             MNEME_WRITTEN_END(hipLaunchKernel, cudaLaunchKernelExC, end_of_launch_with_config),
             MNEME_WRITTEN_END(hipModuleLaunchKernel, __cudaLaunchKernel, end_of_launch_by_handle<Streams::usual>),
             MNEME_WRITTEN_END(hipModuleLaunchKernel, __cudaLaunchKernel_ptsz, end_of_launch_by_handle<Streams::per_thread>)>;

}  // namespace

void install_launches(const Table& table) { install_both_ways<Rows, Ends>(table); }

}  // namespace mneme::hip
