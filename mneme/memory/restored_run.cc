#include "mneme/memory/restored_run.h"

#include <vector>

#include "mneme/memory/prepared_memory.h"

namespace mneme {

RestoredRun::RestoredRun(RestoredRun&& other) noexcept
    : memory_(std::exchange(other.memory_, nullptr)),
      symbols_(std::move(other.symbols_)),
      start_(other.start_),
      extent_(other.extent_) {}

RestoredRun::~RestoredRun() {
  if (memory_ != nullptr) memory_->trusted_ = false;
}

Status RestoredRun::restore_again() {
  if (memory_ == nullptr) return error(Code::internal, "restoring the memory of a run that was checked");
  return memory_->put_back(symbols_, start_, extent_);
}

Status RestoredRun::check_later() && {
  if (memory_ == nullptr) return error(Code::internal, "checking a run that was checked");
  PreparedMemory* const memory = std::exchange(memory_, nullptr);
  Status started = memory->start_check(symbols_);
  if (!started.ok()) memory->forget_checks();  // a part of it may have been started
  return started;
}

Result<CheckedRun> RestoredRun::check() && {
  PreparedMemory* const memory = memory_;
  MNEME_TRY(std::move(*this).check_later());
  MNEME_ASSIGN(const std::vector<CheckedRun> checks, memory->take_checks());
  if (checks.size() != 1) return error(Code::internal, "checking a run while {} others were not taken", checks.size() - 1);
  return checks.front();
}

}  // namespace mneme
