// Stream-ordered allocation. Since work is done in the order of the calls, it is allocation.
#include <map>
#include <mutex>

#include "mneme/base/log.h"
#include "mneme/cpu/cuda_runtime/capture.h"
#include "mneme/cpu/cuda_runtime/context.h"
#include "mneme/cpu/cuda_runtime/slots.h"

namespace mneme::emulation {
namespace {

using PoolPtr = std::shared_ptr<MemoryPool>;

// The pools of the process: of each kind a default one, which stays, and the current one. Thread-safe.
class Pools {
 public:
  static Pools& get() {
    static Pools* pools = new Pools;
    return *pools;
  }

  cudaMemPool_t create(PoolKind kind, Bytes most) {
    std::lock_guard lock(mutex_);
    return handle_of(add(kind, most));
  }
  // Memory that was allocated from the pool stays. False: it is a default pool, or none.
  bool destroy(cudaMemPool_t handle) {
    std::lock_guard lock(mutex_);
    const auto found = pools_.find(handle);
    if (found == pools_.end() || is_default(found->second)) return false;
    PoolPtr& current = current_[index(found->second->kind())];
    if (current == found->second) current = defaults_[index(found->second->kind())];
    pools_.erase(found);
    return true;
  }
  // Null for a handle of no pool.
  PoolPtr find(cudaMemPool_t handle) const {
    std::lock_guard lock(mutex_);
    const auto found = pools_.find(handle);
    return found == pools_.end() ? nullptr : found->second;
  }
  PoolPtr current(PoolKind kind) const {
    std::lock_guard lock(mutex_);
    return current_[index(kind)];
  }
  PoolPtr usual(PoolKind kind) const { return defaults_[index(kind)]; }
  void set_current(const PoolPtr& pool) {
    std::lock_guard lock(mutex_);
    current_[index(pool->kind())] = pool;
  }
  static cudaMemPool_t handle_of(const PoolPtr& pool) { return reinterpret_cast<cudaMemPool_t>(pool.get()); }

 private:
  static constexpr size_t kKinds = 3;
  static size_t index(PoolKind kind) { return static_cast<size_t>(kind); }

  Pools() {
    for (PoolKind kind : {PoolKind::device, PoolKind::managed, PoolKind::host})
      current_[index(kind)] = defaults_[index(kind)] = add(kind, Bytes(0));
  }
  PoolPtr add(PoolKind kind, Bytes most) {
    auto pool = std::make_shared<MemoryPool>(kind, most);
    pools_[handle_of(pool)] = pool;
    return pool;
  }
  bool is_default(const PoolPtr& pool) const { return pool == defaults_[index(pool->kind())]; }

