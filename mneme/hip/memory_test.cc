#include <gmock/gmock.h>

#include "mneme/hip/testing/program.h"
#include "mneme/hip/versions.h"

namespace mneme::hip {
namespace {

// Memory at made-up addresses, one behind the other.
class MemoryOfAProgram : public ::testing::Test {
 protected:
  void SetUp() override {
    Program::get();
    CUDA_IS(cudaMalloc, [](void** out, size_t) {
      *out = reinterpret_cast<void*>(0x10000);
      return cudaSuccess;
    });
    CUDA_IS(cudaMallocPitch, [](void** out, size_t* pitch, size_t, size_t) {
      *out = reinterpret_cast<void*>(0x20000);
      *pitch = 512;
      return cudaSuccess;
    });
    CUDA_IS(cudaFree,
            [](void* pointer) { return reinterpret_cast<uintptr_t>(pointer) == 0x10000 ? cudaSuccess : cudaErrorInvalidValue; });
  }
};

TEST_F(MemoryOfAProgram, IsToldByAnyAddressInIt) {
  void* pointer = nullptr;
  hipDeviceptr_t base = nullptr;
  size_t size = 0, pitch = 0;
  ASSERT_EQ(HIP(hipMalloc)(&pointer, 100), hipSuccess);
  EXPECT_EQ(HIP(hipMemGetAddressRange)(&base, &size, static_cast<char*>(pointer) + 99), hipSuccess);
  EXPECT_EQ(base, pointer);
  EXPECT_EQ(size, 100u);
  EXPECT_EQ(HIP(hipMemGetAddressRange)(&base, &size, static_cast<char*>(pointer) + 100), hipErrorNotFound);
  EXPECT_EQ(HIP(hipMemPtrGetInfo)(pointer, &size), hipSuccess);
  EXPECT_EQ(HIP(hipMemPtrGetInfo)(static_cast<char*>(pointer) + 1, &size), hipErrorInvalidValue) << "nothing begins there";
  void* rows = nullptr;
  ASSERT_EQ(HIP(hipMallocPitch)(&rows, &pitch, 300, 4), hipSuccess);
  EXPECT_EQ(HIP(hipMemPtrGetInfo)(rows, &size), hipSuccess);
  EXPECT_EQ(size, 2048u);
  EXPECT_EQ(HIP(hipFree)(rows), hipErrorInvalidValue);
  EXPECT_EQ(HIP(hipMemPtrGetInfo)(rows, &size), hipSuccess) << "it was not freed";
  EXPECT_EQ(HIP(hipFree)(pointer), hipSuccess);
  EXPECT_EQ(HIP(hipMemPtrGetInfo)(pointer, &size), hipErrorInvalidValue);
}

TEST_F(MemoryOfAProgram, PatternsOfSeveralBytesAreWrittenFromTheHost) {
  static std::vector<unsigned short> memory(1 << 20);
  CUDA_IS(cudaMemcpy, [](void* to, const void* from, size_t size, cudaMemcpyKind) {
    std::memcpy(to, from, size);
    return cudaSuccess;
  });
  CUDA_IS(cudaMemset, [](void* to, int value, size_t size) {
    std::memset(to, value, size);
    return cudaSuccess;
  });
  EXPECT_EQ(HIP(hipMemsetD16)(memory.data(), 0x0102, memory.size() - 1), hipSuccess);
  EXPECT_EQ(memory.front(), 0x0102);
  EXPECT_EQ(memory[memory.size() - 2], 0x0102);
  EXPECT_EQ(memory.back(), 0);
  EXPECT_EQ(HIP(hipMemsetD32)(memory.data(), -1, 1), hipSuccess);
  EXPECT_EQ(memory[1], 0xffff);
  EXPECT_EQ(memory[2], 0x0102);
}

TEST_F(MemoryOfAProgram, APointerThatIsNobodysIsAnError) {
  CUDA_IS(cudaPointerGetAttributes, [](cudaPointerAttributes* out, const void* pointer) {
    *out = {};
    out->type = pointer ? cudaMemoryTypeManaged : cudaMemoryTypeUnregistered;
    out->devicePointer = out->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;
  });
  hipPointerAttribute_t attributes;
  if constexpr (!kHasCudasMemoryTypes<hipPointerAttribute_t>) {
    EXPECT_EQ(HIP(hipPointerGetAttributes)(&attributes, nullptr), hipErrorInvalidValue) << "CUDA tells that it is no allocation";
  }
  ASSERT_EQ(HIP(hipPointerGetAttributes)(&attributes, &attributes), hipSuccess);
  EXPECT_NE(memory_type_of(attributes), hipMemoryTypeHost);
  EXPECT_TRUE(attributes.isManaged);
  EXPECT_EQ(attributes.hostPointer, &attributes);
}

}  // namespace
}  // namespace mneme::hip
