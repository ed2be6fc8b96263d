// What CUDA's device libraries make of inline PTX and of the warp's instructions: cooperative groups up to the whole grid, half
// and brain floats, CUB's block algorithms, libcu++'s atomics, and shared memory by its 32-bit addresses. Each kernel's result is
// compared with the host's; the last line says whether all agreed.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cmath>
#include <cstdio>
#include <cub/cub.cuh>
#include <cuda/atomic>
#include <vector>

namespace cg = cooperative_groups;

template <typename T>
class Buffer {
 public:
  explicit Buffer(size_t count, T value = {}) : count_(count) {
    cudaMalloc(&data_, count * sizeof(T));
    put(std::vector<T>(count, value));
  }
  ~Buffer() { cudaFree(data_); }
  void put(const std::vector<T>& values) { cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice); }
  std::vector<T> get() const {
    std::vector<T> values(count_);
    cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost);
    return values;
  }
  T* data() const { return data_; }

 private:
  size_t count_;
  T* data_ = nullptr;
};

int failures = 0;
void report(const char* what, int wrong) {
  cudaError_t error = cudaGetLastError();
  std::printf("%s: %d wrong, %s\n", what, wrong, cudaGetErrorString(error));
  failures += wrong != 0 || error != cudaSuccess;
}

__global__ void tiles(const int* in, int* out) {
  auto block = cg::this_thread_block();
  auto small = cg::tiled_partition<16>(block);
  auto large = cg::tiled_partition<64>(block);
  const int value = in[block.thread_rank()];
  const int sum = cg::reduce(small, value, cg::plus<int>());
  const int prefix = cg::inclusive_scan(small, value);
  const int of_two_warps = cg::reduce(large, value, cg::plus<int>());
  block.sync();
  out[block.thread_rank()] = sum * 1000000 + prefix * 1000 + of_two_warps;
}

void check_tiles() {
  std::vector<int> in(128);
  for (int i = 0; i < 128; ++i) in[i] = i % 7;
  Buffer<int> input(128), output(128);
  input.put(in);
  tiles<<<1, 128>>>(input.data(), output.data());
  const std::vector<int> out = output.get();
  int wrong = 0;
  for (int i = 0; i < 128; ++i) {
    int sum = 0, prefix = 0, of_two_warps = 0;
    for (int j = i / 16 * 16; j < i / 16 * 16 + 16; ++j) sum += in[j], prefix += j <= i ? in[j] : 0;
    for (int j = i / 64 * 64; j < i / 64 * 64 + 64; ++j) of_two_warps += in[j];
    wrong += out[i] != sum * 1000000 + prefix * 1000 + of_two_warps;
  }
  report("tiles", wrong);
}

__global__ void grid_rounds(int* values, int count, int* wrong) {
  auto grid = cg::this_grid();
  const int mine = static_cast<int>(grid.thread_rank());
  const int other = (mine + count / 2 + 1) % count;
  for (int round = 0; round < 5; ++round) {
    values[mine] = round * count + mine;
    grid.sync();
    if (values[other] != round * count + other) atomicAdd(wrong, 1);
    grid.sync();
  }
}

void check_grid() {
  int count = 8 * 64;
  Buffer<int> values(count), wrong(1);
  int* values_data = values.data();
  int* wrong_data = wrong.data();
  void* arguments[] = {&values_data, &count, &wrong_data};
  cudaLaunchCooperativeKernel(reinterpret_cast<void*>(grid_rounds), dim3(8), dim3(64), arguments, 0, nullptr);
  report("grid", wrong.get()[0]);
}

__global__ void halves(const float* in, float* half_sums, float* brains, __half* total) {
  const int i = threadIdx.x;
  const __half2 pair = __floats2half2_rn(in[i], in[i] + 1);
  const __half2 result = __hfma2(pair, pair, __float2half2_rn(0.5f));
  half_sums[i] = __low2float(result) + __high2float(result);
  brains[i] = __bfloat162float(__float2bfloat16(in[i]) * __float2bfloat16(1.5f));
  atomicAdd(total, __float2half(1.0f));
}

