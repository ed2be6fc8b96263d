// The types of both shapes, whichever ROCm Mneme is built with.
#include "mneme/hip/versions.h"

#include <gtest/gtest.h>

namespace mneme::hip {
namespace {

enum OldType { kOldHost = 0, kOldDevice = 1, kOldArray = 2, kOldUnified = 3 };
struct OldAttributes {
  OldType memoryType;
  int device;
  void *devicePointer, *hostPointer;
  int isManaged;
  unsigned allocationFlags;
};
enum NewType { kUnregistered = 0, kHost = 1, kDevice = 2, kManaged = 3, kArray = 10, kUnified = 11 };
struct NewAttributes {
  NewType type;
  int device;
  void *devicePointer, *hostPointer;
  int isManaged;
  unsigned allocationFlags;
};

cudaPointerAttributes cudas(cudaMemoryType type) {
  static int memory;
  cudaPointerAttributes attributes{};
  attributes.type = type;
  attributes.devicePointer = attributes.hostPointer = &memory;
  return attributes;
}

TEST(Versions, TypesOfMemoryBeforeRocm6) {
  OldAttributes attributes;
  EXPECT_EQ(fill_attributes(attributes, cudas(cudaMemoryTypeHost)), hipSuccess);
  EXPECT_EQ(attributes.memoryType, kOldHost);
  for (const auto type : {cudaMemoryTypeDevice, cudaMemoryTypeManaged}) {
    EXPECT_EQ(fill_attributes(attributes, cudas(type)), hipSuccess);
    EXPECT_EQ(attributes.memoryType, kOldDevice);
    EXPECT_EQ(attributes.isManaged, type == cudaMemoryTypeManaged);
    EXPECT_EQ(attributes.device, 0);
  }
  EXPECT_EQ(fill_attributes(attributes, cudas(cudaMemoryTypeUnregistered)), hipErrorInvalidValue);
}

TEST(Versions, TypesOfMemorySinceRocm6) {
  NewAttributes attributes;
  const std::pair<cudaMemoryType, NewType> kTypes[] = {
      {cudaMemoryTypeHost, kHost}, {cudaMemoryTypeDevice, kDevice}, {cudaMemoryTypeManaged, kManaged}};
  for (const auto& [cuda, hip] : kTypes) {
    EXPECT_EQ(fill_attributes(attributes, cudas(cuda)), hipSuccess);
    EXPECT_EQ(attributes.type, hip);
    EXPECT_EQ(attributes.isManaged, hip == kManaged);
    EXPECT_NE(attributes.devicePointer, nullptr);
  }
  EXPECT_EQ(fill_attributes(attributes, cudas(cudaMemoryTypeUnregistered)), hipSuccess) << "it is a type";
  EXPECT_EQ(attributes.type, kUnregistered);
  EXPECT_EQ(attributes.device, hipInvalidDeviceId);
  EXPECT_EQ(attributes.devicePointer, nullptr);
  EXPECT_EQ(memory_type_of(attributes), kUnregistered);
}

TEST(Versions, TypesOfMemoryAreCudasAgain) {
  for (const auto type : {cudaMemoryTypeHost, cudaMemoryTypeDevice, cudaMemoryTypeManaged, cudaMemoryTypeUnregistered}) {
    NewAttributes since;
    ASSERT_EQ(fill_attributes(since, cudas(type)), hipSuccess);
    EXPECT_EQ(to_cuda_attributes(since).type, type);
    EXPECT_EQ(to_cuda_attributes(since).hostPointer, since.hostPointer);
    OldAttributes old;
    if (fill_attributes(old, cudas(type)) != hipSuccess) continue;
    EXPECT_EQ(to_cuda_attributes(old).type, type);
    EXPECT_EQ(to_cuda_attributes(old).devicePointer, old.devicePointer);
  }
}

TEST(Versions, TheArchitecturesNumberIsSetWhereThereIsOne) {
  struct {
    int gcnArch = 0;
  } old;
  struct {
    char gcnArchName[256] = "gfx90a";
  } since;
  set_architecture_number(old, 910);
  set_architecture_number(since, 910);
  EXPECT_EQ(old.gcnArch, 910);
  EXPECT_STREQ(since.gcnArchName, "gfx90a");
}

}  // namespace
}  // namespace mneme::hip
