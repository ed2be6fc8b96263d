// What hip_types.h declares is what the installed headers of HIP do, but for what has changed between ROCm's versions.
#include "mneme/device/hip/hip_types.h"

#include <gtest/gtest.h>
#include <hip/hip_runtime_api.h>

namespace mneme::hip {
namespace {

#define EXPECT_NUMBER(own, theirs) EXPECT_EQ(static_cast<int>(own), static_cast<int>(theirs)) << #theirs

TEST(HipTypes, ErrorsHaveTheirNumbers) {
  EXPECT_NUMBER(0, hipSuccess);
  EXPECT_NUMBER(kInvalidValue, hipErrorInvalidValue);
  EXPECT_NUMBER(kOutOfMemory, hipErrorOutOfMemory);
  EXPECT_NUMBER(kNotInitialized, hipErrorNotInitialized);
  EXPECT_NUMBER(kDeinitialized, hipErrorDeinitialized);
  EXPECT_NUMBER(kInvalidConfiguration, hipErrorInvalidConfiguration);
  EXPECT_NUMBER(kInsufficientDriver, hipErrorInsufficientDriver);
  EXPECT_NUMBER(kNoDevice, hipErrorNoDevice);
  EXPECT_NUMBER(kInvalidDevice, hipErrorInvalidDevice);
  EXPECT_NUMBER(kInvalidImage, hipErrorInvalidImage);
  EXPECT_NUMBER(kNoBinaryForGpu, hipErrorNoBinaryForGpu);
  EXPECT_NUMBER(kEccNotCorrectable, hipErrorECCNotCorrectable);
  EXPECT_NUMBER(kUnsupportedLimit, hipErrorUnsupportedLimit);
  EXPECT_NUMBER(kInvalidKernelFile, hipErrorInvalidKernelFile);
  EXPECT_NUMBER(kInvalidSource, hipErrorInvalidSource);
  EXPECT_NUMBER(kSharedObjectSymbolNotFound, hipErrorSharedObjectSymbolNotFound);
  EXPECT_NUMBER(kSharedObjectInitFailed, hipErrorSharedObjectInitFailed);
  EXPECT_NUMBER(kOperatingSystem, hipErrorOperatingSystem);
  EXPECT_NUMBER(kIllegalState, hipErrorIllegalState);
  EXPECT_NUMBER(kNotFound, hipErrorNotFound);
  EXPECT_NUMBER(kIllegalAddress, hipErrorIllegalAddress);
  EXPECT_NUMBER(kLaunchOutOfResources, hipErrorLaunchOutOfResources);
  EXPECT_NUMBER(kLaunchTimeOut, hipErrorLaunchTimeOut);
  EXPECT_NUMBER(kContextIsDestroyed, hipErrorContextIsDestroyed);
  EXPECT_NUMBER(kAssert, hipErrorAssert);
  EXPECT_NUMBER(kLaunchFailure, hipErrorLaunchFailure);
  EXPECT_NUMBER(kCooperativeLaunchTooLarge, hipErrorCooperativeLaunchTooLarge);
  EXPECT_NUMBER(kNotSupported, hipErrorNotSupported);
  EXPECT_NUMBER(kStreamCaptureUnsupported, hipErrorStreamCaptureUnsupported);
  EXPECT_NUMBER(kStreamCaptureImplicit, hipErrorStreamCaptureImplicit);
  EXPECT_NUMBER(kUnknown, hipErrorUnknown);
  EXPECT_NUMBER(kRuntimeMemory, hipErrorRuntimeMemory);
  EXPECT_NUMBER(kRuntimeOther, hipErrorRuntimeOther);
}

TEST(HipTypes, AttributesHaveTheirNumbers) {
  EXPECT_NUMBER(Attribute::l2_cache, hipDeviceAttributeL2CacheSize);
  EXPECT_NUMBER(Attribute::max_block_x, hipDeviceAttributeMaxBlockDimX);
  EXPECT_NUMBER(Attribute::max_block_y, hipDeviceAttributeMaxBlockDimY);
  EXPECT_NUMBER(Attribute::max_block_z, hipDeviceAttributeMaxBlockDimZ);
  EXPECT_NUMBER(Attribute::max_grid_x, hipDeviceAttributeMaxGridDimX);
  EXPECT_NUMBER(Attribute::max_grid_y, hipDeviceAttributeMaxGridDimY);
  EXPECT_NUMBER(Attribute::max_grid_z, hipDeviceAttributeMaxGridDimZ);
  EXPECT_NUMBER(Attribute::max_threads_per_block, hipDeviceAttributeMaxThreadsPerBlock);
  EXPECT_NUMBER(Attribute::max_threads_per_multiprocessor, hipDeviceAttributeMaxThreadsPerMultiProcessor);
  EXPECT_NUMBER(Attribute::multiprocessors, hipDeviceAttributeMultiprocessorCount);
  EXPECT_NUMBER(Attribute::shared_memory_per_block, hipDeviceAttributeMaxSharedMemoryPerBlock);
  EXPECT_NUMBER(Attribute::warp_size, hipDeviceAttributeWarpSize);
}

TEST(HipTypes, FlagsHaveTheirValues) {
  EXPECT_NUMBER(kStreamNonBlocking, hipStreamNonBlocking);
  EXPECT_NUMBER(kEventDefault, hipEventDefault);
  EXPECT_NUMBER(kEventDisableTiming, hipEventDisableTiming);
  EXPECT_NUMBER(kHostPortable, hipHostMallocPortable);
  EXPECT_NUMBER(kHostPortable, hipHostRegisterPortable);
  EXPECT_NUMBER(kHostMapped, hipHostRegisterMapped);
  EXPECT_EQ(kLaunchBufferPointer, HIP_LAUNCH_PARAM_BUFFER_POINTER);
  EXPECT_EQ(kLaunchBufferSize, HIP_LAUNCH_PARAM_BUFFER_SIZE);
  EXPECT_EQ(kLaunchEnd, HIP_LAUNCH_PARAM_END);
  EXPECT_NUMBER(kPinned, hipMemAllocationTypePinned);
  EXPECT_NUMBER(kDescriptorHandle, hipMemHandleTypePosixFileDescriptor);
  EXPECT_NUMBER(kOnDevice, hipMemLocationTypeDevice);
  EXPECT_NUMBER(kAccessNone, hipMemAccessFlagsProtNone);
  EXPECT_NUMBER(kAccessRead, hipMemAccessFlagsProtRead);
  EXPECT_NUMBER(kAccessReadWrite, hipMemAccessFlagsProtReadWrite);
  EXPECT_NUMBER(kMinimumGranularity, hipMemAllocationGranularityMinimum);
}

TEST(HipTypes, StructuresHaveTheirLayouts) {
  static_assert(sizeof(AccessDescription) == sizeof(hipMemAccessDesc));
  EXPECT_EQ(offsetof(AccessDescription, flags), offsetof(hipMemAccessDesc, flags));
#if HIP_VERSION_MAJOR >= 6
  const PropertiesLayout& layout = kPropertiesSince6;
  EXPECT_EQ(offsetof(AllocationProperties, location), offsetof(hipMemAllocationProp, location));
  EXPECT_EQ(offsetof(AllocationProperties, metadata), offsetof(hipMemAllocationProp, win32HandleMetaData));
  EXPECT_EQ(sizeof(AllocationProperties), sizeof(hipMemAllocationProp));
#else
  const PropertiesLayout& layout = kPropertiesBefore6;
#endif
  EXPECT_EQ(layout.architecture, offsetof(hipDeviceProp_t, gcnArchName));
  EXPECT_GE(layout.size, layout.architecture + kNameSize);
  EXPECT_LE(sizeof(hipDeviceProp_t), layout.size + 4096);
  EXPECT_EQ(sizeof(hipDeviceProp_t::gcnArchName), kNameSize);
}

}  // namespace
}  // namespace mneme::hip