void check_halves() {
  std::vector<float> in(64);
  for (int i = 0; i < 64; ++i) in[i] = 0.25f * i;
  Buffer<float> input(64), sums(64), brains(64);
  Buffer<__half> total(1);
  input.put(in);
  halves<<<1, 64>>>(input.data(), sums.data(), brains.data(), total.data());
  const std::vector<float> got_sums = sums.get(), got_brains = brains.get();
  int wrong = __half2float(total.get()[0]) != 64.0f;
  for (int i = 0; i < 64; ++i) {
    const float sum = in[i] * in[i] + 0.5f + (in[i] + 1) * (in[i] + 1) + 0.5f;
    wrong += std::fabs(got_sums[i] - sum) > sum * 0x1p-10f;
    wrong += std::fabs(got_brains[i] - in[i] * 1.5f) > in[i] * 0x1p-7f;
  }
  report("halves", wrong);
}

__global__ void sort_and_scan(const float* in, float* sorted, int* scanned) {
  using Sort = cub::BlockRadixSort<float, 128, 4>;
  using Scan = cub::BlockScan<int, 128>;
  __shared__ union {
    Sort::TempStorage sort;
    Scan::TempStorage scan;
  } storage;
  float keys[4];
  for (int i = 0; i < 4; ++i) keys[i] = in[threadIdx.x * 4 + i];
  Sort(storage.sort).Sort(keys);
  for (int i = 0; i < 4; ++i) sorted[threadIdx.x * 4 + i] = keys[i];
  __syncthreads();
  int value = threadIdx.x;
  Scan(storage.scan).InclusiveSum(value, value);
  scanned[threadIdx.x] = value;
}

void check_sort_and_scan() {
  std::vector<float> in(512);
  for (int i = 0; i < 512; ++i) in[i] = i * 37 % 512 - 200.5f;
  Buffer<float> input(512), sorted(512);
  Buffer<int> scanned(128);
  input.put(in);
  sort_and_scan<<<1, 128>>>(input.data(), sorted.data(), scanned.data());
  const std::vector<float> got_sorted = sorted.get();
  const std::vector<int> got_scanned = scanned.get();
  int wrong = 0;
  for (int i = 0; i < 512; ++i) wrong += got_sorted[i] != i - 200.5f;
  for (int i = 0; i < 128; ++i) wrong += got_scanned[i] != i * (i + 1) / 2;
  report("sort and scan", wrong);
}

__global__ void shared_by_address(int* out) {
  __shared__ int values[64];
  const unsigned mine = static_cast<unsigned>(__cvta_generic_to_shared(&values[threadIdx.x]));
  const unsigned mirrored = static_cast<unsigned>(__cvta_generic_to_shared(&values[63 - threadIdx.x]));
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(mine), "r"(threadIdx.x * 3) : "memory");
  __syncthreads();
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(out[threadIdx.x]) : "r"(mirrored));
}

void check_shared_by_address() {
  Buffer<int> output(64);
  shared_by_address<<<1, 64>>>(output.data());
  const std::vector<int> out = output.get();
  int wrong = 0;
  for (int i = 0; i < 64; ++i) wrong += out[i] != (63 - i) * 3;
  report("shared by address", wrong);
}

// The first thread waits for all others, those of its own warp too.
__global__ void tickets(cuda::atomic<int, cuda::thread_scope_device>* next, int* out) {
  const int ticket = next->fetch_add(1, cuda::memory_order_acq_rel);
  out[ticket] = ticket;
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    while (next->load(cuda::memory_order_acquire) < static_cast<int>(gridDim.x * blockDim.x)) continue;
    out[0] = 777;
  }
}

void check_tickets() {
  cuda::atomic<int, cuda::thread_scope_device>* next = nullptr;
  cudaMalloc(&next, sizeof *next);
  cudaMemset(next, 0, sizeof *next);
  Buffer<int> output(256);
  tickets<<<4, 64>>>(next, output.data());
  const std::vector<int> out = output.get();
  int wrong = 0;
  for (int i = 1; i < 256; ++i) wrong += out[i] != i;
  report("tickets", wrong);
  cudaFree(next);
}

int main() {
  check_tiles();
  check_grid();
  check_halves();
  check_sort_and_scan();
  check_shared_by_address();
  check_tickets();
  std::puts(failures == 0 ? "device libraries: PASS" : "device libraries: FAIL");
  return failures != 0;
}
