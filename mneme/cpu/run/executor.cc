#include "mneme/cpu/run/executor.h"

#include <algorithm>

#include "mneme/base/symbol_name.h"
#include "mneme/cpu/run/fault_handler.h"
#include "mneme/cpu/run/launch.h"

namespace mneme::cpu {

Executor::Executor(unsigned workers) : pool_(workers) {
  for (unsigned worker = 0; worker < workers; ++worker)
    schedulers_.push_back(std::make_unique<Scheduler>(worker, heap_, textures_));
}

Status Executor::run(const CpuKernel& launched, const LaunchShape& shape, ByteSpan parameters) {
  const std::string name = demangle(launched.name());
  const mneme_cpu_kernel& kernel = launched.entry();
  std::lock_guard lock(launching_);
  MNEME_TRY(usable());
  const std::string what = fmt::format("launching '{}' with grid {} and block {}", name, shape.grid, shape.block);
  if (parameters.size() < kernel.param_bytes) {
    return error(Code::invalid_argument, "{}: it takes {} B of parameters, {} B were given", what, kernel.param_bytes,
                 parameters.size());
  }
  if (shape.cooperative && shape.grid.volume() > kMaxCooperativeThreads / shape.block.volume()) {
    return error(Code::invalid_argument,
                 "{}: a cooperative launch keeps all its threads resident, and the device holds at most {}; use fewer blocks",
                 what, kMaxCooperativeThreads);
  }
  const unsigned used = order_ ? 1 : workers();
  Launch launch(launched, shape, parameters, used, order_);
  const bool together = shape.cooperative && kernel.mode == MNEME_CPU_FIBERS && !order_;
  for (auto& scheduler : schedulers_) {
    MNEME_TRY(scheduler->prepare(launch).with_context(what));
    if (!together) break;
  }
  {
    SignalHandlers handlers;
    const bool ran = pool_.run(
        [&](unsigned worker) {
          if (worker >= used) return;
          // A worker that the system gives no stacks leaves its blocks to the others; worker 0 has them.
          if (worker != 0 && !together && !schedulers_[worker]->prepare(launch).ok()) return;
          schedulers_[worker]->run(launch);
        },
        std::min<uint64_t>(shape.grid.volume(), used), together ? Join::all : Join::in_time);
    if (!ran) return error(Code::exhausted, "{}: the system starts no threads for its {} workers", what, workers());
  }
  if (!launch.fault()) return {};
  std::lock_guard fault_lock(mutex_);
  fault_ = launch.fault();
  fault_->kernel = name;
  fault_->line = launched.code().line_of(fault_->instruction);
  return fault_->status();
}

std::optional<Fault> Executor::fault() const {
  std::lock_guard lock(mutex_);
  return fault_;
}

Status Executor::usable() const {
  std::lock_guard lock(mutex_);
  return fault_ ? fault_->status().with_context("the device faulted before and is of no further use") : Status();
}

}  // namespace mneme::cpu
