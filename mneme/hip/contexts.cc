// Contexts: there is one, the primary one of the device, which every program has from its beginning.
#include "mneme/hip/loaded_code.h"
#include "mneme/hip/rows.h"

namespace mneme::hip {
namespace {

// Its address is the handle; nothing is in it.
char primary;
hipCtx_t context() { return reinterpret_cast<hipCtx_t>(&primary); }

hipError_t give(hipCtx_t* out) {
  if (!out) return hipErrorInvalidValue;
  *out = context();
  return hipSuccess;
}
hipError_t check(hipCtx_t given) { return given == context() || !given ? hipSuccess : hipErrorInvalidContext; }
hipError_t check_device(hipDevice_t device) { return device == 0 ? hipSuccess : hipErrorInvalidDevice; }

hipError_t create(Table&, hipCtx_t* out, unsigned, hipDevice_t device) {
  return check_device(device) == hipSuccess ? give(out) : hipErrorInvalidDevice;
}
hipError_t take(Table&, hipCtx_t given) { return check(given); }
hipError_t get(Table&, hipCtx_t* out) { return give(out); }
hipError_t get_device(Table&, hipDevice_t* device) {
  if (!device) return hipErrorInvalidValue;
  *device = 0;
  return hipSuccess;
}
hipError_t get_state(Table&, hipDevice_t device, unsigned* flags, int* active) {
  if (!flags || !active) return hipErrorInvalidValue;
  *flags = 0;
  *active = 1;
  return check_device(device);
}
hipError_t retain(Table&, hipCtx_t* out, hipDevice_t device) {
  return check_device(device) == hipSuccess ? give(out) : hipErrorInvalidDevice;
}
hipError_t release(Table&, hipDevice_t device) { return check_device(device); }
hipError_t set_flags(Table&, hipDevice_t, unsigned) { return hipErrorContextAlreadyInUse; }
hipError_t reset(Table& table, hipDevice_t device) {
  int before = 0;
  cudaError_t code = MNEME_CUDA(table, cudaGetDevice)(&before);
  if (code == cudaSuccess) code = MNEME_CUDA(table, cudaSetDevice)(device);
  if (code != cudaSuccess) return to_hip(code);
  if (table.ends_in_runtime()) unload_from_current_device(table);
  code = MNEME_CUDA(table, cudaDeviceReset)();
  (void)MNEME_CUDA(table, cudaSetDevice)(before);
  return to_hip(code);
}
// The version that HIP's documentation gives.
hipError_t get_version(Table&, hipCtx_t given, int* version) {
  if (!version) return hipErrorInvalidValue;
  *version = 4;
  return check(given);
}
// There is no other device.
hipError_t enable_peer(Table&, hipCtx_t, unsigned) { return hipErrorInvalidDevice; }
hipError_t disable_peer(Table&, hipCtx_t) { return hipErrorPeerAccessNotEnabled; }

using Rows =
    HookList<MNEME_EMULATED(hipCtxCreate, create), MNEME_EMULATED(hipCtxDestroy, take), MNEME_EMULATED(hipCtxPushCurrent, take),
             MNEME_EMULATED(hipCtxSetCurrent, take), MNEME_EMULATED(hipCtxPopCurrent, get), MNEME_EMULATED(hipCtxGetCurrent, get),
             MNEME_EMULATED(hipCtxGetDevice, get_device), MNEME_EMULATED(hipDevicePrimaryCtxGetState, get_state),
             MNEME_EMULATED(hipDevicePrimaryCtxRetain, retain), MNEME_EMULATED(hipDevicePrimaryCtxRelease, release),
             MNEME_EMULATED(hipDevicePrimaryCtxSetFlags, set_flags), MNEME_OWN(hipDevicePrimaryCtxReset, reset),
             MNEME_EMULATED(hipCtxGetApiVersion, get_version), MNEME_EMULATED(hipCtxEnablePeerAccess, enable_peer),
             MNEME_EMULATED(hipCtxDisablePeerAccess, disable_peer), MNEME_ROW(hipCtxSynchronize, cudaDeviceSynchronize),
             MNEME_ROW(hipCtxGetFlags, cudaGetDeviceFlags), MNEME_ROW(hipCtxGetCacheConfig, cudaDeviceGetCacheConfig),
             MNEME_ROW(hipCtxSetCacheConfig, cudaDeviceSetCacheConfig),
             MNEME_ROW(hipCtxGetSharedMemConfig, cudaDeviceGetSharedMemConfig),
             MNEME_ROW(hipCtxSetSharedMemConfig, cudaDeviceSetSharedMemConfig)>;

}  // namespace

void install_contexts(const Table& table) { install_both_ways<Rows>(table); }

}  // namespace mneme::hip
