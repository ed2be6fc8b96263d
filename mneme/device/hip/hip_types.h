// The few types and numbers of HIP's binary interface that Mneme needs.
//
// They are declared here, as AMD documents them, because a build's headers are of one version and the program runs with the
// runtime that is there: between ROCm 5 and 6 two structures changed, one of them without a new name. A test compares the rest
// with the headers that are installed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace mneme::hip {

using Error = int;
inline constexpr Error kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kDeinitialized = 4, kInvalidConfiguration = 9,
                       kInsufficientDriver = 35, kNoDevice = 100, kInvalidDevice = 101, kInvalidImage = 200,
                       kNoBinaryForGpu = 209, kEccNotCorrectable = 214, kUnsupportedLimit = 215, kInvalidKernelFile = 218,
                       kInvalidSource = 300, kSharedObjectSymbolNotFound = 302, kSharedObjectInitFailed = 303,
                       kOperatingSystem = 304, kIllegalState = 401, kNotFound = 500, kIllegalAddress = 700,
                       kLaunchOutOfResources = 701, kLaunchTimeOut = 702, kContextIsDestroyed = 709, kAssert = 710,
                       kLaunchFailure = 719, kCooperativeLaunchTooLarge = 720, kNotSupported = 801,
                       kStreamCaptureUnsupported = 900, kStreamCaptureImplicit = 906, kUnknown = 999, kRuntimeMemory = 1052,
                       kRuntimeOther = 1053;

using StreamHandle = struct ihipStream*;
using EventHandle = struct ihipEvent*;
using ModuleHandle = struct ihipModule*;
using FunctionHandle = struct ihipFunction*;
using MemoryHandle = struct ihipMemory*;

enum class Attribute : int {
  l2_cache = 19,
  max_block_x = 26,
  max_block_y = 27,
  max_block_z = 28,
  max_grid_x = 29,
  max_grid_y = 30,
  max_grid_z = 31,
  max_threads_per_block = 56,
  max_threads_per_multiprocessor = 57,
  multiprocessors = 63,
  shared_memory_per_block = 74,
  warp_size = 87,
  virtual_memory_management = 89,  // since ROCm 5.3
  image_support = 10014,
};

inline constexpr unsigned kStreamNonBlocking = 1, kEventDefault = 0, kEventDisableTiming = 2;
inline constexpr unsigned kHostPortable = 1, kHostMapped = 2;  // of allocating and of registering

inline void* const kLaunchBufferPointer = reinterpret_cast<void*>(1);
inline void* const kLaunchBufferSize = reinterpret_cast<void*>(2);
inline void* const kLaunchEnd = reinterpret_cast<void*>(3);

inline constexpr int kPinned = 1, kDescriptorHandle = 1, kOnDevice = 1, kMinimumGranularity = 0;
inline constexpr int kAccessNone = 0, kAccessRead = 1, kAccessReadWrite = 3;
struct Location {
  int type = kOnDevice;
  int device = 0;
};
struct AccessDescription {
  Location location;
  int flags = kAccessNone;
};
// As it has been since ROCm 5.3. The one of 5.2, whose functions only say that they are not supported, begins differently.
struct AllocationProperties {
  int type = kPinned;
  int handle_type = 0;
  Location location;
  void* metadata = nullptr;
  unsigned char compression = 0, direct_access = 0;
  unsigned short usage = 0;
};

// Where a device's properties have the name of its architecture: those of hipGetDevicePropertiesR0600, which came with ROCm 6,
// and those of hipGetDeviceProperties before.
struct PropertiesLayout {
  const char* function;
  size_t architecture, size;
};
inline constexpr PropertiesLayout kPropertiesSince6{"hipGetDevicePropertiesR0600", 1160, 1472};
inline constexpr PropertiesLayout kPropertiesBefore6{"hipGetDeviceProperties", 396, 792};
inline constexpr size_t kNameSize = 256;

}  // namespace mneme::hip
