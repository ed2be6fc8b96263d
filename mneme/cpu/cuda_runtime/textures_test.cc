#include <cstring>
#include <numeric>
#include <vector>

#include "mneme/cpu/cuda_runtime/context.h"
#include "mneme/cpu/cuda_runtime/testing/program.h"
#include "mneme/cpu/run/cpu_device.h"

namespace mneme::emulation {
namespace {

cudaChannelFormatDesc channels(int x, int y, int z, int w, cudaChannelFormatKind kind) { return {x, y, z, w, kind}; }
const cudaChannelFormatDesc kFloat = channels(32, 0, 0, 0, cudaChannelFormatKindFloat);

cudaArray_t make_array(cudaExtent extent, unsigned flags = 0, const cudaChannelFormatDesc& description = kFloat) {
  cudaArray_t array = nullptr;
  EXPECT_EQ(CUDA(cudaMalloc3DArray)(&array, &description, extent, flags), cudaSuccess);
  return array;
}
std::vector<float> count_up(size_t count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  return numbers;
}
size_t free_memory() {
  size_t available = 0, total = 0;
  CUDA(cudaMemGetInfo)(&available, &total);
  return available;
}

class Arrays : public ::testing::Test {
 protected:
  void TearDown() override { CUDA(cudaGetLastError)(); }
};

TEST_F(Arrays, SayWhatTheyAreAndAreFreed) {
  const size_t before = free_memory();
  cudaArray_t array = nullptr;
  ASSERT_EQ(CUDA(cudaMallocArray)(&array, &kFloat, 8, 4, cudaArraySurfaceLoadStore), cudaSuccess);
  EXPECT_EQ(before - free_memory(), 8u * 4 * 4);
  cudaChannelFormatDesc description{};
  cudaExtent extent{};
  unsigned flags = 0;
  EXPECT_EQ(CUDA(cudaArrayGetInfo)(&description, &extent, &flags, array), cudaSuccess);
  EXPECT_EQ(description.x, 32);
  EXPECT_EQ(extent.width, 8u);
  EXPECT_EQ(extent.height, 4u);
  EXPECT_EQ(extent.depth, 0u);
  EXPECT_EQ(flags, unsigned{cudaArraySurfaceLoadStore});
  description = {};
  EXPECT_EQ(CUDA(cudaGetChannelDesc)(&description, array), cudaSuccess);
  EXPECT_EQ(description.f, cudaChannelFormatKindFloat);
  EXPECT_EQ(CUDA(cudaFreeArray)(array), cudaSuccess);
  EXPECT_EQ(free_memory(), before);
  EXPECT_EQ(CUDA(cudaFreeArray)(array), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFreeArray)(nullptr), cudaSuccess);
  EXPECT_EQ(CUDA(cudaArrayGetInfo)(&description, &extent, &flags, array), cudaErrorInvalidResourceHandle);
}

TEST_F(Arrays, HaveTheExtentsThatTheirFlagsAllow) {
  struct Case {
    cudaExtent extent;
    unsigned flags;
    cudaError_t expected;
  };
  for (const Case& c : {Case{{8, 0, 0}, 0, cudaSuccess},
                        {{8, 4, 2}, 0, cudaSuccess},
                        {{8, 0, 3}, cudaArrayLayered, cudaSuccess},
                        {{8, 4, 3}, cudaArrayLayered, cudaSuccess},
                        {{4, 4, 6}, cudaArrayCubemap, cudaSuccess},
                        {{4, 4, 12}, cudaArrayCubemap | cudaArrayLayered, cudaSuccess},
                        {{0, 4, 0}, 0, cudaErrorInvalidValue},
                        {{8, 0, 3}, 0, cudaErrorInvalidValue},
                        {{8, 4, 0}, cudaArrayLayered, cudaErrorInvalidValue},
                        {{4, 5, 6}, cudaArrayCubemap, cudaErrorInvalidValue},
                        {{4, 4, 5}, cudaArrayCubemap, cudaErrorInvalidValue},
                        {{1 << 20, 4, 0}, 0, cudaErrorInvalidValue}}) {
    cudaArray_t array = nullptr;
    EXPECT_EQ(CUDA(cudaMalloc3DArray)(&array, &kFloat, c.extent, c.flags), c.expected)
        << c.extent.width << ' ' << c.extent.height << ' ' << c.extent.depth << ' ' << c.flags;
    EXPECT_EQ(CUDA(cudaFreeArray)(array), cudaSuccess);
  }
}

TEST_F(Arrays, WithoutTexelsOfTheirKindAreRefusedByName) {
  cudaArray_t array = nullptr;
  const cudaChannelFormatDesc three = channels(8, 8, 8, 0, cudaChannelFormatKindUnsigned);
  const cudaChannelFormatDesc compressed = channels(8, 8, 8, 8, cudaChannelFormatKindUnsignedBlockCompressed1);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA(cudaMallocArray)(&array, &three, 8, 8, 0), cudaErrorNotSupported);
  EXPECT_EQ(CUDA(cudaMallocArray)(&array, &compressed, 8, 8, 0), cudaErrorNotSupported);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "mneme: warning: texels of format 1 with 8, 8, 8 and 0 bits are not available on the CPU device\n")
      << "once";
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(CUDA(cudaMallocArray)(&array, &kFloat, 8, 8, cudaArraySparse), cudaErrorNotSupported);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "mneme: warning: sparse arrays and arrays that are mapped later are not available on the CPU device\n");
}

