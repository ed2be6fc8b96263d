# The CUDA runtime on the CPU device: what programs get that use more of it than the examples do, and what goes wrong in them.
cat >faults.cu <<'SOURCE'
#include <cassert>
#include <cstdio>
#include <cstring>
__global__ void wild(int* out) { out[-(1ll << 40)] = 1; }
__global__ void asserts(int n) { assert(n == 0 && "n is nothing"); }
__global__ void traps() { __trap(); }
__device__ void store(int* out, long at) { out[at] = 0; }
__global__ void one_of(int* out, int which) {
  int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  store(out, blockIdx.x == 2 && thread == which ? -(1l << 40) : 0);
}
__global__ void good(int* out) { *out = 1; }
__global__ void matrix(int* out) {
  unsigned a = 0, d0, d1;
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f16.f16.f16.f16 {%0,%1,%0,%1},{%2,%2},{%2,%2},{%2,%2,%2,%2};" : "=r"(d0), "=r"(d1) : "r"(a));
  *out = d0 + d1;
}
void say(const char* what, cudaError_t error) { std::printf("%s: %s\n", what, cudaGetErrorName(error)); }
int main(int, char** argv) {
  int* out;
  cudaMallocManaged(&out, 4);
  if (!std::strcmp(argv[1], "wild")) wild<<<1, 1>>>(out);
  if (!std::strcmp(argv[1], "one_of")) one_of<<<4, dim3(8, 4, 2)>>>(out, 5 + 8 * (3 + 4 * 1));
  if (!std::strcmp(argv[1], "asserts")) asserts<<<2, 2>>>(1);
  if (!std::strcmp(argv[1], "traps")) traps<<<1, 1>>>();
  if (!std::strcmp(argv[1], "matrix")) matrix<<<1, 32>>>(out);
  say("launch", cudaGetLastError());
  good<<<1, 1>>>(out);
  say("next launch", cudaGetLastError());
  say("synchronize", cudaDeviceSynchronize());
  return *out;
}
SOURCE
compile faults.cu faults -g
expect 0 mneme run --device cpu -- ./faults wild
contains out "launch: cudaErrorIllegalAddress"
contains out "next launch: cudaErrorIllegalAddress"
contains out "synchronize: cudaErrorIllegalAddress"
contains err "kernel 'wild(int*)', block [0,0,0], thread [0,0,0], faults.cu:4: a write to address 0x"
# Of a kernel without a barrier, whose threads run as one loop, too; with the line of the function that was inlined.
expect 0 mneme run --device cpu -- ./faults one_of
contains err "kernel 'one_of(int*, int)', block [2,0,0], thread [5,3,1], faults.cu:7: a write to address 0x"
expect 0 mneme run --device cpu -- ./faults asserts
contains out "launch: cudaErrorAssert"
contains err "n is nothing"
expect 0 mneme run --device cpu -- ./faults traps
contains out "launch: cudaErrorLaunchFailure"
# A kernel that the CPU device cannot run is refused alone, and by name.
expect 1 mneme run --device cpu -- ./faults matrix
contains out "launch: cudaErrorNotSupported"
contains out "next launch: cudaSuccess"
contains err "kernel matrix(int*) cannot run on the CPU device: "
contains err "mma.sync"

# Symbols, streams, events, graphs and occupancy; compiled for the default stream of each thread, too.
cat >api.cu <<'SOURCE'
#include <cstdio>
#include <cstdlib>
#define CHECK(call) if (cudaError_t e = (call); e != cudaSuccess) { std::printf("%s: %s\n", #call, cudaGetErrorString(e)); std::exit(1); }
__constant__ int factor;
__device__ int launches = 100;
__device__ int* chosen = &launches;
static __global__ void scale(int* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] *= factor;
  if (i == 0) ++*chosen;
}
int main() {
  int n = 1000, three = 3, count = 0, grid = 0, block = 0;
  int *data, *host = new int[n];
  for (int i = 0; i < n; ++i) host[i] = i;
  CHECK(cudaMemcpyToSymbol(factor, &three, sizeof three));
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaMallocAsync(&data, n * sizeof(int), stream));
  CHECK(cudaMemcpyAsync(data, host, n * sizeof(int), cudaMemcpyHostToDevice, stream));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  scale<<<(n + block - 1) / block, block, 0, stream>>>(data, n);
  scale<<<(n + block - 1) / block, block, 0, stream>>>(data, n);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, stream));
  CHECK(cudaMemcpyAsync(host, data, n * sizeof(int), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  scale<<<1, 32>>>(data, 0);
  CHECK(cudaMemcpyFromSymbol(&count, launches, sizeof count));
  CHECK(cudaFreeAsync(data, stream));
  cudaDeviceProp properties;
  CHECK(cudaGetDeviceProperties(&properties, 0));
  std::printf("%d %d %s %d.%d\n", host[999], count, properties.name, properties.major, properties.minor);
}
SOURCE
compile api.cu api
compile api.cu api_per_thread -fgpu-default-stream=per-thread
for program in api api_per_thread; do
  expect 0 mneme run --device cpu -- ./$program
  contains out "8991 103 Mneme CPU device ("
  contains out ") 9.0"
done

# A shared variable that is declared as a device variable too is registered as one, and stays shared.
cat >shared.cu <<'SOURCE'
#include <cstdio>
__device__ __shared__ int tile[64];
__global__ void reverse(int* data) {
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[63 - threadIdx.x];
}
int main() {
  int host[64], *data;
  for (int i = 0; i < 64; ++i) host[i] = i;
  cudaMalloc(&data, sizeof host);
  cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice);
  reverse<<<1, 64>>>(data);
  cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost);
  std::printf("%s %d\n", cudaGetErrorName(cudaGetLastError()), host[3]);
}
SOURCE
compile shared.cu shared
expect 0 mneme run --device cpu -- ./shared
contains out "cudaSuccess 60"

# What was lowered is found again; where nothing can be kept, everything still works.
entries() { find "$1" -regextype posix-extended -regex '.*/[0-9a-f]{32}' -printf '%i %f\n' | sort; }
export XDG_CACHE_HOME=$PWD/cache
unset MNEME_CACHE_DIR
expect 0 mneme run --device cpu -- ./api
[ "$(entries cache/mneme/objects | wc -l)" -eq 1 ] || fail "the cache does not hold one image"
entries cache/mneme/objects >before
expect 0 mneme run --device cpu -- ./api
entries cache/mneme/objects | cmp -s - before || fail "the image was lowered again"
XDG_CACHE_HOME=/proc/nowhere expect 0 mneme run --device cpu -- ./api
contains err "nothing more is kept in the cache of compiled code"

# Programs that cannot run on it.
cuda=$(mneme config cudadir)
"$(mneme config cxx)" -Wno-unknown-cuda-version --cuda-path="$cuda" --offload-arch=sm_90 api.cu -o plain -L"$cuda/lib64" -L"$cuda/lib" -lcudart_static -ldl -lrt -lpthread
expect 2 mneme run --device cpu -- ./plain
contains err "./plain uses CUDA but was not built for Mneme: build it with"
"$(mneme config cxx)" -Wno-unknown-cuda-version --cuda-path="$cuda" --offload-arch=sm_90 api.cu -o half $(mneme config ldflags)
expect 1 mneme run --device cpu -- ./half
contains err "its device image holds no recorded IR: compile the file that defines it with"
if [ "$DEVICES" = cpu ]; then
  expect 2 mneme run --device cuda -- ./api
  expect 0 mneme run -- ./api
  contains err "mneme: no NVIDIA driver: running on the CPU device"
fi
