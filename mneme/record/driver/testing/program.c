/* A program of the CUDA driver, for the tests of recording at the driver: program WAY IMAGE STEP...
 *
 * WAY says how it finds the driver's functions: "linked" (only in the program that is linked with the driver), "dlsym" or "proc".
 * IMAGE is a file with device code. Each STEP is one thing to do; what it prints is the same with and without a recorder, but for
 * "where", which says whether the driver's own functions are called. */
#define _GNU_SOURCE
#include <cuda.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef MNEME_ANNOTATES
#include "mneme/abi/annotate.h"
long cudaFree(void* pointer); /* of a runtime that does nothing: who calls one has the call table */
void** __cudaRegisterFatBinary(void* wrapper);
void __cudaRegisterVar(void** handle, char* host, char* device, const char* name, int external, size_t size, int constant,
                       int global);
static unsigned host_table[6]; /* the stand-in for the variable `table` of add_one */
static struct {
  unsigned magic, version;
  const void *image, *prelinked;
} wrapper = {0x466243B1, 1, NULL, NULL};
static void annotate_table(int first, const char* tag) {
  const struct mneme_annotation within = {MNEME_U32, 1, MNEME_ABSOLUTE, MNEME_NO_NORM, MNEME_NAN_AS_RECORDED, tag};
  mneme_annotate(host_table + first, 2, &within);
}
#endif

typedef CUresult (*function)();

// clang-format off
#define FUNCTIONS(X) \
  X(cuInit, "cuInit") \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain") \
  X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2") \
  X(cuCtxPushCurrent, "cuCtxPushCurrent_v2") \
  X(cuCtxPopCurrent, "cuCtxPopCurrent_v2") \
  X(cuCtxCreate, "cuCtxCreate_v4") \
  X(cuCtxDestroy, "cuCtxDestroy_v2") \
  X(cuGreenCtxCreate, "cuGreenCtxCreate") \
  X(cuCtxFromGreenCtx, "cuCtxFromGreenCtx") \
  X(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess") \
  X(cuStreamCreate, "cuStreamCreate") \
  X(cuIpcGetMemHandle, "cuIpcGetMemHandle") \
  X(cuStreamWriteValue32, "cuStreamWriteValue32_v2") \
  X(cuModuleLoadData, "cuModuleLoadData") \
  X(cuModuleLoadDataEx, "cuModuleLoadDataEx") \
  X(cuModuleGetFunction, "cuModuleGetFunction") \
  X(cuMemAlloc, "cuMemAlloc_v2") \
  X(cuMemFree, "cuMemFree_v2") \
  X(cuMemAllocPitch, "cuMemAllocPitch_v2") \
  X(cuMemGetInfo, "cuMemGetInfo_v2") \
  X(cuPointerGetAttribute, "cuPointerGetAttribute") \
  X(cuPointerGetAttributes, "cuPointerGetAttributes") \
  X(cuMemPoolTrimTo, "cuMemPoolTrimTo") \
  X(cuMipmappedArrayCreate, "cuMipmappedArrayCreate") \
  X(cuMipmappedArrayGetLevel, "cuMipmappedArrayGetLevel") \
  X(cuModuleUnload, "cuModuleUnload") \
  X(cuMemcpyHtoD, "cuMemcpyHtoD_v2") \
  X(cuMemcpyDtoH, "cuMemcpyDtoH_v2") \
  X(cuLaunchKernel, "cuLaunchKernel") \
  X(cuLaunchKernelEx, "cuLaunchKernelEx") \
  X(cuMemAllocAsync, "cuMemAllocAsync") \
  X(cuMemFreeAsync, "cuMemFreeAsync") \
  X(cuMemAllocManaged, "cuMemAllocManaged") \
  X(cuLibraryLoadData, "cuLibraryLoadData") \
  X(cuLibraryGetKernel, "cuLibraryGetKernel") \
  X(cuLibraryEnumerateKernels, "cuLibraryEnumerateKernels") \
  X(cuLibraryGetModule, "cuLibraryGetModule") \
  X(cuLibraryUnload, "cuLibraryUnload") \
  X(cuModuleEnumerateFunctions, "cuModuleEnumerateFunctions") \
  X(cuStreamBeginCapture, "cuStreamBeginCapture_v2") \
  X(cuStreamEndCapture, "cuStreamEndCapture") \
  X(cuMemGetAddressRange, "cuMemGetAddressRange_v2") \
  X(cuTexObjectCreate, "cuTexObjectCreate") \
  X(cuSurfObjectCreate, "cuSurfObjectCreate") \
  X(cuArray3DCreate, "cuArray3DCreate_v2") \
  X(cuArrayDestroy, "cuArrayDestroy") \
  X(cuModuleGetTexRef, "cuModuleGetTexRef") \
  X(cuImportExternalMemory, "cuImportExternalMemory") \
  X(cuExternalMemoryGetMappedBuffer, "cuExternalMemoryGetMappedBuffer") \
  X(cuExternalMemoryGetMappedMipmappedArray, "cuExternalMemoryGetMappedMipmappedArray") \
  X(cuCtxSetLimit, "cuCtxSetLimit") \
  X(cuMemHostAlloc, "cuMemHostAlloc") \
  X(cuMemFreeHost, "cuMemFreeHost") \
  X(cuMemHostRegister, "cuMemHostRegister_v2") \
  X(cuMemHostUnregister, "cuMemHostUnregister") \
  X(cuGraphicsSubResourceGetMappedArray, "cuGraphicsSubResourceGetMappedArray") \
  X(cuGraphicsResourceGetMappedPointer, "cuGraphicsResourceGetMappedPointer_v2") \
  X(cuGraphicsUnmapResources, "cuGraphicsUnmapResources") \
  X(cuMemcpy3D, "cuMemcpy3D_v2") \
  X(cuLaunchGrid, "cuLaunchGrid") \
  X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync") \
  X(cuDeviceGetDefaultMemPool, "cuDeviceGetDefaultMemPool") \
  X(cuDeviceSetMemPool, "cuDeviceSetMemPool") \
  X(cuMemAddressReserve, "cuMemAddressReserve") \
  X(cuMemAddressFree, "cuMemAddressFree") \
  X(cuMemCreate, "cuMemCreate") \
  X(cuMemRelease, "cuMemRelease") \
  X(cuMemMap, "cuMemMap") \
  X(cuMemUnmap, "cuMemUnmap") \
  X(cuMemSetAccess, "cuMemSetAccess") \
  X(cuMemExportToShareableHandle, "cuMemExportToShareableHandle") \
  X(cuMemImportFromShareableHandle, "cuMemImportFromShareableHandle") \
  X(cuMemPoolSetAccess, "cuMemPoolSetAccess") \
  X(cuMemPoolCreate, "cuMemPoolCreate") \
  X(cuMemPoolDestroy, "cuMemPoolDestroy") \
  X(cuCtxAttach, "cuCtxAttach") \
  X(cuCtxDetach, "cuCtxDetach") \
  X(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset_v2") \
  X(cuCtxDisablePeerAccess, "cuCtxDisablePeerAccess")
// clang-format on

static struct {
#define MEMBER(name, symbol) function f_##name;
  FUNCTIONS(MEMBER)
} driver;

static void* library;

static void find(const char* way) {
#ifdef MNEME_LINKED
#define TAKE(name, symbol) driver.f_##name = (function) & name;
  FUNCTIONS(TAKE)
  (void)way;
#else
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) {
    printf("no driver: %s\n", dlerror());
    exit(3);
  }
  function get = (function)dlsym(library, "cuGetProcAddress_v2");
#define FIND(name, symbol)                              \
  if (strcmp(way, "proc") == 0) {                       \
    void* found = NULL;                                 \
    get(symbol, &found, 13000, (cuuint64_t)0, NULL);    \
    driver.f_##name = (function)found;                  \
  } else {                                              \
    driver.f_##name = (function)dlsym(library, symbol); \
  }
  FUNCTIONS(FIND)
#endif
}

