/* Counts what a process does by the CUDA driver, as CUPTI tells it: a library that the driver loads (CUDA_INJECTION64_PATH). At
 * the end of the process it writes one line of JSON to the file COUNTS_FILE: launches of kernels, allocations of device memory
 * and loads of device code that succeeded. mneme-check-gpu compares them with what `mneme record` has seen. */
#include <cupti.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLaunches, kAllocations, kLoads, kCounts };
static atomic_ulong counts[kCounts];

/* What the names of the driver's functions begin with. */
static const struct {
  int count;
  const char* prefix;
} kFunctions[] = {
    {kLaunches, "cuLaunchKernel"},     {kLaunches, "cuLaunchCooperativeKernel"},
    {kLaunches, "cuLaunchGrid"},       {kAllocations, "cuMemAlloc_v2"},
    {kAllocations, "cuMemAllocPitch"}, {kAllocations, "cuMemAllocManaged"},
    {kAllocations, "cuMemAllocAsync"}, {kAllocations, "cuMemAllocFromPoolAsync"},
    {kAllocations, "cuMemCreate"},     {kLoads, "cuModuleLoad"},
    {kLoads, "cuLibraryLoad"},
};

static void CUPTIAPI on_call(void* unused, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  const CUpti_CallbackData* call = data;
  (void)unused, (void)domain, (void)id;
  if (call->callbackSite != CUPTI_API_EXIT || *(const CUresult*)call->functionReturnValue != CUDA_SUCCESS) return;
  for (size_t i = 0; i < sizeof kFunctions / sizeof *kFunctions; ++i)
    if (strncmp(call->functionName, kFunctions[i].prefix, strlen(kFunctions[i].prefix)) == 0) {
      ++counts[kFunctions[i].count];
      return;
    }
}

static void write_counts(void) {
  FILE* file = fopen(getenv("COUNTS_FILE"), "a");
  if (!file) return;
  fprintf(file, "{\"launches\": %lu, \"allocations\": %lu, \"loads\": %lu}\n", counts[kLaunches], counts[kAllocations],
          counts[kLoads]);
  fclose(file);
}

/* The driver calls it once, in cuInit. */
int InitializeInjection(void) {
  CUpti_SubscriberHandle subscriber;
  if (!getenv("COUNTS_FILE") || cuptiSubscribe(&subscriber, on_call, NULL) != CUPTI_SUCCESS) return 0;
  cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
  atexit(write_counts);
  return 1;
}
