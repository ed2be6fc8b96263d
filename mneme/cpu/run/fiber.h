// Fibers: they run those threads of a block that may have to wait, each on a stack of its own.
#pragma once

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/cpu/run/image.h"

namespace mneme::cpu {

class Scheduler;
struct Block;

// What a fiber waits for.
enum class Wait : uint8_t { nothing, barrier, meeting, active_mask, step };

// A stack that runs threads of blocks, one after another. Belongs to one Scheduler.
struct alignas(64) Fiber {
  mneme_cpu_thread thread{};                             // thread.fiber points back here
  boost::context::detail::fcontext_t context = nullptr;  // where it goes on; null: it has not begun
  Fiber* next = nullptr;                                 // in a queue
  Block* block = nullptr;                                // null: it has no thread
  Scheduler* scheduler = nullptr;
  uint64_t result = 0;  // what the collective that it waited for gives it
  uint32_t predicate = 0;
  Wait wait = Wait::nothing;
  uint8_t barrier = 0;            // Wait::barrier: its number
  uint16_t arrived_barriers = 0;  // barriers with a valid entry in arrived_phase, a bit each
  uint64_t mask = 0;              // Wait::meeting: the collective's mask
  const void* site = nullptr;     // Wait::active_mask, Wait::step: the call's return address
  uint32_t arrived_phase[16];     // for each barrier, the phase in which the thread has called barrier_arrive
  std::byte* stack_top = nullptr;
  std::byte* stack_bottom = nullptr;  // the guard lies below
};

// A queue of fibers, first in, first out. A fiber is in at most one.
class FiberQueue {
 public:
  bool empty() const { return head_ == nullptr; }
  Fiber* head() const { return head_; }
  void push(Fiber* fiber) {
    fiber->next = nullptr;
    if (tail_ != nullptr)
      tail_->next = fiber;
    else
      head_ = fiber;
    tail_ = fiber;
  }
  Fiber* pop() {
    Fiber* fiber = head_;
    if (fiber != nullptr && (head_ = fiber->next) == nullptr) tail_ = nullptr;
    return fiber;
  }
  void append(FiberQueue& other) {
    if (other.head_ == nullptr) return;
    if (tail_ != nullptr)
      tail_->next = other.head_;
    else
      head_ = other.head_;
    tail_ = other.tail_;
    other.clear();
  }
  void clear() { head_ = tail_ = nullptr; }

 private:
  Fiber* head_ = nullptr;
  Fiber* tail_ = nullptr;
};

// The fibers of one Scheduler that have one stack size. Stacks take memory as they grow, and are kept until the pool is
// destroyed. Below each of them lies an inaccessible guard page, but for stacks beyond the first 24000 of the process, which
// only large cooperative launches need: the system allows only so many mappings.
class FiberPool {
 public:
  static constexpr size_t kGuardBytes = 4096;

  FiberPool(Scheduler* scheduler, size_t stack_bytes) : scheduler_(scheduler), stack_bytes_(stack_bytes) {}
  ~FiberPool();
  FiberPool(const FiberPool&) = delete;
  FiberPool& operator=(const FiberPool&) = delete;

  // Makes fibers until there are `count` of them. exhausted: the system refuses the memory.
  Status grow(size_t count);
  // A fiber that has no thread; null where all have one.
  Fiber* take() {
    Fiber* fiber = free_;
    if (fiber != nullptr) free_ = fiber->next;
    return fiber;
  }
  // Gives a fiber back.
  void give(Fiber* fiber) {
    fiber->block = nullptr;
    fiber->next = free_;
    free_ = fiber;
  }
  // To be called after a fault: gives back all fibers, whatever they were doing. None may be running.
  void reset();
  // The fiber below whose stack the address lies, in the guard page; null where there is none.
  const Fiber* guarded_by(uint64_t address) const;
  // Calls body(fiber) for each fiber.
  template <typename Body>
  void for_each(Body body) const {
    for (const Slab& slab : slabs_) {
      for (size_t i = 0; i < slab.count; ++i) body(slab.fibers[i]);
    }
  }
  size_t stack_bytes() const { return stack_bytes_; }

 private:
  struct Slab {
    std::byte* memory;
    size_t bytes;
    std::unique_ptr<Fiber[]> fibers;
    size_t count;
  };

  Scheduler* scheduler_;
  size_t stack_bytes_;
  size_t count_ = 0;
  std::vector<Slab> slabs_;
  Fiber* free_ = nullptr;
};

}  // namespace mneme::cpu