#define CALL(name, ...)                                \
  do {                                                 \
    CUresult result_ = driver.f_##name(__VA_ARGS__);   \
    if (result_ != CUDA_SUCCESS) {                     \
      printf("%s returned %d\n", #name, (int)result_); \
      exit(4);                                         \
    }                                                  \
  } while (0)

enum { kCount = 1000 };
static char* image;
static const char* image_file;
static CUfunction kernel;
static CUdeviceptr memory;

static void launch(CUdeviceptr address) {
  unsigned count = kCount;
  void* arguments[] = {&address, &count};
  CALL(cuLaunchKernel, kernel, 4, 1, 1, 256, 1, 1, 0, NULL, arguments, NULL);
}

/* Memory that the program maps itself, in pieces of this size. */
enum { kPiece = 2 << 20 };

static CUdeviceptr reserve(CUdeviceptr wish, size_t size) {
  CUdeviceptr address;
  CALL(cuMemAddressReserve, &address, size, (size_t)0, wish, 0ull);
  return address;
}

static CUmemGenericAllocationHandle create(CUmemLocationType where, CUmemAllocationHandleType type) {
  CUmemAllocationProp properties = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .requestedHandleTypes = type};
  properties.location.type = where;
  CUmemGenericAllocationHandle handle;
  CALL(cuMemCreate, &handle, (size_t)kPiece, &properties, 0ull);
  return handle;
}
static CUmemGenericAllocationHandle create_on_device(void) {
  return create(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_NONE);
}

static void map(CUdeviceptr address, CUmemGenericAllocationHandle handle) {
  CALL(cuMemMap, address, (size_t)kPiece, (size_t)0, handle, 0ull);
  CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CALL(cuMemSetAccess, address, (size_t)kPiece, &access, (size_t)1);
}

static CUdeviceptr map_pieces(CUdeviceptr base, int count) {
  for (int i = 0; i < count; ++i) {
    CUmemGenericAllocationHandle handle = create_on_device();
    map(base + (CUdeviceptr)i * kPiece, handle);
    CALL(cuMemRelease, handle);
  }
  return base;
}

static void launch_and_sum(const char* what, CUdeviceptr address) {
  unsigned words[kCount], sum = 0;
  for (unsigned i = 0; i < kCount; ++i) words[i] = i;
  CALL(cuMemcpyHtoD, address, words, sizeof words);
  launch(address);
  CALL(cuMemcpyDtoH, words, address, sizeof words);
  for (unsigned i = 0; i < kCount; ++i) sum += words[i];
  printf("%s %u\n", what, sum);
}

/* What there is in one context. The one before is kept until the program is back there. */
static CUcontext context;
static struct {
  CUcontext context;
  CUfunction kernel;
  CUdeviceptr memory;
} before;

static CUdeviceptr allocate(unsigned first) {
  CUdeviceptr address;
  CALL(cuMemAlloc, &address, (size_t)4 * kCount);
  unsigned* words = calloc(kCount, 4);
  for (unsigned i = 0; i < kCount; ++i) words[i] = first + i;
  CALL(cuMemcpyHtoD, address, words, (size_t)4 * kCount);
  free(words);
  return address;
}

static void load(void) {
  CUmodule module;
  CALL(cuModuleLoadData, &module, image);
  CALL(cuModuleGetFunction, &kernel, module, "add_one");
  memory = allocate(0);
}

static void enter(CUcontext entered) {
  before.context = context;
  before.kernel = kernel;
  before.memory = memory;
  context = entered;
  load();
}

static void go_back(void) {
  context = before.context;
  kernel = before.kernel;
  memory = before.memory;
}

