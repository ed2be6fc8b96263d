// Calls of each family of HIP's functions, whose results are printed: FAILED lines, and "done" at the end.
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#if HIP_VERSION_MAJOR >= 6
#define memoryType type
#endif

__device__ int scale_by = 3;
__constant__ int shift_by[2] = {10, 20};
__managed__ int seen = 5;

__global__ void fill(int* out, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = value * scale_by + shift_by[i & 1];
}
__global__ void add_one(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] += 1;
  if (i == 0) seen += 1;
}
__global__ void reverse(int* data) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}
__global__ void refuse(int* data) { __builtin_trap(); }

int failures = 0;
#define CHECK(what)                                                                       \
  do {                                                                                    \
    if (!(what)) std::printf("FAILED line %d: %s\n", __LINE__, #what), ++failures;        \
  } while (0)
#define OK(call)                                                                                          \
  do {                                                                                                    \
    const hipError_t code = call;                                                                         \
    if (code != hipSuccess) std::printf("FAILED line %d: %s: %s\n", __LINE__, #call, hipGetErrorName(code)), ++failures; \
  } while (0)

const int n = 256;
int* data;
std::vector<int> host(n);
bool holds(int first, int second) {
  OK(hipMemcpy(host.data(), data, n * 4, hipMemcpyDeviceToHost));
  return host[0] == first && host[n - 1] == second;
}

void launches() {
  fill<<<1, n>>>(data, 1, n);
  OK(hipGetLastError());
  CHECK(holds(13, 23));
  int value = 2, count = n;
  void* arguments[] = {&data, &value, &count};
  const auto function = reinterpret_cast<const void*>(fill);
  OK(hipLaunchCooperativeKernel(function, dim3(1), dim3(n), arguments, 0, nullptr));
  CHECK(holds(16, 26));
  hipEvent_t start, stop;
  OK(hipEventCreate(&start));
  OK(hipEventCreateWithFlags(&stop, hipEventReleaseToSystem));
  hipExtLaunchKernelGGL(fill, dim3(1), dim3(n), 0, nullptr, start, stop, 0, data, 3, n);
  CHECK(holds(19, 29));
  float milliseconds = -1;
  OK(hipEventElapsedTime(&milliseconds, start, stop));
  CHECK(milliseconds >= 0);
  OK(hipEventDestroy(start));
  reverse<<<1, n, n * sizeof(int)>>>(data);
  CHECK(holds(29, 19));
  reverse<<<1, n, 60 << 10>>>(data);
  OK(hipGetLastError());
  CHECK(holds(19, 29));
  fill<<<1, 2048>>>(data, 1, n);
  CHECK(hipGetLastError() == hipErrorInvalidConfiguration);
  OK(hipGetLastError());
}

void symbols() {
  int value = 7, size = 0;
  OK(hipMemcpyToSymbol(HIP_SYMBOL(scale_by), &value, 4));
  void* address = nullptr;
  size_t bytes = 0;
  OK(hipGetSymbolAddress(&address, HIP_SYMBOL(scale_by)));
  OK(hipGetSymbolSize(&bytes, HIP_SYMBOL(shift_by)));
  CHECK(bytes == 8);
  OK(hipMemcpy(&size, address, 4, hipMemcpyDeviceToHost));
  CHECK(size == 7);
  value = 0;
  OK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(shift_by), 4, 4));
  CHECK(value == 20);
  value = 3;
  OK(hipMemcpyToSymbol(HIP_SYMBOL(scale_by), &value, 4));
  CHECK(seen == 5);
  add_one<<<1, n>>>(data, n);
  OK(hipDeviceSynchronize());
  CHECK(seen == 6);
}

