#include "mneme/base/file_system.h"
#include "mneme/cpu/cuda_runtime/testing/program.h"

namespace mneme::emulation {
namespace {

cudaLibrary_t load_library(const ByteVector& image) {
  Program::get().load();
  cudaLibrary_t library = nullptr;
  EXPECT_EQ(CUDA(cudaLibraryLoadData)(&library, image.data(), nullptr, nullptr, 0, nullptr, nullptr, 0), cudaSuccess);
  return library;
}

TEST(Libraries, KernelsAreLaunchedByTheirHandles) {
  const ByteVector image = FileSystem::posix().read(MNEME_TEST_KERNELS).value();
  cudaLibrary_t library = load_library(image);
  cudaKernel_t kernel = nullptr;
  ASSERT_EQ(CUDA(cudaLibraryGetKernel)(&kernel, library, "scale"), cudaSuccess);
  int* numbers = make_numbers(3);
  int factor = 10, count = 3;
  void* arguments[] = {&numbers, &factor, &count};
  EXPECT_EQ(CUDA(cudaLaunchKernel)(kernel, dim3(1), dim3(3), arguments, 0, nullptr), cudaSuccess);
  EXPECT_EQ(numbers[2], 30);
  EXPECT_EQ(CUDA(cudaLaunchKernel)(kernel, dim3(1), dim3(3), arguments, 49153, nullptr), cudaErrorInvalidValue);
  EXPECT_EQ(CUDA(cudaKernelSetAttributeForDevice)(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000, 0), cudaSuccess);
  EXPECT_EQ(CUDA(cudaLaunchKernel)(kernel, dim3(1), dim3(3), arguments, 49153, nullptr), cudaSuccess);
  EXPECT_EQ(numbers[2], 300);

  void* state = nullptr;
  size_t size = 0;
  EXPECT_EQ(CUDA(cudaLibraryGetGlobal)(&state, &size, library, "state"), cudaSuccess);
  EXPECT_EQ(size, 4u);
  EXPECT_EQ(CUDA(cudaLibraryUnload)(library), cudaSuccess);
  EXPECT_EQ(CUDA(cudaLaunchKernel)(kernel, dim3(1), dim3(3), arguments, 0, nullptr), cudaErrorInvalidDeviceFunction);
  EXPECT_EQ(CUDA(cudaLibraryUnload)(library), cudaErrorInvalidResourceHandle);
  CUDA(cudaFree)(numbers);
  CUDA(cudaGetLastError)();
}

TEST(Libraries, WhatIsNotThereIsAnError) {
  const ByteVector image = FileSystem::posix().read(MNEME_TEST_KERNELS).value();
  cudaLibrary_t library = load_library(image);
  cudaKernel_t kernel = nullptr;
  void* address = nullptr;
  EXPECT_EQ(CUDA(cudaLibraryGetKernel)(&kernel, library, "none"), cudaErrorSymbolNotFound);
  EXPECT_EQ(CUDA(cudaLibraryGetGlobal)(&address, nullptr, library, "none"), cudaErrorSymbolNotFound);
  EXPECT_EQ(CUDA(cudaLibraryUnload)(library), cudaSuccess);
  EXPECT_EQ(CUDA(cudaLibraryGetKernel)(&kernel, library, "scale"), cudaErrorInvalidResourceHandle);
  const char no_image[16] = "no image";
  EXPECT_EQ(CUDA(cudaLibraryLoadData)(&library, no_image, nullptr, nullptr, 0, nullptr, nullptr, 0), cudaErrorInvalidKernelImage);
  CUDA(cudaGetLastError)();
}

}  // namespace
}  // namespace mneme::emulation
