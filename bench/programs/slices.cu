// A program that changes a small part of its memory in each launch: one kernel, which writes a slice, and the next one in the
// next launch.
//
//   slices [MIB [LAUNCHES [SLICES]]]
#include "../../examples/check.h"

__global__ void write_slice(unsigned* data, size_t begin, size_t end, unsigned seed) {
  for (size_t i = begin + blockIdx.x * blockDim.x + threadIdx.x; i < end; i += gridDim.x * blockDim.x)
    data[i] = (static_cast<unsigned>(i) + seed) * 2654435761u >> 12;
}

int main(int argc, char** argv) {
  const size_t mib = size_argument(argc, argv, 1, 64, 1 << 17);
  const int launches = size_argument(argc, argv, 2, 100, 1 << 24);
  const size_t slices = size_argument(argc, argv, 3, 100, 1 << 20);
  const size_t n = (mib << 20) / sizeof(unsigned);
  unsigned* data = nullptr;
  CHECK(cudaMalloc(&data, n * sizeof *data));
  for (int i = 0; i < launches; ++i) {
    const size_t slice = i % slices;
    write_slice<<<128, 256>>>(data, n * slice / slices, n * (slice + 1) / slices, i + 1);
  }
  CHECK(cudaDeviceSynchronize());
  unsigned first = 0;
  CHECK(cudaMemcpy(&first, data, sizeof first, cudaMemcpyDeviceToHost));
  return finish("slices", first != 0);
}
