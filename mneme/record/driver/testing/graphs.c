/* A program of the CUDA driver that runs graphs, for the tests of recording at the driver: graphs IMAGE STEP...
 *
 * Each STEP is one thing to do with the graph of the program, its executable, or its two buffers of a few words; what is printed
 * is the same with and without a recorder. A kernel "add_one" adds one to each word of a buffer. Nodes of the host print one of
 * the buffers as it is when they run. */
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Exported, and not in cuda.h under these names. */
CUresult cuGraphInstantiate_v2(CUgraphExec*, CUgraph, CUgraphNode*, char*, size_t);
CUresult cuGraphInstantiateWithParams_ptsz(CUgraphExec*, CUgraph, CUDA_GRAPH_INSTANTIATE_PARAMS*);
CUresult cuGraphLaunch_ptsz(CUgraphExec, CUstream);
typedef CUresult (*UpdateOld)(CUgraphExec, CUgraph, CUgraphNode*, CUgraphExecUpdateResult*);
typedef CUresult (*AddNodeOld)(CUgraphNode*, CUgraph, const CUgraphNode*, size_t, CUgraphNodeParams*);
typedef CUresult (*SetKernel)(CUgraphExec, CUgraphNode, const CUDA_KERNEL_NODE_PARAMS_v1*);

