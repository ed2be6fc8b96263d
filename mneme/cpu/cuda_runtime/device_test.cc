#include <cstring>

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
  EXPECT_EQ(properties.sharedMemPerBlock, 49152u) << "without opt-in";
  EXPECT_GT(properties.sharedMemPerBlockOptin, 49152u);
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
  const std::pair<cudaDeviceAttr, size_t> extents[] = {
      {cudaDevAttrMaxBlockDimX, 1024},       {cudaDevAttrMaxBlockDimY, 1024},
      {cudaDevAttrMaxBlockDimZ, 64},         {cudaDevAttrMaxGridDimX, 0x7fffffff},
      {cudaDevAttrMaxGridDimY, 65535},       {cudaDevAttrMaxGridDimZ, 65535},
      {cudaDevAttrMaxThreadsPerBlock, 1024}, {cudaDevAttrMaxThreadsPerMultiProcessor, 2048}};
  for (const auto& [which, expected] : extents) EXPECT_EQ(attribute(which), static_cast<int>(expected)) << which;
  for (int i : {0, 1, 2}) {
    EXPECT_EQ(attribute(static_cast<cudaDeviceAttr>(cudaDevAttrMaxBlockDimX + i)), properties.maxThreadsDim[i]);
    EXPECT_EQ(attribute(static_cast<cudaDeviceAttr>(cudaDevAttrMaxGridDimX + i)), properties.maxGridSize[i]);
  }
  int value = 0;
  EXPECT_EQ(CUDA(cudaDeviceGetAttribute)(&value, static_cast<cudaDeviceAttr>(100000), 0), cudaErrorInvalidValue);
  CUDA(cudaGetLastError)();
}

TEST(DeviceQueries, WhatTheDeviceDoesNotHaveIsZero) {
  cudaDeviceProp properties;
  std::memset(&properties, 0xff, sizeof properties);
  ASSERT_EQ(CUDA(cudaGetDeviceProperties)(&properties, 0), cudaSuccess);
  EXPECT_EQ(properties.ECCEnabled, 0);
  EXPECT_EQ(properties.isMultiGpuBoard, 0);
  EXPECT_EQ(properties.clusterLaunch, 0);
  EXPECT_EQ(properties.pciBusID, 0);
  EXPECT_EQ(properties.maxBlocksPerMultiProcessor, 32);
  EXPECT_EQ(properties.maxThreadsPerMultiProcessor, 2048);
  EXPECT_EQ(properties.regsPerBlock, 65536);
  EXPECT_EQ(properties.totalConstMem, 65536u);
  int blocks = 0;
  EXPECT_EQ(CUDA(cudaDeviceGetAttribute)(&blocks, cudaDevAttrMaxBlocksPerMultiprocessor, 0), cudaSuccess);
  EXPECT_EQ(blocks, 32);
}

TEST(DeviceQueries, LimitsFlagsAndVersions) {
  size_t limit = 0;
  EXPECT_EQ(CUDA(cudaDeviceSetLimit)(cudaLimitStackSize, 4096), cudaSuccess);
  EXPECT_EQ(CUDA(cudaDeviceGetLimit)(&limit, cudaLimitStackSize), cudaSuccess);
  EXPECT_EQ(limit, 4096u);
  EXPECT_EQ(CUDA(cudaSetDeviceFlags)(cudaDeviceScheduleBlockingSync), cudaSuccess);
  EXPECT_EQ(CUDA(cudaSetDeviceFlags)(~0u), cudaErrorInvalidValue);
  CUDA(cudaGetLastError)();
  unsigned flags = 0;
  EXPECT_EQ(CUDA(cudaGetDeviceFlags)(&flags), cudaSuccess);
  EXPECT_EQ(flags, unsigned{cudaDeviceScheduleBlockingSync});
  int can = 9;
  EXPECT_EQ(CUDA(cudaDeviceCanAccessPeer)(&can, 0, 0), cudaSuccess);
  EXPECT_EQ(can, 0) << "a device is no peer of itself";
  char id[16] = "---------------";
  EXPECT_EQ(CUDA(cudaDeviceGetPCIBusId)(id, 5, 0), cudaSuccess);
  EXPECT_EQ(std::string(id, 7), std::string("0000\0--", 7)) << "as much as there is room for, with its end";
  EXPECT_EQ(CUDA(cudaDeviceGetPCIBusId)(id, sizeof id, 0), cudaSuccess);
  int device = 9;
  EXPECT_EQ(CUDA(cudaDeviceGetByPCIBusId)(&device, id), cudaSuccess);
  EXPECT_EQ(device, 0);
  int version = 0;
  EXPECT_EQ(CUDA(cudaRuntimeGetVersion)(&version), cudaSuccess);
  EXPECT_EQ(version, CUDART_VERSION);
}

}  // namespace
}  // namespace mneme::emulation
