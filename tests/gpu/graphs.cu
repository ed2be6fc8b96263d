// Graphs of the CUDA runtime: made by hand, captured, with a child graph, changed, updated and launched again. Prints what is in
// memory, by the host between kernels too.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

constexpr int kCount = 1 << 16;

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
__global__ void add(float* out, const float* in, float value) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) out[i] += in[i] + value;
}
__global__ void fold(float* sum, const float* in) {
  __shared__ float part[256];
  float mine = 0;
  for (int i = threadIdx.x; i < kCount; i += 256) mine += in[i];
  part[threadIdx.x] = mine;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) *sum = part[0];
}

float *a, *b, *sum, *seen;  // seen: of the host

void tell(void* what) { std::printf("  %s: %g\n", static_cast<const char*>(what), *seen); }

template <typename... P>
struct Kernel {
  cudaKernelNodeParams node{};
  void* arguments[sizeof...(P)];
  Kernel(void (*function)(P...), int blocks, P&... values) : arguments{&values...} {
    node.func = reinterpret_cast<void*>(function);
    node.gridDim = dim3(blocks);
    node.blockDim = dim3(256);
    node.kernelParams = arguments;
  }
};

float two = 2, three = 3, one = 1;
constexpr int kBlocks = kCount / 256;

// sum of b, told by the host.
cudaGraph_t make_telling(const char* what) {
  cudaGraph_t graph;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t folded, copied, told;
  const float* in = b;
  Kernel<float*, const float*> fold_b(fold, 1, sum, in);
  CHECK(cudaGraphAddKernelNode(&folded, graph, nullptr, 0, &fold_b.node));
  CHECK(cudaGraphAddMemcpyNode1D(&copied, graph, &folded, 1, seen, sum, sizeof *seen, cudaMemcpyDeviceToHost));
  cudaHostNodeParams host{tell, const_cast<char*>(what)};
  CHECK(cudaGraphAddHostNode(&told, graph, &copied, 1, &host));
  return graph;
}

// scale(a), beside it b = 0; add(b, a), the sum of b by a child graph, scale(b), and the sum again.
struct ByHand {
  cudaGraph_t graph;
  cudaGraphNode_t scaled, cleared, added, child, scaled_b, last;
  ByHand() {
    CHECK(cudaGraphCreate(&graph, 0));
    Kernel<float*, float> scale_a(scale, kBlocks, a, two), scale_b(scale, kBlocks, b, three);
    CHECK(cudaGraphAddKernelNode(&scaled, graph, nullptr, 0, &scale_a.node));
    cudaMemsetParams zero{};
    zero.dst = b;
    zero.elementSize = 4;
    zero.width = kCount;
    zero.height = 1;
    CHECK(cudaGraphAddMemsetNode(&cleared, graph, nullptr, 0, &zero));
    const float* in = a;
    Kernel<float*, const float*, float> add_a(add, kBlocks, b, in, one);
    const cudaGraphNode_t both[] = {scaled, cleared};
    CHECK(cudaGraphAddKernelNode(&added, graph, both, 2, &add_a.node));
    cudaGraph_t telling = make_telling("in the child");
    CHECK(cudaGraphAddChildGraphNode(&child, graph, &added, 1, telling));
    CHECK(cudaGraphAddKernelNode(&scaled_b, graph, &child, 1, &scale_b.node));
    CHECK(cudaGraphDestroy(telling));
    telling = make_telling("at its end");
    CHECK(cudaGraphAddChildGraphNode(&last, graph, &scaled_b, 1, telling));
    CHECK(cudaGraphDestroy(telling));
  }
  ~ByHand() { CHECK(cudaGraphDestroy(graph)); }
};

void print(const char* what, cudaStream_t stream) {
  CHECK(cudaStreamSynchronize(stream));
  static float host[kCount];
  double sums[2] = {};
  for (int which = 0; which < 2; ++which) {
    CHECK(cudaMemcpy(host, which ? b : a, sizeof host, cudaMemcpyDeviceToHost));
    for (float value : host) sums[which] += value;
  }
  std::printf("%s: a %g, b %g\n", what, sums[0], sums[1]);
}

}  // namespace

int main() {
  CHECK(cudaMalloc(&a, kCount * sizeof *a));
  CHECK(cudaMalloc(&b, kCount * sizeof *b));
  CHECK(cudaMalloc(&sum, sizeof *sum));
  CHECK(cudaMallocHost(&seen, sizeof *seen));
  static float host[kCount];
  for (int i = 0; i < kCount; ++i) host[i] = static_cast<float>(i % 7);
  CHECK(cudaMemcpy(a, host, sizeof host, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(b, 0, sizeof host));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));

  cudaGraphExec_t executable;
  {
    ByHand made;
    CHECK(cudaGraphInstantiate(&executable, made.graph, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    print("by hand", stream);
    const float* in = a;
    Kernel<float*, const float*, float> add_two(add, kBlocks, b, in, two);
    CHECK(cudaGraphExecKernelNodeSetParams(executable, made.added, &add_two.node));
    CHECK(cudaGraphLaunch(executable, stream));
    print("changed", stream);
    CHECK(cudaGraphNodeSetEnabled(executable, made.scaled, 0));
    CHECK(cudaGraphLaunch(executable, stream));
    print("with a node less", stream);
    CHECK(cudaGraphNodeSetEnabled(executable, made.scaled, 1));
  }
  CHECK(cudaGraphLaunch(executable, stream));
  print("again", stream);
  {
    ByHand other;
    Kernel<float*, float> half(scale, kBlocks, b, two);
    CHECK(cudaGraphKernelNodeSetParams(other.scaled_b, &half.node));
    cudaGraphExecUpdateResultInfo result;
    CHECK(cudaGraphExecUpdate(executable, other.graph, &result));
  }
  CHECK(cudaGraphLaunch(executable, stream));
  print("updated", stream);
  CHECK(cudaGraphExecDestroy(executable));

  cudaGraph_t captured;
  cudaStream_t beside;
  cudaEvent_t begun, done;
  CHECK(cudaStreamCreate(&beside));
  CHECK(cudaEventCreateWithFlags(&begun, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&done, cudaEventDisableTiming));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(begun, stream));
  CHECK(cudaStreamWaitEvent(beside, begun, 0));
  scale<<<kBlocks, 256, 0, stream>>>(a, 0.5f);
  scale<<<kBlocks, 256, 0, beside>>>(b, 0.25f);
  CHECK(cudaEventRecord(done, beside));
  CHECK(cudaStreamWaitEvent(stream, done, 0));
  add<<<kBlocks, 256, 0, stream>>>(a, b, 1.0f);
  CHECK(cudaStreamEndCapture(stream, &captured));
  CHECK(cudaGraphInstantiate(&executable, captured, 0));
  CHECK(cudaGraphDestroy(captured));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(executable, stream));
  print("captured, three times", stream);
  CHECK(cudaGraphExecDestroy(executable));
  return 0;
}
