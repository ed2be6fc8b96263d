// A graph of the CUDA runtime with a condition that a kernel in it sets: scale(a), add(b, a), decide(condition), if it holds
// halve(b), then the sum of b. Prints the sum after each launch.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kCount = 1 << 16, kBlocks = kCount / 256;

#define CHECK(call)                                              \
  do {                                                           \
    if (cudaError_t error = (call); error != cudaSuccess) {      \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                              \
    }                                                            \
  } while (0)

__global__ void scale(float* data, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) data[i] *= factor;
}
__global__ void halve(float* data) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) data[i] *= 0.5f;
}
__global__ void add(float* out, const float* in) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) out[i] += in[i];
}
// Every second time.
__global__ void decide(cudaGraphConditionalHandle condition, int* times) {
  cudaGraphSetConditional(condition, static_cast<unsigned>(++*times % 2));
}
__global__ void fold(float* sum, const float* in) {
  float all = 0;
  for (int i = 0; i < kCount; ++i) all += in[i];
  *sum = all;
}

template <typename... P>
cudaGraphNode_t add_kernel(cudaGraph_t graph, const cudaGraphNode_t* after, void (*function)(P...), int blocks, int threads,
                           P... values) {
  void* arguments[] = {&values...};
  cudaKernelNodeParams node{};
  node.func = reinterpret_cast<void*>(function);
  node.gridDim = dim3(blocks);
  node.blockDim = dim3(threads);
  node.kernelParams = arguments;
  cudaGraphNode_t added;
  CHECK(cudaGraphAddKernelNode(&added, graph, after, after != nullptr ? 1 : 0, &node));
  return added;
}

}  // namespace

int main() {
  float *a, *b, *sum;
  int* times;
  CHECK(cudaMalloc(&a, kCount * sizeof *a));
  CHECK(cudaMalloc(&b, kCount * sizeof *b));
  CHECK(cudaMalloc(&sum, sizeof *sum));
  CHECK(cudaMalloc(&times, sizeof *times));
  static float host[kCount];
  for (int i = 0; i < kCount; ++i) host[i] = static_cast<float>(i % 7);
  CHECK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(b, 0, sizeof host));
  CHECK(cudaMemset(times, 0, sizeof *times));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));

  cudaGraph_t graph;
  cudaGraphConditionalHandle condition;
  CHECK(cudaGraphCreate(&graph, 0));
  CHECK(cudaGraphConditionalHandleCreate(&condition, graph, 0, 0));
  const cudaGraphNode_t scaled = add_kernel(graph, nullptr, scale, kBlocks, 256, a, 1.5f);
  const cudaGraphNode_t added = add_kernel(graph, &scaled, add, kBlocks, 256, b, static_cast<const float*>(a));
  const cudaGraphNode_t decided = add_kernel(graph, &added, decide, 1, 1, condition, times);
  cudaGraphNodeParams parameters{};
  parameters.type = cudaGraphNodeTypeConditional;
  parameters.conditional.handle = condition;
  parameters.conditional.type = cudaGraphCondTypeIf;
  parameters.conditional.size = 1;
  cudaGraphNode_t node;
  CHECK(cudaGraphAddNode(&node, graph, &decided, nullptr, 1, &parameters));
  add_kernel(parameters.conditional.phGraph_out[0], nullptr, halve, kBlocks, 256, b);
  add_kernel(graph, &node, fold, 1, 1, sum, static_cast<const float*>(b));

  cudaGraphExec_t executable;
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 6; ++i) {
    float result;
    CHECK(cudaGraphLaunch(executable, stream));
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost));
    std::printf("%g\n", result);
  }
  CHECK(cudaGraphExecDestroy(executable));
  CHECK(cudaGraphDestroy(graph));
  return 0;
}
