#include "mneme/cpu/cuda_runtime/memory_pool.h"

#include <algorithm>
#include <cstring>

namespace mneme::emulation {

bool MemoryPool::take(Bytes size) {
  std::lock_guard lock(mutex_);
  if (most_.count != 0 && (size > most_ || used_ > most_.count - size.count)) return false;
  used_ += size.count;
  used_high_ = std::max(used_high_, used_);
  reserved_ = std::max(reserved_, used_);
  reserved_high_ = std::max(reserved_high_, reserved_);
  return true;
}

void MemoryPool::give_back(Bytes size) {
  std::lock_guard lock(mutex_);
  used_ -= size.count;
  reserved_ = std::max(used_, std::min(reserved_, release_threshold_));
}

void MemoryPool::trim(Bytes least) {
  std::lock_guard lock(mutex_);
  reserved_ = std::max(used_, std::min(reserved_, least.count));
}

cudaError_t MemoryPool::get(cudaMemPoolAttr attribute, void* value) const {
  std::lock_guard lock(mutex_);
  const auto put = [&](const auto& member) { return std::memcpy(value, &member, sizeof member), cudaSuccess; };
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies: return put(reuse_[0]);
    case cudaMemPoolReuseAllowOpportunistic: return put(reuse_[1]);
    case cudaMemPoolReuseAllowInternalDependencies: return put(reuse_[2]);
    case cudaMemPoolAttrReleaseThreshold: return put(release_threshold_);
    case cudaMemPoolAttrReservedMemCurrent: return put(reserved_);
    case cudaMemPoolAttrReservedMemHigh: return put(reserved_high_);
    case cudaMemPoolAttrUsedMemCurrent: return put(used_);
    case cudaMemPoolAttrUsedMemHigh: return put(used_high_);
    default: return cudaErrorInvalidValue;
  }
}

cudaError_t MemoryPool::set(cudaMemPoolAttr attribute, const void* value) {
  std::lock_guard lock(mutex_);
  const auto read = [&](auto& member) { return std::memcpy(&member, value, sizeof member), cudaSuccess; };
  // A high-water mark can only begin anew.
  const auto restart = [&](uint64_t& high, uint64_t current) {
    uint64_t wanted = 0;
    read(wanted);
    if (wanted != 0) return cudaErrorInvalidValue;
    high = current;
    return cudaSuccess;
  };
  switch (attribute) {
    case cudaMemPoolReuseFollowEventDependencies: return read(reuse_[0]);
    case cudaMemPoolReuseAllowOpportunistic: return read(reuse_[1]);
    case cudaMemPoolReuseAllowInternalDependencies: return read(reuse_[2]);
    case cudaMemPoolAttrReleaseThreshold: return read(release_threshold_);
    case cudaMemPoolAttrReservedMemHigh: return restart(reserved_high_, reserved_);
    case cudaMemPoolAttrUsedMemHigh: return restart(used_high_, used_);
    default: return cudaErrorInvalidValue;
  }
}

}  // namespace mneme::emulation
