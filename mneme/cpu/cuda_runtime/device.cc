// The device itself: there is one, number 0, and it says what it is.
#include <cuda_profiler_api.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <iterator>
#include <string>

#include "mneme/cpu/cuda_runtime/context.h"
#include "mneme/cpu/cuda_runtime/slots.h"
#include "mneme/cpu/run/cpu_device.h"

namespace mneme::emulation {
namespace {

constexpr int kRegisters = 65536;
constexpr size_t kConstantBytes = 64 << 10;
constexpr size_t kCacheBytes = 50 << 20;
constexpr unsigned kKnownFlags = cudaDeviceMask;

std::atomic<unsigned> device_flags = cudaDeviceScheduleAuto;
std::atomic<size_t> limits[cudaLimitPersistingL2CacheSize + 1] = {1024, 1 << 20, 8 << 20, 2, 2048, 128, 0};

const DeviceProperties& properties() { return Context::get().device().properties(); }

// The name fits in cudaDeviceProp and never looks like a GPU's.
std::string device_name() { return "Mneme CPU device (" + properties().name + ")"; }

cudaError_t check(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidDevice; }

cudaError_t get_count(int* count) {
  if (!count) return cudaErrorInvalidValue;
  *count = 1;
  return cudaSuccess;
}
cudaError_t get(int* device) {
  if (!device) return cudaErrorInvalidValue;
  *device = 0;
  return cudaSuccess;
}
cudaError_t set(int device) { return check(device); }
cudaError_t init(int device, unsigned, unsigned) { return check(device); }
cudaError_t set_valid(int* devices, int count) {
  return count == 0 || (devices && check(devices[0]) == cudaSuccess) ? cudaSuccess : cudaErrorInvalidDevice;
}
cudaError_t choose(int* device, const cudaDeviceProp* wanted) { return wanted ? get(device) : cudaErrorInvalidValue; }

template <size_t kCount>
void set_extents(int (&out)[kCount], const int (&extents)[kCount]) {
  std::copy(std::begin(extents), std::end(extents), out);
}

// Those of a GPU of compute capability 9.0.
void set_image_limits(cudaDeviceProp& out) {
  out.textureAlignment = out.surfaceAlignment = 512;
  out.texturePitchAlignment = 32;
  out.maxTexture1D = 131072;
  out.maxTexture1DMipmap = 32768;
  set_extents(out.maxTexture2D, {131072, 65536});
  set_extents(out.maxTexture2DMipmap, {32768, 32768});
  set_extents(out.maxTexture2DLinear, {131072, 65000, 2097120});
  set_extents(out.maxTexture2DGather, {32768, 32768});
  set_extents(out.maxTexture3D, {16384, 16384, 16384});
  set_extents(out.maxTexture3DAlt, {8192, 8192, 32768});
  out.maxTextureCubemap = 32768;
  set_extents(out.maxTexture1DLayered, {32768, 2048});
  set_extents(out.maxTexture2DLayered, {32768, 32768, 2048});
  set_extents(out.maxTextureCubemapLayered, {32768, 2046});
  out.maxSurface1D = 32768;
  set_extents(out.maxSurface2D, {131072, 65536});
  set_extents(out.maxSurface3D, {16384, 16384, 16384});
  set_extents(out.maxSurface1DLayered, {32768, 2048});
  set_extents(out.maxSurface2DLayered, {32768, 32768, 2048});
  out.maxSurfaceCubemap = 32768;
  set_extents(out.maxSurfaceCubemapLayered, {32768, 2046});
}

cudaError_t get_properties(cudaDeviceProp* out, int device) {
  if (!out) return cudaErrorInvalidValue;
  if (cudaError_t result = check(device); result != cudaSuccess) return result;
  const DeviceProperties& have = properties();
  uint32_t architecture = Context::get().architecture();
  *out = {};
  std::strncpy(out->name, device_name().c_str(), sizeof out->name - 1);
  std::memcpy(out->uuid.bytes, "mneme-cpu-device", sizeof out->uuid.bytes);
  out->totalGlobalMem = have.total_memory.count;
  out->sharedMemPerBlock = kDefaultSharedBytes;
  out->sharedMemPerBlockOptin = out->sharedMemPerMultiprocessor = have.max_shared_memory_per_block.count;
  out->regsPerBlock = out->regsPerMultiprocessor = kRegisters;
  out->warpSize = static_cast<int>(have.warp_size);
  out->memPitch = 0x7fffffff;
  out->maxThreadsPerBlock = static_cast<int>(have.max_threads_per_block);
  const Dim3 &block = have.max_block, &grid = have.max_grid;
  const uint32_t block_extents[] = {block.x, block.y, block.z}, grid_extents[] = {grid.x, grid.y, grid.z};
  for (int i = 0; i < 3; ++i) {
    out->maxThreadsDim[i] = static_cast<int>(block_extents[i]);
    out->maxGridSize[i] = static_cast<int>(grid_extents[i]);
  }
  out->totalConstMem = kConstantBytes;
  out->major = static_cast<int>(architecture / 10);
  out->minor = static_cast<int>(architecture % 10);
  set_image_limits(*out);
  out->multiProcessorCount = static_cast<int>(have.multiprocessors);
  out->maxThreadsPerMultiProcessor = kMaxThreadsPerMultiprocessor;
  out->maxBlocksPerMultiProcessor = kMaxBlocksPerMultiprocessor;
  out->l2CacheSize = kCacheBytes;
  out->memoryBusWidth = 64;
  out->integrated = out->canMapHostMemory = out->unifiedAddressing = out->managedMemory = 1;
  out->pageableMemoryAccess = out->pageableMemoryAccessUsesHostPageTables = out->directManagedMemAccessFromHost = 1;
  out->concurrentManagedAccess = out->canUseHostPointerForRegisteredMem = out->hostNativeAtomicSupported = 1;
  out->hostRegisterSupported = out->memoryPoolsSupported = out->cooperativeLaunch = 1;
  out->concurrentKernels = 1;
  out->asyncEngineCount = 1;
  out->streamPrioritiesSupported = 0;
  return cudaSuccess;
}

// Attributes that say the same as a property take it from there; what the device does not have is 0.
int attribute_value(const cudaDeviceProp& p, cudaDeviceAttr attribute) {
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock: return p.maxThreadsPerBlock;
    case cudaDevAttrMaxBlockDimX: return p.maxThreadsDim[0];
    case cudaDevAttrMaxBlockDimY: return p.maxThreadsDim[1];
    case cudaDevAttrMaxBlockDimZ: return p.maxThreadsDim[2];
    case cudaDevAttrMaxGridDimX: return p.maxGridSize[0];
    case cudaDevAttrMaxGridDimY: return p.maxGridSize[1];
    case cudaDevAttrMaxGridDimZ: return p.maxGridSize[2];
    case cudaDevAttrMaxSharedMemoryPerBlock: return static_cast<int>(p.sharedMemPerBlock);
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: return static_cast<int>(p.sharedMemPerBlockOptin);
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: return static_cast<int>(p.sharedMemPerMultiprocessor);
    case cudaDevAttrTotalConstantMemory: return static_cast<int>(p.totalConstMem);
    case cudaDevAttrWarpSize: return p.warpSize;
    case cudaDevAttrMaxPitch: return static_cast<int>(p.memPitch);
    case cudaDevAttrMaxRegistersPerBlock: return p.regsPerBlock;
    case cudaDevAttrMaxRegistersPerMultiprocessor: return p.regsPerMultiprocessor;
    case cudaDevAttrClockRate: return 1000000;        // kHz: what clock64 of the CPU device counts, nanoseconds
    case cudaDevAttrMemoryClockRate: return 1000000;  // kHz
    case cudaDevAttrTextureAlignment: return static_cast<int>(p.textureAlignment);
    case cudaDevAttrTexturePitchAlignment: return static_cast<int>(p.texturePitchAlignment);
    case cudaDevAttrSurfaceAlignment: return static_cast<int>(p.surfaceAlignment);
    case cudaDevAttrMaxTexture1DWidth: return p.maxTexture1D;
    case cudaDevAttrMaxTexture2DWidth: return p.maxTexture2D[0];
    case cudaDevAttrMaxTexture2DHeight: return p.maxTexture2D[1];
    case cudaDevAttrMaxTexture3DWidth: return p.maxTexture3D[0];
    case cudaDevAttrMaxTexture3DHeight: return p.maxTexture3D[1];
    case cudaDevAttrMaxTexture3DDepth: return p.maxTexture3D[2];
    case cudaDevAttrMaxTexture2DLayeredWidth: return p.maxTexture2DLayered[0];
    case cudaDevAttrMaxTexture2DLayeredHeight: return p.maxTexture2DLayered[1];
    case cudaDevAttrMaxTexture2DLayeredLayers: return p.maxTexture2DLayered[2];
    case cudaDevAttrMaxTexture1DLinearWidth: return 1 << 28;
    case cudaDevAttrMaxTexture2DLinearWidth: return p.maxTexture2DLinear[0];
    case cudaDevAttrMaxTexture2DLinearHeight: return p.maxTexture2DLinear[1];
    case cudaDevAttrMaxTexture2DLinearPitch: return p.maxTexture2DLinear[2];
    case cudaDevAttrMaxSurface1DWidth: return p.maxSurface1D;
    case cudaDevAttrMaxSurface2DWidth: return p.maxSurface2D[0];
    case cudaDevAttrMaxSurface2DHeight: return p.maxSurface2D[1];
    case cudaDevAttrMaxSurface3DWidth: return p.maxSurface3D[0];
    case cudaDevAttrMaxSurface3DHeight: return p.maxSurface3D[1];
    case cudaDevAttrMaxSurface3DDepth: return p.maxSurface3D[2];
    case cudaDevAttrMultiProcessorCount: return p.multiProcessorCount;
    case cudaDevAttrIntegrated: return p.integrated;
    case cudaDevAttrCanMapHostMemory: return p.canMapHostMemory;
    case cudaDevAttrConcurrentKernels: return p.concurrentKernels;
    case cudaDevAttrAsyncEngineCount: return p.asyncEngineCount;
    case cudaDevAttrUnifiedAddressing: return p.unifiedAddressing;
    case cudaDevAttrGlobalMemoryBusWidth: return p.memoryBusWidth;
    case cudaDevAttrL2CacheSize: return p.l2CacheSize;
    case cudaDevAttrMaxThreadsPerMultiProcessor: return p.maxThreadsPerMultiProcessor;
    case cudaDevAttrMaxBlocksPerMultiprocessor: return p.maxBlocksPerMultiProcessor;
    case cudaDevAttrComputeCapabilityMajor: return p.major;
    case cudaDevAttrComputeCapabilityMinor: return p.minor;
    case cudaDevAttrManagedMemory: return p.managedMemory;
    case cudaDevAttrHostNativeAtomicSupported: return p.hostNativeAtomicSupported;
    case cudaDevAttrPageableMemoryAccess: return p.pageableMemoryAccess;
    case cudaDevAttrConcurrentManagedAccess: return p.concurrentManagedAccess;
    case cudaDevAttrCanUseHostPointerForRegisteredMem: return p.canUseHostPointerForRegisteredMem;
    case cudaDevAttrCooperativeLaunch: return p.cooperativeLaunch;
    case cudaDevAttrHostRegisterSupported: return p.hostRegisterSupported;
    case cudaDevAttrPageableMemoryAccessUsesHostPageTables: return p.pageableMemoryAccessUsesHostPageTables;
    case cudaDevAttrDirectManagedMemAccessFromHost: return p.directManagedMemAccessFromHost;
    case cudaDevAttrMemoryPoolsSupported: return p.memoryPoolsSupported;
    case cudaDevAttrStreamPrioritiesSupported: return p.streamPrioritiesSupported;
    case cudaDevAttrComputePreemptionSupported: return p.computePreemptionSupported;
    default: return 0;
  }
}

cudaError_t get_attribute(int* value, cudaDeviceAttr attribute, int device) {
  if (!value || attribute < cudaDevAttrMaxThreadsPerBlock || attribute >= cudaDevAttrMax) return cudaErrorInvalidValue;
  cudaDeviceProp all;
  if (cudaError_t result = get_properties(&all, device); result != cudaSuccess) return result;
  *value = attribute_value(all, attribute);
  return cudaSuccess;
}

cudaError_t get_limit(size_t* value, cudaLimit limit) {
  if (!value) return cudaErrorInvalidValue;
  if (limit < 0 || limit > cudaLimitPersistingL2CacheSize) return cudaErrorUnsupportedLimit;
  *value = limits[limit];
  return cudaSuccess;
}
cudaError_t set_limit(cudaLimit limit, size_t value) {
  if (limit < 0 || limit > cudaLimitPersistingL2CacheSize) return cudaErrorUnsupportedLimit;
  limits[limit] = value;
  if (limit == cudaLimitMallocHeapSize) cpu::raise_heap(Context::get().device(), Bytes(value));
  return cudaSuccess;
}

cudaError_t get_flags(unsigned* flags) {
  if (!flags) return cudaErrorInvalidValue;
  *flags = device_flags;
  return cudaSuccess;
}
cudaError_t set_flags(unsigned flags) {
  if (flags & ~kKnownFlags) return cudaErrorInvalidValue;
  device_flags = flags;
  return cudaSuccess;
}

cudaError_t nothing_to_do() { return cudaSuccess; }

cudaError_t get_cache_config(cudaFuncCache* config) {
  if (!config) return cudaErrorInvalidValue;
  *config = cudaFuncCachePreferNone;
  return cudaSuccess;
}
cudaError_t set_cache_config(cudaFuncCache) { return cudaSuccess; }
cudaError_t get_shared_config(cudaSharedMemConfig* config) {
  if (!config) return cudaErrorInvalidValue;
  *config = cudaSharedMemBankSizeFourByte;
  return cudaSuccess;
}
cudaError_t set_shared_config(cudaSharedMemConfig) { return cudaSuccess; }

cudaError_t get_priority_range(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = 0;
  return cudaSuccess;
}

cudaError_t can_access_peer(int* can, int device, int peer) {
  if (!can) return cudaErrorInvalidValue;
  *can = 0;
  return check(device) == cudaSuccess ? check(peer) : cudaErrorInvalidDevice;
}
cudaError_t enable_peer(int, unsigned) { return cudaErrorInvalidDevice; }
cudaError_t disable_peer(int) { return cudaErrorInvalidDevice; }

constexpr char kBusId[] = "0000:00:00.0";
cudaError_t get_bus_id(char* text, int length, int device) {
  if (!text || length <= 0) return cudaErrorInvalidValue;
  std::strncpy(text, kBusId, static_cast<size_t>(length) - 1);
  text[length - 1] = '\0';
  return check(device);
}
cudaError_t get_by_bus_id(int* device, const char* text) {
  if (!device || !text) return cudaErrorInvalidValue;
  if (std::strcmp(text, kBusId) != 0) return cudaErrorInvalidDevice;
  *device = 0;
  return cudaSuccess;
}

cudaError_t get_version(int* version) {
  if (!version) return cudaErrorInvalidValue;
  *version = CUDART_VERSION;
  return cudaSuccess;
}

}  // namespace