/* Goes back from a context that is gone, and uses what was in it. */
static void leave(void) {
  const CUfunction old_kernel = kernel;
  const CUdeviceptr old_memory = memory;
  go_back();
  printf("free %d\n", (int)driver.f_cuMemFree(old_memory));
  const CUfunction now = kernel;
  kernel = old_kernel;
  launch(memory);
  kernel = now;
}

/* Maps memory and takes it away again until it is told to stop. */
static volatile int stop;
static void* map_again_and_again(void* base) {
  while (!stop) {
    map_pieces((CUdeviceptr)base, 2);
    CALL(cuMemUnmap, (CUdeviceptr)base, (size_t)2 * kPiece);
  }
  return NULL;
}

/* The same with contexts of its own. */
static void* make_contexts_again_and_again(void* unused) {
  while (!stop) {
    CUcontext own;
    CUdeviceptr in_it;
    CALL(cuCtxCreate, &own, NULL, 0u, 0);
    CALL(cuMemAlloc, &in_it, (size_t)4 * kCount);
    CALL(cuCtxDestroy, own);
  }
  return unused;
}

/* Of what is there now, in MiB. */
static long available(void) {
  size_t left, total;
  CALL(cuMemGetInfo, &left, &total);
  return (long)(left >> 20);
}

static void show_attributes(const char* what, CUdeviceptr start, CUdeviceptr inside) {
  CUdeviceptr base = 0;
  size_t size = 0;
  unsigned type = 9, mapped = 9;
  int device = 9;
  CUmemoryPool pool = NULL;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* values[] = {&type, &device, &base, &size};
  CALL(cuPointerGetAttributes, 4u, asked, values, inside);
  CALL(cuPointerGetAttribute, &mapped, CU_POINTER_ATTRIBUTE_MAPPED, inside);
  CALL(cuPointerGetAttribute, &pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, start);
  printf("%s: type %u of device %d, mapped %u, pool %#zx", what, type, device, mapped, (size_t)pool);
  /* What the tests' driver knows of its own memory is no more than its granule. */
  printf(getenv("SHOW_RANGES") ? ", begins there: %d, %zu bytes\n" : "\n", base == start, size);
}

/* A kernel during which the program does something else. */
static void launch_with(void (*callback)(void)) {
  CUfunction before = kernel;
  CUmodule module;
  CALL(cuModuleLoadData, &module, image);
  CALL(cuModuleGetFunction, &kernel, module, "calls_back");
  void (*set)(void (*)(void)) = (void (*)(void (*)(void)))dlsym(library ? library : RTLD_DEFAULT, "mneme_fake_on_launch");
  set(callback);
  launch(memory);
  kernel = before;
}
static int raised;
static void raise_it(void) { raise(raised); }
static void on_signal(int number) { printf("signal %d\n", number); }
static pthread_t canceled;
static void cancel_it(void) {
  pthread_cancel(canceled);
  pthread_testcancel();
}
static void* launch_and_be_canceled(void* unused) {
  CALL(cuCtxPushCurrent, context);
  canceled = pthread_self();
  launch_with(cancel_it);
  return unused;
}

static void* launch_when_canceled(void* unused) {
  CALL(cuCtxPushCurrent, context);
  pthread_cancel(pthread_self());
  launch(memory);
  pthread_testcancel();
  return unused;
}

static void tell_sum(void) {
  unsigned* words = calloc(kCount, 4);
  CALL(cuMemcpyDtoH, words, memory, (size_t)4 * kCount);
  unsigned long sum = 0;
  for (unsigned i = 0; i < kCount; ++i) sum += words[i];
  printf("sum %lu\n", sum);
}
/* A thread that is still at work when the main one has ended. */
static void* launch_behind_main(void* unused) {
  usleep(100000);
  CALL(cuCtxPushCurrent, context);
  launch(memory);
  tell_sum();
  return unused;
}
static void tell_signals(void) {
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, NULL, &blocked);
  printf("at the end SIGTERM is blocked: %d\n", sigismember(&blocked, SIGTERM));
}

static void launch_at_exit(void) {
  launch(memory);
  tell_sum();
}

/* A surface of one level of an array of so many texels, the last of which is 7. */
static void make_surface(CUarray array, size_t width, size_t height, size_t depth) {
  float* texels = calloc(width * height * depth, sizeof *texels);
  texels[width * height * depth - 1] = 7;
  CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = texels,
                        .srcPitch = 4 * width,
                        .srcHeight = height,
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array,
                        .WidthInBytes = 4 * width,
                        .Height = height,
                        .Depth = depth};
  CALL(cuMemcpy3D, &copy);
  free(texels);
  CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
  resource.res.array.hArray = array;
  CUsurfObject surface;
  CALL(cuSurfObjectCreate, &surface, &resource);
}

