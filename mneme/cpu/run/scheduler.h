// Scheduler: runs one worker's part of a launch. It takes blocks and runs their threads.
//
// In loop mode one call runs all threads of a block. In fiber mode each thread of a block has a fiber. The scheduler starts the
// threads in the order of their index; a thread that has to wait hands over to the next one that can go on. A worker holds one
// block at a time, with two exceptions: in a cooperative launch, whose blocks wait for one another, it holds all of its share;
// and it takes one more block when the threads of those that it holds only spin. Kernel code always runs on a fiber, so that a
// fault can leave it from any depth.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "mneme/base/status.h"
#include "mneme/cpu/run/block.h"
#include "mneme/cpu/run/fault_handler.h"
#include "mneme/cpu/run/fiber.h"
#include "mneme/cpu/run/heap.h"
#include "mneme/cpu/run/host_messages.h"
#include "mneme/cpu/run/launch.h"
#include "mneme/cpu/run/texture_table.h"

namespace mneme::cpu {

class Scheduler {
 public:
  // `worker` is the worker's number. `heap` and `textures` are the device's, and must outlive the scheduler.
  Scheduler(unsigned worker, Heap& heap, const TextureTable& textures);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  // Gets stacks and shared memory for what this worker will hold of the launch. exhausted: the system refuses the memory.
  Status prepare(const Launch& launch);
  // Runs blocks until none are left for this worker, or the launch has failed. To be called after prepare(), on the worker's
  // thread.
  void run(Launch& launch);

  // What follows is for the services, which call it on a fiber.

  // Lets other fibers run until make_ready() is called for the current one. The caller has put that into some queue before.
  void wait();
  // Lets other fibers run; the current one stays ready.
  void yield();
  void make_ready(Fiber* fiber) {
    fiber->wait = Wait::nothing;
    spins_ = 0;
    ready_.push(fiber);
  }
  // Makes all fibers of a queue ready. Their `wait` stays as it is: it has a meaning only while a fiber waits.
  void make_ready(FiberQueue& fibers) {
    spins_ = 0;
    ready_.append(fibers);
  }
  // Ends the current thread.
  [[noreturn]] void exit_thread();
  // The lanes of the current thread's warp that come to the same call, whose return address is `site`. Waits for them until
  // every other thread waits or spins.
  uint32_t active_mask(const void* site);
  // Waits until each lane of the current thread's warp waits or spins, and none of them to go on from an earlier call of this in
  // the code than the current one, whose return address is `site`.
  void keep_step(const void* site);
  // Ends the launch with a fault of `thread`. `from` is the return address of the kernel's call of the service, if that is the
  // place of the fault.
  [[noreturn]] void fail(const mneme_cpu_thread& thread, FaultKind kind, std::string what, const void* from = nullptr);
  // Whether the address lies on the stack of the current thread.
  bool in_stack(const std::byte* address) const { return address >= current_->stack_bottom && address < current_->stack_top; }
  // Whether a block runs again only to find the thread that has faulted. What its code prints was printed before, and is left
  // out.
  bool tracing() const { return tracing_; }
  Heap& heap() { return heap_; }
  HostMessages& messages() { return messages_; }
  const TextureTable& textures() const { return textures_; }
  // How many collectives of waves have lanes that wait in them.
  uint64_t& open_waves() { return open_waves_; }
  // Meetings that are in no use. Whoever takes one gives it back.
  Meeting* take_meeting();
  void give_meeting(Meeting* meeting) {
    meeting->next = free_meetings_;
    free_meetings_ = meeting;
  }

 private:
  [[noreturn]] static void fiber_main(boost::context::detail::transfer_t from);
  [[noreturn]] static void escape(void* scheduler, const SignalReport& report);
  [[noreturn]] void run_fiber();
  void run_loop();
  void switch_to(Fiber* next);
  [[noreturn]] void leave_to(Fiber* next);

  Fiber* start_fiber();
  Fiber* start_fiber_of_another_block();
  bool assign_thread(Fiber& fiber);
  Block* take_block();
  Block* new_block();
  void place(Block& block, uint64_t linear) const;
  void retire(Fiber& fiber);
  Fiber* resolve_idle();
  void resolve_active_masks();
  void resolve_steps();
  [[noreturn]] void report_deadlock();
  [[noreturn]] void fail(Fault fault);
  Fault fault_of_signal(const SignalReport& report) const;
  // Called after a fault in loop mode: runs the threads of the block one by one until one faults, and fails the launch with
  // that fault; with the first one where none does.
  void find_thread();
  void run_threads_alone();
  [[noreturn]] void leave_trace();
  void reset_after_failure();

  const unsigned worker_;
  Heap& heap_;
  const TextureTable& textures_;
  HostMessages messages_;
  Launch* launch_ = nullptr;
  Fiber* current_ = nullptr;
  FiberQueue ready_;
  Block* starting_ = nullptr;  // has threads that no fiber runs yet
  uint64_t live_blocks_ = 0;   // not finished
  uint64_t taken_blocks_ = 0;  // of this launch
  uint64_t open_waves_ = 0;
  uint64_t spins_ = 0;  // yields since a thread last got ahead
  FiberQueue active_waiters_;
  FiberQueue step_waiters_;
  FiberPool* pool_ = nullptr;  // of this launch's stack size
  Block* free_blocks_ = nullptr;
  Meeting* free_meetings_ = nullptr;
  Block* loop_block_ = nullptr;
  std::optional<Fault> untraced_;  // of a block whose threads ran as a loop, before its thread is looked for
  bool tracing_ = false;
  BlockPosition traced_;  // the thread that runs alone

  Fiber home_;     // the worker's own stack
  Fiber discard_;  // takes the context of whoever leaves for good
  FaultTrap trap_;
  std::map<size_t, std::unique_ptr<FiberPool>> pools_;  // by stack size
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::unique_ptr<Meeting>> meetings_;
  size_t shared_bytes_ = 0;  // what each of blocks_ has room for
};

// The services that kernel code calls (image.h).
extern const mneme_cpu_services kServices;

}  // namespace mneme::cpu
