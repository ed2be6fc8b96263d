// A weighted sum of integers: the weights stand in constant memory, filled by the host; warps add up by shuffles.
//
//   reduction [ELEMENTS [REPEATS]]
#include <cstdint>
#include <vector>

#include "../check.h"

constexpr int kWeights = 256;
constexpr int kBlock = 256;
__constant__ uint32_t weights[kWeights];
__device__ unsigned int blocks_done;

__device__ uint64_t warp_sum(uint64_t value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffu, value, distance);
  return value;
}

// Each block adds its part to *total; the last one to finish is counted by blocks_done.
__global__ void weighted_sum(const uint32_t* values, int n, unsigned long long* total) {
  __shared__ uint64_t of_warp[32];
  uint64_t sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += uint64_t{values[i]} * weights[i % kWeights];
  sum = warp_sum(sum);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  if (lane == 0) of_warp[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    const int warps = (blockDim.x + 31) / 32;
    sum = warp_sum(lane < warps ? of_warp[lane] : 0);
    if (lane == 0) {
      atomicAdd(total, static_cast<unsigned long long>(sum));
      atomicAdd(&blocks_done, 1u);
    }
  }
}

int main(int argc, char** argv) {
  const int n = size_argument(argc, argv, 1, 50000, 1 << 30);
  const int repeats = size_argument(argc, argv, 2, 1, 1 << 20);
  std::vector<uint32_t> values(n), table(kWeights);
  for (int i = 0; i < n; ++i) values[i] = static_cast<uint32_t>((i * 2654435761ull) % 1000);
  for (int i = 0; i < kWeights; ++i) table[i] = static_cast<uint32_t>(i * i % 257);
  uint64_t expected = 0;
  for (int i = 0; i < n; ++i) expected += uint64_t{values[i]} * table[i % kWeights];

  uint32_t* device_values;
  unsigned long long* device_total;
  CHECK(cudaMalloc(&device_values, sizeof(uint32_t) * static_cast<size_t>(n)));
  CHECK(cudaMalloc(&device_total, sizeof(unsigned long long)));
  CHECK(cudaMemcpy(device_values, values.data(), sizeof(uint32_t) * static_cast<size_t>(n), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyToSymbol(weights, table.data(), sizeof(uint32_t) * kWeights));
  const int blocks = (n + kBlock - 1) / kBlock < 256 ? (n + kBlock - 1) / kBlock : 256;
  for (int i = 0; i < repeats; ++i) {
    CHECK(cudaMemset(device_total, 0, sizeof(unsigned long long)));
    weighted_sum<<<blocks, kBlock>>>(device_values, n, device_total);
  }
  CHECK(cudaGetLastError());
  unsigned long long total = 0;
  unsigned int done = 0;
  CHECK(cudaMemcpy(&total, device_total, sizeof total, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpyFromSymbol(&done, blocks_done, sizeof done));
  CHECK(cudaFree(device_values));
  CHECK(cudaFree(device_total));

  std::printf("reduction: %d elements, total %llu, expected %llu, %u blocks\n", n, total,
              static_cast<unsigned long long>(expected), done);
  return finish("reduction", total == expected && done == static_cast<unsigned>(blocks) * static_cast<unsigned>(repeats));
}
