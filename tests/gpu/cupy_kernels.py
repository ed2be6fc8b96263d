"""A kernel that CuPy compiles at run time, and kernels of its own and of cuBLAS."""

import cupy

square = cupy.RawKernel(
    r"""
extern "C" __global__ void square(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * x[i] + 1;
}
""",
    "square",
)
x = cupy.arange(10000, dtype=cupy.float32)
y = cupy.zeros_like(x)
square((40,), (256,), (x, y, cupy.int32(x.size)))
a = cupy.random.RandomState(0).rand(200, 200)
print(float(y.sum()), float((a @ a).sum()), float(cupy.sort(a.ravel())[100]))