  mutable std::mutex mutex_;
  std::map<cudaMemPool_t, PoolPtr> pools_;
  PoolPtr defaults_[kKinds], current_[kKinds];
};

// What graphs have allocated. It stays reserved until the program trims it.
const PoolPtr& graph_pool() {
  static const PoolPtr* pool = [] {
    auto made = std::make_shared<MemoryPool>(PoolKind::device, Bytes(0));
    const uint64_t never = ~uint64_t{0};
    made->set(cudaMemPoolAttrReleaseThreshold, &never);
    return new PoolPtr(std::move(made));
  }();
  return *pool;
}

MemoryKind memory_of(PoolKind kind) {
  switch (kind) {
    case PoolKind::device: return MemoryKind::device;
    case PoolKind::managed: return MemoryKind::managed;
    case PoolKind::host: return MemoryKind::host;
  }
  return MemoryKind::device;
}

cudaError_t allocate(void** pointer, size_t size, const PoolPtr& pool, cudaStream_t stream) {
  if (!pointer || !pool) return cudaErrorInvalidValue;
  *pointer = nullptr;
  if (!find_stream(stream)) return cudaErrorInvalidResourceHandle;
  if (size == 0) return cudaSuccess;
  if (is_capturing(stream)) {
    Allocation allocation;
    if (cudaError_t result = make_graph_memory(size, allocation); result != cudaSuccess) return result;
    *pointer = allocation.memory->pointer;
    return submit(stream, std::move(allocation));
  }
  *pointer = Context::get().memory().allocate(size, {.kind = memory_of(pool->kind()), .pool = pool});
  return *pointer ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t malloc_from_pool(void** pointer, size_t size, cudaMemPool_t pool, cudaStream_t stream) {
  return allocate(pointer, size, Pools::get().find(pool), stream);
}
cudaError_t malloc_async(void** pointer, size_t size, cudaStream_t stream) {
  return allocate(pointer, size, Pools::get().current(PoolKind::device), stream);
}

cudaError_t free_async(void* pointer, cudaStream_t stream) { return pointer ? submit(stream, Release{pointer}) : cudaSuccess; }

// --- pools and their places ---------------------------------------------------------------------------------------------------

// The kind of the pools for a place. cudaErrorInvalidDevice: the place is another device.
cudaError_t kind_of(const cudaMemLocation& location, cudaMemAllocationType type, PoolKind& kind) {
  if (location.type == cudaMemLocationTypeDevice && location.id != 0) return cudaErrorInvalidDevice;
  const bool on_host = location.type >= cudaMemLocationTypeHost && location.type <= cudaMemLocationTypeHostNumaCurrent;
  kind = type == cudaMemAllocationTypeManaged ? PoolKind::managed : on_host ? PoolKind::host : PoolKind::device;
  return cudaSuccess;
}

cudaError_t pool_create(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (!pool || !properties) return cudaErrorInvalidValue;
  PoolKind kind = PoolKind::device;
  if (cudaError_t result = kind_of(properties->location, properties->allocType, kind); result != cudaSuccess) return result;
  if (properties->handleTypes != cudaMemHandleTypeNone) {
    log::warning("memory pools that other processes share are not available on the CPU device");
    return cudaErrorNotSupported;
  }
  *pool = Pools::get().create(kind, Bytes(properties->maxSize));
  return cudaSuccess;
}

cudaError_t pool_destroy(cudaMemPool_t pool) { return Pools::get().destroy(pool) ? cudaSuccess : cudaErrorInvalidValue; }

cudaError_t pool_set_attribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  const PoolPtr pool = Pools::get().find(handle);
  return pool && value ? pool->set(attribute, value) : cudaErrorInvalidValue;
}
cudaError_t pool_get_attribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  const PoolPtr pool = Pools::get().find(handle);
  return pool && value ? pool->get(attribute, value) : cudaErrorInvalidValue;
}

cudaError_t pool_trim(cudaMemPool_t handle, size_t least) {
  const PoolPtr pool = Pools::get().find(handle);
  if (!pool) return cudaErrorInvalidValue;
  pool->trim(Bytes(least));
  return cudaSuccess;
}

// The device always reaches the memory of its pools, and there is no other device.
cudaError_t pool_set_access(cudaMemPool_t pool, const cudaMemAccessDesc* accesses, size_t count) {
  if (!Pools::get().find(pool) || (count != 0 && !accesses)) return cudaErrorInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    if (accesses[i].location.type == cudaMemLocationTypeDevice && accesses[i].location.id != 0) return cudaErrorInvalidDevice;
    if (accesses[i].flags != cudaMemAccessFlagsProtReadWrite) return cudaErrorInvalidValue;
  }
  return cudaSuccess;
}
cudaError_t pool_get_access(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  if (!flags || !location || !Pools::get().find(pool)) return cudaErrorInvalidValue;
  if (location->type == cudaMemLocationTypeDevice && location->id != 0) return cudaErrorInvalidDevice;
  *flags = cudaMemAccessFlagsProtReadWrite;
  return cudaSuccess;
}