static void step(const char* what) {
  if (strcmp(what, "launch") == 0) {
    launch(memory);
  } else if (strcmp(what, "packed") == 0) {
    struct {
      CUdeviceptr address;
      unsigned count;
    } packed = {memory, kCount};
    size_t size = sizeof packed;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CALL(cuLaunchKernel, kernel, 4, 1, 1, 256, 1, 1, 0, NULL, NULL, extra);
  } else if (strcmp(what, "calls") == 0) { /* of the driver, for each of some launches of which there were such before */
    size_t (*calls)(void) = (size_t (*)(void))dlsym(library ? library : RTLD_DEFAULT, "mneme_fake_locks");
    unsigned count = kCount;
    void* arguments[] = {&memory, &count};
    CUlaunchConfig how = {.gridDimX = 4, .gridDimY = 1, .gridDimZ = 1, .blockDimX = 256, .blockDimY = 1, .blockDimZ = 1};
    CALL(cuStreamCreate, &how.hStream, 0u);
    for (int again = 0; again < 2; ++again) {
      const size_t before = calls();
      launch(memory);
      const size_t plain = calls();
      CALL(cuLaunchKernel, kernel, 4, 1, 1, 256, 1, 1, 0, how.hStream, arguments, NULL);
      const size_t in_stream = calls();
      CALL(cuLaunchKernelEx, &how, kernel, arguments, NULL);
      if (again) printf("calls: %zu, %zu, %zu\n", plain - before, in_stream - plain, calls() - in_stream);
    }
  } else if (strcmp(what, "pairs") == 0 || strcmp(what, "fours") == 0) { /* in clusters of so many blocks */
    unsigned count = kCount;
    void* arguments[] = {&memory, &count};
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    attribute.value.clusterDim.x = *what == 'p' ? 2 : 4;
    attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
    const CUlaunchConfig how = {.gridDimX = 4,
                                .gridDimY = 1,
                                .gridDimZ = 1,
                                .blockDimX = 256,
                                .blockDimY = 1,
                                .blockDimZ = 1,
                                .attrs = &attribute,
                                .numAttrs = 1};
    CALL(cuLaunchKernelEx, &how, kernel, arguments, NULL);
  } else if (strcmp(what, "library") == 0) {
    CUlibrary loaded;
    CALL(cuLibraryLoadData, &loaded, image, NULL, NULL, 0u, NULL, NULL, 0u);
    CUkernel found;
    CALL(cuLibraryGetKernel, &found, loaded, "add_one");
    kernel = (CUfunction)found;
  } else if (strcmp(what, "enumerated") == 0) {
    CUlibrary loaded;
    CUmodule of_library;
    CUkernel found[2] = {NULL, (CUkernel)0x1};
    CUfunction functions[2] = {NULL, (CUfunction)0x1};
    CALL(cuLibraryLoadData, &loaded, image, NULL, NULL, 0u, NULL, NULL, 0u);
    CALL(cuLibraryEnumerateKernels, found, 2u, loaded);
    kernel = (CUfunction)found[0];
    launch(memory);
    CALL(cuLibraryGetModule, &of_library, loaded);
    CALL(cuModuleEnumerateFunctions, functions, 2u, of_library);
    kernel = functions[0];
    launch(memory);
    CALL(cuLibraryUnload, loaded);
  } else if (strcmp(what, "async") == 0) {
    CUdeviceptr one, two;
    CALL(cuMemAllocAsync, &one, (size_t)4 * kCount, NULL);
    launch(one);
    CALL(cuMemFreeAsync, one, NULL);
    CALL(cuMemAllocAsync, &two, (size_t)4 * kCount, NULL);
    CALL(cuMemFreeAsync, two, NULL);
  } else if (strcmp(what, "pool") == 0) {
    CUdeviceptr of_pool;
    CALL(cuMemAllocFromPoolAsync, &of_pool, (size_t)4 * kCount, (CUmemoryPool)0x10, NULL);
    launch(of_pool);
  } else if (strcmp(what, "own_pool") == 0 || strcmp(what, "shared_pool") == 0 || strcmp(what, "small_pool") == 0 ||
             strcmp(what, "managed_pool") == 0) {
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    if (strcmp(what, "shared_pool") == 0) properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    if (strcmp(what, "small_pool") == 0) properties.maxSize = 1 << 20;
    if (strcmp(what, "managed_pool") == 0) properties.allocType = CU_MEM_ALLOCATION_TYPE_MANAGED;
    CUmemoryPool own, before_it;
    CUdeviceptr from, in;
    CALL(cuMemPoolCreate, &own, &properties);
    CALL(cuMemAllocFromPoolAsync, &from, (size_t)4 * kCount, own, NULL);
    launch(from);
    CALL(cuDeviceGetDefaultMemPool, &before_it, 0);
    CALL(cuDeviceSetMemPool, 0, own);
    CALL(cuMemAllocAsync, &in, (size_t)4 * kCount, NULL);
    CALL(cuDeviceSetMemPool, 0, before_it);
    launch(in);
    CALL(cuMemFreeAsync, in, NULL);
    CALL(cuMemPoolDestroy, own);
    launch(from); /* what is allocated outlives its pool */
    CALL(cuMemFreeAsync, from, NULL);
  } else if (strcmp(what, "other_pool") == 0) {
    CUdeviceptr of_pool;
    CUmemoryPool own;
    CALL(cuDeviceSetMemPool, 0, (CUmemoryPool)0x10);
    CALL(cuMemAllocAsync, &of_pool, (size_t)4 * kCount, NULL);
    CALL(cuDeviceGetDefaultMemPool, &own, 0);
    CALL(cuDeviceSetMemPool, 0, own);
    launch(of_pool);
  } else if (strcmp(what, "captured_memory") == 0) {
    CUgraph graph;
    CUdeviceptr captured;
    CALL(cuStreamBeginCapture, NULL, CU_STREAM_CAPTURE_MODE_GLOBAL);
    CALL(cuMemAllocAsync, &captured, (size_t)4 * kCount, NULL);
    CALL(cuStreamEndCapture, NULL, &graph);
    launch(captured);
  } else if (strcmp(what, "context") == 0) {
    CUcontext own;
    CALL(cuCtxCreate, &own, NULL, 0u, 0);
    enter(own);
  } else if (strcmp(what, "device") == 0) {
    CUcontext second;
    CALL(cuDevicePrimaryCtxRetain, &second, 1);
    CALL(cuCtxPushCurrent, second);
    enter(second);
  } else if (strcmp(what, "back") == 0) {
    CUcontext popped;
    CALL(cuCtxPopCurrent, &popped);
    go_back();
  } else if (strcmp(what, "destroy") == 0) {
    CALL(cuCtxDestroy, context);
    leave();
  } else if (strcmp(what, "attach") == 0) {
    CUcontext attached;
    CALL(cuCtxAttach, &attached, 0u);
  } else if (strcmp(what, "detach") == 0) {
    CALL(cuCtxDetach, context);
  } else if (strcmp(what, "detach_last") == 0) {
    CALL(cuCtxDetach, context);
    leave();
  } else if (strcmp(what, "reset_primary") == 0) { /* from within another context */
    CALL(cuDevicePrimaryCtxReset, 0);
    printf("free %d\n", (int)driver.f_cuMemFree(before.memory));
  } else if (strcmp(what, "let_go") == 0) {
    CALL(cuDevicePrimaryCtxRelease, 0);
  } else if (strcmp(what, "release") == 0) {
    CUcontext popped;
    const CUfunction old_kernel = kernel;
    CALL(cuCtxPopCurrent, &popped);
    CALL(cuDevicePrimaryCtxRelease, 0);
    CALL(cuDevicePrimaryCtxRetain, &context, 0);
    CALL(cuCtxPushCurrent, context);
    printf("free %d\n", (int)driver.f_cuMemFree(memory));
    load();
    CUfunction now = kernel;
    kernel = old_kernel;
    launch(memory);
    kernel = now;
  } else if (strcmp(what, "peer") == 0) {
    CALL(cuCtxEnablePeerAccess, before.context, 0u);
    launch(before.memory);
    CUcontext popped;
    CALL(cuCtxPushCurrent, before.context);
    const CUdeviceptr later = allocate(7);
    CALL(cuCtxPopCurrent, &popped);
    launch(later);
  } else if (strcmp(what, "pool_access") == 0) {
    CUmemoryPool own;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {1}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CALL(cuDeviceGetDefaultMemPool, &own, 0);
    CALL(cuMemPoolSetAccess, own, &access, (size_t)1);
  } else if (strcmp(what, "destroyed_pool") == 0 || strcmp(what, "destroyed_pool_in_use") == 0) {
    CUmemPoolProps properties = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {1}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemoryPool own;
    CUdeviceptr left, freed;
    CALL(cuMemPoolCreate, &own, &properties);
    CALL(cuMemPoolSetAccess, own, &access, (size_t)1);
    CALL(cuMemAllocFromPoolAsync, &freed, (size_t)4 * kCount, own, NULL);
    CALL(cuMemFreeAsync, freed, NULL);
    if (strcmp(what, "destroyed_pool_in_use") == 0) CALL(cuMemAllocFromPoolAsync, &left, (size_t)4 * kCount, own, NULL);
    CALL(cuMemPoolDestroy, own);
  } else if (strcmp(what, "reset_second") == 0) {
    CALL(cuDevicePrimaryCtxReset, 1);
  } else if (strcmp(what, "disable_peer") == 0) {
    CALL(cuCtxDisablePeerAccess, before.context);
  } else if (strcmp(what, "pool_no_access") == 0) {
    CUmemoryPool own;
    CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {1}}, CU_MEM_ACCESS_FLAGS_PROT_NONE};
    CALL(cuDeviceGetDefaultMemPool, &own, 0);
    CALL(cuMemPoolSetAccess, own, &access, (size_t)1);
  } else if (strcmp(what, "peer_launch") == 0) {
    launch(before.memory);
  } else if (strcmp(what, "green") == 0) {
    CUgreenCtx green;
    CUcontext of_green, popped;
    CALL(cuGreenCtxCreate, &green, NULL, 0, 0u);
    CALL(cuCtxFromGreenCtx, &of_green, green);
    CALL(cuCtxPushCurrent, of_green);
    launch(memory);
    CALL(cuCtxPopCurrent, &popped);
  } else if (strcmp(what, "other_stream") == 0) {
    CUcontext own, popped;
    CUstream stream;
    CALL(cuCtxCreate, &own, NULL, 0u, 0);
    CALL(cuStreamCreate, &stream, 0u);
    CALL(cuCtxPopCurrent, &popped);
    unsigned count = kCount;
    void* arguments[] = {&memory, &count};
    CALL(cuLaunchKernel, kernel, 4, 1, 1, 256, 1, 1, 0, stream, arguments, NULL);
  } else if (strcmp(what, "write_value") == 0) {
    CALL(cuStreamWriteValue32, NULL, memory, 7u, 0u);
  } else if (strcmp(what, "jit_options") == 0) {
    CUmodule module;
    unsigned wall_time = 0;
    CUjit_option options[] = {CU_JIT_MAX_REGISTERS, CU_JIT_WALL_TIME, CU_JIT_OPTIMIZATION_LEVEL};
    void* values[] = {(void*)32, &wall_time, (void*)1};
    CALL(cuModuleLoadDataEx, &module, image, 3u, options, values);
    CALL(cuModuleGetFunction, &kernel, module, "add_one");
  } else if (strcmp(what, "ipc") == 0) {
    CUipcMemHandle handle;
    driver.f_cuIpcGetMemHandle(&handle, memory);
  } else if (strcmp(what, "share") == 0) {
    CUipcMemHandle handle;
    printf("shared: %d\n", (int)driver.f_cuIpcGetMemHandle(&handle, memory));
    fflush(stdout);
  } else if (strcmp(what, "pitched") == 0) {
    CUdeviceptr rows;
    size_t pitch;
    CALL(cuMemAllocPitch, &rows, &pitch, (size_t)1000, (size_t)4, 4u);
    launch_and_sum("pitched", rows);
    CALL(cuMemFree, rows);
  } else if (strcmp(what, "managed") == 0) {
    CUdeviceptr managed;
    CALL(cuMemAllocManaged, &managed, (size_t)4 * kCount, CU_MEM_ATTACH_GLOBAL);
    launch_and_sum("managed", managed);
    CALL(cuMemFree, managed);
  } else if (strcmp(what, "pinned") == 0) {
    void* pinned;
    CALL(cuMemHostAlloc, &pinned, (size_t)4 * kCount, CU_MEMHOSTALLOC_DEVICEMAP);
    launch_and_sum("pinned", (CUdeviceptr)pinned);
    CALL(cuMemFreeHost, pinned);
  } else if (strcmp(what, "registered") == 0) {
    static unsigned words[kCount];
    CALL(cuMemHostRegister, words, sizeof words, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP);
    launch_and_sum("registered", (CUdeviceptr)words);
    CALL(cuMemHostUnregister, words);
  } else if (strcmp(what, "pageable") == 0) { /* of which the driver is told nothing */
    unsigned* words = malloc(kCount * sizeof *words);
    for (unsigned i = 0; i < kCount; ++i) words[i] = i;
    launch((CUdeviceptr)words);
    unsigned sum = 0;
    for (unsigned i = 0; i < kCount; ++i) sum += words[i];
    printf("pageable %u\n", sum);
    free(words);
  } else if (strcmp(what, "pageable_low") == 0) { /* where a program that is linked to a fixed place has its variables */
    unsigned* words = mmap((void*)0x10000000, kCount * sizeof *words, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (words != (void*)0x10000000) abort();
    launch((CUdeviceptr)words);
    printf("pageable low %u\n", words[1]);
    munmap(words, kCount * sizeof *words);
  } else if (strcmp(what, "pageable_behind") == 0) { /* an address of such memory behind what the kernel adds to */
    static unsigned words[kCount];
    void* const there = words;
    CUdeviceptr with_pointer;
    CALL(cuMemAlloc, &with_pointer, sizeof words + sizeof there);
    CALL(cuMemcpyHtoD, with_pointer + sizeof words, &there, sizeof there);
    launch_and_sum("pageable behind", with_pointer);
    CALL(cuMemFree, with_pointer);
  } else if (strcmp(what, "mapped") == 0) { /* in two pieces, of which the kernel reaches both */
    CUdeviceptr base = map_pieces(reserve(0, 2 * kPiece), 2);
    launch_and_sum("mapped", base + kPiece - 2000);
    CALL(cuMemUnmap, base, (size_t)2 * kPiece);
    CALL(cuMemAddressFree, base, (size_t)2 * kPiece);
  } else if (strcmp(what, "mapped_elsewhere") == 0) {
    launch_and_sum("mapped", map_pieces(reserve(0x6e0000000000, 32 << 20), 1));
  } else if (strcmp(what, "meanwhile") == 0) { /* another thread changes what there is to record */
    pthread_t other;
    pthread_create(&other, NULL, map_again_and_again, (void*)reserve(0, 2 * kPiece));
    for (int i = 0; i < 20; ++i) launch(memory);
    stop = 1;
    pthread_join(other, NULL);
  } else if (strcmp(what, "contexts_meanwhile") == 0) {
    pthread_t other;
    pthread_create(&other, NULL, make_contexts_again_and_again, NULL);
    for (int i = 0; i < 20; ++i) launch(memory);
    stop = 1;
    pthread_join(other, NULL);
  } else if (strcmp(what, "no_access") == 0) { /* memory that is there and that no kernel may reach */
    CUmemGenericAllocationHandle handle = create_on_device();
    CALL(cuMemMap, reserve(0, kPiece), (size_t)kPiece, (size_t)0, handle, 0ull);
  } else if (strcmp(what, "alias") == 0) {
    CUmemGenericAllocationHandle handle = create_on_device();
    CUdeviceptr one = reserve(0, kPiece), two = reserve(0, kPiece);
    map(one, handle);
    map(two, handle);
    launch_and_sum("alias", one);
  } else if (strcmp(what, "host_memory") == 0) {
    CUdeviceptr address = reserve(0, kPiece);
    map(address, create(CU_MEM_LOCATION_TYPE_HOST, CU_MEM_HANDLE_TYPE_NONE));
    launch_and_sum("host memory", address);
  } else if (strcmp(what, "imported") == 0) {
    CUmemGenericAllocationHandle own = create(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR), other;
    int descriptor;
    CALL(cuMemExportToShareableHandle, &descriptor, own, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0ull);
    CALL(cuMemImportFromShareableHandle, &other, (void*)(size_t)descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUdeviceptr address = reserve(0, kPiece);
    map(address, other);
    launch_and_sum("imported", address);
  } else if (strcmp(what, "capture") == 0) {
    CUgraph graph;
    CALL(cuStreamBeginCapture, NULL, CU_STREAM_CAPTURE_MODE_GLOBAL);
    launch(memory);
    CALL(cuStreamEndCapture, NULL, &graph);
  } else if (strcmp(what, "texture") == 0) {
    CUtexObject object;
    CALL(cuTexObjectCreate, &object, NULL, NULL, NULL);
    CUfunction before = kernel;
    CUmodule module;
    CALL(cuModuleLoadData, &module, image);
    CALL(cuModuleGetFunction, &kernel, module, "other");
    launch(object);
    kernel = before;
  } else if (strcmp(what, "reference") == 0) { /* by which a kernel of the image may read a texture */
    CUmodule module;
    CUtexref reference;
    CALL(cuModuleLoadData, &module, image);
    CALL(cuModuleGetTexRef, &reference, module, "texels");
    CALL(cuModuleGetFunction, &kernel, module, "add_one");
    launch(memory);
  } else if (strcmp(what, "graphics") == 0) { /* an array and memory of another interface */
    CUgraphicsResource of_graphics = (CUgraphicsResource)0x10;
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUsurfObject surface;
    CUdeviceptr mapped;
    size_t size;
    CALL(cuGraphicsSubResourceGetMappedArray, &resource.res.array.hArray, of_graphics, 0u, 0u);
    CALL(cuSurfObjectCreate, &surface, &resource);
    launch(memory);
    CALL(cuGraphicsResourceGetMappedPointer, &mapped, &size, of_graphics);
    launch(mapped);
    CALL(cuGraphicsUnmapResources, 1u, &of_graphics, NULL);
  } else if (strcmp(what, "external") == 0) { /* memory of another interface, which is imported */
    CUexternalMemory external;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC from = {.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD, .size = 4096};
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = {.size = 4096};
    CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC arrays = {
        .arrayDesc = {.Width = 4, .Height = 2, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1}, .numLevels = 1};
    CUDA_RESOURCE_DESC whole = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY}, level = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CUDA_TEXTURE_DESC how = {.maxMipmapLevelClamp = 0};
    CUdeviceptr mapped;
    CUtexObject textures[2];
    CALL(cuImportExternalMemory, &external, &from);
    CALL(cuExternalMemoryGetMappedBuffer, &mapped, external, &buffer);
    launch(mapped);
    CALL(cuExternalMemoryGetMappedMipmappedArray, &whole.res.mipmap.hMipmappedArray, external, &arrays);
    CALL(cuMipmappedArrayGetLevel, &level.res.array.hArray, whole.res.mipmap.hMipmappedArray, 0u);
    CALL(cuTexObjectCreate, &textures[0], &whole, &how, NULL);
    CALL(cuTexObjectCreate, &textures[1], &level, &how, NULL);
    CUfunction before = kernel;
    CUmodule module;
    CALL(cuModuleLoadData, &module, image);
    CALL(cuModuleGetFunction, &kernel, module, "other");
    launch(textures[0]);
    launch(textures[1]);
    kernel = before;
  } else if (strcmp(what, "limits") == 0) {
    CALL(cuCtxSetLimit, CU_LIMIT_STACK_SIZE, (size_t)65536);
    CALL(cuCtxSetLimit, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, (size_t)4096);
  } else if (strcmp(what, "surface") == 0 || strcmp(what, "lasting_surface") == 0) {  // of 4 x 2 floats, the last of which is 7
    static float texels[8] = {[7] = 7};
    CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = 4, .Height = 2, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    CALL(cuArray3DCreate, &resource.res.array.hArray, &shape);
    CUDA_MEMCPY3D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = texels,
                          .srcPitch = 16,
                          .srcHeight = 2,
                          .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                          .dstArray = resource.res.array.hArray,
                          .WidthInBytes = 16,
                          .Height = 2,
                          .Depth = 1};
    CALL(cuMemcpy3D, &copy);
    CUsurfObject surface;
    CALL(cuSurfObjectCreate, &surface, &resource);
    launch_and_sum("surface", memory);
    if (strcmp(what, "surface") == 0) CALL(cuArrayDestroy, resource.res.array.hArray);
  } else if (strcmp(what, "unknown") == 0) {
    CUfunction before = kernel;
    kernel = (CUfunction)0x777;
    launch(memory);
    kernel = before;
  } else if (strcmp(what, "grid") == 0) {
    CALL(cuLaunchGrid, kernel, 1, 1);
  } else if (strcmp(what, "range") == 0) {
    CUdeviceptr base;
    size_t size;
    CALL(cuMemGetAddressRange, &base, &size, memory + 100);
    printf("range %d %zu\n", base == memory, size);
  } else if (strcmp(what, "free") == 0) {
    CALL(cuMemFree, memory);
    CALL(cuMemAlloc, &memory, (size_t)4 * kCount);
  } else if (strcmp(what, "fork") == 0) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      launch(memory);
      _exit(0);
    }
    waitpid(child, NULL, 0);
  } else if (strcmp(what, "too_much") == 0) { /* more than there is, in one piece and in many */
    CUdeviceptr none;
    printf("too much: %d", (int)driver.f_cuMemAlloc(&none, (size_t)1 << 40));
    int count = 0;
    CUdeviceptr pieces[64];
    while (count < 64 && driver.f_cuMemAlloc(&pieces[count], (size_t)8 << 20) == CUDA_SUCCESS) ++count;
    printf(", pieces: %d", count);
    while (count > 0) CALL(cuMemFree, pieces[--count]);
    CALL(cuMemAlloc, &none, (size_t)8 << 20);
    CALL(cuMemFree, none);
    printf(", and again\n");
  } else if (strcmp(what, "info") == 0) {
    const long before = available();
    CUdeviceptr taken;
    CALL(cuMemAlloc, &taken, (size_t)64 << 20);
    const long meanwhile = available();
    CALL(cuMemFree, taken);
    printf("taken %ld, given back %ld\n", before - meanwhile, available() - meanwhile);
  } else if (strcmp(what, "attributes") == 0) {
    CUdeviceptr of_pool;
    CALL(cuMemAllocAsync, &of_pool, (size_t)4 * kCount, NULL);
    show_attributes("memory", memory, memory + 400);
    show_attributes("memory of the pool", of_pool, of_pool + 400);
    CALL(cuMemFreeAsync, of_pool, NULL);
  } else if (strcmp(what, "trim") == 0) {
    CUmemoryPool pool;
    CUdeviceptr taken;
    CALL(cuDeviceGetDefaultMemPool, &pool, 0);
    CALL(cuMemPoolTrimTo, pool, (size_t)0);
    const long before = available();
    CALL(cuMemAllocAsync, &taken, (size_t)64 << 20, NULL);
    CALL(cuMemFreeAsync, taken, NULL);
    CALL(cuMemPoolTrimTo, pool, (size_t)0);
    printf("left behind %ld\n", before - available());
  } else if (strcmp(what, "sigterm") == 0 || strcmp(what, "sigint") == 0 || strcmp(what, "abort") == 0) {
    fflush(stdout);
    raised = strcmp(what, "abort") == 0 ? SIGABRT : strcmp(what, "sigint") == 0 ? SIGINT : SIGTERM;
    launch_with(raise_it);
  } else if (strcmp(what, "handled") == 0) {
    signal(raised = SIGINT, on_signal);
    launch_with(raise_it);
    signal(SIGINT, SIG_DFL);
  } else if (strcmp(what, "canceled") == 0 || strcmp(what, "canceled_before") == 0) {
    pthread_t other;
    void* end;
    CUfunction before = kernel;
    pthread_create(&other, NULL, strcmp(what, "canceled") == 0 ? launch_and_be_canceled : launch_when_canceled, NULL);
    pthread_join(other, &end);
    kernel = before;
    printf("canceled: %d\n", end == PTHREAD_CANCELED);
  } else if (strcmp(what, "at_exit") == 0) { /* main() has it done behind all that was registered later */
#ifdef MNEME_ANNOTATES
  } else if (strcmp(what, "annotate") == 0) { /* memory, and what is none of the device's */
    const struct mneme_annotation within = {MNEME_F32, 0.5, MNEME_RELATIVE, MNEME_L2, MNEME_NAN_ANY, "words"};
    mneme_annotate((const void*)memory, kCount, &within);
    mneme_annotate(&kernel, 1, &within);
    annotate_table(2, "late");
  } else if (strcmp(what, "wrapped") == 0) { /* as the runtime loads what the program has registered */
    CUlibrary loaded;
    CUkernel found;
    CALL(cuLibraryLoadData, &loaded, (const void*)&wrapper, NULL, NULL, 0u, NULL, NULL, 0u);
    CALL(cuLibraryGetKernel, &found, loaded, "add_one");
    kernel = (CUfunction)found;
#endif
  } else if (strcmp(what, "main_ends") == 0) {
    pthread_t other;
    atexit(tell_signals);
    pthread_create(&other, NULL, launch_behind_main, NULL);
    pthread_exit(NULL);
  } else if (strcmp(what, "exec") == 0) {
    fflush(stdout);
    execl("/proc/self/exe", "program", "dlsym", image_file, "launch", NULL);
  } else if (strcmp(what, "image_gone") == 0) { /* as of a library that is closed, or of a buffer that was read into */
    char* there = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(there, image, 1 << 20);
    CUmodule module;
    CUfunction before = kernel;
    CALL(cuModuleLoadData, &module, there);
    munmap(there, 1 << 20);
    CALL(cuModuleGetFunction, &kernel, module, "add_one");
    launch(memory);
    CALL(cuModuleUnload, module);
    kernel = before;
  } else if (strcmp(what, "dlclosed") == 0) { /* a library with an image in it, which is loaded where it lies */
    const char* file = getenv("IMAGE_LIBRARY");
    void* held = dlopen(file, RTLD_NOW);
    if (!held) printf("%s\n", dlerror()), exit(6);
    CUmodule module;
    CUfunction before = kernel;
    CALL(cuModuleLoadData, &module, dlsym(held, "image"));
    CALL(cuModuleGetFunction, &kernel, module, "add_one");
    launch(memory);
    CALL(cuModuleUnload, module);
    dlclose(held);
    kernel = before;
  } else if (strcmp(what, "volume") == 0) {
    CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = 4, .Height = 2, .Depth = 3, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    CUarray array;
    CALL(cuArray3DCreate, &array, &shape);
    make_surface(array, 4, 2, 3);
    launch(memory);
  } else if (strcmp(what, "mipmapped") == 0) {
    CUDA_ARRAY3D_DESCRIPTOR shape = {
        .Width = 8, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1, .Flags = CUDA_ARRAY3D_SURFACE_LDST};
    CUmipmappedArray levels;
    CUarray second;
    CALL(cuMipmappedArrayCreate, &levels, &shape, 3u);
    CALL(cuMipmappedArrayGetLevel, &second, levels, 1u);
    make_surface(second, 4, 2, 1);
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY};
    resource.res.mipmap.hMipmappedArray = levels;
    CUDA_TEXTURE_DESC how = {.maxMipmapLevelClamp = 2};
    CUtexObject texture;
    CALL(cuTexObjectCreate, &texture, &resource, &how, NULL);
    launch(memory);
  } else if (strcmp(what, "where") == 0) {
    Dl_info info;
    dladdr((void*)driver.f_cuLaunchKernel, &info);
    printf("launches go to %s\n", strrchr(info.dli_fname, '/') + 1);
    fflush(stdout);
  } else {
    printf("no step %s\n", what);
    exit(5);
  }
}

int main(int count, char** arguments) {
  FILE* file = fopen(arguments[2], "rb");
  image = calloc(1, 1 << 20);
  if (!file || fread(image, 1, (1 << 20) - 1, file) == 0) return 2;
  fclose(file);
  image_file = arguments[2];
  for (int i = 3; i < count; ++i)
    if (strcmp(arguments[i], "at_exit") == 0) atexit(launch_at_exit);
#ifdef MNEME_ANNOTATES
  const struct mneme_annotation early = {MNEME_F32, 0.5, MNEME_RELATIVE, MNEME_L2, MNEME_NAN_ANY, "early"};
  mneme_annotate(&kernel, 1, &early);
  wrapper.image = image;
  __cudaRegisterVar(__cudaRegisterFatBinary(&wrapper), (char*)host_table, (char*)host_table, "table", 0, sizeof host_table, 1, 0);
  annotate_table(0, "early");
  (void)cudaFree(NULL);
#endif
  find(arguments[1]);
  CALL(cuInit, 0u);
  CALL(cuDevicePrimaryCtxRetain, &context, 0);
  CALL(cuCtxPushCurrent, context);
  load();
  for (int i = 3; i < count; ++i) step(arguments[i]);
  tell_sum();
  return 0;
}
