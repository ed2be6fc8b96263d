// Stream-ordered allocation. Since work is done in the order of the calls, it is allocation.
#include <cstring>
#include <mutex>
#include <set>

#include "mneme/cpu/cuda_runtime/capture.h"
#include "mneme/cpu/cuda_runtime/context.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

struct Pool {
  uint64_t release_threshold = 0;
  uint64_t used_high = 0;
  int reuse[3] = {1, 1, 1};  // follow event dependencies, opportunistic, internal dependencies
};

Pool& default_pool() {
  static Pool* pool = new Pool;
  return *pool;
}
Pool*& current_pool() {
  static Pool* pool = &default_pool();
  return pool;
}
Pool* of(cudaMemPool_t handle) { return reinterpret_cast<Pool*>(handle); }
cudaMemPool_t handle_of(Pool* pool) { return reinterpret_cast<cudaMemPool_t>(pool); }

cudaError_t malloc_from_pool(void** pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  if (!pointer || !pool) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (size == 0) return cudaSuccess;
  MemoryTable& memory = Context::get().memory();
  *pointer = memory.allocate(size, MemoryKind::device);
  if (!*pointer) return cudaErrorMemoryAllocation;
  of(pool)->used_high = std::max(of(pool)->used_high, memory.allocated());
  // A captured allocation exists from the capture on, so that the graph can be launched any number of times.
  return is_capturing(stream) ? submit(stream, Allocation{*pointer, size}) : cudaSuccess;
}

cudaError_t malloc_async(void** pointer, size_t size, cudaStream_t stream) {
  return malloc_from_pool(pointer, size, handle_of(current_pool()), stream);
}

cudaError_t free_async(void* pointer, cudaStream_t stream) { return pointer ? submit(stream, Release{pointer}) : cudaSuccess; }

cudaError_t pool_create(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (!pool || !properties) return cudaErrorInvalidValue;
  *pool = handle_of(new Pool);
  return cudaSuccess;
}

cudaError_t pool_destroy(cudaMemPool_t pool) {
  if (!pool || of(pool) == &default_pool()) return cudaErrorInvalidValue;
  if (current_pool() == of(pool)) current_pool() = &default_pool();
  delete of(pool);
  return cudaSuccess;
}

// Every attribute is an int or a 64-bit number; null for one that cannot be set.
uint64_t* number(Pool& pool, cudaMemPoolAttr attribute) {
  if (attribute == cudaMemPoolAttrReleaseThreshold) return &pool.release_threshold;
  if (attribute == cudaMemPoolAttrUsedMemHigh || attribute == cudaMemPoolAttrReservedMemHigh) return &pool.used_high;
  return nullptr;
}
int* flag(Pool& pool, cudaMemPoolAttr attribute) {
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies: return &pool.reuse[0];
    case cudaMemPoolReuseAllowOpportunistic: return &pool.reuse[1];
    case cudaMemPoolReuseAllowInternalDependencies: return &pool.reuse[2];
    default: return nullptr;
  }
}

cudaError_t pool_set_attribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (!pool || !value) return cudaErrorInvalidValue;
  if (uint64_t* slot = number(*of(pool), attribute))
    std::memcpy(slot, value, sizeof *slot);
  else if (int* slot = flag(*of(pool), attribute))
    std::memcpy(slot, value, sizeof *slot);
  else
    return cudaErrorInvalidValue;
  return cudaSuccess;
}

cudaError_t pool_get_attribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (!pool || !value) return cudaErrorInvalidValue;
  uint64_t used = Context::get().memory().allocated();
  if (attribute == cudaMemPoolAttrUsedMemCurrent || attribute == cudaMemPoolAttrReservedMemCurrent)
    std::memcpy(value, &used, sizeof used);
  else if (uint64_t* slot = number(*of(pool), attribute))
    std::memcpy(value, slot, sizeof *slot);
  else if (int* slot = flag(*of(pool), attribute))
    std::memcpy(value, slot, sizeof *slot);
  else
    return cudaErrorInvalidValue;
  return cudaSuccess;
}

cudaError_t pool_trim(cudaMemPool_t pool, size_t) { return pool ? cudaSuccess : cudaErrorInvalidValue; }
cudaError_t pool_set_access(cudaMemPool_t pool, const cudaMemAccessDesc*, size_t) {
  return pool ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t pool_get_access(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation*) {
  if (!flags || !pool) return cudaErrorInvalidValue;
  *flags = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}

cudaError_t get_default_pool(cudaMemPool_t* pool, int device) {
  if (!pool) return cudaErrorInvalidValue;
  if (device != 0) return cudaErrorInvalidDevice;
  *pool = handle_of(&default_pool());
  return cudaSuccess;
}

cudaError_t get_pool(cudaMemPool_t* pool, int device) {
  if (!pool) return cudaErrorInvalidValue;
  if (device != 0) return cudaErrorInvalidDevice;
  *pool = handle_of(current_pool());
  return cudaSuccess;
}

cudaError_t set_pool(int device, cudaMemPool_t pool) {
  if (!pool) return cudaErrorInvalidValue;
  if (device != 0) return cudaErrorInvalidDevice;
  current_pool() = of(pool);
  return cudaSuccess;
}

}  // namespace

void fill_pools(Slots& slots) {
  MNEME_EMULATE_PTSZ(cudaMallocAsync, malloc_async);
  MNEME_EMULATE_PTSZ(cudaMallocFromPoolAsync, malloc_from_pool);
  MNEME_EMULATE_PTSZ(cudaFreeAsync, free_async);
  MNEME_EMULATE(cudaMemPoolCreate, pool_create);
  MNEME_EMULATE(cudaMemPoolDestroy, pool_destroy);
  MNEME_EMULATE(cudaMemPoolSetAttribute, pool_set_attribute);
  MNEME_EMULATE(cudaMemPoolGetAttribute, pool_get_attribute);
  MNEME_EMULATE(cudaMemPoolTrimTo, pool_trim);
  MNEME_EMULATE(cudaMemPoolSetAccess, pool_set_access);
  MNEME_EMULATE(cudaMemPoolGetAccess, pool_get_access);
  MNEME_EMULATE(cudaDeviceGetDefaultMemPool, get_default_pool);
  MNEME_EMULATE(cudaDeviceGetMemPool, get_pool);
  MNEME_EMULATE(cudaDeviceSetMemPool, set_pool);
}

}  // namespace mneme::emulation
