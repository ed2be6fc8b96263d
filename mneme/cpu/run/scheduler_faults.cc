// How a launch fails: faults that services report, those that signals report, and deadlocks.
#include <array>
#include <bit>
#include <map>

#include "mneme/cpu/run/scheduler.h"

namespace mneme::cpu {
namespace {

BlockPosition position(const uint32_t (&index)[3]) { return {index[0], index[1], index[2]}; }

std::string describe_wait(const Fiber& fiber) {
  if (fiber.wait == Wait::barrier) return fmt::format("at barrier {}", fiber.barrier);
  return fmt::format("in a warp collective with mask {:#010x} in warp {}", fiber.mask, fiber.thread.warp);
}

}  // namespace

void Scheduler::fail(Fault fault) {
  const bool loop = launch_->kernel().mode == MNEME_CPU_LOOP;
  if (loop && !fault.thread) {
    launch_->stop();
    untraced_ = std::move(fault);
  } else {
    launch_->fail(std::move(fault));
  }
  trap_.disarm();
  leave_to(&home_);
}

void Scheduler::fail(const mneme_cpu_thread& thread, FaultKind kind, std::string what, const void* from) {
  // It did not end so when the block ran as a whole.
  if (tracing_) leave_trace();
  Fault fault;
  if (from != nullptr) fault.instruction = reinterpret_cast<uint64_t>(from) - 1;  // the call's
  fault.kind = kind;
  fault.block = position(thread.block->index);
  fault.thread = position(thread.index);
  fault.what = std::move(what);
  fail(std::move(fault));
}

void Scheduler::escape(void* scheduler, const SignalReport& report) {
  auto* self = static_cast<Scheduler*>(scheduler);
  if (report.signal == 0) self->leave_trace();
  self->fail(self->fault_of_signal(report));
}

Fault Scheduler::fault_of_signal(const SignalReport& report) const {
  Fault fault;
  const bool loop = launch_->kernel().mode == MNEME_CPU_LOOP;
  if (loop && loop_block_ != nullptr) fault.block = position(loop_block_->abi.index);
  if (tracing_) fault.thread = traced_;
  if (!loop && current_->block != nullptr) {
    fault.block = position(current_->block->abi.index);
    fault.thread = position(current_->thread.index);
  }
  fault.address = report.address;
  fault.instruction = report.instruction;
  switch (report.signal) {
    case SIGFPE:
      fault.kind = FaultKind::arithmetic;
      fault.what = "an integer division by zero, or one whose result does not fit";
      return fault;
    case SIGILL:
      fault.kind = FaultKind::illegal_instruction;
      fault.what = "an instruction that this processor does not have, or the end of code that cannot be reached";
      return fault;
    default: break;
  }
  if (pool_->guarded_by(report.address) != nullptr) {
    fault.kind = FaultKind::stack_overflow;
    fault.what = fmt::format("stack overflow at {:#x}: a thread's stack has {} KiB", report.address, pool_->stack_bytes() >> 10);
    return fault;
  }
  fault.kind = FaultKind::memory_access;
  // The processor does not tell an address that no mapping can have.
  constexpr int kFromKernel = 128;
  if (report.code == kFromKernel)
    fault.what = "an access to an address beyond the 47 bits that addresses have";
  else
    fault.what =
        fmt::format("{} address {:#x}, which is not accessible", report.write ? "a write to" : "a read of", report.address);
  return fault;
}

// What the block had done before stays done, so that a thread may end otherwise this time, or not at all.
void Scheduler::find_thread() {
  constexpr std::chrono::milliseconds kLimit{500};
  const Fault fault = *std::exchange(untraced_, std::nullopt);
  pool_->reset();
  current_ = &home_;
  tracing_ = true;
  {
    TimeLimit limit(trap_, kLimit, launch_->code().begin, launch_->code().end);
    trap_.arm();
    switch_to(pool_->take());
    trap_.disarm();
  }
  tracing_ = false;
  launch_->fail(fault);  // the first one stays, so this one where no thread faulted by itself
}

void Scheduler::run_threads_alone() {
  mneme_cpu_block& block = loop_block_->abi;
  const auto set = [&](unsigned axis, uint32_t index) { block.first[axis] = index, block.end[axis] = index + 1; };
  for (traced_.z = 0; traced_.z < block.block[2]; ++traced_.z) {
    set(2, traced_.z);
    for (traced_.y = 0; traced_.y < block.block[1]; ++traced_.y) {
      set(1, traced_.y);
      for (traced_.x = 0; traced_.x < block.block[0]; ++traced_.x) {
        set(0, traced_.x);
        launch_->kernel().run_block(launch_->parameters(), &block);
      }
    }
  }
}

void Scheduler::leave_trace() {
  trap_.disarm();
  leave_to(&home_);
}

void Scheduler::report_deadlock() {
  const Block* block = nullptr;
  const Fiber* first = nullptr;
  std::map<std::string, std::vector<const Fiber*>> waiting;
  pool_->for_each([&](const Fiber& fiber) {
    if (fiber.block == nullptr || (block != nullptr && fiber.block != block)) return;
    block = fiber.block;
    if (first == nullptr) first = &fiber;
    waiting[describe_wait(fiber)].push_back(&fiber);
  });
  std::string what = "deadlock: no thread of the block can go on";
  const char* separator = ": ";
  for (const auto& [where, fibers] : waiting) {
    what += fmt::format("{}{} {} (", separator,
                        fibers.size() == 1 ? "1 thread waits" : fmt::format("{} threads wait", fibers.size()), where);
    constexpr size_t kNamed = 4;
    for (size_t i = 0; i < std::min(fibers.size(), kNamed); ++i) {
      what += (i == 0 ? "" : ", ") + to_string(position(fibers[i]->thread.index));
    }
    if (fibers.size() > kNamed) what += fmt::format(" and {} more", fibers.size() - kNamed);
    what += ")";
    separator = "; ";
  }
  Fault fault;
  fault.kind = FaultKind::deadlock;
  if (first != nullptr) {
    fault.block = position(block->abi.index);
    fault.thread = position(first->thread.index);
  }
  fault.what = std::move(what);
  fail(std::move(fault));
}

}  // namespace mneme::cpu
