// What hip_types.h declares is what the installed headers of HIP do, but for what has changed between ROCm's versions.
#include "mneme/device/hip/hip_types.h"

#include <gtest/gtest.h>
#include <hip/hip_runtime_api.h>

#include "mneme/base/texture_descriptors.h"
#include "mneme/device/hip/hip_texture_types.h"

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
  EXPECT_NUMBER(Attribute::image_support, hipDeviceAttributeImageSupport);
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

TEST(HipTypes, TexturesHaveTheirNumbers) {
  EXPECT_NUMBER(ChannelKind::signed_integer, hipChannelFormatKindSigned);
  EXPECT_NUMBER(ChannelKind::unsigned_integer, hipChannelFormatKindUnsigned);
  EXPECT_NUMBER(ChannelKind::real, hipChannelFormatKindFloat);
  EXPECT_NUMBER(kDeviceToDevice, hipMemcpyDeviceToDevice);
  EXPECT_NUMBER(ResourceType::array, hipResourceTypeArray);
  EXPECT_NUMBER(ResourceType::mipmapped, hipResourceTypeMipmappedArray);
  EXPECT_NUMBER(ResourceType::linear, hipResourceTypeLinear);
  EXPECT_NUMBER(ResourceType::pitched, hipResourceTypePitch2D);
  EXPECT_NUMBER(kReadAsElements, hipReadModeElementType);
  EXPECT_NUMBER(kReadAsNormalized, hipReadModeNormalizedFloat);
  EXPECT_NUMBER(ArrayShape::kLayered, hipArrayLayered);
  EXPECT_NUMBER(ArrayShape::kSurface, hipArraySurfaceLoadStore);
  EXPECT_NUMBER(ArrayShape::kCubemap, hipArrayCubemap);
  EXPECT_NUMBER(ArrayShape::kGather, hipArrayTextureGather);
  // Recordings have CUDA's: CU_TR_ADDRESS_MODE_BORDER, CU_TR_FILTER_MODE_LINEAR, CU_RES_VIEW_FORMAT_FLOAT_1X32.
  EXPECT_NUMBER(3, hipAddressModeBorder);
  EXPECT_NUMBER(1, hipFilterModeLinear);
  EXPECT_NUMBER(0x16, hipResViewFormatFloat1);
}

#define EXPECT_MEMBER(Own, own, Theirs, theirs)                                    \
  EXPECT_EQ(offsetof(Own, own), offsetof(Theirs, theirs)) << #Theirs "::" #theirs; \
  EXPECT_EQ(sizeof(Own::own), sizeof(Theirs::theirs)) << #Theirs "::" #theirs

TEST(HipTypes, TexturesHaveTheirLayouts) {
  static_assert(sizeof(ChannelDescription) == sizeof(hipChannelFormatDesc) && sizeof(Extent) == sizeof(hipExtent));
  EXPECT_MEMBER(ChannelDescription, w, hipChannelFormatDesc, w);
  EXPECT_MEMBER(ChannelDescription, kind, hipChannelFormatDesc, f);
  EXPECT_MEMBER(Extent, depth, hipExtent, depth);

  static_assert(sizeof(Copy3d) == sizeof(hipMemcpy3DParms));
  EXPECT_MEMBER(Copy3d, from_position, hipMemcpy3DParms, srcPos);
  EXPECT_MEMBER(Copy3d, from, hipMemcpy3DParms, srcPtr);
  EXPECT_MEMBER(Copy3d, to_array, hipMemcpy3DParms, dstArray);
  EXPECT_MEMBER(Copy3d, to, hipMemcpy3DParms, dstPtr);
  EXPECT_MEMBER(Copy3d, extent, hipMemcpy3DParms, extent);
  EXPECT_MEMBER(Copy3d, kind, hipMemcpy3DParms, kind);
  EXPECT_MEMBER(PitchedPointer, pitch, hipPitchedPtr, pitch);
  EXPECT_MEMBER(PitchedPointer, width, hipPitchedPtr, xsize);
  EXPECT_MEMBER(PitchedPointer, height, hipPitchedPtr, ysize);

  static_assert(sizeof(ResourceDescription) == sizeof(hipResourceDesc));
  EXPECT_EQ(offsetof(ResourceDescription, array), offsetof(hipResourceDesc, res.array.array));
  EXPECT_EQ(offsetof(ResourceDescription, mipmapped), offsetof(hipResourceDesc, res.mipmap.mipmap));
  EXPECT_EQ(offsetof(ResourceDescription, linear.channels), offsetof(hipResourceDesc, res.linear.desc));
  EXPECT_EQ(offsetof(ResourceDescription, linear.size), offsetof(hipResourceDesc, res.linear.sizeInBytes));
  EXPECT_EQ(offsetof(ResourceDescription, pitched.width), offsetof(hipResourceDesc, res.pitch2D.width));
  EXPECT_EQ(offsetof(ResourceDescription, pitched.pitch), offsetof(hipResourceDesc, res.pitch2D.pitchInBytes));

  static_assert(sizeof(TextureDescription) == sizeof(hipTextureDesc));
  EXPECT_MEMBER(TextureDescription, filter, hipTextureDesc, filterMode);
  EXPECT_MEMBER(TextureDescription, read, hipTextureDesc, readMode);
  EXPECT_MEMBER(TextureDescription, srgb, hipTextureDesc, sRGB);
  EXPECT_MEMBER(TextureDescription, border, hipTextureDesc, borderColor);
  EXPECT_MEMBER(TextureDescription, normalized_coordinates, hipTextureDesc, normalizedCoords);
  EXPECT_MEMBER(TextureDescription, anisotropy, hipTextureDesc, maxAnisotropy);
  EXPECT_MEMBER(TextureDescription, level_filter, hipTextureDesc, mipmapFilterMode);
  EXPECT_MEMBER(TextureDescription, level_bias, hipTextureDesc, mipmapLevelBias);
  EXPECT_MEMBER(TextureDescription, least_level, hipTextureDesc, minMipmapLevelClamp);
  EXPECT_MEMBER(TextureDescription, greatest_level, hipTextureDesc, maxMipmapLevelClamp);

  static_assert(sizeof(ViewDescription) == sizeof(hipResourceViewDesc));
  EXPECT_MEMBER(ViewDescription, width, hipResourceViewDesc, width);
  EXPECT_MEMBER(ViewDescription, depth, hipResourceViewDesc, depth);
  EXPECT_MEMBER(ViewDescription, first_level, hipResourceViewDesc, firstMipmapLevel);
  EXPECT_MEMBER(ViewDescription, last_layer, hipResourceViewDesc, lastLayer);

  // What a handle points to, as far as kernels read it.
  TextureObject object;
  object.handle = uint64_t{1} << 40;
  EXPECT_EQ(descriptors_of(object)->size.count, 4 * HIP_TEXTURE_OBJECT_SIZE_DWORD);
  object.kind = TextureObject::Kind::surface;
  EXPECT_EQ(descriptors_of(object)->size.count, 4 * HIP_IMAGE_OBJECT_SIZE_DWORD);
}

}  // namespace
}  // namespace mneme::hip
