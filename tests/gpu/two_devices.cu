// The same kernels on two devices, each with memory of its own; then one device reads the other's memory, as a peer, and does not
// any more. Prints sums. With one device, or where they are no peers, it says so in the place of what it leaves out, and ends
// well.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int kCount = 200'000, kBlock = 256, kBlocks = (kCount + kBlock - 1) / kBlock;

#define CHECK(call)                                              \
  do {                                                           \
    if (cudaError_t error = (call); error != cudaSuccess) {      \
      std::printf("%s: %s\n", #call, cudaGetErrorString(error)); \
      std::exit(1);                                              \
    }                                                            \
  } while (0)

__device__ unsigned launches_here;  // each device has its own

__global__ void fill(unsigned* words, unsigned seed) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0) ++launches_here;
  if (i < kCount) words[i] = seed * (i % 97) + i % 5;
}
__global__ void mix(unsigned* words, const unsigned* others) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) words[i] = 3 * words[i] + others[(i * 7) % kCount];
}
__global__ void take_from_peer(unsigned* words, const unsigned* of_peer) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kCount) words[i] += of_peer[kCount - 1 - i];
}

struct Memory {
  unsigned *words = nullptr, *others = nullptr;
};

void tell(const char* what, int device, const Memory& memory) {
  CHECK(cudaSetDevice(device));
  std::vector<unsigned> host(kCount);
  unsigned launches = 0;
  CHECK(cudaMemcpy(host.data(), memory.words, kCount * sizeof(unsigned), cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpyFromSymbol(&launches, launches_here, sizeof launches));
  unsigned long long sum = 0;
  for (int i = 0; i < kCount; ++i) sum += static_cast<unsigned long long>(host[i]) * (i % 11 + 1);
  std::printf("%s, device %d: %llu, filled %u times\n", what, device, sum, launches);
}

Memory work_on(int device) {
  CHECK(cudaSetDevice(device));
  Memory memory;
  CHECK(cudaMalloc(&memory.words, kCount * sizeof(unsigned)));
  CHECK(cudaMalloc(&memory.others, kCount * sizeof(unsigned)));
  cudaStream_t stream;
  CHECK(cudaStreamCreate(&stream));
  fill<<<kBlocks, kBlock, 0, stream>>>(memory.words, 3 + device);
  fill<<<kBlocks, kBlock, 0, stream>>>(memory.others, 13 + device);
  mix<<<kBlocks, kBlock, 0, stream>>>(memory.words, memory.others);
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaStreamDestroy(stream));
  tell("by itself", device, memory);
  return memory;
}

void as_peers(const Memory& first, const Memory& second) {
  CHECK(cudaMemcpyPeer(first.others, 0, second.words, 1, kCount * sizeof(unsigned)));
  CHECK(cudaSetDevice(0));
  mix<<<kBlocks, kBlock>>>(first.words, first.others);
  tell("with a copy of the other's", 0, first);
  int may = 0;
  CHECK(cudaDeviceCanAccessPeer(&may, 0, 1));
  if (!may) {
    std::puts("device 0 does not reach device 1");
    return;
  }
  CHECK(cudaDeviceEnablePeerAccess(1, 0));
  std::printf("enabled again: %s\n", cudaGetErrorName(cudaDeviceEnablePeerAccess(1, 0)));
  cudaGetLastError();
  take_from_peer<<<kBlocks, kBlock>>>(first.words, second.words);
  CHECK(cudaDeviceSynchronize());
  tell("as a peer", 0, first);
  CHECK(cudaDeviceDisablePeerAccess(1));
  mix<<<kBlocks, kBlock>>>(first.words, first.others);
  tell("as no peer any more", 0, first);
}

}  // namespace

int main() {
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  const Memory first = work_on(0);
  if (devices < 2) {
    std::puts("there is one device");
    return 0;
  }
  const Memory second = work_on(1);
  as_peers(first, second);
  CHECK(cudaSetDevice(1));
  mix<<<kBlocks, kBlock>>>(second.words, second.others);
  tell("at the end", 1, second);
  std::puts("two_devices: PASS");
}
