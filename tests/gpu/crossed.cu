// Each kind of memory with each kind of launch: a kernel for each kind of memory, which reads one half of it and adds what it has
// read to the other, is launched in every way, with another number of blocks for each. Checks each result, and prints a line for
// each pair.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <thread>
#include <vector>

#define CHECK(call)                                                             \
  do {                                                                          \
    if (const cudaError_t code_ = (call); code_ != cudaSuccess) {               \
      std::printf("%s: %s: %s\n", #call, cudaGetErrorName(code_), memory_kind); \
      std::exit(1);                                                             \
    }                                                                           \
  } while (0)

static const char* memory_kind = "";  // that the program is at

// What is read, and what is added to; in two dimensions rows of kWidth.
constexpr int kCount = 256, kWidth = 16, kRows = kCount / kWidth, kThreads = 32;
constexpr size_t kBytes = 2 * kCount * sizeof(int), kRowBytes = kWidth * sizeof(int);

__device__ int variable[2 * kCount];
__constant__ int constant[kCount];

// What a kernel is given: `row` is the distance of rows in elements, `object` a texture or surface.
struct Place {
  int* memory = nullptr;
  size_t row = kWidth;
  unsigned long long object = 0;
};
using Kernel = void (*)(int* memory, size_t row, unsigned long long object, int by);

bool device_has(cudaDeviceAttr attribute) {
  int value = 0;
  return cudaDeviceGetAttribute(&value, attribute, 0) == cudaSuccess && value != 0;
}

// Kinds of memory. read() and add() are what the kernel does; make() gives the place, filled; get() what is in its second half.
// make() says false where the device has no such memory.
struct linear {
  static __device__ int read(const Place& at, int i) { return at.memory[i]; }
  static __device__ void add(const Place& at, int i, int value) { at.memory[kCount + i] += value; }

  Place place;
  void fill(const int* values) { CHECK(cudaMemcpy(place.memory, values, kBytes, cudaMemcpyDefault)); }
  void get(int* values) { CHECK(cudaMemcpy(values, place.memory + kCount, kCount * sizeof(int), cudaMemcpyDefault)); }
};

struct allocated : linear {
  bool make() { return cudaMalloc(&place.memory, kBytes) == cudaSuccess; }
  void end() { CHECK(cudaFree(place.memory)); }
};

struct ordered : linear {
  bool make() {
    if (!device_has(cudaDevAttrMemoryPoolsSupported)) return false;
    CHECK(cudaMallocAsync(&place.memory, kBytes, nullptr));
    return true;
  }
  void end() { CHECK(cudaFreeAsync(place.memory, nullptr)); }
};

struct pool : linear {
  cudaMemPool_t own = nullptr;
  bool make() {
    if (!device_has(cudaDevAttrMemoryPoolsSupported)) return false;
    cudaMemPoolProps properties{};
    properties.allocType = cudaMemAllocationTypePinned;
    properties.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&own, &properties));
    CHECK(cudaMallocFromPoolAsync(&place.memory, kBytes, own, nullptr));
    return true;
  }
  void end() {
    CHECK(cudaFreeAsync(place.memory, nullptr));
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemPoolDestroy(own));
  }
};

// A function of the driver; null: there is none.
template <typename Function>
Function driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 13000
  const cudaError_t code = cudaGetDriverEntryPointByVersion(name, &found, 12000, cudaEnableDefault, &result);
