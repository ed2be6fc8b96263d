// MemoryPool: a pool of stream-ordered memory, as the program sees it. It counts: memory that is freed goes back to the system
// at once, while `reserved` is what a GPU would keep of it, which the release threshold says.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <mutex>

#include "mneme/base/types.h"

namespace mneme::emulation {

enum class PoolKind { device, managed, host };

// Thread-safe.
class MemoryPool {
 public:
  // `most`: what the pool may have in use; 0: as much as there is.
  MemoryPool(PoolKind kind, Bytes most) : kind_(kind), most_(most) {}

  PoolKind kind() const { return kind_; }

  // Counts memory as used. False, and it counts nothing: that would be more than the pool may have.
  bool take(Bytes size);
  void give_back(Bytes size);
  // Keeps no more than `least` reserved, or what is in use.
  void trim(Bytes least);

  // An attribute is an int or a 64-bit number, by its kind. cudaErrorInvalidValue: there is no such attribute, or it cannot be
  // set to that value.
  cudaError_t get(cudaMemPoolAttr attribute, void* value) const;
  cudaError_t set(cudaMemPoolAttr attribute, const void* value);

 private:
  const PoolKind kind_;
  const Bytes most_;
  mutable std::mutex mutex_;
  uint64_t release_threshold_ = 0;
  uint64_t used_ = 0, used_high_ = 0;
  uint64_t reserved_ = 0, reserved_high_ = 0;
  int reuse_[3] = {1, 1, 1};  // follow event dependencies, opportunistic, internal dependencies
};

}  // namespace mneme::emulation