cudaError_t get_place_default(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType type) {
  PoolKind kind = PoolKind::device;
  if (!pool || !location) return cudaErrorInvalidValue;
  if (cudaError_t result = kind_of(*location, type, kind); result != cudaSuccess) return result;
  *pool = Pools::handle_of(Pools::get().usual(kind));
  return cudaSuccess;
}
cudaError_t get_place_pool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType type) {
  PoolKind kind = PoolKind::device;
  if (!pool || !location) return cudaErrorInvalidValue;
  if (cudaError_t result = kind_of(*location, type, kind); result != cudaSuccess) return result;
  *pool = Pools::handle_of(Pools::get().current(kind));
  return cudaSuccess;
}
// A pool serves only the kind of place that it was made for.
cudaError_t set_place_pool(cudaMemLocation* location, cudaMemAllocationType type, cudaMemPool_t handle) {
  PoolKind kind = PoolKind::device;
  const PoolPtr pool = Pools::get().find(handle);
  if (!pool || !location) return cudaErrorInvalidValue;
  if (cudaError_t result = kind_of(*location, type, kind); result != cudaSuccess) return result;
  if (pool->kind() != kind) return cudaErrorInvalidValue;
  Pools::get().set_current(pool);
  return cudaSuccess;
}

cudaError_t get_default_pool(cudaMemPool_t* pool, int device) {
  cudaMemLocation place{.type = cudaMemLocationTypeDevice, .id = device};
  return get_place_default(pool, &place, cudaMemAllocationTypePinned);
}
cudaError_t get_pool(cudaMemPool_t* pool, int device) {
  cudaMemLocation place{.type = cudaMemLocationTypeDevice, .id = device};
  return get_place_pool(pool, &place, cudaMemAllocationTypePinned);
}
cudaError_t set_pool(int device, cudaMemPool_t pool) {
  cudaMemLocation place{.type = cudaMemLocationTypeDevice, .id = device};
  return set_place_pool(&place, cudaMemAllocationTypePinned, pool);
}

// --- the memory of graphs -----------------------------------------------------------------------------------------------------

// The pool's attribute of the same meaning.
cudaMemPoolAttr pool_attribute(cudaGraphMemAttributeType attribute) {
  switch (attribute) {
    case cudaGraphMemAttrUsedMemCurrent: return cudaMemPoolAttrUsedMemCurrent;
    case cudaGraphMemAttrUsedMemHigh: return cudaMemPoolAttrUsedMemHigh;
    case cudaGraphMemAttrReservedMemCurrent: return cudaMemPoolAttrReservedMemCurrent;
    case cudaGraphMemAttrReservedMemHigh: return cudaMemPoolAttrReservedMemHigh;
  }
  return {};
}
cudaError_t graph_get_attribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  if (device != 0) return cudaErrorInvalidDevice;
  return value ? graph_pool()->get(pool_attribute(attribute), value) : cudaErrorInvalidValue;
}
cudaError_t graph_set_attribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  if (device != 0) return cudaErrorInvalidDevice;
  return value ? graph_pool()->set(pool_attribute(attribute), value) : cudaErrorInvalidValue;
}
cudaError_t graph_trim(int device) {
  if (device != 0) return cudaErrorInvalidDevice;
  graph_pool()->trim(Bytes(0));
  return cudaSuccess;
}

}  // namespace

cudaError_t make_graph_memory(size_t size, Allocation& out) {
  void* pointer = Context::get().memory().allocate(size, {.pool = graph_pool(), .graph = GraphUse::idle});
  if (!pointer) return cudaErrorMemoryAllocation;
  out.memory = std::make_shared<GraphMemory>(pointer, size);
  return cudaSuccess;
}

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
  MNEME_EMULATE(cudaMemGetDefaultMemPool, get_place_default);
  MNEME_EMULATE(cudaMemGetMemPool, get_place_pool);
  MNEME_EMULATE(cudaMemSetMemPool, set_place_pool);
  MNEME_EMULATE(cudaDeviceGetGraphMemAttribute, graph_get_attribute);
  MNEME_EMULATE(cudaDeviceSetGraphMemAttribute, graph_set_attribute);
  MNEME_EMULATE(cudaDeviceGraphMemTrim, graph_trim);
}

}  // namespace mneme::emulation
