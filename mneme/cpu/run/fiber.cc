#include "mneme/cpu/run/fiber.h"

#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace mneme::cpu {
namespace {

// Each guard splits a mapping in two, and a process may have 65530 of them (vm.max_map_count). Stacks beyond this many, which
// only large cooperative launches need, go without.
constexpr size_t kMostGuards = 24000;
std::atomic<size_t> guards{0};

}  // namespace

FiberPool::~FiberPool() {
  for (const Slab& slab : slabs_) ::munmap(slab.memory, slab.bytes);
}

Status FiberPool::grow(size_t count) {
  if (count <= count_) return {};
  const size_t added = count - count_;
  const size_t stride = stack_bytes_ + kGuardBytes;
  const size_t bytes = added * stride;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    return error(Code::exhausted, "making {} stacks of {} B for the threads of a block: {}", added, stack_bytes_,
                 std::strerror(errno));
  }
  Slab slab{static_cast<std::byte*>(memory), bytes, std::make_unique<Fiber[]>(added), added};
  for (size_t i = added; i-- > 0;) {
    Fiber& fiber = slab.fibers[i];
    std::byte* bottom = slab.memory + i * stride;
    if (guards.fetch_add(1) < kMostGuards) ::mprotect(bottom, kGuardBytes, PROT_NONE);
    fiber.scheduler = scheduler_;
    fiber.thread.fiber = &fiber;
    fiber.stack_bottom = bottom + kGuardBytes;
    // The first frames of all stacks would share one set of the first-level cache: each stack begins at another line of its page.
    fiber.stack_top = bottom + stride - ((count_ + i) * 5 % 64) * 64;
    give(&fiber);
  }
  slabs_.push_back(std::move(slab));
  count_ = count;
  return {};
}

void FiberPool::reset() {
  free_ = nullptr;
  for (Slab& slab : slabs_) {
    for (size_t i = slab.count; i-- > 0;) {
      slab.fibers[i].context = nullptr;
      slab.fibers[i].wait = Wait::nothing;
      give(&slab.fibers[i]);
    }
  }
}

const Fiber* FiberPool::guarded_by(uint64_t address) const {
  for (const Slab& slab : slabs_) {
    const auto begin = reinterpret_cast<uint64_t>(slab.memory);
    if (address < begin || address >= begin + slab.bytes) continue;
    const Fiber& fiber = slab.fibers[(address - begin) / (stack_bytes_ + kGuardBytes)];
    return address < reinterpret_cast<uint64_t>(fiber.stack_bottom) ? &fiber : nullptr;
  }
  return nullptr;
}

}  // namespace mneme::cpu
