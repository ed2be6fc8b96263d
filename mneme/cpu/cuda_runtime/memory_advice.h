// MemoryAdvice: what a program has said of where its memory should lie (cudaMemAdvise, cudaMemPrefetchAsync). Host and device
// share memory here, so that it has no effect; but programs ask for it again.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <map>
#include <mutex>
#include <vector>

#include "mneme/base/memory_range.h"

namespace mneme::emulation {

struct Advice {
  bool read_mostly = false;
  cudaMemLocation preferred{};   // of type cudaMemLocationTypeInvalid: none
  cudaMemLocation prefetched{};  // where it was prefetched to last; likewise
  bool accessed_by_device = false;
  bool accessed_by_host = false;
};

// Advice by address, to the byte. Thread-safe.
class MemoryAdvice {
 public:
  // Changes the advice of all memory in the range.
  void change(MemoryRange range, const std::function<void(Advice&)>& edit);
  // From now on there is no advice for the range, as for memory that is new.
  void forget(MemoryRange range);
  // The advice in the range, by address: one or more. Pieces that follow each other may have the same.
  std::vector<Advice> in(MemoryRange range) const;

 private:
  using Starts = std::map<DevicePtr, Advice>;
  Starts::iterator split(DevicePtr address);

  mutable std::mutex mutex_;
  Starts starts_;  // the advice from an address on, up to the next one; before the first there is none
};

}  // namespace mneme::emulation