void fill_device(Slots& slots) {
  MNEME_EMULATE(cudaGetDeviceCount, get_count);
  MNEME_EMULATE(cudaGetDevice, get);
  MNEME_EMULATE(cudaSetDevice, set);
  MNEME_EMULATE(cudaInitDevice, init);
  MNEME_EMULATE(cudaSetValidDevices, set_valid);
  MNEME_EMULATE(cudaChooseDevice, choose);
  MNEME_EMULATE(cudaGetDeviceProperties, get_properties);
  MNEME_EMULATE(cudaDeviceGetAttribute, get_attribute);
  MNEME_EMULATE(cudaDeviceGetLimit, get_limit);
  MNEME_EMULATE(cudaDeviceSetLimit, set_limit);
  MNEME_EMULATE(cudaGetDeviceFlags, get_flags);
  MNEME_EMULATE(cudaSetDeviceFlags, set_flags);
  MNEME_EMULATE(cudaDeviceSynchronize, nothing_to_do);
  MNEME_EMULATE(cudaDeviceReset, nothing_to_do);
  MNEME_EMULATE(cudaProfilerStart, nothing_to_do);
  MNEME_EMULATE(cudaProfilerStop, nothing_to_do);
  MNEME_EMULATE(cudaCtxResetPersistingL2Cache, nothing_to_do);
  MNEME_EMULATE(cudaDeviceGetCacheConfig, get_cache_config);
  MNEME_EMULATE(cudaDeviceSetCacheConfig, set_cache_config);
  MNEME_EMULATE(cudaDeviceGetSharedMemConfig, get_shared_config);
  MNEME_EMULATE(cudaDeviceSetSharedMemConfig, set_shared_config);
  MNEME_EMULATE(cudaDeviceGetStreamPriorityRange, get_priority_range);
  MNEME_EMULATE(cudaDeviceCanAccessPeer, can_access_peer);
  MNEME_EMULATE(cudaDeviceEnablePeerAccess, enable_peer);
  MNEME_EMULATE(cudaDeviceDisablePeerAccess, disable_peer);
  MNEME_EMULATE(cudaDeviceGetPCIBusId, get_bus_id);
  MNEME_EMULATE(cudaDeviceGetByPCIBusId, get_by_bus_id);
  MNEME_EMULATE(cudaDriverGetVersion, get_version);
  MNEME_EMULATE(cudaRuntimeGetVersion, get_version);
}

}  // namespace mneme::emulation
