// One launch of a CUDA kernel, as it was recorded: its memory is put back at its addresses, the kernel runs, and what it leaves
// is compared with what was recorded after the launch. Then it is timed. Nothing but the CUDA driver's API is used.
//
//   ./program [RUNS [DEVICE [CODE]]]
//
// RUNS launches are timed (10), on the device of that number (0). CODE is kernel.cubin; a file of PTX, which the driver
// assembles, will do as well. Exit status: 0 the memory is as recorded, 1 it is not, 2 the launch could not be run.
//
// launch.h says what is launched: the shape, the arguments, and which memory is where. memory.h puts that memory there, and
// compare.h compares.
#include "compare.h"
#include "launch.h"
#include "memory.h"

static CUfunction load(CUmodule& module, const std::string& file) {
  Content code = read_file(file);
  code.push_back(0);  // the end of PTX
  CUfunction kernel;
  CHECK(cuModuleLoadData(&module, code.data()));
  CHECK(cuModuleGetFunction(&kernel, module, kernel_name));
  // More than this has to be asked for, as have clusters of more blocks than any device can run.
  if (shared_memory > 48 * 1024)
    CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, shared_memory));
  if (cluster[0] * cluster[1] * cluster[2] > 8)
    CHECK(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  return kernel;
}

static void launch(CUfunction kernel) {
  CUlaunchConfig config{};
  std::vector<CUlaunchAttribute> attributes;
  if (cooperative) {
    attributes.emplace_back().id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    attributes.back().value.cooperative = 1;
  }
  if (cluster[0] * cluster[1] * cluster[2] > 1) {
    attributes.emplace_back().id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attributes.back().value.clusterDim = {cluster[0], cluster[1], cluster[2]};
  }
  config.gridDimX = grid[0], config.gridDimY = grid[1], config.gridDimZ = grid[2];
  config.blockDimX = block[0], config.blockDimY = block[1], config.blockDimZ = block[2];
  config.sharedMemBytes = shared_memory;
  config.attrs = attributes.data();
  config.numAttrs = static_cast<unsigned>(attributes.size());
  CHECK(cuLaunchKernelEx(&config, kernel, arguments, nullptr));
}

// All memory that is mapped is compared, also what lies between the allocations.
static bool is_right(const std::vector<CUdeviceptr>& places) {
  bool right = true;
  for (size_t i = 0; i < spans.size(); ++i) {
    if (places[i] == 0) continue;
    if (!compare::span_is_right(i, pieces, get(i, places[i]), content_of(i, true))) right = false;
  }
  if (!right) std::puts("not verified: memory is not as recorded after the launch");
  return right;
}

int main(int count, char** words) {
  const int runs = count > 1 ? std::atoi(words[1]) : 10, ordinal = count > 2 ? std::atoi(words[2]) : 0;
  CUdevice device;
  CUcontext context;
  CHECK(cuInit(0));
  hold_addresses();
  CHECK(cuDeviceGet(&device, ordinal));
  CHECK(cuDevicePrimaryCtxRetain(&context, device));
  CHECK(cuCtxSetCurrent(context));
  map_memory(device);

  CUmodule module;
  const CUfunction kernel = load(module, count > 3 ? words[3] : "kernel.cubin");
  const std::vector<CUdeviceptr> places = places_in(module);
  std::vector<Content> before;
  for (size_t i = 0; i < spans.size(); ++i) before.push_back(content_of(i, false));

  CUevent begin, end;
  CHECK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
  CHECK(cuEventCreate(&end, CU_EVENT_DEFAULT));
  std::vector<float> times;
  for (int run = 0; run <= runs; ++run) {  // the first is not timed, since it takes longer
    for (size_t i = 0; i < spans.size(); ++i)
      if (places[i] != 0) put(i, places[i], before[i]);
    CHECK(cuEventRecord(begin, nullptr));
    launch(kernel);
    CHECK(cuEventRecord(end, nullptr));
    CHECK(cuCtxSynchronize());
    if ((run == 0 || run == runs) && !is_right(places)) return 1;
    float milliseconds = 0;
    CHECK(cuEventElapsedTime(&milliseconds, begin, end));
    if (run != 0) times.push_back(milliseconds * 1000);
  }
  std::puts("verified: memory is as recorded after the launch");
  if (times.empty()) return 0;
  std::sort(times.begin(), times.end());
  std::printf("time: %.2f us (median of %zu launches, %.2f us at least)\n", times[times.size() / 2], times.size(), times[0]);
  return 0;
}
