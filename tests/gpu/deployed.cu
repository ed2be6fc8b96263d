// Launches one kernel in every way that deployed code must keep: in streams, in threads, in a captured graph, cooperatively, with
// other shapes and arguments, and with variables that the host changes meanwhile. Prints what came out.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

__constant__ int offsets[4] = {1, 2, 3, 4};
__device__ int launches;
__device__ int* last;  // an address that is kept from launch to launch

__global__ void scale(int* data, const int* weights, int n, int factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = data[i] * factor + weights[i] + offsets[i % 4];
  if (i == 0) {
    if (last != nullptr && last != &launches) data[0] = -1;
    last = &launches;
    atomicAdd(&launches, 1);  // launches of several streams run at once
  }
}

__global__ void spread(int* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int before = data[(i + 1) % n];
  cooperative_groups::this_grid().sync();
  if (i < n) data[i] += before;
}

static void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(code));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

constexpr int kCount = 4096;

static long sum_of(const int* data) {
  std::vector<int> host(kCount);
  CHECK(cudaMemcpy(host.data(), data, kCount * sizeof(int), cudaMemcpyDeviceToHost));
  long sum = 0;
  for (int i = 0; i < kCount; ++i) sum += static_cast<long>(host[i]) * (i % 17 + 1);
  return sum;
}

int main() {
  int *data, *weights;
  std::vector<int> ones(kCount, 1), numbers(kCount);
  for (int i = 0; i < kCount; ++i) numbers[i] = i;
  CHECK(cudaMalloc(&data, kCount * sizeof(int)));
  CHECK(cudaMalloc(&weights, kCount * sizeof(int)));
  CHECK(cudaMemcpy(data, ones.data(), kCount * sizeof(int), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(weights, numbers.data(), kCount * sizeof(int), cudaMemcpyHostToDevice));

  scale<<<kCount / 128, 128>>>(data, weights, kCount, 3);
  std::printf("first %ld\n", sum_of(data));
  const int others[4] = {10, 20, 30, 40};
  CHECK(cudaMemcpyToSymbol(offsets, others, sizeof others));
  scale<<<kCount / 128, 128>>>(data, weights, kCount, 3);
  std::printf("other offsets %ld\n", sum_of(data));
  scale<<<kCount / 256, 256>>>(data, weights, kCount, 3);
  std::printf("other blocks %ld\n", sum_of(data));
  scale<<<kCount / 256, 128>>>(data, weights, kCount / 2, 2);
  std::printf("other arguments %ld\n", sum_of(data));
  scale<<<kCount / 128, 128>>>(data, data, kCount, 1);
  std::printf("one array %ld\n", sum_of(data));

  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  scale<<<kCount / 128, 128, 0, stream>>>(data, weights, kCount, 3);
  CHECK(cudaStreamSynchronize(stream));
  std::printf("stream %ld\n", sum_of(data));
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  scale<<<kCount / 128, 128, 0, stream>>>(data, weights, kCount, 3);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  for (int i = 0; i < 2; ++i) CHECK(cudaGraphLaunch(executable, stream));
  CHECK(cudaStreamSynchronize(stream));
  std::printf("graph %ld\n", sum_of(data));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([=] {
      int* own;
      CHECK(cudaMalloc(&own, kCount * sizeof(int)));
      CHECK(cudaMemset(own, 0, kCount * sizeof(int)));
      for (int i = 0; i < 8; ++i) scale<<<kCount / 128, 128, 0, cudaStreamPerThread>>>(own, weights, kCount, 3);
      CHECK(cudaStreamSynchronize(cudaStreamPerThread));
      if (sum_of(own) == 0) std::printf("a thread's launches did nothing\n");
      CHECK(cudaFree(own));
    });
  for (std::thread& thread : threads) thread.join();
  int n = kCount;
  void* arguments[] = {&data, &n};
  CHECK(
      cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(spread), dim3(kCount / 1024), dim3(1024), arguments, 0, nullptr));
  std::printf("cooperative %ld\n", sum_of(data));
  int count = 0;
  CHECK(cudaMemcpyFromSymbol(&count, launches, sizeof count));
  std::printf("launches %d\n", count);
  std::printf("pending %d\n", static_cast<int>(cudaGetLastError()));
  std::printf("deployed: PASS\n");
  return 0;
}
