/* What one call of cuLaunchKernel, and one of cuGraphLaunch for a graph of some kernels, takes in its caller. Built by
 * driver_latency.py over the driver of the tests, whose launches do nothing here: driver_latency CUBIN KERNELS CALLS RUNS
 *
 * A driver that does something runs much code on much data in each launch, so that little else is left in the nearest caches.
 * Therefore calls of cuLaunchKernel are also timed with such code between them; what that takes by itself is taken off. */
#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

void mneme_fake_idle(void); /* the driver's: from then on a launch returns at once */

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static CUfunction kernel;
static CUdeviceptr data;
static unsigned count = 1;
static void* parameters[] = {&data, &count};

/* More data, and more code, than the first caches of today's processors have. */
enum { kOtherData = 96 << 10 };
static char other_data[kOtherData];
static void run_other_code(void) {
  for (volatile char* at = other_data; at < other_data + kOtherData; at += 64) ++*at;
  __asm__ volatile(".rept 12288\nnopl 0x0(%rax,%rax,1)\n.endr"); /* of 5 to 8 bytes each */
}

/* The least time of a round, in ns, of some runs of `calls` rounds. */
static double time_of(int with_launch, int with_other, int calls, int runs) {
  double best = 1e30;
  for (int run = 0; run < runs; ++run) {
    const double start = now_ns();
    for (int call = 0; call < calls; ++call) {
      if (with_other) run_other_code();
      if (with_launch) cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, NULL, parameters, NULL);
    }
    const double each = (now_ns() - start) / calls;
    if (each < best) best = each;
  }
  return best;
}

static CUgraphExec make_graph(int kernels) {
  CUgraph graph;
  CUgraphExec executable;
  CUgraphNode last = NULL;
  const CUDA_KERNEL_NODE_PARAMS node = {kernel, 1, 1, 1, 32, 1, 1, 0, parameters, NULL, NULL, NULL};
  cuGraphCreate(&graph, 0);
  for (int i = 0; i < kernels; ++i) cuGraphAddKernelNode(&last, graph, &last, i == 0 ? 0 : 1, &node);
  if (cuGraphInstantiateWithFlags(&executable, graph, 0ull) != CUDA_SUCCESS) exit(3);
  return executable;
}

/* Prints the least time per call, in ns, of a number of runs: of a kernel, of one with other code between, then of a graph. */
int main(int arguments_count, char** arguments) {
  if (arguments_count != 5) return 2;
  const int kernels = atoi(arguments[2]), calls = atoi(arguments[3]), runs = atoi(arguments[4]);
  char* image = calloc(1, 1 << 20);
  FILE* file = fopen(arguments[1], "rb");
  CUcontext context;
  CUmodule module;
  if (!file || fread(image, 1, (1 << 20) - 1, file) == 0) return 2;
  if (cuInit(0) || cuDevicePrimaryCtxRetain(&context, 0) || cuCtxPushCurrent(context) || cuModuleLoadData(&module, image) ||
      cuModuleGetFunction(&kernel, module, "add_one") || cuMemAlloc(&data, sizeof count))
    return 3;
  const CUgraphExec graph = make_graph(kernels);
  double best_graph = 1e30;
  mneme_fake_idle();
  const double best_kernel = time_of(1, 0, calls, runs);
  const double between = time_of(1, 1, calls / 10, runs) - time_of(0, 1, calls / 10, runs);
  for (int run = 0; run < runs; ++run) {
    const int graph_calls = calls / 100;
    const double start = now_ns();
    for (int call = 0; call < graph_calls; ++call) cuGraphLaunch(graph, NULL);
    const double each = (now_ns() - start) / graph_calls;
    if (each < best_graph) best_graph = each;
  }
  printf("%.1f %.1f %.1f\n", best_kernel, between, best_graph);
  return 0;
}
