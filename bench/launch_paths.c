/* What a launch takes more under a front of `mneme record`, in one process: launches through the front, and by the driver's own
 * function behind it, in turn, so that what runs of a program differ by is not in it. On a machine with a GPU:
 *
 *   cc -O2 -DOWN_CALLS -shared -fPIC bench/launch_paths.c -o libmneme_own_calls.so
 *   cc -O2 -I$CUDA_HOME/include bench/launch_paths.c -ldl -o launch_paths
 *   ./launch_paths 120
 *   mneme record -rdb db --kernels nosuch --front driver -- ./launch_paths 120
 *
 * It prints the least, the first quarter and the median of the rounds, ns a launch. By itself it has the driver on both ways. */
#include <dlfcn.h>

#ifdef OWN_CALLS

/* A library of this name is given the driver's own functions by the front, as its own libraries are. */
void* mneme_own_call(void* library, const char* name) {
  void* found = dlsym(library, name);
  __asm__ volatile("" : : "r"(found)); /* no tail call: the caller is told by its address */
  return found;
}

#else

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WAYS = 2, LAUNCHES = 250, WARM_UP = 3 };

static const char* const kPtx =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry step(.param .u64 p) { .reg .b64 %a; .reg .b32 %v; ld.param.u64 %a, [p]; cvta.to.global.u64 %a, %a;\n"
    "ld.global.u32 %v, [%a]; add.u32 %v, %v, 1; st.global.u32 [%a], %v; ret; }\n";

#define NEED(call)                                   \
  do {                                               \
    const CUresult code = (call);                    \
    if (code != CUDA_SUCCESS) {                      \
      fprintf(stderr, "%s: %d\n", #call, (int)code); \
      exit(1);                                       \
    }                                                \
  } while (0)

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int by_value(const void* a, const void* b) {
  return (*(const double*)a > *(const double*)b) - (*(const double*)a < *(const double*)b);
}

static void* need(void* symbol, const char* what) {
  if (symbol) return symbol;
  fprintf(stderr, "launch_paths: %s: %s\n", what, dlerror());
  exit(1);
}

int main(int count, char** arguments) {
  const int rounds = count > 1 ? atoi(arguments[1]) : 100;
  if (rounds < 1) return fprintf(stderr, "launch_paths: a number of rounds is expected, not '%s'\n", arguments[1]), 2;
  void* driver = need(dlopen("libcuda.so.1", RTLD_NOW), "opening the driver");
  void* own = need(dlopen("./libmneme_own_calls.so", RTLD_NOW), "opening ./libmneme_own_calls.so");
  void* (*own_call)(void*, const char*) = need(dlsym(own, "mneme_own_call"), "mneme_own_call");
/* Twice, so that the header's names of versions ("_v2") are taken. */
#define TEXT(name) #name
#define FIND_AS(pointer, name) __typeof__(name)* pointer = need(dlsym(driver, TEXT(name)), TEXT(name))
#define FIND(name) FIND_AS(p_##name, name)
  FIND(cuInit);
  FIND(cuDevicePrimaryCtxRetain);
  FIND(cuCtxSetCurrent);
  FIND(cuModuleLoadData);
  FIND(cuModuleGetFunction);
  FIND(cuCtxSynchronize);
  FIND(cuMemAlloc);
  __typeof__(cuLaunchKernel)* const launch[WAYS] = {need(own_call(driver, "cuLaunchKernel"), "cuLaunchKernel"),
                                                    need(dlsym(driver, "cuLaunchKernel"), "cuLaunchKernel")};
  CUcontext context;
  CUmodule module;
  CUfunction kernel;
  CUdeviceptr memory;
  NEED(p_cuInit(0));
  NEED(p_cuDevicePrimaryCtxRetain(&context, 0));
  NEED(p_cuCtxSetCurrent(context));
  NEED(p_cuModuleLoadData(&module, kPtx));
  NEED(p_cuModuleGetFunction(&kernel, module, "step"));
  NEED(p_cuMemAlloc(&memory, sizeof(int)));
  void* parameters[] = {&memory};
  double* times[WAYS] = {malloc(sizeof(double) * (size_t)rounds), malloc(sizeof(double) * (size_t)rounds)};
  for (int round = -WARM_UP; round < rounds; ++round)
    for (int step = 0; step < WAYS; ++step) {
      const int way = round & 1 ? WAYS - 1 - step : step;
      const double start = now_ns();
      for (int i = 0; i < LAUNCHES; ++i) NEED(launch[way](kernel, 1, 1, 1, 1, 1, 1, 0, NULL, parameters, NULL));
      const double each = (now_ns() - start) / LAUNCHES;
      NEED(p_cuCtxSynchronize());
      if (round >= 0) times[way][round] = each;
    }
  const char* const names[WAYS] = {"the driver's own function",
                                   launch[0] == launch[1] ? "the same (there is no front)" : "through the front"};
  for (int way = 0; way < WAYS; ++way) {
    qsort(times[way], (size_t)rounds, sizeof(double), by_value);
    printf("%-30s least %7.1f  first quarter %7.1f  median %7.1f ns\n", names[way], times[way][0], times[way][rounds / 4],
           times[way][rounds / 2]);
  }
  return 0;
}

#endif
