// A texture of an array, a surface of another, a texture of memory, and a struct of handles in memory.
#include <cstdio>

struct Handles {
  cudaTextureObject_t texture;
  cudaSurfaceObject_t surface;
};

__global__ void smooth(cudaTextureObject_t from, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = tex2D<float>(from, i % 64 + 1.0f, i / 64 + 0.5f);
}
__global__ void gather(cudaTextureObject_t from, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = 2 * tex1Dfetch<float>(from, n - 1 - i);
}
__global__ void add_one(cudaSurfaceObject_t image) {
  int x = threadIdx.x * int(sizeof(float)), y = blockIdx.x;
  surf2Dwrite<float>(surf2Dread<float>(image, x, y) + 1, image, x, y);
}
__global__ void by_struct(const Handles* handles) {
  float v = tex2D<float>(handles->texture, threadIdx.x + 0.5f, blockIdx.x + 0.5f);
  surf2Dwrite<float>(3 * v, handles->surface, threadIdx.x * int(sizeof(float)), blockIdx.x);
}

int main() {
  const int width = 64, height = 64, n = width * height;
  const size_t row = width * sizeof(float);
  static float host[n], back[n];
  for (int i = 0; i < n; ++i) host[i] = float(i);
  const auto floats = cudaCreateChannelDesc<float>();
  cudaArray_t source, image;
  float* out;
  Handles* handles;
  if (cudaMallocArray(&source, &floats, width, height) ||
      cudaMallocArray(&image, &floats, width, height, cudaArraySurfaceLoadStore) || cudaMalloc(&out, n * sizeof(float)) ||
      cudaMalloc(&handles, sizeof(Handles)))
    return 1;
  if (cudaMemcpy2DToArray(source, 0, 0, host, row, row, height, cudaMemcpyHostToDevice) ||
      cudaMemcpy2DToArray(image, 0, 0, host, row, row, height, cudaMemcpyHostToDevice))
    return 2;
  cudaResourceDesc of_source{}, of_image{}, of_memory{};
  of_source.resType = of_image.resType = cudaResourceTypeArray;
  of_source.res.array.array = source;
  of_image.res.array.array = image;
  of_memory.resType = cudaResourceTypeLinear;
  of_memory.res.linear.devPtr = out;
  of_memory.res.linear.desc = floats;
  of_memory.res.linear.sizeInBytes = n * sizeof(float);
  cudaTextureDesc linear{}, point{};
  linear.addressMode[0] = linear.addressMode[1] = point.addressMode[0] = point.addressMode[1] = cudaAddressModeClamp;
  linear.filterMode = cudaFilterModeLinear;
  Handles made{};
  cudaTextureObject_t smoothed, memory;
  if (cudaCreateTextureObject(&smoothed, &of_source, &linear, nullptr) ||
      cudaCreateTextureObject(&memory, &of_memory, &point, nullptr) ||
      cudaCreateTextureObject(&made.texture, &of_source, &point, nullptr) || cudaCreateSurfaceObject(&made.surface, &of_image))
    return 3;
  if (cudaMemcpy(handles, &made, sizeof made, cudaMemcpyHostToDevice)) return 4;
  bool right = true;
  smooth<<<n / 256, 256>>>(smoothed, out, n);
  if (cudaMemcpy(back, out, sizeof back, cudaMemcpyDeviceToHost)) return 5;
  right &= back[0] == 0.5f && back[62] == 62.5f && back[63] == 63;
  float* twice;
  if (cudaMalloc(&twice, n * sizeof(float))) return 6;
  gather<<<n / 256, 256>>>(memory, twice, n);
  if (cudaMemcpy(back, twice, sizeof back, cudaMemcpyDeviceToHost)) return 7;
  right &= back[n - 1] == 1;
  add_one<<<height, width>>>(made.surface);
  if (cudaMemcpy2DFromArray(back, row, image, 0, 0, row, height, cudaMemcpyDeviceToHost)) return 8;
  right &= back[0] == 1 && back[n - 1] == n;
  by_struct<<<height, width>>>(handles);
  if (cudaMemcpy2DFromArray(back, row, image, 0, 0, row, height, cudaMemcpyDeviceToHost)) return 9;
  right &= back[n - 1] == 3 * (n - 1);
  std::printf("textures: %s\n", right ? "PASS" : "FAIL");
  return !right;
}
