// Builds a graph of kernels itself, changes it, asks for what its nodes are, and prints what all that comes to: with deployed
// code in the nodes it prints the same. The memory is managed.
#include <cuda_runtime.h>

#include <cstdio>

#define CHECK(call)                                                      \
  do {                                                                   \
    if (cudaError_t code = (call)) {                                     \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(code)); \
      return 1;                                                          \
    }                                                                    \
  } while (0)

__global__ void scale(int* out, const int* in, int factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = factor * in[i] + out[i] % 7;
}

static long sum(const int* out, int n) {
  long total = 0;
  for (int i = 0; i < n; ++i) total += out[i] * (i % 5 + 1L);
  return total;
}

// What the factors of all launches, one after another, come to.
static long expected(int n) {
  long total = 0;
  for (int i = 0; i < n; ++i) {
    int out = 0;
    for (int factor : {3, 3, 3, 5, 3, 3, 3, 3, 3, 3, 3, 3, 3}) out = factor * (i % 11) + out % 7;
    total += out * (i % 5 + 1L);
  }
  return total;
}

int main() {
  int n = 4096, *in = nullptr, *out = nullptr, factor = 3;
  CHECK(cudaMallocManaged(&in, n * sizeof(int)));
  CHECK(cudaMallocManaged(&out, n * sizeof(int)));
  for (int i = 0; i < n; ++i) in[i] = i % 11, out[i] = 0;
  scale<<<n / 128, 128>>>(out, in, factor, n);  // the one to be recorded
  CHECK(cudaDeviceSynchronize());
  std::printf("launched %ld\n", sum(out, n));

  cudaGraph_t graph;
  cudaGraphNode_t first, second;
  cudaGraphExec_t executable;
  void* arguments[] = {&out, &in, &factor, &n};
  cudaKernelNodeParams kernel{};
  kernel.func = reinterpret_cast<void*>(scale);
  kernel.gridDim = dim3(n / 128), kernel.blockDim = dim3(128);
  kernel.kernelParams = arguments;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &kernel));
  CHECK(cudaGraphAddKernelNode(&second, graph, &first, 1, &kernel));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  const auto launch = [&](const char* what) {
    CHECK(cudaGraphLaunch(executable, nullptr));
    CHECK(cudaDeviceSynchronize());
    std::printf("%s %ld\n", what, sum(out, n));
    return 0;
  };
  if (launch("a graph")) return 1;

  cudaKernelNodeParams told{};
  CHECK(cudaGraphKernelNodeGetParams(first, &told));
  std::printf("its first kernel: %s, %u of %u, factor %d\n", told.func == kernel.func ? "scale" : "another", told.gridDim.x,
              told.blockDim.x, *static_cast<int*>(told.kernelParams[2]));

  factor = 5;  // another argument
  CHECK(cudaGraphExecKernelNodeSetParams(executable, first, &kernel));
  if (launch("with another argument")) return 1;
  factor = 3, kernel.gridDim = dim3(n / 256), kernel.blockDim = dim3(256);  // another shape
  CHECK(cudaGraphExecKernelNodeSetParams(executable, first, &kernel));
  if (launch("with another shape")) return 1;
  CHECK(cudaGraphKernelNodeSetParams(second, &told));  // as it was told of the other
  cudaGraphExecUpdateResultInfo updated{};
  CHECK(cudaGraphExecUpdate(executable, graph, &updated));
  if (launch("as it was")) return 1;
  CHECK(cudaGraphKernelNodeGetParams(first, &told));  // its own arguments, which end when it is set
  CHECK(cudaGraphKernelNodeSetParams(first, &told));
  CHECK(cudaGraphExecUpdate(executable, graph, &updated));
  if (launch("with its own arguments")) return 1;
#ifndef __HIP__  // whose nodes have none
  cudaKernelNodeAttrValue priority{}, cooperative{};
  cooperative.cooperative = 0;
  CHECK(cudaGraphKernelNodeSetAttribute(first, cudaLaunchAttributePriority, &priority));
  CHECK(cudaGraphKernelNodeSetAttribute(first, cudaLaunchAttributeCooperative, &cooperative));
#endif
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  if (launch("again")) return 1;
  std::printf("pending %d\n", static_cast<int>(cudaGetLastError()));
  const bool is_right = sum(out, n) == expected(n);
  std::printf("graph_nodes: %s\n", is_right ? "PASS" : "FAIL");
  return is_right ? 0 : 1;
}
