// A conjugate-gradient solver.
//
// The host assembles the stiffness matrix of -div(grad u) + u = f on a cube, with one trilinear element for each of CELLS^3
// cells (27 entries a row inside). The device solves; the host checks the residual with its own matrix.
//
//   cg [CELLS [MAX_ITERATIONS [csr|ellpack]]]
//
// The matrix is held in CSR format, or in ELLPACK, which GPUs read faster; the solution is the same to the bit.
// Sums are taken in segments of fixed length, one warp each, so that a result does not depend on the block size.
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "../check.h"
#include "assembly.h"

constexpr int kBlock = 256;
constexpr int kSegment = 1024;  // elements that one warp adds up

__device__ double warp_sum(double value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_down_sync(0xffffffffu, value, distance);
  return value;
}

// y = A x, one row a thread.
__global__ void matvec(int rows, const int* row_begin, const int* columns, const double* values, const double* x, double* y) {
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
    double sum = 0;
    for (int i = row_begin[row]; i < row_begin[row + 1]; ++i) sum += values[i] * x[columns[i]];
    y[row] = sum;
  }
}

// The same for ELLPACK, whose padding adds zeros.
__global__ void matvec_ellpack(int rows, int width, const int* columns, const double* values, const double* x, double* y) {
  for (int row = blockIdx.x * blockDim.x + threadIdx.x; row < rows; row += gridDim.x * blockDim.x) {
    double sum = 0;
    for (int k = 0; k < width; ++k) {
      const size_t place = static_cast<size_t>(k) * rows + row;
      sum += values[place] * x[columns[place]];
    }
    y[row] = sum;
  }
}

// partial[s] = the sum of a[i] * b[i] over segment s. Blocks are whole warps.
__global__ void dot_segments(int n, const double* a, const double* b, double* partial) {
  const int segments = (n + kSegment - 1) / kSegment;
  const int warps = gridDim.x * (blockDim.x / 32), lane = threadIdx.x % 32;
  for (int segment = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; segment < segments; segment += warps) {
    const int end = min((segment + 1) * kSegment, n);
    double sum = 0;
    for (int i = segment * kSegment + lane; i < end; i += 32) sum += a[i] * b[i];
    sum = warp_sum(sum);
    if (lane == 0) partial[segment] = sum;
  }
}

// *result = the sum of partial[0, count), by the first warp.
__global__ void dot_finish(int count, const double* partial, double* result) {
  if (threadIdx.x >= 32) return;
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += 32) sum += partial[i];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) *result = sum;
}

// y += sign * (*over / *under) * x
__global__ void axpy(int n, double sign, const double* over, const double* under, const double* x, double* y) {
  const double factor = sign * *over / *under;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] += factor * x[i];
}

// y = x + (*over / *under) * y
__global__ void xpay(int n, const double* over, const double* under, const double* x, double* y) {
  const double factor = *over / *under;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = x[i] + factor * y[i];
}

template <typename T>
T* to_device(const std::vector<T>& host) {
  T* device;
  CHECK(cudaMalloc(&device, sizeof(T) * host.size()));
  CHECK(cudaMemcpy(device, host.data(), sizeof(T) * host.size(), cudaMemcpyHostToDevice));
  return device;
}

int main(int argc, char** argv) {
  const int cells = size_argument(argc, argv, 1, 12, 400);
  const int most_iterations = size_argument(argc, argv, 2, 200, 1 << 20);
  const std::string format = argc > 3 ? argv[3] : "csr";
  if (format != "csr" && format != "ellpack") {
    std::fprintf(stderr, "%s: argument 3 is '%s' and should be csr or ellpack\n", argv[0], argv[3]);
    return 64;
  }
  const CsrMatrix matrix = assemble(cells);
  const EllpackMatrix padded = format == "ellpack" ? to_ellpack(matrix) : EllpackMatrix();
  const int n = matrix.rows;
  const std::vector<double> source = right_hand_side(matrix, cells);

  const bool csr = format == "csr";
  int* row_begin = csr ? to_device(matrix.row_begin) : nullptr;
  int* columns = to_device(csr ? matrix.columns : padded.columns);
  double* values = to_device(csr ? matrix.values : padded.values);
  double* x = to_device(std::vector<double>(n, 0.0));
  double* residual = to_device(source);
  double* direction = to_device(source);
  double* product = to_device(std::vector<double>(n, 0.0));
  const int segments = (n + kSegment - 1) / kSegment;
  double* partial = to_device(std::vector<double>(segments, 0.0));
  double* scalars = to_device(std::vector<double>(3, 0.0));  // residual's square before and after, direction * product
  double *before = scalars, *after = scalars + 1, *curvature = scalars + 2;

  const int blocks = (n + kBlock - 1) / kBlock < 1024 ? (n + kBlock - 1) / kBlock : 1024;
  const auto dot = [&](const double* a, const double* b, double* result) {
    const int dot_blocks = (segments + kBlock / 32 - 1) / (kBlock / 32);
    dot_segments<<<dot_blocks, kBlock>>>(n, a, b, partial);
    dot_finish<<<1, kBlock>>>(segments, partial, result);
  };

  dot(residual, residual, before);
  double first = 0, square = 0;
  CHECK(cudaMemcpy(&first, before, sizeof(double), cudaMemcpyDeviceToHost));
  int iterations = 0;
  for (square = first; iterations < most_iterations && square > 1e-20 * first; ++iterations) {
    if (csr)
      matvec<<<blocks, kBlock>>>(n, row_begin, columns, values, direction, product);
    else
      matvec_ellpack<<<blocks, kBlock>>>(n, padded.width, columns, values, direction, product);
    dot(direction, product, curvature);
    axpy<<<blocks, kBlock>>>(n, 1.0, before, curvature, direction, x);
    axpy<<<blocks, kBlock>>>(n, -1.0, before, curvature, product, residual);
    dot(residual, residual, after);
    xpay<<<blocks, kBlock>>>(n, after, before, residual, direction);
    CHECK(cudaMemcpy(&square, after, sizeof(double), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(before, after, sizeof(double), cudaMemcpyDeviceToDevice));
  }
  CHECK(cudaGetLastError());
  std::vector<double> solution(n);
  CHECK(cudaMemcpy(solution.data(), x, sizeof(double) * n, cudaMemcpyDeviceToHost));
  for (void* pointer : {static_cast<void*>(row_begin), static_cast<void*>(columns), static_cast<void*>(values),
                        static_cast<void*>(x), static_cast<void*>(residual), static_cast<void*>(direction),
                        static_cast<void*>(product), static_cast<void*>(partial), static_cast<void*>(scalars)}) {
    CHECK(cudaFree(pointer));
  }

  const double relative = relative_residual(matrix, solution, source);
  const bool converged = square <= 1e-20 * first;
  std::printf("cg: %d unknowns, %zu entries, %d iterations, u at the centre %.6f, residual %s 1e-8\n", n, matrix.values.size(),
              iterations, solution[n / 2], relative < 1e-8 ? "below" : "above");
  return finish("cg", converged && relative < 1e-8);
}
