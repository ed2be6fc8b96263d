// For tests: a program with one kernel, launched by each way that HIP has of launching a kernel of the program. It prints what
// the calls return, and needs no device where an interposer stands before them.
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>

#include <cstdio>

__device__ int counter = 5;
struct Pair {
  char tag;
  long value;
};
__global__ void add(int* out, Pair pair, int n) { out[n] += pair.value + counter; }

int main() {
  int* out = nullptr;
  std::printf("malloc %d\n", hipMalloc(reinterpret_cast<void**>(&out), 64));
  add<<<1, 64>>>(out, Pair{1, 2}, 3);
  hipLaunchKernelGGL(add, dim3(2), dim3(64), 0, nullptr, out, Pair{1, 2}, 3);
  hipExtLaunchKernelGGL(add, dim3(3), dim3(64), 0, nullptr, nullptr, nullptr, 0, out, Pair{1, 2}, 3);
  Pair pair{1, 2};
  int n = 3;
  void* arguments[] = {&out, &pair, &n};
  const auto function = reinterpret_cast<const void*>(add);
  std::printf("cooperative %d\n", hipLaunchCooperativeKernel(function, dim3(4), dim3(64), arguments, 0, nullptr));
  std::printf("module %d\n",
              hipExtModuleLaunchKernel(reinterpret_cast<hipFunction_t>(&n), 64, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
}
