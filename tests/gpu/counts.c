/* Counts what a process does by the CUDA driver, as CUPTI tells it: a library that the driver loads (CUDA_INJECTION64_PATH). At
 * the end of the process it writes one line of JSON to the file COUNTS_FILE: launches of kernels, allocations of device memory
 * and loads of device code that succeeded, and kernels that the device ran, those of graphs among them. mneme-check-gpu compares
 * them with what `mneme record` has seen. */
#include <cupti.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kLaunches, kAllocations, kLoads, kCounts };
static atomic_ulong counts[kCounts], kernels;

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

/* What the device has done is told in buffers of this size. */
enum { kBuffer = 1 << 20 };
static void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* most) {
  *buffer = aligned_alloc(8, kBuffer);
  *size = *buffer ? kBuffer : 0;
  *most = 0;
}
static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size, size_t used) {
  CUpti_Activity* record = NULL;
  (void)context, (void)stream, (void)size;
  while (cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS)
    kernels += record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  free(buffer);
}

static void write_counts(void) {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  FILE* file = fopen(getenv("COUNTS_FILE"), "a");
  if (!file) return;
  fprintf(file, "{\"launches\": %lu, \"allocations\": %lu, \"loads\": %lu, \"kernels\": %lu}\n", counts[kLaunches],
          counts[kAllocations], counts[kLoads], kernels);
  fclose(file);
}

/* The driver calls it once, in cuInit. */
int InitializeInjection(void) {
  CUpti_SubscriberHandle subscriber;
  if (!getenv("COUNTS_FILE") || cuptiSubscribe(&subscriber, on_call, NULL) != CUPTI_SUCCESS) return 0;
  cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
  cuptiActivityRegisterCallbacks(give_buffer, take_buffer);
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  atexit(write_counts);
  return 1;
}
