// What single calls of the CUDA runtime and driver take that stand in a launch's way, and launches by each kind of handle: the
// least of 20 runs of 500 calls, in ns. What deployed code may cost is made of these (bench/deployed.py).
#include <cuda.h>
#include <cuda_runtime.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

// Of the runtime, in no header of its own for programs: nvcc writes calls of it.
extern "C" cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared,
                                          cudaStream_t stream);

__global__ void step(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * 0.5f + 1.0f;
}

static constexpr char kPtx[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry loaded(.param .u64 a, .param .u32 b) { ret; }\n";

template <typename F>
static F* driver(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  constexpr unsigned kVersion = 12000;  // whose functions have the arguments that are written here
  if (cudaGetDriverEntryPointByVersion(name, &function, kVersion, cudaEnableDefault, &found) != cudaSuccess || !function) {
    std::fprintf(stderr, "the driver has no %s\n", name);
    std::exit(3);
  }
  return reinterpret_cast<F*>(function);
}

template <typename Call>
static void time(const char* name, Call call) {
  double best = 1e30;
  for (int run = 0; run < 20; ++run) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 500; ++i)
      if (const int failure = static_cast<int>(call()); failure != 0) {
        std::printf("%-58s returned %d\n", name, failure);
        return;
      }
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
    if (cudaDeviceSynchronize() != cudaSuccess) std::exit(2);
    if (taken.count() / 500 < best) best = taken.count() / 500;
  }
  std::printf("%-58s %.1f\n", name, best);
  std::fflush(stdout);
}

int main() {
  float* data = nullptr;
  int n = 256, device = 0;
  void* arguments[] = {&data, &n};
  if (cudaMalloc(&data, n * sizeof(float)) != cudaSuccess) return 1;
  const auto load = driver<decltype(cuLibraryLoadData)>("cuLibraryLoadData");
  const auto get_kernel = driver<decltype(cuLibraryGetKernel)>("cuLibraryGetKernel");
  const auto get_function = driver<decltype(cuKernelGetFunction)>("cuKernelGetFunction");
  const auto load_module = driver<decltype(cuModuleLoadData)>("cuModuleLoadData");
  const auto module_function = driver<decltype(cuModuleGetFunction)>("cuModuleGetFunction");
  const auto launch = driver<decltype(cuLaunchKernel)>("cuLaunchKernel");
  const auto launch_extended = driver<decltype(cuLaunchKernelEx)>("cuLaunchKernelEx");
  const auto current = driver<decltype(cuCtxGetCurrent)>("cuCtxGetCurrent");
  const auto id_of = driver<decltype(cuCtxGetId)>("cuCtxGetId");
  const auto device_of = driver<decltype(cuCtxGetDevice)>("cuCtxGetDevice");
  const auto context_of = driver<CUresult(CUstream, CUcontext*)>("cuStreamGetCtx");

  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  CUfunction function = nullptr, in_module = nullptr;
  CUmodule module = nullptr;
  cudaKernel_t own = nullptr;
  cudaFunction_t own_function = nullptr;
  cudaStream_t stream = nullptr;
  if (load(&library, kPtx, nullptr, nullptr, 0, nullptr, nullptr, 0) || get_kernel(&kernel, library, "loaded") ||
      get_function(&function, kernel) || load_module(&module, kPtx) || module_function(&in_module, module, "loaded") ||
      cudaGetKernel(&own, reinterpret_cast<const void*>(step)) ||
      cudaGetFuncBySymbol(&own_function, reinterpret_cast<const void*>(step)) || cudaStreamCreate(&stream))
    return 2;

  CUcontext context = nullptr;
  unsigned long long id = 0;
  CUdevice ordinal = 0;
  time("cudaGetDevice", [&] { return cudaGetDevice(&device); });
  time("cudaPeekAtLastError", [&] { return cudaPeekAtLastError(); });
  time("cuCtxGetCurrent", [&] { return current(&context); });
  time("cuCtxGetId", [&] { return id_of(context, &id); });
  time("cuCtxGetDevice", [&] { return device_of(&ordinal); });
  time("cuStreamGetCtx", [&] { return context_of(stream, &context); });

  const auto by_symbol = [&] { return cudaLaunchKernel(reinterpret_cast<const void*>(step), 2, 128, arguments, 0, nullptr); };
  const auto by_driver = [&](CUfunction f) { return launch(f, 2, 1, 1, 128, 1, 1, 0, nullptr, arguments, nullptr); };
  const auto extended = [&](CUfunction f) {
    CUlaunchConfig configuration{};
    configuration.gridDimX = 2, configuration.blockDimX = 128;
    configuration.gridDimY = configuration.gridDimZ = configuration.blockDimY = configuration.blockDimZ = 1;
    return launch_extended(&configuration, f, arguments, nullptr);
  };
  for (int round = 0; round < 2; ++round) {
    time("cudaLaunchKernel, symbol", by_symbol);
    time("cudaLaunchKernel, the symbol's kernel handle",
         [&] { return cudaLaunchKernel(reinterpret_cast<const void*>(own), 2, 128, arguments, 0, nullptr); });
    time("__cudaLaunchKernel, the symbol's kernel handle",
         [&] { return __cudaLaunchKernel(own, 2, 128, arguments, 0, nullptr); });
    time("__cudaLaunchKernel, kernel of a loaded library",
         [&] { return __cudaLaunchKernel(reinterpret_cast<cudaKernel_t>(kernel), 2, 128, arguments, 0, nullptr); });
    time("cuLaunchKernel, the symbol's function", [&] { return by_driver(reinterpret_cast<CUfunction>(own_function)); });
    time("cuLaunchKernel, the symbol's kernel handle", [&] { return by_driver(reinterpret_cast<CUfunction>(own)); });
    time("cuLaunchKernel, kernel of a loaded library", [&] { return by_driver(reinterpret_cast<CUfunction>(kernel)); });
    time("cuLaunchKernel, function of that kernel", [&] { return by_driver(function); });
    time("cuLaunchKernel, function of a module", [&] { return by_driver(in_module); });
    time("cuLaunchKernelEx, function of a loaded library", [&] { return extended(function); });
    time("cuLaunchKernelEx, function of a module", [&] { return extended(in_module); });
  }
  return 0;
}