void memory() {
  int *pinned = nullptr, *managed = nullptr, *other = nullptr, *of_stream = nullptr;
  OK(hipHostMalloc(&pinned, n * 4, hipHostMallocCoherent));
  std::memset(pinned, 0, n * 4);
  int* mapped = nullptr;
  OK(hipHostGetDevicePointer(reinterpret_cast<void**>(&mapped), pinned, 0));
  add_one<<<1, n>>>(mapped, n);
  OK(hipDeviceSynchronize());
  CHECK(pinned[0] == 1 && pinned[n - 1] == 1);
  hipPointerAttribute_t attributes;
  OK(hipPointerGetAttributes(&attributes, pinned));
  CHECK(attributes.memoryType == hipMemoryTypeHost && attributes.hostPointer == pinned);
  OK(hipPointerGetAttributes(&attributes, data));
  CHECK(attributes.memoryType == hipMemoryTypeDevice && attributes.devicePointer == data && !attributes.isManaged);
  CHECK(hipPointerGetAttributes(&attributes, &attributes) == hipErrorInvalidValue);
  (void)hipGetLastError();
  OK(hipMallocManaged(&managed, n * 4));
  OK(hipMemAdvise(managed, n * 4, hipMemAdviseSetPreferredLocation, 0));
  OK(hipMemPrefetchAsync(managed, n * 4, hipCpuDeviceId));
  fill<<<1, n>>>(managed, 1, n);
  OK(hipDeviceSynchronize());
  CHECK(managed[0] == 13);
  OK(hipPointerGetAttributes(&attributes, managed));
  CHECK(attributes.isManaged);
  OK(hipExtMallocWithFlags(reinterpret_cast<void**>(&other), n * 4, hipDeviceMallocFinegrained));
  OK(hipMemsetD32(other, 0x01020304, n));
  OK(hipMemcpyDtoD(data, other, n * 4));
  CHECK(holds(0x01020304, 0x01020304));
  OK(hipMemsetD8(data, 2, n * 4));
  CHECK(holds(0x02020202, 0x02020202));
  OK(hipMemsetD16(data, 0x0102, n * 2));
  CHECK(holds(0x01020102, 0x01020102));
  hipDeviceptr_t base = nullptr;
  size_t size = 0;
  OK(hipMemGetAddressRange(&base, &size, data + 5));
  CHECK(base == data && size == n * 4);
  int ordinal = -1;
  OK(hipPointerGetAttribute(&ordinal, HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL, data));
  CHECK(ordinal == 0);
  OK(hipMemPtrGetInfo(data, &size));
  CHECK(size == n * 4);
  OK(hipMallocAsync(reinterpret_cast<void**>(&of_stream), n * 4, nullptr));
  OK(hipFreeAsync(of_stream, nullptr));
  hipPitchedPtr pitched;
  OK(hipMalloc3D(&pitched, make_hipExtent(64, 4, 2)));
  OK(hipMemset3D(pitched, 1, make_hipExtent(64, 4, 2)));
  hipMemcpy3DParms copy{};
  char block[64 * 4 * 2] = {};
  copy.srcPtr = pitched;
  copy.dstPtr = make_hipPitchedPtr(block, 64, 64, 4);
  copy.extent = make_hipExtent(64, 4, 2);
  copy.kind = hipMemcpyDeviceToHost;
  OK(hipMemcpy3D(&copy));
  CHECK(block[0] == 1 && block[sizeof block - 1] == 1);
  hip_Memcpy2D part{};
  part.srcMemoryType = hipMemoryTypeDevice;
  part.srcDevice = pitched.ptr;
  part.srcPitch = pitched.pitch;
  part.dstMemoryType = hipMemoryTypeHost;
  part.dstHost = block;
  part.dstPitch = 16;
  part.WidthInBytes = 16;
  part.Height = 3;
  std::memset(block, 0, sizeof block);
  OK(hipMemcpyParam2D(&part));
  CHECK(block[47] == 1 && block[48] == 0);
  OK(hipHostRegister(block, sizeof block, hipExtHostRegisterCoarseGrained));
  OK(hipHostUnregister(block));
  size_t available = 0, total = 0;
  OK(hipMemGetInfo(&available, &total));
  CHECK(total >= available && available != 0);
  OK(hipFree(pitched.ptr));
  OK(hipFree(other));
  OK(hipFree(managed));
  OK(hipHostFree(pinned));
  CHECK(hipMalloc(&other, size_t{1} << 60) == hipErrorOutOfMemory);
  CHECK(hipGetLastError() == hipErrorOutOfMemory);
}