#else
  const cudaError_t code = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  if (code == cudaSuccess && result == cudaDriverEntryPointSuccess) return reinterpret_cast<Function>(found);
  cudaGetLastError();
  return nullptr;
}
#define DRIVER(name, ...)                                                             \
  do {                                                                                \
    const auto function_ = driver_function<decltype(&::name)>(#name);                 \
    const CUresult code_ = function_ ? function_(__VA_ARGS__) : CUDA_ERROR_NOT_FOUND; \
    if (code_ != CUDA_SUCCESS) {                                                      \
      std::printf("%s: %d: %s\n", #name, int(code_), memory_kind);                    \
      std::exit(1);                                                                   \
    }                                                                                 \
  } while (0)

struct mapped : linear {
  size_t size = 0;
  CUdeviceptr address = 0;
  bool make() {
    if (!driver_function<decltype(&::cuMemMap)>("cuMemMap")) return false;
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CUmemAccessDesc access{};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CUmemGenericAllocationHandle handle = 0;
    DRIVER(cuMemGetAllocationGranularity, &size, &properties, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    DRIVER(cuMemCreate, &handle, size, &properties, 0);
    DRIVER(cuMemAddressReserve, &address, size, 0, 0, 0);
    DRIVER(cuMemMap, address, size, 0, handle, 0);
    DRIVER(cuMemSetAccess, address, size, &access, 1);
    DRIVER(cuMemRelease, handle);
    place.memory = reinterpret_cast<int*>(address);
    return true;
  }
  void end() {
    DRIVER(cuMemUnmap, address, size);
    DRIVER(cuMemAddressFree, address, size);
  }
};

struct managed : linear {
  bool make() { return device_has(cudaDevAttrManagedMemory) && cudaMallocManaged(&place.memory, kBytes) == cudaSuccess; }
  void end() { CHECK(cudaFree(place.memory)); }
};

// Rows with room between them.
struct in_rows {
  static __device__ int& element(const Place& at, int i) { return at.memory[i / kWidth * at.row + i % kWidth]; }
  static __device__ int read(const Place& at, int i) { return element(at, i); }
  static __device__ void add(const Place& at, int i, int value) { element(at, kCount + i) += value; }

  Place place;
  void fill(const int* values) {
    CHECK(cudaMemcpy2D(place.memory, place.row * sizeof(int), values, kRowBytes, kRowBytes, 2 * kRows, cudaMemcpyDefault));
  }
  void get(int* values) {
    CHECK(cudaMemcpy2D(values, kRowBytes, place.memory + kRows * place.row, place.row * sizeof(int), kRowBytes, kRows,
                       cudaMemcpyDefault));
  }
  void end() { CHECK(cudaFree(place.memory)); }
};

struct pitched : in_rows {
  bool make() {
    size_t pitch = 0;
    CHECK(cudaMallocPitch(&place.memory, &pitch, kRowBytes, 2 * kRows));
    place.row = pitch / sizeof(int);
    return true;
  }
};

struct volume : in_rows {
  bool make() {
    cudaPitchedPtr made{};
    CHECK(cudaMalloc3D(&made, make_cudaExtent(kRowBytes, kRows / 4, 8)));
    place.memory = static_cast<int*>(made.ptr);
    place.row = made.pitch / sizeof(int);
    return true;
  }
};

struct array {
  cudaArray_t memory = nullptr;
  cudaResourceDesc resource{};
  void make_array(int rows, unsigned flags) {
    const auto integers = cudaCreateChannelDesc<int>();
    CHECK(cudaMallocArray(&memory, &integers, kWidth, rows, flags));
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = memory;
  }
};

// Read by a texture, and added to beside it.
struct texture : linear, array {
  static __device__ int read(const Place& at, int i) {
    return tex2D<int>(at.object, float(i % kWidth) + 0.5f, float(i / kWidth) + 0.5f);
  }
  bool make() {
    make_array(kRows, cudaArrayDefault);
    CHECK(cudaMalloc(&place.memory, kBytes));
    const cudaTextureDesc description{};
    CHECK(cudaCreateTextureObject(&place.object, &resource, &description, nullptr));
    return true;
  }
  void fill(const int* values) {
    linear::fill(values);
    CHECK(cudaMemcpy2DToArray(memory, 0, 0, values, kRowBytes, kRowBytes, kRows, cudaMemcpyDefault));
  }
  void end() {
    CHECK(cudaDestroyTextureObject(place.object));
    CHECK(cudaFreeArray(memory));
    CHECK(cudaFree(place.memory));
  }
};

struct surface : array {
  static __device__ int read(const Place& at, int i) {
    return surf2Dread<int>(at.object, i % kWidth * int(sizeof(int)), i / kWidth);
  }
  static __device__ void add(const Place& at, int i, int value) {
    surf2Dwrite<int>(read(at, kCount + i) + value, at.object, i % kWidth * int(sizeof(int)), kRows + i / kWidth);
  }
  Place place;
  bool make() {
    make_array(2 * kRows, cudaArraySurfaceLoadStore);
    CHECK(cudaCreateSurfaceObject(&place.object, &resource));
    return true;
  }
  void fill(const int* values) {
    CHECK(cudaMemcpy2DToArray(memory, 0, 0, values, kRowBytes, kRowBytes, 2 * kRows, cudaMemcpyDefault));
  }
  void get(int* values) {
    CHECK(cudaMemcpy2DFromArray(values, kRowBytes, memory, 0, kRows, kRowBytes, kRows, cudaMemcpyDefault));
  }
  void end() {
    CHECK(cudaDestroySurfaceObject(place.object));
    CHECK(cudaFreeArray(memory));
  }
};

struct pinned : linear {
  bool make() { return cudaMallocHost(&place.memory, kBytes) == cudaSuccess; }
  void end() { CHECK(cudaFreeHost(place.memory)); }
};

// What the host and the device may have at two addresses.
struct mapped_host : linear {
  int* host = nullptr;
  bool make() {
    if (!device_has(cudaDevAttrCanMapHostMemory)) return false;
    CHECK(cudaHostAlloc(&host, kBytes, cudaHostAllocMapped));
    CHECK(cudaHostGetDevicePointer(&place.memory, host, 0));
    return true;
  }
  void end() { CHECK(cudaFreeHost(host)); }
};

struct registered : linear {
  void* host = nullptr;
  bool make() {
    if (!device_has(cudaDevAttrHostRegisterSupported)) return false;
    host = std::aligned_alloc(4096, 4096);
    CHECK(cudaHostRegister(host, kBytes, cudaHostRegisterMapped));
    CHECK(cudaHostGetDevicePointer(&place.memory, host, 0));
    return true;
  }
  void end() {
    CHECK(cudaHostUnregister(host));
    std::free(host);
  }
};

struct device_variable : linear {
  static __device__ int read(const Place&, int i) { return variable[i]; }
  static __device__ void add(const Place&, int i, int value) { variable[kCount + i] += value; }
  bool make() { return true; }
  void fill(const int* values) { CHECK(cudaMemcpyToSymbol(variable, values, kBytes)); }
  void get(int* values) { CHECK(cudaMemcpyFromSymbol(values, variable, kCount * sizeof(int), kCount * sizeof(int))); }
  void end() {}
};

// Read, and added to beside it.
struct constant_variable : linear {
  static __device__ int read(const Place&, int i) { return constant[i]; }
  bool make() { return cudaMalloc(&place.memory, kBytes) == cudaSuccess; }
  void fill(const int* values) {
    linear::fill(values);
    CHECK(cudaMemcpyToSymbol(constant, values, kCount * sizeof(int)));
  }
  void end() { CHECK(cudaFree(place.memory)); }
};

template <typename Memory>
__global__ void cross(int* memory, size_t row, unsigned long long object, int by) {
  const Place at{memory, row, object};
  for (int i = int(blockIdx.x * blockDim.x + threadIdx.x); i < kCount; i += int(gridDim.x * blockDim.x))
    Memory::add(at, i, Memory::read(at, i) + by);
}

// One launch. It adds `by`, which is the number of blocks where nothing else is said.
struct Launch {
  Kernel kernel;
  Place place;
  int blocks;
  int by = blocks;
  void* arguments[4] = {&place.memory, &place.row, &place.object, &by};

  Launch(Kernel launched, const Place& at, int grid) : kernel(launched), place(at), blocks(grid) {}
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

  const void* function() const { return reinterpret_cast<const void*>(kernel); }
  void into(cudaStream_t stream) {
    kernel<<<blocks, kThreads, 0, stream>>>(place.memory, place.row, place.object, by);
    CHECK(cudaGetLastError());
  }
  void with(cudaLaunchAttribute attribute) {
    cudaLaunchConfig_t configuration{};
    configuration.gridDim = dim3(blocks);
    configuration.blockDim = dim3(kThreads);
    configuration.attrs = &attribute;
    configuration.numAttrs = 1;
    CHECK(cudaLaunchKernelExC(&configuration, function(), arguments));
  }
  cudaKernelNodeParams node() {
    cudaKernelNodeParams parameters{};
    parameters.func = const_cast<void*>(function());
    parameters.gridDim = dim3(blocks);
    parameters.blockDim = dim3(kThreads);
    parameters.kernelParams = arguments;
    return parameters;
  }
};

static cudaStream_t stream;  // of the program's own

struct Graph {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  cudaGraphNode_t node = nullptr;
  void begin() { CHECK(cudaGraphCreate(&graph, 0)); }
  void add(Launch& launch) {
    const cudaKernelNodeParams parameters = launch.node();
    CHECK(cudaGraphAddKernelNode(&node, graph, nullptr, 0, &parameters));
  }
  void run() {
    if (!executable) CHECK(cudaGraphInstantiate(&executable, graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
  }
  ~Graph() {
    if (executable) CHECK(cudaGraphExecDestroy(executable));
    CHECK(cudaGraphDestroy(graph));
  }
};

// Kinds of launches. Each gives what it has added to every element beside what it has read, times the launches that it has made:
// nothing where the device has no such launches.
struct Added {
  int launches, by;
};

Added plain(Launch& launch) { return launch.into(nullptr), Added{1, launch.by}; }
Added of_stream(Launch& launch) { return launch.into(stream), Added{1, launch.by}; }
Added per_thread(Launch& launch) { return launch.into(cudaStreamPerThread), Added{1, launch.by}; }
Added of_thread(Launch& launch) {
  std::thread([&] { launch.into(nullptr); }).join();
  return {1, launch.by};
}
Added cooperative(Launch& launch) {
  if (!device_has(cudaDevAttrCooperativeLaunch)) return {};
  CHECK(cudaLaunchCooperativeKernel(launch.function(), dim3(launch.blocks), dim3(kThreads), launch.arguments, 0, nullptr));
  return {1, launch.by};
}
Added clusters(Launch& launch) {
  if (!device_has(cudaDevAttrClusterLaunch)) return {};
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = 2;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  launch.with(cluster);
  return {1, launch.by};
}
Added with_priority(Launch& launch) {
  cudaLaunchAttribute priority{};
  priority.id = cudaLaunchAttributePriority;
  launch.with(priority);
  return {1, launch.by};
}
Added captured(Launch& launch) {
  Graph graph;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  launch.into(stream);
  CHECK(cudaStreamEndCapture(stream, &graph.graph));
  graph.run();
  return {1, launch.by};
}
Added made(Launch& launch) {
  Graph graph;
  graph.begin();
  graph.add(launch);
  graph.run();
  return {1, launch.by};
}
Added of_child(Launch& launch) {
  Graph graph, child;
  graph.begin();
  child.begin();
  child.add(launch);
  CHECK(cudaGraphAddChildGraphNode(&graph.node, graph.graph, nullptr, 0, child.graph));
  graph.run();
  return {1, launch.by};
}
Added updated(Launch& launch) {
  Graph graph, other;
  graph.begin();
  graph.add(launch);
  graph.run();
  const int first = launch.by;
  launch.by += 50;
  other.begin();
  other.add(launch);
  cudaGraphExecUpdateResultInfo result{};
  CHECK(cudaGraphExecUpdate(graph.executable, other.graph, &result));
  graph.run();
  return {2, first + launch.by};
}

struct LaunchKind {
  const char* name;
  Added (*launch)(Launch&);
};
// The first is launched with one block, the next with two, and so on.
constexpr LaunchKind kLaunches[] = {{"plain", plain},
                                    {"stream", of_stream},
                                    {"per_thread", per_thread},
                                    {"thread", of_thread},
                                    {"cooperative", cooperative},
                                    {"cluster", clusters},  // an even number of blocks
                                    {"priority", with_priority},
                                    {"captured", captured},
                                    {"made", made},
                                    {"child", of_child},
                                    {"updated", updated}};

static int wrong = 0;

template <typename Memory>
void cross_all(const char* name) {
  memory_kind = name;
  Memory memory;
  const bool is_there = memory.make();
  if (!is_there) cudaGetLastError();
  std::vector<int> expected(2 * kCount, 0), seen(kCount);
  std::iota(expected.begin(), expected.begin() + kCount, 1);
  if (is_there) memory.fill(expected.data());
  int blocks = 0;
  for (const LaunchKind& kind : kLaunches) {
    Launch launch(cross<Memory>, memory.place, ++blocks);
    const Added added = is_there ? kind.launch(launch) : Added{};
    if (added.launches == 0) {
      std::printf("%s by %s: not there on this device\n", name, kind.name);
      continue;
    }
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < kCount; ++i) expected[kCount + i] += added.launches * expected[i] + added.by;
    memory.get(seen.data());
    const bool is_right = std::vector<int>(expected.begin() + kCount, expected.end()) == seen;
    std::printf("%s by %s: %d of %d blocks: %s\n", name, kind.name, added.launches, blocks, is_right ? "ok" : "WRONG");
    wrong += !is_right;
  }
  if (is_there) memory.end();
}

int main() {
  CHECK(cudaStreamCreate(&stream));
#define CROSS(memory) cross_all<memory>(#memory)
  CROSS(allocated);
  CROSS(ordered);
  CROSS(pool);
  CROSS(mapped);
  CROSS(managed);
  CROSS(pitched);
  CROSS(volume);
  CROSS(texture);
  CROSS(surface);
  CROSS(pinned);
  CROSS(mapped_host);
  CROSS(registered);
  CROSS(device_variable);
  CROSS(constant_variable);
  CHECK(cudaStreamDestroy(stream));
  std::printf("crossed: %s\n", wrong == 0 ? "PASS" : "FAIL");
  return wrong != 0;
}
