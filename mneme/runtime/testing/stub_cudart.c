/* For tests and benchmarks: a shared library with every function of the CUDA runtime, each of which returns 0. */
#include "mneme/abi/cuda_calls.inc"

#define DEFINE(name) \
  __attribute__((visibility("default"))) long name(void) { return 0; }
MNEME_CUDA_CALLS(DEFINE)
