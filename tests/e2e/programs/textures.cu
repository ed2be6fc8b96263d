// Fetches of textures of every shape and kind of memory, and surfaces, compared with what is right; as CUDA and as HIP (as_hip).
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>
#define CHECK(call)                                           \
  do {                                                        \
    cudaError_t code = (call);                                \
    if (code != cudaSuccess) {                                \
      std::printf("%s: %s\n", #call, cudaGetErrorName(code)); \
      std::exit(1);                                           \
    }                                                         \
  } while (0)
#ifdef __HIP_PLATFORM_AMD__
constexpr int kFirstComponent = 1;  // the headers count so
#else
constexpr int kFirstComponent = 0;
#endif
int wrong = 0;
void expect(const char* what, const std::vector<float>& got, const std::vector<float>& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i)
    if (std::fabs(got[i] - wanted[i]) > 1e-5f) std::printf("%s %zu: %g, not %g\n", what, i, got[i], wanted[i]), ++wrong;
}
struct Output {
  float* device;
  int count;
  explicit Output(int count) : count(count) { CHECK(cudaMalloc(&device, count * sizeof(float))); }
  std::vector<float> read() {
    std::vector<float> host(count);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy(host.data(), device, count * sizeof(float), cudaMemcpyDeviceToHost));
    return host;
  }
};
cudaResourceDesc of_array(cudaArray_t array) {
  cudaResourceDesc resource{};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  return resource;
}
cudaTextureObject_t make(const cudaResourceDesc& resource, cudaTextureAddressMode address, cudaTextureFilterMode filter,
                         bool normalized, cudaTextureReadMode read = cudaReadModeElementType) {
  cudaTextureDesc description{};
  for (auto& mode : description.addressMode) mode = address;
  description.filterMode = filter;
  description.normalizedCoords = normalized;
  description.readMode = read;
  description.maxMipmapLevelClamp = 10;
  cudaTextureObject_t texture;
  CHECK(cudaCreateTextureObject(&texture, &resource, &description, nullptr));
  return texture;
}
void fill(cudaArray_t array, const std::vector<float>& from, cudaExtent extent) {
  cudaMemcpy3DParms copy{};
  copy.srcPtr = make_cudaPitchedPtr(const_cast<float*>(from.data()), extent.width * sizeof(float), extent.width, extent.height);
  copy.dstArray = array;
  copy.extent = extent;
  copy.kind = cudaMemcpyHostToDevice;
  CHECK(cudaMemcpy3D(&copy));
}