#define CALL(name, ...)                                \
  do {                                                 \
    CUresult result_ = name(__VA_ARGS__);              \
    if (result_ != CUDA_SUCCESS) {                     \
      printf("%s returned %d\n", #name, (int)result_); \
      return;                                          \
    }                                                  \
  } while (0)

enum { kCount = 4 };
static CUfunction add_one, other;
static CUkernel library_kernel;
static CUdeviceptr a, b;
static CUstream stream = (CUstream)0x100, another = (CUstream)0x200;
static CUgraph graph;
static CUgraphExec executable;
static CUgraphNode first, copied, child, in_child, filled, told;
static CUDA_KERNEL_NODE_PARAMS got;
static CUcontext own;

static unsigned word(CUdeviceptr buffer) {
  unsigned words[kCount];
  cuMemcpyDtoH(words, buffer, sizeof words);
  return words[0];
}
static void print(const char* what) {
  printf("%s: a=%u b=%u\n", what, word(a), word(b));
  fflush(stdout);
}
/* A node of the host must not call the driver: the memory of this one is the host's. */
static void tell(void* what) { printf("  %s: b=%u\n", (char*)what, *(unsigned*)b); }

static CUDA_KERNEL_NODE_PARAMS kernel(CUfunction function, CUdeviceptr* buffer) {
  static unsigned count = kCount;
  static void* arguments[16][2];
  static int used;
  void** list = arguments[used++ % 16];
  list[0] = buffer;
  list[1] = &count;
  CUDA_KERNEL_NODE_PARAMS node = {function, 1, 1, 1, 32, 1, 1, 0, list, NULL, NULL, NULL};
  return node;
}
/* The same for the functions that take any node. */
static CUgraphNodeParams any_kernel(CUdeviceptr* buffer, unsigned blocks) {
  const CUDA_KERNEL_NODE_PARAMS node = kernel(add_one, buffer);
  CUgraphNodeParams parameters;
  memset(&parameters, 0, sizeof parameters);
  parameters.type = CU_GRAPH_NODE_TYPE_KERNEL;
  parameters.kernel.func = node.func;
  parameters.kernel.gridDimX = blocks;
  parameters.kernel.gridDimY = parameters.kernel.gridDimZ = 1;
  parameters.kernel.blockDimX = 32;
  parameters.kernel.blockDimY = parameters.kernel.blockDimZ = 1;
  parameters.kernel.kernelParams = node.kernelParams;
  return parameters;
}
static CUgraphNode add_kernel(CUgraph to, CUgraphNode* after, CUdeviceptr* buffer) {
  CUgraphNode node = NULL;
  CUDA_KERNEL_NODE_PARAMS parameters = kernel(add_one, buffer);
  cuGraphAddKernelNode(&node, to, after, after ? 1 : 0, &parameters);
  return node;
}
static CUgraphNode add_host(CUgraph to, CUgraphNode* after, const char* what) {
  CUgraphNode node = NULL;
  CUDA_HOST_NODE_PARAMS parameters = {tell, (void*)what};
  cuGraphAddHostNode(&node, to, after, after ? 1 : 0, &parameters);
  return node;
}
static CUDA_MEMCPY3D copy(CUdeviceptr to, CUdeviceptr from) {
  CUDA_MEMCPY3D parameters;
  memset(&parameters, 0, sizeof parameters);
  parameters.srcMemoryType = parameters.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  parameters.srcDevice = from;
  parameters.dstDevice = to;
  parameters.WidthInBytes = 4 * kCount;
  parameters.Height = parameters.Depth = 1;
  return parameters;
}
static CUDA_MEMSET_NODE_PARAMS fill(CUdeviceptr buffer, unsigned value) {
  CUDA_MEMSET_NODE_PARAMS parameters = {buffer, 0, value, 1, 4 * kCount, 1};
  return parameters;
}

/* add_one(a), then b = a, add_one(b) and a word of the host; add_one(a) again beside add_one(b). */
static void make(void) {
  CALL(cuGraphCreate, &graph, 0);
  first = add_kernel(graph, NULL, &a);
  CUDA_MEMCPY3D parameters = copy(b, a);
  CALL(cuGraphAddMemcpyNode, &copied, graph, &first, 1, &parameters, NULL);
  CUgraphNode second = add_kernel(graph, &copied, &b);
  told = add_host(graph, &second, "told");
  add_kernel(graph, &copied, &a);
}
/* Twice add_one(b) with a word of the host between them. */
static CUgraph make_child(CUdeviceptr* buffer) {
  CUgraph made = NULL;
  cuGraphCreate(&made, 0);
  CUgraphNode one = add_kernel(made, NULL, buffer);
  CUgraphNode said = add_host(made, &one, "in the child");
  add_kernel(made, &said, buffer);
  return made;
}

/* add_one(a), a kernel that is given the condition, if that is set by one, the condition with add_one(b) as its body, and then
 * add_one(a), a word of the host beside it. */
static CUgraphConditionalHandle condition;
static void make_condition(unsigned flags, int is_set) {
  CUgraphNodeParams parameters;
  CALL(cuGraphCreate, &graph, 0);
  CALL(cuGraphConditionalHandleCreate, &condition, graph, NULL, 1u, flags);
  memset(&parameters, 0, sizeof parameters);
  parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  parameters.conditional.handle = condition;
  parameters.conditional.size = 1;
  first = add_kernel(graph, NULL, &a);
  CUgraphNode last = first, node;
  if (is_set) {
    CUdeviceptr given = condition;
    CUDA_KERNEL_NODE_PARAMS setting = kernel(other, &given);
    CALL(cuGraphAddKernelNode, &last, graph, &first, 1, &setting);
  }
  CALL(cuGraphAddNode, &node, graph, &last, NULL, 1, &parameters);
  add_kernel(parameters.conditional.phGraph_out[0], NULL, &b);
  told = add_host(graph, &node, "told");
  add_kernel(graph, &told, &a);
}

/* A condition with add_one(b) as its body and a word of the host behind it, and beside these twice add_one(a). */
static void make_condition_beside(void) {
  CUgraphNodeParams parameters;
  CUgraphNode node;
  CALL(cuGraphCreate, &graph, 0);
  memset(&parameters, 0, sizeof parameters);
  parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  parameters.conditional.size = 1;
  CALL(cuGraphConditionalHandleCreate, &parameters.conditional.handle, graph, NULL, 1u, CU_GRAPH_COND_ASSIGN_DEFAULT);
  CALL(cuGraphAddNode, &node, graph, NULL, NULL, 0, &parameters);
  add_kernel(parameters.conditional.phGraph_out[0], NULL, &b);
  first = add_kernel(graph, NULL, &a);
  told = add_host(graph, &node, "told");
  add_kernel(graph, &first, &a);
}

/* add_one(a), and beside it a condition, in whose body are add_one(b), a graph of two, and another condition with add_one(b). */
static CUgraphNode in_body;
static CUgraph body;
static void add_condition_to(CUgraph to) {
  CUgraphNodeParams parameters;
  CUgraphNode node;
  memset(&parameters, 0, sizeof parameters);
  parameters.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  parameters.conditional.size = 1;
  CALL(cuGraphConditionalHandleCreate, &parameters.conditional.handle, graph, NULL, 1u, CU_GRAPH_COND_ASSIGN_DEFAULT);
  CALL(cuGraphAddNode, &node, to, NULL, NULL, 0, &parameters);
  body = parameters.conditional.phGraph_out[0];
}
static void make_condition_deep(void) {
  CUgraphNode node;
  CUgraph child;
  CALL(cuGraphCreate, &graph, 0);
  first = add_kernel(graph, NULL, &a);
  add_condition_to(graph);
  in_body = add_kernel(body, NULL, &b);
  CALL(cuGraphCreate, &child, 0);
  add_kernel(child, NULL, &b);
  add_kernel(child, NULL, &b);
  CALL(cuGraphAddChildGraphNode, &node, body, NULL, 0, child);
  add_condition_to(body);
  add_kernel(body, NULL, &b);
}

/* Nodes of the host that wait for another thread, which calls the driver. */
static void* destroy_graph(void* unused) {
  cuGraphDestroy(graph);
  return unused;
}
static void* begin_capture(void* unused) {
  cuStreamBeginCapture(another, CU_STREAM_CAPTURE_MODE_RELAXED);
  return unused;
}
static void wait_for(void* (*call)(void*)) {
  pthread_t thread;
  pthread_create(&thread, NULL, call, NULL);
  pthread_join(thread, NULL);
}
static void wait_until_destroyed(void* unused) {
  (void)unused;
  wait_for(destroy_graph);
}
static void wait_until_capturing(void* unused) {
  (void)unused;
  wait_for(begin_capture);
}

/* The code and the memory of the device, which go with a reset. */
static char* image;
static void load(void) {
  CUmodule module;
  unsigned words[kCount] = {0};
  CALL(cuModuleLoadData, &module, image);
  CALL(cuModuleGetFunction, &add_one, module, "add_one");
  CALL(cuModuleGetFunction, &other, module, "other");
  CALL(cuMemAlloc, &a, sizeof words);
  CALL(cuMemAlloc, &b, sizeof words);
  CALL(cuMemcpyHtoD, a, words, sizeof words);
  CALL(cuMemcpyHtoD, b, words, sizeof words);
}

static void step(const char* what) {
  char function[64];
  int after = 0;
  if (strcmp(what, "make") == 0) {
    make();
  } else if (strcmp(what, "make_child") == 0) {
    CALL(cuGraphCreate, &graph, 0);
    first = add_kernel(graph, NULL, &a);
    CUgraph held = make_child(&b);
    CALL(cuGraphAddChildGraphNode, &child, graph, &first, 1, held);
    CALL(cuGraphDestroy, held);
    CUgraphNode last = add_kernel(graph, &child, &a);
    add_host(graph, &last, "told");
    CUgraph inside;
    size_t count = 1;
    CALL(cuGraphChildGraphNodeGetGraph, child, &inside);
    CALL(cuGraphGetNodes, inside, &in_child, &count);
  } else if (strcmp(what, "make_fill") == 0) {
    CUDA_MEMSET_NODE_PARAMS parameters = fill(a, 0);
    CALL(cuGraphCreate, &graph, 0);
    CALL(cuGraphAddMemsetNode, &filled, graph, NULL, 0, &parameters, NULL);
    first = add_kernel(graph, &filled, &a);
  } else if (strcmp(what, "make_allocation") == 0) {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.bytesize = 4 * kCount;
    CUgraphNode node;
    CALL(cuGraphCreate, &graph, 0);
    CALL(cuGraphAddMemAllocNode, &node, graph, NULL, 0, &parameters);
    first = add_kernel(graph, &node, &a);
    b = parameters.dptr;
  } else if (strcmp(what, "make_allocation_freed") == 0) {
    CUDA_MEM_ALLOC_NODE_PARAMS parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.bytesize = 4 * kCount;
    CUgraphNode node;
    CALL(cuGraphCreate, &graph, 0);
    first = add_kernel(graph, NULL, &a);
    CALL(cuGraphAddMemAllocNode, &node, graph, &first, 1, &parameters);
    CUgraphNode between = add_kernel(graph, &node, &b);
    CALL(cuGraphAddMemFreeNode, &node, graph, &between, 1, parameters.dptr);
    add_kernel(graph, &node, &a);
  } else if (strcmp(what, "make_condition") == 0) {
    make_condition(0, 1);
  } else if (strcmp(what, "make_condition_deep") == 0) {
    make_condition_deep();
  } else if (strcmp(what, "set_body_kernel") == 0) {
    CUDA_KERNEL_NODE_PARAMS other_grid = kernel(add_one, &b);
    other_grid.gridDimX = 2;
    CALL(cuGraphExecKernelNodeSetParams, executable, in_body, &other_grid);
  } else if (strcmp(what, "make_condition_beside") == 0) {
    make_condition_beside();
  } else if (strcmp(what, "make_condition_unset") == 0) {
    make_condition(0, 0);
  } else if (strcmp(what, "make_condition_assigned") == 0) {
    make_condition(CU_GRAPH_COND_ASSIGN_DEFAULT, 0);
  } else if (strcmp(what, "set_kernel_to_condition") == 0) {
    CUdeviceptr given = condition;
    CUDA_KERNEL_NODE_PARAMS parameters = kernel(other, &given);
    CALL(cuGraphExecKernelNodeSetParams, executable, first, &parameters);
  } else if (strcmp(what, "drop_node") == 0) {
    CALL(cuGraphDestroyNode, told);
  } else if (strcmp(what, "add_any") == 0 || strcmp(what, "add_any_old") == 0) {
    CUgraphNodeParams parameters = any_kernel(&a, 1);
    CUgraphNode node;
    if (strcmp(what, "add_any") == 0) {
      CALL(cuGraphAddNode, &node, graph, &told, NULL, 1, &parameters);
    } else {
      AddNodeOld add = (AddNodeOld)dlsym(RTLD_DEFAULT, "cuGraphAddNode");
      CALL(add, &node, graph, &told, 1, &parameters);
    }
  } else if (strcmp(what, "set_any_kernel") == 0) {
    CUgraphNodeParams parameters = any_kernel(&b, 3);
    CALL(cuGraphExecNodeSetParams, executable, first, &parameters);
  } else if (strcmp(what, "set_any_child") == 0) {
    CUgraph held = make_child(&a);
    CUgraphNodeParams parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.type = CU_GRAPH_NODE_TYPE_GRAPH;
    parameters.graph.graph = held;
    CALL(cuGraphExecNodeSetParams, executable, child, &parameters);
    CALL(cuGraphDestroy, held);
  } else if (strcmp(what, "upload") == 0) {
    CALL(cuGraphUpload, executable, stream);
  } else if (strcmp(what, "launch_per_thread") == 0) {
    CALL(cuGraphLaunch_ptsz, executable, NULL);
    print("launched");
  } else if (strcmp(what, "reset_other") == 0) {
    CALL(cuDevicePrimaryCtxReset, 1);
  } else if (strcmp(what, "updatable") == 0) {
    CUlaunchAttributeValue value;
    memset(&value, 0, sizeof value);
    value.deviceUpdatableKernelNode.deviceUpdatable = 1;
    CALL(cuGraphKernelNodeSetAttribute, first, CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE, &value);
  } else if (strcmp(what, "cooperative") == 0) {
    CUlaunchAttributeValue value;
    memset(&value, 0, sizeof value);
    value.cooperative = 1;
    CALL(cuGraphKernelNodeSetAttribute, first, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value);
    value.clusterDim.x = 2;
    value.clusterDim.y = value.clusterDim.z = 1;
    CALL(cuGraphKernelNodeSetAttribute, first, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value);
  } else if (strcmp(what, "no_cluster") == 0) {
    CUlaunchAttributeValue value;
    memset(&value, 0, sizeof value);
    value.clusterDim.x = value.clusterDim.y = value.clusterDim.z = 1;
    CALL(cuGraphKernelNodeSetAttribute, first, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &value);
  } else if (strcmp(what, "capture") == 0) {
    CUdeviceptr buffers[] = {a, b, a};
    CALL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    for (int i = 0; i < 3; ++i) {
      CUDA_KERNEL_NODE_PARAMS k = kernel(add_one, &buffers[i]);
      CALL(cuLaunchKernel, add_one, 1, 1, 1, 32, 1, 1, 0, stream, k.kernelParams, NULL);
    }
    CALL(cuStreamEndCapture, stream, &graph);
  } else if (strcmp(what, "capture_destroyed") == 0) {
    CALL(cuStreamBeginCapture, another, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CALL(cuStreamDestroy, another);
  } else if (strcmp(what, "launch_while_capturing") == 0) {
    CUgraph captured;
    CUDA_KERNEL_NODE_PARAMS k = kernel(add_one, &a);
    CALL(cuStreamBeginCapture, another, CU_STREAM_CAPTURE_MODE_RELAXED);
    CALL(cuLaunchKernel, add_one, 1, 1, 1, 32, 1, 1, 0, stream, k.kernelParams, NULL);
    CALL(cuGraphLaunch, executable, stream);
    CALL(cuStreamEndCapture, another, &captured);
  } else if (strcmp(what, "capture_launch") == 0) {
    CALL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CALL(cuGraphLaunch, executable, stream);
    CALL(cuStreamEndCapture, stream, &graph);
  } else if (strcmp(what, "instantiate") == 0) {
    CALL(cuGraphInstantiateWithFlags, &executable, graph, 0ull);
  } else if (strcmp(what, "instantiate_for_device") == 0) {
    CALL(cuGraphInstantiateWithFlags, &executable, graph, (unsigned long long)CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH);
  } else if (strcmp(what, "instantiate_unseen") == 0) {
    typedef CUresult (*Instantiate)(CUgraphExec*, CUgraph);
    CALL(((Instantiate)dlsym(RTLD_DEFAULT, "mneme_fake_instantiate")), &executable, graph);
  } else if (strcmp(what, "instantiate_old") == 0) {
    CALL(cuGraphInstantiate_v2, &executable, graph, NULL, NULL, (size_t)0);
  } else if (strcmp(what, "instantiate_parameters") == 0) {
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters;
    memset(&parameters, 0, sizeof parameters);
    CALL(cuGraphInstantiateWithParams, &executable, graph, &parameters);
  } else if (strcmp(what, "instantiate_parameters_per_thread") == 0) {
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters;
    memset(&parameters, 0, sizeof parameters);
    CALL(cuGraphInstantiateWithParams_ptsz, &executable, graph, &parameters);
  } else if (strcmp(what, "instantiate_parameters_for_device") == 0) {
    CUDA_GRAPH_INSTANTIATE_PARAMS parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.flags = CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH;
    CALL(cuGraphInstantiateWithParams, &executable, graph, &parameters);
  } else if (strcmp(what, "drop") == 0) {
    CALL(cuGraphDestroy, graph);
  } else if (strcmp(what, "destroy") == 0) {
    CALL(cuGraphExecDestroy, executable);
  } else if (strcmp(what, "launch") == 0) {
    CALL(cuGraphLaunch, executable, stream);
    print("launched");
  } else if (strcmp(what, "leave") == 0) {
    _exit(0);
  } else if (strcmp(what, "die") == 0) {
    raise(SIGKILL);
  } else if (strcmp(what, "kernel_of_b") == 0) {
    CUDA_KERNEL_NODE_PARAMS parameters = kernel(add_one, &b);
    CALL(cuLaunchKernel, add_one, 1, 1, 1, 32, 1, 1, 0, stream, parameters.kernelParams, NULL);
  } else if (strcmp(what, "set_kernel") == 0) {
    CUDA_KERNEL_NODE_PARAMS parameters = kernel(add_one, &b);
    parameters.gridDimX = 2;
    CALL(cuGraphExecKernelNodeSetParams_v2, executable, first, &parameters);
  } else if (strcmp(what, "first_of_graph") == 0) {
    size_t one = 1;
    CALL(cuGraphGetNodes, graph, &first, &one);
  } else if (strcmp(what, "tell_first") == 0) { /* what a node says of itself */
    CUDA_KERNEL_NODE_PARAMS parameters;
    CALL(cuGraphKernelNodeGetParams, first, &parameters);
    const int is_of_library = library_kernel && parameters.kern == library_kernel;
    printf("first: %s, %u of %u, for %s\n",
           is_of_library                ? "of the library"
           : parameters.func == add_one ? "add_one"
                                        : "another",
           parameters.gridDimX, parameters.blockDimX, *(CUdeviceptr*)parameters.kernelParams[0] == a ? "a" : "b");
    fflush(stdout);
  } else if (strcmp(what, "get_and_set") == 0) { /* as programs do that change one thing */
    CUDA_KERNEL_NODE_PARAMS parameters;
    CALL(cuGraphKernelNodeGetParams, first, &parameters);
    void* arguments[] = {&b, parameters.kernelParams[1]};
    parameters.kernelParams = arguments;
    CALL(cuGraphKernelNodeSetParams, first, &parameters);
  } else if (strcmp(what, "get_and_set_blocks") == 0) { /* with the arguments that are the node's own */
    CUDA_KERNEL_NODE_PARAMS parameters;
    CALL(cuGraphKernelNodeGetParams, first, &parameters);
    parameters.gridDimX = 8;
    CALL(cuGraphKernelNodeSetParams, first, &parameters);
  } else if (strcmp(what, "get_attribute_and_set") == 0) { /* an attribute leaves the arguments where they are */
    CUDA_KERNEL_NODE_PARAMS parameters;
    CUlaunchAttributeValue value;
    memset(&value, 0, sizeof value);
    CALL(cuGraphKernelNodeGetParams, first, &parameters);
    CALL(cuGraphKernelNodeSetAttribute, first, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value);
    parameters.gridDimX = 8;
    CALL(cuGraphKernelNodeSetParams, first, &parameters);
  } else if (strcmp(what, "elsewhere") == 0) { /* with another device */
    CUcontext context;
    CALL(cuDevicePrimaryCtxRetain, &context, 1);
    CALL(cuCtxPushCurrent, context);
  } else if (strcmp(what, "back") == 0) {
    CUcontext context;
    CALL(cuCtxPopCurrent, &context);
  } else if (strcmp(what, "get_first") == 0) {
    CALL(cuGraphKernelNodeGetParams, first, &got);
  } else if (strcmp(what, "set_got") == 0) {
    CALL(cuGraphKernelNodeSetParams, first, &got);
  } else if (strcmp(what, "get_and_set_other") == 0) { /* which names the kernel of a library yet */
    CUDA_KERNEL_NODE_PARAMS parameters;
    CALL(cuGraphKernelNodeGetParams, first, &parameters);
    parameters.func = other;
    CALL(cuGraphKernelNodeSetParams, first, &parameters);
  } else if (strcmp(what, "get_and_set_fewer") == 0) {
    static unsigned fewer = 2;
    CUDA_KERNEL_NODE_PARAMS parameters;
    CALL(cuGraphKernelNodeGetParams, first, &parameters);
    void* arguments[] = {parameters.kernelParams[0], &fewer};
    parameters.kernelParams = arguments;
    CALL(cuGraphKernelNodeSetParams, first, &parameters);
  } else if (strcmp(what, "set_fewer") == 0) {
    static unsigned fewer = 2;
    CUDA_KERNEL_NODE_PARAMS parameters = kernel(add_one, &b);
    void* arguments[] = {&b, &fewer};
    parameters.kernelParams = arguments;
    CALL(cuGraphExecKernelNodeSetParams, executable, first, &parameters);
  } else if (strcmp(what, "make_of_library") == 0) {
    CUlibrary library;
    CALL(cuLibraryLoadData, &library, image, NULL, NULL, 0, NULL, NULL, 0);
    CALL(cuLibraryGetKernel, &library_kernel, library, "add_one");
    CUDA_KERNEL_NODE_PARAMS parameters = kernel(NULL, &a);
    parameters.kern = library_kernel;
    CALL(cuGraphCreate, &graph, 0);
    CALL(cuGraphAddKernelNode, &first, graph, NULL, 0, &parameters);
  } else if (strcmp(what, "set_kernel_old") == 0) {
    SetKernel set = (SetKernel)dlsym(RTLD_DEFAULT, "cuGraphExecKernelNodeSetParams");
    CUDA_KERNEL_NODE_PARAMS parameters = kernel(other, &a);
    CALL(set, executable, first, (const CUDA_KERNEL_NODE_PARAMS_v1*)&parameters);
  } else if (strcmp(what, "set_in_child") == 0) {
    CUDA_KERNEL_NODE_PARAMS parameters = kernel(add_one, &a);
    CALL(cuGraphExecKernelNodeSetParams, executable, in_child, &parameters);
  } else if (strcmp(what, "set_copy") == 0) {
    CUDA_MEMCPY3D parameters = copy(b, b);
    CALL(cuGraphExecMemcpyNodeSetParams, executable, copied, &parameters, NULL);
  } else if (strcmp(what, "set_fill") == 0) {
    CUDA_MEMSET_NODE_PARAMS parameters = fill(a, 1);
    CALL(cuGraphExecMemsetNodeSetParams, executable, filled, &parameters, NULL);
  } else if (strcmp(what, "set_any") == 0) {
    CUgraphNodeParams parameters;
    memset(&parameters, 0, sizeof parameters);
    parameters.type = CU_GRAPH_NODE_TYPE_MEMSET;
    parameters.memset.value = 2;
    CALL(cuGraphExecNodeSetParams, executable, filled, &parameters);
  } else if (strcmp(what, "set_host") == 0) {
    CUDA_HOST_NODE_PARAMS parameters = {tell, "told otherwise"};
    CALL(cuGraphExecHostNodeSetParams, executable, told, &parameters);
  } else if (strcmp(what, "launch_destroyed") == 0) {
    CUDA_HOST_NODE_PARAMS parameters = {wait_until_destroyed, NULL};
    ((void (*)(void))dlsym(RTLD_DEFAULT, "mneme_fake_late_hosts"))();
    CALL(cuGraphExecHostNodeSetParams, executable, told, &parameters);
    alarm(60); /* it would wait for ever */
    CALL(cuGraphLaunch, executable, stream);
    CALL(cuCtxSynchronize);
    print("launched");
  } else if (strcmp(what, "launch_under_capture") == 0) {
    CUDA_HOST_NODE_PARAMS parameters = {wait_until_capturing, NULL};
    CUgraph captured;
    CALL(cuGraphExecHostNodeSetParams, executable, told, &parameters);
    CALL(cuGraphLaunch, executable, stream);
    CALL(cuStreamEndCapture, another, &captured);
    print("launched");
  } else if (strcmp(what, "set_child") == 0) {
    CUgraph held = make_child(&a);
    CALL(cuGraphExecChildGraphNodeSetParams, executable, child, held);
    CALL(cuGraphDestroy, held);
  } else if (strcmp(what, "disable") == 0 || strcmp(what, "enable") == 0) {
    CALL(cuGraphNodeSetEnabled, executable, first, *what == 'e');
  } else if (strcmp(what, "disable_copy") == 0) {
    CALL(cuGraphNodeSetEnabled, executable, copied, 0u);
  } else if (strcmp(what, "update") == 0 || strcmp(what, "update_old") == 0) {
    CUgraphExecUpdateResultInfo result;
    CUgraph before = graph;
    CUgraphNode first_before = first;
    make();
    CUDA_KERNEL_NODE_PARAMS parameters = kernel(add_one, &b);
    CALL(cuGraphKernelNodeSetParams, first, &parameters);
    if (strcmp(what, "update") == 0) {
      CALL(cuGraphExecUpdate_v2, executable, graph, &result);
    } else {
      UpdateOld update = (UpdateOld)dlsym(RTLD_DEFAULT, "cuGraphExecUpdate");
      CUgraphExecUpdateResult old_result;
      CALL(update, executable, graph, NULL, &old_result);
    }
    CALL(cuGraphDestroy, graph);
    graph = before;
    first = first_before;
  } else if (sscanf(what, "fail:%63[^:]:%d", function, &after) == 2) {
    void (*fail)(const char*, int, CUresult) = (void (*)(const char*, int, CUresult))dlsym(RTLD_DEFAULT, "mneme_fake_fail");
    fail(strdup(function), after, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  } else if (strcmp(what, "own_context") == 0) {
    CALL(cuCtxCreate, &own, NULL, 0u, 0);
    load();
  } else if (strcmp(what, "destroy_own") == 0) {
    CALL(cuCtxDestroy, own);
  } else if (strcmp(what, "reset_primary") == 0) {
    CALL(cuDevicePrimaryCtxReset, 0);
  } else if (strcmp(what, "reset") == 0) {
    CALL(cuDevicePrimaryCtxReset, 0);
    load();
  } else if (strcmp(what, "count") == 0) {
    size_t (*count)(void) = (size_t (*)(void))dlsym(RTLD_DEFAULT, "mneme_fake_executable_graphs");
    printf("%zu executable\n", count());
  } else {
    printf("no step %s\n", what);
    exit(5);
  }
}

int main(int count, char** arguments) {
  FILE* file = fopen(arguments[1], "rb");
  image = calloc(1, 1 << 20);
  if (!file || fread(image, 1, (1 << 20) - 1, file) == 0) return 2;
  fclose(file);
  CUcontext context;
  if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxPushCurrent(context)) return 3;
  load();
  for (int i = 2; i < count; ++i) step(arguments[i]);
  print("at the end");
  return 0;
}
