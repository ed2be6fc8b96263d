// Tensor maps (TMA) in the parameters of a kernel: tiles of a matrix are brought to shared memory by one, scaled there, and
// written to another matrix by a second one. Prints the sum of the result after each launch. On a GPU without them a plain kernel
// does the same.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr int kRows = 512, kColumns = 256, kTile = 32, kThreads = 128;

#define CHECK(call)                                              \
  do {                                                           \
    if (cudaError_t error = (call); error != cudaSuccess) {      \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                              \
    }                                                            \
  } while (0)

__global__ void fill(float* data) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kRows * kColumns) data[i] = static_cast<float>(i % 11);
}

__global__ void scale_plainly(float* out, const float* in, float factor) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kRows * kColumns) out[i] = in[i] * factor + 1;
}

// A block for each tile.
__global__ void scale_tiles(const __grid_constant__ CUtensorMap out, const __grid_constant__ CUtensorMap in, float factor) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  __shared__ alignas(128) float tile[kTile * kTile];
  __shared__ alignas(8) uint64_t arrived;
  const auto tile_at = static_cast<uint32_t>(__cvta_generic_to_shared(tile));
  const auto arrived_at = static_cast<uint32_t>(__cvta_generic_to_shared(&arrived));
  const int x = blockIdx.x * kTile, y = blockIdx.y * kTile;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(arrived_at) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(arrived_at),
                 "r"(static_cast<uint32_t>(sizeof tile))
                 : "memory");
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(tile_at),
        "l"(&in), "r"(x), "r"(y), "r"(arrived_at)
        : "memory");
  }
  uint32_t done = 0;
  while (done == 0)
    asm volatile("{\n.reg .pred p;\nmbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0;\nselp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(arrived_at)
                 : "memory");
  for (int i = threadIdx.x; i < kTile * kTile; i += blockDim.x) tile[i] = tile[i] * factor + 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (threadIdx.x == 0) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&out), "r"(x), "r"(y),
                 "r"(tile_at)
                 : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
  }
#endif
}

CUtensorMap map_of(float* matrix) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 13000
  CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &result));
#else
  CHECK(cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result));
#endif
  CUtensorMap map{};
  const cuuint64_t sizes[] = {kColumns, kRows}, pitches[] = {kColumns * sizeof(float)};
  const cuuint32_t tile[] = {kTile, kTile}, steps[] = {1, 1};
  const CUresult code = reinterpret_cast<decltype(&::cuTensorMapEncodeTiled)>(found)(
      &map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, matrix, sizes, pitches, tile, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
      CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (code == CUDA_SUCCESS) return map;
  std::printf("cuTensorMapEncodeTiled: %d\n", static_cast<int>(code));
  std::exit(1);
}

}  // namespace

int main() {
  constexpr size_t kBytes = sizeof(float) * kRows * kColumns;
  constexpr int kBlocks = kRows * kColumns / kThreads;
  float *in, *out;
  CHECK(cudaMalloc(&in, kBytes));
  CHECK(cudaMalloc(&out, kBytes));
  fill<<<kBlocks, kThreads>>>(in);
  int major = 0;
  CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  static float host[kRows * kColumns];
  for (int round = 0; round < 3; ++round) {
    const float factor = 0.5f * static_cast<float>(round + 1);
    if (major >= 9)
      scale_tiles<<<dim3(kColumns / kTile, kRows / kTile), kThreads>>>(map_of(out), map_of(in), factor);
    else
      scale_plainly<<<kBlocks, kThreads>>>(out, in, factor);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(host, out, kBytes, cudaMemcpyDeviceToHost));
    double sum = 0;
    for (float value : host) sum += value;
    std::printf("%.1f\n", sum);
  }
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  return 0;
}