__global__ void fetch_1d(cudaTextureObject_t t, float* out) { out[threadIdx.x] = tex1Dfetch<float>(t, int(threadIdx.x) - 1); }
__global__ void fetch_bytes(cudaTextureObject_t t, float* out) {
  uchar4 v = tex1Dfetch<uchar4>(t, threadIdx.x);
  out[threadIdx.x] = v.x + 2 * v.y + 3 * v.z + 4 * v.w;
}
__global__ void fetch_shares(cudaTextureObject_t t, float* out) {
  float4 v = tex1Dfetch<float4>(t, threadIdx.x);
  out[threadIdx.x] = v.x + v.w;
}
__global__ void rows(cudaTextureObject_t t, float* out, float step) {
  out[threadIdx.x] = tex1D<float>(t, step * (threadIdx.x + 0.5f));
}
__global__ void plane(cudaTextureObject_t t, float* out, float x, float y) {
  out[threadIdx.x] = tex2D<float>(t, x + threadIdx.x, y);
}
__global__ void volume(cudaTextureObject_t t, float* out) { out[threadIdx.x] = tex3D<float>(t, 1.0f, 1.5f, threadIdx.x + 0.5f); }
__global__ void layers(cudaTextureObject_t t, float* out) { out[threadIdx.x] = tex2DLayered<float>(t, 1.5f, 0.5f, threadIdx.x); }
__global__ void faces(cudaTextureObject_t t, float* out) {
  float3 d = make_float3(0, 0, 0);
  float sign = threadIdx.x % 2 == 0 ? 1 : -1;
  (threadIdx.x / 2 == 0 ? d.x : threadIdx.x / 2 == 1 ? d.y : d.z) = sign;
  out[threadIdx.x] = texCubemap<float>(t, d.x, d.y, d.z);
}
__global__ void gather(cudaTextureObject_t t, float* out) {
  float4 v = tex2Dgather<float4>(t, 2.0f, 1.0f, kFirstComponent);
  out[0] = v.x, out[1] = v.y, out[2] = v.z, out[3] = v.w;
}
__global__ void levels(cudaTextureObject_t t, float* out) { out[threadIdx.x] = tex2DLod<float>(t, 0.5f, 0.5f, threadIdx.x); }
__global__ void twice(cudaSurfaceObject_t s, cudaSurfaceBoundaryMode mode, int n) {
  int x = (int(threadIdx.x) - 1) * int(sizeof(float));
  float v;
  surf2Dread(&v, s, x, 1, cudaBoundaryModeZero);
  if (mode == cudaBoundaryModeZero) surf2Dwrite<float>(2 * v, s, x, 1, cudaBoundaryModeZero);
  if (mode == cudaBoundaryModeTrap) surf2Dwrite<float>(2 * v, s, x, 1);
}
struct Handles {
  cudaTextureObject_t texture;
  cudaSurfaceObject_t surface;
};
__global__ void by_struct(const Handles* handles) {
  float v = tex2D<float>(handles->texture, threadIdx.x + 0.5f, 0.5f);
  surf2Dwrite<float>(v + 1, handles->surface, threadIdx.x * int(sizeof(float)), 3);
}
__global__ void halve(cudaTextureObject_t from, cudaSurfaceObject_t to) {
  float v = tex2D<float>(from, 2 * threadIdx.x + 0.5f, 0.5f) + tex2D<float>(from, 2 * threadIdx.x + 1.5f, 0.5f);
  surf2Dwrite<float>(v + 1 + threadIdx.x, to, threadIdx.x * int(sizeof(float)), 0);
}

