// Heat flow on a square plate: a five-point stencil whose tiles, with a rim, stand in dynamic shared memory.
//
//   stencil [WIDTH [STEPS]]
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "../check.h"

constexpr int kTile = 16;
constexpr float kRate = 0.2f;

// One step from `in` to `out`; the plate's edge keeps its temperature. Shared memory: (block.x + 2) * (block.y + 2) floats.
__global__ void step(const float* in, float* out, int width) {
  extern __shared__ float tile[];
  const int row = static_cast<int>(blockDim.x) + 2;
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  const auto at = [&](int column, int line) {
    const int c = min(max(column, 0), width - 1), l = min(max(line, 0), width - 1);
    return in[static_cast<size_t>(l) * width + c];
  };
  float* here = &tile[(threadIdx.y + 1) * row + threadIdx.x + 1];
  *here = at(x, y);
  if (threadIdx.x == 0) here[-1] = at(x - 1, y);
  if (threadIdx.x == blockDim.x - 1) here[1] = at(x + 1, y);
  if (threadIdx.y == 0) here[-row] = at(x, y - 1);
  if (threadIdx.y == blockDim.y - 1) here[row] = at(x, y + 1);
  __syncthreads();
  if (x >= width || y >= width) return;
  const bool edge = x == 0 || y == 0 || x == width - 1 || y == width - 1;
  const float around = here[-1] + here[1] + here[-row] + here[row];
  out[static_cast<size_t>(y) * width + x] = edge ? *here : *here + kRate * (around - 4.0f * *here);
}

static void step_on_host(const std::vector<float>& in, std::vector<float>& out, int width) {
  out = in;
  for (int y = 1; y < width - 1; ++y) {
    for (int x = 1; x < width - 1; ++x) {
      const size_t i = static_cast<size_t>(y) * width + x;
      out[i] = in[i] + kRate * (in[i - 1] + in[i + 1] + in[i - width] + in[i + width] - 4.0f * in[i]);
    }
  }
}

int main(int argc, char** argv) {
  const int width = size_argument(argc, argv, 1, 120, 1 << 15);
  const int steps = size_argument(argc, argv, 2, 10, 1 << 20);
  const size_t cells = static_cast<size_t>(width) * width;
  std::vector<float> plate(cells, 20.0f), result(cells), scratch;
  for (int i = 0; i < width; ++i) plate[i] = 100.0f;
  plate[cells / 2] = 500.0f;

  float *from, *to;
  CHECK(cudaMalloc(&from, sizeof(float) * cells));
  CHECK(cudaMalloc(&to, sizeof(float) * cells));
  CHECK(cudaMemcpy(from, plate.data(), sizeof(float) * cells, cudaMemcpyHostToDevice));
  const dim3 block(kTile, kTile), grid((width + kTile - 1) / kTile, (width + kTile - 1) / kTile);
  for (int i = 0; i < steps; ++i) {
    step<<<grid, block, sizeof(float) * (kTile + 2) * (kTile + 2)>>>(from, to, width);
    std::swap(from, to);
  }
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(result.data(), from, sizeof(float) * cells, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(from));
  CHECK(cudaFree(to));

  // The host checks at most 64 steps; a longer run is checked for being within the range that heat flow cannot leave.
  float worst = 0;
  if (steps <= 64) {
    for (int i = 0; i < steps; ++i) {
      step_on_host(plate, scratch, width);
      std::swap(plate, scratch);
    }
    for (size_t i = 0; i < cells; ++i) worst = std::max(worst, std::fabs(result[i] - plate[i]));
  }
  double heat = 0;
  bool in_range = true;
  for (float value : result) {
    heat += value;
    in_range = in_range && value >= 19.99f && value <= 500.01f;
  }
  std::printf("stencil: %d x %d, %d steps, mean temperature %.4f\n", width, width, steps, heat / static_cast<double>(cells));
  return finish("stencil", in_range && worst < 1e-3f);
}
