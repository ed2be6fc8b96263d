/* How long one call of cudaLaunchKernel takes in its caller. Built by launch_latency.py, plain and recordable. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct dim3 {
  unsigned x, y, z;
};
int cudaLaunchKernel(const void* function, struct dim3 grid, struct dim3 block, void** arguments, size_t shared_bytes,
                     void* stream);

static double now_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

/* Prints the least time per call, in ns, of a number of runs. */
int main(int count, char** arguments) {
  const int calls = count > 1 ? atoi(arguments[1]) : 1000000, runs = count > 2 ? atoi(arguments[2]) : 25;
  const struct dim3 one = {1, 1, 1};
  double best = 1e30;
  for (int run = 0; run < runs; ++run) {
    double start = now_ns();
    for (int call = 0; call < calls; ++call) cudaLaunchKernel(arguments, one, one, 0, 0, 0);
    double each = (now_ns() - start) / calls;
    if (each < best) best = each;
  }
  printf("%.3f\n", best);
  return 0;
}