void arrays() {
  hipArray* array = nullptr;
  const hipChannelFormatDesc channels = hipCreateChannelDesc<int>();
  OK(hipMallocArray(&array, &channels, 16, 4, 0));
  int rows[64], back[64] = {};
  for (int i = 0; i < 64; ++i) rows[i] = i;
  OK(hipMemcpy2DToArray(array, 0, 0, rows, 64, 64, 4, hipMemcpyHostToDevice));
  OK(hipMemcpy2DFromArray(back, 64, array, 0, 0, 64, 4, hipMemcpyDeviceToHost));
  CHECK(std::memcmp(rows, back, sizeof rows) == 0);
  hip_Memcpy2D part{};
  part.srcMemoryType = hipMemoryTypeArray;
  part.srcArray = array;
  part.srcXInBytes = 8;
  part.srcY = 1;
  part.dstMemoryType = hipMemoryTypeHost;
  part.dstHost = back;
  part.WidthInBytes = 8;
  part.Height = 2;
  OK(hipMemcpyParam2D(&part));
  CHECK(back[0] == 18 && back[1] == 19 && back[2] == 34);
  hipChannelFormatDesc found;
  OK(hipGetChannelDesc(&found, array));
  CHECK(found.x == 32 && found.f == hipChannelFormatKindSigned);
  OK(hipFreeArray(array));
}

int called = 0;
void streams() {
  hipStream_t stream;
  OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  unsigned flags = 0;
  OK(hipStreamGetFlags(stream, &flags));
  CHECK(flags == hipStreamNonBlocking);
  hipEvent_t event;
  OK(hipEventCreate(&event));
  fill<<<1, n, 0, stream>>>(data, 2, n);
  OK(hipEventRecord(event, stream));
  OK(hipStreamWaitEvent(nullptr, event, 0));
  OK(hipEventQuery(event));
  OK(hipStreamAddCallback(
      stream, [](hipStream_t, hipError_t status, void* data) { *static_cast<int*>(data) = status == hipSuccess ? 1 : 2; }, &called, 0));
  OK(hipStreamSynchronize(stream));
  CHECK(called == 1);
  CHECK(holds(16, 26));
  OK(hipEventDestroy(event));
  OK(hipStreamDestroy(stream));
  CHECK(hipStreamDestroy(stream) == hipErrorInvalidHandle);
  (void)hipGetLastError();
}

void graphs() {
  hipStream_t stream;
  OK(hipStreamCreate(&stream));
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  fill<<<1, n, 0, stream>>>(data, 1, n);
  add_one<<<1, n, 0, stream>>>(data, n);
  hipGraph_t graph;
  OK(hipStreamEndCapture(stream, &graph));
  size_t count = 0;
  OK(hipGraphGetNodes(graph, nullptr, &count));
  CHECK(count == 2);
  std::vector<hipGraphNode_t> nodes(count);
  OK(hipGraphGetNodes(graph, nodes.data(), &count));
  hipGraphNodeType type;
  OK(hipGraphNodeGetType(nodes[0], &type));
  CHECK(type == hipGraphNodeTypeKernel);
  hipKernelNodeParams kernel{};
  OK(hipGraphKernelNodeGetParams(nodes[0], &kernel));
  CHECK(kernel.blockDim.x == n && kernel.gridDim.x == 1);
  hipGraphNode_t set;
  hipMemsetParams fill_with{};
  fill_with.dst = data;
  fill_with.value = 1;
  fill_with.elementSize = 4;
  fill_with.width = 1;
  fill_with.height = 1;
  OK(hipGraphAddMemsetNode(&set, graph, nullptr, 0, &fill_with));
  OK(hipGraphMemsetNodeGetParams(set, &fill_with));
  CHECK(fill_with.dst == data && fill_with.elementSize == 4);
  OK(hipGraphDestroyNode(set));
  hipGraphExec_t executable;
  OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  OK(hipGraphLaunch(executable, stream));
  OK(hipStreamSynchronize(stream));
  CHECK(holds(14, 24));
  OK(hipGraphExecDestroy(executable));
  OK(hipGraphDestroy(graph));
  OK(hipStreamDestroy(stream));
}