int main(int argc, char** argv) {
  const auto f1 = cudaCreateChannelDesc<float>();
  std::vector<float> v(4 * 4 * 6);
  for (size_t i = 0; i < v.size(); ++i) v[i] = i % 4 + 10 * (i / 4 % 4) + 100 * (i / 16);
  if (argc > 1) {  // what ends a launch
    Output out(8);
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &f1, 4, 4, cudaArraySurfaceLoadStore));
    cudaResourceDesc resource = of_array(array);
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    if (!std::strcmp(argv[1], "beyond")) twice<<<1, 8>>>(surface, cudaBoundaryModeTrap, 4);
    if (!std::strcmp(argv[1], "nothing")) rows<<<1, 4>>>((cudaTextureObject_t)12345, out.device, 1);
    if (!std::strcmp(argv[1], "surface")) rows<<<1, 4>>>((cudaTextureObject_t)surface, out.device, 1);
    std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
    return 0;
  }
  {
    float* memory;
    CHECK(cudaMalloc(&memory, 16));
    CHECK(cudaMemcpy(memory, v.data(), 16, cudaMemcpyHostToDevice));
    cudaResourceDesc linear{};
    linear.resType = cudaResourceTypeLinear;
    linear.res.linear.devPtr = memory;
    linear.res.linear.desc = f1;
    linear.res.linear.sizeInBytes = 16;
    Output out(6);
    fetch_1d<<<1, 6>>>(make(linear, cudaAddressModeClamp, cudaFilterModePoint, false), out.device);
    expect("linear memory", out.read(), {0, 0, 1, 2, 3, 0});
    const unsigned char bytes[] = {1, 2, 3, 4, 255, 0, 0, 51};
    CHECK(cudaMemcpy(memory, bytes, 8, cudaMemcpyHostToDevice));
    linear.res.linear.desc = cudaCreateChannelDesc(8, 8, 8, 8, cudaChannelFormatKindUnsigned);  // signed of uchar4 in ROCm 5.2
    linear.res.linear.sizeInBytes = 8;
    fetch_bytes<<<1, 2>>>(make(linear, cudaAddressModeClamp, cudaFilterModePoint, false), out.device);
    expect("bytes", out.read(), {30, 459});
    fetch_shares<<<1, 2>>>(make(linear, cudaAddressModeClamp, cudaFilterModePoint, false, cudaReadModeNormalizedFloat),
                           out.device);
    expect("shares", out.read(), {5 / 255.0f, 1.2f});
    float* pitched;
    size_t pitch;
    CHECK(cudaMallocPitch((void**)&pitched, &pitch, 16, 4));
    CHECK(cudaMemcpy2D(pitched, pitch, v.data(), 16, 16, 4, cudaMemcpyHostToDevice));
    cudaResourceDesc rectangle{};
    rectangle.resType = cudaResourceTypePitch2D;
    rectangle.res.pitch2D.devPtr = pitched;
    rectangle.res.pitch2D.desc = f1;
    rectangle.res.pitch2D.width = rectangle.res.pitch2D.height = 4;
    rectangle.res.pitch2D.pitchInBytes = pitch;
    plane<<<1, 4>>>(make(rectangle, cudaAddressModeClamp, cudaFilterModeLinear, false), out.device, 1, 3);
    expect("pitched memory", out.read(), {25.5, 26.5, 27.5, 28});
  }
  {
    cudaArray_t row, square;
    CHECK(cudaMallocArray(&row, &f1, 4, 0, 0));
    CHECK(cudaMemcpy2DToArray(row, 0, 0, v.data(), 16, 16, 1, cudaMemcpyHostToDevice));
    Output out(8);
    rows<<<1, 8>>>(make(of_array(row), cudaAddressModeWrap, cudaFilterModePoint, true), out.device, 0.25f);
    expect("wrap", out.read(), {0, 1, 2, 3, 0, 1, 2, 3});
    rows<<<1, 8>>>(make(of_array(row), cudaAddressModeMirror, cudaFilterModePoint, true), out.device, 0.25f);
    expect("mirror", out.read(), {0, 1, 2, 3, 3, 2, 1, 0});
    rows<<<1, 8>>>(make(of_array(row), cudaAddressModeBorder, cudaFilterModePoint, false), out.device, 1);
    expect("border", out.read(), {0, 1, 2, 3, 0, 0, 0, 0});
    CHECK(cudaMallocArray(&square, &f1, 4, 4, cudaArrayTextureGather | cudaArraySurfaceLoadStore));
    CHECK(cudaMemcpy2DToArray(square, 0, 0, v.data(), 16, 16, 4, cudaMemcpyHostToDevice));
    plane<<<1, 4>>>(make(of_array(square), cudaAddressModeClamp, cudaFilterModeLinear, false), out.device, 0.75f, 2.25f);
    expect("linear filter", out.read(), {17.75, 18.75, 19.75, 20.5});
    gather<<<1, 1>>>(make(of_array(square), cudaAddressModeClamp, cudaFilterModePoint, false), out.device);
    expect("gather", out.read(), {11, 12, 2, 1});
    cudaResourceDesc resource = of_array(square);
    cudaSurfaceObject_t surface;
    CHECK(cudaCreateSurfaceObject(&surface, &resource));
    twice<<<1, 8>>>(surface, cudaBoundaryModeZero, 4);
    std::vector<float> back(16);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy2DFromArray(back.data(), 16, square, 0, 0, 16, 4, cudaMemcpyDeviceToHost));
    expect("surface", back, {0, 1, 2, 3, 20, 22, 24, 26, 20, 21, 22, 23});
    Handles host{make(of_array(square), cudaAddressModeClamp, cudaFilterModePoint, false), surface}, *handles;
    CHECK(cudaMalloc(&handles, sizeof host));
    CHECK(cudaMemcpy(handles, &host, sizeof host, cudaMemcpyHostToDevice));
    by_struct<<<1, 4>>>(handles);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy2DFromArray(back.data(), 16, square, 0, 0, 16, 4, cudaMemcpyDeviceToHost));
    expect("handles in memory", back, {0, 1, 2, 3, 20, 22, 24, 26, 20, 21, 22, 23, 1, 2, 3, 4});
    CHECK(cudaDestroySurfaceObject(surface));
    CHECK(cudaFreeArray(row));
  }
  {
    cudaArray_t solid, sheets, cube;
    CHECK(cudaMalloc3DArray(&solid, &f1, make_cudaExtent(4, 4, 6), 0));
    CHECK(cudaMalloc3DArray(&sheets, &f1, make_cudaExtent(4, 4, 6), cudaArrayLayered));
    CHECK(cudaMalloc3DArray(&cube, &f1, make_cudaExtent(4, 4, 6), cudaArrayCubemap));
    for (cudaArray_t array : {solid, sheets, cube}) fill(array, v, make_cudaExtent(4, 4, 6));
    Output out(6);
    volume<<<1, 6>>>(make(of_array(solid), cudaAddressModeClamp, cudaFilterModeLinear, false), out.device);
    expect("volume", out.read(), {10.5, 110.5, 210.5, 310.5, 410.5, 510.5});
    layers<<<1, 6>>>(make(of_array(sheets), cudaAddressModeClamp, cudaFilterModePoint, false), out.device);
    expect("layers", out.read(), {1, 101, 201, 301, 401, 501});
    faces<<<1, 6>>>(make(of_array(cube), cudaAddressModeClamp, cudaFilterModeLinear, true), out.device);
    expect("faces", out.read(), {16.5, 116.5, 216.5, 316.5, 416.5, 516.5});
  }
  {
    cudaMipmappedArray_t mipmapped;
    CHECK(cudaMallocMipmappedArray(&mipmapped, &f1, make_cudaExtent(4, 4, 0), 3, cudaArraySurfaceLoadStore));
    for (int level = 0; level < 3; ++level) {
      cudaArray_t array;
      CHECK(cudaGetMipmappedArrayLevel(&array, mipmapped, level));
      const int size = 4 >> level;
      fill(array, std::vector<float>(size * size, level + 1.0f), make_cudaExtent(size, size, 1));
    }
    cudaResourceDesc resource{};
    resource.resType = cudaResourceTypeMipmappedArray;
    resource.res.mipmap.mipmap = mipmapped;
    Output out(4);
    levels<<<1, 4>>>(make(resource, cudaAddressModeClamp, cudaFilterModePoint, true), out.device);
    expect("levels", out.read(), {1, 2, 3, 3});
    cudaArray_t whole, half;
    CHECK(cudaGetMipmappedArrayLevel(&whole, mipmapped, 0));
    CHECK(cudaGetMipmappedArrayLevel(&half, mipmapped, 1));
    cudaResourceDesc resource_of_half = of_array(half);
    cudaSurfaceObject_t into_half;
    CHECK(cudaCreateSurfaceObject(&into_half, &resource_of_half));
    halve<<<1, 2>>>(make(of_array(whole), cudaAddressModeClamp, cudaFilterModePoint, false), into_half);
    std::vector<float> back(4);
    CHECK(cudaDeviceSynchronize());
    CHECK(cudaMemcpy2DFromArray(back.data(), 8, half, 0, 0, 8, 2, cudaMemcpyDeviceToHost));
    expect("a level", back, {3, 4, 2, 2});
  }
  std::puts(wrong == 0 ? "textures: PASS" : "textures: FAIL");
  return wrong != 0;
}
