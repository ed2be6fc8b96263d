#include "mneme/cpu/run/scheduler.h"

#include <immintrin.h>
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "mneme/cpu/run/collectives.h"

namespace mneme::cpu {
namespace {

using boost::context::detail::jump_fcontext;
using boost::context::detail::make_fcontext;
using boost::context::detail::transfer_t;

// What services, libm and a signal frame of the application's own take below a thread's frames.
constexpr uint64_t kStackMargin = 24 << 10;
constexpr uint64_t kSmallestStack = 32 << 10;
constexpr uint64_t kUnknownStack = 256 << 10;
constexpr uint64_t kLoopStack = 1 << 20;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kSpinsToResolveWaiters = 4 * kMaxThreads;
constexpr uint64_t kSpinsToTakeAnotherBlock = 16 * kMaxThreads;
constexpr uint32_t kMostStepsHeldBack = 256;
constexpr uint64_t kSmallestSharedAlignment = 16;
constexpr unsigned kDefaultFloatingPointControl = 0x1f80;

uint64_t stack_bytes(const mneme_cpu_kernel& kernel) {
  const bool loop = kernel.mode == MNEME_CPU_LOOP;
  if (kernel.stack_bytes == 0) return loop ? kLoopStack : kUnknownStack;
  return std::bit_ceil(std::max(kernel.stack_bytes + kStackMargin, loop ? kUnknownStack : kSmallestStack));
}

uint64_t shared_bytes(const Launch& launch) {
  return round_up(launch.kernel().static_shared_bytes, 16) + launch.shape().dynamic_shared_memory.count;
}

// Where it ends, an inaccessible page follows: what is beyond it by more than its alignment faults.
uint64_t aligned_shared_bytes(const Launch& launch) {
  return round_up(shared_bytes(launch), std::clamp<uint64_t>(launch.kernel().shared_alignment, kSmallestSharedAlignment, kPage));
}

// Shared memory ends at an inaccessible page and begins behind one.
uint8_t* map_shared(uint64_t bytes) {
  void* memory = ::mmap(nullptr, bytes + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* begin = static_cast<uint8_t*>(memory) + kPage;
  if (::mprotect(begin, bytes, PROT_READ | PROT_WRITE) == 0) return begin;
  ::munmap(memory, bytes + 2 * kPage);
  return nullptr;
}

void unmap_shared(uint8_t* begin, uint64_t bytes) {
  if (begin != nullptr) ::munmap(begin - kPage, bytes + 2 * kPage);
}

// Whoever resumes keeps where the one that handed over stands.
Scheduler* arrive(transfer_t from) {
  auto* fiber = static_cast<Fiber*>(from.data);
  fiber->context = from.fctx;
  return fiber->scheduler;
}

}  // namespace

Scheduler::Scheduler(unsigned worker, Heap& heap, const TextureTable& textures)
    : worker_(worker), heap_(heap), textures_(textures), trap_(escape, this) {
  home_.scheduler = discard_.scheduler = this;
}

Scheduler::~Scheduler() {
  for (auto& block : blocks_) unmap_shared(block->shared_memory, shared_bytes_);
}

Status Scheduler::prepare(const Launch& launch) {
  const uint64_t stack = stack_bytes(launch.kernel());
  auto& pool = pools_[stack];
  if (!pool) pool = std::make_unique<FiberPool>(this, stack);
  pool_ = pool.get();
  const uint64_t held = launch.shape().cooperative ? launch.share() : 1;
  MNEME_TRY(pool_->grow(launch.kernel().mode == MNEME_CPU_LOOP ? 1 : held * launch.threads()));

  const uint64_t needed = round_up(aligned_shared_bytes(launch) + MNEME_CPU_RESERVED_SHARED_BYTES, kPage);
  if (needed > shared_bytes_) {
    for (auto& block : blocks_) unmap_shared(block->shared_memory, shared_bytes_);
    blocks_.clear();
    free_blocks_ = nullptr;
    shared_bytes_ = needed;
  }
  for (uint64_t have = blocks_.size(); have < held; ++have) {
    if (new_block() == nullptr) {
      return error(Code::exhausted, "getting {} B of shared memory for each of {} blocks: {}", shared_bytes_, held,
                   std::strerror(errno));
    }
  }
  return {};
}

Block* Scheduler::new_block() {
  auto block = std::make_unique<Block>();
  if (shared_bytes_ != 0 && (block->shared_memory = map_shared(shared_bytes_)) == nullptr) return nullptr;
  block->next = free_blocks_;
  free_blocks_ = block.get();
  blocks_.push_back(std::move(block));
  return free_blocks_;
}

void Scheduler::run(Launch& launch) {
  launch_ = &launch;
  taken_blocks_ = live_blocks_ = spins_ = 0;
  starting_ = nullptr;
  const unsigned control = _mm_getcsr();
  _mm_setcsr(kDefaultFloatingPointControl);
  current_ = &home_;
  trap_.enter();
  trap_.arm();
  Fiber* first = launch.kernel().mode == MNEME_CPU_LOOP ? pool_->take() : start_fiber();
  if (first != nullptr) switch_to(first);
  trap_.disarm();
  if (untraced_) find_thread();
  trap_.leave();
  _mm_setcsr(control);
  if (launch.failed()) reset_after_failure();
  launch_ = nullptr;
}

void Scheduler::reset_after_failure() {
  pool_->reset();
  ready_.clear();
  active_waiters_.clear();
  step_waiters_.clear();
  messages_ = {};
  open_waves_ = 0;
  free_blocks_ = nullptr;
  for (auto& block : blocks_) block->next = free_blocks_, free_blocks_ = block.get();
  free_meetings_ = nullptr;
  for (auto& meeting : meetings_) give_meeting(meeting.get());
}

void Scheduler::switch_to(Fiber* next) {
  Fiber* self = current_;
  current_ = next;
  if (next->context == nullptr) {
    next->context = make_fcontext(next->stack_top, static_cast<size_t>(next->stack_top - next->stack_bottom), fiber_main);
  }
  arrive(jump_fcontext(next->context, self));
}

void Scheduler::leave_to(Fiber* next) {
  current_ = &discard_;
  switch_to(next);
  std::abort();
}

void Scheduler::fiber_main(transfer_t from) { arrive(from)->run_fiber(); }

void Scheduler::run_fiber() {
#ifdef __x86_64__
  // Nothing has called it: debuggers would go on reading what lies above the fiber's stack.
  asm volatile(".cfi_undefined rip");
#endif
  for (;;) {
    Fiber* self = current_;
    if (launch_->kernel().mode == MNEME_CPU_LOOP) {
      run_loop();
      pool_->give(self);
      switch_to(&home_);
      continue;
    }
    launch_->kernel().run_thread(launch_->parameters(), &self->thread);
    retire(*self);
    Fiber* next = ready_.pop();
    if (next == nullptr && assign_thread(*self)) continue;
    pool_->give(self);
    switch_to(next != nullptr ? next : resolve_idle());
  }
}

void Scheduler::run_loop() {
  if (tracing_) return run_threads_alone();
  Block& block = *free_blocks_;
  loop_block_ = &block;
  const auto run_block = launch_->kernel().run_block;
  const void* parameters = launch_->parameters();
  place(block, 0);
  for (;;) {
    const auto [begin, end] = launch_->take();
    if (begin == end) return;
    place(block, begin);
    for (uint64_t linear = begin; linear < end && !launch_->failed(); ++linear) {
      run_block(parameters, &block.abi);
      auto& at = block.abi.index;
      if (++at[0] == block.abi.grid[0]) {
        at[0] = 0;
        if (++at[1] == block.abi.grid[1]) at[1] = 0, ++at[2];
      }
    }
  }
}

// Everything that the block's code sees of the launch and of its place in the grid.
void Scheduler::place(Block& block, uint64_t linear) const {
  const LaunchShape& shape = launch_->shape();
  mneme_cpu_block& abi = block.abi;
  abi.services = &kServices;
  abi.shared = block.shared_memory + shared_bytes_ - aligned_shared_bytes(*launch_);
  abi.grid_workspace = launch_->grid_workspace();
  abi.dispatch = &launch_->dispatch();
  abi.grid[0] = shape.grid.x, abi.grid[1] = shape.grid.y, abi.grid[2] = shape.grid.z;
  abi.block[0] = shape.block.x, abi.block[1] = shape.block.y, abi.block[2] = shape.block.z;
  for (unsigned axis = 0; axis < 3; ++axis) abi.first[axis] = 0, abi.end[axis] = abi.block[axis];
  abi.dynamic_shared_bytes = static_cast<uint32_t>(shape.dynamic_shared_memory.count);
  abi.shared_bytes = static_cast<uint32_t>(shared_bytes(*launch_));
  abi.worker = worker_;
  abi.executor = const_cast<Scheduler*>(this);
  uint64_t row = 0;
  if (linear >= shape.grid.x) row = linear / shape.grid.x, linear %= shape.grid.x;
  abi.index[0] = static_cast<uint32_t>(linear);
  abi.index[1] = static_cast<uint32_t>(row % shape.grid.y);
  abi.index[2] = static_cast<uint32_t>(row / shape.grid.y);
}

Block* Scheduler::take_block() {
  if (taken_blocks_ >= launch_->share()) return nullptr;
  if (free_blocks_ == nullptr && new_block() == nullptr) return nullptr;
  const auto [begin, end] = launch_->take();
  if (begin == end) return nullptr;
  Block* block = free_blocks_;
  free_blocks_ = block->next;
  ++taken_blocks_;
  ++live_blocks_;
  place(*block, begin);
  block->threads = launch_->threads();
  block->warp_size = launch_->warp_size();
  block->begin();
  return block;
}

bool Scheduler::assign_thread(Fiber& fiber) {
  if (starting_ == nullptr) {
    if (live_blocks_ != 0 && !launch_->shape().cooperative) return false;
    if ((starting_ = take_block()) == nullptr) return false;
  }
  Block& block = *starting_;
  fiber.block = &block;
  fiber.arrived_barriers = 0;
  fiber.wait = Wait::nothing;
  mneme_cpu_thread& thread = fiber.thread;
  thread.block = &block.abi;
  auto& at = block.next_index;
  thread.index[0] = at[0], thread.index[1] = at[1], thread.index[2] = at[2];
  thread.lane = block.started % block.warp_size;
  thread.warp = block.started / block.warp_size;
  if (++at[0] == block.abi.block[0]) {
    at[0] = 0;
    if (++at[1] == block.abi.block[1]) at[1] = 0, ++at[2];
  }
  if (++block.started == block.threads) starting_ = nullptr;
  return true;
}

Fiber* Scheduler::start_fiber() {
  Fiber* fiber = pool_->take();
  if (fiber == nullptr) return nullptr;
  if (assign_thread(*fiber)) return fiber;
  pool_->give(fiber);
  return nullptr;
}

// Blocks of an ordinary launch may wait for later ones when the program counts on all of them being resident.
Fiber* Scheduler::start_fiber_of_another_block() {
  spins_ = 0;
  if (!pool_->grow((live_blocks_ + 1) * launch_->threads()).ok()) return nullptr;
  if ((starting_ = take_block()) == nullptr) return nullptr;
  return start_fiber();
}

void Scheduler::retire(Fiber& fiber) {
  spins_ = 0;
  Block& block = *fiber.block;
  leave_collectives(*this, fiber);
  if (++block.exited != block.threads) return;
  block.next = free_blocks_;
  free_blocks_ = &block;
  --live_blocks_;
}

void Scheduler::wait() {
  Fiber* next = ready_.pop();
  if (next == nullptr) next = start_fiber();
  if (next == nullptr) next = resolve_idle();
  if (next != current_) switch_to(next);
}

void Scheduler::yield() {
  if (launch_->failed()) leave_to(&home_);
  Fiber* self = current_;
  if (++spins_ > kSpinsToResolveWaiters) {
    if (!step_waiters_.empty())
      resolve_steps();
    else if (!active_waiters_.empty())
      resolve_active_masks();
    else
      resolve_waves(*this, blocks_);
  }
  Fiber* next = start_fiber();
  if (next == nullptr && spins_ > kSpinsToTakeAnotherBlock && !launch_->shape().cooperative)
    next = start_fiber_of_another_block();
  if (next == nullptr) next = ready_.pop();
  // Another worker, or another process, may have what is waited for.
  if (spins_ % kMaxThreads == 0) sched_yield();
  if (next == nullptr) return _mm_pause();
  ready_.push(self);
  switch_to(next);
}

void Scheduler::exit_thread() {
  Fiber* self = current_;
  retire(*self);
  // Its stack is deep in kernel code that will not return: the fiber begins anew, for its next thread.
  self->context = nullptr;
  Fiber* next = ready_.pop();
  if (next == nullptr && assign_thread(*self)) next = self;
  if (next != self) pool_->give(self);
  leave_to(next != nullptr ? next : resolve_idle());
}

uint32_t Scheduler::active_mask(const void* site) {
  Fiber* self = current_;
  self->wait = Wait::active_mask;
  self->site = site;
  active_waiters_.push(self);
  wait();
  return static_cast<uint32_t>(self->result);
}

void Scheduler::resolve_active_masks() {
  FiberQueue waiters = active_waiters_;
  active_waiters_.clear();
  for (Fiber* fiber = waiters.head(); fiber != nullptr; fiber = fiber->next) {
    fiber->result = 0;
    for (Fiber* other = waiters.head(); other != nullptr; other = other->next) {
      const bool together =
          other->block == fiber->block && other->thread.warp == fiber->thread.warp && other->site == fiber->site;
      if (together) fiber->result |= uint64_t{1} << other->thread.lane;
    }
  }
  while (Fiber* fiber = waiters.pop()) make_ready(fiber);
}

void Scheduler::keep_step(const void* site) {
  Fiber* self = current_;
  self->wait = Wait::step;
  self->site = site;
  self->result = 0;  // how often it was held back
  step_waiters_.push(self);
  wait();
}

// Of a warp, the lanes go on that are the least far in the code, so that lanes which took different ways come together again.
// The others are not held back for ever: what they do next may be what those wait for.
void Scheduler::resolve_steps() {
  const auto first_site = [](const Fiber* fiber) -> const void*& { return fiber->block->warps[fiber->thread.warp].first_site; };
  for (const Fiber* fiber = step_waiters_.head(); fiber != nullptr; fiber = fiber->next) first_site(fiber) = fiber->site;
  for (const Fiber* fiber = step_waiters_.head(); fiber != nullptr; fiber = fiber->next)
    first_site(fiber) = std::min(first_site(fiber), fiber->site, std::less<>());
  FiberQueue waiters = step_waiters_;
  step_waiters_.clear();
  while (Fiber* fiber = waiters.pop()) {
    const bool goes_on = fiber->site == first_site(fiber) || ++fiber->result > kMostStepsHeldBack;
    (goes_on ? ready_ : step_waiters_).push(fiber);
  }
}

// Nothing is ready and nothing is left to start.
Fiber* Scheduler::resolve_idle() {
  if (!step_waiters_.empty()) {
    resolve_steps();
    return ready_.pop();
  }
  if (!active_waiters_.empty()) {
    resolve_active_masks();
    return ready_.pop();
  }
  if (resolve_waves(*this, blocks_)) return ready_.pop();
  if (live_blocks_ != 0 && !launch_->failed()) report_deadlock();
  return &home_;
}

Meeting* Scheduler::take_meeting() {
  if (free_meetings_ == nullptr) {
    meetings_.push_back(std::make_unique<Meeting>());
    give_meeting(meetings_.back().get());
  }
  Meeting* meeting = free_meetings_;
  free_meetings_ = meeting->next;
  return meeting;
}

}  // namespace mneme::cpu
