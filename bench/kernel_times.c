/* How long the kernels of a program run, as CUPTI's activities tell it, whatever stands between the program and the driver: a
 * library that the driver loads (CUDA_INJECTION64_PATH). At the end of the process it appends a line to the file
 * KERNEL_TIMES_FILE for each launch: when it began and how long it took, in nanoseconds, its grid, block and dynamic shared
 * memory, and the kernel's name, mangled.
 *
 *     cc -shared -fPIC -I$CUDA/include -I$CUDA/extras/CUPTI/include kernel_times.c -o kernel_times.so -L$CUDA/extras/CUPTI/lib64
 * -lcupti */
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBufferSize = 8 << 20 };

static void CUPTIAPI give_buffer(uint8_t** buffer, size_t* size, size_t* records) {
  *buffer = aligned_alloc(8, kBufferSize);
  *size = *buffer ? kBufferSize : 0;
  *records = 0;
}

static void CUPTIAPI write_records(CUcontext context, uint32_t stream, uint8_t* buffer, size_t size, size_t valid) {
  (void)context, (void)stream, (void)size;
  FILE* file = fopen(getenv("KERNEL_TIMES_FILE"), "a");
  CUpti_Activity* record = NULL;
  while (file && cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
    if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) continue;
    const CUpti_ActivityKernel9* kernel = (const CUpti_ActivityKernel9*)record;
    fprintf(file, "%llu %llu %d,%d,%d %d,%d,%d %d %s\n", (unsigned long long)kernel->start,
            (unsigned long long)(kernel->end - kernel->start), kernel->gridX, kernel->gridY, kernel->gridZ, kernel->blockX,
            kernel->blockY, kernel->blockZ, kernel->dynamicSharedMemory, kernel->name);
  }
  if (file) fclose(file);
  free(buffer);
}

static void flush(void) { cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED); }

/* The driver calls it once, in cuInit. */
int InitializeInjection(void) {
  if (!getenv("KERNEL_TIMES_FILE") || cuptiActivityRegisterCallbacks(give_buffer, write_records) != CUPTI_SUCCESS) return 0;
  cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  atexit(flush);
  return 1;
}
