#include "mneme/cpu/run/heap.h"

#include <cstdlib>

namespace mneme::cpu {
namespace {

// Before each block, so that a wrong pointer is a fault of the kernel and no damage to the process.
struct alignas(16) Header {
  uint64_t magic;
  uint64_t size;
};
constexpr uint64_t kAllocated = 0x6d6e656d65a110c8, kFreed = 0x6d6e656d65f7eed0;

}  // namespace

void* Heap::allocate(uint64_t size) {
  const uint64_t limit = limit_;
  if (size == 0 || limit < sizeof(Header) || size > limit - sizeof(Header)) return nullptr;
  const uint64_t taken = size + sizeof(Header);
  if (used_.fetch_add(taken) > limit - taken) {
    used_.fetch_sub(taken);
    return nullptr;
  }
  auto* header = static_cast<Header*>(std::malloc(taken));
  if (header == nullptr) {
    used_.fetch_sub(taken);
    return nullptr;
  }
  *header = {kAllocated, size};
  return header + 1;
}

bool Heap::free(void* pointer) {
  auto* header = static_cast<Header*>(pointer) - 1;
  if (header->magic != kAllocated) return false;
  header->magic = kFreed;
  used_.fetch_sub(header->size + sizeof(Header));
  std::free(header);
  return true;
}

}  // namespace mneme::cpu
