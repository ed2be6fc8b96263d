// What only a program's own HIP runtime does: memory of kinds that CUDA has not, a variable that no host code names, a fault, streams.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static __device__ int table[4] = {1, 2, 3, 4};

__global__ void from_table(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] += table[i & 3]++ > 0 ? i : 0;
}
__global__ void increment(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) ++data[i];
}
__global__ void refuse(int* data) { *data = 1; __builtin_trap(); }

#define OK(call)                                                                     \
  if (const hipError_t code = call; code != hipSuccess) {                            \
    std::printf("line %d: %s: %d\n", __LINE__, #call, static_cast<int>(code));       \
    std::exit(1);                                                                    \
  }

int main(int argc, char** argv) {
  const int n = 64;
  const bool faults = argc > 1 && std::strcmp(argv[1], "fault") == 0;
  int *data, *fine, *pinned, *managed;
  hipStream_t stream;
  OK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  OK(hipMalloc(&data, n * 4));
  OK(hipExtMallocWithFlags(reinterpret_cast<void**>(&fine), n * 4, hipDeviceMallocFinegrained));
  OK(hipHostMalloc(&pinned, n * 4, hipHostMallocNonCoherent));
  OK(hipMallocManaged(&managed, n * 4));
  OK(hipMemsetD32(data, 7, n));
  OK(hipMemsetD32(fine, 8, n));
  for (int i = 0; i < n; ++i) pinned[i] = managed[i] = 9;
  from_table<<<1, 4, 0, stream>>>(data, 4);
  OK(hipStreamSynchronize(stream));
  increment<<<1, n>>>(data, n);
  increment<<<1, n>>>(fine, n);
  increment<<<1, n>>>(pinned, n);
  increment<<<1, n>>>(managed, n);
  increment<<<1, 4096>>>(data, n);
  std::printf("too many threads: %d\n", static_cast<int>(hipGetLastError()));
  OK(hipDeviceSynchronize());
  int read[2][64];
  OK(hipMemcpy(read[0], data, n * 4, hipMemcpyDeviceToHost));
  OK(hipMemcpy(read[1], fine, n * 4, hipMemcpyDeviceToHost));
  std::printf("%d %d %d %d %d\n", read[0][3], read[0][n - 1], read[1][n - 1], pinned[n - 1], managed[n - 1]);
  OK(hipFree(fine));
  OK(hipHostFree(pinned));
  if (faults) {
    refuse<<<1, 1>>>(data);
    std::printf("fault: %d\n", static_cast<int>(hipDeviceSynchronize()));
    std::printf("after it: %d\n", static_cast<int>(hipMalloc(&fine, 4)));
    return 0;
  }
  OK(hipFree(data));
  OK(hipFree(managed));
  std::printf("freed twice: %d\n", static_cast<int>(hipFree(data)));
}
