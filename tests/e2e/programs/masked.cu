// Kernels that write in every way there is; each is launched twice, so that the second launch finds its output as it leaves it.
#include <cstdio>

constexpr int kCount = 1000;

struct Mixed {
  char letter;
  int number;
};

// Does nothing with blocks of another width: what is right only because it was there before.
__global__ void twice(int* out, const int* in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount && blockDim.x == 32) out[i] = 2 * in[i];
}
__global__ void letters(Mixed* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount && blockDim.x == 32) out[i].letter = static_cast<char>(i);
}
__global__ void highest(int* out, const int* in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount && out[i] < in[i]) out[i] = in[i];
}
__global__ void bits(unsigned* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) atomicOr(&out[i / 32], 1u << (i % 32));
}
__global__ void by_assembly(int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef __HIP__  // the CPU device runs none of AMD's that accesses memory
  if (i < kCount) out[i] = i;
#else
  if (i < kCount) asm volatile("st.global.u32 [%0], %1;" ::"l"(out + i), "r"(i) : "memory");
#endif
}

// More of it than the kernel writes.
__device__ int table[kCount + 24];
__device__ int counter;
__global__ void into_table(const int* in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount && blockDim.x == 32) table[i] = in[i] + 1;
}
__global__ void count(const int* in) {
  if (in[threadIdx.x] != 0) atomicMax(&counter, static_cast<int>(threadIdx.x));
}

// Right only when it is optimised, as undefined behaviour can make it: then what read() gives is known.
__device__ __forceinline__ int read(const int* variable) { return *variable; }
__global__ void only_optimised(int* out, const int* in) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int variable = 1, value = read(&variable);
  int* place = __builtin_constant_p(value) ? out + i : reinterpret_cast<int*>(8);
  if (i < kCount) *place = 2 * in[i];
}

int main() {
  int *in, *out;
  if (cudaMalloc(&in, kCount * sizeof(int)) != cudaSuccess || cudaMalloc(&out, kCount * sizeof(Mixed)) != cudaSuccess) return 1;
  cudaMemset(in, 7, kCount * sizeof(int));
  const int blocks = (kCount + 31) / 32;
  const auto clear = [&] { cudaMemset(out, 0, kCount * sizeof(Mixed)); };
  clear();
  for (int i = 0; i < 2; ++i) twice<<<blocks, 32>>>(out, in);
  clear();
  for (int i = 0; i < 2; ++i) letters<<<blocks, 32>>>(reinterpret_cast<Mixed*>(out));
  clear();
  for (int i = 0; i < 2; ++i) highest<<<blocks, 32>>>(out, in);
  clear();
  for (int i = 0; i < 2; ++i) bits<<<blocks, 32>>>(reinterpret_cast<unsigned*>(out));
  clear();
  for (int i = 0; i < 2; ++i) by_assembly<<<blocks, 32>>>(out);
  for (int i = 0; i < 2; ++i) only_optimised<<<blocks, 32>>>(out, in);
  for (int i = 0; i < 2; ++i) into_table<<<blocks, 32>>>(in);
  for (int i = 0; i < 2; ++i) count<<<1, 32>>>(in);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  std::puts("masked: PASS");
  return 0;
}
