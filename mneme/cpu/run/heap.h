// What kernels allocate by themselves, with malloc: bounded, as a GPU's heap is.
#pragma once

#include <atomic>
#include <cstdint>

#include "mneme/base/types.h"

namespace mneme::cpu {

// One a device; thread-safe. What a kernel does not free stays, as on a GPU, also when the heap ends.
class Heap {
 public:
  // A GPU has 8 MiB until a program asks for more, which a recording does not tell.
  static constexpr Bytes kUsual = 1_GiB;

  void set_limit(Bytes limit) { limit_ = limit.count; }
  // Null when the limit, or the memory of the machine, is used up, and for no bytes.
  void* allocate(uint64_t size);
  // False for what allocate() did not give, or what was freed before.
  bool free(void* pointer);

 private:
  std::atomic<uint64_t> limit_{kUsual.count};
  std::atomic<uint64_t> used_{0};
};

}  // namespace mneme::cpu
