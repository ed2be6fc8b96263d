# Stream-ordered memory: pools that count what is used, and graphs that allocate and release.
cat >pools.cu <<'SOURCE'
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#define CHECK(call) do { cudaError_t code = (call); if (code != cudaSuccess) { std::printf("%s: %s\n", #call, cudaGetErrorString(code)); std::exit(1); } } while (0)
__global__ void fill(int* data, int value, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = value + i;
}
uint64_t read(cudaMemPool_t pool, cudaMemPoolAttr attribute) {
  uint64_t value = 0;
  CHECK(cudaMemPoolGetAttribute(pool, attribute, &value));
  return value;
}
int main() {
  const int n = 1 << 20;
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool, before;
  CHECK(cudaMemPoolCreate(&pool, &properties));
  CHECK(cudaDeviceGetMemPool(&before, 0));
  CHECK(cudaDeviceSetMemPool(0, pool));
  uint64_t all = UINT64_MAX;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all));
  int *a, *b, last = 0;
  CHECK(cudaMallocAsync(&a, n * sizeof(int), stream));
  CHECK(cudaMallocFromPoolAsync(&b, n * sizeof(int), pool, stream));
  fill<<<n / 256, 256, 0, stream>>>(a, 5, n);
  CHECK(cudaMemcpyAsync(&last, a + n - 1, sizeof last, cudaMemcpyDeviceToHost, stream));
  bool used = read(pool, cudaMemPoolAttrUsedMemCurrent) == 2 * n * sizeof(int);
  CHECK(cudaFreeAsync(a, stream));
  CHECK(cudaFreeAsync(b, stream));
  CHECK(cudaStreamSynchronize(stream));
  bool freed = read(pool, cudaMemPoolAttrUsedMemCurrent) == 0 && read(pool, cudaMemPoolAttrUsedMemHigh) == 2 * n * sizeof(int);
  bool kept = read(pool, cudaMemPoolAttrReservedMemCurrent) >= 2 * n * sizeof(int);
  CHECK(cudaMemPoolTrimTo(pool, 0));
  bool trimmed = read(pool, cudaMemPoolAttrReservedMemCurrent) == 0;
  CHECK(cudaDeviceSetMemPool(0, before));
  CHECK(cudaMemPoolDestroy(pool));
  std::printf("%d: %d %d %d %d\n", last, used, freed, kept, trimmed);

  // A graph whose memory lives from one launch to the release behind it.
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  int* out;
  CHECK(cudaMallocHost(&out, sizeof(int)));
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  CHECK(cudaMallocAsync(&a, n * sizeof(int), stream));
  fill<<<n / 256, 256, 0, stream>>>(a, 7, n);
  CHECK(cudaMemcpyAsync(out, a + 1, sizeof(int), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaFreeAsync(a, stream));
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  int sum = 0;
  for (int launch = 0; launch < 3; ++launch) {
    *out = 0;
    CHECK(cudaGraphLaunch(exec, stream));
    CHECK(cudaStreamSynchronize(stream));
    sum += *out;
  }
  uint64_t live = 1;
  CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrUsedMemCurrent, &live));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaDeviceGraphMemTrim(0));
  std::printf("graph: %d %d\n", sum, int(live));
  return 0;
}
SOURCE
compile pools.cu pools
compile pools.cu pools_per_thread -fgpu-default-stream=per-thread
for device in $DEVICES; do
  for program in pools pools_per_thread; do
    expect 0 mneme run --device "$device" -- ./$program
    contains out "1048580: 1 1 1 1"
    contains out "graph: 24 0"
  done
done
