/* A program of the CUDA driver that launches one kernel on one kind of memory in every way, for the tests of recording at the
 * driver: crossed IMAGE MEMORY. The kernel "add_one" adds one to each word. Each way has another number of blocks, and what the
 * words are after it is printed. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CALL(name, ...)                                \
  do {                                                 \
    CUresult result_ = name(__VA_ARGS__);              \
    if (result_ != CUDA_SUCCESS) {                     \
      printf("%s returned %d\n", #name, (int)result_); \
      exit(1);                                         \
    }                                                  \
  } while (0)

enum { kBytes = 4000, kPiece = 2 << 20 };
static unsigned count = kBytes / 4;
static CUdeviceptr memory;
static CUfunction kernel;
static CUstream stream;

static void map(void) {
  CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
  CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle handle;
  CALL(cuMemAddressReserve, &memory, (size_t)kPiece, (size_t)0, 0ull, 0ull);
  CALL(cuMemCreate, &handle, (size_t)kPiece, &properties, 0ull);
  CALL(cuMemMap, memory, (size_t)kPiece, (size_t)0, handle, 0ull);
  CALL(cuMemSetAccess, memory, (size_t)kPiece, &access, (size_t)1);
}

static void allocate(const char* kind) {
  size_t pitch;
  if (strcmp(kind, "allocated") == 0) {
    CALL(cuMemAlloc, &memory, (size_t)kBytes);
  } else if (strcmp(kind, "ordered") == 0) {
    CALL(cuMemAllocAsync, &memory, (size_t)kBytes, stream);
  } else if (strcmp(kind, "pool") == 0) {
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemoryPool pool;
    CALL(cuMemPoolCreate, &pool, &properties);
    CALL(cuMemAllocFromPoolAsync, &memory, (size_t)kBytes, pool, stream);
  } else if (strcmp(kind, "mapped") == 0) {
    map();
  } else if (strcmp(kind, "managed") == 0) {
    CALL(cuMemAllocManaged, &memory, (size_t)kBytes, CU_MEM_ATTACH_GLOBAL);
  } else if (strcmp(kind, "pitched") == 0) {
    CALL(cuMemAllocPitch, &memory, &pitch, (size_t)1000, (size_t)4, 4u);
  } else if (strcmp(kind, "pinned") == 0) {
    CALL(cuMemHostAlloc, (void**)&memory, (size_t)kBytes, CU_MEMHOSTALLOC_DEVICEMAP);
  } else {
    static unsigned words[kBytes / 4];
    memory = (CUdeviceptr)words;
    CALL(cuMemHostRegister, words, sizeof words, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
  }
  unsigned* words = calloc(1, kBytes);
  for (unsigned i = 0; i < count; ++i) words[i] = i;
  CALL(cuMemcpyHtoD, memory, words, (size_t)kBytes);
  free(words);
}

/* The arguments, as a list and as a buffer. */
static void* list[] = {&memory, &count};
static struct {
  CUdeviceptr address;
  unsigned count;
} packed;
static size_t packed_size = sizeof packed;
static void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &packed_size, CU_LAUNCH_PARAM_END};

static CUlaunchAttributeValue pairs_of_blocks(void) {
  CUlaunchAttributeValue value;
  memset(&value, 0, sizeof value);
  value.clusterDim.x = 2;
  value.clusterDim.y = value.clusterDim.z = 1;
  return value;
}
static void launch_in_clusters(unsigned blocks) {
  CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, .value = pairs_of_blocks()};
  const CUlaunchConfig how = {.gridDimX = blocks,
                              .gridDimY = 1,
                              .gridDimZ = 1,
                              .blockDimX = 64,
                              .blockDimY = 1,
                              .blockDimZ = 1,
                              .attrs = &attribute,
                              .numAttrs = 1};
  CALL(cuLaunchKernelEx, &how, kernel, list, NULL);
}

