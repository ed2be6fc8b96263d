// A filter with as many taps as it is told: what bench/recipes.py builds with each of the recipes of
// docs/guide/to-your-program.md.
//
//   filter [ELEMENTS [TAPS [LAUNCHES]]]
//
// Prints the median time of a launch in nanoseconds, by events around each, and a checksum of what was computed. The recipes that
// change the source are chosen by the macros BLOCK, BLOCKS, BOUNDS, RESTRICT and CONSTANT_TAPS; without any it is as it was
// written.
#include <algorithm>
#include <cmath>
#include <vector>

#include "../../examples/check.h"

#ifndef BLOCK
#define BLOCK 256
#endif
#ifndef BOUNDS
#define BOUNDS
#endif
#ifndef RESTRICT
#define RESTRICT
#endif

__device__ void filter_of(int n, int taps, const float* RESTRICT in, const float* RESTRICT weights, float* RESTRICT out) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    float sum = 0;
    for (int tap = 0; tap < taps; ++tap) sum += weights[tap] * in[i + tap];
    out[i] = sum;
  }
}

// out[i] = the sum of weights[t] * in[i + t] over the taps. `in` has n + taps elements.
__global__ void BOUNDS filter(int n, int taps, const float* RESTRICT in, const float* RESTRICT weights, float* RESTRICT out) {
#ifdef CONSTANT_TAPS
  // The value that was found to matter has code of its own; any other takes the code for all.
  if (taps == CONSTANT_TAPS) return filter_of(n, CONSTANT_TAPS, in, weights, out);
#endif
  filter_of(n, taps, in, weights, out);
}

int main(int argc, char** argv) {
  const int n = size_argument(argc, argv, 1, 1 << 20, 1 << 28);
  const int taps = size_argument(argc, argv, 2, 9, 64);
  const int launches = size_argument(argc, argv, 3, 100, 10000);

  std::vector<float> host(n + taps), host_weights(taps);
  for (int i = 0; i < n + taps; ++i) host[i] = static_cast<float>(i % 97) / 97;
  for (int tap = 0; tap < taps; ++tap) host_weights[tap] = 1.0f / static_cast<float>(tap + 1);
  float *in, *weights, *out;
  CHECK(cudaMalloc(&in, sizeof(float) * (n + taps)));
  CHECK(cudaMalloc(&weights, sizeof(float) * taps));
  CHECK(cudaMalloc(&out, sizeof(float) * n));
  CHECK(cudaMemcpy(in, host.data(), sizeof(float) * (n + taps), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(weights, host_weights.data(), sizeof(float) * taps, cudaMemcpyHostToDevice));

#ifdef BLOCKS
  const int blocks = BLOCKS;
#else
  const int blocks = (n + BLOCK - 1) / BLOCK;
#endif
  cudaEvent_t begin, end;
  CHECK(cudaEventCreate(&begin));
  CHECK(cudaEventCreate(&end));
  std::vector<float> milliseconds(launches);
  for (float& each : milliseconds) {
    CHECK(cudaEventRecord(begin, nullptr));
    filter<<<blocks, BLOCK>>>(n, taps, in, weights, out);
    CHECK(cudaEventRecord(end, nullptr));
    CHECK(cudaEventSynchronize(end));
    CHECK(cudaEventElapsedTime(&each, begin, end));
  }
  std::nth_element(milliseconds.begin(), milliseconds.begin() + launches / 2, milliseconds.end());

  std::vector<float> computed(n);
  CHECK(cudaMemcpy(computed.data(), out, sizeof(float) * n, cudaMemcpyDeviceToHost));
  double checksum = 0, wrong = 0;
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int tap = 0; tap < taps; ++tap) sum += host_weights[tap] * host[i + tap];
    wrong += std::fabs(sum - computed[i]) > 1e-5f * (std::fabs(sum) + 1) ? 1 : 0;
    checksum += computed[i];
  }
  std::printf("%.0f ns, checksum %.6g\n", milliseconds[launches / 2] * 1e6, checksum);
  return finish("filter", wrong == 0);
}
