/* A program of the CUDA driver that makes contexts of its own, on each device that there is: what is recorded of it,
 * mneme-check-gpu asks. It needs no header and no library of CUDA but the driver's. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const char kCode[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".global .align 8 .u64 increment;\n" /* an address, that narrowing follows */
    ".visible .entry add(.param .u64 words, .param .u32 count)\n{\n"
    ".reg .pred %p<2>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<6>;\n"
    "ld.param.u64 %rd1, [words];\nld.param.u32 %r1, [count];\n"
    "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %ntid.x;\nmov.u32 %r4, %tid.x;\nmad.lo.u32 %r5, %r2, %r3, %r4;\n"
    "setp.ge.u32 %p1, %r5, %r1;\n@%p1 bra DONE;\n"
    "mul.wide.u32 %rd2, %r5, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
    "ld.global.u32 %r6, [%rd3];\nld.global.u64 %rd4, [increment];\nld.global.u32 %r7, [%rd4];\nadd.u32 %r6, %r6, "
    "%r7;\nst.global.u32 [%rd3], %r6;\n"
    "DONE:\nret;\n}\n";

typedef unsigned long long address;
static void* library;

static int call_failed(const char* name, int code) {
  printf("%s returned %d\n", name, code);
  exit(1);
}
#define FIND(type, symbol) ((type)dlsym(library, symbol))
#define CHECK(name, code)                     \
  do {                                        \
    const int code_ = (code);                 \
    if (code_ != 0) call_failed(name, code_); \
  } while (0)

enum { kCount = 10000 };

static address allocate(unsigned first) {
  address memory;
  unsigned* words = malloc(4 * kCount);
  for (unsigned i = 0; i < kCount; ++i) words[i] = first + i;
  CHECK("cuMemAlloc", FIND(int (*)(address*, size_t), "cuMemAlloc_v2")(&memory, 4 * kCount));
  CHECK("cuMemcpyHtoD", FIND(int (*)(address, const void*, size_t), "cuMemcpyHtoD_v2")(memory, words, 4 * kCount));
  free(words);
  return memory;
}

static void* load(void) {
  void *module, *kernel;
  address variable, memory = allocate(3);
  size_t size;
  typedef int (*find_function)(address*, size_t*, void*, const char*);
  CHECK("cuModuleLoadData", FIND(int (*)(void**, const void*), "cuModuleLoadData")(&module, kCode));
  CHECK("cuModuleGetFunction", FIND(int (*)(void**, void*, const char*), "cuModuleGetFunction")(&kernel, module, "add"));
  CHECK("cuModuleGetGlobal", FIND(find_function, "cuModuleGetGlobal_v2")(&variable, &size, module, "increment"));
  CHECK("cuMemcpyHtoD", FIND(int (*)(address, const void*, size_t), "cuMemcpyHtoD_v2")(variable, &memory, size));
  return kernel;
}

typedef int (*launch_function)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**,
                               void**);
static void launch(void* kernel, address memory, void* stream) {
  unsigned count = kCount;
  void* arguments[] = {&memory, &count};
  CHECK("cuLaunchKernel",
        FIND(launch_function, "cuLaunchKernel")(kernel, (kCount + 255) / 256, 1, 1, 256, 1, 1, 0, stream, arguments, NULL));
}

static unsigned long long sum(address memory) {
  unsigned* words = malloc(4 * kCount);
  CHECK("cuMemcpyDtoH", FIND(int (*)(void*, address, size_t), "cuMemcpyDtoH_v2")(words, memory, 4 * kCount));
  unsigned long long total = 0;
  for (unsigned i = 0; i < kCount; ++i) total += words[i];
  free(words);
  return total;
}

int main(void) {
  int devices = 0;
  library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return printf("no driver: %s\n", dlerror()), 1;
  CHECK("cuInit", FIND(int (*)(unsigned), "cuInit")(0));
  CHECK("cuDeviceGetCount", FIND(int (*)(int*), "cuDeviceGetCount")(&devices));
  void *contexts[16], *kernels[16], *stream, *popped;
  address memory[16];
  for (int i = 0; i < devices && i < 16; ++i) {
    CHECK("cuCtxCreate", FIND(int (*)(void**, unsigned, int), "cuCtxCreate_v2")(&contexts[i], 0, i));
    kernels[i] = load();
    memory[i] = allocate(i);
    CHECK("cuStreamCreate", FIND(int (*)(void**, unsigned), "cuStreamCreate")(&stream, 1));
    /* A copy of pageable memory returns when it is staged, and that stream does not wait for the one that it is in. */
    CHECK("cuCtxSynchronize", FIND(int (*)(void), "cuCtxSynchronize")());
    launch(kernels[i], memory[i], stream);
    CHECK("cuCtxSynchronize", FIND(int (*)(void), "cuCtxSynchronize")());
    launch(kernels[i], memory[i], NULL);
    printf("device %d: %llu\n", i, sum(memory[i]));
  }
  if (devices > 1) {
    typedef int (*copy_function)(address, void*, address, void*, size_t);
    const int last = devices - 1;
    CHECK("cuMemcpyPeer", FIND(copy_function, "cuMemcpyPeer")(memory[last], contexts[last], memory[0], contexts[0], 4 * kCount));
    printf("copied: %llu\n", sum(memory[last]));
  }
  /* The last device's context is current; the first one's memory is reached where the two are connected. */
  int connected = 0;
  if (devices > 1)
    CHECK("cuDeviceCanAccessPeer", FIND(int (*)(int*, int, int), "cuDeviceCanAccessPeer")(&connected, devices - 1, 0));
  if (connected) {
    CHECK("cuCtxEnablePeerAccess", FIND(int (*)(void*, unsigned), "cuCtxEnablePeerAccess")(contexts[0], 0));
    launch(kernels[devices - 1], memory[0], NULL);
    CHECK("cuCtxSynchronize", FIND(int (*)(void), "cuCtxSynchronize")());
    printf("peer: %llu\n", sum(memory[0]));
  }
  /* A context that goes takes its memory along; the same is made again. */
  for (int i = devices - 1; i >= 0; --i) {
    CHECK("cuCtxDestroy", FIND(int (*)(void*), "cuCtxDestroy_v2")(contexts[i]));
    printf("freed: %d\n", FIND(int (*)(address), "cuMemFree_v2")(memory[i]) != 0);
  }
  CHECK("cuCtxCreate", FIND(int (*)(void**, unsigned, int), "cuCtxCreate_v2")(&contexts[0], 0, 0));
  void* kernel = load();
  address again = allocate(100);
  launch(kernel, again, NULL);
  printf("again: %llu\n", sum(again));
  CHECK("cuCtxPopCurrent", FIND(int (*)(void**), "cuCtxPopCurrent_v2")(&popped));
  return 0;
}