void device() {
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 0));
  CHECK(std::strncmp(properties.gcnArchName, "gfx90a", 6) == 0 && properties.warpSize == 64 && properties.major == 9);
  CHECK(properties.sharedMemPerBlock == 65536 && properties.maxThreadsPerBlock == 1024);
  int value = 0, count = 0;
  OK(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 0));
  CHECK(value == 64);
  OK(hipDeviceGetAttribute(&value, hipDeviceAttributeMultiprocessorCount, 0));
  CHECK(value == properties.multiProcessorCount);
  CHECK(hipDeviceGetAttribute(&value, hipDeviceAttributeWarpSize, 1) == hipErrorInvalidDevice);
  OK(hipGetDeviceCount(&count));
  CHECK(count == 1);
  CHECK(hipSetDevice(1) == hipErrorInvalidDevice);
  CHECK(hipPeekAtLastError() == hipErrorInvalidDevice);
  CHECK(hipGetLastError() == hipErrorInvalidDevice);
  OK(hipGetLastError());
  hipFuncAttributes attributes;
  OK(hipFuncGetAttributes(&attributes, reinterpret_cast<const void*>(fill)));
  CHECK(attributes.maxThreadsPerBlock == 1024);
  int blocks = 0, grid = 0, block = 0;
  OK(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 256, 0));
  CHECK(blocks == 8);
  OK(hipOccupancyMaxPotentialBlockSize(&grid, &block, fill, 0, 0));
  CHECK(block % 64 == 0 && grid > 0);
  hipCtx_t context;
  hipDevice_t number;
  OK(hipInit(0));
  OK(hipDeviceGet(&number, 0));
  OK(hipDevicePrimaryCtxRetain(&context, number));
  OK(hipCtxSetCurrent(context));
  OK(hipCtxSynchronize());
  char name[64];
  OK(hipDeviceGetName(name, sizeof name, number));
  CHECK(std::strstr(name, "Mneme CPU device") == name);
}

void modules(const char* file) {
  hipModule_t module;
  hipFunction_t function;
  OK(hipModuleLoad(&module, file));
  OK(hipModuleGetFunction(&function, module, "triple"));
  int count = n;
  fill<<<1, n>>>(data, 1, n);
  void* arguments[] = {&data, &count};
  OK(hipModuleLaunchKernel(function, 1, 1, 1, n, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(holds(13 * 3, 23 * 3));
  hipDeviceptr_t factor;
  size_t bytes = 0;
  OK(hipModuleGetGlobal(&factor, &bytes, module, "factor"));
  CHECK(bytes == 4);
  int two = 2;
  OK(hipMemcpyHtoD(factor, &two, 4));
  struct {
    int* data;
    int count;
  } packed{data, n};
  size_t size = sizeof packed;
  void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &packed, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
  OK(hipExtModuleLaunchKernel(function, n, 1, 1, n, 1, 1, 0, nullptr, nullptr, extra));
  CHECK(holds(13 * 6, 23 * 6));
  // The same arguments in a node of a graph: they are copied when it is made.
  hipGraph_t graph;
  hipGraphNode_t node;
  hipKernelNodeParams in_buffer{};
  in_buffer.func = reinterpret_cast<void*>(function);
  in_buffer.gridDim = dim3(1);
  in_buffer.blockDim = dim3(n);
  in_buffer.extra = extra;
  OK(hipGraphCreate(&graph, 0));
  OK(hipGraphAddKernelNode(&node, graph, nullptr, 0, &in_buffer));
  packed.data = nullptr;
  hipGraphExec_t executable;
  OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  OK(hipGraphLaunch(executable, nullptr));
  OK(hipDeviceSynchronize());
  CHECK(holds(13 * 12, 23 * 12));
  OK(hipGraphExecDestroy(executable));
  OK(hipGraphDestroy(graph));
  // A managed variable of a module is memory of the host's, too.
  hipDeviceptr_t managed;
  hipFunction_t use_managed;
  OK(hipModuleGetGlobal(&managed, &bytes, module, "managed"));
  int* const values = reinterpret_cast<int*>(managed);
  CHECK(bytes == 12 && values[0] == 5 && values[1] == 6);
  values[0] = 50;
  OK(hipModuleGetFunction(&use_managed, module, "use_managed"));
  OK(hipModuleLaunchKernel(use_managed, 1, 1, 1, n, 1, 1, 0, nullptr, arguments, nullptr));
  OK(hipDeviceSynchronize());
  CHECK(values[2] == 8 && holds(50, 6));
  CHECK(hipModuleGetFunction(&function, module, "missing") == hipErrorNotFound);
  CHECK(hipModuleLoad(&module, "/no/such/file") == hipErrorFileNotFound);
  (void)hipGetLastError();
}

int main(int argc, char** argv) {
  OK(hipMalloc(&data, n * 4));
  launches();
  symbols();
  memory();
  arrays();
  streams();
  graphs();
  device();
  if (argc > 1) modules(argv[1]);
  hipIpcMemHandle_t handle;
  CHECK(hipIpcGetMemHandle(&handle, data) == hipErrorNotSupported);
  CHECK(hipIpcGetMemHandle(&handle, data) == hipErrorNotSupported);
  (void)hipGetLastError();
  OK(hipFree(data));
  OK(hipDeviceReset());
  std::printf(failures == 0 ? "done\n" : "%d failures\n", failures);
  return failures != 0;
}
