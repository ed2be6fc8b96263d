"""Heat that spreads over a plate, in CuPy: a kernel from source, kernels that CuPy makes of expressions, a reduction and a transform."""

import cupy

spread = cupy.RawKernel(
    r"""
extern "C" __global__ void spread(const float* now, float* next, int width, int height, float share) {
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x <= 0 || y <= 0 || x >= width - 1 || y >= height - 1) return;
  int i = y * width + x;
  next[i] = now[i] + share * (now[i - 1] + now[i + 1] + now[i - width] + now[i + width] - 4 * now[i]);
}
""",
    "spread",
)
damp = cupy.ElementwiseKernel("float32 x, float32 most", "float32 y", "y = x < most ? x : most + 0.5f * (x - most)", "damp")
energy = cupy.ReductionKernel("float32 x", "float32 y", "x * x", "a + b", "y = a", "0", "energy")

width, height = 512, 384
now = cupy.random.RandomState(0).rand(height, width).astype(cupy.float32)
then = now.copy()
for _ in range(20):
    spread((width // 32, height // 8), (32, 8), (now, then, cupy.int32(width), cupy.int32(height), cupy.float32(0.2)))
    now, then = damp(then, cupy.float32(0.75)), now
tones = abs(cupy.fft.rfft2(now))
print(f"energy {float(energy(now)):.4f}, tones {float(tones.max()):.2f} {float(cupy.median(now)):.6f}")
