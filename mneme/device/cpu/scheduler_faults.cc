// How a launch fails: faults that services report, those that signals report, and deadlocks.
#include <array>
#include <bit>
#include <map>

#include "mneme/device/cpu/scheduler.h"

namespace mneme::cpu {
namespace {

BlockPosition position(const uint32_t (&index)[3]) { return {index[0], index[1], index[2]}; }

std::string describe_wait(const Fiber& fiber) {
  if (fiber.wait == Wait::barrier) return fmt::format("at barrier {}", fiber.barrier);
  return fmt::format("in a warp collective with mask {:#010x} in warp {}", fiber.mask, fiber.thread.warp);
}

}  // namespace

void Scheduler::fail(Fault fault) {
  fault.kernel = launch_->name();
  launch_->fail(std::move(fault));
  trap_.disarm();
  leave_to(&home_);
}

void Scheduler::fail(const mneme_cpu_thread& thread, FaultKind kind, std::string what) {
  Fault fault;
  fault.kind = kind;
  fault.block = position(thread.block->index);
  fault.thread = position(thread.index);
  fault.what = std::move(what);
  fail(std::move(fault));
}

void Scheduler::escape(void* scheduler, const SignalReport& report) {
  auto* self = static_cast<Scheduler*>(scheduler);
  self->fail(self->fault_of_signal(report));
}

Fault Scheduler::fault_of_signal(const SignalReport& report) const {
  Fault fault;
  const bool loop = launch_->kernel().mode == MNEME_CPU_LOOP;
  if (loop && loop_block_ != nullptr) fault.block = position(loop_block_->abi.index);
  if (!loop && current_->block != nullptr) {
    fault.block = position(current_->block->abi.index);
    fault.thread = position(current_->thread.index);
  }
  fault.address = report.address;
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
