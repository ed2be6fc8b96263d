#include "mneme/hip/errors.h"

#include "mneme/hip/rows.h"

namespace mneme::hip {
namespace {

thread_local hipError_t last_error = hipSuccess;
// Of the last call, where a runtime that tells results apart from errors has it not.
thread_local hipError_t last_result = hipSuccess;

// HIP has given most of its errors the number that CUDA's has. Others of CUDA's become what is nearest to them.
constexpr bool has_same_number(cudaError_t code) {
  switch (code) {
#define MNEME_SAME(cuda, hip)                                     \
  static_assert(static_cast<int>(cuda) == static_cast<int>(hip)); \
  case cuda: return true;
    MNEME_SAME(cudaSuccess, hipSuccess)
    MNEME_SAME(cudaErrorInvalidValue, hipErrorInvalidValue)
    MNEME_SAME(cudaErrorMemoryAllocation, hipErrorOutOfMemory)
    MNEME_SAME(cudaErrorInitializationError, hipErrorNotInitialized)
    MNEME_SAME(cudaErrorCudartUnloading, hipErrorDeinitialized)
    MNEME_SAME(cudaErrorInvalidConfiguration, hipErrorInvalidConfiguration)
    MNEME_SAME(cudaErrorInvalidPitchValue, hipErrorInvalidPitchValue)
    MNEME_SAME(cudaErrorInvalidSymbol, hipErrorInvalidSymbol)
    MNEME_SAME(cudaErrorInvalidDevicePointer, hipErrorInvalidDevicePointer)
    MNEME_SAME(cudaErrorInvalidMemcpyDirection, hipErrorInvalidMemcpyDirection)
    MNEME_SAME(cudaErrorInsufficientDriver, hipErrorInsufficientDriver)
    MNEME_SAME(cudaErrorMissingConfiguration, hipErrorMissingConfiguration)
    MNEME_SAME(cudaErrorPriorLaunchFailure, hipErrorPriorLaunchFailure)
    MNEME_SAME(cudaErrorInvalidDeviceFunction, hipErrorInvalidDeviceFunction)
    MNEME_SAME(cudaErrorNoDevice, hipErrorNoDevice)
    MNEME_SAME(cudaErrorInvalidDevice, hipErrorInvalidDevice)
    MNEME_SAME(cudaErrorInvalidKernelImage, hipErrorInvalidImage)
    MNEME_SAME(cudaErrorDeviceUninitialized, hipErrorInvalidContext)
    MNEME_SAME(cudaErrorMapBufferObjectFailed, hipErrorMapFailed)
    MNEME_SAME(cudaErrorUnmapBufferObjectFailed, hipErrorUnmapFailed)
    MNEME_SAME(cudaErrorNoKernelImageForDevice, hipErrorNoBinaryForGpu)
    MNEME_SAME(cudaErrorECCUncorrectable, hipErrorECCNotCorrectable)
    MNEME_SAME(cudaErrorUnsupportedLimit, hipErrorUnsupportedLimit)
    MNEME_SAME(cudaErrorPeerAccessUnsupported, hipErrorPeerAccessUnsupported)
    MNEME_SAME(cudaErrorInvalidSource, hipErrorInvalidSource)
    MNEME_SAME(cudaErrorFileNotFound, hipErrorFileNotFound)
    MNEME_SAME(cudaErrorSharedObjectSymbolNotFound, hipErrorSharedObjectSymbolNotFound)
    MNEME_SAME(cudaErrorSharedObjectInitFailed, hipErrorSharedObjectInitFailed)
    MNEME_SAME(cudaErrorOperatingSystem, hipErrorOperatingSystem)
    MNEME_SAME(cudaErrorInvalidResourceHandle, hipErrorInvalidHandle)
    MNEME_SAME(cudaErrorIllegalState, hipErrorIllegalState)
    MNEME_SAME(cudaErrorSymbolNotFound, hipErrorNotFound)
    MNEME_SAME(cudaErrorNotReady, hipErrorNotReady)
    MNEME_SAME(cudaErrorIllegalAddress, hipErrorIllegalAddress)
    MNEME_SAME(cudaErrorLaunchOutOfResources, hipErrorLaunchOutOfResources)
    MNEME_SAME(cudaErrorLaunchTimeout, hipErrorLaunchTimeOut)
    MNEME_SAME(cudaErrorPeerAccessAlreadyEnabled, hipErrorPeerAccessAlreadyEnabled)
    MNEME_SAME(cudaErrorPeerAccessNotEnabled, hipErrorPeerAccessNotEnabled)
    MNEME_SAME(cudaErrorSetOnActiveProcess, hipErrorSetOnActiveProcess)
    MNEME_SAME(cudaErrorContextIsDestroyed, hipErrorContextIsDestroyed)
    MNEME_SAME(cudaErrorAssert, hipErrorAssert)
    MNEME_SAME(cudaErrorHostMemoryAlreadyRegistered, hipErrorHostMemoryAlreadyRegistered)
    MNEME_SAME(cudaErrorHostMemoryNotRegistered, hipErrorHostMemoryNotRegistered)
    MNEME_SAME(cudaErrorLaunchFailure, hipErrorLaunchFailure)
    MNEME_SAME(cudaErrorCooperativeLaunchTooLarge, hipErrorCooperativeLaunchTooLarge)
    MNEME_SAME(cudaErrorNotSupported, hipErrorNotSupported)
    MNEME_SAME(cudaErrorStreamCaptureUnsupported, hipErrorStreamCaptureUnsupported)
    MNEME_SAME(cudaErrorStreamCaptureInvalidated, hipErrorStreamCaptureInvalidated)
    MNEME_SAME(cudaErrorStreamCaptureMerge, hipErrorStreamCaptureMerge)
    MNEME_SAME(cudaErrorStreamCaptureUnmatched, hipErrorStreamCaptureUnmatched)
    MNEME_SAME(cudaErrorStreamCaptureUnjoined, hipErrorStreamCaptureUnjoined)
    MNEME_SAME(cudaErrorStreamCaptureIsolation, hipErrorStreamCaptureIsolation)
    MNEME_SAME(cudaErrorStreamCaptureImplicit, hipErrorStreamCaptureImplicit)
    MNEME_SAME(cudaErrorCapturedEvent, hipErrorCapturedEvent)
    MNEME_SAME(cudaErrorStreamCaptureWrongThread, hipErrorStreamCaptureWrongThread)
    MNEME_SAME(cudaErrorGraphExecUpdateFailure, hipErrorGraphExecUpdateFailure)
    MNEME_SAME(cudaErrorUnknown, hipErrorUnknown)
#undef MNEME_SAME
    default: return false;
  }
}

// Neither is what is not done yet.
constexpr bool is_error(hipError_t code) { return code != hipSuccess && code != hipErrorNotReady; }

// Whether the program's runtime keeps a thread's last error until it is read, as CUDA does: from ROCm 7 on.
bool keeps_errors(const Table& table) {
  const auto version_of = MNEME_REAL(table, hipRuntimeGetVersion);
  constexpr int kMajor = 10'000'000;
  int version = 0;
  return version_of && version_of(&version) == hipSuccess && version / kMajor >= 7;
}

// Null where the runtime has none. Before ROCm 7 it is another name of hipGetLastError.
using ExtGetLastError = hipError_t (*)();
ExtGetLastError real_ext_get_last_error(const Table& table) { return table.runtime<ExtGetLastError>("hipExtGetLastError"); }

// The runtime knows of calls that pass by here; of what an interposer has refused it does not.
hipError_t get_last_error(Table& table) {
  const hipError_t mine = take_last_error();
  if (table.ends_in_runtime()) {
    const hipError_t left = MNEME_REAL(table, hipGetLastError)();
    return left != hipSuccess ? left : mine;
  }
  const hipError_t left = to_hip(MNEME_CUDA(table, cudaGetLastError)());
  return mine != hipSuccess ? mine : left;
}

hipError_t peek_at_last_error(Table& table) {
  if (table.ends_in_runtime()) {
    const hipError_t left = MNEME_REAL(table, hipPeekAtLastError)();
    return last_result = left != hipSuccess ? left : peek_last_error();
  }
  const hipError_t mine = peek_last_error();
  return mine != hipSuccess ? mine : to_hip(MNEME_CUDA(table, cudaPeekAtLastError)());
}

// The texts are those of the program's own HIP runtime, which needs no device for them.
const char* get_error_name(Table& table, hipError_t code) {
  const auto real = reinterpret_cast<decltype(&::hipGetErrorName)>(table.real(MNEME_CALL_hipGetErrorName));
  return real ? real(code) : "hipErrorUnknown";
}
const char* get_error_string(Table& table, hipError_t code) {
  const auto real = reinterpret_cast<decltype(&::hipGetErrorString)>(table.real(MNEME_CALL_hipGetErrorString));
  return real ? real(code) : "unknown error";
}

// The runtime's own, of which this thread's is one.
cudaError_t end_of_get_last_error(Table& table) { return to_cuda(MNEME_REAL(table, hipGetLastError)()); }
cudaError_t end_of_peek_at_last_error(Table& table) { return to_cuda(MNEME_REAL(table, hipPeekAtLastError)()); }
const char* end_of_get_error_name(Table& table, cudaError_t code) { return get_error_name(table, to_hip(code)); }
const char* end_of_get_error_string(Table& table, cudaError_t code) { return get_error_string(table, to_hip(code)); }

using Rows = HookList<Hook<MNEME_CALL_hipGetLastError, &get_last_error>, Hook<MNEME_CALL_hipPeekAtLastError, &peek_at_last_error>,
                      Hook<MNEME_CALL_hipGetErrorName, &get_error_name>, Hook<MNEME_CALL_hipGetErrorString, &get_error_string>>;

using Ends = HookList<MNEME_WRITTEN_END(hipGetLastError, cudaGetLastError, end_of_get_last_error),
                      MNEME_WRITTEN_END(hipPeekAtLastError, cudaPeekAtLastError, end_of_peek_at_last_error),
                      MNEME_WRITTEN_END(hipGetErrorName, cudaGetErrorName, end_of_get_error_name),
                      MNEME_WRITTEN_END(hipGetErrorString, cudaGetErrorString, end_of_get_error_string)>;

}  // namespace

hipError_t to_hip(cudaError_t code) {
  if (has_same_number(code)) return static_cast<hipError_t>(code);
  switch (code) {
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc: return hipErrorLaunchFailure;
    case cudaErrorInvalidTexture:
    case cudaErrorInvalidChannelDescriptor: return hipErrorInvalidValue;
    default: return hipErrorUnknown;
  }
}

cudaError_t to_cuda(hipError_t code) {
  const auto same = static_cast<cudaError_t>(code);
  return has_same_number(same) ? same : cudaErrorUnknown;
}

hipError_t finish(hipError_t result) {
  last_result = result;
  if (result != hipSuccess) last_error = result;
  return result;
}
hipError_t finish(const Table& table, hipError_t result) {
  if (!table.ends_in_runtime()) return finish(result);
  if (!is_error(result)) {
    if (last_error != hipSuccess && !keeps_errors(table)) last_error = hipSuccess;
    last_result = result;
  } else {
    last_error = last_result = MNEME_REAL(table, hipPeekAtLastError)() != hipSuccess ? hipSuccess : result;
  }
  return result;
}

LastError::LastError(const Table& table)
    : table_(table),
      before_(!table.ends_in_runtime()   ? hipSuccess
              : last_error != hipSuccess ? last_error
                                         : MNEME_REAL(table, hipPeekAtLastError)()) {}

hipError_t LastError::finish(hipError_t result) const {
  if (!table_.ends_in_runtime()) return hip::finish(result);
  const bool runtime_has_it = leave_error(result);
  // The runtime's is that of whichever call was the last, Mneme's own among them.
  if (const auto take = real_ext_get_last_error(table_); take && keeps_errors(table_)) {
    (void)take();
    last_result = result;
    // There a last error that is asked for is the result of the last call, until the program makes another one, seen or not.
    if (runtime_has_it) (void)MNEME_REAL(table_, hipPeekAtLastError)(), last_result = hipSuccess;
  }
  return result;
}

bool LastError::leave_error(hipError_t result) const {
  const hipError_t known = MNEME_REAL(table_, hipPeekAtLastError)();
  hipError_t wanted = result;
  if (!is_error(result)) wanted = is_error(before_) && keeps_errors(table_) ? before_ : hipSuccess;
  // The runtime may have a code of its own of what CUDA has one for.
  if (is_error(known) && is_error(wanted) && to_cuda(known) == to_cuda(wanted)) {
    last_error = hipSuccess;
    return is_error(result);
  }
  if (is_error(known)) (void)MNEME_REAL(table_, hipGetLastError)();
  last_error = wanted;
  return false;
}

hipError_t ext_get_last_error(Table& table) {
  if (!table.ends_in_runtime()) return std::exchange(last_result, hipSuccess);
  const auto take = real_ext_get_last_error(table);
  if (!take) return get_last_error(table);
  const hipError_t left = take();  // before anything else is asked, which would be the last call
  const hipError_t mine = keeps_errors(table) ? std::exchange(last_result, hipSuccess) : take_last_error();
  return left != hipSuccess ? left : mine;
}
hipError_t take_last_error() { return std::exchange(last_error, hipSuccess); }
hipError_t peek_last_error() { return last_error; }

void install_errors(const Table& table) { install_both_ways<Rows, Ends>(table); }

}  // namespace mneme::hip
