// Variables of all kinds in one kernel: constants, of the device, static and managed ones, which the host changes between
// launches by copies to their symbols, and the managed ones as its own memory. Prints what came out.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

struct Shape {
  int step;
  float scales[3];
};

__constant__ float weights[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__constant__ Shape shape = {1, {0.5f, 0.25f, 2}};
__device__ float table[64];
__device__ double2 pair;
static __device__ unsigned calls;
__managed__ int counted = 5;
__managed__ float limits[4] = {40, 50, 60, 70};

__global__ void mix(float* data, const float* other, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float* of_two = i % 2 == 0 ? weights : table;  // reached by one pointer
  const float sum = data[i] * shape.scales[i % 3] + weights[(i + shape.step) % 8] + weights[3] + of_two[i % 8] + sinf(other[i]);
  data[i] = sum < limits[i % 4] ? sum : limits[i % 4];
  atomicAdd(&calls, 1);
  if (i == 0) {
    counted += shape.step;
    pair = make_double2(pair.x + 1, n);
  }
  if (i < 8) table[i + 8] = data[i];
}

__global__ void report(unsigned* out) { *out = calls; }

static void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(code));
  std::exit(1);
}
#define CHECK(call) check(call, #call)

constexpr int kCount = 4096;

int main() {
  float *data, *other;
  std::vector<float> numbers(kCount);
  for (int i = 0; i < kCount; ++i) numbers[i] = static_cast<float>(i % 64) / 8;
  CHECK(cudaMalloc(&data, kCount * sizeof(float)));
  CHECK(cudaMalloc(&other, kCount * sizeof(float)));
  CHECK(cudaMemset(data, 0, kCount * sizeof(float)));
  CHECK(cudaMemcpy(other, numbers.data(), kCount * sizeof(float), cudaMemcpyHostToDevice));
  for (int round = 1; round <= 6; ++round) {
    mix<<<kCount / 128, 128>>>(data, other, kCount);
    CHECK(cudaDeviceSynchronize());
    const Shape changed = {round, {0.25f * static_cast<float>(round), 0.5f, 1}};
    float of_host[8];
    for (int i = 0; i < 8; ++i) of_host[i] = static_cast<float>((i * round) % 5);
    CHECK(cudaMemcpyToSymbol(shape, &changed, sizeof changed));
    CHECK(cudaMemcpyToSymbol(weights, of_host, sizeof of_host));
    CHECK(cudaMemcpyToSymbol(table, of_host, sizeof of_host));
    limits[round % 4] += static_cast<float>(round);
    counted += 100;
    std::vector<float> host(kCount);
    CHECK(cudaMemcpy(host.data(), data, kCount * sizeof(float), cudaMemcpyDeviceToHost));
    double sum = 0;
    for (int i = 0; i < kCount; ++i) sum += static_cast<double>(host[i]) * (i % 17 + 1);
    double2 of_pair;
    CHECK(cudaMemcpyFromSymbol(&of_pair, pair, sizeof of_pair));
    std::printf("round %d: %.3f, counted %d, pair %g %g\n", round, sum, counted, of_pair.x, of_pair.y);
  }
  unsigned *count, of_device = 0;
  CHECK(cudaMalloc(&count, sizeof of_device));
  report<<<1, 1>>>(count);
  CHECK(cudaMemcpy(&of_device, count, sizeof of_device, cudaMemcpyDeviceToHost));
  std::printf("calls %u\n", of_device);
  std::printf("variables: PASS\n");
  return 0;
}
