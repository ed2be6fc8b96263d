#include "mneme/cpu/cuda_runtime/testing/program.h"

namespace mneme::emulation {
namespace {

TEST(DeviceQueries, ThereIsOneDeviceAndItSaysWhatItIs) {
  int count = 0, current = -1;
  EXPECT_EQ(CUDA(cudaGetDeviceCount)(&count), cudaSuccess);
  EXPECT_EQ(count, 1);
  EXPECT_EQ(CUDA(cudaSetDevice)(0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaSetDevice)(1), cudaErrorInvalidDevice);
  EXPECT_EQ(CUDA(cudaGetDevice)(&current), cudaSuccess);
  EXPECT_EQ(current, 0);
  cudaDeviceProp properties;
  ASSERT_EQ(CUDA(cudaGetDeviceProperties)(&properties, 0), cudaSuccess);
  EXPECT_EQ(std::string(properties.name).rfind("Mneme CPU device (", 0), 0u);
  EXPECT_EQ(properties.major, 9);
  EXPECT_EQ(properties.minor, 0);
  EXPECT_EQ(properties.warpSize, 32);
  EXPECT_EQ(properties.maxThreadsPerBlock, 1024);
  EXPECT_EQ(CUDA(cudaGetDeviceProperties)(&properties, 1), cudaErrorInvalidDevice);
  CUDA(cudaGetLastError)();
}

TEST(DeviceQueries, AttributesAgreeWithProperties) {
  cudaDeviceProp properties;
  CUDA(cudaGetDeviceProperties)(&properties, 0);
  auto attribute = [](cudaDeviceAttr which) {
    int value = -1;
    EXPECT_EQ(CUDA(cudaDeviceGetAttribute)(&value, which, 0), cudaSuccess);
    return value;
  };
  EXPECT_EQ(attribute(cudaDevAttrMultiProcessorCount), properties.multiProcessorCount);
  EXPECT_EQ(attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin), static_cast<int>(properties.sharedMemPerBlockOptin));
  EXPECT_EQ(attribute(cudaDevAttrComputeCapabilityMajor), 9);
  int value = 0;
  EXPECT_EQ(CUDA(cudaDeviceGetAttribute)(&value, static_cast<cudaDeviceAttr>(100000), 0), cudaErrorInvalidValue);
  CUDA(cudaGetLastError)();
}

TEST(DeviceQueries, LimitsFlagsAndVersions) {
  size_t limit = 0;
  EXPECT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitStackSize, 4096), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceGetLimit)(&limit, cudaLimitStackSize), cudaSuccess);
  EXPECT_EQ(limit, 4096u);
  EXPECT_EQ(CUDA(cudaSetDeviceFlags)(cudaDeviceScheduleBlockingSync), cudaSuccess);
  unsigned flags = 0;
  EXPECT_EQ(CUDA(cudaGetDeviceFlags)(&flags), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaDeviceScheduleBlockingSync});
  int version = 0;
  EXPECT_EQ(CUDA(cudaRuntimeGetVersion)(&version), cudaSuccess);
  EXPECT_EQ(version, CUDART_VERSION);
}

}  // namespace
}  // namespace mneme::emulation
