#include "mneme/device/hip/error.h"

namespace mneme::hip {

bool is_fault(Error error) {
  switch (error) {
    case kEccNotCorrectable:
    case kIllegalState:  // what the runtime returns of a queue that a fault has stopped
    case kIllegalAddress:
    case kLaunchTimeOut:
    case kContextIsDestroyed:
    case kAssert:
    case kLaunchFailure: return true;
    default: return false;
  }
}

Code code_of(Error error) {
  if (is_fault(error)) return Code::device_fault;
  switch (error) {
    case 0: return Code::ok;
    case kInvalidValue:
    case kInvalidConfiguration:
    case kLaunchOutOfResources:  // a shape with more registers or LDS than a compute unit has
    case kCooperativeLaunchTooLarge: return Code::invalid_argument;
    case kOutOfMemory:
    case kRuntimeMemory: return Code::exhausted;
    case kNotFound: return Code::not_found;
    case kNotSupported:
    case kUnsupportedLimit:
    case kStreamCaptureUnsupported:
    case kStreamCaptureImplicit: return Code::unsupported;
    case kInvalidImage:
    case kNoBinaryForGpu:
    case kInvalidKernelFile:
    case kInvalidSource:
    case kSharedObjectSymbolNotFound:
    case kSharedObjectInitFailed: return Code::incompatible;
    case kNotInitialized:
    case kDeinitialized:
    case kInsufficientDriver:
    case kNoDevice:
    case kInvalidDevice:
    case kOperatingSystem: return Code::unavailable;
    default: return Code::internal;
  }
}

Status status_of(const Driver& driver, Error error, std::string_view call) {
  if (error == 0) return {};
  const char* name = driver.hipGetErrorName(error);
  if (name == nullptr) return mneme::error(code_of(error), "{}: HIP error {}", call, error);
  const char* words = driver.hipGetErrorString(error);
  return mneme::error(code_of(error), "{}: {} ({})", call, name, words != nullptr ? words : "no description");
}

}  // namespace mneme::hip
