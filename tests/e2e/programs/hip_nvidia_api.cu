// What HIP's headers for NVIDIA GPUs call and CUDA 12 and 13 no longer have, or have with other parameters
// (mneme/abi/hip_nvidia.h). Prints what a call gives that it should not, and "done".
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>
#define CHECK(...) ((__VA_ARGS__) ? (void)0 : (void)std::printf("line %d: %s\n", __LINE__, #__VA_ARGS__))

__global__ void add_one(int* data) { data[threadIdx.x] += 1; }

static void check_properties() {
  hipDeviceProp_t properties;
  std::memset(&properties, 0xff, sizeof properties);
  CHECK(hipGetDeviceProperties(&properties, 0) == hipSuccess);
  int expected = -1;
  CHECK(hipDeviceGetAttribute(&expected, hipDeviceAttributeClockRate, 0) == hipSuccess && properties.clockRate == expected);
  CHECK(hipDeviceGetAttribute(&expected, hipDeviceAttributeMemoryClockRate, 0) == hipSuccess &&
        properties.memoryClockRate == expected);
  CHECK(hipDeviceGetAttribute(&expected, hipDeviceAttributeComputeMode, 0) == hipSuccess && properties.computeMode == expected);
  CHECK(properties.warpSize == 32);
  CHECK(hipGetDeviceProperties(&properties, 1000) == hipErrorInvalidDevice);
  (void)hipGetLastError();
  int device = -1;
  CHECK(hipChooseDevice(&device, &properties) == hipSuccess && device == 0);
}

static void check_memory(int* managed) {
  CHECK(hipMemAdvise(managed, 256, hipMemAdviseSetPreferredLocation, 0) == hipSuccess);
  CHECK(hipMemAdvise(managed, 256, hipMemAdviseSetPreferredLocation, hipCpuDeviceId) == hipSuccess);
  CHECK(hipMemPrefetchAsync(managed, 256, 0, nullptr) == hipSuccess);
  CHECK(hipMemPrefetchAsync(managed, 256, hipCpuDeviceId, nullptr) == hipSuccess);
  CHECK(hipDeviceSynchronize() == hipSuccess);
}

static void check_graphs(int* data) {
  hipGraph_t graph;
  hipGraphNode_t nodes[2], from, to;
  CHECK(hipGraphCreate(&graph, 0) == hipSuccess);
  CHECK(hipGraphAddEmptyNode(&nodes[0], graph, nullptr, 0) == hipSuccess);
  void* arguments[] = {&data};
  hipKernelNodeParams launch = {};
  launch.func = reinterpret_cast<void*>(add_one);
  launch.gridDim = dim3(1), launch.blockDim = dim3(64), launch.kernelParams = arguments;
  CHECK(hipGraphAddKernelNode(&nodes[1], graph, nullptr, 0, &launch) == hipSuccess);
  CHECK(hipGraphAddDependencies(graph, &nodes[0], &nodes[1], 1) == hipSuccess);
  size_t count = 1;
  CHECK(hipGraphGetEdges(graph, &from, &to, &count) == hipSuccess && count == 1 && from == nodes[0] && to == nodes[1]);
  CHECK(hipGraphNodeGetDependencies(nodes[1], &from, &count) == hipSuccess && count == 1 && from == nodes[0]);
  CHECK(hipGraphNodeGetDependentNodes(nodes[0], &to, &count) == hipSuccess && count == 1 && to == nodes[1]);
  CHECK(hipGraphRemoveDependencies(graph, &nodes[0], &nodes[1], 1) == hipSuccess);
  CHECK(hipGraphGetEdges(graph, nullptr, nullptr, &count) == hipSuccess && count == 0);
  CHECK(hipGraphDestroy(graph) == hipSuccess);
}

static void check_capture(int* data) {
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream) == hipSuccess && hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal) == hipSuccess);
  add_one<<<1, 64, 0, stream>>>(data);
  hipStreamCaptureStatus status;
  unsigned long long id = 0;
  hipGraph_t graph = nullptr, captured = nullptr;
  const hipGraphNode_t* dependencies = nullptr;
  size_t count = 0;
  CHECK(hipStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &dependencies, &count) == hipSuccess);
  CHECK(status == hipStreamCaptureStatusActive && count == 1 && graph);
  CHECK(hipStreamUpdateCaptureDependencies(stream, nullptr, 0, hipStreamSetCaptureDependencies) == hipSuccess);
  CHECK(hipStreamEndCapture(stream, &captured) == hipSuccess);
  CHECK(hipGraphDestroy(captured) == hipSuccess && hipStreamDestroy(stream) == hipSuccess);
}

// What CUDA has no more, and nothing in its place.
static void check_refusals(int* data) {
#if CUDART_VERSION >= 13000
  void* arguments[] = {&data};
  hipLaunchParams launch = {};
  launch.func = reinterpret_cast<void*>(add_one);
  launch.gridDim = dim3(1), launch.blockDim = dim3(64), launch.args = arguments;
  CHECK(hipLaunchCooperativeKernelMultiDevice(&launch, 1, 0) == hipErrorNotSupported);
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0) == hipSuccess && properties.cooperativeMultiDeviceLaunch == 0);
#endif
#if HIP_VERSION_MAJOR < 6
  size_t offset = 0;
  CHECK(hipGetTextureAlignmentOffset(&offset, nullptr) == hipErrorNotSupported);
  CHECK(hipBindTexture(&offset, static_cast<textureReference*>(nullptr), data, nullptr, 256) == hipErrorNotSupported);
#endif
}

int main() {
  int* managed = nullptr;
  CHECK(hipMallocManaged(reinterpret_cast<void**>(&managed), 256, hipMemAttachGlobal) == hipSuccess);
  check_properties();
  check_memory(managed);
  check_graphs(managed);
  check_capture(managed);
  check_refusals(managed);
  std::puts("done");
}