TEST_F(Arrays, OfSeveralLevelsHalve) {
  cudaMipmappedArray_t mipmapped = nullptr;
  ASSERT_EQ(CUDA(cudaMallocMipmappedArray)(&mipmapped, &kFloat, {8, 2, 0}, 9, 0), cudaSuccess);
  std::vector<size_t> widths;
  cudaArray_t level = nullptr;
  for (unsigned i = 0; CUDA(cudaGetMipmappedArrayLevel)(&level, mipmapped, i) == cudaSuccess; ++i) {
    cudaExtent extent{};
    EXPECT_EQ(CUDA(cudaArrayGetInfo)(nullptr, &extent, nullptr, level), cudaSuccess);
    EXPECT_EQ(extent.height, i == 0 ? 2u : 1u);
    widths.push_back(extent.width);
  }
  EXPECT_EQ(widths, (std::vector<size_t>{8, 4, 2, 1}));
  EXPECT_EQ(CUDA(cudaFreeMipmappedArray)(mipmapped), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeMipmappedArray)(mipmapped), cudaErrorInvalidValue);
}

TEST_F(Arrays, AreCopiedByRectangles) {
  cudaArray_t a = make_array({4, 3, 0}), b = make_array({4, 3, 0});
  const std::vector<float> from = count_up(12);
  std::vector<float> to(12);
  EXPECT_EQ(CUDA(cudaMemcpy2DToArray)(a, 0, 0, from.data(), 16, 16, 3, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpy2DFromArray)(to.data(), 8, a, 4, 1, 8, 2, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(std::vector<float>(to.begin(), to.begin() + 4), (std::vector<float>{6, 7, 10, 11}));
  EXPECT_EQ(CUDA(cudaMemcpy2DArrayToArray)(b, 8, 0, a, 0, 1, 8, 2, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpy2DFromArrayAsync)(to.data(), 16, b, 0, 0, 16, 3, cudaMemcpyDeviceToHost, nullptr), cudaSuccess);
  EXPECT_EQ(to, (std::vector<float>{0, 0, 5, 6, 0, 0, 9, 10, 0, 0, 0, 0}));
  // What goes beyond an array, or is no whole texel.
  EXPECT_EQ(CUDA(cudaMemcpy2DToArray)(a, 4, 0, from.data(), 16, 16, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMemcpy2DToArray)(a, 0, 1, from.data(), 16, 16, 3, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMemcpy2DToArray)(a, 2, 0, from.data(), 16, 4, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMemcpy2DToArray)(a, 0, 0, from.data(), 16, 6, 1, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaMemcpy2DToArray)(a, 0, 0, from.data(), 8, 16, 2, cudaMemcpyHostToDevice), cudaErrorInvalidPitchValue);
  EXPECT_EQ(CUDA(cudaMemcpy2DToArray)(nullptr, 0, 0, from.data(), 16, 16, 2, cudaMemcpyHostToDevice),
            cudaErrorInvalidResourceHandle);
  for (cudaArray_t array : {a, b}) EXPECT_EQ(CUDA(cudaFreeArray)(array), cudaSuccess);
}

TEST_F(Arrays, AreCopiedFromOneRowToTheNext) {
  cudaArray_t a = make_array({4, 3, 0}), b = make_array({4, 3, 0});
  const std::vector<float> from = count_up(6);
  std::vector<float> to(12);
  EXPECT_EQ(CUDA(cudaMemcpyToArray)(a, 8, 0, from.data(), 24, cudaMemcpyHostToDevice), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpyArrayToArray)(b, 0, 1, a, 0, 0, 32, cudaMemcpyDeviceToDevice), cudaSuccess);
  EXPECT_EQ(CUDA(cudaMemcpyFromArray)(to.data(), b, 0, 0, 48, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(to, (std::vector<float>{0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(CUDA(cudaMemcpyToArray)(a, 0, 2, from.data(), 20, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  for (cudaArray_t array : {a, b}) EXPECT_EQ(CUDA(cudaFreeArray)(array), cudaSuccess);
}

// The extent counts texels, and the position of the side without an array bytes.
TEST_F(Arrays, OfThreeDimensionsAreCopied) {
  cudaArray_t array = make_array({2, 2, 3});
  std::vector<float> from = count_up(12), to(8);
  cudaMemcpy3DParms copy{};
  copy.srcPtr = {from.data(), 8, 2, 2};
  copy.dstArray = array;
  copy.extent = {2, 2, 3};
  copy.kind = cudaMemcpyHostToDevice;
  EXPECT_EQ(CUDA(cudaMemcpy3D)(&copy), cudaSuccess);
  cudaMemcpy3DParms back{};
  back.srcArray = array;
  back.srcPos = {1, 0, 1};
  back.dstPtr = {to.data(), 8, 2, 2};
  back.dstPos = {4, 0, 0};
  back.extent = {1, 2, 2};
  back.kind = cudaMemcpyDeviceToHost;
  EXPECT_EQ(CUDA(cudaMemcpy3D)(&back), cudaSuccess);
  EXPECT_EQ(to, (std::vector<float>{0, 6, 0, 8, 0, 10, 0, 12}));
  cudaMemcpy3DPeerParms peer{};
  peer.srcArray = array;
  peer.dstPtr = {to.data(), 8, 2, 2};
  peer.extent = {2, 2, 1};
  EXPECT_EQ(CUDA(cudaMemcpy3DPeer)(&peer), cudaSuccess);
  EXPECT_EQ(to[3], 4);
  peer.srcDevice = 1;
  EXPECT_EQ(CUDA(cudaMemcpy3DPeer)(&peer), cudaErrorInvalidDevice);
  back.srcPos.z = 2;
  EXPECT_EQ(CUDA(cudaMemcpy3D)(&back), cudaErrorInvalidValue);
  const cudaChannelFormatDesc bytes = channels(8, 0, 0, 0, cudaChannelFormatKindUnsigned);
  cudaArray_t other = make_array({2, 2, 3}, 0, bytes);
  cudaMemcpy3DParms between{};
  between.srcArray = array, between.dstArray = other;
  between.extent = {1, 1, 1};
  between.kind = cudaMemcpyDeviceToDevice;
  EXPECT_EQ(CUDA(cudaMemcpy3D)(&between), cudaErrorInvalidValue) << "their texels differ in size";
  for (cudaArray_t each : {array, other}) EXPECT_EQ(CUDA(cudaFreeArray)(each), cudaSuccess);
}

class TextureObjects : public Arrays {
 protected:
  void SetUp() override {
    array = make_array({4, 4, 0}, cudaArraySurfaceLoadStore);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
  }
  void TearDown() override {
    EXPECT_EQ(CUDA(cudaFreeArray)(array), cudaSuccess);
    Arrays::TearDown();
  }
  cudaError_t create() { return CUDA(cudaCreateTextureObject)(&object, &resource, &description, nullptr); }
  const cpu::Texture& texture() { return std::get<cpu::Texture>(*cpu::textures(Context::get().device()).find(object)); }

  cudaArray_t array = nullptr;
  cudaResourceDesc resource{};
  cudaTextureDesc description{};
  cudaTextureObject_t object = 0;
};

TEST_F(TextureObjects, AreWhatTheirDescriptionsSay) {
  description.addressMode[0] = cudaAddressModeBorder;
  description.addressMode[1] = cudaAddressModeMirror;
  description.addressMode[2] = cudaAddressModeClamp;
  description.filterMode = cudaFilterModeLinear;
  description.normalizedCoords = 1;
  description.borderColor[0] = 2;
  description.borderColor[1] = 3;
  ASSERT_EQ(create(), cudaSuccess);
  EXPECT_EQ(texture().address[0], cpu::AddressMode::border);
  EXPECT_EQ(texture().address[1], cpu::AddressMode::mirror);
  EXPECT_EQ(texture().address[2], cpu::AddressMode::clamp);
  EXPECT_EQ(texture().filter, cpu::FilterMode::linear);
  EXPECT_TRUE(texture().normalized_coordinates);
  EXPECT_EQ(texture().border, (cpu::Components{0x40000000u, 0, 0, 0})) << "of the components that there are";
  cudaResourceDesc told{};
  cudaTextureDesc how{};
  EXPECT_EQ(CUDA(cudaGetTextureObjectResourceDesc)(&told, object), cudaSuccess);
  EXPECT_EQ(told.res.array.array, array);
  EXPECT_EQ(CUDA(cudaGetTextureObjectTextureDesc)(&how, object), cudaSuccess);
  EXPECT_EQ(how.filterMode, cudaFilterModeLinear);
  EXPECT_EQ(CUDA(cudaDestroyTextureObject)(object), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDestroyTextureObject)(object), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaDestroyTextureObject)(0), cudaSuccess);
}

TEST_F(TextureObjects, OfLinearMemoryEndWithIt) {
  void* memory = nullptr;
  ASSERT_EQ(CUDA(cudaMalloc)(&memory, 40), cudaSuccess);
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {memory, channels(16, 16, 0, 0, cudaChannelFormatKindSigned), 40};
  ASSERT_EQ(create(), cudaSuccess);
  EXPECT_EQ(texture().levels[0].width, 10u);
  EXPECT_EQ(texture().address[0], cpu::AddressMode::border);
  EXPECT_EQ(CUDA(cudaDestroyTextureObject)(object), cudaSuccess);
  resource.resType = cudaResourceTypePitch2D;
  resource.res.pitch2D = {memory, kFloat, 2, 3, 12};
  ASSERT_EQ(create(), cudaSuccess);
  EXPECT_EQ(texture().levels[0].row_pitch, 12u);
  EXPECT_EQ(texture().levels[0].height, 3u);
  EXPECT_EQ(CUDA(cudaDestroyTextureObject)(object), cudaSuccess);
  size_t most = 0;
  EXPECT_EQ(CUDA(cudaDeviceGetTexture1DLinearMaxWidth)(&most, &kFloat, 0), cudaSuccess);
  EXPECT_EQ(most, size_t{1} << 28);
  EXPECT_EQ(CUDA(cudaFree)(memory), cudaSuccess);
}

TEST_F(TextureObjects, KeepTheirArray) {
  ASSERT_EQ(create(), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeArray)(array), cudaSuccess);
  std::memset(texture().levels[0].texels, 1, 64);
  EXPECT_EQ(CUDA(cudaDestroyTextureObject)(object), cudaSuccess);
  array = make_array({4, 4, 0});
}

TEST_F(TextureObjects, FilterOnlyFloats) {
  cudaArray_t bytes = make_array({4, 4, 0}, 0, channels(8, 8, 8, 8, cudaChannelFormatKindUnsigned));
  resource.res.array.array = bytes;
  description.filterMode = cudaFilterModeLinear;
  EXPECT_EQ(create(), cudaErrorInvalidValue);
  description.readMode = cudaReadModeNormalizedFloat;
  EXPECT_EQ(create(), cudaSuccess);
  EXPECT_TRUE(texture().normalized_values);
  EXPECT_EQ(CUDA(cudaDestroyTextureObject)(object), cudaSuccess);
  cudaArray_t words = make_array({4, 4, 0}, 0, channels(32, 0, 0, 0, cudaChannelFormatKindUnsigned));
  resource.res.array.array = words;
  EXPECT_EQ(create(), cudaErrorInvalidValue) << "32 bits are not read as a share of their greatest";
  for (cudaArray_t each : {bytes, words}) EXPECT_EQ(CUDA(cudaFreeArray)(each), cudaSuccess);
}

TEST_F(TextureObjects, WithWhatIsLackingAreRefusedByName) {
  const auto refusal = [&](const cudaResourceViewDesc* view) {
    ::testing::internal::CaptureStderr();
    EXPECT_EQ(CUDA(cudaCreateTextureObject)(&object, &resource, &description, view), cudaErrorNotSupported);
    return ::testing::internal::GetCapturedStderr();
  };
  const cudaResourceViewDesc view{};
  EXPECT_EQ(refusal(&view), "mneme: warning: views of a texture's resource are not available on the CPU device\n");
  description.seamlessCubemap = 1;
  EXPECT_EQ(refusal(nullptr), "mneme: warning: seamless cubemaps are not available on the CPU device\n");
  description.seamlessCubemap = 0;
  cudaMipmappedArray_t mipmapped = nullptr;
  ASSERT_EQ(CUDA(cudaMallocMipmappedArray)(&mipmapped, &kFloat, {8, 8, 0}, 3, 0), cudaSuccess);
  resource.resType = cudaResourceTypeMipmappedArray;
  resource.res.mipmap.mipmap = mipmapped;
  description.maxAnisotropy = 4;
  EXPECT_EQ(refusal(nullptr), "mneme: warning: anisotropic filters are not available on the CPU device\n");
  description.maxAnisotropy = 1;
  ASSERT_EQ(create(), cudaSuccess);
  EXPECT_EQ(texture().levels.size(), 3u);
  EXPECT_EQ(CUDA(cudaDestroyTextureObject)(object), cudaSuccess);
  EXPECT_EQ(CUDA(cudaFreeMipmappedArray)(mipmapped), cudaSuccess);
}

TEST_F(TextureObjects, SurfacesAreOfArraysThatAllowThem) {
  cudaSurfaceObject_t surface = 0;
  ASSERT_EQ(CUDA(cudaCreateSurfaceObject)(&surface, &resource), cudaSuccess);
  cudaResourceDesc told{};
  EXPECT_EQ(CUDA(cudaGetSurfaceObjectResourceDesc)(&told, surface), cudaSuccess);
  EXPECT_EQ(told.res.array.array, array);
  EXPECT_EQ(CUDA(cudaDestroyTextureObject)(surface), cudaErrorInvalidValue) << "it is none";
  EXPECT_EQ(CUDA(cudaDestroySurfaceObject)(surface), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDestroySurfaceObject)(surface), cudaErrorInvalidValue);
  cudaArray_t plain = make_array({4, 4, 0});
  resource.res.array.array = plain;
  EXPECT_EQ(CUDA(cudaCreateSurfaceObject)(&surface, &resource), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaFreeArray)(plain), cudaSuccess);
}

}  // namespace
}  // namespace mneme::emulation
