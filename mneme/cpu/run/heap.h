// Heap: the memory that kernels allocate by malloc. It is limited, as a GPU's heap is.
#pragma once

#include <atomic>
#include <cstdint>

#include "mneme/base/types.h"

namespace mneme::cpu {

// Each device has one. Memory that no kernel frees stays allocated, as on a GPU, even when the heap is destroyed. Thread-safe.
class Heap {
 public:
  // The limit at first. A GPU's is 8 MiB until a program asks for more; since a recording does not tell whether it did, more is
  // allowed.
  static constexpr Bytes kUsual = 1_GiB;

  void set_limit(Bytes limit) { limit_ = limit.count; }
  // Null when the limit or the machine's memory is used up, and for a size of 0. 16 bytes more than `size` count.
  void* allocate(uint64_t size);
  // False: allocate() has not given the pointer, or it was freed before. This is told by the 16 bytes before the pointer, which
  // are read: a pointer to unmapped memory is a memory fault of the kernel.
  bool free(void* pointer);

 private:
  std::atomic<uint64_t> limit_{kUsual.count};
  std::atomic<uint64_t> used_{0};
};

}  // namespace mneme::cpu