static CUDA_KERNEL_NODE_PARAMS node_of(unsigned blocks, int is_packed) {
  CUDA_KERNEL_NODE_PARAMS node = {kernel, blocks, 1, 1, 64, 1, 1, 0, is_packed ? NULL : list, is_packed ? extra : NULL,
                                  NULL,   NULL};
  return node;
}
static CUgraph graph_of(unsigned blocks, int is_packed, CUgraphNode* node) {
  CUDA_KERNEL_NODE_PARAMS parameters = node_of(blocks, is_packed);
  CUgraph graph;
  CALL(cuGraphCreate, &graph, 0);
  CALL(cuGraphAddKernelNode, node, graph, NULL, 0, &parameters);
  return graph;
}
static void run(CUgraph graph) {
  CUgraphExec executable;
  CALL(cuGraphInstantiateWithFlags, &executable, graph, 0ull);
  CALL(cuGraphLaunch, executable, stream);
  CALL(cuGraphExecDestroy, executable);
  CALL(cuGraphDestroy, graph);
}

/* A node with an attribute. */
static void run_with(unsigned blocks, CUlaunchAttributeID id, CUlaunchAttributeValue value) {
  CUgraphNode node;
  CUgraph graph = graph_of(blocks, 0, &node);
  CALL(cuGraphKernelNodeSetAttribute, node, id, &value);
  run(graph);
}

static void run_as_child(unsigned blocks) {
  CUgraphNode node;
  CUgraph graph, child = graph_of(blocks, 0, &node);
  CALL(cuGraphCreate, &graph, 0);
  CALL(cuGraphAddChildGraphNode, &node, graph, NULL, 0, child);
  CALL(cuGraphDestroy, child);
  run(graph);
}

/* An executable that is launched, given other parameters, and launched again. */
static void run_updated(unsigned blocks, unsigned then) {
  CUgraphNode node;
  CUgraph graph = graph_of(blocks, 0, &node);
  CUgraphExec executable;
  CUDA_KERNEL_NODE_PARAMS other = node_of(then, 1);
  CALL(cuGraphInstantiateWithFlags, &executable, graph, 0ull);
  CALL(cuGraphLaunch, executable, stream);
  CALL(cuGraphExecKernelNodeSetParams, executable, node, &other);
  CALL(cuGraphLaunch, executable, stream);
  CALL(cuGraphExecDestroy, executable);
  CALL(cuGraphDestroy, graph);
}

static void run_captured(unsigned blocks) {
  CUgraph graph;
  CALL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CALL(cuLaunchKernel, kernel, blocks, 1, 1, 64, 1, 1, 0, stream, NULL, extra);
  CALL(cuStreamEndCapture, stream, &graph);
  run(graph);
}

static void launch_all(void) {
  CUgraphNode node;
  CUlaunchAttributeValue cooperative;
  memset(&cooperative, 0, sizeof cooperative);
  cooperative.cooperative = 1;
  CALL(cuLaunchKernel, kernel, 2, 1, 1, 64, 1, 1, 0, stream, list, NULL);
  CALL(cuLaunchKernel, kernel, 4, 1, 1, 64, 1, 1, 0, stream, NULL, extra);
  CALL(cuLaunchCooperativeKernel, kernel, 6, 1, 1, 64, 1, 1, 0, stream, list);
  launch_in_clusters(8);
  run_captured(10);
  run(graph_of(12, 0, &node));
  run(graph_of(14, 1, &node));
  run_with(16, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, cooperative);
  run_with(18, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, pairs_of_blocks());
  run_as_child(20);
  run_updated(22, 24);
}

int main(int arguments_given, char** arguments) {
  static char image[1 << 20];
  FILE* file = fopen(arguments[1], "rb");
  if (arguments_given != 3 || !file || fread(image, 1, sizeof image - 1, file) == 0) return 2;
  fclose(file);
  CUcontext context;
  CUmodule module;
  CALL(cuInit, 0u);
  CALL(cuDevicePrimaryCtxRetain, &context, 0);
  CALL(cuCtxPushCurrent, context);
  CALL(cuModuleLoadData, &module, image);
  CALL(cuModuleGetFunction, &kernel, module, "add_one");
  CALL(cuStreamCreate, &stream, 0u);
  allocate(arguments[2]);
  packed.address = memory;
  packed.count = count;
  launch_all();
  unsigned* words = calloc(1, kBytes);
  CALL(cuMemcpyDtoH, words, memory, (size_t)kBytes);
  printf("%s: %u to %u\n", arguments[2], words[0], words[count - 1]);
  return 0;
}
